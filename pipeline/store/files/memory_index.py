"""MEMORY.md, which the host loads at the start of every session, and its overflow page.

Our lines stand between two HTML comments, which the host strips before it measures the file. Everything
outside belongs to a person or to Claude and is kept byte for byte; so is any line inside that we did not
write, which moves below the block. A file that an outside line links to is not listed a second time. When
such a file leaves, its line leaves with it: what no longer holds would be read in every session.
Limits: the host reads 200 lines or 25,000 bytes, whichever comes first. Over budget, our lines give way,
never theirs: the least useful go to the overflow page, and those that stay are whole. The order depends on
the memories alone, not on today's date, so a rebuild that changes nothing gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote, unquote

from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.domain.sentences import sentences
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES, SPEAKERS, conflicts
from pipeline.hooklib.plain import one_line, whole_lines
from pipeline.safety.invisible import is_hidden, visible, visible_line
from pipeline.safety.markup import without_tags
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.store.files.layout import INDEX, OVERFLOW

BEGIN = "<!-- reverie:begin -->"
END = "<!-- reverie:end -->"
OVERFLOW_MARK = "<!-- made by reverie from the memory files; edits here are lost -->"
LINE_LIMIT = 300
"""Characters of a line beyond which one memory takes the room of several; the audit tells of longer ones."""
BROKEN = "front matter can't be read"
UNSETTLED = "a merge left both sides of a conflict"
"""Why a file is not listed as a memory."""
_NONE: Mapping[str, str] = MappingProxyType({})
_TITLE_LIMIT = 70
_DECAY_PER_DAY = 0.03
_FIRST = frozenset({"user", "feedback"})
# Each part ends where another link may begin, so that a text of beginnings is gone through once.
_LINK = re.compile(r"\]\(\s*(?:<([^<>\n]*)>|((?:(?!\]\()[^)\s])+))(?:(?!\]\()[^)\n])*\)")
_WORD = re.compile(r"[^\W_]+")
_ITEM = re.compile(r"[ \t]*[-*+] ")
_BRACKET = re.compile(r"[\[\]]")
_DASH = " — "
_OUR_SHAPE = re.compile(r"- (?:\[.*\]\(.+\)|\d+ more )")
_MUST_ESCAPE = re.compile(r"[%\s()<>]")
_COMMENT_MARKS = re.compile(r"<!-*|-*->")


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory as the index sees it: its path, its whole line, and its place in the order."""

    path: str
    line: str
    rank: tuple[bool, bool, float, str]


@dataclass(frozen=True, slots=True)
class Built:
    """A finished index: both files' bytes, our lines in MEMORY.md, and how many are not listed there.

    `overflow` is None when nothing is left over.
    """

    index: bytes
    overflow: bytes | None
    lines: tuple[str, ...]
    unlisted: int


@dataclass(slots=True)
class _Outside:
    """An index file without our block: what stands before and after, and stray lines from within."""

    before: list[str]
    after: list[str]
    strays: list[str]
    had_block: bool

    @property
    def text(self) -> str:
        """Return all of it, in the order in which it will stand."""
        return "".join([*self.before, *self.strays, *self.after])


def entry_of(memory: Memory, mtime: float) -> Entry:
    """Return the index entry of `memory`; `mtime` (epoch seconds) dates it when its file gives no date."""
    when = memory.updated or memory.created
    days = (when.timestamp() if when else mtime) / 86_400
    worth = math.log(max(memory.type_row.weight * memory.importance, 1e-3)) + _DECAY_PER_DAY * days
    rank = (not memory.pinned, memory.type_row.name not in _FIRST, -round(worth, 6), memory.path)
    return Entry(memory.path, index_line(memory), rank)


def index_line(memory: Memory) -> str:
    """Return ``- [fact](path)``, at most `LINE_LIMIT` characters unless its path alone is very long.

    The fact is the description, whole: only one longer than any of ours ends at its last sentence that fits.
    A title that says what neither fact nor path say stands before it, ``- [Title](path) — fact``, where there
    is room. What only the assistant said ends with ``(Claude, not confirmed)``.
    """
    note = f" ({SPEAKERS[memory.origin]})" if memory.is_a_guess else ""
    end = f"]({link_target(memory.path)})"
    shown = memory.headline if memory.is_told_by_headline else memory.description or first_line(memory.body)
    fact = " ".join(inert(shown).split())
    title = one_line(inert(memory.shown_title), _TITLE_LIMIT) or inert(memory.path)
    if not fact:
        return f"- [{title}{end}{note}"
    room = LINE_LIMIT - len("- [") - len(end) - len(note)
    if _says_more(title, f"{fact} {memory.path}") and len(title) + len(_DASH) + len(fact) <= room:
        return f"- [{title}{end}{_DASH}{fact}{note}"
    return f"- [{_whole(fact, max(MAX_DESCRIPTION, room))}{end}{note}"


