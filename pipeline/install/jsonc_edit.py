"""A member of an object in JSON with comments, put in or taken out; every other character stays as it was.

Comments and commas behind the last value are blanked out for the parser, so that each position in the rest is
that of the person's own text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.hooklib.jsonish import BOM
from pipeline.install import json_edit
from pipeline.install.json_edit import Item


def value_of(text: str) -> Any:
    """Return what `text` says, {} where it says nothing. Raises BadJsonError."""
    plain = masked(text)
    return json_edit.parse(plain) if plain.strip() else {}


def member_of(text: str, outer: str, key: str) -> Any:
    """Return what stands as `key` of the object `outer` in `text`, None where nothing does.

    Raises BadJsonError, also for other shapes.
    """
    held = _objects(text, outer)[1] if masked(text).strip() else None
    return None if held is None else value_of(text)[outer].get(key)


def with_member(text: str, outer: str, key: str, value: Any) -> str:
    """Return `text` with `value` as `key` of the object `outer` in it; BadJsonError for other shapes.

    Numbers in `value` are text.
    """
    new = _with_member(text, outer, key, value)
    before = value_of(text)
    if value_of(new) != {**before, outer: {**before.get(outer, {}), key: value}}:
        raise json_edit.BadJsonError(f"{outer}.{key} can't be changed for you in the form it has", 1, 1)
    return new


def _with_member(text: str, outer: str, key: str, value: Any) -> str:
    if not masked(text).strip():
        return text + _fresh(text, outer, key, value)
    root, held = _objects(text, outer)
    if held is None:
        return _put(text, root, {key: value}, outer)
    known = json_edit.member(masked(text), held.value, key)
    if known is None:
        return _put(text, held.value, value, key)
    return _replaced(text, known, value)


def with_values(text: str, outer: str, key: str, values: Mapping[str, Any]) -> str:
    """Return `text` with `values` in the object `key` of `outer`, which it has: what else is there stays."""
    for name, value in values.items():
        plain, held = masked(text), _objects(text, outer)[1]
        inner = json_edit.member(plain, held.value, key) if held else None
        if inner is None:
            return text
        known = json_edit.member(plain, inner.value, name)
        text = _replaced(text, known, value) if known else _put(text, inner.value, value, name)
    return text


def without_member(text: str, outer: str, key: str, *, keep_outer: bool) -> str:
    """Return `text` without `key` of the object `outer`, which goes too where it is empty then.

    Unless it shall stay: `keep_outer`.
    """
    _, held = _objects(text, outer) if masked(text).strip() else (0, None)
    known = json_edit.member(masked(text), held.value, key) if held else None
    if held is None or known is None:
        return text
    if len(json_edit.items(masked(text), held.value)) == 1 and not keep_outer:
        return _cut(text, json_edit.first(masked(text)), held)
    return _cut(text, held.value, known)


def masked(text: str) -> str:
    """Return `text` with blanks in place of comments and of commas that nothing follows."""
    found, at, comma = list(text), 0, -1
    if text.startswith(BOM):
        found[0], at = " ", 1
    while at < len(text):
        end = _end_of(text, at)
        if text[at : at + 2] in ("//", "/*"):
            _require_closed(text, at, end)
            found[at:end] = ["\n" if char == "\n" else " " for char in text[at:end]]
        elif text[at] in "]}" and comma >= 0:
            found[comma] = " "
        if text[at : at + 2] not in ("//", "/*") and not text[at].isspace():
            comma = at if text[at] == "," else -1
        at = end
    return "".join(found)


def _require_closed(text: str, at: int, end: int) -> None:
    if text.startswith("/*", at) and not (text.endswith("*/", at + 2, end)):
        raise json_edit.BadJsonError("a comment begins that does not end", json_edit.line_of(text, at), 1)


def _end_of(text: str, at: int) -> int:
    """Return where the comment, the string or the character that begins at `at` ends."""
    if text.startswith("//", at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text.startswith("/*", at):
        end = text.find("*/", at + 2)
        return len(text) if end < 0 else end + 2
    if text[at] != '"':
        return at + 1
    end = at + 1
    while end < len(text) and text[end] != '"':
        end += 2 if text[end] == "\\" else 1
    return min(end + 1, len(text))


def _objects(text: str, outer: str) -> tuple[int, Item | None]:
    """Return where the root object begins, and the object `outer` in it. Raises BadJsonError."""
    plain = masked(text)
    if not isinstance(json_edit.parse(plain), dict):
        raise json_edit.BadJsonError("is no JSON object", 1, 1)
    root = json_edit.first(plain)
    held = json_edit.member(plain, root, outer)
    if held is not None and plain[held.value] != "{":
        line = json_edit.line_of(plain, held.value)
        raise json_edit.BadJsonError(f"{outer!r} must hold an object", line, 1)
    return root, held


def _put(text: str, start: int, value: Any, key: str) -> str:
    """Return `text` with the new member, made in the masked text and carried over.

    Behind other members on lines of their own it comes after the comment that stands behind the last one,
    with a comma at its end where that has one.
    """
    plain = masked(text)
    held = json_edit.items(plain, start)
    new = json_edit.put_in(plain, start, value, key=key)
    if held and "\n" in plain[start : held[-1].start]:
        last = held[-1].end
        member = new[last + 1 : len(new) - (len(plain) - last)]
        comma = _comma_follows(text, last)
        text = text if comma else f"{text[:last]},{text[last:]}"
        at = _behind_comments(text, text.index(",", last) + 1)
        return f"{text[:at]}{member}{',' if comma else ''}{text[at:]}"
    head = _common(plain, new)
    tail = _common(plain[head:][::-1], new[head:][::-1])
    middle, gone = new[head : len(new) - tail], text[head : len(text) - tail]
    # What is blank for the parser may be a comment in an empty object: it stays before what comes.
    return text[:head] + (gone if gone.strip() else "") + middle + text[len(text) - tail :]


def _behind_comments(text: str, at: int) -> int:
    """Return where the comments end that stand behind `at` on its line."""
    end = at
    while at < len(text) and text[at] in " \t/":
        at = _end_of(text, at)
        end = at if text[at - 1] not in " \t" else end
    return end - (text[end - 1 : end] == "\r")


def _common(one_text: str, other: str) -> int:
    pairs = zip(one_text, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one_text), len(other)))


def _replaced(text: str, known: Item, value: Any) -> str:
    new = json_edit.put_in_place(masked(text), known, value)
    tail = len(text) - known.end
    return text[: known.value] + new[known.value : len(new) - tail] + text[known.end :]


def _cut(text: str, start: int, item: Item) -> str:
    """Return `text` without `item` of the object at `start`, its line and one comma with it."""
    plain, begin, end = masked(text), item.start, item.end
    held = json_edit.items(plain, start)
    number = next(at for at, known in enumerate(held) if known.start == item.start)
    if number + 1 < len(held) or _comma_follows(text, end):
        end = text.index(",", end) + 1
    elif number:
        before = plain.index(",", held[number - 1].end)
        text, begin, end = text[:before] + text[before + 1 :], begin - 1, end - 1
        begin = begin if text[before:begin].strip() else before
    line = text.rfind("\n", 0, begin)
    if line >= 0 and not text[line:begin].strip() and text[end : _line_end(text, end)].strip() == "":
        begin = line - (text[line - 1 : line] == "\r")
    return text[:begin] + text[end:]


def _comma_follows(text: str, at: int) -> bool:
    """Whether a comma stands behind the last value, as JSON with comments allows."""
    while at < len(text) and (text[at].isspace() or text[at : at + 2] in ("//", "/*")):
        at = _end_of(text, at)
    return text[at : at + 1] == ","


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _fresh(text: str, outer: str, key: str, value: Any) -> str:
    """Return an object to stand behind `text`, which says nothing: on a line of its own, as of a comment."""
    newline = "\r\n" if "\r\n" in text else "\n"
    apart = newline if text.rpartition("\n")[2].strip(f"{BOM} \t") else ""
    return apart + json_edit.put_in("{}\n", 0, {key: value}, key=outer).replace("\n", newline)
