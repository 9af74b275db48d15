"""A dream quotes: no plan whatever turns a fact round, and what it lets go needs a second reader's word.

The cases are those in which an earlier dream falsified, lost or invented something.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.memory import Evidence
from pipeline.store import ChangeSet, Store
from tests.support.dreaming import OVER, Dreaming, note, op, planned, shown
from tests.support.second_reader import Truth, bare, second_reader
from tests.support.stores import tree

NOTHING = second_reader(Truth())
"""A reader that finds no text to cover, equal or replace another."""
TURNED = {
    "double denial": (
        "Never deploy to production without an approval of Mara.",
        "Deploy to production without an approval of Mara.",
    ),
    "rule lifted": ("Never force-push.", "Never force-push. This rule is lifted."),
    "scope": ("Draft invoices are deleted at night.", "Invoices are deleted at night."),
    "condition": ("Deploy at night if the on-call agrees.", "Deploy at night; the on-call agrees."),
    "and, or": ("A deploy needs approval of Anna and Ben.", "A deploy needs approval of Anna or Ben."),
    "only": ("管理者のみが削除できる。", "管理者も削除できる。"),
    "duty": ("テストは毎回実行する。", "テストは毎回実行しなくていい。"),
    "tense": ("The gateway will be removed.", "The gateway was removed."),
    "quantifier": ("All requests are signed.", "Some requests are signed."),
    "order": ("Stop the worker, then migrate.", "Migrate, then stop the worker."),
    "bound": ("Retry up to 5 times.", "Retry from 5 times up."),
    "swapped values": ("Forward port 80 to 8080.", "Forward port 8080 to 80."),
    "who": ("Anna owns billing, Ben search.", "Ben owns billing, Anna search."),
    "German": ("Ohne Freigabe nicht ausliefern.", "Ohne Freigabe ausliefern."),
    "French": ("Ne jamais pousser sur main.", "Pousser sur main."),
    "Spanish": ("No borres los registros.", "Borra los registros."),
    "Chinese": ("不要在周五部署。", "在周五部署。"),
    "Arabic": ("لا تنشر يوم الجمعة.", "انشر يوم الجمعة."),
}


def texts(bench: Dreaming) -> set[str]:
    return {document.memory.body.strip() for document in bench.documents().values()}


@pytest.mark.parametrize(("fact", "turned"), TURNED.values(), ids=TURNED)
def test_no_text_of_a_plan_reaches_a_memory(bench, fact, turned):
    """What a model writes beside its operations, and operations that write, come to nothing."""
    bench.set(retire_share=1.0)
    bench.keep(note("rule", fact), note("again", fact, "2026-03-05", type="feedback"))
    words = {"statement": turned, "description": turned, "title": turned, "why": turned, "dropped": []}
    bench.model(
        lambda request: {
            "operations": [
                op("rewrite", shown(request)["rule"], **words),
                op("merge", *shown(request).values(), into=shown(request)["rule"], **words),
            ]
        }
    )
    bench.dream()
    (merged,) = bench.documents().values()
    assert (merged.memory.body, merged.memory.description) == (f"{fact}\n", note("rule", fact).description)
    line = (bench.store.root / "MEMORY.md").read_text("utf-8").splitlines()[-2]
    assert merged.memory.title == "" and line == f"- [{merged.memory.description}](rule.md)"


LET_GO = {
    "the rule, merged": op("merge", "rule", "turned", into="turned", covered=[("rule.1", "turned.1")]),
    "the other, merged": op("merge", "rule", "turned", into="rule", covered=[("turned.1", "rule.1")]),
    "superseded": op("supersede", "rule", "turned", into="turned"),
    "struck": op("strike", "rule", covered=[("rule.1", "turned.1")]),
}


@pytest.mark.parametrize("plan", LET_GO.values(), ids=LET_GO)
@pytest.mark.parametrize(("fact", "turned"), TURNED.values(), ids=TURNED)
def test_a_rule_and_what_turns_it_round_both_stay(bench, fact, turned, plan):
    bench.set(retire_share=1.0)
    bench.keep(note("rule", fact), note("turned", turned, "2026-03-05"))
    bench.model(planned(plan), NOTHING)
    report = bench.dream()
    assert report.actions == [] and texts(bench) == {fact, turned}


COMPLEMENTARY = [
    ("Never push to main without a review by Mara.", "Reviews happen on Tuesdays and Thursdays."),
    ("Indent with tabs.", "In yaml files indent with two spaces."),
    ("Staging runs Postgres 16 on db-stg.", "Staging's Postgres is backed up nightly."),
]


@pytest.mark.parametrize(("earlier", "later"), COMPLEMENTARY)
def test_what_completes_a_rule_does_not_supersede_it(bench, earlier, later):
    bench.set(retire_share=1.0)
    bench.keep(note("earlier", earlier), note("later", later, "2026-03-05"))
    bench.model(planned(op("supersede", "earlier", "later", into="later")), NOTHING)
    bench.dream()
    assert bench.names() == ["earlier", "later"]
    claim = "that “later” takes the place of “earlier”"
    assert bench.waiting() == [("dream:supersede", f"the second reader did not agree {claim}")]


@pytest.mark.parametrize(
    "text",
    [
        "Do not mock the clock: the mock stayed green from 2026-02-01 on.",
        "Since 2026-05-04 the export is JSON.",
        "The contract was signed 2025-11-30 and goes on.",
    ],
)
@pytest.mark.parametrize("errs", [False, True])
def test_a_rule_that_names_a_past_day_is_not_outlived(bench, text, errs):
    bench.set(retire_share=1.0)
    bench.keep(note("rule", text))
    day = next(word.strip(".") for word in text.split() if word[:2] == "20")
    truth = Truth(until=lambda _: (day, f"until {day}")) if errs else Truth()
    bench.model(planned(op("retire", "rule", until=day)), second_reader(truth))
    assert bench.dream().actions == [] and bench.names() == ["rule"]


def test_an_end_that_the_text_names_retires_with_what_it_said_in_the_archive(bench):
    bench.keep(note("freeze", f"The freeze of the shop lasts until {OVER}."), note("port", "Port 8025."))
    bench.model(planned(op("retire", "freeze")))
    report = bench.dream()
    assert [(action.op, action.memories) for action in report.actions] == [("retire", ("freeze",))]
    assert report.actions[0].sources[0]["quote"].startswith("The freeze of the shop")
    (gone,) = bench.store.retired()
    assert b"lasts until" in (bench.store.root / gone.target).read_bytes()


def test_what_is_not_over_yet_is_not_even_asked(bench):
    bench.keep(note("freeze", "The freeze of the shop lasts until 2026-12-24."))
    bench.model(planned(op("retire", "freeze", until="2026-12-24")))
    report = bench.dream()
    assert report.actions == [] and report.calls == 1


def test_an_insight_waits_for_a_person_whatever_it_says(bench):
    bench.keep(note("a", "Deploys of the shop need a review."), note("b", "Mara reads deploys of the shop."))
    text = "Urgent changes go to main directly; Mara reads them afterwards."
    bench.model(planned(op("insight", "a", "b", name="urgent", statement=text, description=text)))
    before = tree(bench.store.root)
    assert bench.dream().actions == []
    assert {name: tree(bench.store.root)[name] for name in before} == before
    assert bench.waiting() == [("dream:insight", "an insight is the model's own words")]


def test_merging_what_is_not_one_fact_is_for_a_person(bench):
    bench.set(retire_share=1.0)
    bench.keep(note("a", "Anna Berg owns billing of the shop."), note("b", "The shop bills on Mondays."))
    bench.model(planned(op("merge", "a", "b", into="a")), NOTHING)
    bench.dream()
    assert bench.names() == ["a", "b"] and bench.waiting()[0][0] == "dream:merge"


@pytest.mark.parametrize("into", ["fact", "guess"])
def test_a_guess_does_not_become_a_person_s_word(bench, into):
    bench.set(retire_share=1.0)
    guess = note("guess", "The mailer port is likely firewalled.", "2026-03-05", origin="assistant-inferred")
    guess = replace(guess, sources=tuple(replace(s, speaker="assistant") for s in guess.sources))
    bench.keep(note("fact", "The mailer listens on port 8025."), guess)
    bench.model(planned(op("merge", "fact", "guess", into=into)))
    bench.dream()
    assert bench.names() == ["fact", "guess"]
    assert (
        bench.waiting()[0][1]
        == f"only one of “{into}” and “{'fact' if into == 'guess' else 'guess'}” is a person's word"
    )


@pytest.mark.parametrize("into", ["fact", "guess"])
def test_an_equal_guess_brings_nothing_with_it_and_may_join(bench, into):
    bench.set(retire_share=1.0)
    guess = note("guess", "the mailer listens on port 8025", "2026-03-05", origin="assistant-inferred")
    bench.keep(note("fact", "The mailer listens on port 8025."), guess)
    bench.model(planned(op("merge", "fact", "guess", into=into)))
    bench.dream()
    (only,) = bench.documents().values()
    assert (only.name, only.memory.origin) == ("fact", "user-stated"), "a rule was there before the model"


def test_what_the_assistant_said_later_supersedes_no_person_s_word(bench):
    bench.set(retire_share=1.0)
    later = note("guess", "The mailer listens on port 8026.", "2026-03-05", origin="assistant-inferred")
    later = replace(later, sources=tuple(replace(s, speaker="assistant") for s in later.sources))
    bench.keep(note("fact", "The mailer listens on port 8025."), later)
    bench.model(planned(op("supersede", "fact", "guess", into="guess")))
    report = bench.dream()
    assert bench.names() == ["fact", "guess"] and report.calls == 1, "nobody is asked what time decides"
    assert "no person said “guess” later" in bench.waiting()[0][1]


def test_a_reason_that_the_survivor_lacks_stays_with_its_fact(bench):
    bench.set(retire_share=1.0)
    bench.keep(
        note("a", "Retry the mailer three times."),
        note("b", "Three retries for the mailer.\n\n**Why:** The gateway bans us.", "2026-03-05"),
    )
    covered = [("b.1", "a.1")]
    bench.model(planned(op("merge", "a", "b", into="a", covered=covered)))
    bench.dream()
    (only,) = bench.documents().values()
    assert only.memory.body == (
        "Retry the mailer three times.\n\n"
        "**Also:** Three retries for the mailer.\n\n**Why:** The gateway bans us.\n"
    ), "its statement stays too: the reason would come to be one for something else"


def test_a_real_replacement_leaves_the_later_word_which_shows_what_it_replaced(bench):
    bench.set(retire_share=1.0)
    bench.keep(
        note("use-npm", "The shop installs packages with npm.", "2026-03-01"),
        note("use-pnpm", "The shop installs packages with pnpm now.", "2026-03-09"),
    )
    bench.model(planned(op("supersede", "use-npm", "use-pnpm", into="use-npm")))
    report = bench.dream()
    assert "turned round" in report.actions[0].reason
    (left,) = bench.documents().values()
    (replaced,) = left.memory.replaces
    assert (left.name, replaced.text, replaced.day) == (
        "use-pnpm", "The shop installs packages with npm.", "2026-03-01",
    )  # fmt: skip
    assert b"replaces:" in left.raw and left.memory.body == "The shop installs packages with pnpm now.\n"


def test_a_task_that_a_person_said_is_done_is_superseded(bench):
    bench.set(retire_share=1.0)
    bench.keep(
        note("todo", "Move the mailer to the new host.", type="task"),
        note("moved", "The mailer runs on the new host now.", "2026-03-09"),
    )
    bench.model(planned(op("supersede", "todo", "moved", into="moved")))
    bench.dream()
    assert bench.names() == ["moved"]


WRONG = "The mailer listens on port 8025. It is restarted by cron at four."


def mended(bench: Dreaming, *plan: dict[str, object]) -> None:
    """Dream over a memory of which two later ones show that a part is wrong."""
    bench.set(retire_share=1.0)
    bench.keep(
        note("mailer", WRONG, "2026-02-01", description="Port 8025, restarted by cron at four"),
        note("restart", "Cron restarts the mailer at five since March.", "2026-03-01"),
        note("cron", "Four o'clock is taken by the backup; the mailer restarts at five.", "2026-03-02"),
    )
    bench.model(planned(*plan))


def test_a_sentence_that_two_later_memories_correct_leaves_by_two_keys(bench):
    mended(bench, op("strike", "mailer", covered=[("mailer.2", "restart.1")]))
    before = bench.documents()["mailer"].raw
    report = bench.dream()
    left = bench.documents()["mailer"].memory
    assert left.body == "The mailer listens on port 8025.\n"
    assert left.description == "The mailer listens on port 8025.", "the line told what was struck"
    assert bench.names() == ["cron", "mailer", "restart"]
    ((text, by),) = report.actions[0].left_out
    assert (text, by) == (
        "It is restarted by cron at four.", "Cron restarts the mailer at five since March.",
    )  # fmt: skip
    former = list((bench.store.root / "archive" / "2026" / "earlier").iterdir())
    assert [file.read_bytes() for file in former] == [before]
    bench.store.undo(report.run_id)
    assert bench.documents()["mailer"].raw == before


def test_a_sentence_in_the_middle_of_a_fact_is_for_a_person(bench):
    mended(bench, op("strike", "mailer", covered=[("mailer.1", "restart.1")]))
    report = bench.dream()
    assert report.actions == [] and report.calls == 1
    assert "another follows" in bench.waiting()[0][1]


def test_nothing_said_earlier_or_by_the_assistant_overtakes_a_sentence(bench):
    mended(
        bench,
        op("strike", "restart", covered=[("restart.1", "mailer.2")]),
        op("strike", "cron", covered=[("cron.1", "restart.1")]),
    )
    assert bench.dream().actions == []
    assert all(WRONG in text or "five" in text for text in texts(bench))


def test_what_waits_already_is_not_put_to_the_person_again(bench):
    """Until a text that it is about changes."""
    bench.set(retire_share=1.0)
    bench.keep(note("a", "Anna Berg owns billing of the shop."), note("b", "The shop bills on Mondays."))
    bench.model(
        planned(op("merge", "a", "b", into="a"), op("insight", "a", "b", statement="S.", description="S.")),
        NOTHING,
    )
    for _ in range(2):
        bench.dream()
        assert [kind for kind, _ in bench.waiting()] == ["dream:merge", "dream:insight"]
        bench.later(days=2)
        bench.ledger.execute("DELETE FROM dream_seen")
    old = bench.documents()["b"]
    changed = replace(old.memory, body="The shop bills on Tuesdays.\n")
    bench.store.apply(ChangeSet("changed", "test", [bench.store.put(changed, existing=old)]))
    bench.dream()
    assert len(bench.waiting()) == 4


# -- promote ------------------------------------------------------------------------------------------

TABS = note("tabs-please", "Indent with tabs.", type="feedback")


def user_store(bench: Dreaming) -> list[str]:
    folder = bench.home / "memory"
    return [d.name for d in Store.open(folder).scan().documents] if folder.is_dir() else []


def test_nothing_goes_to_all_projects_unasked(bench):
    bench.keep(TABS)
    bench.model(planned(op("promote", "tabs-please")), NOTHING)
    bench.dream()
    assert user_store(bench) == []
    assert bench.waiting() == [
        ("dream:promote", "the second reader did not agree that “tabs-please” was said of all projects")
    ]


def test_what_a_person_said_of_all_projects_goes_there_as_it_is(bench):
    bench.keep(TABS)
    bench.model(planned(op("promote", "tabs-please", statement="Indent with spaces.")))
    assert [action.op for action in bench.dream().actions] == ["promote"]
    (copy,) = Store.open(bench.home / "memory").scan().documents
    assert (copy.memory.body, copy.memory.description) == (TABS.body, TABS.description)


def test_only_the_person_s_own_quotes_are_shown_for_it(bench):
    mine = Evidence(session="s", uuid="a", quote="In all your projects, tabs.", speaker="assistant")
    bench.keep(replace(TABS, sources=(*TABS.sources, mine)))
    bench.model(planned(op("promote", "tabs-please")))
    bench.dream()
    asked = bench.provider.history[1].messages[0].content
    assert "“Indent with tabs.”" in asked and "your projects" not in asked


def test_what_only_the_assistant_said_is_not_asked_about(bench):
    quoted = replace(TABS.sources[0], speaker="assistant")
    bench.keep(replace(TABS, type="project", origin="assistant-inferred", sources=(quoted,)))
    bench.model(planned(op("promote", "tabs-please")))
    report = bench.dream()
    assert (report.calls, user_store(bench), len(bench.waiting())) == (1, [], 1)


@pytest.mark.parametrize(("there", "goes"), [("indent with tabs!", True), ("Indent with spaces.", False)])
def test_what_stands_in_another_project_too_goes_to_all_projects(bench, tmp_path: Path, there, goes):
    other = Store.open(tmp_path / "other", create=True)
    known = note("theirs", f"{there} It is a rule.\n\n**Why:** The printer jams.")
    other.apply(ChangeSet("other", "test", [other.put(known)]))
    bench.ledger.execute(
        "INSERT INTO memory_file_states (file_path, store) VALUES ('other.jsonl', ?)", (str(other.path),)
    )
    bench.keep(TABS)
    bench.model(planned(op("promote", "tabs-please")), NOTHING)
    report = bench.dream()
    assert bool(user_store(bench)) is goes
    assert (report.calls == 1) is goes


def test_a_store_that_can_not_be_read_bears_nothing_out(bench, tmp_path: Path):
    other = Store.open(tmp_path / "other", create=True)
    (other.path / ".reverie").write_text("a file where a folder must be")
    bench.ledger.execute(
        "INSERT INTO memory_file_states (file_path, store) VALUES ('other.jsonl', ?)", (str(other.path),)
    )
    bench.keep(TABS)
    bench.model(planned(op("promote", "tabs-please")), NOTHING)
    assert bench.dream().actions == [] and user_store(bench) == []


# -- a reader that errs -------------------------------------------------------------------------------


def test_what_a_reader_that_errs_lets_through_can_be_read_and_taken_back(bench):
    """Even one that agrees with everything falsifies nothing: what goes stands in report and archive."""
    bench.set(retire_share=1.0)
    fact, turned = TURNED["double denial"]
    bench.keep(note("rule", fact), note("turned", turned, "2026-03-05"))
    before = {d.name: d.raw for d in bench.documents().values()}
    bench.model(planned(op("merge", "rule", "turned", into="rule", covered=[("turned.1", "rule.1")])))
    report = bench.dream()
    assert texts(bench) == {fact}
    assert report.actions[0].left_out == ((turned, fact),)
    text = (bench.home / "reports" / f"{report.run_id}.md").read_text("utf-8")
    assert f"left out “{turned}”, covered by “{fact}”" in text
    (gone,) = bench.store.retired()
    assert (bench.store.root / gone.target).read_bytes() == before["turned"]
    bench.store.undo(report.run_id)
    assert {d.name: d.raw for d in bench.documents().values()} == before


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.whole) for seed in (1, 2))])
def test_a_tenth_of_wrong_answers_lets_few_through(bench, seed):
    """40 plans that must not happen, each on its own: with one form of a question four would."""
    bench.set(retire_share=1.0, max_cluster=2)
    reader = second_reader(Truth(), error_rate=0.1, seed=seed)
    done = 0
    for number in range(40):
        pair = [note(f"{name}-{number}", f"{text} (case {number})", day) for name, text, day in (
            ("rule", TURNED["bound"][0], "2026-03-01"), ("turned", TURNED["bound"][1], "2026-03-05"),
        )]  # fmt: skip
        bench.keep(*pair)
        names = [memory.name for memory in pair]
        plan = op("supersede", *names, into=names[1])
        bench.model(planned(plan), reader)
        done += len(bench.dream().actions)
    assert done <= 2
    live = {bare(text) for text in texts(bench)}
    assert all(text.startswith(TURNED["bound"]) for text in live)
