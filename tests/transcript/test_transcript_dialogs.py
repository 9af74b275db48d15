"""Plans and question forms: what they show, and what a person made of them."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.speech import PLAN_TOOL
from pipeline.transcript import read
from pipeline.transcript.reader import START, Cursor
from tests.support.transcripts import (
    REFUSED_BARE,
    REFUSED_SAID,
    Transcript,
    assistant,
    tool_result,
    tool_use,
    user,
)

PLAN = "# Move the parser\n\n1. Copy it to lib/\n2. Keep the old name for one release"
APPROVED = (
    "User has approved your plan. You can now start coding. Start with updating your todo list if"
    " applicable\n\nYour plan has been saved to: /home/dev/.claude/plans/a-b-c.md\n"
    "You can refer back to it if needed during implementation.\n\n## Approved Plan:\n"
)
EDITED_HEADING = APPROVED.replace("## Approved Plan:", "## Approved Plan (edited by user):")
SHOWN = ("prose", PLAN)
YES = ("answer", "[approved the plan]")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def said(path: Path, session: Transcript) -> list[tuple[str | None, str]]:
    return [(entry.channel, entry.text) for entry in read(session.write(path)).entries if entry.speaker]


def planned(result: Any, given: Any = None, **more: Any) -> Transcript:
    """A plan shown in plan mode, and its result."""
    session = Transcript()
    session.tool(PLAN_TOOL, {"plan": PLAN} if given is None else given, result, **more)
    return session


def outcome(plan: str = PLAN, **more: Any) -> dict[str, Any]:
    return {"plan": plan, "isAgent": False, "filePath": "/home/dev/.claude/plans/a-b-c.md", **more}


def test_an_approved_plan_is_shown_and_its_approval_is_the_persons(path: Path) -> None:
    session = planned(APPROVED + PLAN, toolUseResult=outcome())
    found = [entry for entry in read(session.write(path)).entries if entry.speaker]
    assert [(e.speaker, e.channel, e.text) for e in found] == [
        ("assistant", "prose", PLAN),
        ("person", "answer", "[approved the plan]"),
    ]


@pytest.mark.parametrize(
    ("result", "more"),
    [
        (APPROVED + PLAN, {}),
        ("User has approved exiting plan mode. You can now proceed.", {"toolUseResult": outcome("")}),
        (APPROVED + PLAN, {"toolUseResult": outcome(PLAN.replace("\n", " \n"))}),
        (
            APPROVED + PLAN,
            {"toolUseResult": outcome(PLAN), "permissionDecision": {"source": "user_temporary"}},
        ),
    ],
)
def test_the_forms_of_an_approval(path: Path, result: str, more: Any) -> None:
    assert said(path, planned(result, **more)) == [SHOWN, YES]


@pytest.mark.parametrize(
    "more",
    [
        {"toolUseResult": outcome(), "permissionDecision": {"decision": "accept", "source": "config"}},
        {"toolUseResult": outcome(), "permissionDecision": {"decision": "accept", "source": "hook"}},
        {"toolUseResult": outcome(isAgent=True)},
        {"toolUseResult": outcome(awaitingLeaderApproval=True)},
        {"toolUseResult": outcome(), "isSidechain": True},
        {"toolUseResult": outcome(), "isMeta": True},
    ],
)
def test_a_plan_that_nobody_looked_at_was_approved_by_nobody(path: Path, more: Any) -> None:
    assert said(path, planned(APPROVED + PLAN, **more)) == [SHOWN]


def test_another_tools_output_approves_nothing(path: Path) -> None:
    session = Transcript()
    session.tool("Bash", {"command": "cat x"}, APPROVED + PLAN, toolUseResult=outcome())
    session.tool("Bash", {"command": "cat x"}, REFUSED_BARE, is_error=True)
    session.tool("Bash", {}, "x", toolUseResult={"questions": [{"question": "a"}], "answers": {"a": "b"}})
    assert said(path, session) == []


@pytest.mark.parametrize("marked", [True, False])
def test_what_a_person_changed_in_a_plan_is_theirs(path: Path, marked: bool) -> None:
    edited = PLAN.replace("for one release", "for two releases") + "\n3. Tell the users"
    result = (EDITED_HEADING if marked else APPROVED) + edited
    more = {"planWasEdited": True} if marked else {}
    assert said(path, planned(result, toolUseResult=outcome(edited, **more))) == [
        SHOWN,
        (
            "answer",
            "[approved the plan, changed by them]\n- 2. Keep the old name for one release\n"
            "+ 2. Keep the old name for two releases\n+ 3. Tell the users",
        ),
    ]


def test_a_plan_that_was_not_shown_before_is_shown_with_its_approval(path: Path) -> None:
    assert said(path, planned(APPROVED + PLAN, {"allowedPrompts": []})) == [SHOWN, YES]


@pytest.mark.parametrize("more", [{}, {"toolUseResult": outcome()}])
def test_an_approval_of_a_tool_that_nobody_saw_used_is_nobodys(path: Path, more: Any) -> None:
    session = Transcript()
    session.add(tool_result(APPROVED + PLAN, **more))
    assert said(path, session) == []


@pytest.mark.parametrize("folder", ["/home/dev/.claude", "/srv/claude-settings", "C:\\claude"])
def test_a_plan_file_is_followed_for_clients_that_do_not_repeat_it(path: Path, folder: str) -> None:
    session = Transcript()
    file = f"{folder}/plans/a-b-c.md"
    session.tool("Write", {"file_path": file, "content": PLAN.replace("lib/", "src/")})
    session.tool("Edit", {"file_path": file, "old_string": "src/", "new_string": "lib/"})
    session.tool(PLAN_TOOL, {}, REFUSED_SAID + "not yet", is_error=True)
    assert said(path, session) == [SHOWN, ("refusal", "not yet")]
    session.tool(PLAN_TOOL, {}, APPROVED + PLAN + "\n3. More", toolUseResult=outcome(PLAN + "\n3. More"))
    # What the file held is only what was seen of it, so the difference need not be the person's.
    assert said(path, session)[2:] == [SHOWN, ("prose", PLAN + "\n3. More"), YES]


@pytest.mark.parametrize(
    ("result", "more", "expected"),
    [
        (REFUSED_SAID + "call it homebrew-tab", {}, "call it homebrew-tab"),
        (REFUSED_BARE, {"userFeedback": "call it homebrew-tab"}, "call it homebrew-tab"),
        (REFUSED_BARE, {"toolDenialKind": "user-rejected"}, "[refused the plan]"),
        (REFUSED_BARE, {}, "[refused the plan, unless it was taken up afterwards]"),
        (REFUSED_BARE, {"toolDenialKind": "interrupted"}, None),
        (REFUSED_BARE, {"toolDenialKind": "permission-rule"}, None),
        (REFUSED_BARE + " Correction to the text above: this call was stopped while running, not", {}, None),
        ("No plan file found", {}, None),
    ],
)
def test_what_is_said_to_a_plan_that_is_not_approved(
    path: Path, result: str, more: Any, expected: str | None
) -> None:
    refused = [] if expected is None else [("refusal", expected)]
    assert said(path, planned(result, is_error=True, **more)) == [SHOWN, *refused]


@pytest.mark.parametrize(
    ("more", "after", "expected"),
    [
        ({"planContent": PLAN}, "", [SHOWN, YES]),
        ({"planContent": PLAN, "origin": {"kind": "auto-continuation"}}, "", [SHOWN, YES]),
        ({"planContent": PLAN, "origin": {"kind": "auto-continuation"}, "isMeta": True}, "", [SHOWN, YES]),
        (
            {"planContent": PLAN},
            "\n\nIf you need specific details from before exiting plan mode (like exact code), read the full"
            " transcript at: /x.jsonl\n\nUser feedback on this plan: but name it tab",
            [SHOWN, ("answer", "[approved the plan]\nbut name it tab")],
        ),
        ({}, "\n\nUser feedback on this plan: go", [SHOWN, ("answer", "[approved the plan]\ngo")]),
        ({"isSidechain": True}, "", []),
        ({"origin": {"kind": "human"}}, "", [("typed", f"Implement the following plan:\n\n{PLAN}")]),
    ],
)
def test_a_plan_taken_up_in_a_new_session_was_approved(
    path: Path, more: Any, after: str, expected: list[tuple[str, str]]
) -> None:
    session = Transcript()
    session.user(f"Implement the following plan:\n\n{PLAN}{after}", **more)
    found = [(entry.speaker, entry.channel, entry.text) for entry in read(session.write(path)).entries]
    assert [(channel, text) for speaker, channel, text in found if speaker] == expected
    assert [speaker for speaker, channel, _ in found if channel == "prose"] == ["assistant"] * (
        ("prose", PLAN) in expected
    )


@pytest.mark.parametrize("changed", ["", "\n3. Tell the users"])
def test_a_plan_taken_up_in_the_same_file_is_not_shown_twice(path: Path, changed: str) -> None:
    session = planned(REFUSED_BARE, is_error=True)
    session.user(f"Implement the following plan:\n\n{PLAN}{changed}", planContent=PLAN + changed)
    again = [("prose", PLAN + changed)] if changed else []
    assert said(path, session)[2:] == [*again, YES]


def test_an_open_dialog_is_known_to_the_next_reading(path: Path) -> None:
    session = planned(REFUSED_BARE, is_error=True, toolDenialKind="user-rejected")
    whole = session.records
    session.records = whole[:1]
    first = read(session.write(path))
    assert [entry.text for entry in first.entries] == [PLAN]
    assert first.cursor.dialogs and first.cursor.working
    session.records = whole
    second = read(session.write(path), Cursor.from_json(first.cursor.to_json()))
    assert [entry.text for entry in second.entries] == ["[refused the plan]"]
    assert (second.cursor.dialogs, second.cursor.working) == ("", False)


@pytest.mark.parametrize("dialogs", ["1+2", "99999+10", "x", "0+999999999", "0+5,0+5"])
def test_a_damaged_list_of_dialogs_costs_nothing(path: Path, dialogs: str) -> None:
    session = Transcript()
    session.user("one")
    first = read(session.write(path))
    assert [entry.text for entry in first.entries] == ["one"]
    damaged = Cursor.from_json(first.cursor.to_json().replace('"dialogs":""', f'"dialogs":"{dialogs}"'))
    session.user("two")
    assert [entry.text for entry in read(session.write(path), damaged).entries] == ["two"]
    assert damaged != START


def test_a_tool_that_runs_is_told_from_one_that_ended(path: Path) -> None:
    def working(*records: Any) -> bool:
        session = Transcript()
        for record in records:
            session.add(record)
        reading = read(session.write(path))
        list(reading.entries)
        return reading.cursor.working

    run = assistant([tool_use("Bash", {"command": "make"})])
    assert working(run)
    assert not working(run, tool_result("done"))
    assert not working(run, user("what now?"))
    assert working(run, {"type": "system", "subtype": "informational"})


CLARIFY = REFUSED_SAID + (
    "The user wants to clarify these questions.\n    This means they may have additional information, context"
    " or questions for you.\n    Take their response into account and then reformulate the questions if"
    " appropriate.\n    Start by asking them what they would like to clarify.\n\n    Questions asked:\n"
)
FORM = {
    "questions": [
        {"question": "Which database?", "options": [{"label": "SQLite", "description": "one file"}]},
        {"question": "Which parts?", "multiSelect": True, "options": [{"label": "API"}, {"label": "UI"}]},
    ]
}


def test_a_form_says_where_several_may_be_chosen(path: Path) -> None:
    session = Transcript()
    session.assistant([tool_use("AskUserQuestion", FORM)])
    assert said(path, session) == [
        ("prose", "Which database?\n- SQLite: one file\nWhich parts? (several may be chosen)\n- API\n- UI")
    ]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ('- "Which database?"\n  (No answer provided)', None),
        ("- x", None),
        ('- "Which database?"\n  Answer: DuckDB', "Q: Which database?\nA: DuckDB"),
        (
            '- "Which database?"\n  Answer: DuckDB, because\n  it is fast\n- "Which parts?"\n'
            "  Answer: API, UI\n  User notes: UI last",
            "Q: Which database?\nA: DuckDB, because\n  it is fast\n"
            "Q: Which parts?\nA: API, UI\nNote: UI last",
        ),
        (
            '- "Which database?"\n  (No answer provided)\n  User notes: none of these',
            "Q: Which database?\nNote: none of these",
        ),
    ],
)
def test_words_typed_into_a_form_that_ends_in_talking_about_it(
    path: Path, typed: str, expected: str | None
) -> None:
    session = Transcript()
    session.tool("AskUserQuestion", FORM, CLARIFY + typed, is_error=True)
    assert said(path, session)[1:] == ([("answer", expected)] if expected else [])


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            {"answers": {"Which database?": "something of my own"}},
            "Q: Which database?\nA: something of my own",
        ),
        ({"answers": {"Which parts?": ["API", "UI"]}}, "Q: Which parts?\nA: API, UI"),
        ({"answers": {"Which parts?": "API, UI"}}, "Q: Which parts?\nA: API, UI"),
        ({"answers": {"Which database?": 5}}, "Q: Which database?\nA: 5"),
        (
            {
                "answers": {"Which database?": "(notes only)"},
                "annotations": {"Which database?": {"notes": "not yet", "preview": "x"}},
            },
            "Q: Which database?\nNote: not yet",
        ),
        (
            {"answers": {}, "annotations": {"Which parts?": {"notes": "none"}}},
            "Q: Which parts?\nNote: none",
        ),
        ({"answers": {}, "response": "let us talk first"}, "let us talk first"),
        (
            {"answers": {"Which database?": "SQLite"}, "followUp": True, "response": "ask about size"},
            "Q: Which database?\nA: SQLite\nask about size\n[wants further questions first]",
        ),
        (
            {"answers": {"Which database?": "SQLite"}, "afkTimeoutMs": 60000},
            "[left this open; chosen until then:]\nQ: Which database?\nA: SQLite",
        ),
        ({"answers": {}, "afkTimeoutMs": 60000}, None),
    ],
)
def test_answers_in_a_form(path: Path, result: Any, expected: str | None) -> None:
    session = Transcript()
    session.tool(
        "AskUserQuestion", FORM, "Your questions have been answered", toolUseResult={**FORM, **result}
    )
    assert said(path, session)[1:] == ([("answer", expected)] if expected else [])
