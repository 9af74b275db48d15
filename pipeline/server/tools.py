"""The profiles, and the tools of each. To list them loads nothing of what carries them out."""

from collections.abc import Mapping, Sequence

from pipeline.server.agent_memory_tools import AGENT_MEMORY_TOOLS
from pipeline.server.claudia_tools import CLAUDIA_TOOLS
from pipeline.server.cognitive_tools import COGNITIVE_TOOLS
from pipeline.server.lean_tools import LEAN_TOOLS
from pipeline.server.tool import Tool

LEAN, COGNITIVE, AGENT_MEMORY, CLAUDIA, ALL = "lean", "cognitive", "agent-memory", "claudia", "all"
PROFILES = (LEAN, COGNITIVE, AGENT_MEMORY, CLAUDIA, ALL)
_NAMED = {tool.name for tool in (*LEAN_TOOLS, *COGNITIVE_TOOLS)}
_OF: Mapping[str, Sequence[Tool]] = {
    LEAN: LEAN_TOOLS,
    COGNITIVE: COGNITIVE_TOOLS,
    AGENT_MEMORY: AGENT_MEMORY_TOOLS,
    CLAUDIA: CLAUDIA_TOOLS,
    # Of two tools with one name it has the first: they do the same by other arguments.
    ALL: (
        *LEAN_TOOLS,
        *COGNITIVE_TOOLS,
        *AGENT_MEMORY_TOOLS,
        *(tool for tool in CLAUDIA_TOOLS if tool.name not in _NAMED),
    ),
}


def of_profile(profile: str) -> dict[str, Tool]:
    """Return the tools of `profile` by name, those that nothing backs yet among them."""
    return {tool.name: tool for tool in _OF[profile]}
