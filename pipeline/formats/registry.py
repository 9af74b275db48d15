"""The formats by their names, each loaded when it is asked for."""

from __future__ import annotations

from importlib import import_module

from pipeline.core.errors import UsageError
from pipeline.formats.carried import Format

_HOMES = {
    "claude-code": ("front_matter_notes", "ClaudeCode"),
    "cognitive": ("front_matter_notes", "Cognitive"),
    "agent-memory": ("agent_memory_records", "AgentMemoryRecords"),
    "s09": ("s09", "S09"),
    "keisei": ("keisei_records", "KeiSeiRecords"),
    "claude-mem": ("claude_mem", "ClaudeMem"),
    "basic-memory": ("front_matter_notes", "BasicMemory"),
    "mem0-json": ("mem0", "Mem0"),
    "chatgpt-export": ("chatgpt", "ChatGpt"),
}
NAMES = tuple(_HOMES)


def format_named(name: str) -> Format:
    """Return the format called `name`. Raises UsageError for one that there is not."""
    if name not in _HOMES:
        raise UsageError(f"there is no format {name!r}", fix=f"Formats: {', '.join(NAMES)}.")
    module, kind = _HOMES[name]
    found: Format = getattr(import_module(f"pipeline.formats.{module}"), kind)()
    return found
