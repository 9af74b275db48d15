"""One dream from gates to report: what it changes, what it leaves, what it says, what it costs."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipeline.core.errors import (
    OverloadedError,
    QuotaError,
    SpendError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.ledger import dreams, runs
from pipeline.store import ChangeSet, Store, fsck
from tests.support.dreaming import KEEP, note, op, planned, shown
from tests.support.second_reader import Truth, second_reader
from tests.support.stores import tree

TABS = note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback")
TABS_TOO = note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback")
PORT = note("mailer-port", "The mailer listens on port 8025.")
SAME = Truth(
    covers=lambda *texts: all("tabs" in text for text in texts),
    one_fact=lambda *texts: all("tabs" in text for text in texts),
)
COVERED = [("shop-tabs.1", "tabs-please.1")]
MERGE = op("merge", "tabs-please", "shop-tabs", into="tabs-please", covered=COVERED)


def test_a_merge_keeps_one_with_both_names_sources_and_an_archived_copy(bench):
    bench.keep(TABS, TABS_TOO, PORT)
    raw = bench.documents()["shop-tabs"].raw
    bench.model(planned(MERGE))
    report = bench.dream()
    assert (report.word, [a.op for a in report.actions]) == ("done", ["merge"])
    assert bench.names() == ["mailer-port", "tabs-please"]
    merged = bench.store.read("shop-tabs").memory
    assert merged.name == "tabs-please" and merged.aliases == ("shop-tabs",)
    assert (merged.body, merged.description) == (TABS.body, TABS.description)
    assert [source.uuid for source in merged.sources] == ["u-tabs-please", "u-shop-tabs"]
    (gone,) = bench.store.retired()
    assert (bench.store.root / gone.target).read_bytes() == raw
    assert (gone.superseded_by, gone.run) == (merged.id, report.run_id)
    assert fsck(bench.store) == []


def test_a_dream_of_unchanged_memories_asks_nothing_and_writes_nothing(bench):
    bench.keep(TABS, PORT)
    assert bench.dream().word == "nothing"
    before = tree(bench.store.root), len(bench.provider.history)
    bench.later(hours=25)
    report = bench.dream()
    assert (report.word, report.calls, report.changed) == ("nothing", 0, 0)
    assert (tree(bench.store.root), len(bench.provider.history)) == before


def test_what_a_dream_wrote_is_no_change_for_the_next(bench):
    bench.keep(TABS, TABS_TOO, PORT)
    bench.model(planned(MERGE))
    bench.dream()
    assert bench.dream().changed == 0
    assert dreams.seen(bench.ledger, str(bench.store.path)).keys() == {
        d.id for d in bench.documents().values()
    }


def test_since_takes_what_was_changed_from_then_on_whether_it_was_seen_or_not(bench):
    bench.keep(TABS, TABS_TOO, PORT)
    bench.dream()
    assert bench.dream().changed == 0
    bench.model(planned(MERGE), second_reader(SAME))
    march = [datetime(2026, 3, day, tzinfo=UTC) for day in (1, 2, 3)]
    assert [bench.dream(since=day, dry_run=True).changed for day in march] == [3, 1, 0]
    assert [a.op for a in bench.dream(since=march[1]).actions] == ["merge"], "its neighbour comes along"


def test_what_changed_before_since_stays_for_the_next_dream(bench):
    bench.keep(TABS, PORT, note("later", "The till prints receipts.", "2026-03-09"))
    assert bench.dream(since=datetime(2026, 3, 5, tzinfo=UTC)).changed == 1
    assert bench.dream().changed == 2


def test_a_dry_run_right_after_a_dream_says_for_what_a_dream_would_wait(bench):
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    assert bench.dream().word == "done"
    assert bench.dream(force=False).word == "closed"
    report = bench.dream(force=False, dry_run=True)
    assert report.word == "dry" and report.reason.startswith("A dream would wait: No memory has changed")


def test_a_dry_run_says_what_it_would_do_and_changes_no_file(bench):
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    before = tree(bench.store.root, skip=())
    report = bench.dream(dry_run=True)
    assert (report.word, len(report.actions)) == ("dry", 1)
    assert tree(bench.store.root, skip=()) == before
    assert bench.dream().word == "done" and len(bench.provider.history) == 2, "both answers were kept"


def test_the_report_names_each_change_with_reason_and_source_and_each_refusal(bench):
    bench.keep(TABS, TABS_TOO, PORT)
    bench.model(planned(MERGE, op("retire", "mailer-port", until="2026-05-20")), second_reader(SAME))
    report = bench.dream()
    text = (bench.home / "reports" / f"{report.run_id}.md").read_text("utf-8")
    denied = "the second reader did not agree that “mailer-port” says that it holds until 2026-05-20"
    left_out = "left out “The shop indents with tabs.”, covered by “Indent the shop with tabs.”"
    for part in ("merge", "“Indent the shop with tabs", denied, left_out, "Waits in the inbox", "$"):
        assert part in text
    assert json.loads((bench.home / "reports" / f"{report.run_id}.json").read_bytes())["word"] == "done"
    assert bench.waiting() == [("dream:retire", denied)]
    assert report.tokens > 0 and report.calls == 2


def test_a_handle_that_was_not_shown_is_refused_and_the_rest_is_done(bench):
    bench.keep(TABS, TABS_TOO)
    good: Any = planned(MERGE)

    def answer(request):
        return {"operations": [*good(request)["operations"], op("retire", "m99"), op("retire", "../x")]}

    bench.model(answer)
    report = bench.dream()
    assert [a.op for a in report.actions] == ["merge"]
    assert [r["why"] for r in report.refused] == [
        "names m99, which it was not shown", "names ../x, which it was not shown",
    ]  # fmt: skip


def test_an_answer_bought_before_a_failure_is_not_bought_again(bench):
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    bench.dream(dry_run=True)
    assert bench.dream().calls == 0, "neither the plan's nor the second reader's"
    assert runs.pending_run(bench.ledger, str(bench.store.path), str(bench.store.path), "dream") is None


def spread(count):
    """Memories that have no word in common, so that none is another's neighbour."""
    return [
        note(f"n{i:02d}", f"{chr(97 + i) * 7} {chr(97 + i) * 8} {chr(97 + i) * 9}.") for i in range(count)
    ]


