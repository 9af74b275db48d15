"""A home worth looking at: memories of every kind, dreams, an inbox, episodes, costs and a queue.

It is a shop's: what its people would keep. With `hostile` there is also what no person would write: markup in
every field, a name without an end, and files by hand that are wrong.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import memories as written
from pipeline.app.application import App
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.proposals import inbox_item
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core import paths
from pipeline.core.clock import FixedClock
from pipeline.domain.job import Job
from pipeline.domain.memory import MAX_QUOTE, Evidence, Memory
from pipeline.domain.operations import Operation, Refused
from pipeline.extraction import cited_writes
from pipeline.ledger import calls, inbox, jobs
from pipeline.llm.budget import Usage
from tests.cli.conftest import Desk, make_desk
from tests.support.dreaming import GENEROUS, Dreaming, note, op, planned
from tests.support.extraction import Bench, fact, reply
from tests.support.transcripts import SESSION, Transcript

NOW = datetime.fromisoformat("2026-11-27T16:30:00+00:00")
HIT = "window.__hit=1"
"""What each piece of markup would do, were it more than text."""
HOSTILE = (
    f"<script>{HIT}</script><img src=x onerror={HIT}>\"' onmouseover='{HIT}' <svg onload={HIT}>"
    f"</textarea></title></style><iframe srcdoc='<script>top.{HIT}</script>'></iframe>"
    f"<a href='javascript:{HIT}'>go</a> {{{{7*7}}}}"
)
HIDDEN = "\u202eturned\u2028"
"""What Reverie itself would never keep, and a file by hand may have."""
LONG = "a-name-without-an-end-" + "and-on-" * 30
ARABIC = "النسخ الاحتياطية تعمل كل ليلة في الساعة الثالثة"
HEBREW = "כל המחירים נשמרים באגורות ולא בשקלים"
CHINESE = "所有价格以分为单位存储,绝不使用浮点数,因为舍入误差会累积。"
JAPANESE = "リリースは毎週月曜日の朝に行い、金曜日には決して行わない。"

_TALK = (
    ("How often does the payment gateway retry?", "It retries for ever, with a second between the tries."),
    (
        "No: three times at most, then it gives up. It hammered the bank's sandbox last spring.",
        "Then it is tried three times, with one, two and four seconds between.",
    ),
    (
        "Good. And prices are whole cents everywhere, never floats.",
        "I changed the two places that had floats.",
    ),
    ("What do we use for search?", "Postgres full text; Elasticsearch was dropped in March."),
)
_MEMORIES: tuple[dict[str, Any], ...] = (
    {
        "statement": "The payment gateway is tried three times, then it gives up.",
        "why": "It hammered the bank's sandbox last spring.",
        "kind": "project",
        "name": "gateway-retries",
        "tags": ["payments", "gateway"],
        "anchors": ["src/gateway.py", "src/old_gateway.py"],
        "cited": (1, "three times at most, then it gives up"),
    },
    {
        "statement": "Prices are whole cents everywhere, never floats.",
        "kind": "decision",
        "name": "prices-in-cents",
        "anchors": ["src/price.py"],
        "cited": (2, "prices are whole cents everywhere"),
    },
    {
        "statement": "Search is Postgres full text.",
        "why": "Elasticsearch cost a server of its own and was always a minute behind.",
        "kind": "decision",
        "name": "search-in-postgres",
        "tags": ["search"],
    },
    {
        "statement": "Releases go out on Monday mornings, never on a Friday.",
        "kind": "project",
        "name": "release-day",
    },
    {
        "statement": "The nightly backup once filled the disk because old ones were never removed.",
        "kind": "problem",
        "name": "backup-filled-the-disk",
    },
    {
        "statement": "Backups older than 30 days are removed by the job that makes the new one.",
        "kind": "solution",
        "name": "backups-are-pruned",
    },
    {
        "statement": "Tests talk to a real Postgres in a container, never to a mock.",
        "kind": "feedback",
        "name": "no-mocks",
    },
    {
        "statement": "The staging shop stands at staging.shop.example, behind the VPN.",
        "kind": "reference",
        "name": "staging",
    },
)
_OF_ALL_WRITING: tuple[dict[str, Any], ...] = (
    {"statement": ARABIC, "kind": "project", "name": "nightly-backups-ar"},
    {"statement": HEBREW, "kind": "decision", "name": "prices-he"},
    {"statement": CHINESE, "kind": "decision", "name": "价格以分为单位"},
    {"statement": JAPANESE, "kind": "project", "name": "release-ja"},
)
_PROPOSED: dict[str, Any] = {
    "name": "stock-is-counted-at-night",
    "type": "project",
    "description": "Stock is counted at night, not at each sale.",
    "statement": "Stock is counted at night, not at each sale.",
    "why": "Counting at each sale locked the table.",
    "how_to_apply": "",
    "origin": "assistant-inferred",
    "tags": ["stock"],
    "sources": [
        {
            "session": SESSION,
            "uuid": "u",
            "quote": "so the count moves to the night",
            "at": "2026-11-26T10:00:00Z",
            "speaker": "assistant",
        }
    ],
}
_EARLIER = "1d0c5b52-7f0e-4c5f-9d3a-5c9a4f0b7a11"
"""A session of which nothing but quotes is left."""
_DOUBT_OF_MERGE = (
    "the second reader did not agree"
    " that “backup-filled-the-disk” states the same fact as “backups-are-pruned”"
)
_DOUBT_OF_RETIRE = "the second reader did not agree that “timeouts” says that it holds until 2026-11-20"


def fill(root: Path, *, hostile: bool) -> Desk:
    """Make a home and a project below `root`, and return them with the environment to look at them in."""
    desk = make_desk(root)
    desk.env |= {"REVERIE_NOW": NOW.isoformat(), "REVERIE_EXTRACTION__TIME_ZONE": "UTC", "TZ": "UTC"}
    with surroundings(desk):
        said = _conversation(desk)
        _memories(desk, said, hostile=hostile, before=True)
        _dream(desk, hostile=hostile)
        _memories(desk, said, hostile=hostile, before=False)
        _relations(desk)
        _waiting(desk, _dream_in_part(desk, hostile=hostile), hostile=hostile)
        _runs(desk, hostile=hostile)
        _costs(desk)
        _queue(desk, hostile=hostile)
        if hostile:
            _wrong_files(desk)
    return desk


@contextmanager
def surroundings(desk: Desk) -> Iterator[None]:
    """Be in the desk's project and environment meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(desk.env))
        patch.chdir(desk.project)
        yield


