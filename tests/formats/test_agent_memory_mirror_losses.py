"""The mirror loses nothing where a side was lost, can't be read, or was taken back."""

import json
import logging
import shutil
from dataclasses import replace

import pytest

from pipeline.formats.agent_memory import AgentMemory
from pipeline.formats.agent_memory.memory import Change
from pipeline.formats.agent_memory.transfer import export
from pipeline.revision import Door
from pipeline.revision.compose import Removal

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
CORE = "core_memories.jsonl"


def rewritten(pair, ident, body):
    """Give our memory `ident` another text, as a dream does."""
    document = pair.documents()[ident]
    door = Door(pair.store, now=pair.clock.now(), approved=True)
    removal = Removal(document.memory.body.strip(), reason="test")
    door.revise(document, replace(document.memory, body=body), [removal])
    door.write(f"dream-{len(body)}-{body[:3]}", "test")


@pytest.mark.parametrize("what", ["folder", "file", "made anew", "made anew and used"])
def test_files_that_are_gone_are_no_deletions(pair, what):
    mine = pair.write()
    theirs = pair.files.append("core", "Theirs.")["id"]
    learning = pair.files.append("learning", "A learning.")["id"]
    pair.sync()
    aside = pair.path.parent / "aside"
    shutil.copytree(pair.files.root, aside)
    if what == "file":
        (pair.files.root / CORE).unlink()
    else:
        shutil.rmtree(pair.files.root)
    new = ""
    if what.startswith("made anew"):
        with AgentMemory(pair.files.root, clock=pair.clock).writer():
            pass
        if what.endswith("used"):
            new = AgentMemory(pair.files.root, clock=pair.clock).append("core", "Another.")["id"]
    pair.write("later", body="Later.\n")
    for _ in range(2):
        assert pair.sync() == ({new: "imported"} if new else {})
        assert len(pair.done.notices) == 1 and pair.files.root.name in pair.done.notices[0]
        assert {mine, theirs, learning} <= pair.documents().keys()
        new = ""
    assert what != "folder" or not pair.files.root.exists()
    assert what != "file" or not (pair.files.root / CORE).exists()
    shutil.rmtree(pair.files.root, ignore_errors=True)
    shutil.copytree(aside, pair.files.root)
    pair.sync()
    here, there = pair.texts()
    assert here == there and {"Ours says this.", "Theirs.", "A learning.", "Later."} <= {*here}


def test_files_that_are_gone_are_written_anew_when_asked(pair):
    pair.write()
    pair.files.append("learning", "Theirs.")
    pair.sync()
    texts = pair.texts()
    shutil.rmtree(pair.files.root)
    pair.sync(bring_back=True)
    assert pair.texts() == texts
    assert pair.sync() == {} and pair.done.notices == []


def test_many_deletions_at_once_wait_for_a_word(pair):
    names = [pair.files.append("core", f"Theirs {number}.")["id"] for number in range(8)]
    pair.sync()
    for ident in names[:6]:
        pair.files.delete(ident, permanent=True)
    assert pair.sync() == {} and "6 of 8" in pair.done.notices[0]
    assert len(pair.documents()) == 8
    assert {*pair.sync(yes=True).values()} == {"archived here"} and len(pair.documents()) == 2
    assert pair.sync() == {} and pair.done.notices == []


def test_many_deletions_at_once_can_be_turned_round(pair):
    names = [pair.files.append("core", f"Theirs {number}.")["id"] for number in range(8)]
    pair.sync()
    for ident in names[:6]:
        pair.files.delete(ident, permanent=True)
    assert {*pair.sync(bring_back=True).values()} == {"exported"}
    assert pair.sync() == {} and pair.texts()[0] == pair.texts()[1] and len(pair.texts()[0]) == 8


def test_many_that_leave_here_at_once_stay_there_until_a_word(pair):
    names = [pair.files.append("core", f"Theirs {number}.")["id"] for number in range(8)]
    pair.sync()
    door = Door(pair.store, now=pair.clock.now(), approved=True)
    for ident in names[:6]:
        door.retire(pair.documents()[ident], "test")
    door.write("by-a-dream", "test")
    assert pair.sync() == {} and "6 of 8" in pair.done.notices[0]
    assert len(pair.files.records("core")) == 8
    assert {*pair.sync(yes=True).values()} == {"archived there"} and len(pair.files.records("core")) == 2
    assert pair.sync() == {}


@pytest.mark.parametrize("then", ["nothing", "a rewrite", "another type"])
def test_a_line_that_nobody_can_read_is_no_deletion(pair, then):
    mine, other = pair.write(), pair.write("other", body="Other.\n")
    pair.sync()
    file = pair.files.root / CORE
    lines = file.read_bytes().splitlines()
    torn = next(line for line in lines if mine.encode() in line)
    broken = torn.replace(b'"type":"core"', b'"type":"task"') if then == "another type" else torn[:-20]
    file.write_bytes(b"\n".join(broken if line == torn else line for line in lines) + b"\n")
    if then == "a rewrite":
        # Another program changes a line, and puts those it can't read beside.
        AgentMemory(pair.files.root, clock=pair.clock).update(other, Change(tags=["new"]))
    if then == "another type":
        assert pair.sync() == {} and mine in pair.documents()
        return
    assert pair.sync()[mine] == "exported"
    assert pair.texts() == (["Other.", "Ours says this."],) * 2
    assert pair.sync() == {}


