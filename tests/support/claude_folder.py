"""A memory folder as Claude Code leaves one behind, with a few things wrong in it. All of it is invented."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

_FACTS = Path(__file__).parents[2] / "fixtures/recall/kelpwatch.json"
AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
SESSION = "0f3c8d1e-5b1a-4c58-9d0e-{:012d}"


def claude_folder(root: Path, *, sound: bool = False, transcripts: Path | None = None) -> Path:
    """Write 60 memory files below `root` and return it; `sound` leaves out all that is wrong.

    Wrong are: one file without readable front matter, one line that leads nowhere, two files without a line,
    one double, one contradiction, one path that is gone. 40 of the readable files have the client's
    stamp of the very second in which they were written; of those sessions a transcript is left in the
    folder `transcripts`, if one is given.
    """
    root.mkdir(parents=True, exist_ok=True)
    facts = json.loads(_FACTS.read_text("utf-8"))["memories"]
    lines = ["# Memory", ""]
    spoilt = [] if sound else list(_spoilt())
    if transcripts:
        for number in range(40):
            (transcripts / f"{SESSION.format(number)}.jsonl").write_text("{}\n", "utf-8")
    for number, fact in enumerate(facts[: 60 - len(spoilt)]):
        name, text = f"feedback_{number}", json.dumps(fact["description"], ensure_ascii=False)
        front = f"name: {fact['name']}\ndescription: {text}\n{_below(number)}"
        file = root / f"{name}.md"
        file.write_text(f"---\n{front}---\n\n{fact['description']}\n", "utf-8")
        os.utime(file, (AT.timestamp(), AT.timestamp()))
        if sound or number not in (4, 5):
            lines.append(f"- [{fact['name']}]({name}.md) — {fact['description']}")
    for name, front, body in spoilt:
        (root / f"{name}.md").write_text(f"---\n{front}---\n\n{body}\n", "utf-8")
        lines.append(f"- [{name}]({name}.md) — see there")
    if not sound:
        lines.append("- [Old plans](project_old_plans.md) — deleted long ago")
    (root / "MEMORY.md").write_text("\n".join(lines) + "\n", "utf-8")
    return root


def _below(number: int) -> str:
    if number < 40:
        return (
            f"metadata:\n  node_type: memory\n  type: feedback\n  originSessionId: {SESSION.format(number)}\n"
            f"  modified: {AT.isoformat()}\n"
        )
    return "type: feedback\n"


def _spoilt() -> list[tuple[str, str, str]]:
    retry = "The upload client retries failed requests after {} seconds."
    front = "name: {}\ndescription: what {} is about\ntype: feedback\n"
    return [
        ("retry_first", front.format("retry-first", "the first"), retry.format(30)),
        ("retry_second", front.format("retry-second", "the second"), retry.format(60)),
        ("tabs_one", front.format("tabs-one", "the one"), "Indent with tabs, never with spaces."),
        ("tabs_two", front.format("tabs-two", "the two"), "Indent with tabs, never with spaces."),
        ("moved_code", front.format("moved-code", "the code"), "The parser is in `src/parser/old.py`."),
        ("broken", "name: 'a' b\n", "Nobody can read what this is about."),
    ]