def _says_more(title: str, line: str) -> bool:
    """Whether `title` has a word that `line` has not, nor a part of a word where no spaces divide them."""
    text = line.casefold()
    words = set(_WORD.findall(text))
    return any(
        word not in words and (word.isascii() or word not in text) for word in _WORD.findall(title.casefold())
    )


def _whole(fact: str, limit: int) -> str:
    """Return `fact` in at most `limit` characters: all of it, or its first sentences, or a part of one."""
    if len(fact) <= limit:
        return fact
    text = ""
    for sentence in sentences(fact):
        longer = f"{text} {one_line(sentence.text, len(fact))}".lstrip()
        if len(longer) + 2 > limit:
            break
        text = longer
    return f"{text} …" if text else one_line(fact, limit)


def link_target(path: str) -> str:
    """Return `path` as a markdown link target; only what would end the link is escaped."""
    if visible(path) == path and not _MUST_ESCAPE.search(path):
        return path
    return "".join(quote(char, safe="") if _is_escaped(char) else char for char in path)


def _is_escaped(char: str) -> bool:
    return bool(_MUST_ESCAPE.match(char)) or not char.isprintable() or is_hidden(char)


def linked_paths(text: str) -> set[str]:
    """Return every relative path that markdown `text` links to."""
    found = set()
    for angled, plain in _LINK.findall(text):
        target = unquote(angled or plain).partition("#")[0]
        if "://" not in target:
            found.add(target.removeprefix("./"))
    return found


def linked_outside(current: bytes) -> set[str]:
    """Return every relative path that an index file links to outside our block."""
    return linked_paths(_outside(current.decode("utf-8", "surrogateescape"), None).text)


def build(
    current: bytes | None,
    entries: Iterable[Entry],
    *,
    broken: Mapping[str, str] = _NONE,
    ours: Collection[str] | None = None,
    gone: Collection[str] = (),
    max_lines: int = INDEX_LINES,
    max_bytes: int = INDEX_BYTES,
) -> Built:
    """Return the index for `entries`, keeping what others wrote in `current` (None: no file yet).

    `ours` are the lines we last wrote; None, when that record is lost, takes every line of our shape
    inside the block for ours. `broken` are files that can't be read as a memory, and why: they go to
    the overflow page, so that every file is reachable. `gone` are files that leave by this change: an
    item of a list that links to one and nothing else goes, whoever wrote it.
    """
    text = "# Memory\n\n" if current is None else current.decode("utf-8", "surrogateescape")
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    outside = _outside(text, ours, gone)
    linked = linked_paths(outside.text)
    ranked = [entry for entry in sorted(entries, key=lambda item: item.rank) if entry.path not in linked]
    lost = {path: why for path, why in broken.items() if path not in linked}
    if not outside.had_block:
        if not ranked and not lost and current is not None:
            return Built(outside.text.encode("utf-8", "surrogateescape"), None, (), 0)
        _make_room(outside.before, newline)
    outside_text = outside.text
    frame = f"{BEGIN}{newline}{END}{newline}"
    room_lines = max_lines - outside_text.count("\n") - 2
    room_bytes = max_bytes - len((outside_text + frame).encode("utf-8", "surrogateescape"))
    count = _fitting(ranked, room_lines, room_bytes, len(newline), bool(lost), len(ranked) + len(lost))
    lines = [entry.line for entry in ranked[:count]]
    rest = ranked[count:]
    unlisted = len(rest) + len(lost)
    if unlisted:
        lines.append(_tail(unlisted))
    block = "".join(line + newline for line in (BEGIN, *lines, END))
    whole = "".join(outside.before) + block + "".join([*outside.strays, *outside.after])
    overflow = _overflow(rest, lost) if unlisted else None
    return Built(whole.encode("utf-8", "surrogateescape"), overflow, tuple(lines), unlisted)


def empty_overflow() -> bytes:
    """Return an overflow page for an index that lists every memory."""
    return f"# More memories\n\n{OVERFLOW_MARK}\n\nEvery memory is listed in {INDEX}.\n".encode()


