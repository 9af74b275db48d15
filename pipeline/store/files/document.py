"""One memory file: bytes to Memory and back. The only module of the store that imports frontmatter.

The fence is a line of exactly three dashes; the library's own pattern takes longer rules too and strips
the body, so splitting is done here and the library reads and writes the YAML between the fences.
A rewrite touches only the lines of the keys that changed: byte order mark, line ends, comments, key order,
unknown keys and an unchanged body stay as they are, byte for byte. Files that a person or another program
edited are never rewritten at all (`Store.put` refuses them).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from pipeline.core.clock import iso
from pipeline.core.errors import DocumentError
from pipeline.domain.memory import Memory
from pipeline.hooklib.jsonish import BOM
from pipeline.hooklib.memory_format import split_front_matter
from pipeline.hooklib.plain import well_formed
from pipeline.store.files.frontmatter_schema import KNOWN, MAX_DEPTH, plain, to_memory

_HANDLER = YAMLHandler()
_BASE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LINE_BREAKS = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")
_MENDING = "Quote the value, or remove the line; the file is left as it is until then."
_MAX_FRONT = 200_000


class _Loader(_BASE_LOADER):  # type: ignore[misc]
    """YAML with values as they are written: no guessed times, no yes/no as booleans, and words as words."""

    def construct_document(self, node: Any) -> Any:
        """Return the value of the whole text, whose root is `node`."""
        below = [value for key, value in _pairs(node) if key == "metadata"]
        for mapping in (node, *below):
            for key, value in _pairs(mapping):
                if key in _WORDED:
                    _read_as_words(value, key in _NEVER_NULL)
        return super().construct_document(node)


# What is read, and what a memory is looked up by: 10:00 is not 600 there, nor 012 ten, nor `null` nothing.
_NEVER_NULL = frozenset({"name", "description"})
_WORDED = _NEVER_NULL | {"id", "title", "type", "origin", "tags", "aliases", "anchors", "cues"}
_NULL = "tag:yaml.org,2002:null"
_GUESSED = ("timestamp", "bool", "merge", "value")


def _pairs(node: Any) -> list[tuple[str, Any]]:
    """Return the keys and values of a mapping node; none of another one."""
    return [(key.value, value) for key, value in node.value] if isinstance(node, yaml.MappingNode) else []


def _read_as_words(node: Any, even_null: bool) -> None:
    """Let the plain values of `node` and of its items be the text that stands there.

    An empty value stays nothing, and so does a null that is no item, unless `even_null`.
    """
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if isinstance(item, yaml.ScalarNode):
                _read_as_words(item, True)
    elif isinstance(node, yaml.ScalarNode) and node.value and (even_null or node.tag != _NULL):
        node.tag = "tag:yaml.org,2002:str"


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag.rpartition(":")[2] not in _GUESSED]
    for first, rules in _BASE_LOADER.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


class _Dumper(_BASE_DUMPER):  # type: ignore[misc]
    """One line per key, with short lists and maps on the key's own line."""

    def represent(self, data: Any) -> None:
        """Write `data`, whose outermost mapping always has one line per key."""
        node = self.represent_data(data)
        node.flow_style = False
        self.serialize(node)

    def represent_str(self, data: str) -> Any:
        """Return the node of a text, quoted where it begins or ends in blanks.

        YAML writes a no-break space plain, and the handler strips what it exports: the value would be gone.
        """
        return self.represent_scalar(
            "tag:yaml.org,2002:str", data, style='"' if data != data.strip() else None
        )


_Dumper.add_representer(str, _Dumper.represent_str)


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


def split(raw: bytes, path: str = "") -> Parts:
    """Cut a file at its fences. Raises DocumentError when it is not UTF-8."""
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
    """Return the mapping that YAML text `front` holds, or None when it is no mapping but plain text.

    Raises DocumentError with file and line for YAML that can't be read, for aliases, which let a few lines
    stand for gigabytes, and for what is nested beyond `MAX_DEPTH`, at which old parsers end the process.
    """
    try:
        if len(front) > _MAX_FRONT:
            raise yaml.YAMLError("front matter over 200,000 characters")
        if ("&" in front and "*" in front) or sum(map(front.count, "[{-?")) > MAX_DEPTH:
            _check_events(front)
        data = _HANDLER.load(front, Loader=_Loader)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        problem_mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        line = problem_mark.line + 2 if problem_mark else 1
        raise DocumentError(f"front matter: {problem}", file=path, line=line, fix=_MENDING) from error
    if data is None:
        return {}
    return data if isinstance(data, dict) else None