def _ago(**span: float) -> FixedClock:
    return FixedClock(NOW - timedelta(**span))


def _conversation(desk: Desk) -> list[str]:
    """Let a conversation be read, and return the ids of what the person said in it."""
    (desk.project / "src").mkdir()
    for name in ("gateway", "price"):
        (desk.project / "src" / f"{name}.py").touch()
    talk = Transcript(cwd=str(desk.project), start="2026-11-27T09:00:00Z", step_seconds=90)
    said = []
    for asked, answered in _TALK:
        said.append(talk.user(asked))
        talk.assistant(answered)
    file = talk.write(paths.project_store(desk.project).parent / f"{SESSION}.jsonl")
    assert list(App(folder=desk.project).ingest(file=file))
    return said


def _memories(desk: Desk, said: list[str], *, hostile: bool, before: bool) -> None:
    """Keep what was there `before` the night, or what came of today's talk and what is apart."""
    for number, given in enumerate((*_MEMORIES, *(_OF_ALL_WRITING if hostile else ()))):
        more = dict(given)
        if before == ("cited" in more):
            continue
        app = App(folder=desk.project)
        app.clock = _ago(days=60 - 4 * number, hours=3)
        if "cited" in more:
            turn, quote = more.pop("cited")
            app.clock = _ago(hours=7)
            source = Evidence(
                session=SESSION, uuid=said[turn], quote=quote, at="2026-11-27T09:03:00Z", speaker="person"
            )
            more["sources"] = [source]
        written.add(app, more.pop("statement"), force=True, **more)
    if before:
        return
    everywhere = App(user=True)
    everywhere.clock = _ago(days=12)
    written.add(everywhere, "Answers are short and name the file.", kind="feedback", name="short-answers")
    desk.here(
        "procedure", "Ship a release", "--name", "ship-a-release", "--step", "Run `make check`.", "--step",
        "Tag the commit.", "--step", "Push the tag; the server does the rest.", "--precondition",
        "The tree is clean.", "--postcondition", "The shop's footer shows the new version.",
        REVERIE_NOW=_ago(days=5).now().isoformat(),
    )  # fmt: skip
    if hostile:
        worst: dict[str, Any] = {
            "title": HOSTILE,
            "description": HOSTILE,
            "tags": [HOSTILE[:40]],
            "anchors": [HOSTILE],
        }
        endless = {"name": LONG[:100], "title": LONG, "description": LONG}
        for text, more in (
            (f"Never run {HOSTILE} here.", {"why": HOSTILE, "name": "hostile", **worst}),
            (f"No blank: {'x' * 900}.", endless),
        ):
            written.add(App(folder=desk.project), text, kind="project", force=True, **more)


