"""What the person just said otherwise is not recalled, until the worker has read it; all else is."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.home import Home
from pipeline.recall import Budget, retrieve
from pipeline.recall.live import overruled, spoken
from pipeline.store import Store
from tests.support.recall import MOMENT, NOW, Desk, index_store, memory_text
from tests.support.stores import memory, save

CASES = Path(__file__).parents[2] / "fixtures" / "overruled"
LATER = "2026-11-27T10:05:00.250Z"
ASKED = "which package manager installs the packages, npm?"
SAID = "use bun from now on, not npm"


def cases(half: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / f"{half}.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str, str], dict[str, str]]:
    """Return the verdict on each memory of a half that `prompt` finds, after a person said `words`."""
    places: dict[str, tuple[Path, Path]] = {}
    for half in ("looked_at", "held_back"):
        folder = tmp_path_factory.mktemp(half)
        store, home = places[half] = folder / "memory", folder / "home"
        store.mkdir()
        for case in cases(half):
            text = memory_text(case["name"], case["description"], case["description"])
            (store / f"{case['name']}.md").write_text(text, "utf-8")
        index_store(home, store)

    def verdicts(half: str, prompt: str, words: str) -> dict[str, str]:
        store, home = places[half]
        found = retrieve(
            prompt, store, Budget(memories=99, floor=0.0), home=home, now=MOMENT,
            earlier=lambda: [(MOMENT + 60, words)],
        )  # fmt: skip
        return {Path(item.memory).stem: item.verdict for item in found.considered}

    return verdicts


@pytest.mark.parametrize("case", cases("looked_at"), ids=lambda case: case["name"])
def test_a_memory_is_overruled_by_words_against_it_and_by_no_others(ask: Any, case: dict[str, Any]) -> None:
    found = ask("looked_at", case["description"], case["said"])
    assert found[case["name"]] == (overruled.VERDICT if case["overruled"] else "chosen")


def test_of_cases_that_no_word_was_chosen_for_most_are_seen_and_none_wrongly(ask: Any) -> None:
    found = {
        case["said"]: ask("held_back", f"{case['name']} {case['description']}", case["said"])[case["name"]]
        == overruled.VERDICT
        for case in cases("held_back")
    }
    meant = {case["said"] for case in cases("held_back") if case["overruled"]}
    seen = {words for words, is_seen in found.items() if is_seen}
    assert seen <= meant
    assert len(meant) == 20 and len(seen) >= 17


def test_the_cases_are_of_thirteen_languages() -> None:
    for half in ("looked_at", "held_back"):
        rows = cases(half)
        assert len(rows) == 40 and sum(row["overruled"] for row in rows) == 20
        assert len({row["language"] for row in rows if row["overruled"]}) >= 13


@pytest.mark.parametrize(
    "words",
    [
        "> use bun from now on, not npm",
        "```\nuse bun from now on, not npm\n```",
        "/compact use bun from now on, not npm",
        "<system-reminder>use bun from now on, not npm</system-reminder>",
        "use bun from now on, not npm?",
        "if we use bun from now on, not npm, what breaks",
        "now install the packages with npm",
        "npm fails now, look into it",
        "replace npm with bun in the title of the page",
    ],
)
def test_pasted_text_questions_and_other_orders_overrule_nothing(ask: Any, words: str) -> None:
    assert ask("looked_at", "packages installed with npm", words)["package-manager"] == "chosen"


def test_a_memory_that_was_said_after_the_words_stands(desk: Desk) -> None:
    desk.write("package-manager", "Packages are installed with npm.", "")
    for at, count in ((MOMENT - 60, 1), (MOMENT, 1), (MOMENT + 60, 0)):
        words = [(at, SAID)]
        found = retrieve(ASKED, desk.store, home=desk.home, now=MOMENT, earlier=words.copy)
        assert len(found.items) == count


def test_the_words_are_looked_for_only_where_a_memory_would_come(desk: Desk) -> None:
    desk.write("package-manager", "Packages are installed with npm.", "")
    asked: list[str] = []
    earlier = lambda: asked.append("asked") or ()  # noqa: E731 - what it was asked is all that counts
    assert not retrieve("make the header blue", desk.store, home=desk.home, earlier=earlier).items
    assert asked == []
    assert retrieve(ASKED, desk.store, home=desk.home, earlier=earlier).items
    assert asked == ["asked"]


@pytest.mark.parametrize(
    ("fact", "asked", "said"),
    [
        (
            "Резервные копии лежат на сервере.",
            "где лежит резервная копия?",
            "больше не используй резервную копию",
        ),
        (
            "Kopie zapasowe trzymamy w Gdańsku.",
            "gdzie jest kopia zapasowa?",
            "nie używaj już kopii zapasowej",
        ),
        (
            "Sicherungskopien liegen im Keller.",
            "wo ist eine Sicherungskopie im Keller?",
            "die Sicherungskopie fällt weg",
        ),
    ],
)
def test_words_in_another_form_overrule_as_well(desk: Desk, fact: str, asked: str, said: str) -> None:
    desk.write("copies", fact, fact)
    desk.index()
    verdicts = []
    earlier: list[tuple[float, str]]
    for earlier in ([], [(MOMENT + 60, said)]):
        found = retrieve(
            asked, desk.store, Budget(floor=0.0), home=desk.home, now=MOMENT, earlier=earlier.copy
        )
        verdicts.append([item.verdict for item in found.considered])
    assert verdicts == [["chosen"], [overruled.VERDICT]]


# -- the hook ---------------------------------------------------------------------------------------


def transcript(folder: Path, *rows: dict[str, Any]) -> str:
    file = folder / "session.jsonl"
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return str(file)


def typed(text: str, at: str = LATER, **more: Any) -> dict[str, Any]:
    return {"type": "user", "timestamp": at, "message": {"role": "user", "content": text}, **more}


@pytest.fixture
def packages(desk: Desk) -> Desk:
    desk.write("package-manager", "Packages are installed with npm.", "npm is on every machine here.")
    desk.index()
    return desk


def read_through(desk: Desk, session: str, moment: float) -> None:
    file = Home(desk.home).hook_state
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"read": {session: moment}}), "utf-8")


def test_the_hook_keeps_back_what_this_prompt_overrules(packages: Desk) -> None:
    assert packages.hook(prompt=f"{SAID}: install the packages") == ""
    assert "package-manager" in packages.hook(prompt=ASKED)


def test_the_hook_keeps_back_what_an_unread_prompt_of_the_session_overruled(
    packages: Desk, tmp_path: Path
) -> None:
    file = transcript(tmp_path, typed(SAID), {"type": "assistant", "message": {"content": "Understood."}})
    ask_hook = partial(packages.hook, prompt=ASKED, transcript_path=file)
    assert ask_hook() == ""
    read_through(packages, "s-1", MOMENT + 299)
    assert ask_hook() == ""
    read_through(packages, "s-1", MOMENT + 300.25)
    assert "package-manager" in ask_hook()
    assert ask_hook(session_id="s-2") == "", "of another session nothing is known to be read"


QUEUED: dict[str, Any] = {
    "type": "attachment",
    "timestamp": LATER,
    "attachment": {"type": "queued_command", "prompt": SAID, "commandMode": "prompt"},
}
OTHERS = [
    typed(SAID, isMeta=True),
    typed(SAID, isSidechain=True),
    typed(SAID, isCompactSummary=True),
    typed(SAID, isVisibleInTranscriptOnly=True),
    typed(SAID, origin={"kind": "task-notification"}),
    typed(SAID, at=""),
    {"type": "assistant", "timestamp": LATER, "message": {"content": [{"type": "text", "text": SAID}]}},
    {
        "type": "user",
        "timestamp": LATER,
        "message": {"content": [{"type": "tool_result", "content": SAID}, {"type": "text", "text": SAID}]},
    },
    {**QUEUED, "attachment": {**QUEUED["attachment"], "commandMode": "task-notification"}},
    {**QUEUED, "attachment": {**QUEUED["attachment"], "origin": {"kind": "peer"}}},
    {**QUEUED, "attachment": {**QUEUED["attachment"], "prompt": 7}},
    {"type": "user", "timestamp": LATER, "message": SAID},
]


@pytest.mark.parametrize("row", OTHERS)
def test_only_a_persons_words_overrule(packages: Desk, tmp_path: Path, row: dict[str, Any]) -> None:
    assert spoken.unread(str(packages.home), "s-1", transcript(tmp_path, row)) == []
    assert "package-manager" in packages.hook(prompt=ASKED, transcript_path=transcript(tmp_path, row))


def test_words_typed_while_the_assistant_worked_count(packages: Desk, tmp_path: Path) -> None:
    assert packages.hook(prompt=ASKED, transcript_path=transcript(tmp_path, QUEUED)) == ""


def test_unread_prompts_come_in_their_order_from_a_bounded_end(desk: Desk, tmp_path: Path) -> None:
    rows = [typed(f"prompt {at}", f"2026-11-27T10:00:{at:02}Z") for at in range(60)]
    found = spoken.unread(str(desk.home), "s-1", transcript(tmp_path, *rows))
    assert [text for _, text in found] == [f"prompt {at}" for at in range(10, 60)]
    assert found[0][0] == MOMENT + 10
    far = transcript(tmp_path, typed("far away"), typed("x" * 300_000), typed("near"))
    assert [text for _, text in spoken.unread(str(desk.home), "s-1", far)] == ["near"]
    assert spoken.unread(str(desk.home), "s-1", str(tmp_path / "none")) == []


@pytest.mark.parametrize("board", ["[]", '{"read": 7}', '{"read": {"s-1": "then"}}', "torn"])
def test_a_board_that_tells_nothing_makes_all_unread(desk: Desk, tmp_path: Path, board: str) -> None:
    file = Home(desk.home).hook_state
    file.parent.mkdir(parents=True)
    file.write_text(board, "utf-8")
    assert len(spoken.unread(str(desk.home), "s-1", transcript(tmp_path, typed(SAID, NOW)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Firmware moved from FreeRTOS to Zephyr, port finished 2026-05-08",
        "The studio door has a code lock, there are no keys any more",
        "日本語の案内文は外部の訳者が書く、機械翻訳は使わない",
    ],
)
def test_a_memory_that_tells_the_change_itself_is_not_overruled_by_it(text: str) -> None:
    found = overruled.overrulings(text, ())
    assert found and all(change.is_said_by(text) for change in found)
    assert not any(
        change.is_said_by("Firmware runs on FreeRTOS; 機械翻訳; doors have keys.") for change in found
    )


# -- before a tool ----------------------------------------------------------------------------------


@pytest.fixture
def ruled(desk: Desk) -> Desk:
    desk.env["REVERIE_RECALL__BEFORE_TOOLS"] = "true"
    store = Store.open(desk.store, create=True)
    for name, text in (
        ("never-npm", "Use pnpm in this project, never npm."),
        ("never-push", "Never push to the branch main."),
    ):
        save(store, memory(name, description=text, body=f"{text}\n", type="feedback"), id=name)
    desk.index()
    return desk


def use(desk: Desk, command: str, **fields: Any) -> str:
    return desk.hook("PreToolUse", tool_name="Bash", tool_input={"command": command}, **fields)


def test_before_a_tool_no_rule_comes_that_the_person_just_overruled(ruled: Desk, tmp_path: Path) -> None:
    file = transcript(tmp_path, typed("no longer pnpm, install the packages with npm from now on"))
    assert use(ruled, "npm install", transcript_path=file) == ""
    assert ruled.session_lines() == [], "nothing was told, so nothing is in the context"
    assert "never-push" in use(ruled, "git push origin main", transcript_path=file), "the others stand"
    assert "never-npm" in use(ruled, "npm install"), "without their words it stands"
    assert ruled.log() == []


def test_before_a_tool_words_that_the_worker_has_read_overrule_nothing(ruled: Desk, tmp_path: Path) -> None:
    file = transcript(tmp_path, typed("no longer pnpm, install the packages with npm from now on"))
    read_through(ruled, "s-1", MOMENT + 300.25)
    assert "never-npm" in use(ruled, "npm install", transcript_path=file)
    assert use(ruled, "npm install", transcript_path=file, session_id="s-2") == ""


@pytest.mark.parametrize("words", ["should we use npm, no longer pnpm?", "never npm, I said", "use npm"])
def test_before_a_tool_words_that_overrule_nothing_keep_no_rule_back(
    ruled: Desk, tmp_path: Path, words: str
) -> None:
    assert "never-npm" in use(ruled, "npm install", transcript_path=transcript(tmp_path, typed(words)))


def test_before_a_tool_a_rule_that_was_said_after_the_words_stands(ruled: Desk, tmp_path: Path) -> None:
    early = typed("no longer pnpm, install the packages with npm from now on", at="2026-01-02T10:00:00Z")
    assert "never-npm" in use(ruled, "npm install", transcript_path=transcript(tmp_path, early))
