"""Lists, tags and numbers that somebody gives of a memory, as they are written."""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import normalize

from pipeline.core.errors import InputError, UsageError
from pipeline.domain.memory import OF_PROCEDURES

MOST_TAGS = 20
_MOST_TAG = 50
_MOST_LINES = 50
_MOST_LINE = 1_000


def lists_of(given: dict[str, object]) -> dict[str, object]:
    """Return the lists that are `given`, each item on one line and once."""
    found: dict[str, object] = {}
    for key in (*OF_PROCEDURES, "blockers", "anchors"):
        value = given.get(key)
        if isinstance(value, list | tuple):
            lines = [" ".join(normalize("NFC", str(item)).split()) for item in value]
            lines = [line for line in lines if line]
            if len(lines) > _MOST_LINES or any(len(line) > _MOST_LINE for line in lines):
                raise InputError(
                    f"there is too much in {key}",
                    fix=f"At most {_MOST_LINES} of {_MOST_LINE:,} characters each.",
                )
            found[key] = tuple(lines if key == "steps" else dict.fromkeys(lines))
    tags = given.get("tags")
    return {**found, "tags": tags_of(map(str, tags))} if isinstance(tags, list | tuple) else found


def tags_of(tags: Iterable[str]) -> tuple[str, ...]:
    """Return `tags` as they are written; InputError for what is none, and for too many."""
    found = tuple(
        dict.fromkeys("-".join(normalize("NFC", tag).lower().split()) for tag in tags if tag.strip())
    )
    odd = next((tag for tag in found if "," in tag or len(tag) > _MOST_TAG), "")
    if odd or len(found) > MOST_TAGS:
        raise InputError(
            f"{odd!r} is no tag" if odd else "there are too many tags",
            fix=f"At most {MOST_TAGS} of {_MOST_TAG} characters, without commas; give it once for each.",
        )
    return found


def shares_of(given: dict[str, object]) -> dict[str, object]:
    """Return the numbers that are `given`; UsageError for one that is none from 0 to 1."""
    found: dict[str, object] = {}
    for key in ("importance", "confidence"):
        value = given.get(key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise UsageError(f"{key} is a number from 0 to 1, not {value!r}", fix="Such as 0.8.")
        found[key] = float(value)
    return found
