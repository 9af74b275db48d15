"""`reverie adopt` and `reverie why` over files that Claude, a person or nobody known wrote."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from pipeline.app import adopted_files
from pipeline.app.application import App
from pipeline.core.clock import SystemClock
from pipeline.core.errors import ConflictError
from pipeline.ledger import open_ledger
from pipeline.store import Store
from tests.support.claudes import Claude, put
from tests.support.stores import tree

SAME = "The mailer listens on port 8025. It takes no other."
AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
CLAIMS = (
    "---\nname: rule\norigin: user-stated\n"
    "sources:\n- {session: s, uuid: u, quote: push, at: '2026-03-01T10:00:00Z'}\n---\n\nPush to main.\n"
)


@pytest.fixture
def claude(desk):
    """A session that wrote two memories, of which a person edited one."""
    desk.here("status")
    home = desk.project.parent / ".claude" / "reverie"
    with open_ledger(home / "ledger.sqlite") as ledger:
        session = Claude(ledger, desk.store, SystemClock())
        session.talk.now = AT
        session.hears("please remember that deploys go out on Mondays only")
        session.writes("deploys", "Deploys go out on Mondays.")
        session.writes("linter", "The linter wants tabs.")
        session.read()
        mine = desk.store / "linter.md"
        put(mine, mine.read_text("utf-8").replace("tabs", "spaces"), AT + timedelta(hours=1))
        yield session


def doubles(desk):
    for name in ("a-port", "b-port"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\n{SAME}\n", AT)


def files(desk):
    return {name: data for name, data in tree(desk.store).items() if name.endswith(".md") and "/" not in name}


def test_why_says_that_claude_wrote_it_after_what_the_person_said(desk, claude):
    told = desk.here("why", "deploys").out
    assert "Claude, as the session's transcript shows" in told
    assert f"Claude wrote it at 2026-11-20 09:00 in session {claude.session}" in " ".join(told.split())
    assert "assistant-inferred" in told
    assert "unverified" not in told
    assert "after you said: “please remember that deploys go out on Mondays only”" in " ".join(told.split())
    told = " ".join(desk.here("why", "linter").out.split())
    assert "a person: it was changed, and no session did it" in told
    assert desk.here("why", "linter", "--json").json["author"]["by"] == "person"


def test_adopt_lists_every_file_with_its_author_and_asks(desk, claude):
    doubles(desk)
    before = files(desk)
    rows = desk.here("adopt", "--dry-run", "--json").json
    assert rows["change"] == ""
    assert {row["path"]: row["author"] for row in rows["files"]} == {
        "linter.md": "a person: it was changed, and no session did it",
        "a-port.md": "nobody can tell",
        "b-port.md": "nobody can tell",
    }
    refused = desk.here("adopt", code=1)
    assert "linter.md" in refused.out and "Add --yes" in " ".join(refused.err.split())
    assert files(desk) == before


def test_one_yes_answers_the_proposals_and_undo_brings_back_the_very_bytes(desk, claude):
    doubles(desk)
    desk.here("consolidate", "--force")
    (waiting,) = desk.here("inbox", "--json").json
    assert waiting["kind"] == "dream:merge"
    before = files(desk)
    done = desk.here("adopt", "--yes")
    assert "takes in b-port" in done.out and "goes into a-port" in done.out
    after = files(desk)
    assert "b-port.md" not in after and desk.here("inbox", "--json").json == []
    assert after["deploys.md"] == before["deploys.md"], "Claude's own needs no yes and no change"
    assert after["linter.md"].endswith(before["linter.md"].partition(b"---\n\n")[2])
    assert "nothing to adopt" in desk.here("adopt", "--yes").out
    undone = desk.here("undo")
    assert "linter" in undone.out + undone.err
    assert files(desk)["linter.md"] == before["linter.md"]
    assert {name: files(desk).get(name) for name in before if "port" in name} == {
        name: data for name, data in before.items() if "port" in name
    }
    assert [item["kind"] for item in desk.here("inbox", "--json").json] == ["dream:merge"]
    desk.here("adopt", "--yes")
    assert "b-port.md" not in files(desk), "a second yes"


def test_a_yes_makes_nothing_true_that_a_file_claims(desk, claude):
    put(desk.store / "rule.md", CLAIMS, AT)
    desk.here("adopt", "--yes")
    told = desk.here("why", "rule", "--json").json
    assert (told["memory"]["origin"], told["memory"]["sources"]) == ("imported", [])
    mine = desk.here("why", "linter", "--json").json["memory"]
    assert mine["origin"] == "user-confirmed"


def test_adopted_files_keep_the_id_they_had(desk, claude):
    doubles(desk)
    before = {document.name: document.id for document in Store.open(desk.store).scan().documents}
    desk.here("adopt", "--yes")
    after = {document.name: document.own_id for document in Store.open(desk.store).scan().documents}
    assert [after[name] for name in ("linter", "a-port")] == [before["linter"], before["a-port"]]


def test_nothing_but_claudes_needs_no_yes(desk, claude):
    (desk.store / "linter.md").unlink()
    told = desk.here("adopt")
    assert "nothing to adopt" in told.out


def test_a_former_place_takes_no_other_options(desk):
    assert "OLD-PATH" in desk.here("adopt", "/nowhere", "--dry-run", code=2).err


SHARED = "11111111-1111-4111-8111-111111111111"
KEYS = """---
name: keys
description: How keys are kept.
type: feedback
origin: user-stated
sources:
- {session: s, uuid: u, quote: push}
updated: 2020-01-01
wiki: Ops/Keys  # ours
metadata:
  type: user
  modified: 2020-02-03T04:05:06.000Z
