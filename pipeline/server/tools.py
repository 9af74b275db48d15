"""The profiles, and the tools of each. To list them loads nothing of what carries them out."""

from collections.abc import Mapping, Sequence

from pipeline.server.claudia_tools import CLAUDIA_TOOLS
from pipeline.server.cognitive_tools import COGNITIVE_TOOLS
from pipeline.server.lean_tools import LEAN_TOOLS
from pipeline.server.tool import Tool

LEAN, COGNITIVE, CLAUDIA, ALL = "lean", "cognitive", "claudia", "all"
PROFILES = (LEAN, COGNITIVE, "agent-memory", CLAUDIA, ALL)
LATER: Mapping[str, str] = {
    "agent-memory": "the tools over agent-memory's files come with a later version",
}
"""Profiles that are named and have no tools yet, and why."""
_NAMED = {tool.name for tool in (*LEAN_TOOLS, *COGNITIVE_TOOLS)}
_OF: Mapping[str, Sequence[Tool]] = {
    LEAN: LEAN_TOOLS,
    COGNITIVE: COGNITIVE_TOOLS,
    CLAUDIA: CLAUDIA_TOOLS,
    # Of two tools with one name it has the first: they do the same by other arguments.
    ALL: (*LEAN_TOOLS, *COGNITIVE_TOOLS, *(tool for tool in CLAUDIA_TOOLS if tool.name not in _NAMED)),
}


def of_profile(profile: str) -> dict[str, Tool]:
    """Return the tools of `profile` by name, those that nothing backs yet among them."""
    return {tool.name: tool for tool in _OF[profile]}
