"""Claudia's folders of memories, and the types that stand in each of them here."""

from __future__ import annotations

from collections.abc import Mapping

DIARY = "episodes"
"""The diary: no memories, but a page for each day."""
TYPES_OF: Mapping[str, tuple[str, ...]] = {
    "projects": ("project", "task", "workflow", "configuration", "reference"),
    "relationships": ("user", "feedback"),
    "milestones": ("decision",),
    "insights": (
        *("insight", "solution", "fix", "problem", "error", "code_pattern", "procedure", "general"),
    ),
}
"""The first type of each is that of a memory which is written into it."""
CATEGORIES = (*TYPES_OF, DIARY)
_CATEGORY_OF = {kind: category for category, kinds in TYPES_OF.items() for kind in kinds}


def category_of(kind: str) -> str:
    """Return the category in which a memory of the type `kind` stands."""
    return _CATEGORY_OF.get(kind, "insights")


def parts_of(filepath: str) -> tuple[str, str]:
    """Return category ("" for none) and name that `filepath` means: ``projects/gateway.md``, ``gateway``.

    Whatever else it is, an absolute path or one that climbs, it is never followed: only its last part counts,
    and only as a name.
    """
    parts = [part for part in filepath.replace("\\", "/").split("/") if part]
    category = parts[-2] if len(parts) > 1 and parts[-2] in CATEGORIES else ""
    return category, parts[-1].removesuffix(".md") if parts else ""