def test_what_is_taken_back_here_stays_there_and_does_not_come_again(pair):
    mine = pair.write()
    pair.sync()
    pair.files.update(mine, Change(content="Newer there."))
    assert pair.sync() == {mine: "changed here"}
    pair.store.undo(pair.done.change)
    assert pair.sync() == {mine: "left"} and pair.sync() == {}
    assert pair.texts() == (["Ours says this."], ["Newer there."])
    pair.files.update(mine, Change(content="Newest there."))
    assert pair.sync() == {mine: "changed here"}
    assert pair.texts() == (["Newest there."],) * 2


def test_what_was_taken_back_and_then_changed_here_keeps_both_texts(pair):
    mine = pair.write()
    pair.sync()
    pair.files.update(mine, Change(content="Newer there."))
    pair.sync()
    pair.store.undo(pair.done.change)
    pair.sync()
    rewritten(pair, mine, "Changed here.\n")
    assert pair.sync()[mine] == "both kept"
    assert pair.texts() == (["Changed here.", "Newer there."],) * 2
    assert pair.sync() == {}


def test_two_changes_taken_back_at_once_are_no_edit(pair):
    mine = pair.write()
    pair.sync()
    changes = []
    for text in ("Second there.", "Third there."):
        pair.files.update(mine, Change(content=text))
        pair.sync()
        changes.append(pair.done.change)
    for change in reversed(changes):
        pair.store.undo(change)
    assert pair.sync() == {mine: "left"} and pair.sync() == {}
    assert pair.texts() == (["Ours says this."], ["Third there."])


def test_an_archiving_that_is_taken_back_is_not_done_again(pair):
    mine = pair.write()
    pair.sync()
    pair.files.delete(mine, permanent=True)
    assert pair.sync() == {mine: "archived here"}
    pair.store.undo(pair.done.change)
    assert pair.sync() == {mine: "left"} and pair.sync() == {}
    assert pair.texts() == (["Ours says this."], [])


def test_what_is_only_there_is_counted_and_fetched_when_asked(pair):
    pair.write()
    pair.files.append("learning", "Theirs.")
    pair.sync()
    texts = pair.texts()
    shutil.rmtree(pair.path)
    pair.path.mkdir(mode=0o700)
    assert pair.sync() == {} and pair.done.only_there == 2
    assert {*pair.sync(bring_back=True).values()} == {"imported"}
    assert pair.texts() == texts and pair.sync() == {} and pair.done.only_there == 0


def test_notes_of_before_are_read(pair):
    mine = pair.write()
    pair.sync()
    held = json.loads(pair.state.read_text())
    old = {"known": {ident: pair[:2] for ident, pair in held["known"].items()}, "seen": ""}
    pair.state.write_text(json.dumps(old))
    (pair.files.root / CORE).unlink()
    assert pair.sync() == {} and len(pair.done.notices) == 1 and mine in pair.documents()


def test_a_person_and_the_worker_are_told(desk, caplog):
    desk.here("agent-memory", "add", "Staging runs Postgres 17.", "--type", "core")
    desk.here("config", "set", "agent_memory.mirror", "user")
    desk.here("work")
    root = desk.project.parent / ".claude" / "agents" / "memories"
    root.rename(root.with_name("aside"))
    caplog.set_level(logging.WARNING)
    desk.here("work")
    desk.here("work")
    assert sum("--bring-back" in text for text in caplog.messages) <= 1 and not root.exists()
    assert "Postgres 17" in desk.here("list", "--user").out
    assert "held back" in desk.here("agent-memory", "sync", "--user").out and not root.exists()
    root.with_name("aside").rename(root)
    assert "both are the same" in desk.here("agent-memory", "sync", "--user").out
    for file in desk.project.parent.rglob("*.md"):
        if "Postgres 17" in file.read_text("utf-8") and file.name != "MEMORY.md":
            file.unlink()
    out = desk.here("agent-memory", "sync", "--user").out
    assert "1 memory is only in the files" in out and "both are the same" not in out
    assert "1 imported" in desk.here("agent-memory", "sync", "--user", "--bring-back").out


def test_a_secret_of_ours_goes_nowhere(pair):
    mine = pair.write(title=f"The token {SECRET}", body=f"The token is {SECRET} for deploys.\n")
    assert pair.sync() == {mine: "exported"} and "secret" in pair.done.rows[0].why
    file = pair.path / pair.documents()[mine].path
    file.write_text(file.read_text().replace("for deploys", "for builds"))
    assert pair.sync() == {mine: "changed there"} and "secret" in pair.done.rows[0].why
    assert "builds" in pair.files.get(mine, touch=False)["content"]
    assert not any(SECRET in file.read_text() for file in pair.files.root.rglob("*") if file.is_file())
    assert pair.sync() == {}


def test_a_secret_in_the_files_is_not_exported(pair):
    pair.files.append("core", f"The token is {SECRET} for deploys.")
    target = pair.path.parent / "out.jsonl"
    assert export(pair.files, target) == 1
    assert SECRET not in target.read_text() and "for deploys" in target.read_text()
    assert any("secrets left out of the export: 1" in text for text in pair.files.warnings)


def test_title_and_description_follow_the_text_they_were_made_of(pair):
    body, new = "Deploys run on Tuesdays. Ask Ann.\n", "Deploys run on Fridays."
    made = pair.write(
        "made", title="Deploys run on Tuesdays", description="Deploys run on Tuesdays.", body=body
    )
    own = pair.write("own", title="The calendar", description="Deploys run on Tuesdays.", body=body)
    pair.sync()
    for ident in (made, own):
        pair.files.update(ident, Change(content=new))
    pair.sync()
    found = {ident: pair.documents()[ident].memory for ident in (made, own)}
    assert (found[made].title, found[made].description) == ("Deploys run on Fridays", new)
    assert (found[own].title, found[own].description) == ("The calendar", new)
