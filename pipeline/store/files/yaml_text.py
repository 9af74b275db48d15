"""Front matter as YAML text: the whole parser for what `hooklib.yaml_lines` is not sure of, and the writer.

The only module of the store that imports frontmatter. Both parsers read the same values: numbers are those
that every generation of YAML reads so, times and yes or no stay words, and so does all that is a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml
from frontmatter.default_handlers import YAMLHandler

from pipeline.hooklib.plain import well_formed
from pipeline.hooklib.yaml_lines import DECIMAL, INTEGER, MAX_DEPTH, NEVER_NULL, WORDED, UnreadableError

_HANDLER = YAMLHandler()
_BASE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MOST_VALUES = 20_000
"""Values of one file, those that an alias repeats counted each time: a few lines may stand for gigabytes."""
_TAG = "tag:yaml.org,2002:"
_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_NULL = _TAG + "null"
_LEFT = ("timestamp", "bool", "merge", "value", "int", "float")


class _Loader(_BASE_LOADER):  # type: ignore[misc]
    """YAML with values as they are written: no guessed times, no yes/no as booleans, and words as words."""

    def construct_document(self, node: Any) -> Any:
        """Return the value of the whole text, whose root is `node`."""
        _count(node)
        below = [value for key, value in _pairs(node) if key == "metadata"]
        for mapping in (node, *below):
            for key, value in _pairs(mapping):
                if key in WORDED:
                    _read_as_words(value, key in NEVER_NULL)
        return super().construct_document(node)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag.rpartition(":")[2] not in _LEFT]
    for first, rules in _BASE_LOADER.yaml_implicit_resolvers.items()
}
for _name, _pattern, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", INTEGER, "-+0123456789"),
    ("float", DECIMAL, "-+0123456789"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), list(_first))


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
        return self.represent_scalar(_TAG + "str", data, style='"' if data != data.strip() else None)


_Dumper.add_representer(str, _Dumper.represent_str)


class _InlineDumper(_BASE_DUMPER):  # type: ignore[misc]
    """All on one line."""

    def represent_str(self, data: str) -> Any:
        """Return the node of a text, in quotes where lines or blanks would be lost."""
        odd = data != data.strip() or _BREAK.search(data) is not None
        return self.represent_scalar(_TAG + "str", data, style='"' if odd else None)


_InlineDumper.add_representer(str, _InlineDumper.represent_str)


def parse(front: str) -> dict[str, Any] | None:
    """Return the mapping that YAML text `front` holds, or None when it is no mapping but plain text.

    Raises UnreadableError for YAML that can't be read, for aliases that repeat too much, and for what is
    nested beyond `MAX_DEPTH`, at which old parsers end the process.
    """
    try:
        if sum(map(front.count, "[{-?")) > MAX_DEPTH:
            _check_depth(front)
        data = _HANDLER.load(front, Loader=_Loader)
    except UnreadableError:
        raise
    except (yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError) as error:
        problem_mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise UnreadableError(problem, problem_mark.line + 1 if problem_mark else 0) from error
    if data is None:
        return {}
    return data if isinstance(data, dict) else None


def events(front: str) -> Iterator[Any]:
    """Return what a parser meets in YAML text `front`, in order, each with its place."""
    return iter(yaml.parse(front, Loader=_BASE_LOADER))


def inline(value: Any) -> str:
    """Return `value` as YAML on one line that may stand anywhere, between brackets too."""
    text = yaml.dump(
        [_cleaned(value)],
        Dumper=_InlineDumper,
        default_flow_style=True,
        sort_keys=False,
        width=1_000_000,
        allow_unicode=True,
    )
    return str(text).strip("\n")[1:-1]


def dump(data: Any) -> str:
    """Return `data`, a mapping or a list, as YAML with a line for each key or item."""
    text = _HANDLER.export(
        _cleaned(data), Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=1_000_000
    )
    return str(text) + "\n"


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
        node.tag = _TAG + "str"


def _check_depth(front: str) -> None:
    """Raise UnreadableError for what is nested too deep, before any of it is built.

    Block mappings need a deeper line for each level, so only brackets, dashes and question marks nest far.
    """
    depth = 0
    for event in yaml.parse(front, Loader=_BASE_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested more than {MAX_DEPTH} deep", final=True)


def _count(root: Any) -> None:
    """Raise UnreadableError where aliases repeat too many values, or one holds itself."""
    sizes: dict[int, int] = {}

    def size(node: Any) -> int:
        known = sizes.get(id(node))
        if known is not None:
            if known < 0:
                raise UnreadableError("an alias that holds itself", final=True)
            return known
        sizes[id(node)] = -1
        if isinstance(node, yaml.MappingNode):
            total = 1 + sum(size(key) + size(value) for key, value in node.value)
        else:
            total = 1 + (sum(map(size, node.value)) if isinstance(node, yaml.SequenceNode) else 0)
        sizes[id(node)] = total
        return total

    if size(root) > _MOST_VALUES:
        raise UnreadableError(f"more than {_MOST_VALUES:,} values", final=True)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value
