"""Formats that are one JSON file with a list of memories: read item by item, each with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pipeline.core.errors import InputError, StoreError, cause
from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Plain, Reading, Written, require
from pipeline.hooklib.plain import is_well_formed, well_formed
from pipeline.store.files.frontmatter_schema import plain
from pipeline.store.files.layout import read_regular

MOST_JSON = 500_000_000
_BLANK = re.compile(r"[ \t\r\n]*")
_JSON = json.JSONDecoder(parse_constant=lambda _: None)
"""Some writers put NaN where JSON has nothing: it is read as nothing, since it equals not even itself."""
_LONG_NUMBER = re.compile(r"\d{4300}")


def held_json(path: Path, seen: Reading) -> str:
    """Return the text of the JSON file at `path`, noted in `seen`; InputError where it can't be read."""
    require(path, folder=False)
    try:
        data = read_regular(path, MOST_JSON)[0]
        text = data.decode("utf-8-sig")
    except (OSError, StoreError) as error:
        raise InputError(cause(error), file=str(path), fix="Nothing was written.") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8", file=str(path), line=line, fix="Save it as UTF-8.") from error
    seen.files[path] = data
    return text


def parsed(text: str, path: Path) -> Any:
    """Return what JSON `text` holds; InputError with the line where it is none."""
    line = 1
    try:
        return _JSON.decode(text)
    except json.JSONDecodeError as error:
        why: Exception = error
        what, line = f"this is no JSON: {error.msg}", error.lineno
    except RecursionError as error:
        what, why = "nested too deep", error
    except ValueError as error:
        found = _LONG_NUMBER.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else 1
        what, why = "a number in it is too long", error
    raise InputError(what, file=str(path), line=line, fix="Export it anew. Nothing was written.") from why


def items(text: str, keys: Collection[str]) -> Iterator[tuple[int, Any]]:
    """Yield line and value of each item of the list that JSON `text` is, or has under one of `keys`."""
    at = _blank(text, 0)
    if text[at] == "[":
        yield from _of_list(text, at)
        return
    at = _blank(text, at + 1)
    while text[at] != "}":
        key, at = _JSON.raw_decode(text, at)
        at = _blank(text, _blank(text, at) + 1)
        if key in keys and text[at] == "[":
            yield from _of_list(text, at)
        _, at = _JSON.raw_decode(text, at)
        at = _blank(text, at)
        at = _blank(text, at + 1) if text[at] == "," else at


def _of_list(text: str, at: int) -> Iterator[tuple[int, Any]]:
    line, counted = 1, 0
    at = _blank(text, at + 1)
    while text[at] != "]":
        line += text.count("\n", counted, at)
        counted = at
        value, at = _JSON.raw_decode(text, at)
        yield line, value
        at = _blank(text, at)
        at = _blank(text, at + 1) if text[at] == "," else at


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def as_bytes(value: Any, *, indent: int) -> bytes:
    """Return `value` as a JSON file; what is no text in UTF-8, such as half a surrogate, as its escape."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if not is_well_formed(text):
        text = json.dumps(value, indent=indent)
    return (text + "\n").encode()


class JsonItems(Plain):
    """A JSON file: a list of items, or a table with such a list under one of `lists`."""

    name: str = ""
    about: str = ""
    lists: ClassVar[tuple[str, ...]] = ()

    def decoded(self, item: dict[str, Any]) -> Memory | str:
        """Return the memory in `item`, or why it is none."""
        raise NotImplementedError

    def encoded(self, memory: Memory, base: dict[str, Any] | None) -> dict[str, Any]:
        """Return the item of `memory`: a new one, or `base` with what differs replaced."""
        raise NotImplementedError

    def key_of(self, item: dict[str, Any]) -> str:
        """Return by what `item` is known."""
        raise NotImplementedError

    def around(self, held: Any, found: list[dict[str, Any]]) -> Any:
        """Return the whole file with the list `found`; `held` is what it was, None for a new one."""
        raise NotImplementedError

    def read(self, path: Path) -> Reading:
        """Return what stands in the file at `path`."""
        seen = Reading()
        text = held_json(path, seen)
        seen.rest = parsed(text, path)
        if not isinstance(seen.rest, list) and not self._list_of(seen.rest):
            raise InputError(
                f"there is no list {' or '.join(self.lists)} in it",
                file=str(path),
                line=1,
                fix=f"It is not a file of {self.name}. Nothing was written.",
            )
        keys: set[str] = set()
        for line, item in items(text, self.lists):
            memory = self._read(item)
            if isinstance(memory, str):
                seen.fault(path.name, line, memory)
                continue
            key = well_formed(self.key_of(item))
            if key in keys:
                seen.fault(path.name, line, f"another item has its id {key}; the first counts", unread=False)
                continue
            keys.add(key)
            seen.records.append(Carried(memory, key, path.name, line, item))
        return seen

    def _read(self, item: Any) -> Memory | str:
        if not isinstance(item, dict):
            return "it is no object"
        try:
            return self.decoded(plain(item))
        except ValueError as error:
            return str(error)

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        back = self._read(json.loads(json.dumps(self.encoded(memory, None))))
        return back if isinstance(back, Memory) else Memory(name="", description="", type="", body="")

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan the file with `records` in it; items that are none of them stay where they are."""
        changed = {record.key: record for record in records if record.key}
        known = {record.key: record.raw for record in seen.records}
        found: list[Any] = []
        keys: dict[int, str] = {}
        for item in self._list_of(seen.rest):
            key = well_formed(self.key_of(item)) if isinstance(item, dict) else ""
            if key not in known or known[key] != item:
                found.append(item)
            elif key in changed:
                found.append(self.encoded(changed[key].memory, plain(item)))
                keys[id(changed[key])] = self.key_of(found[-1])
            elif key not in gone:
                found.append(item)
        for record in records:
            if not record.key:
                found.append(self.encoded(record.memory, None))
                keys[id(record)] = self.key_of(found[-1])
        whole = self.around(seen.rest, found)
        return Written({path: as_bytes(whole, indent=2)}, [keys[id(record)] for record in records])

    def _list_of(self, held: Any) -> list[Any]:
        if isinstance(held, list):
            return held
        found = (
            next((held[key] for key in self.lists if isinstance(held.get(key), list)), None)
            if isinstance(held, dict)
            else None
        )
        return found if isinstance(found, list) else []
