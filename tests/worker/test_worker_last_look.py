"""A turn that says nothing opens no store; what changed in one, by whomever, is seen by the next turn."""

import json
import subprocess
import sys
from datetime import timedelta

import pytest

from pipeline.core.clock import FixedClock
from pipeline.ledger import dreams, jobs
from pipeline.search import index_reader
from pipeline.text.tokens import terms
from tests.support.loopback import keep_nothing
from tests.support.workshop import ROOT, at

NOW = "2026-03-02T09:05:00+00:00"
DEAR = ("pipeline.store.repository", "pipeline.extraction.reading", "pipeline.consolidation.run", "yaml")
TELL = (
    "import atexit, json, sys; atexit.register(lambda: print(json.dumps(sorted(sys.modules))));"
    "from pipeline.worker.process import main; sys.exit(main([]))"
)


def work(shop, later=0.0):
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=later))) as worker:
        return worker.run()


def talk(shop, number=1, text="Shelf seven holds otters."):
    session = shop.session(number)
    session.user(text)
    session.assistant("Noted.")
    shop.fire(session)


def file_of(shop):
    return index_reader.index_path(str(shop.home), str(shop.store))


def synced(shop):
    """When the search index of the store was last made."""
    with index_reader.Reader(file_of(shop)) as reader:
        return reader.notes()["synced"]


def found(shop, text):
    with index_reader.Reader(file_of(shop)) as reader:
        return [row.path for row in reader.candidates(terms(text), 5)]


def thanks(shop, later):
    """Let another session say thanks `later`; return whether the store was looked at."""
    before = synced(shop)
    talk(shop, 100 + later, "thanks")
    assert {outcome.word for outcome in work(shop, later).outcomes} == {"skipped"}
    return synced(shop) != before


@pytest.fixture
def known(shop):
    """A workshop with one memory, of which all that is derived is made."""
    talk(shop)
    work(shop)
    return shop


def test_a_turn_that_says_nothing_looks_at_nothing(known):
    assert [thanks(known, later) for later in (1, 2)] == [False, False]
    with known.ledger() as ledger:
        assert [job.run_after for job in jobs.list_jobs(ledger) if job.kind == "reindex"] == [
            at(NOW).timestamp()
        ]


def test_nor_does_it_load_what_a_model_needs(known):
    talk(known, 2, "thanks")
    env = {**known.env, "REVERIE_NOW": NOW, "PYTHONPATH": str(ROOT), "REVERIE_DREAM__ENABLED": "true"}
    done = subprocess.run([sys.executable, "-c", TELL], env=env, capture_output=True, text=True, timeout=60)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0 and "pydantic" in loaded
    assert {*DEAR, "anthropic"} & {*loaded} == set()
    with known.ledger() as ledger:
        gates = dreams.last_gates(ledger, str(known.store))
    assert [(gate.name, gate.open) for gate in gates][-1] == ("sessions", False), "the gate was asked"


def rewrite(shop):
    (memory,) = shop.store.glob("shelf*.md")
    memory.write_text(memory.read_text("utf-8").replace("otters", "herons"), "utf-8")


@pytest.mark.parametrize(
    "change",
    [
        rewrite,
        lambda shop: (shop.store / "mine.md").write_text("I saw a crane.\n", "utf-8"),
        lambda shop: next(shop.store.glob("shelf*.md")).unlink(),
        lambda shop: (shop.store / "MEMORY.md").unlink(),
        lambda shop: (shop.store / "MEMORY.md").write_text("gone", "utf-8"),
        lambda shop: (shop.store / "_index.json").unlink(),
        lambda shop: (shop.store / "CORE.md").unlink(),
        lambda shop: (
            (shop.store / ".reverie" / "written.jsonl").open("ab").close()
            or (shop.store / ".reverie" / "written.jsonl").touch()
        ),
    ],
    ids=["edited", "added", "removed", "no index", "index edited", "no _index.json", "no core", "log"],
)
def test_what_anybody_changed_is_seen_once(known, change):
    change(known)
    assert [thanks(known, later) for later in (1, 2)] == [True, False]
    assert all((known.store / name).exists() for name in ("MEMORY.md", "CORE.md", "_index.json"))


def test_the_next_day_all_is_looked_at_once(known):
    assert [thanks(known, later) for later in (86_400, 86_401)] == [True, False]


def test_a_turn_that_a_model_finds_nothing_in_leaves_the_store_as_it_is(known, api):
    api.answer = keep_nothing
    before = synced(known)
    talk(known, 2, "Shelf eight is empty, I think.")
    (outcome,) = work(known, 1).outcomes
    assert (outcome.word, outcome.wrote, synced(known)) == ("nothing", False, before)


def test_folder_times_that_recall_changed_are_told_to_the_index(known):
    """Else each hook would list the folder again until a memory changes."""
    (known.store / "_state.json.new").write_text("{}", "utf-8")
    (known.store / "_state.json.new").unlink()
    assert not thanks(known, 1)
    assert not thanks(known, 2)
    info = known.store.stat()
    with index_reader.Reader(file_of(known)) as reader:
        assert reader.folders()[""] == (info.st_mtime_ns, info.st_ctime_ns)


@pytest.mark.parametrize("point", ["extract.after_store", "extract.after_cursor", "worker.job_settled"])
def test_what_a_dead_worker_wrote_is_brought_in_by_the_next_pass(shop, point):
    """Killed between the memory and what is derived from it; nobody says anything meanwhile."""
    talk(shop, 1, "Shelf one holds newts.")
    assert shop.work(REVERIE_NOW=NOW) == 0
    talk(shop, 2)
    assert shop.work(REVERIE_NOW=NOW, REVERIE_CRASH_AT=point) != 0
    assert shop.memories() == ["shelf-one-holds", "shelf-seven-holds"] and found(shop, "otters") == []
    assert shop.work(REVERIE_NOW=NOW) == 0
    assert found(shop, "otters") == ["shelf-seven-holds.md"]
    assert "seven" in (shop.store / "_index.json").read_text("utf-8")
    assert shop.memories() == ["shelf-one-holds", "shelf-seven-holds"]