tags: [one, two]
importance: 0.9
---

Keys are kept in the safe.
"""
BARE = "# The mailer\n\nIt listens on port 8025.\n"
DATED = "---\nname: dated\ncreated: 2021-05-06\n---\n\nSaid long ago.\n"
UNDATED = "---\nname: undated\n---\n\nSaid at some time.\n"


def front(file):
    return yaml.safe_load(file.read_text("utf-8").split("---\n")[1])


def test_names_alike_but_for_case_are_two_files(desk):
    texts = {"Case": "The mailer listens on port 8025.", "case": "The linter wants tabs in makefiles."}
    for name, text in texts.items():
        put(desk.store / f"{name}.md", f"---\nname: n-{text[4:10]}\n---\n\n{text}\n", AT)
    if len(files(desk)) < 2:
        pytest.skip("this file system holds the two names for one")
    before = files(desk)
    desk.here("adopt", "--yes")
    assert "nothing to adopt" in desk.here("adopt", "--yes").out
    assert [b"\nid: " in files(desk)[path] for path in ("Case.md", "case.md")] == [True, True]
    desk.here("undo")
    assert {path: data for path, data in files(desk).items() if path in before} == before


def test_a_dream_joins_two_that_differ_in_case_and_forget_takes_the_one_that_is_named(desk):
    for name in ("Port", "port"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\n{SAME}\n", AT)
    if len(files(desk)) < 2:
        pytest.skip("this file system holds the two names for one")
    before = files(desk)
    desk.here("consolidate", "--force")
    assert "takes in" in desk.here("adopt", "--yes").out
    assert len({"Port.md", "port.md"} & files(desk).keys()) == 1
    desk.here("undo")
    assert {path: files(desk)[path] for path in before} == before
    desk.here("forget", "Port")
    assert "port.md" in files(desk) and "Port.md" not in files(desk)
    desk.here("forget", "port")
    desk.here("restore", "Port")
    assert files(desk)["Port.md"] == before["Port.md"] and "port.md" not in files(desk)


def test_one_yes_gives_each_copy_an_id_of_its_own_and_says_so(desk):
    for age, name in enumerate(("first", "second", "third")):
        put(
            desk.store / f"{name}.md",
            f"---\nname: {name}\nid: {SHARED}\n---\n\nSays {name}.\n",
            AT + timedelta(age),
        )
    rows = {row["path"]: row["deed"] for row in desk.here("adopt", "--dry-run", "--json").json["files"]}
    assert "is a copy" not in rows["first.md"]
    assert all("not that of first.md" in rows[path] for path in ("second.md", "third.md"))
    audited = desk.here("audit", desk.store, "--json", code=1).json["findings"]
    told = [(item["path"], item["other"], item["fix"]) for item in audited if item["code"] == "duplicate-id"]
    assert [row[:2] for row in told] == [("second.md", "first.md"), ("third.md", "first.md")]
    assert all("`reverie adopt`" in fix for *_, fix in told)
    desk.here("adopt", "--yes")
    given = [front(desk.store / f"{name}.md")["id"] for name in ("first", "second", "third")]
    assert given[0] == SHARED and len({*given}) == 3
    assert "nothing to adopt" in desk.here("adopt", "--yes").out
    (entry,) = desk.here("history", "--json").json
    assert entry["what"] == "adopted 3 files: first, second, third"


def test_of_two_with_one_id_each_is_shown_explained_and_forgotten_by_its_own(desk):
    for age, name in enumerate(("first", "second")):
        put(
            desk.store / f"{name}.md",
            f"---\nname: {name}\nid: {SHARED}\n---\n\nSays {name}.\n",
            AT + timedelta(age),
        )
    own = desk.here("why", "second", "--json").json["memory"]["id"]
    assert own != SHARED
    assert "Says first." in desk.here("show", SHARED[:8]).out
    assert "Says second." in desk.here("show", own[:8]).out
    desk.here("forget", own)
    assert "second.md" not in files(desk) and "first.md" in files(desk)
    desk.here("undo")
    assert "Says second." in desk.here("show", own[:8]).out


ODD_NAMES = {
    "a\nb": "a\\nb.md: its name has a line break in it",
    "..hidden": "..hidden.md: its name begins with a dot, so it is hidden",
    "a:b": "a:b.md: its name has a colon in it",
    "e\x1b[31mc": "e\\x1b[31mc.md: its name has a control character in it",
}


def test_each_file_that_is_not_taken_stands_on_a_line_with_its_cause(desk):
    for name in ODD_NAMES:
        put(desk.store / f"{name}.md", "---\nname: odd\ndescription: Odd.\ntype: project\n---\n\nText.\n", AT)
    put(desk.store / "pinned.md", "---\nname: pinned\npinned: true\n---\n\nStays.\n", AT)
    put(desk.store / "latin.md", b"---\nname: latin\n---\n\ncaf\xe9\n", AT)
    put(desk.store / "torn.md", "---\na: 'b' c\n---\n\nTorn.\n", AT)
    put(desk.store / "taken.md", UNDATED, AT)
    told = desk.here("adopt", "--dry-run").out
    lines = told.split("\n")
    for line in ODD_NAMES.values():
        assert f"- {line}" in lines
    assert "- pinned.md: is pinned" in lines
    assert any(line.startswith("- latin.md: has bytes that are not UTF-8") for line in lines)
    assert any(line.startswith("- torn.md: front matter: ") for line in lines)
    assert "\x1b" not in told and sum(line.startswith("- ") for line in lines) == 7
    listed = desk.here("adopt", "--dry-run", "--json").json
    assert [row["path"] for row in listed["files"]] == ["taken.md"] and len(listed["left"]) == 7
    audited = desk.here("audit", desk.store, code=1).out
    assert "3 files have names that no memory can have, and stay as they are." in audited
    assert "team's folder" not in audited and "\x1b" not in audited
    shown = [line for line in audited.split("\n") if ": file-name: " in line]
    assert len(shown) == len(ODD_NAMES)
    assert all(any(told.split(": its")[0] in line for line in shown) for told in ODD_NAMES.values())
    assert "3 files have names that no memory can have" in desk.here("list").out + desk.here("list").err


def test_no_key_that_stands_there_is_changed_unless_the_list_says_so(desk):
    put(desk.store / "keys.md", KEYS, AT)
    (row,) = desk.here("adopt", "--dry-run", "--json").json["files"]
    assert "its origin “user-stated” becomes “imported”" in row["deed"]
    assert "its sources go, which no session bears out" in row["deed"]
    assert not any(key in row["deed"] for key in ("updated", "metadata", "tags", "importance", "type"))
    old = front(desk.store / "keys.md")
    desk.here("adopt", "--yes")
    new = front(desk.store / "keys.md")
    assert {key for key in old if old[key] != new.get(key)} == {"origin", "sources"}
    assert new.keys() - old.keys() == {"id"}
    kept = [line for line in KEYS.split("\n") if not line.startswith(("origin", "sources", "- {"))]
    assert [line for line in (desk.store / "keys.md").read_text("utf-8").split("\n") if line in kept] == kept


def test_the_document_lists_what_adopting_writes(desk):
    page = (Path(__file__).parents[2] / "docs/memory-files.md").read_text("utf-8")
    rows = page.partition("## What adopting writes")[2].partition("\n## ")[0].split("\n")
    added = {cells[1].strip(): cells[2] for row in rows if len(cells := row.split("|")) > 3}
    for name, text in {"bare": BARE, "dated": DATED, "undated": UNDATED, "keys": KEYS}.items():
        put(desk.store / f"{name}.md", text, AT)
    before = {name: front(desk.store / f"{name}.md").keys() for name in ("dated", "undated", "keys")}
    desk.here("adopt", "--yes")
    written = {name: front(desk.store / f"{name}.md").keys() - keys for name, keys in before.items()}
    assert written == {"dated": {"id", "origin"}, "undated": {"id", "origin", "updated"}, "keys": {"id"}}
    named = set(re.findall(r"`(\w+)`", added["front matter"].partition(", if it gives")[0]))
    assert named == written["undated"]
    assert set(re.findall(r"`(\w+)`", added["no front matter"])) == {*front(desk.store / "bare.md")}


def test_adopting_makes_no_memory_younger(desk):
    put(desk.store / "undated.md", UNDATED, AT)
    desk.here("adopt", "--yes")
    assert datetime.fromisoformat(front(desk.store / "undated.md")["updated"]) == AT


def test_history_tells_what_an_adoption_was_and_its_undo(desk):
    for name in ("a", "b", "c", "d"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\nSays {name}.\n", AT)
    desk.here("adopt", "--yes")
    assert [entry["what"] for entry in desk.here("history", "--json").json] == [
        "adopted 4 files: a, b, c and 1 more"
    ]
    assert "removed" not in desk.here("diff").out and "created" not in desk.here("diff").out
    assert "undid adopt 4 files" in desk.here("undo").out
    undone, adopted = desk.here("history", "--json").json
    assert undone["what"].startswith("undid ") and undone["what"].endswith(": adopt 4 files")
    assert (adopted["what"], adopted["state"]) == ("adopted 4 files: a, b, c and 1 more", "undone")


def offer_of(desk):
    """What a person saw, and then says yes to; the moment between is the test's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", desk.env)
        patch.chdir(desk.project)
        return App(), adopted_files.offered(App()).files


