"""From a pydantic type to the JSON schema a model is given, and from its text back to a value.

Reading is forgiving about the wrapping (code fences, chatter around the object, a missing or misspelt
outer key) and strict about the content: what can't be told apart from "no answer" is an error, never an
empty value.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from pipeline.core.errors import InvalidReplyError
from pipeline.llm.reply_values import reply_values
from pipeline.llm.request import T
from pipeline.safety.redaction import redact

_MAY_LACK = "x-may-lack"
_DROPPED = frozenset({"title", "default", "discriminator", "examples", _MAY_LACK})
_UNSUPPORTED = frozenset(
    {"minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"multipleOf", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties"}
)
MAY_LACK: dict[str, Any] = {_MAY_LACK: True}
"""Extra of a field with a default: a reply may leave it out. The subset takes at most 24 of them."""
_SHOWN_ERRORS = 5
_AGAIN = "Answer again with the whole JSON value, mended, and nothing else."


@lru_cache
def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return `model`'s JSON schema in the subset that strict structured output takes; nobody changes it.

    Objects are closed and every field of theirs is asked for, also one that has a default, unless it is
    marked `MAY_LACK`. Limits the subset lacks are told in the description instead, and still checked when
    the reply is read. Titles and defaults, which say nothing to a model, are left out.
    """
    strict = _strict(model.model_json_schema())
    assert isinstance(strict, dict)
    return strict


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    result: dict[str, Any] = {}
    limits = []
    for key, value in node.items():
        if key in ("properties", "$defs"):
            result[key] = {name: _strict(part) for name, part in value.items()}
        elif key in ("enum", "const", "required"):
            result[key] = value
        elif key in _UNSUPPORTED and not (key == "minItems" and value <= 1):
            limits.append(f"{key} {value}")
        elif key not in _DROPPED:
            result["anyOf" if key == "oneOf" else key] = _strict(value)
    if limits:
        result["description"] = f"{result.get('description', '')} ({', '.join(limits)})".strip()
    if result.get("type") == "object":
        result["additionalProperties"] = False
        given = node.get("properties", {})
        result.setdefault("properties", {})
        result["required"] = [name for name in given if not given[name].get(_MAY_LACK)]
    return result


def parse(text: str, schema: type[T]) -> T:
    """Return the value of type `schema` that the reply `text` holds.

    Accepted besides the plain object: the object inside a code fence or amid prose, of several the last
    that fits; the bare list or a single item for the schema's first list field, where the reply holds
    nothing else; one item where that list belongs; keys that differ only in case. Raises
    InvalidReplyError, whose text and ``fix`` are fit to be sent back to the model.
    """
    error: InvalidReplyError | None = None
    for value, alone in reply_values(text):
        try:
            return schema.model_validate(_shape(value, schema, alone=alone))
        except ValidationError as caught:
            error = error or _invalid(_summary(caught))
        except InvalidReplyError as caught:
            error = error or caught
    if error is None:
        error = _invalid("it holds no JSON value" if text.strip() else "it is empty")
    raise error


def _shape(value: Any, schema: type[BaseModel], *, alone: bool) -> dict[str, Any]:
    """Return `value` as the object `schema` expects, or raise InvalidReplyError.

    Unless `alone`, a value without its wrapping may be a part of another one, cut or broken, whose rest
    would be lost unseen.
    """
    listed = _list_field(schema)
    if isinstance(value, list) and listed is not None and alone:
        if not all(isinstance(item, dict) for item in value):
            raise _invalid("it is a list of something other than objects")
        return {listed: value}
    if not isinstance(value, dict):
        raise _invalid(f"it is {_kind(value)}, not an object")
    known = _known_case(value, set(_names(schema)))
    if listed is None:
        return known
    if alone and listed not in known and _is_item(value, schema, listed):
        return {listed: [value]}
    if not known.keys() & set(_names(schema)):
        raise _invalid(
            f"it has no key {listed!r} but {redact(', '.join(sorted(value)[:5])).text or 'none at all'}"
        )
    if isinstance(known.get(listed), dict):
        known[listed] = [known[listed]]
    return known


def _names(schema: type[BaseModel]) -> Iterator[str]:
    for name, field in schema.model_fields.items():
        yield field.alias or name


def _known_case(value: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Return `value` with keys that differ from one of `names` only in case spelt as there."""
    folded = {name.casefold(): name for name in names}
    result = {}
    for key, item in value.items():
        right = folded.get(key.strip().casefold(), key)
        result[key if right in value else right] = item
    return result


def _list_field(schema: type[BaseModel]) -> str | None:
    for name, field in schema.model_fields.items():
        if get_origin(_bare(field.annotation)) in (list, tuple):
            return field.alias or name
    return None


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def _is_item(value: dict[str, Any], schema: type[BaseModel], listed: str) -> bool:
    """Whether `value` is one item of the list field `listed` that lost its wrapping.

    When the item's type is no model, an object with two or more texts counts as one.
    """
    field = next(f for name, f in schema.model_fields.items() if (f.alias or name) == listed)
    inner = [_bare(part) for part in get_args(_bare(field.annotation))]
    if inner and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
        names = set(_names(inner[0]))
        needed = {f.alias or n for n, f in inner[0].model_fields.items() if f.is_required()}
        keys = _known_case(value, names).keys()
        return needed <= keys and len(keys & names) >= min(2, len(names))
    return sum(isinstance(part, str) for part in value.values()) >= 2


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "a list" if isinstance(value, list) else "a single value"


def _invalid(reason: str) -> InvalidReplyError:
    return InvalidReplyError(f"The reply does not fit the schema: {reason}.", fix=_AGAIN)


def _summary(error: ValidationError) -> str:
    """Return the first few faults as ``place: what``, without the values, which may be private."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    shown = [
        f"{'.'.join(map(str, fault['loc'])) or 'value'}: {fault['msg']}" for fault in faults[:_SHOWN_ERRORS]
    ]
    more = len(faults) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")
