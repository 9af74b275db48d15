"""An extraction that brings a file up to date which Claude itself wrote, and one that nobody knows of."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pipeline.core.clock import iso
from pipeline.extraction.outcome import Outcome
from pipeline.intake.authors import note_authors
from pipeline.ledger import inbox
from pipeline.store import Store
from tests.support.claudes import Claude, put
from tests.support.extraction import NOW, Bench, fact, reply
from tests.support.transcripts import Transcript

BEFORE = (
    "---\r\nname: deploys   # theirs\r\ndescription: 'Deploys go out: on Mondays.'\r\n"
    "metadata: {node_type: memory, type: 'project',  # the client's\r\n"
    '  originSessionId: "%s" }\r\nteam: "é"   # kept\r\n---\r\n'
    "\r\nDeploys go out on Mondays. The release branch is what goes.\r\n"
)
SAID = "deploys go out on Thursdays from now on"


def spoken(bench: Bench) -> str:
    talk = Transcript(session_id="later", start=iso(NOW - timedelta(hours=1)))
    talk.user(SAID)
    return bench.hear(talk)


def read(bench: Bench) -> Outcome:
    note_authors(bench.ledger, bench.store, now=bench.clock.now())
    change: dict[str, Any] = {
        "name": "deploys",
        "update_of": "deploys",
        "statement": "",
        "description": "Deploys go out on Thursdays.",
        "replaces": [{"number": 1, "text": "Deploys go out on Thursdays."}],
    }
    bench.script([reply(fact(1, SAID, **change))])
    (outcome,) = bench.run(bench.turns(spoken(bench), first_sight=False))
    return outcome


def test_only_what_was_said_changes_in_a_file_of_claudes_and_undo_brings_it_back(bench: Bench) -> None:
    claude = Claude(bench.ledger, bench.store.root, bench.clock)
    claude.talk.now = NOW - timedelta(days=3)
    file = claude.writes("deploys", "", raw=BEFORE % claude.session)
    claude.read()
    before = file.read_bytes()
    outcome = read(bench)
    assert [action.action for action in outcome.actions] == ["updated"], outcome.rejected
    assert "Deploys go out on Mondays." in bench.prompt(0)
    assert len(bench.provider.second.history) == 1
    said, whole = (
        "Deploys go out on Thursdays.",
        "Deploys go out on Thursdays. The release branch is what goes.",
    )
    asked = (BEFORE % claude.session).replace("'Deploys go out: on Mondays.'", whole)
    head, end, body = asked.replace("Deploys go out on Mondays.", said).rpartition("---\r\n")
    after = file.read_bytes().decode()
    assert after.startswith(head) and after.endswith(end + body)
    added = after.removeprefix(head).removesuffix(end + body).splitlines()
    keys = [line.partition(":")[0] for line in added if line[0].isalpha()]
    assert keys == ["id", "importance", "confidence", "updated", "origin", "sources"]
    assert after.count("\n") == after.count("\r\n")
    (former,) = (bench.store.root / "archive").rglob("deploys-*.md")
    assert former.read_bytes() == before
    (change,) = bench.store.history()
    assert [item.path for item in change.files if item.path == "deploys.md"]
    bench.store.undo(change.run)
    assert file.read_bytes() == before
    (document,) = Store.open(bench.store.root).scan().documents
    assert document.tended and document.own_id == ""


def test_a_file_nobody_knows_the_writer_of_stays_and_gets_a_proposal(bench: Bench) -> None:
    file = bench.store.root / "deploys.md"
    put(file, BEFORE % "no-such-session", NOW - timedelta(days=3))
    before = file.read_bytes()
    outcome = read(bench)
    assert (outcome.actions, outcome.proposals) == ((), 1)
    assert len(bench.provider.second.history) == 1
    assert file.read_bytes() == before
    (item,) = inbox.list_inbox(bench.ledger)
    assert (item.kind, item.payload["update_of"]) == ("update", "deploys")
    assert item.payload["body"].startswith("Deploys go out on Thursdays. The release branch is what goes.")