def say_yes(desk, app, seen):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", desk.env)
        patch.chdir(desk.project)
        return adopted_files.adopt(app, seen)


def test_a_second_yes_at_the_same_time_says_that_nothing_is_left(desk):
    put(desk.store / "a.md", UNDATED, AT)
    app, seen = offer_of(desk)
    desk.here("adopt", "--yes")
    assert say_yes(desk, app, seen) == ""
    assert len(desk.here("history", "--json").json) == 1


def test_a_yes_to_another_list_names_what_differs(desk):
    for name in ("a", "b"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\nSays {name}.\n", AT)
    app, seen = offer_of(desk)
    put(desk.store / "c.md", "---\nname: c\n---\n\nSays c.\n", AT)
    with pytest.raises(ConflictError, match=r"changed since the list: c\.md") as told:
        say_yes(desk, app, seen)
    assert "asked" not in str(told.value)
    (desk.store / "c.md").unlink()
    put(
        desk.store / "b.md",
        (desk.store / "b.md").read_text("utf-8").replace("b\n---", "b\norigin: x\n---"),
        AT,
    )
    with pytest.raises(ConflictError, match=r"since the list: b\.md"):
        say_yes(desk, app, seen)


def test_an_edit_or_a_removal_after_the_list_is_refused_and_named(desk):
    for name in ("a", "b", "d"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\nSays {name}.\n", AT)
    app, seen = offer_of(desk)
    # What would be done stays the same; what it would be done to does not.
    put(desk.store / "a.md", "---\nname: a\n---\n\nPush to main.\n", AT)
    (desk.store / "b.md").unlink()
    before = tree(desk.store, skip=(".reverie",))
    with pytest.raises(ConflictError, match=r"changed since the list: a\.md, b\.md \(gone\)$"):
        say_yes(desk, app, seen)
    assert tree(desk.store, skip=(".reverie",)) == before
    assert desk.here("history", "--json").json == []


def test_what_another_yes_took_away_was_adopted_and_what_a_person_removed_since_was_not(desk):
    for name in ("a", "b"):
        put(desk.store / f"{name}.md", f"---\nname: {name}\n---\n\nSays {name}.\n", AT)
    app, seen = offer_of(desk)
    (desk.store / "b.md").unlink()
    desk.here("adopt", "--yes")
    with pytest.raises(ConflictError, match=r"changed since the list: b\.md \(gone\)$"):
        say_yes(desk, app, seen)


def test_an_undo_gives_back_a_file_time_of_zero(desk):
    file = put_at_zero(desk)
    desk.here("adopt", "--yes")
    assert file.stat().st_mtime_ns != 0
    desk.here("undo")
    assert file.stat().st_mtime_ns == 0


def put_at_zero(desk):
    file = desk.store / "a.md"
    put(file, UNDATED, AT)
    os.utime(file, ns=(0, 0))
    return file


def test_two_that_say_yes_at_once_adopt_each_file_once(desk):
    for number in range(6):
        put(desk.store / f"n{number}.md", f"---\nname: n{number}\n---\n\nSays {number}.\n", AT)
    command = [sys.executable, "-m", "pipeline.cli.main", "adopt", "--yes"]
    both = [
        subprocess.Popen(
            command, cwd=desk.project, env=desk.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    told = "".join((out + err).decode("utf-8") for out, err in said)
    assert [process.returncode for process in both] == [0, 0], told
    assert told.count("adopted 6 files. `reverie undo") == 1
    assert "while you were asked" not in told and "Traceback" not in told
    assert len(desk.here("history", "--json").json) == 1


def test_uses_that_were_counted_by_path_go_with_the_file(desk):
    put(desk.store / "a.md", UNDATED, AT)
    desk.here("reindex")
    state = desk.store / "_state.json"
    value = json.loads(state.read_bytes())
    value["entries"] = {"path:a.md": {"access_count": 3, "last_accessed": "2026-11-20T09:00:00+00:00"}}
    state.write_text(json.dumps(value), "utf-8")
    desk.here("adopt", "--yes")
    entries = json.loads(state.read_bytes())["entries"]
    assert entries == {
        front(desk.store / "a.md")["id"]: {"access_count": 3, "last_accessed": "2026-11-20T09:00:00+00:00"}
    }
