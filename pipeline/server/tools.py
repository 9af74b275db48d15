"""The profiles, and the tools of each. To list them loads nothing of what carries them out."""

from collections.abc import Mapping, Sequence

from pipeline.server.agent_memory_tools import AGENT_MEMORY_TOOLS
from pipeline.server.cognitive_tools import COGNITIVE_TOOLS
from pipeline.server.lean_tools import LEAN_TOOLS
from pipeline.server.tool import Tool

LEAN, COGNITIVE, AGENT_MEMORY, ALL = "lean", "cognitive", "agent-memory", "all"
PROFILES = (LEAN, COGNITIVE, AGENT_MEMORY, "claudia", ALL)
LATER: Mapping[str, str] = {
    "claudia": "the tools of Claudia's memory come with a later version",
}
"""Profiles that are named and have no tools yet, and why."""
_OF: Mapping[str, Sequence[Tool]] = {
    LEAN: LEAN_TOOLS,
    COGNITIVE: COGNITIVE_TOOLS,
    AGENT_MEMORY: AGENT_MEMORY_TOOLS,
    ALL: (*LEAN_TOOLS, *COGNITIVE_TOOLS, *AGENT_MEMORY_TOOLS),
}


def of_profile(profile: str) -> dict[str, Tool]:
    """Return the tools of `profile` by name, those that nothing backs yet among them."""
    return {tool.name: tool for tool in _OF[profile]}