def test_over_a_spend_cap_all_that_was_not_asked_leads_the_next_dream(bench):
    bench.set(max_cluster=2)
    bench.keep(*spread(6))
    asked = []

    def answer(request):
        asked.append(sorted(shown(request)))
        if len(asked) == 2:
            raise SpendError("60 calls in an hour", fix="Wait.")
        return KEEP

    bench.model(answer)
    report = bench.dream()
    assert (report.word, len(asked), len(report.failed)) == ("partial", 2, 4)
    assert "60 calls" in report.reason
    bench.keep(note("older", "Something much older stands here.", "2025-01-01"))
    bench.dream()
    first = {name for names in asked[2:4] for name in names}
    assert first == set(report.failed), "what failed comes before what is new"


def test_every_changed_memory_stands_in_the_report_once(bench):
    bench.set(max_cluster=3, max_clusters=1)
    pinned = note("pinned-rule", "Vanilla yoghurt zone.", pinned=True)
    long = note("long-one", "Quince xylophone walk. " * 2_000)
    bench.keep(TABS, TABS_TOO, pinned, long, note("later-one", "Mango nectar oven.", "2026-05-01"))
    report = bench.dream()
    assert report.changed == 5
    assert [sorted(group) for group in report.looked_at] == [["shop-tabs", "tabs-please"]]
    assert (report.left_alone, report.carried_over) == (["pinned-rule"], 1)
    (reason,) = report.left_out
    assert "longer than one question" in reason
    text = (bench.home / "reports" / f"{report.run_id}.md").read_text("utf-8")
    assert "- pinned-rule: yours (pinned, edited or written by hand), so there was nothing" in text
    assert "5 of 5 memories had changed; 1 waits for the next dream." in text


