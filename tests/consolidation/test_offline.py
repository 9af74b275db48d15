"""What a dream does without a model: doubles that add no word, retention (S-14), and the files made anew."""

from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from pipeline.consolidation.propose.mechanical import doubles
from pipeline.store import fsck
from tests.support.dreaming import NOW, note
from tests.support.stores import tree

TABS = note("tabs-please", "Indent the shop with tabs, not spaces. It is a house rule.", "2026-03-01")
SAME = [
    ("the same text", "Indent the shop with tabs, not spaces. It is a house rule."),
    ("other case and marks", "indent the shop with tabs, not spaces! it is a house rule"),
    ("other lines and quotes", "Indent the shop with tabs,\nnot spaces. It is a “house rule”."),
]
APART = [
    ("the opposite in the same words", "Indent the shop with spaces, not tabs. It is a house rule."),
    ("a not less", "Indent the shop with tabs. It is a house rule."),
    ("another number", "Indent the shop with 4 tabs, not spaces. It is a house rule."),
    ("a word more", "Indent the old shop with tabs, not spaces. It is a house rule."),
    ("a part of it", "Indent the shop with tabs, not spaces."),
    ("another order", "It is a house rule. Indent the shop with tabs, not spaces."),
    ("a reason", "Indent the shop with tabs, not spaces.\n\n**Why:** It is a house rule."),
    ("far too little", "Indent the shop."),
    ("nothing", ""),
]


def pair(text, **values):
    other = replace(note("shop-tabs", text, "2026-03-02", **values), description="Indent the shop with tabs")
    return doubles([TABS, other], [(TABS.id, other.id)])


@pytest.mark.parametrize(("what", "text"), SAME)
def test_an_equal_text_is_merged_into_the_older_one(what, text):
    (merge,) = pair(text)
    assert (merge.op, merge.into, merge.covered) == ("merge", TABS.id, ())


def test_of_equal_texts_the_one_that_a_person_said_goes_on():
    (merge,) = pair(TABS.body, origin="assistant-inferred")
    assert merge.into == TABS.id
    mine = replace(TABS, origin="assistant-inferred")
    theirs = replace(TABS, id="theirs", name="theirs", created=NOW)
    (merge,) = doubles([mine, theirs], [(mine.id, theirs.id)])
    assert merge.into == "theirs"


@pytest.mark.parametrize(("what", "text"), APART)
def test_what_differs_in_sense_is_kept_apart(what, text):
    assert pair(text) == []


TURNED = [
    ("Ask the relay before the archive.", "Ask the archive before the relay."),
    ("Ship the mailer on Friday.", "Ship the old mailer on Friday."),
    ("Ship the mailer on Friday.", "Ship the mailer on Friday. That no longer holds."),
    ("Ship the mailer on Friday.", "Ship the mailer on Friday. Except in May."),
    ("メーラーは金曜に出す。", "メーラーは金曜に出す。今は出さない。"),
    ("邮件程序周五发布。", "邮件程序周五发布。五月不发布。"),
]


@pytest.mark.parametrize(("one", "other"), TURNED)
def test_neither_order_nor_a_word_nor_a_sentence_that_turns_it_makes_a_double(one, other):
    memories = [note("one", one), note("other", other, "2026-03-02")]
    memories = [replace(memory, description="The mailer") for memory in memories]
    assert doubles(memories, [[memory.id for memory in memories]]) == []


def test_of_two_types_neither_is_a_double():
    assert pair(SAME[0][1], type="feedback") == []


def test_what_lies_in_no_common_group_is_not_compared():
    other = replace(TABS, id="other", name="other")
    assert doubles([TABS, other], [(TABS.id,), ("other",)]) == []


def test_doubles_are_merged_without_a_model_and_their_names_still_lead_there(bench):
    others = [replace(TABS, id=f"0000000{n}", name=f"tabs-{n}", created=NOW) for n in range(3)]
    bench.keep(TABS, *others, note("mailer-port", "The mailer listens on port 8025."))
    raw = bench.documents()["tabs-please"].memory.body
    report = bench.dream(offline=True)
    assert (report.word, report.calls, len(report.actions)) == ("done", 0, 1)
    assert bench.names() == ["mailer-port", "tabs-please"], "the ceiling is for what may be lost"
    assert bench.body("tabs-please") == raw
    assert all(bench.store.read(f"tabs-{n}").name == "tabs-please" for n in range(3))
    assert fsck(bench.store) == []


def old(name, kind, days, **values):
    at = NOW - timedelta(days=days)
    return note(
        name, f"{name.title()} {name}berg {name}dorf.", None, type=kind, created=at, updated=at, **values
    )