def _relations(desk: Desk) -> None:
    for start, kind, end in (
        ("backups-are-pruned", "SOLVES", "backup-filled-the-disk"),
        ("ship-a-release", "REQUIRES", "release-day"),
        ("ship-a-release", "REQUIRES", "staging"),
        ("search-in-postgres", "BUILDS_ON", "no-mocks"),
        ("gateway-retries", "RELATED_TO", "prices-in-cents"),
    ):
        desk.here(
            "relate", start, kind, end, "--context", "said in the same talk",
            REVERIE_NOW=_ago(hours=6 if end == "prices-in-cents" else 72).now().isoformat(),
        )  # fmt: skip
    desk.here(
        "update",
        "release-day",
        "--text",
        "Releases go out on Monday mornings; an urgent fix on any day but Friday.",
    )
    desk.here("pin", "no-mocks")
    desk.here("show", "search-in-postgres")
    desk.here("forget", "staging", REVERIE_NOW=_ago(hours=2).now().isoformat())
    for title, kind in (
        ("The gateway gives up after three tries", "decision"),
        ("The floats are gone", "fix"),
    ):
        desk.here(
            "episode", title, "--type", kind, "--summary", "What was said about it stands in the memory.",
            "--memory", "prices-in-cents",
        )  # fmt: skip


def _dream(desk: Desk, *, hostile: bool) -> None:
    """Let last night's dream merge three memories, and doubt whether a fourth may go."""
    app = App(folder=desk.project)
    with app.ledger() as ledger:
        bench = Dreaming(ledger, app.open_store(), app.home, clock=_ago(hours=13))
        bench.set(retire_share=1.0)
        bench.keep(
            _said(
                "timeouts", "2026-05-20", "The gateway's timeout is ten seconds.", "It was five before May."
            ),
            _said("timeouts-again", "2026-06-11", "Ten seconds is how long the gateway may take."),
            _said(
                "timeouts-logged",
                "2026-07-02",
                "Each timeout of the gateway is logged with the order's number.",
            ),
            _said(
                "old-search",
                "2026-02-03",
                "Search runs on Elasticsearch.",
                "Its index is made anew every night." + (f" {HOSTILE}" if hostile else ""),
            ),
        )
        covered = [("timeouts-again.1", "timeouts.1")]
        bench.model(
            planned(
                op(
                    "merge",
                    "timeouts",
                    "timeouts-again",
                    "timeouts-logged",
                    into="timeouts",
                    covered=covered,
                    reason="All three say how long the gateway may take, and what is kept of it.",
                ),
                op("retire", "old-search", reason="Search is Postgres full text since March."),
            )
        )
        first = bench.dream()
        assert first.word == "done", first


