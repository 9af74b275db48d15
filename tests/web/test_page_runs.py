"""Runs in the browser: the list, one as a whole with the reason for each refusal, its bundle, and it anew."""

import html
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pipeline.app import bundle_archive as archive
from pipeline.app import replaying
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.clock import iso
from pipeline.core.home import Home
from pipeline.ledger import calls, open_ledger, retention, runs
from pipeline.store import Store
from pipeline.web.visit import Setting
from tests.support.extraction import NOW, Bench, fact, reply
from tests.support.stores import tree
from tests.support.transcripts import Transcript
from tests.web.conftest import Browser

SAID = "keep the retries at 3, the gateway bans us at 5"
FAR = "by the way, the Zanzibar office is closed on Fridays"
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
HOSTILE = "<script>alert(1)</script>"


class Reader:
    """A home in which dialogue was read, and a browser on it."""

    def __init__(self, ledger, home):
        store = Store.open(paths.projects_dir() / "-home-dev-shop" / "memory", create=True)
        self.bench = Bench(ledger, store, home)
        self.app = App(store=store.path)
        self.browser = Browser(Setting(folder=home, secret=b"s3cret", store=store.path))

    def turn(self, *lines, session="5e55", **script):
        talk = Transcript(session_id=session)
        for line in lines:
            (talk.assistant if line.startswith("A: ") else talk.user)(line.removeprefix("A: "))
        self.bench.script([reply(*script.pop("facts"))], **script)
        (outcome,) = self.bench.run(self.bench.turns(self.bench.hear(talk), first_sight=False))
        return outcome.run_id

    def three(self):
        doubtful = fact(2, "The cache may be stale now", confidence=0.5, name="stale-cache")
        never = fact(1, "never said", name="never-said", statement=f"It is {HOSTILE} so.")
        return self.turn(
            SAID, f"A: The cache may be stale now {HOSTILE}.", facts=[fact(1, SAID), never, doubtful]
        )


@pytest.fixture
def reader(tmp_path, monkeypatch):
    monkeypatch.setenv("REVERIE_NOW", iso(NOW))
    home = Home(App(store=tmp_path).home)
    with open_ledger(home.ledger) as ledger:
        yield Reader(ledger, home.path)


def test_before_anything_was_read_the_page_says_what_brings_it(browse):
    page = browse().get("runs")
    assert page.status == 200 and "Nothing was read yet." in page.text and "<code>reverie" in page.text
    assert "No run of this kind yet." in browse().get("runs?kind=dream").text
    assert browse().get("runs?kind=x").status == 400 == browse().get("runs/zzzzzzzz").status


def test_the_list_says_when_what_for_what_came_of_it_and_what_it_took(reader):
    run = reader.three()
    row = re.search(r"<tbody>(.*?)</tbody>", reader.browser.get("runs").text, re.DOTALL).group(1)
    taken = calls.list_calls(reader.bench.ledger)
    tokens = sum(call.input_tokens + call.output_tokens for call in taken)
    assert f"runs/{run}" in row and "Reading turns" in row and "claude-haiku-4-5" in row
    assert "applied" in row and "1 change," in row and "2 turned down" in row
    assert f">{tokens:,}<" in row and f"${sum(call.dollars for call in taken):.4f}" in row
    assert run not in reader.browser.get("runs?kind=dream").text
    assert "shop" in reader.browser.get("runs?all=1").text


def test_runs_of_other_memories_are_shown_only_with_those_of_all(reader, project):
    run = reader.three()
    elsewhere = Browser(Setting(folder=project, secret=b"s3cret"))
    assert run not in elsewhere.get("runs").text and run in elsewhere.get("runs?all=1").text


def test_the_list_goes_on_over_pages(reader, monkeypatch):
    first = reader.three()
    with reader.bench.ledger.transaction():
        reader.bench.ledger.execute(
            "INSERT INTO runs (id, kind, key, store, strategy, from_row, through_row, started_at)"
            " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)"
            " SELECT 'run-' || i, 'extract', 'k', ?, 'turn', 1, 1, ? + i FROM n",
            (str(reader.bench.store.path), NOW.timestamp()),
        )
    page, later = reader.browser.get("runs").text, reader.browser.get("runs?from=100").text
    assert "1 to 100" in page and "run-120" in page and first not in page and "Older" in page
    assert "101 to 121" in later and first in later and "run-120" not in later and "Newer" in later
    assert "under way" in page and "not known" in page


