"""Does a model that sees only the tools' list pick one right? In `fixtures/tools` is what one answered."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.server.tools import of_profile

TOOLS = Path(__file__).resolve().parents[2] / "fixtures" / "tools"
REQUESTS = {row["id"]: row for row in json.loads((TOOLS / "requests.json").read_text("utf-8"))}
ANSWERS: dict[str, Any] = json.loads((TOOLS / "answers.json").read_text("utf-8"))["profiles"]
LEAST = 0.95


def fits(wanted: Any, given: Any) -> bool:
    """Whether an argument is what the request asks for; `has` and `one_of` leave the wording free."""
    if isinstance(wanted, dict) and "has" in wanted:
        return all(word.casefold() in str(given).casefold() for word in wanted["has"])
    if isinstance(wanted, dict) and "one_of" in wanted:
        return given in wanted["one_of"]
    if isinstance(wanted, list) and isinstance(given, list):
        return sorted(map(str, wanted)) == sorted(map(str, given))
    if isinstance(wanted, str) and isinstance(given, str):
        return wanted.casefold() == given.casefold()
    return bool(wanted == given)


def is_right(answer: dict[str, Any]) -> bool:
    request = REQUESTS[answer["id"]]
    given = answer["arguments"]
    return answer["tool"] == request["tool"] and all(
        fits(wanted, given.get(name)) for name, wanted in request["arguments"].items()
    )


@pytest.mark.parametrize("profile", ["lean", "cognitive"])
def test_the_answers_are_to_the_list_as_it_is(profile):
    """Whoever changes a name, a description or an argument lets a model answer the requests anew."""
    listed = [
        {key: tool.listed[key] for key in ("name", "description", "inputSchema")}
        for tool in of_profile(profile).values()
    ]
    digest = hashlib.sha256(json.dumps(listed, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
    assert ANSWERS[profile]["list"] == digest
    asked = {ident for ident, row in REQUESTS.items() if row["profile"] == profile}
    assert {answer["id"] for answer in ANSWERS[profile]["answers"]} == asked


def test_of_sixty_requests_nearly_all_get_the_right_tool_with_its_arguments():
    answers = [answer for profile in ANSWERS.values() for answer in profile["answers"]]
    assert len(answers) == len(REQUESTS) == 60
    assert all(answer["tool"] == REQUESTS[answer["id"]]["tool"] for answer in answers)
    assert sum(map(is_right, answers)) >= LEAST * len(answers)


def test_another_tool_or_argument_would_be_seen():
    right = next(answer for answer in ANSWERS["lean"]["answers"] if REQUESTS[answer["id"]]["arguments"])
    assert is_right(right)
    assert not is_right({**right, "tool": "forget" if right["tool"] != "forget" else "get"})
    assert not is_right({**right, "arguments": {}})
