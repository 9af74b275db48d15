"""JSON through the C parts of the standard library, without the ``json`` package, which costs a hook 9 ms.

Where an interpreter lacks ``_json``, the package does the work: slower, with the same results.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BLANK = " \t\n\r"
BOM = "\ufeff"
MOST_EXACT = 2**53
"""Whole numbers below it survive every reader of JSON, also one that has floats alone."""


class _Rules:
    """What the C scanner asks for: how numbers and objects are made."""

    strict = False
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float  # NaN, Infinity and -Infinity, which no standard knows and many write


class _StrictRules(_Rules):
    strict = True


def loads(text: str, *, strict: bool = False) -> "Any":
    """Return the value that `text` holds, and nothing beside it. Raises ValueError for anything else.

    Control characters inside strings are let through unless `strict`. Nesting too deep for the interpreter
    is a ValueError as well.
    """
    start = len(text) - len(text.lstrip(_BLANK))
    try:
        value, end = _scanner(strict)(text, start)
    except StopIteration as error:
        raise ValueError(f"no JSON at character {error.value}") from None
    except RecursionError:
        raise ValueError("nested too deep") from None
    except SystemError:
        # The scanner of Python 3.11 raises the json package's own error, which is not loaded.
        raise ValueError("no JSON") from None
    if text[end:].strip(_BLANK):
        raise ValueError(f"more than one value: character {end}")
    return value


def decode(raw: bytes) -> str:
    """Return the text of JSON bytes: UTF-8, or UTF-16 or UTF-32 as their zeros show. Raises ValueError."""
    if b"\0" in raw[:4] or raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        import json

        return raw.decode(json.detect_encoding(raw), "surrogatepass").removeprefix(BOM)
    return raw.decode("utf-8", "surrogatepass").removeprefix(BOM)


def dumps(value: "Any") -> str:
    """Return `value` as compact JSON in ASCII.

    Takes str, int, float, bool, None, lists, tuples, and dicts with str keys. Raises ValueError for a
    float that is no number, TypeError for other types.
    """
    if isinstance(value, str):
        return _quoted()(value)
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise ValueError(f"{value} has no JSON")
        return float.__repr__(value)
    if isinstance(value, list | tuple):
        return "[" + ",".join([dumps(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([f"{_key(key)}:{dumps(item)}" for key, item in value.items()]) + "}"
    raise TypeError(f"{type(value).__name__} has no JSON")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{type(key).__name__} is no key")
    return _quoted()(key)


def _scanner(strict: bool) -> "Callable[[str, int], tuple[Any, int]]":
    found = _scanners.get(strict)
    if found is None:
        found = _scanners[strict] = _new_scanner(strict)
    return found


def _new_scanner(strict: bool) -> "Callable[[str, int], tuple[Any, int]]":
    try:
        import _json
    except ImportError:
        import json

        whole = json.JSONDecoder(strict=strict)
        return whole.scan_once  # type: ignore[attr-defined,no-any-return]
    rules: Any = _StrictRules if strict else _Rules
    return _json.make_scanner(rules)


def _quoted() -> "Callable[[str], str]":
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii


_scanners: "dict[bool, Callable[[str, int], tuple[Any, int]]]" = {}