def _said(name: str, day: str, *said: str) -> Memory:
    """Return a memory of what a person said on that day, whole sentences as its quotes."""
    sources = tuple(
        Evidence(
            session=_EARLIER,
            uuid=f"{name}-{number}",
            quote=text[:MAX_QUOTE],
            at=f"{day}T10:00:00+00:00",
            speaker="person",
        )
        for number, text in enumerate(said)
    )
    return note(name, " ".join(said), day, sources=sources)


def _dream_in_part(desk: Desk, *, hostile: bool) -> DreamReport:
    """Leave the report of a later dream that could do nothing alone, and return it."""
    app = App(folder=desk.project)
    markup = HOSTILE if hostile else ""
    night = reports.read(reports.all_of(app.home, app.store_path)[0])
    later = dataclasses.replace(
        night,
        run_id="00000002-0000-4000-8000-000000000000",
        at=_ago(hours=1).now().isoformat(),
        word="partial",
        actions=[],
        memories=11,
        changed=5,
        looked_at=[["backup-filled-the-disk", "backups-are-pruned"], ["prices-in-cents", "release-day"],
                   ["search-in-postgres", "old-search"], ["gateway-retries", "timeouts"]],
        refused=[
            _put_aside(["prices-in-cents", "release-day"], f"it would lose a fact {markup}"),
            _put_aside(["backup-filled-the-disk", "backups-are-pruned"], _DOUBT_OF_MERGE, to_inbox=True),
            _put_aside(["timeouts"], _DOUBT_OF_RETIRE, to_inbox=True, op="retire"),
            _put_aside(
                ["search-in-postgres", "old-search"],
                "more than 1 would leave in one dream; it comes first next time",
                later=True,
            ),
        ],
        failed=["gateway-retries", "timeouts"],
        left_alone=["no-mocks"],
        dollars=0.0123,
    )  # fmt: skip
    reports.write(later, app.home)
    return later


def _put_aside(
    names: list[str], why: str, *, to_inbox: bool = False, later: bool = False, op: str = "merge"
) -> dict[str, Any]:
    return {"op": op, "memories": names, "why": why, "to_inbox": to_inbox, "later": later}


def _waiting(desk: Desk, dream: DreamReport, *, hostile: bool) -> None:
    """Put an item of each kind into the inbox, those of a dream as `dream` did."""
    app = App(folder=desk.project)
    store = app.open_store()
    source = {
        "session": SESSION,
        "uuid": "u",
        "quote": "the bank's manual speaks of four times",
        "at": "2026-11-27T15:10:00Z",
    }
    known = {document.name: document for document in store.scan().documents}
    retries = store.read("gateway-retries")
    update = {
        **_PROPOSED, "name": "gateway-retries", "update_of": "gateway-retries", "statement": "",
        "why": "", "tags": [],
        "description": "The payment gateway is tried four times, then it gives up.", "was": retries.digest,
        "sources": [{**source, "speaker": "assistant"}],
        "replaces": [["The payment gateway is tried three times, then it gives up.",
                      "The payment gateway is tried four times, then it gives up."]],
    }  # fmt: skip
    with app.ledger() as ledger:

        def put(kind: str, payload: Any, reason: str, run: str = "r1") -> None:
            inbox.add_inbox(
                ledger, str(store.path), kind=kind, reason=reason, run_id=run, now=NOW - timedelta(hours=1),
                payload_json=json.dumps(payload),
            )  # fmt: skip

        put("update", update, "only the assistant said it, and “gateway-retries” holds a person's words")
        put("new", _PROPOSED, "only Claude said it")
        put("retire", {"name": "release-day", "reason": "no longer so"}, "you changed it by hand")
        put(
            "new",
            {
                **_PROPOSED, "name": "restore-a-backup", "type": "procedure",
                "statement": "When a backup is restored.",
                "steps": ["Stop the shop.", "Run `restore latest`."],
                "preconditions": ["Nobody pays just now."],
                "postconditions": ["The shop answers."],
            },
            "commands that came back",
        )  # fmt: skip
        merge = Operation(
            op="merge", ids=(known["backup-filled-the-disk"].id, known["backups-are-pruned"].id),
            into=known["backups-are-pruned"].id, reason="they tell the same story",
        )  # fmt: skip
        gone = Operation(
            op="retire", ids=(known["timeouts"].id,), until="2026-11-20", reason="it was for May"
        )
        for wish, doubt in ((merge, _DOUBT_OF_MERGE), (gone, _DOUBT_OF_RETIRE)):
            waiting = Refused(wish, doubt, to_inbox=True)
            put(*inbox_item(waiting, {item.id: item.memory for item in known.values()}), dream.run_id)
        cited_writes.note(ledger, str(store.path), retries.memory, run_id="c1", now=NOW)
        if hostile:
            worst = dict.fromkeys(("name", "title", "description", "statement", "why"), HOSTILE)
            put("new", {**_PROPOSED, **worst, "tags": [HOSTILE]}, HOSTILE)
            put(HOSTILE, {"name": HOSTILE}, HOSTILE)
            put("conflict", {"name": "prices-in-cents.md"}, "it was changed in two ways at once")
            put("update", {**update, "name": LONG, "update_of": "gone"}, "its memory is gone")