def ago(days):
    return (NOW - timedelta(days=days)).isoformat()


def used(bench, *, since=1000, last=0, how="last_accessed", **days):
    entries = {bench.documents()[name].id: {how: ago(past)} for name, past in days.items()}
    counting = {"counting_since": ago(since), "last_counted": ago(last)} if since is not None else {}
    state = {"version": 1, "entries": entries, **counting}
    (bench.store.root / "_state.json").write_bytes(orjson.dumps(state))


def done(days):
    return {"completed_at": NOW - timedelta(days=days), "status": "completed"}


LIFE = [
    (old("amber", "fix", 91), {}, True),
    (old("amber", "fix", 89), {}, False),
    (old("amber", "fix", 400), {"amber": 10}, False),
    (old("amber", "fix", 400), {"amber": 95}, True),
    (old("amber", "decision", 900), {}, False),
    (old("amber", "feedback", 900), {}, False),
    (old("amber", "task", 40, **done(31)), {}, True),
    (old("amber", "task", 40, **done(29)), {}, False),
    (old("amber", "task", 40, status="Done"), {}, True),
    (old("amber", "task", 900, status="blocked"), {}, False),
    (old("amber", "task", 900), {}, False),
    (old("amber", "fix", 400, pinned=True), {}, False),
]


@pytest.mark.parametrize(("memory", "asked", "leaves"), LIFE)
def test_s14_learnings_unused_and_tasks_long_done_leave(bench, memory, asked, leaves):
    bench.keep(memory, old("birch", "decision", 1), old("cedar", "decision", 1))
    used(bench, **{"birch": 1, **asked})
    report = bench.dream(offline=True)
    assert ("amber" not in bench.names()) == leaves
    assert [a.op for a in report.actions] == ["retire"] * leaves
    if leaves:
        assert "nobody used since" in report.actions[0].reason or "done on" in report.actions[0].reason


COUNTING = [
    ("counted long enough", {"since": 91}, True),
    ("counted for less than a learning lives", {"since": 89}, False),
    ("counts of another program, which tell nothing of the rest", {"since": None, "birch": 1}, False),
    ("recall has been off for a month", {"since": 900, "last": 31}, False),
    ("recall is still at work", {"since": 900, "last": 29}, True),
    ("put before a prompt lately", {"how": "last_injected", "amber": 10}, False),
    ("put before a prompt long ago", {"how": "last_injected", "amber": 95}, True),
]


@pytest.mark.parametrize(("counting", "leaves"), [c[1:] for c in COUNTING], ids=[c[0] for c in COUNTING])
def test_only_while_uses_are_counted_can_a_learning_be_left_unused(bench, counting, leaves):
    bench.keep(old("amber", "fix", 400), old("birch", "decision", 1), old("cedar", "decision", 1))
    used(bench, **counting)
    bench.dream(offline=True)
    assert ("amber" not in bench.names()) == leaves


def test_s14_where_nobody_counts_uses_nothing_is_unused(bench):
    bench.keep(old("amber", "fix", 400), old("birch", "decision", 1))
    assert bench.dream(offline=True).actions == []


def test_s14_an_edited_learning_stays(bench):
    bench.keep(old("amber", "fix", 400), old("birch", "decision", 1))
    used(bench, birch=1)
    bench.edit("amber")
    assert bench.dream(offline=True).actions == []


def test_s14_a_backlog_leaves_bit_by_bit_and_asks_nobody(bench):
    bench.set(retire_share=0.2)
    bench.keep(*(old(f"{chr(97 + n) * 5}", "fix", 400) for n in range(20)), old("birch", "decision", 1))
    used(bench, birch=1)
    counts = []
    for _ in range(3):
        bench.dream(offline=True)
        counts.append(len(bench.names()))
    assert counts == [19, 18, 17] and bench.waiting() == []


def test_s14_what_was_brought_back_does_not_leave_again(bench):
    bench.keep(old("amber", "fix", 400), old("birch", "decision", 1))
    used(bench, birch=1)
    run = bench.dream(offline=True).run_id
    bench.store.undo(run)
    assert bench.dream(offline=True).actions == [] and bench.names() == ["amber", "birch"]


def test_the_files_made_from_the_memories_are_made_anew(bench):
    bench.keep(note("mailer-port", "The mailer listens on port 8025."))
    for name in ("MEMORY.md", "CORE.md", "_index.json"):
        (bench.store.root / name).unlink(missing_ok=True)
    bench.dream(offline=True)
    made = tree(bench.store.root)
    assert b"mailer-port.md" in made["MEMORY.md"] and orjson.loads(made["_index.json"])["count"] == 1
    assert "CORE.md" in made
