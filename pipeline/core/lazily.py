"""A package whose names come from its modules at their first use: who needs one of them loads no other."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any


def exports(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of `package`; `homes` has module → the names it gives, parted by spaces.

    ``shown=name`` gives what the module calls ``name``. The package imports the same under ``TYPE_CHECKING``.
    """
    places: dict[str, tuple[str, str]] = {}
    for module, names in homes.items():
        for word in names.split():
            shown, _, name = word.partition("=")
            places[shown] = (f"{package}.{module}", name or shown)

    def found(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, own = places[name]
        __import__(module)
        value = getattr(sys.modules[module], own)
        setattr(sys.modules[package], name, value)
        return value

    return found
