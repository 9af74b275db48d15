"""Field types for what a model returns: one odd value becomes a plain one and never costs the whole reply."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [_text(item) for item in value] if isinstance(value, list) else []


def _items(value: Any) -> Any:
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list):
        return value
    return [item for item in value if isinstance(item, (dict, BaseModel))]


def _spare_items(value: Any) -> Any:
    given = _items(value)
    return given if isinstance(given, list) else []


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
ITEMS = BeforeValidator(_items)
"""For a list of objects: a lone object is a list of one, and what is no object is left out."""
SPARE_ITEMS = BeforeValidator(_spare_items)
"""The same for a list that a reply may lack: what is no list is an empty one."""
