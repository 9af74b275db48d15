"""Regular expressions that are made at their first use: the dear ones of which most processes need none."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "subn", "split", "pattern", "flags")


class _Late:
    """Stands for a pattern until it is asked for anything; then has all that the pattern has."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._made_from = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = re.compile(*self._made_from)
        # From now on found without this detour: some are asked for each line of a transcript.
        self.__dict__.update({method: getattr(made, method) for method in _METHODS})
        return getattr(made, name)


def late(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what ``re.compile`` does, made when it is first asked."""
    return cast("re.Pattern[str]", _Late(pattern, flags))
