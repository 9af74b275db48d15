"""One memory file: bytes to Memory and back.

What a file may look like stands in ``docs/memory-files.md``. A rewrite touches only what changed: byte order
mark, line ends, comments, key order, unknown keys and an unchanged body stay as they are, byte for byte
(`rewriting`). Files that a person or another program edited are never rewritten at all (`Store.put` refuses
them).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import orjson

from pipeline.core.clock import iso
from pipeline.core.errors import DocumentError, KeptAsItIsError, UnsettledError
from pipeline.domain.memory import Memory
from pipeline.hooklib import front_matter
from pipeline.hooklib.jsonish import BOM
from pipeline.hooklib.memory_format import conflicts, decoded, split_front_matter
from pipeline.hooklib.plain import lines_of, well_formed, whole_lines
from pipeline.hooklib.yaml_lines import UnreadableError
from pipeline.store.files import yaml_text
from pipeline.store.files.frontmatter_schema import KNOWN, plain, to_memory
from pipeline.store.files.layout import INDEX, OVERFLOW
from pipeline.store.files.rewriting import NotAloneError, rewrite

_REMEMBERED = 500
_SHORT = 8_000
"""Files of which the last are kept as they were read, and bytes of the longest."""
_LINE_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
_KEEP_ONE = "Keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>"
_SETTLING = f"{_KEEP_ONE}; until then it is not recalled."
_SETTLING_INDEX = f"{_KEEP_ONE}."
_MENDING = "Quote the value, or remove the line"
_UNTIL_THEN = "; the file is left as it is until then."


@dataclass(frozen=True, slots=True)
class Parts:
    """A file cut at its fences; joining the five texts gives the file again. `front` is None without any."""

    bom: str
    opening: str
    front: str | None
    closing: str
    body: str

    @property
    def newline(self) -> str:
        """Return the line end the file's first line has."""
        first = (self.opening or self.body).partition("\n")[0]
        return "\r\n" if first.endswith("\r") else "\n"

    def join(self) -> bytes:
        """Return the file's bytes."""
        return (self.bom + self.opening + (self.front or "") + self.closing + self.body).encode("utf-8")


