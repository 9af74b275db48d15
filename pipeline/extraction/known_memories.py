"""Which memories the model is shown, so that it completes them instead of writing them again."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.domain.memory import Memory
from pipeline.safety.invisible import visible, visible_line
from pipeline.store import Snapshot
from pipeline.text.similarity import every_word

LIST_CHARS = 12_000
"""Most of the prompt that names and descriptions may take: about 100 memories."""
FULL_CHARS = 12_000
NONE = "(none)"


def listing(snapshot: Snapshot, text: str, *, leave_out: frozenset[str] = frozenset()) -> str:
    """Return ``- name (type): description`` lines, those that share most words with `text` first kept.

    The lines stand in the order of their names, so that the same choice gives the same prompt.
    """
    spoken = every_word(text)
    ranked = sorted(
        (document.memory for document in snapshot.documents if document.memory.name not in leave_out),
        key=lambda memory: (-len(every_word(f"{memory.name} {memory.description}") & spoken), memory.name),
    )
    chosen: list[str] = []
    used = 0
    for memory in ranked:
        # A foreign file's name and type can be any text; it must not break out of its line.
        given = (memory.name, memory.type, memory.description)
        name, type_name, description = map(visible_line, given)
        line = f"- {name} ({type_name}): {description[:200]}"
        if used + len(line) > LIST_CHARS:
            break
        chosen.append(line)
        used += len(line) + 1
    return "\n".join(sorted(chosen)) or NONE


def in_full(memories: Sequence[Memory]) -> str:
    """Return `memories` with their bodies, each under its name, up to FULL_CHARS in all."""
    blocks: list[str] = []
    used = 0
    for memory in memories:
        head = f"## {memory.name} ({memory.type})\n{visible(memory.description)}\n"
        block = f"{head}\n{visible(memory.body.strip())}\n"
        if used + len(block) > FULL_CHARS:
            blocks.append(head)
            continue
        blocks.append(block)
        used += len(block)
    return "\n".join(blocks) or NONE
