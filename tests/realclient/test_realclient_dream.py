"""The dream beside the real client: over the folder it loads, through a call it leaves no trace of."""

import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.consolidation.propose.plan_schema import Plan
from pipeline.consolidation.second_reader.reading import PURPOSE
from pipeline.consolidation.second_reader.reply_schema import Answers
from pipeline.llm import Message, Request
from pipeline.store import ChangeSet, Store
from tests.realclient.box import Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Asked, Block, Rule, value_reply
from tests.support.dreaming import note, op
from tests.support.second_reader import Truth, questions, second_reader
from tests.support.stores import tree

pytestmark = pytest.mark.realclient

TABS = note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback")
TABS_TOO = note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback")
PORT = note("mailer-port", "The mailer listens on port 8025.")
SAME = Truth(
    covers=lambda text, other: "tabs" in text and "tabs" in other,
    one_fact=lambda text, other: "tabs" in text and "tabs" in other,
)


def merge(asked: Asked) -> list[Block]:
    """Answer as a model would that found both wordings of the rule, and found it again as second reader."""
    request = Request(PURPOSE, "", "", (Message("user", asked.said),), max_tokens=1)
    if questions(request):
        return value_reply(asked, Answers.model_validate(second_reader(SAME)(request)).model_dump())
    found = re.findall(r"^\[(m\d)\] (\S+) \(", asked.everything, re.MULTILINE)
    known = {name: handle for handle, name in found}
    one, other = known[TABS.name], known[TABS_TOO.name]
    plan = op("merge", one, other, into=one, covered=[])
    plan["covered"] = [{"sentence": f"{other}.1", "by": f"{one}.1"}]
    # Through our own schema, which adds the fields left out: the client insists on every one.
    return value_reply(asked, Plan.model_validate({"operations": [plan]}).model_dump())


def remembering(open_box: OpenBox, hold: threading.Event | None = None) -> Box:
    """Open a box whose project has three memories, two of which say the same; the person has hooks."""
    machine = open_box(Rule(["Good day."], when="hello"), Rule(merge, kind=MODEL, hold=hold))
    store = Store.open(machine.memory, create=True)
    store.apply(ChangeSet("kept", "test", [store.put(memory) for memory in (TABS, TABS_TOO, PORT)]))
    machine.watch_hooks()
    return machine


def dream(machine: Box) -> str:
    """Consolidate the very folder the client loads; gives what was printed."""
    return machine.run("reverie", "consolidate", "--force", "--store", str(machine.memory))


def entries(machine: Box) -> set[str]:
    """Return the lines of MEMORY.md that name a memory."""
    lines = (machine.memory / "MEMORY.md").read_text("utf-8").splitlines()
    return {line for line in lines if line.startswith("- [")}


def memories(machine: Box) -> list[str]:
    """Return the memory files of the folder, without the two that are made from them."""
    return sorted(
        {file.name for file in machine.memory.glob("*.md")} - {"MEMORY.md", "CORE.md", "REFLECTION.md"}
    )


def test_a_dream_merges_two_memories_and_archives_one(open_box: OpenBox) -> None:
    machine = remembering(open_box)
    before = (machine.memory / "shop-tabs.md").read_bytes()
    told = dream(machine)
    assert memories(machine) == ["mailer-port.md", "tabs-please.md"], told
    (archived,) = machine.memory.glob("archive/[0-9][0-9][0-9][0-9]/shop-tabs.md")
    assert archived.read_bytes() == before
    merged = (machine.memory / "tabs-please.md").read_text("utf-8")
    assert "aliases:" in merged and "shop-tabs" in merged


def test_the_next_session_gets_the_line_of_the_survivor_alone(open_box: OpenBox) -> None:
    machine = remembering(open_box)
    before = entries(machine)
    told = dream(machine)
    after = entries(machine)
    assert len(after) == 2 and after < before, told
    (merged,) = (line for line in after if "(tabs-please.md)" in line)
    assert TABS.description in merged, told
    machine.headless("hello")
    loaded = machine.journal.asked(SESSION)[0].everything.splitlines()
    assert after <= {*loaded}
    assert not (before - after) & {*loaded}
    assert "shop-tabs" not in "\n".join(loaded)


def test_the_dreams_own_calls_fire_no_hook_and_leave_no_session(open_box: OpenBox) -> None:
    machine = remembering(open_box)
    told = dream(machine)
    assert [request.kind for request in machine.journal.asked()] == [MODEL, MODEL], told
    assert not machine.fired.exists()
    assert machine.transcripts() == []
    machine.headless("hello")
    assert '"Stop"' in machine.fired.read_text("utf-8"), "the person's own session does fire them"
    assert len(machine.transcripts()) == 1


def test_the_client_answers_while_a_dream_has_the_lock_and_after_it(open_box: OpenBox) -> None:
    released = threading.Event()
    machine = remembering(open_box, hold=released)
    lock = machine.memory / ".consolidate-lock"
    with ThreadPoolExecutor(1) as beside:
        told = beside.submit(dream, machine)
        machine.journal.wait("request", lambda noted: noted.detail.kind == MODEL)
        assert lock.read_text("ascii").isdigit()
        answers = [machine.headless("hello").result["result"]]
        released.set()
        assert "merge" in told.result()
    assert lock.read_bytes() == b"", "left behind as the time of the last consolidation"
    answers.append(machine.headless("hello").result["result"])
    assert answers == ["Good day.", "Good day."]


def test_a_dream_leaves_the_folder_to_a_living_process_that_has_the_lock(open_box: OpenBox) -> None:
    machine = remembering(open_box)
    lock = machine.memory / ".consolidate-lock"
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            lock.write_text(str(other.pid), encoding="ascii")
            before = tree(machine.memory, skip=())
            told = dream(machine)
            assert tree(machine.memory, skip=()) == before
        finally:
            other.kill()
    assert "another consolidation holds the lock" in told
    assert machine.journal.asked() == []
    assert "merge" in dream(machine), "the same number, now of a process that has gone"
    assert memories(machine) == ["mailer-port.md", "tabs-please.md"]