def test_each_candidate_has_what_became_of_it_and_why(reader):
    run = reader.three()
    page = reader.browser.get(f"runs/{run}").text
    verdicts = re.findall(r'<li class="verdict">(.*?)</li>', page, re.DOTALL)
    assert len(verdicts) == 3
    kept, never, doubtful = verdicts
    assert ">kept<" in kept and "memory/retries-stay-at-three" in kept and "Second reader: borne out" in kept
    assert ">turned down<" in never and "No quote is found in the line it cites." in never
    assert "<code>quote</code>" in never and "The second reader was not asked." in never
    assert ">put in the inbox<" in doubtful and "Only the assistant said it" in doubtful
    assert HOSTILE not in page and "&lt;script&gt;" in page
    assert "1 kept" in page and "1 turned down" in page and "Second reader of a conversation" in page


def test_only_what_the_run_read_is_shown_and_no_secret(reader):
    reader.turn(
        FAR, "A: Good.", session="5e54", facts=[fact(1, FAR, statement="Zanzibar closes on Fridays.")]
    )
    run = reader.turn(SAID, f"A: The token is {TOKEN}.", facts=[fact(1, SAID)])
    with reader.bench.ledger.transaction():
        known = runs.run(reader.bench.ledger, run)
        packed = json.loads((known and known.reply_json) or "{}")
        packed["reply"]["memories"][0]["statement"] = f"It is {TOKEN} at {Path.home()}/x."
        reader.bench.ledger.execute("UPDATE runs SET reply_json = ? WHERE id = ?", (json.dumps(packed), run))
    page = reader.browser.get(f"runs/{run}").text
    assert SAID in page and "Zanzibar" not in page and TOKEN not in page and str(Path.home()) not in page


def test_a_bundle_is_shown_and_then_given_as_a_file_that_can_be_run_again(reader, tmp_path):
    run = reader.three()
    page = reader.browser.get(f"runs/{run}").text
    assert all(f"<code>{name}</code>" in page for name in (archive.ABOUT, *archive.TEXTS))
    answer = reader.browser.get(f"runs/{run}/bundle")
    assert answer.headers["content-type"] == "application/zip"
    name = re.search(r'attachment; filename="([^"]+)"', answer.headers["content-disposition"]).group(1)
    assert f"Download {name}" in page
    file = tmp_path / name
    file.write_bytes(answer.body)
    with zipfile.ZipFile(file) as packed:
        shown = html.unescape(page)
        assert all(packed.read(each).decode() in shown for each in packed.namelist() if each != archive.ABOUT)
    assert replaying.replay(file).is_same


def test_asked_anew_it_stands_beside_what_was_then_and_changes_nothing(reader):
    run = reader.three()
    before = tree(reader.bench.store.root)
    page = reader.browser.get(f"runs/{run}").text
    assert "goes by rules and costs nothing" in page and f"reverie rerun {run[:12]}" in page
    answer = reader.browser.post("runs/rerun", {"run": run})
    where = urlsplit(answer.headers["location"])
    assert (answer.status, where.fragment) == (303, "anew")
    page = reader.browser.get(f"{where.path.partition('/t0ken/')[2]}?{where.query}").text
    table = re.search(r'<table class="sides-of">(.*?)</table>', page, re.DOTALL).group(1)
    assert "claude-haiku-4-5" in table and "retries-stay-at-three" in table and "turned down" in table
    assert "Nothing was changed." in page and tree(reader.bench.store.root) == before


def test_what_asking_anew_would_cost_is_said_beforehand(reader, monkeypatch):
    run = reader.three()
    monkeypatch.setenv("REVERIE_MODEL__PROVIDER", "anthropic")
    page = reader.browser.get(f"runs/{run}").text
    dollars = re.search(r"as many cost about <strong>(\$[\d.]+)</strong>", page).group(1)
    assert f"Ask anew for about {dollars}" in page and float(dollars[1:]) > 0
    # Nobody answers: the page says so, and what was typed stays.
    answer = reader.browser.post("runs/rerun", {"run": run, "model": "claude-<b>"})
    assert (
        answer.status == 400 and 'role="alert"' in answer.text and 'value="claude-&lt;b&gt;"' in answer.text
    )


def test_a_run_without_its_dialogue_can_be_looked_at_but_not_asked_anew(reader):
    run = reader.three()
    retention.delete(reader.bench.ledger, ["-home-dev-shop/5e55.jsonl"], first=len, unread=True)
    page = reader.browser.get(f"runs/{run}").text
    assert "its dialogue is not kept any more" in page and 'action="/t0ken/runs/rerun' not in page
    assert "retries-stay-at-three" in page
