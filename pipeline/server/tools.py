"""The profiles, and the tools of each. To list them loads nothing of what carries them out."""

from collections.abc import Mapping, Sequence

from pipeline.server.cognitive_tools import COGNITIVE_TOOLS
from pipeline.server.lean_tools import LEAN_TOOLS
from pipeline.server.tool import Tool

LEAN, COGNITIVE, ALL = "lean", "cognitive", "all"
PROFILES = (LEAN, COGNITIVE, "agent-memory", "claudia", ALL)
LATER: Mapping[str, str] = {
    "agent-memory": "the tools over agent-memory's files come with a later version",
    "claudia": "the tools of Claudia's memory come with a later version",
}
"""Profiles that are named and have no tools yet, and why."""
_OF: Mapping[str, Sequence[Tool]] = {
    LEAN: LEAN_TOOLS,
    COGNITIVE: COGNITIVE_TOOLS,
    ALL: (*LEAN_TOOLS, *COGNITIVE_TOOLS),
}


def of_profile(profile: str) -> dict[str, Tool]:
    """Return the tools of `profile` by name, those that nothing backs yet among them."""
    return {tool.name: tool for tool in _OF[profile]}