def is_utf8(raw: bytes) -> bool:
    """Whether a file's bytes are UTF-8, so that `split` can cut it to write it again."""
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def split(raw: bytes, path: str = "") -> Parts:
    """Cut a file at its fences, to write it again. Raises DocumentError when it is not UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise DocumentError("not UTF-8", file=path, line=line, fix="Save the file as UTF-8.") from error
    bom = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(BOM)
    front, body = split_front_matter(text)
    if front is None:
        return Parts(bom, "", None, "", text)
    opening = text[: text.index("\n") + 1]
    closing = text[len(opening) + len(front) : len(text) - len(body)]
    return Parts(bom, opening, front, closing, body)


def read_front(front: str, path: str = "") -> dict[str, Any] | None:
    """Return the mapping that front matter `front` holds, or None when it is no mapping but plain text.

    Raises DocumentError with file and line for what neither a YAML parser nor the client can read.
    """
    try:
        return front_matter.read(front, yaml_text.parse)
    except UnreadableError as error:
        message = f"front matter: {error}"
        fix = (error.fix or _MENDING) + _UNTIL_THEN
        raise DocumentError(message, file=path, line=error.line + 1, fix=fix) from error


def parse(raw: bytes, path: str) -> Memory:
    """Return the memory in file bytes `raw`; `path` is relative to the store.

    Raises DocumentError with file and line when it can't be read, UnsettledError for both sides of a merge.
    """
    return load(raw, path)[0]


def load(raw: bytes, path: str) -> tuple[Memory, dict[str, Any]]:
    """Return the memory and its front matter as JSON can hold it, which nobody changes; see `parse`."""
    # A change looks at the same files many times: before it, to compose it, and to say what came of it.
    return (_loaded if len(raw) <= _SHORT else _loaded.__wrapped__)(raw, path)


@lru_cache(_REMEMBERED)
def _loaded(raw: bytes, path: str) -> tuple[Memory, dict[str, Any]]:
    text = decoded(raw)
    _require_settled(text, path)
    front, below = split_front_matter(text)
    data = None if front is None else read_front(front, path)
    # No fence, or two rules around prose: the whole text is the body.
    body = text if data is None else below
    try:
        mirrored = _as_json_has_it(data or {})
        return to_memory(data or {}, body, path), mirrored
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # One file with a value nobody thought of must not cost the others.
        fix = _MENDING + _UNTIL_THEN
        raise DocumentError(f"front matter: {error}", file=path, line=1, fix=fix) from error


def _as_json_has_it(data: dict[str, Any]) -> dict[str, Any]:
    """Return `plain` of `data`, which is itself where JSON can hold all of it, as is the rule."""
    try:
        orjson.dumps(data, option=orjson.OPT_STRICT_INTEGER)
    except TypeError:
        return dict(plain(data))
    return data


def conflict_in_words(marks: Sequence[int]) -> str:
    """Return where the marks of a conflict stand (`memory_format.conflicts`), as a person counts lines."""
    return f"a merge left both sides of a conflict, from line {marks[0] + 1} to {marks[-1] + 1}"


def settling(path: str) -> str:
    """Return what to do about a conflict in the file at `path`, relative to the store."""
    return _SETTLING_INDEX if path in (INDEX, OVERFLOW) else _SETTLING


def _require_settled(text: str, path: str) -> None:
    """Raise UnsettledError for a file of which nobody can say what it says."""
    found = conflicts(lines_of(text)) if "<<<<<<< " in text else []
    if found:
        message = conflict_in_words(found[0])
        raise UnsettledError(message, file=path, line=found[0][0] + 1, fix=_SETTLING)


def body_of(raw: bytes, *, fenced: bool) -> str:
    """Return the body of a file whose front matter, if it is `fenced`, has keys."""
    text = decoded(raw)
    return split_front_matter(text)[1] if fenced else text


def front_of(memory: Memory) -> dict[str, Any]:
    """Return the front matter of `memory` in the order of DESIGN §5."""
    type_row = memory.type_row
    extra = dict(memory.extra)
    below = extra.pop("metadata", {})
    front: dict[str, Any] = {
        "name": memory.name,
        "description": without_line_breaks(memory.description),
        "type": memory.type,
        "metadata": {"type": memory.host_class, **(below if isinstance(below, dict) else {})},
        "id": memory.id,
        "title": without_line_breaks(memory.shown_title),
        "tags": list(memory.tags),
        "importance": round(memory.importance, 4),
        "confidence": round(memory.confidence, 4),
        **_of_work(memory),
        "created": iso(memory.created) if memory.created else "",
        "updated": iso(memory.updated) if memory.updated else "",
        "origin": memory.origin,
        "sources": [_source(source.as_values()) for source in memory.sources],
        "relations": [dict(relation) for relation in memory.relations],
        "anchors": list(memory.anchors),
        **({"aliases": list(memory.aliases)} if memory.aliases else {}),
        **({"replaces": [_filled(asdict(item)) for item in memory.replaces]} if memory.replaces else {}),
        **({"cues": list(memory.cues)} if memory.cues else {}),
        **({"pinned": True} if memory.pinned else {}),
        **{key: value for key, value in extra.items() if key not in KNOWN},
    }
    if not type_row.is_graph and memory.shown_title == replace(memory, title="").shown_title:
        del front["title"]
    return {key: value for key, value in front.items() if value != "" or key not in KNOWN}


def _of_work(memory: Memory) -> dict[str, Any]:
    """Return what `memory` has of a procedure and of a task: of most nothing, and then no key."""
    lists = {
        "steps": memory.steps,
        "preconditions": memory.preconditions,
        "postconditions": memory.postconditions,
        "blockers": memory.blockers,
    }
    found: dict[str, Any] = {
        key: [yaml_text.Quoted(without_line_breaks(text)) for text in texts] for key, texts in lists.items()
    }
    found["status"] = without_line_breaks(memory.status)
    found["completed_at"] = iso(memory.completed_at) if memory.completed_at else ""
    found["outcome"] = without_line_breaks(memory.outcome)
    return {key: value for key, value in found.items() if value}


def compose(memory: Memory, base: bytes | None = None) -> bytes:
    """Return the bytes of `memory`: new ones, or file `base` with only what differs replaced.

    A body without a final newline gets one. Half surrogate pairs become U+FFFD.
    """
    if base is not None:
        if parse(base, memory.path) == memory:
            return base
        parts = split(base, memory.path)
        data = None if parts.front is None else read_front(parts.front, memory.path)
        if data is not None:
            return _rewrite(memory, parts, data)
    front = yaml_text.dump({str(key): value for key, value in front_of(memory).items()})
    body = _written_body(memory.body) if memory.body else ""
    return Parts("", "---\n", front, "---\n", body).join()


def _written_body(body: str) -> str:
    """Return `body` as it is written: with a line end, and what looks like a merge's marks set in by a blank.

    A memory may tell of a conflict; its file then holds none.
    """
    text = well_formed(body if body.endswith("\n") else body + "\n")
    found = {line for marks in conflicts(lines_of(text)) for line in marks} if "<<<<<<< " in text else set()
    if not found:
        return text
    return "".join(" " * (number in found) + line for number, line in enumerate(whole_lines(text)))


def without_line_breaks(text: str) -> str:
    """Return `text` with every line break turned into a space."""
    return _LINE_BREAKS.sub(" ", text).strip()


def _source(values: dict[str, Any]) -> dict[str, Any]:
    """Drop what is at its default, to keep a source on one short line."""
    if values["at"] is None:
        del values["at"]
    if values["speaker"] == "person":
        del values["speaker"]
    values["bears"] = list(values["bears"])
    if not values["bears"]:
        del values["bears"]
    return values


def _filled(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _rewrite(memory: Memory, parts: Parts, data: dict[str, Any]) -> bytes:
    """Return the file with the keys that differ replaced in place; see the module's docstring."""
    before = to_memory(data, parts.body, memory.path)
    old, new = front_of(before), front_of(memory)
    if "type" not in data and memory.type == before.type:
        # The class alone tells the type of such a file, and who said it does not change what it is.
        new["metadata"] = {**new["metadata"], "type": old["metadata"]["type"]}
    wanted = _wanted(data, old, new, memory.path)
    try:
        front = rewrite(parts.front or "", data, wanted, parts.newline)
    except NotAloneError as error:
        raise KeptAsItIsError(
            f"its front matter can't be changed without touching other lines: {error}",
            file=memory.path,
            fix="Write each of its keys on a line of its own, or make the change yourself.",
        ) from error
    body = parts.body
    # An empty line before the text is no part of it: a text that stays, stays byte for byte.
    if memory.body.strip("\n") != before.body.strip("\n"):
        # Only where one stood: a blank line below the front matter is how most others write it.
        above = re.match(r"(?:[ \t]*\r?\n)*", parts.body)
        body = (above[0] if above else "") + _written_body(memory.body.lstrip("\r\n"))
        if parts.newline == "\r\n":
            body = body.replace("\r\n", "\n").replace("\n", "\r\n")
    return replace(parts, front=front, body=body).join()


