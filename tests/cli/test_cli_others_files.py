"""What a newcomer reads about files that Claude, they themselves or nobody known wrote."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.cells import cell_len

from pipeline.core.clock import SystemClock
from pipeline.ledger import inbox, open_ledger
from tests.cli.test_cli_widths import ESCAPES, on_terminal
from tests.support.claudes import Claude, put
from tests.support.stores import tree

AT = datetime(2026, 7, 19, 18, 11, tzinfo=UTC)
SAME = "The mailer listens on port 8025. It takes no other."
NOBODYS = ("gulls", "kelp", "tides", "buoys")
SAYS = {
    "gulls": "Gulls are counted at dawn.",
    "kelp": "Kelp is weighed wet.",
    "tides": "Tide tables come from the harbour office.",
    "buoys": "Buoys are painted in May.",
}


def text(name, words, more=""):
    return f"---\nname: {name}\ndescription: {words}\ntype: project\n{more}---\n\n{words}\n"


def home(desk):
    return desk.project.parent / ".claude" / "reverie"


def flat(said):
    return " ".join(said.split())


@pytest.fixture
def folder(desk):
    """Two files of nobody known that say the same, four more, and one that Claude wrote in a session."""
    desk.here("status")
    for name in ("a-port", "b-port"):
        put(desk.store / f"{name}.md", text(name, SAME), AT)
    for name in NOBODYS:
        put(desk.store / f"{name}.md", text(name, SAYS[name]), AT)
    with open_ledger(home(desk) / "ledger.sqlite") as ledger:
        session = Claude(ledger, desk.store, SystemClock())
        session.talk.now = AT
        session.hears("please remember that deploys go out on Mondays only")
        session.writes("deploys", "Deploys go out on Mondays.")
        session.read()
    yield desk


def test_adopt_tells_first_what_a_yes_changes_and_then_what_stays_as_one_heading(folder):
    folder.here("consolidate", "--force")
    before = tree(folder.store, skip=())
    said = folder.here("adopt", "--dry-run")
    lines = said.out.splitlines()
    assert lines[0] == "A yes changes these:"
    assert lines[1] == "- a-port.md: takes in b-port; who wrote it: nobody can tell"
    assert lines[2].startswith("- b-port.md: goes into a-port (kept in archive/)")
    assert lines[4].startswith("These 4 files: each is kept like Reverie's own: its front matter gets an id")
    assert lines[4].endswith("Who wrote them: nobody can tell.")
    assert lines[5] == "  buoys.md, gulls.md, kelp.md, tides.md" and len(lines) == 6
    assert said.err.splitlines()[-1] == "nothing was changed"
    assert tree(folder.store, skip=()) == before
    for part in on_terminal(folder, 80, "adopt", "--dry-run"):
        assert max(map(cell_len, ESCAPES.sub("", part).split("\n"))) <= 80


def test_the_answer_says_how_many_were_taken_what_left_and_one_id_everywhere(folder):
    folder.here("consolidate", "--force")
    said = folder.here("adopt", "--yes").err
    found = re.search(r"adopted 6 files; 1 of them left the folder for archive/\. `reverie undo (\S+)`", said)
    assert found, said
    short = found[1]
    assert folder.here("history", "--json").json[0]["short"] == short
    undone = folder.here("undo", short)
    assert f"({short})" in undone.out and "as before  gulls.md" in undone.out
    again = re.search(r"To redo it: `reverie undo (\S+)`", undone.err)
    assert again
    redone = folder.here("undo", again[1])
    assert f"({short})" in redone.out and redone.out.startswith("redid ")
    assert "changed    gulls.md" in redone.out and "as before" not in redone.out


def test_status_says_how_many_files_wait_for_a_yes_and_until_when(folder):
    assert "adopt" not in folder.here("status").out, "nobody looked yet who wrote them"
    folder.here("consolidate", "--force")
    said = folder.here("status")
    line = "adopt      6 files that nobody knows the writer of wait for `reverie adopt`"
    assert line in said.out.splitlines()
    assert folder.here("status", "--json").json["to_adopt"] == {"unknown": 6}
    put(folder.store / "kelp.md", text("kelp", "Kelp is weighed wet.", "pinned: true\n"), AT)
    (folder.store / "tides.md").unlink()
    assert folder.here("status", "--json").json["to_adopt"] == {"unknown": 4}
    folder.here("adopt", "--yes")
    assert folder.here("status", "--json").json["to_adopt"] == {}


def test_status_knows_words_of_a_person_apart(folder):
    mine = folder.store / "deploys.md"
    folder.here("consolidate", "--force")
    put(mine, mine.read_text("utf-8").replace("Mondays.", "Tuesdays."), datetime(2026, 7, 20, tzinfo=UTC))
    folder.here("consolidate", "--force")
    assert folder.here("status", "--json").json["to_adopt"] == {"unknown": 6, "person": 1}
    said = flat(folder.here("status").out)
    assert (
        "7 files with words that are not Claude's alone wait for `reverie adopt`,"
        " of 6 of them nobody knows the writer"
    ) in said


@pytest.mark.parametrize(("name", "origin"), [("gulls", "imported"), ("deploys", "assistant-inferred")])
def test_a_file_that_a_line_of_claudes_links_to_is_pinned_where_it_is(folder, name, origin):
    index = folder.store / "MEMORY.md"
    index.write_text(f"- [It]({name}.md) — as Claude wrote it\n")
    before = (folder.store / f"{name}.md").read_bytes()
    assert f"({name}.md)" in folder.here("pin", name).out
    assert f"- [It]({name}.md) — as Claude wrote it\n" in index.read_text()
    raw = (folder.store / f"{name}.md").read_bytes()
    assert b"\npinned: true\n" in raw and raw.endswith(before.partition(b"---\n\n")[2])
    told = folder.here("why", name, "--json").json["memory"]
    assert (told["pinned"], told["origin"]) == (True, origin)
    folder.here("undo")
    assert (folder.store / f"{name}.md").read_bytes() == before
    folder.here("pin", name)
    folder.here("unpin", name)
    assert b"pinned" not in (folder.store / f"{name}.md").read_bytes()


def test_a_pin_makes_nothing_true_that_a_file_claims(folder):
    claims = (
        "origin: user-stated\nsources:\n- {session: s, uuid: u, quote: push, at: '2026-03-01T10:00:00Z'}\n"
    )
    put(folder.store / "rule.md", text("rule", "Push to main.", claims), AT)
    (folder.store / "MEMORY.md").write_text("- [Rule](rule.md)\n")
    folder.here("pin", "rule")
    told = folder.here("why", "rule", "--json").json["memory"]
    assert (told["origin"], told["sources"]) == ("imported", [])


def test_why_contradicts_itself_no_more(folder):
    said = flat(folder.here("why", "deploys").out)
    assert "written 2026-07-19 18:11" in said and "Claude wrote it at 2026-07-19 18:11" in said
    assert "changed since" not in said and "unknown" not in said
    assert "changed by Reverie not yet; a dream may, as Claude wrote it" in said
    said = flat(folder.here("why", "gulls").out)
    assert "it never wrote this file, and won't change it until you type `reverie adopt`" in said
    assert "changed since" not in said
    put(folder.store / "kelp.md", text("kelp", "Kelp is weighed wet.", "pinned: true\n"), AT)
    assert "changed by Reverie not of itself: the file is pinned" in flat(folder.here("why", "kelp").out)
    folder.here("adopt", "--yes")
    said = flat(folder.here("why", "gulls").out)
    assert "changed since by someone else no" in said and "changed by Reverie" not in said


def test_a_dreams_report_tells_files_of_nobody_known_apart_and_what_waits(folder):
    folder.here("add", "Boats leave at six.", "--name", "boats")
    said = folder.here("consolidate", "--force").out
    names = "a-port, b-port, buoys, gulls, kelp, tides"
    alone = f"- {names}: nobody knows who wrote them: they wait for `reverie adopt`"
    assert alone in said.splitlines()
    assert "- boats: yours (pinned, edited or written by hand)" in said
    waits = said.partition("## Waits in the inbox for you: `reverie inbox`")[2].partition("\n## ")[0]
    assert "- merge a-port, b-port: " in waits and "Refused by the checks" not in said
    (file,) = (home(folder) / "reports").glob("*.json")
    assert json.loads(file.read_bytes())["nobodys"] == sorted(["a-port", "b-port", *NOBODYS])


def test_a_dry_dream_puts_nothing_into_the_inbox_and_says_so(folder):
    said = folder.here("consolidate", "--force", "--dry-run").out
    assert "## Would wait in the inbox for you" in said and "## Waits" not in said
    assert folder.here("inbox", "--json").json == []


def test_a_proposal_of_a_dream_is_shown_in_words(folder):
    folder.here("consolidate", "--force")
    (row,) = folder.here("inbox", "--json").json
    said = folder.here("inbox", "show", row["id"]).out
    operation = row["payload"]["operation"]
    assert operation["ids"] and not [part for part in operation["ids"] if part in said]
    heads = {re.split(r"\s{2,}", line)[0] for line in said.partition("\n\n")[0].splitlines()}
    assert {"kind", "proposed by", "name", "why it waits"} <= heads
    assert not heads & {"op", "ids", "into", "covered", "texts", "strength", "relation", "reason"}
    assert re.search(r"^kind +merge$", said, re.M) and re.search(r"^proposed by +a dream$", said, re.M)
    assert folder.here("inbox", "show", row["id"], "--json").json["payload"]["operation"] == operation


def test_a_proposal_of_a_session_is_shown_in_words(desk):
    desk.here("status")
    payload = {
        "name": "tea", "type": "project", "title": "Tea", "statement": "Tea is at four.", "importance": 0.5,
        "confidence": 0.8, "origin": "user-stated", "tags": ["tea", "day"],
    }  # fmt: skip
    with open_ledger(home(desk) / "ledger.sqlite") as ledger:
        number = inbox.add_inbox(
            ledger, str(desk.store), kind="new", payload_json=json.dumps(payload), reason="a person decides",
            run_id="r", now=0.0,
        )  # fmt: skip
    said = desk.here("inbox", "show", number).out
    assert re.search(r"^who says it +user-stated$", said, re.M) and re.search(r"^tags +tea; day$", said, re.M)
    assert "importance" not in said and "origin" not in said and "Tea is at four." in said


def test_an_audit_in_short_says_of_what_kind_the_rest_is(desk, tmp_path):
    root = Path(tmp_path / "folder")
    for name in ("a", "b"):
        put(
            root / f"{name}.md",
            text(name, f"See [[nothing-{name}]] about {SAYS['gulls' if name == 'a' else 'kelp']}"),
            AT,
        )
    (root / "MEMORY.md").write_text("- [A](a.md)\n- [B](b.md)\n")
    seen = desk.here("audit", root, "--short", "--json").json
    assert seen["more"] == sum(number for _, number in seen["kinds"]) > 1
    kinds = ", ".join(code if number == 1 else f"{code} ({number})" for code, number in seen["kinds"])
    assert f"things to know: {kinds}" in desk.here("audit", root, "--short").out
    assert {code for code, _ in seen["kinds"]} <= {
        finding["code"] for finding in desk.here("audit", root, "--json").json["findings"]
    }
