"""Markup where nobody looks for it: names of files, folders, models, runs and sessions, and addresses."""

import json
from typing import Any
from urllib.parse import quote

import pytest

from pipeline.app import memories
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.clock import FixedClock
from pipeline.domain.action import RunSummary
from pipeline.ledger import calls, inbox, jobs, runs
from pipeline.llm.budget import Usage
from tests.browser.conftest import serving
from tests.browser.filling import HOSTILE, NOW, surroundings
from tests.cli.conftest import make_desk
from tests.support.dreaming import GENEROUS
from tests.support.transcripts import Transcript

pytestmark = pytest.mark.browser

SHORT = "<img src=x onerror=window.__hit=1>"
"""What a name of a file can hold: no slash."""
ASKED = (
    *(
        "in",
        "q",
        "type",
        "for",
        "by",
        "age",
        "band",
        "sort",
        "from",
        "show",
        "done",
        "undo",
        "again",
        "scope",
    ),
    *("day", "all", "only", "month", "run", "item", "kind", "edit", "relation", "group", "days", "look"),
    *("scope", "newest", "part"),
)
PLACES = (
    *("", "memory/by-hand", "today", "timeline", "dreams", "inbox", "graph", "runs", "tools", "cost"),
    "health",
)


@pytest.fixture(scope="module")
def odd(tmp_path_factory, tab):
    """The browser before a home whose every name is markup."""
    desk = make_desk(tmp_path_factory.mktemp(SHORT[:20]) / SHORT)
    desk.env |= {"REVERIE_NOW": NOW.isoformat(), "TZ": "UTC"}
    with surroundings(desk):
        _fill(desk)
    with serving(desk) as address:
        yield tab.before(address)


def _fill(desk):
    app = App(folder=desk.project)
    memories.add(app, "Prices are whole cents.", kind="decision", name="by-hand", tags=[SHORT, "plain"])
    folder = app.open_store().path
    front = f"name: '{SHORT}'\ntype: decision\ntags: ['{SHORT}']\naliases: ['{SHORT}']\nscope: '{SHORT}'"
    said = ", ".join(f"{key}: '{SHORT}'" for key in ("session", "uuid", "at", "speaker", "quote"))
    source = f"sources:\n  - {{{said}}}"
    (folder / f"{SHORT}.md").write_text(f"---\n{front}\n{source}\n---\n{SHORT}\n")
    (folder / f"{SHORT} broken.md").write_text(f"---\nname: [{SHORT}\n---\n")
    desk.here("relate", "by-hand", "RELATED_TO", SHORT, "--context", HOSTILE)
    desk.here("episode", HOSTILE, "--type", "decision", "--summary", HOSTILE, "--memory", "by-hand")
    elsewhere = paths.projects_dir() / SHORT / "memory"
    elsewhere.mkdir(parents=True)
    memories.add(App(store=elsewhere), "Another shop.", kind="project", name="another")
    talk = Transcript(SHORT, cwd=str(desk.project), start="2026-11-27T09:00:00Z")
    talk.user(f"Is {HOSTILE} safe?")
    talk.tool(SHORT, {"file_path": f"/{SHORT}", "command": HOSTILE}, HOSTILE)
    talk.tool("Read", {"file_path": f"/{SHORT}"}, HOSTILE)
    talk.assistant(HOSTILE)
    list(app.ingest(file=talk.write(paths.project_store(desk.project).parent / f"{SHORT}.jsonl")))
    with app.ledger() as ledger:
        meter = calls.LedgerMeter(ledger, GENEROUS, FixedClock(NOW))
        spent = Usage(9_000, 400, 0, 0)
        call = meter.begin(
            purpose=HOSTILE, provider=HOSTILE, model=HOSTILE, prompt_digest="d", estimate=spent
        )
        meter.end(call, outcome="ok", usage=spent, dollars=0.5, sent=True)
        jobs.enqueue(ledger, HOSTILE, HOSTILE, now=NOW, run_after=NOW)
        run: dict[str, Any] = {
            "kind": "dream",
            "key": HOSTILE,
            "store": str(folder),
            "from_row": 0,
            "through_row": 0,
        }
        runs.start_run(ledger, id=HOSTILE, strategy=HOSTILE, now=NOW, **run)
        read = {**run, "kind": "extract", "strategy": SHORT}
        runs.start_run(ledger, id=SHORT, now=NOW, **read)
        runs.finish_run(ledger, SHORT, outcome=f"failed: {HOSTILE}", summary=RunSummary(), now=NOW)
        runs.finish_run(ledger, HOSTILE, outcome=f"failed: {HOSTILE}", summary=RunSummary(), now=NOW)
        payload = json.dumps({"name": SHORT, "reason": HOSTILE})
        inbox.add_inbox(
            ledger, str(folder), kind="retire", reason=HOSTILE, run_id=HOSTILE, now=NOW, payload_json=payload
        )


def _ran(tab, path):
    """Return what ran, or was kept from running, on the page at `path`."""
    tab.open(path)
    found = tab.script(
        "return [window.__hit || 0, window.__violations, document.querySelectorAll('main').length]"
    )
    return found != [0, [], 1] and f"{path}: {found}"


def test_names_that_are_markup_stay_text(odd):
    odd.open()
    shops = [str(link.get_attribute("value")) for link in odd.all("form.place option")]
    assert len(shops) == 2, "the other shop is there to choose"
    names = quote(SHORT, safe="")
    pages = [*PLACES, *(f"{page}?in={shops[1]}" for page in PLACES)]
    pages += [f"memory/{names}?scope=project", f"runs/{names}", "health?look=audit", "health?look=doctor"]
    pages += ["?show=left", "today?all=1", "timeline?all=1", "runs?all=1"]
    assert not [each for page in pages if (each := _ran(odd, page))]
    for page in ("cost", "today", "inbox", "health", "runs", "tools"):
        odd.open(page)
        assert "onerror" in odd.one("main").text, page


def test_addresses_that_are_markup_stay_text(odd):
    tricks = (HOSTILE, "javascript:window.__hit=1", "//evil.example/x.js", "'-window.__hit=1-'")
    pages = [f"{page}?" + "&".join(f"{name}={quote(HOSTILE)}" for name in ASKED) for page in PLACES]
    for trick in tricks:
        pages += [f"{page}?{name}={quote(trick)}" for page, name in (
            ("", "q"), ("", "done"), ("memory/by-hand", "done"), ("memory/by-hand", "undo"),
            ("dreams", "run"), ("runs", "kind"),
            ("inbox", "kind"), ("inbox", "undo"), ("cost", "by"), ("health", "look"), ("today", "only"),
            ("timeline", "month"), ("graph", "type"), ("graph", "relation"), ("memory/by-hand", "q"),
        )]  # fmt: skip
        pages += [f"memory/{quote(trick, safe='')}", f"x/{quote(trick, safe='')}#{quote(trick)}"]
    assert not [each for page in pages if (each := _ran(odd, page))]
    for link in odd.all("a[href]"):
        assert str(link.get_attribute("href")).startswith("http://127.0.0.1:"), link.get_attribute("href")
