"""Memories that the real client saves itself: they take part in a dream, and the next session knows."""

import re

import pytest

from pipeline.consolidation.propose.plan_schema import Plan
from pipeline.consolidation.second_reader.reading import PURPOSE
from pipeline.consolidation.second_reader.reply_schema import Answers
from pipeline.llm import Message, Request
from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Asked, Block, Rule, value_reply
from tests.support.dreaming import op
from tests.support.second_reader import Truth, questions, second_reader

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
PRINTED = {"REVERIE_EXTRACTION__INCLUDE_PRINT_SESSIONS": "true"}
TABS, TOO = "tabs-please", "shop-tabs"
SAME = Truth(
    covers=lambda text, other: "tabs" in text and "tabs" in other,
    one_fact=lambda text, other: "tabs" in text and "tabs" in other,
)


def model(asked: Asked) -> list[Block]:
    """Answer as a model would that found nothing new in the dialogue, and two memories that say the same."""
    request = Request(PURPOSE, "", "", (Message("user", asked.said),), max_tokens=1)
    if questions(request):
        return value_reply(asked, Answers.model_validate(second_reader(SAME)(request)).model_dump())
    known = {
        name: handle for handle, name in re.findall(r"^\[(m\d)\] (\S+) \(", asked.everything, re.MULTILINE)
    }
    if not {TABS, TOO} <= known.keys():
        return value_reply(asked, {"memories": []})
    plan = op("merge", known[TABS], known[TOO], into=known[TABS])
    plan["covered"] = [{"sentence": f"{known[TOO]}.1", "by": f"{known[TABS]}.1"}]
    return value_reply(asked, Plan.model_validate({"operations": [plan]}).model_dump())


def saving(open_box: OpenBox) -> Box:
    """Open a box whose client saves two memories when asked to, and let it; gives the box when all rests."""
    place: list[Box] = []

    def write(name: str, text: str) -> Rule:
        front = f"---\nname: {name}\ndescription: {text}\nmetadata:\n  type: feedback\n---\n\n{text}\n"

        def reply(_: Asked) -> list[Block]:
            given = {"file_path": str(place[0].memory / f"{name}.md"), "content": front}
            return [{"tool": "Write", "input": given}]

        return Rule(reply, when=f"remember {name}", after_tool=("Saved.",))

    machine = open_box(
        write(TABS, "Indent the shop with tabs. It is a house rule."),
        write(TOO, "The shop indents with tabs."),
        Rule(["Good day."], when="hello"),
        Rule(model, kind=MODEL),
        **PRINTED,
    )
    place.append(machine)
    session = machine.headless(f"the shop wants tabs, please remember {TABS}", *PLUGIN).result["session_id"]
    machine.headless(f"and remember {TOO}", *PLUGIN, resume=session)
    machine.settle()
    return machine


def test_what_the_client_saved_is_merged_and_the_next_session_has_it(open_box: OpenBox) -> None:
    machine = saving(open_box)
    before = {name: (machine.memory / f"{name}.md").read_text("utf-8") for name in (TABS, TOO)}
    assert all("originSessionId" in text for text in before.values()), "the client stamped what it saved"
    told = machine.run("reverie", "consolidate", "--force", "--store", str(machine.memory))
    assert "merge" in told
    (archived,) = machine.memory.glob(f"archive/*/{TOO}.md")
    assert archived.read_text("utf-8") == before[TOO]
    front, _, body = (machine.memory / f"{TABS}.md").read_text("utf-8").partition("---\n\n")
    old_front, _, old_body = before[TABS].partition("---\n\n")
    assert body == old_body and front.startswith(old_front), "nothing but lines added to the front matter"
    asked = len(machine.journal.asked(SESSION))
    machine.headless("hello", *PLUGIN)
    first = machine.journal.asked(SESSION)[asked].everything
    assert f"({TABS}.md)" in first and f"({TOO}.md)" not in first
    why = " ".join(machine.run("reverie", "why", TABS, "--store", str(machine.memory)).split())
    assert "Claude wrote it at" in why
    assert f"after you said: “the shop wants tabs, please remember {TABS}”" in why


def test_a_persons_edit_of_what_the_client_saved_is_only_proposed(open_box: OpenBox) -> None:
    machine = saving(open_box)
    mine = machine.memory / f"{TOO}.md"
    mine.write_text(mine.read_text("utf-8") + "Makefiles too.\n", "utf-8")
    before = mine.read_bytes()
    machine.run("reverie", "consolidate", "--force", "--store", str(machine.memory))
    assert mine.read_bytes() == before
    listed = machine.run("reverie", "adopt", "--dry-run", "--store", str(machine.memory))
    assert f"{TOO}.md" in listed and "a person" in listed and f"{TABS}.md" not in listed