def block_lines(current: bytes) -> list[str]:
    """Return the lines inside our block of an index file, without their line ends."""
    lines: list[str] = []
    within = False
    for line in current.decode("utf-8", "surrogateescape").split("\n"):
        marker = line.strip()
        if marker in (BEGIN, END):
            within = marker == BEGIN
        elif within:
            lines.append(line.rstrip("\r"))
    return lines


def _outside(text: str, ours: Collection[str] | None, gone: Collection[str] = ()) -> _Outside:
    result = _Outside([], [], [], False)
    within = False
    lines = whole_lines(text)
    marks, unsettled = _conflicts_of_ours(lines)
    for position, line in enumerate(lines):
        if position in marks:
            continue
        # Lines of another machine's Reverie are ours as well, but in no record of what was written here.
        known = None if position in unsettled else ours
        stripped = line.strip()
        if stripped in (BEGIN, END):
            within = stripped == BEGIN
            result.had_block = True
        elif gone and _is_item_of(line, gone):
            continue
        elif not within:
            (result.after if result.had_block else result.before).append(line)
        elif stripped and not _is_ours(line.rstrip("\r\n"), known):
            result.strays.append(line)
    return result


def _is_item_of(line: str, gone: Collection[str]) -> bool:
    """Whether `line` is an item of a list whose one link leads to a file that is `gone`."""
    return (
        bool(_ITEM.match(line)) and len(_LINK.findall(line)) == 1 and not linked_paths(line).isdisjoint(gone)
    )


def _conflicts_of_ours(lines: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the places of a merge's marks in or around our block, and of the lines between them."""
    marks: set[int] = set()
    unsettled: set[int] = set()
    begins = [position for position, line in enumerate(lines) if line.strip() == BEGIN]
    ends = [position for position, line in enumerate(lines) if line.strip() == END]
    for found in conflicts(list(lines)):
        between = range(found[0], found[-1] + 1)
        if any(first < found[-1] and found[0] < last for first in begins for last in ends):
            marks.update(found)
            unsettled.update(between)
    return marks, unsettled


def _is_ours(line: str, ours: Collection[str] | None) -> bool:
    return bool(_OUR_SHAPE.match(line)) if ours is None else line in ours


def _make_room(before: list[str], newline: str) -> None:
    """End what stands before a first block with a line end and a blank line."""
    if before and not before[-1].endswith("\n"):
        before[-1] += newline
    if before and before[-1].strip():
        before.append(newline)


def _fitting(
    ranked: Sequence[Entry], room_lines: int, room_bytes: int, newline: int, lost: bool, total: int
) -> int:
    """Return how many of `ranked` fit, leaving room for the last line when some don't."""
    reserve = len(_tail(total).encode()) + newline
    count = used = with_tail = 0
    for entry in ranked[: max(0, room_lines)]:
        used += len(entry.line.encode("utf-8", "surrogateescape")) + newline
        if used > room_bytes:
            break
        count += 1
        with_tail = count if used + reserve <= room_bytes else with_tail
    if count == len(ranked) and not lost:
        return count
    return min(with_tail, max(0, room_lines - 1))


def _tail(unlisted: int) -> str:
    return f"- {unlisted} more in [{OVERFLOW}]({OVERFLOW}); `reverie list` shows all of them"


def _overflow(rest: Sequence[Entry], lost: Mapping[str, str]) -> bytes:
    lines = [f"# More memories, continued from {INDEX}", "", OVERFLOW_MARK, ""]
    lines += [entry.line for entry in rest]
    for path, why in lost.items():
        stem = inert(path.rsplit("/", 1)[-1].removesuffix(".md"))
        lines.append(f"- [{stem}]({link_target(path)}) — {why}")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def inert(text: str) -> str:
    """Return `text` on one line, all of it visible, without tags or comments, unable to end the link."""
    line = without_tags(_COMMENT_MARKS.sub("", visible_line(text)))
    if "](" in line:
        return line.replace("[", "(").replace("]", ")")
    # Brackets are a part of what is said, as in ``[tool.ruff]``; one that closes none would end the link.
    return line.replace("]", "\\]") if _closes_too_many(line) else line


def _closes_too_many(line: str) -> bool:
    depth = 0
    for bracket in _BRACKET.findall(line):
        depth += 1 if bracket == "[" else -1
        if depth < 0:
            return True
    return False
