"""What the real client reads of front matter, seen in what it makes of a file that Claude has just written.

It reads such a file, adds where and when it was written, and writes it again by what it read; or it leaves
the file as it is where it could not read it. docs/memory-files.md has the whole contract.
"""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.core.errors import DocumentError
from pipeline.domain.memory import Memory
from pipeline.store.files import document
from tests.realclient.box import OpenBox
from tests.realclient.scripted_api import Asked, Block, Rule

pytestmark = pytest.mark.realclient

END = "---\n\nA body.\n"
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "colon": ("description: port: 8025 # mail\n", {"description": "port: 8025 # mail"}),
    "colon-and-quotes": ('description: a: "b" \\c\n', {"description": 'a: "b" \\c'}),
    "star": ("description: *bold* words\n", {"description": "*bold* words"}),
    "open": ("description: [one, two\n", {"description": "[one, two"}),
    "tab": ("description: d\nmetadata:\n\ttype: user\n", {"description": "d", "type": "user"}),
    "twice": ("description: one\ndescription: two\n", {"description": "two"}),
    "date": ("description: 2026-01-02\n", {"description": "2026-01-02"}),
    "words": ("description: yes\nkind: 10:30\n", {"description": "yes", "extra": "10:30"}),
    "folded": ("description: >-\n  one\n  two\n", {"description": "one two"}),
    "two-lines": ("description: one\n  two\n", {"description": "one two"}),
    "anchor": ("description: &x d\nother: *x\n", {"description": "d"}),
    "dots": ("description: d\n...\n", {"description": "d"}),
    "old": ("description: d\ntype: feedback\n", {"description": "d", "type": "feedback"}),
}
LEFT = {
    "quotes": f"---\nname: quotes\ndescription: 'a' b\n{END}",
    "below": f"---\nname: below\ndescription: a\n  under: b\n{END}",
    "list": f"---\n- a\n{END}",
    "prose": f"---\nprose\n{END}",
    "no-end": "---\nname: no-end\n\nA body.\n",
    "blank": f"\n---\nname: blank\n{END}",
}
DROPPED = {"number": "12", "true": "true", "items": "[a]"}


def kept(memory: Memory, key: str) -> Any:
    if key != "extra":
        return getattr(memory, key)
    return memory.extra.get("kind") or memory.extra["metadata"]["kind"]


def test_we_read_of_a_file_what_the_client_reads(open_box: OpenBox) -> None:
    texts = {name: f"---\nname: {name}\n{front}{END}" for name, (front, _) in READ.items()}
    texts |= LEFT
    texts |= {name: f"---\nname: {name}\ndescription: {value}\n{END}" for name, value in DROPPED.items()}
    texts["hash"] = f"---\nname: hash\ndescription: see # 12\n{END}"
    texts["fence"] = f"--- \nname: fence\ndescription: d\n--- \n{END.removeprefix('---')}"

    def write(_: Asked) -> list[Block]:
        return [
            {"tool": "Write", "input": {"file_path": str(machine.memory / f"{name}.md"), "content": text}}
            for name, text in texts.items()
        ]

    machine = open_box(Rule(write, when="keep all of it"))
    machine.headless("keep all of it")
    after = {name: (machine.memory / f"{name}.md").read_bytes() for name in texts}
    for name, (_, expected) in READ.items():
        # It stamps only what it could read, and by what it read.
        assert b"modified: " in after[name], name
        for raw in (texts[name].encode(), after[name]):
            memory = document.parse(raw, f"{name}.md")
            assert {key: kept(memory, key) for key in expected} == expected, (name, raw)
            assert memory.name == name
    for name, text in LEFT.items():
        assert after[name] == text.encode(), name
        try:
            assert document.parse(text.encode(), f"{name}.md").body == text
        except DocumentError:
            assert name in ("quotes", "below")
    for name in DROPPED:
        assert b"modified: " in after[name] and b"description" not in after[name], name
    assert b'description: "see # 12"' in after["hash"]
    assert after["fence"].startswith(b"---\nname: fence\n")
