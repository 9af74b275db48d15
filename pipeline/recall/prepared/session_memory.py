"""What a long session is about, kept for its context when compaction makes that anew (checklist L-13).

``<home>/session-memory/<session>/memory.md`` begins once the dialogue has `START_TOKENS`, is made again after
each further `STEP_TOKENS`, and goes `KEEP_SECONDS` after the session fell silent. It is made from the ledger
without a model: what was asked, where things stood, what was kept. A model would summarise better, but at a
call for every few turns of a session that may never be compacted, beside the summary that the host makes
anyway. The ledger's text has no secrets in it, so the file has none.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.home import Home
from pipeline.domain.action import MemoryAction
from pipeline.domain.speech import Utterance
from pipeline.hooklib.plain import clipped
from pipeline.ledger import Ledger, runs, utterances
from pipeline.recall.live import session_sections

LOG = logging.getLogger("reverie.recall")
START_TOKENS = 10_000
STEP_TOKENS = 5_000
SECTION_TOKENS = 2_000
KEEP_SECONDS = 30 * 86_400
_CHARS = 4
"""Characters that count as a token."""
_TAIL_CHARS = 60_000
_ASKED_CHARS = 400
_MARK = "<!-- made at {tokens} tokens of dialogue -->"


def keep_all(ledger: Ledger, home: Path, keys: Iterable[str]) -> None:
    """Make the session memories that are due for the source files `keys`; without one, recall knows less."""
    for key in sorted(keys):
        try:
            keep(ledger, home, key)
        except OSError as error:
            LOG.warning("%s: no session memory: %s", key, error.strerror or error)


def keep(ledger: Ledger, home: Path, key: str) -> bool:
    """Make the session memory of the session in source file `key` if it is due; return whether it was made.

    Raises LedgerError and OSError.
    """
    chars, last = utterances.spoken_size(ledger, key)
    tokens = chars // _CHARS
    if tokens < START_TOKENS:
        return False
    file = Home(home).session_memory / Path(key).stem / "memory.md"
    if 0 <= tokens - _made_at(file) < STEP_TOKENS:
        return False
    spoken = utterances.utterances_before(ledger, key, row=last + 1, max_chars=_TAIL_CHARS)
    ensure_dir(file.parent)
    write_atomic(file, _text(tokens, spoken, _memory_lines(ledger, key)).encode("utf-8", "replace"))
    return True


def sweep(home: Path, now: float) -> None:
    """Remove the memories of sessions silent for `KEEP_SECONDS` before `now` (epoch seconds)."""
    folder = Home(home).session_memory
    for session_folder in sorted(folder.iterdir()) if folder.is_dir() else ():
        try:
            old = now - (session_folder / "memory.md").stat().st_mtime > KEEP_SECONDS
        except OSError:
            continue  # not one of ours
        if old and not session_folder.is_symlink():
            from shutil import rmtree

            rmtree(session_folder, ignore_errors=True)


def drop(home: Path, keys: Iterable[str]) -> None:
    """Remove the memories of the sessions in the source files `keys`, whose dialogue was deleted.

    Raises OSError.
    """
    for key in keys:
        folder = Home(home).session_memory / Path(key).stem
        if (folder / "memory.md").is_file() and not folder.is_symlink():
            from shutil import rmtree

            rmtree(folder)


def _made_at(file: Path) -> int:
    """Return at how many tokens `file` was made; far below any number when there is none to trust."""
    try:
        first = file.read_text("utf-8").partition("\n")[0]
    except (FileNotFoundError, UnicodeDecodeError):
        return -STEP_TOKENS
    number = first.removeprefix(_MARK.partition("{")[0]).partition(" ")[0]
    return int(number) if number.isascii() and number.isdigit() else -STEP_TOKENS


def _text(tokens: int, spoken: list[Utterance], memory_lines: list[str]) -> str:
    asked = [f"- {_line(utterance.text)}" for utterance in spoken if utterance.speaker == "person"]
    last_reply = next(
        (utterance.text for utterance in reversed(spoken) if utterance.speaker == "assistant"), ""
    )
    directory = next((utterance.cwd for utterance in reversed(spoken) if utterance.cwd), "")
    parts = [_MARK.format(tokens=tokens)]
    for heading, lines in (
        (session_sections.ASKED, _newest(asked)),
        (session_sections.STOOD, [_end(last_reply)] if last_reply.strip() else []),
        (session_sections.KEPT, _newest(memory_lines)),
        (session_sections.WHERE, [directory] if directory else []),
    ):
        parts += [heading, *lines] if lines else []
    return "\n".join(parts) + "\n"


def _newest(lines: list[str]) -> list[str]:
    """Return the last of `lines` that fit into a section."""
    room = SECTION_TOKENS * _CHARS
    taken: list[str] = []
    for line in reversed(lines):
        room -= len(line) + 1
        if room < 0:
            break
        taken.append(line)
    return taken[::-1]


def _end(text: str) -> str:
    """Return the end of what was said last, as much as a section holds."""
    stripped, most = text.strip(), SECTION_TOKENS * _CHARS
    return stripped if len(stripped) <= most else "…" + stripped[1 - most :]


def _line(text: str) -> str:
    return clipped(" ".join(text.split()), _ASKED_CHARS)


def _memory_lines(ledger: Ledger, key: str) -> list[str]:
    """Return a line for each memory that the session's own extraction wrote or withdrew, oldest first."""
    found: dict[str, str] = {}
    for run in reversed(runs.list_runs(ledger, limit=200, key=key)):
        for action in run.summary.actions:
            if isinstance(action, MemoryAction):
                found[action.name] = f"- {action.action}: {action.name}"
    return list(found.values())