def _check_events(front: str) -> None:
    """Raise YAMLError for aliases and for what is nested too deep, before any of it is built.

    Block mappings need a deeper line for each level, so only brackets, dashes and question marks nest far.
    """
    depth = 0
    for event in yaml.parse(front, Loader=_BASE_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError("YAML aliases are not read")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep")


def parse(raw: bytes, path: str) -> Memory:
    """Return the memory in file bytes `raw`; `path` is relative to the store.

    Raises DocumentError with file and line when it can't be read.
    """
    return load(raw, path)[0]


def load(raw: bytes, path: str) -> tuple[Memory, dict[str, Any]]:
    """Return the memory and its front matter as JSON can hold it; see `parse`."""
    parts = split(raw, path)
    data = None if parts.front is None else read_front(parts.front, path)
    # No fence, or two rules around prose: the whole text is the body.
    body = raw.decode("utf-8").removeprefix(BOM) if data is None else parts.body
    try:
        front = plain(data or {})
        return to_memory(data or {}, body, path), front
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # One file with a value nobody thought of must not cost the others.
        raise DocumentError(f"front matter: {error}", file=path, line=1, fix=_MENDING) from error


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
        "created": iso(memory.created) if memory.created else "",
        "updated": iso(memory.updated) if memory.updated else "",
        "origin": memory.origin,
        "sources": [_source(source.model_dump()) for source in memory.sources],
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
    front = _dump({str(key): value for key, value in front_of(memory).items()})
    body = memory.body if not memory.body or memory.body.endswith("\n") else memory.body + "\n"
    return Parts("", "---\n", front, "---\n", well_formed(body)).join()


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


def _dump(data: dict[str, Any]) -> str:
    text = _HANDLER.export(
        _cleaned(data), Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=1_000_000
    )
    return str(text) + "\n"


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value


def _rewrite(memory: Memory, parts: Parts, data: dict[str, Any]) -> bytes:
    """Return the file with the keys that differ replaced in place; see the module's docstring."""
    before = to_memory(data, parts.body, memory.path)
    old, new = front_of(before), front_of(memory)
    if "type" not in data and memory.type == before.type:
        # The class alone tells the type of such a file, and who said it does not change what it is.
        new["metadata"] = {**new["metadata"], "type": old["metadata"]["type"]}
    nested = data.get("metadata")
    below: dict[str, Any] = nested if isinstance(nested, dict) else {}
    changed: dict[str, Any] = {}
    for key in old.keys() | new.keys():
        # Compared as JSON has them: a memory that comes from _index.json holds them so.
        if plain(old.get(key)) != plain(new.get(key)):
            changed[key] = new.get(key)
    moved = {key: changed.pop(key) for key in list(changed) if key in below and key not in data}
    if moved or "metadata" in changed:
        changed["metadata"] = {**below, **new["metadata"], **moved}
    ordered = {key: changed[key] for key in [*new, *old] if key in changed}
    front = _replace_keys(parts.front or "", ordered, parts.newline)
    body = parts.body
    # An empty line before the text is no part of it: a text that stays, stays byte for byte.
    if memory.body.strip("\n") != before.body.strip("\n"):
        body = well_formed(memory.body if memory.body.endswith("\n") else memory.body + "\n")
        if parts.newline == "\r\n":
            body = body.replace("\r\n", "\n").replace("\n", "\r\n")
    return replace(parts, front=front, body=body).join()


def _replace_keys(front: str, changed: dict[str, Any], newline: str) -> str:
    """Replace the lines of each key in `changed` (None removes it); new keys go to the end."""
    if not changed:
        return front
    node: Any = yaml.compose(front, Loader=_Loader)
    lines = front.splitlines(keepends=True)
    if node is not None and node.flow_style:
        whole = {**(read_front(front) or {}), **changed}
        return _dump({key: value for key, value in whole.items() if value is not None})
    pairs = node.value if node is not None else []
    starts = [key.start_mark.line for key, _ in pairs] + [len(lines)]
    left = dict(changed)
    out = lines[: starts[0]]
    for (key, _), start, end in zip(pairs, starts, starts[1:], strict=False):
        if key.value not in changed:
            out += lines[start:end]
            continue
        value = left.pop(key.value, None)
        if value is not None:
            out.append(_dump({key.value: value}).replace("\n", newline))
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
            end -= 1
        out += lines[end : starts[starts.index(start) + 1]]
    rest = {key: value for key, value in left.items() if value is not None}
    if rest:
        out.append(_dump(rest).replace("\n", newline))
    return "".join(out)
