"""One line of a session's recall file, made into rows whatever stands in it.

A hook writes these lines, but a crash, another version or anybody else may have left something different:
what can be understood is kept, and the rest is told of.
"""

from __future__ import annotations

from typing import Any

from pipeline.hooklib import jsonish
from pipeline.hooklib.plain import well_formed
from pipeline.ledger.recalls import BadLine, Item, Line
from pipeline.safety.redaction import redact

MOST_ITEMS = 100
_KINDS = ("sent", "start", "reset")
_BAD_CHARS = 500
_NAME_CHARS = 200
_PATH_CHARS = 4096
_WHY = 50
_MOST = 2**53
_DAY = 86_400.0


def parse(raw: bytes, place: int, now: float) -> tuple[Line | None, list[BadLine]]:
    """Return the line that `raw` holds, None when it is none of ours, and what in it is wrong.

    A time that can't be true (none, or ahead of `now` by over a day) counts as `now`.
    """
    try:
        value = jsonish.loads(raw.decode("utf-8", "replace"))
    except ValueError as error:
        return None, [bad(place, f"no JSON: {error}", raw)]
    if not isinstance(value, dict):
        return None, [bad(place, "no object", raw)]
    kind = value.get("k")
    if kind not in _KINDS:
        return None, [bad(place, "of a kind this Reverie does not know", raw)]
    given = value.get("items", [])
    given = given if isinstance(given, list) else [None]
    store = _text(value.get("store"), _PATH_CHARS)
    items = tuple(_item(item, store) for item in given[:MOST_ITEMS] if isinstance(item, dict))
    wrong = []
    if len(items) < len(given):
        left = len(given) - len(items)
        wrong.append(bad(place, f"{left} of its {len(given)} memories can't be understood", raw))
    at = _number(value.get("at"))
    line = Line(
        place=place,
        kind=kind,
        at=at if 0 < at < now + _DAY else now,
        hook=_hook(kind, _text(value.get("hook"), _NAME_CHARS), _text(value.get("source"), _NAME_CHARS)),
        cwd=_text(value.get("cwd"), _PATH_CHARS),
        store=store,
        chars=_count(value.get("chars")),
        tokens=_count(value.get("tokens")) or -(-_count(value.get("chars")) // 4),
        left_out=_count(value.get("left_out")),
        prompt=_text(value.get("prompt"), 16),
        items=items,
    )
    return line, wrong


def _hook(kind: str, hook: str, source: str) -> str:
    """Return what a line came from: a reset's cause, else the event, as in ``SessionStart:resume``."""
    if kind == "reset":
        return source
    if kind == "start":
        return ":".join(filter(None, (hook or "SessionStart", source)))
    return hook


def bad(place: int, reason: str, raw: bytes) -> BadLine:
    """Return the note that `raw`, at `place`, can't be understood; secrets are taken out of its text."""
    return BadLine(place, reason, redact(_text(raw.decode("utf-8", "replace").strip(), _BAD_CHARS)).text)


def _item(value: dict[str, Any], store: str) -> Item:
    why = value.get("why")
    words = why if isinstance(why, list) else [why]
    chars = _count(value.get("chars"))
    return Item(
        memory=_text(value.get("id"), _NAME_CHARS),
        name=_text(value.get("name"), _NAME_CHARS),
        path=_text(value.get("path"), _PATH_CHARS),
        store=_text(value.get("store"), _PATH_CHARS) or store,
        digest=_text(value.get("digest"), _NAME_CHARS),
        score=_number(value.get("score")),
        # The words are a person's own, out of a prompt.
        why=tuple(redact(_text(word, _NAME_CHARS)).text for word in words[:_WHY] if _text(word, _NAME_CHARS)),
        chars=chars,
        tokens=-(-chars // 4),
    )


def _text(value: object, most: int) -> str:
    """Return `value` if it is text, bounded, and fit to be kept: no zero, no lone surrogate."""
    if not isinstance(value, str):
        return ""
    return well_formed(value[:most]).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _count(value: object) -> int:
    number = _number(value)
    return int(number) if 0 <= number < _MOST else 0


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if -_MOST < number < _MOST else 0.0
