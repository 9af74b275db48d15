"""What the second reader is shown, and that nothing but a clear yes to both forms of a question counts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pipeline.consolidation.second_reader.matters import matters_of
from pipeline.consolidation.second_reader.reading import MOST_QUESTIONS, PURPOSE
from pipeline.core.errors import OverloadedError, SpendError
from pipeline.domain.operations import Cover, Operation
from pipeline.ledger import runs
from tests.support.dreaming import OVER, Dreaming, note, op, planned, shown
from tests.support.second_reader import Truth, bare, questions, second_reader
from tests.support.stores import tree

TABS = note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback")
TABS_TOO = note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback")
NPM = note("use-npm", "Install the packages of the mailer with npm.", "2026-03-01")
PNPM = note("use-pnpm", "Install the packages of the mailer with pnpm, not npm.", "2026-03-09")
RESTART = note("mailer-port", "The mailer listens on port 8025. It is restarted at four.", "2026-02-01")
FIVE = note("mailer-restart", "The mailer is restarted at five now.")
FAIR = note("fair-booth", f"The booth at the fair needs a banner until {OVER}.", "2026-02-01")
WIDE = note("all-projects", "In all my projects, sign the commits.")
ALL = (TABS, TABS_TOO, NPM, PNPM, RESTART, FIVE, FAIR, WIDE)
OPERATIONS = {
    "merge": op(
        "merge", "tabs-please", "shop-tabs", into="tabs-please", covered=[("shop-tabs.1", "tabs-please.1")]
    ),
    "supersede": op("supersede", "use-npm", "use-pnpm", into="use-pnpm"),
    "strike": op("strike", "mailer-port", covered=[("mailer-port.2", "mailer-restart.1")]),
    "retire": op("retire", "fair-booth"),
    "promote": op("promote", "all-projects"),
}
ASKED = {
    "merge": ["compare", "covers", "fact", "which"],
    "supersede": ["holds", "overtaken"],
    "strike": ["holds", "overtaken"],
    "retire": ["after", "until"],
    "promote": ["all", "reach"],
}


def dreamt(bench: Dreaming, what: str, *, but: dict[str, Any] | None = None) -> tuple[Any, list[Any]]:
    """Dream with a reader that agrees with all but what `but` gives: kind → changed answer."""
    bench.set(retire_share=1.0)
    bench.keep(*ALL)
    asked: list[Any] = []

    def change(request):
        asked.extend(questions(request))
        reply = json.loads(json.dumps(agreeing(request)))
        kinds = {item.number: item.kind for item in questions(request)}
        for answer in list(reply["answers"]):
            given = (but or {}).get(kinds[answer["question"]])
            if given is not None:
                reply["answers"] = given(reply["answers"], answer)
        return reply

    agreeing = second_reader(TRUTH)
    bench.model(planned(OPERATIONS[what]), change)
    return bench.dream(), asked


def tabs(*texts: str) -> bool:
    return all("tabs" in text for text in texts)


TRUTH = Truth(
    covers=tabs,
    one_fact=tabs,
    replaces=lambda later, earlier: (
        {
            bare(PNPM.body): bare(NPM.body),
            "The mailer is restarted at five now.": "It is restarted at four.",
        }.get(later)
        == earlier
    ),
    until=lambda text: (OVER, f"until {OVER}") if OVER in text else None,
    everywhere=lambda quotes: "In all my projects" in quotes,
)


@pytest.mark.parametrize("what", OPERATIONS)
def test_what_both_keys_agree_on_is_done(bench, what):
    report, asked = dreamt(bench, what)
    assert [action.op for action in report.actions] == [what]
    assert sorted(item.kind for item in asked) == ASKED[what]
    assert (report.refused, bench.waiting(), report.calls) == ([], [], 2)


SPOILT = {
    "wrong": lambda answers, answer: [a if a is not answer else {**a, "answer": "0"} for a in answers],
    "missing": lambda answers, answer: [a for a in answers if a is not answer],
    "twice": lambda answers, answer: [*answers, dict(answer)],
    "unclear": lambda answers, answer: [
        a if a is not answer else {**a, "answer": f"{a['answer']} or not"} for a in answers
    ],
}
FORMS = [(what, kind) for what, kinds in ASKED.items() for kind in kinds]


@pytest.mark.parametrize("how", SPOILT)
@pytest.mark.parametrize(("what", "kind"), FORMS)
def test_each_form_of_each_question_must_agree_by_itself(bench, what, kind, how):
    report, _ = dreamt(bench, what, but={kind: SPOILT[how]})
    if kind in ("compare", "covers"):
        # The memories are one all the same: the sentence stays.
        assert [action.op for action in report.actions] == ["merge"]
        assert bench.body("tabs-please") == f"{TABS.body.strip()}\n\n**Also:** {TABS_TOO.body}"
        (claim,) = report.actions[0].denied
        assert claim == "that “Indent the shop with tabs.” says all of “The shop indents with tabs.”"
        return
    assert report.actions == [] and bench.names() == sorted(memory.name for memory in ALL)
    ((kind_waiting, reason),) = bench.waiting()
    assert kind_waiting == f"dream:{what}" and reason.startswith("the second reader did not agree that ")


QUOTES = {
    "no quote": "",
    "not in it": f"it ends on {OVER}",
    "another day": "2026-05-21",
    "no day": "the fair",
}


@pytest.mark.parametrize("quote", QUOTES.values(), ids=QUOTES)
def test_an_end_must_be_quoted_from_the_memory(bench, quote):
    but = {
        "until": lambda answers, answer: [a if a is not answer else {**a, "quote": quote} for a in answers]
    }
    report, _ = dreamt(bench, "retire", but=but)
    assert report.actions == [] and len(bench.waiting()) == 1


def test_the_reader_sees_no_name_no_handle_no_reason_and_not_the_plan(bench):
    bench.set(retire_share=1.0)
    bench.keep(*ALL)
    bench.model(planned(*OPERATIONS.values()), second_reader(TRUTH))
    report = bench.dream()
    assert [action.op for action in report.actions] == [*OPERATIONS]
    request = next(item for item in bench.provider.history if item.purpose == PURPOSE)
    text = request.messages[0].content
    assert not re.search(r"\[[mf]\d|for a test|supersede|merge|strike|retire|promote|into", text)
    assert not [memory.name for memory in ALL if memory.name in text]


def test_the_same_plan_asks_the_same_in_the_same_order(bench):
    """A dream resumed after a crash must find the answer that was bought."""
    known = {memory.id: memory for memory in ALL}
    merge = Operation("merge", (TABS.id, TABS_TOO.id), TABS.id, (Cover(TABS_TOO.id, 1, TABS.id, 1),))
    texts = [
        [question.text for matter in matters_of(merge, known, [*known]) for question in matter.questions]
        for _ in range(3)
    ]
    assert texts[0] == texts[1] == texts[2] and len(texts[0]) == 4


def test_where_nothing_leaves_nobody_is_asked(bench):
    equal = note("tabs-again", "indent the shop with tabs! it is a house rule", "2026-03-05", type="feedback")
    bench.set(retire_share=1.0)
    bench.keep(TABS, equal, NPM, FIVE)
    bench.model(
        planned(
            op("merge", "tabs-please", "tabs-again", into="tabs-please"),
            op("relate", "use-npm", "mailer-restart", relation="REQUIRES"),
            op("insight", "use-npm", "mailer-restart", statement="The mailer moves.", description="Moves."),
        )
    )
    report = bench.dream()
    assert {action.op for action in report.actions} == {"merge", "relate"} and report.calls == 1
    assert bench.body("tabs-please") == TABS.body


def test_what_lacks_a_number_of_the_sentence_is_not_even_asked(bench):
    bench.keep(
        note("a", "Retry the mailer at most 3 times."), note("b", "Retry the mailer 5 times.", "2026-03-04")
    )
    bench.model(planned(op("merge", "a", "b", into="a", covered=[("b.1", "a.1")])))
    report = bench.dream()
    (request,) = [item for item in bench.provider.history if item.purpose == PURPOSE]
    assert sorted(item.kind for item in questions(request)) == ["fact", "which"]
    assert "Retry the mailer 5 times." in bench.body("a")
    assert "“5” is missing" in report.actions[0].denied[0]


def test_decoys_stand_beside_the_cover_and_none_of_the_members(bench):
    bench.set(retire_share=1.0)
    third = note("tabs-third", "Tabs indent the shop.", "2026-03-03", type="feedback")
    bench.keep(*ALL, third)
    covered = [("shop-tabs.1", "tabs-please.1"), ("tabs-third.1", "tabs-please.1")]
    bench.model(
        planned(op("merge", "tabs-please", "shop-tabs", "tabs-third", into="tabs-please", covered=covered)),
        second_reader(Truth(covers=both, one_fact=both)),
    )
    report = bench.dream()
    assert len(report.actions[0].left_out) == 2 and bench.body("tabs-please") == TABS.body
    (request,) = [item for item in bench.provider.history if item.purpose == PURPOSE]
    for item in questions(request):
        own = {"covers": ["Indent the shop with tabs.", "It is a house rule."], "which": ["Indent the shop"]}
        if item.kind in own:
            texts = [text.splitlines()[-1] for _, text in item.candidates]
            assert len([text for text in texts if "abs" in text or "house" in text]) == len(own[item.kind])
            assert all(any(text.startswith(mine) for text in texts) for mine in own[item.kind])
            assert len(texts) == len(own[item.kind]) + 3


def both(*texts: str) -> bool:
    return all("tabs" in text.lower() for text in texts)


@pytest.mark.parametrize("error", [OverloadedError("busy", fix=""), SpendError("60 calls an hour", fix="")])
def test_a_group_whose_reading_fails_is_not_done_and_leads_the_next_dream(bench, error):
    bench.keep(TABS, TABS_TOO)
    before = tree(bench.store.root)
    failing = [True]

    def read(request):
        if failing[0]:
            raise error
        return second_reader(TRUTH)(request)

    bench.model(planned(OPERATIONS["merge"]), read)
    report = bench.dream()
    assert (report.word, report.actions) == ("partial", [])
    assert {*report.failed} == {"tabs-please", "shop-tabs"} and report.looked_at == []
    assert {name: tree(bench.store.root)[name] for name in before} == before
    failing[0] = False
    assert bench.dream().word == "done"
    plans = [item for item in bench.provider.history if item.purpose != PURPOSE]
    assert len(plans) == 1, "the plan was kept, only the reading is asked again"


def test_both_answers_are_closed_once_the_dream_is_done(bench):
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(OPERATIONS["merge"]), second_reader(TRUTH))
    bench.dream()
    groups = [run for run in runs.list_runs(bench.ledger) if run.kind == "dream_group"]
    assert [run.outcome for run in groups] == ["applied", "applied"]


def test_what_one_call_has_no_room_for_leads_the_next_dream(bench):
    bench.set(retire_share=1.0, max_cluster=80)
    count = MOST_QUESTIONS // 2 + 2
    bench.keep(*(note(f"n{at:02d}", f"Stall {at} of the fair stands until {OVER}.") for at in range(count)))
    bench.model(lambda request: {"operations": [op("retire", handle) for handle in shown(request).values()]})
    report = bench.dream()
    later = [item for item in report.refused if item["later"]]
    assert later and len(report.actions) + len(later) == count
    assert all("no room" in item["why"] for item in later)
