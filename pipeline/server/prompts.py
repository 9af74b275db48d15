"""The prompts a person can choose in their client: to remember something, and to review what is kept."""

from __future__ import annotations

from typing import Any

from pipeline.server.jsonrpc import INVALID_PARAMS, ProtocolError

_FACT, _ABOUT = "fact", "about"
LISTED: list[dict[str, Any]] = [
    {
        "name": "remember",
        "title": "Remember this",
        "description": "Keep a fact, or what was settled in this session.",
        "arguments": [{"name": _FACT, "description": "The fact; left out: what was settled here."}],
    },
    {
        "name": "review",
        "title": "Review memories",
        "description": "Look through what is remembered, and settle what is doubtful.",
        "arguments": [{"name": _ABOUT, "description": "What it should be about; left out: all."}],
    },
]
_TAKES = {"remember": _FACT, "review": _ABOUT}
_MOST = 2_000


def filled(name: object, arguments: object) -> dict[str, Any]:
    """Return the messages of the prompt `name`. Raises ProtocolError for what it does not take."""
    if not isinstance(name, str) or name not in _TAKES:
        raise ProtocolError(INVALID_PARAMS, f"there is no prompt {name!a}; there are: {', '.join(_TAKES)}")
    given = {} if arguments is None else arguments
    takes = _TAKES[name]
    if not isinstance(given, dict) or not given.keys() <= {takes}:
        raise ProtocolError(INVALID_PARAMS, f"the prompt {name} takes {takes} and nothing else")
    value = given.get(takes, "")
    if not isinstance(value, str) or len(value) > _MOST:
        raise ProtocolError(INVALID_PARAMS, f"{takes} is a text of at most {_MOST:,} characters")
    text = _remember(value.strip()) if name == "remember" else _review(value.strip())
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


def _remember(fact: str) -> str:
    if fact:
        return f"Remember this with the tool remember, citing my words: {fact}"
    return (
        "Look through this session for what was settled and will matter later. Recall first what is kept"
        " already. Then remember each new fact on its own, citing me where I said it, and tell me what you"
        " kept."
    )


def _review(about: str) -> str:
    return (
        f"Recall what is remembered about {about or 'this project'}. Show it to me with who said it and when."
        " Name what contradicts something else or may be out of date, and ask me before anything is forgotten"
        " or written anew."
    )