def _runs(desk: Desk, *, hostile: bool) -> None:
    """Let a turn be read of which nothing can be kept: a note that nobody said."""
    app = App(folder=desk.project)
    said = f"The importer is slow on Mondays. {HOSTILE if hostile else ''}"
    talk = Transcript(session_id="5e550001", cwd=str(desk.project), start="2026-11-27T15:00:00Z")
    talk.user(said)
    never = fact(1, "nobody said this", name="never-said", statement=f"The importer is {said}.")
    with app.ledger() as ledger:
        bench = Bench(ledger, app.open_store(), app.home, clock=_ago(hours=1))
        bench.script([reply(never)])
        bench.run(bench.turns(bench.hear(talk), first_sight=False))


def _costs(desk: Desk) -> None:
    with App(folder=desk.project).ledger() as ledger:
        for day in range(20, -1, -1):
            for number, purpose in enumerate(("extract.turn", "extract.verify", "dream.plan")):
                if (day + number) % 4 == 3:
                    continue
                meter = calls.LedgerMeter(ledger, GENEROUS, _ago(days=day, minutes=10 + number))
                used = Usage(
                    9_000 + 700 * (day % 5), 400 + 90 * number, 500, 4_000 * number, estimated=number == 2
                )
                call = meter.begin(
                    purpose=purpose, provider="anthropic", model=("haiku", "haiku", "sonnet")[number],
                    prompt_digest="d", estimate=used,
                )  # fmt: skip
                outcome = "invalid" if day == 6 else "ok"
                meter.end(call, outcome=outcome, usage=used, dollars=0.02 + 0.011 * (day % 7), sent=True)


def _queue(desk: Desk, *, hostile: bool) -> None:
    now = NOW.timestamp()
    with App(folder=desk.project).ledger() as ledger:
        for kind, failure, retry in (
            ("dream", "No login: `claude` then /login.", True),
            ("extract_turn", f"The reply was no JSON. {HOSTILE if hostile else ''}", False),
        ):
            jobs.enqueue(ledger, kind, f"/k/{kind}", now=now, run_after=now)
            job = jobs.claim(ledger, owner="t", lease_seconds=60, now=now)
            assert isinstance(job, Job)
            jobs.fail(ledger, job, failure, now=now, retry_at=now + 600 if retry else None)


def _wrong_files(desk: Desk) -> None:
    folder = App(folder=desk.project).open_store().path
    quoted = HOSTILE.replace("'", "''")
    source = f"{{session: '<b>', uuid: '<i>', at: '<u>', quote: '{quoted}'}}"
    (folder / "odd.md").write_text(
        f"---\nname: odd\ntype: '<b>'\ntitle: '{quoted}'\nsources:\n  - {source}\n---\n{HOSTILE} {HIDDEN}\n",
        "utf-8",
    )
    (folder / "broken.md").write_text("---\nname: [<img src=x>\n---\nIts front matter has no end.\n", "utf-8")
