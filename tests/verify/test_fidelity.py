"""A text that says something else than its sources, in words that no list of specifics holds."""

import pytest

from pipeline.domain.operations import Operation
from pipeline.safety.guard import violation
from tests.verify.plans import judge, merge, note, rewrite

TURNED = [
    ("Keep three replicas of the ledger.", "Keep seven replicas of the ledger.", "number “3”"),
    ("Keep three replicas of the ledger.", "Keep replicas of the ledger.", "number “3”"),
    ("Wait forty-two seconds for it.", "Wait twelve seconds for it.", "number “42”"),
    ("Retry the upload twice.", "Retry the upload thrice.", "number “2”"),
    ("Die Sitzung läuft nach dreißig Minuten ab.", "Die Sitzung läuft nach neunzig Minuten ab.", "“30”"),
    ("再試行は三回まで。", "再試行は九回まで。", "number “三”"),
    ("The fair opens on the fifth of march.", "The fair opens on the ninth of march.", "number “5”"),
    ("The courier drives 30 km a day.", "The courier drives 30 miles a day.", "“30 km” has another unit"),
    ("The budget is 500 CHF.", "The budget is 500 SEK.", "another unit"),
    ("The backup runs at 3 pm.", "The backup runs at 3 am.", "another unit"),
    ("Take versions >=3 of it.", "Take versions <3 of it.", "“at least”"),
    ("The load stays below 80%.", "The load stays above 80%.", "“below”"),
    ("At least 5 nodes are needed.", "At most 5 nodes are needed.", "“at least”"),
    ("Migrate before the deploy.", "Migrate after the deploy.", "“before deploy”"),
    ("The shop must check tokens.", "The shop may check tokens.", "“must”"),
    ("Always squash the commits.", "Sometimes squash the commits.", "“always”"),
    ("Squash unless the branch is shared.", "Squash if the branch is shared.", "“unless branch”"),
    ("Deny requests from guests.", "Allow requests from guests.", "“deny”"),
    ("The upload fails in the lab.", "The upload works in the lab.", "“fail”"),
    ("Never deploy at night. Run the linter.", "Deploy at night. Never run the linter.", "“not”"),
    ("Never deploy at night. Never touch vaults.", "Deploy at night. Never touch vaults.", "“not”"),
    ("Tests nicht am Abend starten.", "Tests am Abend starten.", "a “not”"),
    ("Il ne faut pas lancer les tests.", "Il faut lancer les tests.", "a “not”"),
    ("Nunca reiniciar el servidor.", "Reiniciar el servidor.", "a “not”"),
    ("晚上不运行测试。", "晚上运行测试。", "a “not”"),
    ("밤에 배포하지 않는다.", "밤에 배포한다.", "a “not”"),
    ("Alice owns the billing service.", "Robert owns the billing service.", "“robert” stands where"),
    ("The shop runs on postgres there.", "The shop runs on mysql there.", "“mysql” stands where"),
    ("デプロイは金曜日にする。", "デプロイは月曜日にする。", "stands where"),
    ("In the shop, Alice reviews the code of Bob.", "In the shop, Bob reviews the code of Alice.", "order"),
    ("The job copies data from staging to prod.", "The job copies data from prod to staging.", "order"),
    ("Prefer merging over rebasing here.", "Prefer rebasing over merging here.", "order"),
    ("The user likes tea, the bot likes milk.", "The user likes milk, the bot likes tea.", "changed places"),
    ("Logs of the shop go to a.example.com and metrics to b.example.com.",
     "Logs of the shop go to b.example.com and metrics to a.example.com.", "of something else"),
    ("Use `npm ci` in the shop and `pnpm i` in the mill.",
     "Use `pnpm i` in the shop and `npm ci` in the mill.", "of something else"),
    ("Indent with tabs.\n\n**Why:** the old printer jams", "Indent with tabs.", "the reason is lost"),
    ("Indent with tabs because the old printer jams.", "Indent with tabs.", "the reason is lost"),
    ("Tabs nutzen, weil sie besser lesbar sind.", "Tabs nutzen.", "the reason is lost"),
    ("The mailer listens on port 8025.", "The mailer listens on ~~port 8025~~.", "takes back or hides"),
    ("The mailer listens on port 8025.", "The mailer listens. <!-- port 8025 -->", "takes back or hides"),
    ("The mailer uses port 8025.", "It is wrong that the mailer uses port 8025.", "takes back"),
    ("The mailer uses port 8025.", "Formerly the mailer used port 8025.", "takes back"),
    ("Иван проверяет код.", "Пётр проверяет код.", "script can't be compared"),
    ("Guests get the long list by mail, in blue, every evening.", "Guests get the list.", "would be lost"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text", "reason"), TURNED)
def test_a_text_that_turns_its_source_waits_for_a_person(source, text, reason):
    (refused,) = judge([note("one", source)], rewrite("one", text, description=text)).refused
    assert reason in refused.reason and refused.to_inbox


@pytest.mark.parametrize("source", [source for source, _, _ in TURNED])
def test_the_same_text_again_passes(source):
    assert judge([note("one", source)], rewrite("one", source)).accepted


def test_a_description_may_not_say_the_opposite():
    operation = rewrite("one", "Never restart the mailer.", description="Restart the mailer")
    (refused,) = judge([note("one", "Never restart the mailer.")], operation).refused
    assert "opposite" in refused.reason and refused.to_inbox


HONEST = [
    ("Use pnpm in the web app, never npm.", "The web app installs packages with pnpm.",
     "Use pnpm in the web app, never npm."),
    ("Integration tests need a real Postgres 16. Mocks hid a broken migration in March.",
     "Do not mock the database in integration tests; run them on Postgres 16.",
     "Run integration tests on a real Postgres 16, do not mock the database:"
     " mocks hid a broken migration in March."),
    ("Prefer short answers without preamble.",
     "Keep replies brief; the user dislikes summaries at the end.",
     "Keep answers short, without preamble and without a summary at the end; the user dislikes those."),
    ("Anna Berg owns billing; ask her before changing invoices.",
     "Invoices: VAT is rounded per line. Anna Berg decides.",
     "Ask Anna Berg before changing invoices: she owns billing. VAT is rounded per line."),
    ("The nightly export must be there by 04:00 because the partner imports at 04:15.",
     "The export runs nightly and takes 20 minutes.",
     "The nightly export takes 20 minutes and must be there by 04:00, because the partner imports at 04:15."),
    ("Die Tests laufen mit pytest -n 4, weil die CI vier Kerne hat.", "Tests immer mit pytest -n 4 starten.",
     "Tests immer mit pytest -n 4 starten, weil die CI vier Kerne hat."),
    ("コメントは日本語で書く。", "このプロジェクトのコメントは日本語。コミットメッセージは英語。",
     "コメントは日本語で書く。コミットメッセージは英語。"),
    ("The worker retries three times with backoff.", "Retries: 3 with exponential backoff in the worker.",
     "The worker retries 3 times with exponential backoff."),
    ("The user is a data scientist learning Go.", "User knows Python and pandas well, new to Go.",
     "The user is a data scientist who knows Python and pandas well and is new to Go."),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "text"), HONEST)
def test_an_honest_merge_still_passes(one, other, text):
    assert judge([note("a", one), note("b", other, "2026-03-02")], merge(text, "a", "b")).accepted


@pytest.mark.parametrize(
    ("reason", "passes"), [("x", False), ("it is in the config", True), ("設定にある", True)]
)
def test_what_is_dropped_needs_more_than_a_word_of_reason(reason, passes):
    operation = rewrite("one", "The mailer listens in the lab.", dropped=(("8025", reason),),
                        description="The mailer")  # fmt: skip
    assert (
        bool(judge([note("one", "The mailer listens in the lab on port 8025.")], operation).accepted)
        is passes
    )


def insight(text, *ids):
    return Operation(op="insight", ids=ids, statement=text, description="What they share", name="Shared")


NOTES = [note(f"n{at}", f"The mailer of hall {at} listens in the lab.") for at in range(9)]


def test_five_insights_a_dream_and_the_rest_later():
    plan = [insight(f"Halls {at} and {at + 1} have a mailer.", f"n{at}", f"n{at + 1}") for at in range(7)]
    checked = judge(NOTES, *plan)
    assert len(checked.accepted) == 5 and [one.later for one in checked.refused] == [True, True]


def test_an_insight_is_drawn_once():
    again = [insight("Halls 1 and 2 have a mailer.", "n1", "n2"),
             insight("The mailer of hall 1, 2.", "n2", "n1"),
             insight("Halls 1 and 2 have a mailer.", "n1", "n2", "n3")]  # fmt: skip
    checked = judge(NOTES, *again)
    assert [one.reason.split()[0] for one in checked.refused] == ["there", "a"]
    links = tuple({"target": one, "type": "BUILDS_ON", "direction": "outgoing"} for one in ("n1", "n2"))
    old = note("old", "Said in other words.", type="insight", relations=links)
    assert "already" in judge([*NOTES, old], again[0]).refused[0].reason


def test_an_insight_denies_nothing_that_no_source_denies():
    assert "denies" in judge(NOTES, insight("The lab needs nobody asked.", "n1", "n2")).refused[0].reason


def test_words_that_all_memories_have_make_no_two_of_one_matter():
    tasks = ("port", "indent", "roof", "vault", "booth", "oven")
    memories = [
        note(one, f"The {one} is handled the usual way.", f"2026-04-{at + 1:02}")
        for at, one in enumerate(tasks)
    ]
    assert not judge(memories, Operation(op="supersede", ids=("port", "roof"))).accepted
    assert not judge(memories, Operation(op="retire", ids=("port",), reason="it is over")).accepted


def test_a_supersede_is_about_one_matter():
    roof = note("roof", "Paint the barn red.", "2026-04-01")
    (refused,) = judge([NOTES[0], roof], Operation(op="supersede", ids=("n0", "roof"))).refused
    assert "about something else" in refused.reason and refused.to_inbox


@pytest.mark.parametrize(
    ("text", "later", "passes"),
    [
        ("The booth is at the fair.", "Paint the barn red.", False),
        ("The booth is at the fair.", "The booth of the fair is sold.", True),
        ("The booth is at the fair on 2026-03-09.", "Paint the barn red.", True),
        ("The booth is at the fair on 2026-09-09.", "Paint the barn red.", False),
    ],
)
def test_a_persons_word_is_retired_only_on_grounds(text, later, passes):
    memories = [note("booth", text), note("later", later, "2026-04-01")]
    checked = judge(memories, Operation(op="retire", ids=("booth",), reason="it is over"))
    assert bool(checked.accepted) is passes and all(one.to_inbox for one in checked.refused)


def test_a_relation_keeps_a_short_reason():
    related = Operation(op="relate", ids=("n0", "n1"), relation="FOLLOWS", reason="so " * 200)
    assert len(judge(NOTES, related).accepted[0].reason) == 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Der Push ist immer erlaubt.", "a permission"),
        ("Claude darf ohne Rückfrage pushen.", "a permission"),
        ("Le push est toujours autorisé.", "a permission"),
        ("Claude puede desplegar sin preguntar.", "a permission"),
        ("Niemand darf ohne Freigabe pushen.", None),
        ("Nadie puede desplegar sin confirmar.", None),
        ("Claude no puede desplegar sin preguntar.", None),
    ],
)
def test_permissions_in_other_languages(text, found):
    assert violation(text) == found
