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
from pipeline.hooklib.yaml_lines import MAX_DEPTH, UnreadableError
from pipeline.hooklib.yaml_words import DECIMAL, INTEGER, NEVER_NULL, WORDED

_HANDLER = YAMLHandler()
_BASE_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BASE_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MOST_VALUES = 20_000
"""Values of one file that aliases repeat, each counted each time: a few lines may stand for gigabytes."""
ODD_VALUES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What is raised for a value that does not fit its tag, such as ``!!timestamp x``."""
_UNPRINTED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML allows in no text: control characters but those of lines, and halves of pairs."""
_PARSERS_OWN_LIMIT = "exceeded maximum nesting depth"
_TAG = "tag:yaml.org,2002:"
_BREAK = re.compile("[\n\r\x85\u2028\u2029]")
_NULL = _TAG + "null"
_LEFT = ("timestamp", "bool", "merge", "value", "int", "float")


class _Loader(_BASE_LOADER):  # type: ignore[misc]
    """YAML with values as they are written: no guessed times, no yes/no as booleans, and words as words."""

    def construct_document(self, node: Any) -> Any:
        """Return the value of the whole text, whose root is `node`."""
        _check_aliases(node)
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


for _name, _constructor in (
    # As words, tables and lists, which is all that JSON has and a memory is made of.
    ("timestamp", _Loader.construct_yaml_str),
    ("binary", _Loader.construct_yaml_str),
    ("set", _Loader.construct_yaml_map),
    ("omap", _Loader.construct_yaml_seq),
    ("pairs", _Loader.construct_yaml_seq),
):
    _Loader.add_constructor(_TAG + _name, _constructor)


class Quoted(str):
    """A text that is written in double quotes; a list of such, a key's, has a line for each."""

    __slots__ = ()


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


def _in_quotes(dumper: Any, data: Quoted) -> Any:
    return dumper.represent_scalar(_TAG + "str", str(data), style='"')


_Dumper.add_representer(str, _Dumper.represent_str)
_Dumper.add_representer(Quoted, _in_quotes)


class _InlineDumper(_BASE_DUMPER):  # type: ignore[misc]
    """All on one line."""

    def represent_str(self, data: str) -> Any:
        """Return the node of a text, in quotes where lines or blanks would be lost."""
        odd = data != data.strip() or _BREAK.search(data) is not None
        return self.represent_scalar(_TAG + "str", data, style='"' if odd else None)


_InlineDumper.add_representer(str, _InlineDumper.represent_str)
_InlineDumper.add_representer(Quoted, _in_quotes)


def parse(front: str) -> dict[str, Any] | None:
    """Return the mapping that YAML text `front` holds, or None when it is no mapping but plain text.

    Raises UnreadableError for YAML that can't be read, for aliases that repeat too much, and for what is
    nested beyond `MAX_DEPTH`, at which old parsers end the process.
    """
    try:
        # Each level needs a sign of its own, or a line that is further in.
        if sum(map(front.count, "[{-?\n")) > MAX_DEPTH:
            _check_depth(front)
        data = _HANDLER.load(front, Loader=_Loader)
    except UnreadableError:
        raise
    except (*ODD_VALUES, yaml.YAMLError, RecursionError) as error:
        raise _in_words(error, front) from error
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
    if isinstance(data, dict) and any(map(_are_quoted, data.values())):
        return "".join([_lines(key, value) for key, value in data.items()])
    text = _HANDLER.export(
        _cleaned(data), Dumper=_Dumper, default_flow_style=None, sort_keys=False, width=1_000_000
    )
    return str(text) + "\n"


def _lines(key: str, value: Any) -> str:
    if not _are_quoted(value):
        return dump({key: value})
    return f"{inline(key)}:\n" + "".join(f"  - {inline(item)}\n" for item in value)


def _are_quoted(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Quoted) for item in value)


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


def _in_words(error: Exception, front: str) -> UnreadableError:
    """Return what is wrong with `front`, of which the parser says `error`, and on which line."""
    if isinstance(error, yaml.reader.ReaderError):
        found = _UNPRINTED.search(front)
        line = front.count("\n", 0, found.start()) + 1 if found else 0
        return UnreadableError("a control character", line, final=True, fix="Take it out")
    at = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
    if str(getattr(error, "context", None) or "").startswith("while scanning"):
        # What was begun and never ended: the parser's own mark is where it gave up.
        at = getattr(error, "context_mark", None) or at
    line = at.line + 1 if at else 0
    if _PARSERS_OWN_LIMIT in problem:
        return _too_deep(line, final=False)  # In quotes, brackets that never close are a text.
    fix = "Write two backslashes for one, or single quotes around the text" if "escape" in problem else ""
    return UnreadableError(problem, line, fix=fix)


def _too_deep(line: int, *, final: bool = True) -> UnreadableError:
    message = f"nested more than {MAX_DEPTH} deep"
    return UnreadableError(message, line, final=final, fix="Nest what stands there less deep")


def _check_depth(front: str) -> None:
    """Raise UnreadableError for what is nested too deep, before any of it is built."""
    depth = 0
    event: Any
    for event in yaml.parse(front, Loader=_BASE_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _too_deep(event.start_mark.line + 1)


def _check_aliases(root: Any) -> None:
    """Raise UnreadableError where aliases repeat too many values or nest too deep, or one holds itself.

    Also for a key that is no word: nothing can be looked up by it.
    """
    sizes: dict[int, tuple[Any, int, int]] = {}

    def measure(node: Any) -> tuple[int, int]:
        """Return how many values `node` stands for, and how deep they are nested."""
        known = sizes.get(id(node))
        if known is not None:
            if known[1] < 0:
                fix = "Write out what is meant, without an alias to what it stands in"
                raise UnreadableError("an alias that holds itself", _line(node), final=True, fix=fix)
            return known[1:]
        sizes[id(node)] = node, -1, 0
        total, depth = 1, 0
        for part in _parts(node):
            inner, below = measure(part)
            total, depth = total + inner, max(depth, below)
        depth += not isinstance(node, yaml.ScalarNode)
        if depth > MAX_DEPTH:
            raise _too_deep(_line(node))
        sizes[id(node)] = node, total, depth
        return total, depth

    total, _ = measure(root)
    if total - len(sizes) > _MOST_VALUES:
        # The smallest that is too large by itself is where it grows.
        large = [(size, node) for node, size, _ in sizes.values() if size > _MOST_VALUES]
        _, node = min(large, key=lambda item: item[0])
        message = f"aliases that stand for more than {_MOST_VALUES:,} values"
        raise UnreadableError(
            message, _line(node), final=True, fix="Write out what is meant, without aliases"
        )


def _parts(node: Any) -> list[Any]:
    """Return the values in `node`, its keys included. Raises UnreadableError for a key that is no word."""
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if not isinstance(node, yaml.MappingNode):
        return []
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise UnreadableError(
                "a key that is a list or a table", _line(key), fix="Write the key as a word"
            )
    return [part for pair in node.value for part in pair]


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return type(value)(well_formed(value))
    if isinstance(value, dict):
        return {_cleaned(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(item) for item in value]
    return value
