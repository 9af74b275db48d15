"""Fitting what a session hears at its start into the room there is: whole lines, what is left out named."""

from pipeline.recall.live import fence, session_sections


class Block:
    """Text that stands in a fence of its own: a title above it, and the file that holds the rest of it.

    Of an index the first lines are the best, of a session's memory (`newest`) the last of each section.
    """

    __slots__ = ("lines", "newest", "rest", "title")

    def __init__(self, title: str, lines: "list[str]", rest: str, *, newest: bool = False) -> None:
        self.title = title
        self.lines = lines
        self.rest = rest
        self.newest = newest


def fit(title: str, parts: "list[str]", blocks: "list[Block]", limit: int) -> str:
    """Return `title`, the lines `parts` and `blocks` within `limit` characters, "" when nothing is to say.

    What is short goes first; the blocks share the rest evenly, and what one does not need the next may have.
    """
    text_lines = [title]
    room = limit - fence.size(title)
    for part in parts:
        if fence.size(part) + 1 <= room:
            text_lines.append(part)
            room -= fence.size(part) + 1
    for number, block in enumerate(blocks):
        taken = _within(block, room // (len(blocks) - number))
        text_lines += taken
        room -= _length(taken)
    return "\n".join(text_lines) if len(text_lines) > 1 else ""


def _within(block: Block, room: int) -> "list[str]":
    frame = [block.title, f"<{fence.TAG}>", f"</{fence.TAG}>"]
    inside = room - _length(frame)
    notice = f"{len(block.lines)} more lines: {block.rest}"
    taken = block.lines
    if _length(taken) > inside:
        inside -= fence.size(notice) + 1
        taken = _last(block.lines, inside) if block.newest else _first(block.lines, inside)
    left = len(block.lines) - len(taken)
    more = f"{left} more {'lines' if left > 1 else 'line'}: {block.rest}"
    if taken:
        return [*frame[:2], *taken, frame[2], *([more] if left else [])]
    alone = f"{block.title} {more}"
    return [alone] if fence.size(alone) + 1 <= room else []


def _first(lines: "list[str]", room: int) -> "list[str]":
    """Return those of `lines` that fit, the first before the others; one that is too long stops no other."""
    taken = []
    for line in lines:
        if fence.size(line) + 1 <= room:
            taken.append(line)
            room -= fence.size(line) + 1
    return taken


def _last(lines: "list[str]", room: int) -> "list[str]":
    """Return the end of each section that a session's memory has; short sections leave room to long ones."""
    sections: list[list[str]] = []
    for line in lines:
        if line in session_sections.HEADINGS or not sections:
            sections.append([])
        sections[-1].append(line)
    found: dict[int, list[str]] = {}
    # The shortest first: what a section leaves of its share is then there for the longer ones.
    for number in sorted(range(len(sections)), key=lambda number: _length(sections[number])):
        found[number] = _tail(sections[number], room // (len(sections) - len(found)))
        room -= _length(found[number])
    return [line for number in range(len(sections)) for line in found[number]]


def _tail(section: "list[str]", room: int) -> "list[str]":
    """Return the heading of `section` and its last lines; of a last line that is too long, its end."""
    heading, *lines = section
    room -= fence.size(heading) + 1
    taken: list[str] = []
    for line in reversed(lines):
        if fence.size(line) + 1 > room:
            break
        taken.append(line)
        room -= fence.size(line) + 1
    if lines and not taken:
        most = (room if lines[-1].isascii() else room // 2) - 2
        taken = ["…" + lines[-1][-most:]] if most > 0 else []
    return [heading, *taken[::-1]] if taken else []


def _length(lines: "list[str]") -> int:
    """Return how long `lines` are with the break before each."""
    return sum(fence.size(line) + 1 for line in lines)