@pytest.mark.parametrize("error", [UnauthorisedError, UnavailableError, QuotaError])
def test_a_provider_that_is_down_is_asked_once(bench, error):
    bench.set(max_cluster=2)
    bench.keep(*spread(6))
    asked = []

    def answer(request):
        asked.append(request)
        raise error("gone", fix="Wait.")

    bench.model(answer)
    report = bench.dream()
    assert (len(asked), len(report.failed), report.word) == (1, 6, "partial")


def test_calls_that_fail_are_in_the_report_s_costs(bench):
    bench.keep(*spread(2))
    bench.model(lambda _: OverloadedError("busy", fix=""))
    report = bench.dream()
    assert report.word == "partial" and report.calls >= 1 and report.looked_at == []


def test_a_promoted_memory_is_copied_once(bench):
    bench.keep(TABS)
    promote = op("promote", "tabs-please")
    bench.model(planned(promote))
    assert bench.dream().word == "done"
    user = bench.home / "memory"
    assert [d.name for d in Store.open(user).scan().documents] == ["tabs-please"]
    old = bench.documents()["tabs-please"]
    put = bench.store.put(replace(old.memory, tags=("style",)), existing=old)
    bench.store.apply(ChangeSet("tagged", "test", [put]))
    assert [a.op for a in bench.dream().actions] == ["promote"]
    assert len(Store.open(user).scan().documents) == 1


def test_a_merge_keeps_what_either_was_related_to(bench):
    link = {"target": PORT.id, "type": "REQUIRES", "direction": "outgoing", "strength": 0.7}
    inner = {**link, "target": TABS.id}
    bench.keep(TABS, replace(TABS_TOO, relations=(link, inner)), PORT)
    bench.model(planned(MERGE))
    bench.dream()
    (kept,) = bench.store.read("tabs-please").memory.relations
    assert {**kept, "edge_id": ""} == {**link, "edge_id": ""}
    (back,) = bench.store.read(PORT.name).memory.relations
    assert (back["target"], back["direction"], back["edge_id"]) == (TABS.id, "incoming", kept["edge_id"])


def test_a_store_that_only_takes_proposals_gets_them_in_the_inbox(bench):
    only = bench.settings.store.model_copy(update={"mode": "propose"})
    bench.settings = bench.settings.model_copy(update={"store": only})
    bench.keep(TABS, TABS_TOO)
    bench.model(planned(MERGE))
    before = tree(bench.store.root)
    assert bench.dream().word == "nothing"
    after = tree(bench.store.root)
    assert {name: after[name] for name in before} == before
    assert [kind for kind, _ in bench.waiting()] == ["dream:merge"]


@pytest.mark.parametrize("changed", ["tabs-please", "shop-tabs"])
def test_what_changed_while_the_model_thought_is_left_out_of_the_plan(bench, changed):
    """An update that is ours too: a plan made before it must not write over it."""
    bench.keep(TABS, TABS_TOO)
    good: Any = planned(MERGE)

    def answer(request):
        other = Store.open(bench.store.path)
        old = other.read(changed)
        body = old.memory.body + "Makefiles too, since Monday.\n"
        other.apply(ChangeSet("update", "test", [other.put(replace(old.memory, body=body), existing=old)]))
        return good(request)

    bench.model(answer)
    report = bench.dream()
    assert "Makefiles" in bench.body(changed)
    assert bench.names() == ["shop-tabs", "tabs-please"]
    assert report.actions == [] and "changed before" in report.refused[0]["why"]
    assert bench.dream().changed == 1, "the changed one is looked at again"


def test_after_a_dream_the_index_has_room_and_still_reaches_every_file(bench):
    bench.keep(*(note(f"n{at:03d}", f"Shelf {at} of row {at * 7} is empty.") for at in range(160)))
    index = bench.store.root / "MEMORY.md"
    assert 160 < len(index.read_text("utf-8").splitlines()) <= 200
    bench.dream(offline=True)
    lines = index.read_text("utf-8").splitlines()
    assert 130 < len(lines) <= 140
    more = (bench.store.root / "MEMORY-more.md").read_text("utf-8")
    assert all(f"(n{at:03d}.md)" in "\n".join([*lines, more]) for at in range(160))
    before = index.stat().st_mtime_ns
    bench.dream(offline=True)
    assert index.stat().st_mtime_ns == before and fsck(bench.store) == []
