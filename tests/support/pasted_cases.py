"""The table of messages in `fixtures/pasted/`, and what the rule makes of each line."""

from pathlib import Path

from pipeline.text.pasted import pasted_lines

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "pasted"
Message = tuple[str, list[tuple[bool, str]]]


def messages(kind: str) -> list[Message]:
    """Return the messages of one half of the table: their names and lines, each with what it must be."""
    found: list[Message] = []
    for line in (FIXTURES / f"{kind}.txt").read_text("utf-8").splitlines():
        if line.startswith("=== "):
            found.append((line[4:], []))
        else:
            found[-1][1].append((line.startswith("¦"), line[1:]))
    return found


def wrong(kind: str) -> tuple[list[str], list[str], int, int]:
    """Return lines that must be pasted and are not, lines that are and must not be, and how many of each."""
    missed, false, pasted, own = [], [], 0, 0
    for name, lines in messages(kind):
        flags = pasted_lines("\n".join(line for _, line in lines))
        for (must, line), flag in zip(lines, flags, strict=True):
            if not line.strip():
                continue
            pasted, own = pasted + must, own + (not must)
            if must and not flag:
                missed.append(f"{name}: {line}")
            elif flag and not must:
                false.append(f"{name}: {line}")
    return missed, false, pasted, own