def _wanted(data: dict[str, Any], old: dict[str, Any], new: dict[str, Any], path: str) -> dict[str, Any]:
    """Return front matter `data`, which means `old` (`front_of`), with what makes it mean `new`.

    A key below ``metadata`` stays there. What is not understood stays where it is.
    """
    wanted, nested = dict(data), data.get("metadata")
    below: dict[str, Any] = dict(nested) if isinstance(nested, dict) else {}
    for key in [*new, *(key for key in old if key not in new)]:
        value = new.get(key)
        # Compared as JSON has them: a memory that comes from _index.json holds them so.
        if key == "metadata" or plain(old.get(key)) == plain(value):
            continue
        if value is None:
            # A blank one at the top lets that below count: neither may stay.
            wanted.pop(key, None)
            below.pop(key, None)
            continue
        at = below if key in below and key not in data else wanted
        at[key] = _with_unread_items(key, at.get(key), old.get(key), value, path)
    was, is_now = old["metadata"], new["metadata"]
    for key in [*is_now, *(key for key in was if key not in is_now)]:
        if key not in is_now:
            below.pop(key, None)
        elif key not in was or plain(was[key]) != plain(is_now[key]):
            below[key] = is_now[key]
    if below != (nested or {}) and (nested is None or isinstance(nested, dict)):
        wanted["metadata"] = below
    return wanted


def _with_unread_items(key: str, raw: Any, old: Any, new: Any, path: str) -> Any:
    """Return the list `new` for `key` with its items as list `raw` has them, and those nobody could read.

    `old` is what was read of `raw`, so that an odd item (a source that cites nothing) is left out of it.
    """
    if not isinstance(raw, list) or not isinstance(new, list) or plain(raw) == plain(old):
        return new
    seen = [plain(front_of(to_memory({key: [item]}, "", path)).get(key) or []) for item in raw]
    left = list(range(len(raw)))
    placed: list[tuple[int | None, Any]] = []
    for item in new:
        at = next((number for number in left if seen[number] == [plain(item)]), None)
        if at is not None:
            left.remove(at)
        placed.append((at, item if at is None else raw[at]))
    for number, item in enumerate(raw):
        if not seen[number]:
            before = [order for order, (at, _) in enumerate(placed) if at is not None and at < number]
            placed.insert(before[-1] + 1 if before else 0, (number, item))
    return [item for _, item in placed]
