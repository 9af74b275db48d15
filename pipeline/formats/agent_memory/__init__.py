"""Agent-memory's files: memories in three JSONL files, an index, backups, an archive; read, written, mended.

`AgentMemory` is the library: append, query, update, archive, delete, stats. The files are the truth; the
index and the side file of access data can be made anew, or lost, without loss of a memory.
"""

from typing import TYPE_CHECKING

from pipeline.core.lazily import exports

if TYPE_CHECKING:
    from pipeline.formats.agent_memory.errors import AgentMemoryError
    from pipeline.formats.agent_memory.memory import AgentMemory
    from pipeline.formats.agent_memory.options import Options
    from pipeline.formats.agent_memory.querying import Query

__getattr__ = exports(
    __name__,
    {
        "errors": "AgentMemoryError",
        "memory": "AgentMemory",
        "options": "Options",
        "querying": "Query",
    },
)

__all__ = ["AgentMemory", "AgentMemoryError", "Options", "Query"]
