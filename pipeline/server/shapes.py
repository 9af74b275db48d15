"""The shapes of arguments and answers as JSON Schema, made and checked: as much of it as the tools need."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
_KINDS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def text(about: str = "", *, most: int = 0, least: int = 0, choices: Sequence[str] = ()) -> Schema:
    """Return the schema of a text."""
    limits = {"maxLength": most or None, "minLength": least or None, "enum": list(choices) or None}
    return _about("string", about, limits)


def whole(about: str = "", *, least: int = 0, most: int | None = None, default: int | None = None) -> Schema:
    """Return the schema of a whole number."""
    return _about("integer", about, {"minimum": least, "maximum": most, "default": default})


def share(about: str = "", *, default: float | None = None) -> Schema:
    """Return the schema of a number from 0 to 1."""
    return _about("number", about, {"minimum": 0, "maximum": 1, "default": default})


def flag(about: str = "", *, default: bool | None = None) -> Schema:
    """Return the schema of a yes or no."""
    return _about("boolean", about, {"default": default})


def many(of: Schema, about: str = "", *, most: int | None = None) -> Schema:
    """Return the schema of a list."""
    return _about("array", about, {"items": of, "maxItems": most})


def fields(required: Sequence[str] = (), **properties: Schema) -> Schema:
    """Return the schema of an object with these fields and no others."""
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def answer(**properties: Schema) -> Schema:
    """Return the schema of an answer: all fields are there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def or_none(of: Schema) -> Schema:
    """Return the schema of a value that may be missing: null."""
    return {**of, "type": [of["type"], "null"]}


def _about(kind: str, about: str, more: Mapping[str, Any]) -> Schema:
    found = {"type": kind, "description": about or None, **more}
    return {key: value for key, value in found.items() if value is not None}


def with_whole_numbers(value: Any, schema: Schema) -> Any:
    """Return `value` with each whole number as one, where it was written 5.0: JSON knows no difference."""
    kind = schema["type"]
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == "array" and isinstance(value, list):
        return [with_whole_numbers(part, schema["items"]) for part in value]
    if kind == "object" and isinstance(value, dict):
        known = schema["properties"]
        return {
            name: with_whole_numbers(part, known[name]) if name in known else part
            for name, part in value.items()
        }
    return value


LARGEST = 2**53 - 1
"""The largest whole number that every reader of JSON holds exactly; beyond it no database need be asked."""


def faults(value: Any, schema: Schema, name: str = "arguments") -> Iterator[str]:
    """Yield what is wrong with `value`, called `name`, in words that say what it should be."""
    kind = schema["type"]
    fits = isinstance(value, _KINDS[kind]) and (kind == "boolean" or not isinstance(value, bool))
    if not fits:
        yield f"{name} is {_WORDS[kind]}"
    elif kind == "object":
        yield from _faults_of_fields(value, schema)
    elif kind == "array":
        yield from _faults_of_list(value, schema, name)
    elif kind == "string":
        yield from _faults_of_text(value, schema, name)
    elif kind in ("integer", "number"):
        low, high = schema.get("minimum", -LARGEST), schema.get("maximum", LARGEST)
        if not low <= value <= high:
            yield f"{name} is {_WORDS[kind]} {_range(schema, value)}"


def _faults_of_fields(value: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    known = schema["properties"]
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{name} is needed"
    for name, part in value.items():
        if name in known:
            yield from faults(part, known[name], name)
        else:
            yield f"there is no argument {name!a} (there are: {', '.join(known) or 'none'})"


def _faults_of_list(value: Sequence[Any], schema: Schema, name: str) -> Iterator[str]:
    if len(value) > schema.get("maxItems", len(value)):
        yield f"{name} has at most {schema['maxItems']} entries"
        return
    for number, part in enumerate(value, start=1):
        yield from faults(part, schema["items"], f"{name}, entry {number},")


def _faults_of_text(value: str, schema: Schema, name: str) -> Iterator[str]:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        yield f"{name} holds half a character (a lone surrogate)"
        return
    if "\0" in value:
        yield f"{name} holds a NUL"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{name} is one of {', '.join(schema['enum'])}"
    if len(value) > schema.get("maxLength", len(value)):
        yield f"{name} has at most {schema['maxLength']:,} characters"
    if len(value.strip()) < schema.get("minLength", 0):
        yield f"{name} is empty" if not value.strip() else f"{name} is too short"


def _range(schema: Schema, value: float) -> str:
    low, high = schema.get("minimum", -LARGEST), schema.get("maximum")
    if high is None and value >= low:
        high = LARGEST
    return f"from {low} to {high}" if high is not None else f"of at least {low}"
