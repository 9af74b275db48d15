"""Folders as Claude Code leaves them, in all shapes: what can be read is listed, found and recalled."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.app.application import App
from pipeline.app.search import search
from pipeline.hooklib import places
from pipeline.hooklib.memory_format import NOT_MEMORIES
from pipeline.recall.live import hook
from pipeline.text.tokens import terms
from tests.cli.conftest import Desk
from tests.support.claude_folders import UNREADABLE, LaidOut, every_folder, labels, lay_out
from tests.support.recall import HOOKS, LIMIT, context_of

BROKEN = "---\nname: a\ndescription: 'b' c\n---\nThe crane stands in bay four.\n"
UNSETTLED = "---\nname: b\n---\n<<<<<<< HEAD\nThe crane is red.\n=======\nThe crane is blue.\n>>>>>>> main\n"


EVENT = "UserPromptSubmit"


def recalled(laid: LaidOut, prompt: str, session: str) -> set[str]:
    """Return the names of the memories that the hook, run in this process, puts before `prompt`."""
    problems: list[str] = []
    printed = hook.run(EVENT, payload(laid, prompt, session), places.hooks_home(), problems)
    assert problems == []
    return set(re.findall(r'name="([^"]+)"', context_of(printed.encode())))


def recalled_by_the_host(laid: LaidOut, prompt: str, session: str) -> set[str]:
    """Return the same with the hook run as the host runs it."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), EVENT],
        input=payload(laid, prompt, session), cwd=laid.project, capture_output=True, timeout=LIMIT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    return set(re.findall(r'name="([^"]+)"', context_of(done.stdout)))


def payload(laid: LaidOut, prompt: str, session: str) -> bytes:
    return json.dumps({"session_id": session, "cwd": str(laid.project), "prompt": prompt}).encode()


SWEEP = [
    # Every second one; the others if the whole is run.
    pytest.param(half, name, marks=[] if number % 2 else [pytest.mark.whole])
    for number, (half, name) in enumerate(every_folder())
]


@pytest.mark.parametrize(("half", "name"), SWEEP)
def test_what_the_client_reads_is_listed_found_and_recalled(half: str, name: str, tmp_path: Path) -> None:
    laid = lay_out(half, name, tmp_path, config=Path(os.environ["CLAUDE_CONFIG_DIR"]))
    listed = Desk(laid.project, dict(os.environ)).here("list", "--json")
    rows = listed.json
    files = {file.name for file in laid.memory.glob("*.md") if file.name.lower() not in NOT_MEMORIES}
    unread = {file for folder, file in UNREADABLE if folder == name}
    assert {row["path"] for row in rows} == files - unread
    assert {line.partition(":")[0] for line in listed.err.splitlines()} == unread

    app = App(store=laid.memory)
    same: dict[str, str] = {}
    for known in labels(half):
        if (known.folder, known.kind, known.what) == (name, "double", "same bytes under two names"):
            same |= dict(zip(known.files, reversed(known.files), strict=True))
    names = {row["path"]: row["name"] for row in rows}
    for number, row in enumerate(rows):
        body = (laid.memory / row["path"]).read_bytes()
        if not body.strip():
            continue
        # Of a description in bytes that are no text, nobody could type a word.
        described = row["description"] and "\ufffd" not in row["description"]
        words = row["description"] if described else row["name"].replace("_", " ")
        assert terms(words), row
        assert row["path"] in {hit.path for hit in search(app, words)}
        # What two files say in the same words is said once.
        either = {row["name"], names[same.get(row["path"], row["path"])]}
        found = recalled(laid, words, f"s-{number}")
        assert found & either, row
        if number % 12 == 0:
            assert recalled_by_the_host(laid, words, f"h-{number}") == found, row


def test_what_can_t_be_read_is_named_in_one_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    laid = lay_out("looked_at", "ops_platform", tmp_path, config=Path(os.environ["CLAUDE_CONFIG_DIR"]))
    desk = Desk(laid.project, dict(os.environ))
    before = desk.here("list", "--json").json
    for file, text in (("broken.md", BROKEN), ("unsettled.md", UNSETTLED)):
        (laid.memory / file).write_text(text, "utf-8")
    listed = desk.here("list", "--json")
    assert listed.json == before
    status = desk.here("status").out
    assert "1 file can't be read: broken.md" in status
    assert "1 file holds both sides of a merge: unsettled.md" in status


def memory_files(folder: Path) -> dict[str, bytes]:
    """Return path → bytes of what stands in the memory folder, but for what Reverie makes for itself."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
        and file.name not in ("CORE.md", "REFLECTION.md")
        and not file.relative_to(folder).parts[0].startswith((".", "_"))
    }


SWEPT = [
    # Those that the sweep above leaves out, and the others if the whole is run.
    pytest.param(half, name, marks=[pytest.mark.whole] if number % 2 else [])
    for number, (half, name) in enumerate(every_folder())
]


@pytest.mark.parametrize(("half", "name"), SWEPT)
def test_adopted_and_dreamt_of_it_is_undone_to_the_byte(half: str, name: str, tmp_path: Path) -> None:
    laid = lay_out(half, name, tmp_path, config=Path(os.environ["CLAUDE_CONFIG_DIR"]))
    desk = Desk(laid.project, dict(os.environ))
    desk.here("reindex")
    before = memory_files(laid.memory)
    desk.here("adopt", "--yes")
    desk.here("consolidate", "--force", "--llm", "offline")
    changes = [row["run"] for row in desk.here("history", "--json").json]
    assert changes and memory_files(laid.memory) != before
    for change in changes:
        desk.here("undo", change)
    assert memory_files(laid.memory) == before
