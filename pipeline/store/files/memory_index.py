"""MEMORY.md, which the host loads at the start of every session, and its overflow page.

Our lines stand between two HTML comments, which the host strips before it measures the file. Everything
outside belongs to a person or to Claude and is kept byte for byte; so is any line inside that we did not
write, byte for byte, which moves below the block. A file that an outside line links to is not listed a second
time. When such a file leaves, its line leaves with it: what no longer holds would be read in every session.
A MEMORY.md that is not UTF-8 can't be written without mixing encodings: it is left alone.
Limits: the host reads 200 lines or 25,000 bytes, whichever comes first. Over budget, our lines give way,
never theirs: the least useful go to the overflow page, and those that stay are whole. The order depends on
the memories alone, not on today's date, so a rebuild that changes nothing gives the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote, unquote

from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.domain.sentences import sentences
from pipeline.hooklib.memory_format import INDEX_BYTES, INDEX_LINES, SPEAKERS, conflicts, decoded
from pipeline.hooklib.plain import one_line, whole_lines
from pipeline.safety.invisible import is_hidden, visible, visible_line
from pipeline.safety.markup import without_tags
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.store.files.layout import INDEX, OVERFLOW
from pipeline.store.files.shelf import Entry, Listed, Shelf

BEGIN = "<!-- reverie:begin -->"
END = "<!-- reverie:end -->"
OVERFLOW_MARK = "<!-- made by reverie from the memory files; edits here are lost -->"
LINE_LIMIT = 300
"""Characters of a line beyond which one memory takes the room of several; the audit tells of longer ones."""
BROKEN = "front matter can't be read"
UNSETTLED = "a merge left both sides of a conflict"
"""Why a file is not listed as a memory."""
SAVE_AS_UTF_8 = "Save it as UTF-8, then run `reverie reindex`."
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
_BYTE_ORDER = "\ufeff"
_LINE_END = re.compile(r"\r\n|\n|\r")
_NEW_FILE = "# Memory\n\n"
"""What a MEMORY.md that we make begins with."""
_TAIL_END = f" more in [{OVERFLOW}]({OVERFLOW}); `reverie list` shows all of them"
_TAIL = re.compile(rf"- \d+{re.escape(_TAIL_END)}")
_MUST_ESCAPE = re.compile(r"[%\s()<>]")
_INERT = r"[!-;=?-Z^-~]+(?: [!-;=?-Z^-~]+)*"
"""What is inert as it is: words of plain characters, without brackets."""
_COMMENT_MARKS = re.compile(r"<!-*|-*->")


@dataclass(frozen=True, slots=True)
class Built:
    """A finished index: both files' bytes, our lines in MEMORY.md, and how many are not listed there.

    `merged` are the lines that a merge left between its marks in our block and that are not ours: they now
    stand below it.
    """

    index: bytes
    lines: tuple[str, ...]
    unlisted: int
    merged: tuple[str, ...] = ()
    _rest: Callable[[], bytes] | None = None

    @property
    def overflow(self) -> bytes | None:
        """Return the overflow page, made only now; None when nothing is left over."""
        return self._rest() if self._rest else None


@dataclass(slots=True)
class _Outside:
    """An index file without our block: what stands before and after, and stray lines from within.

    Of those `merged` stood between the marks of a merge; they are without their line ends.
    """

    before: list[str]
    after: list[str]
    strays: list[str]
    had_block: bool
    merged: list[str]

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


def linked_outside(current: bytes, ours: Container[str]) -> set[str]:
    """Return every relative path that a line of an index file links to which is not one of `ours`."""
    return linked_paths(_outside(decoded(current), ours).text)


def unreadable(current: bytes) -> tuple[int, str] | None:
    """Return from which line on an index file is no UTF-8 text, and why in words; None when all of it is.

    Such a file is never written: what we add would be in another encoding than the rest, and no line of it
    could be told from one of ours.
    """
    try:
        found = current.decode("utf-8").find("\0")
        kind = "UTF-16 or no text"
        at = len(current[:found]) if found >= 0 else -1
    except UnicodeDecodeError as error:
        at, kind = error.start, "not UTF-8"
    if current.startswith((b"\xff\xfe", b"\xfe\xff")):
        at, kind = 0, "UTF-16"
    if at < 0:
        return None
    line = len(_LINE_END.findall(current[:at].decode("utf-8", "replace"))) + 1
    return line, f"it is {kind}, so Reverie leaves it as it is and lists nothing more in it"


def has_block(current: bytes | None) -> bool:
    """Whether a mark of our block stands in an index file; None is no file."""
    text = "" if current is None else current.decode("utf-8", "surrogateescape")
    return any(_block_mark(line) in (BEGIN, END) for line in whole_lines(text))


def without_block(current: bytes, ours: Container[str], former: bytes | None) -> bytes | None:
    """Return an index file with our block taken out and all else kept; None when nothing else is in it.

    `ours` as for `build`. `former` is the file before the block was begun, None when there was none: where
    what stands before the block is still that, the line ends go that were put behind it.
    """
    outside = _outside(current.decode("utf-8", "surrogateescape"), ours)
    start = _NEW_FILE if former is None else former.decode("utf-8", "surrogateescape")
    roomy = whole_lines(start)
    _make_room(roomy, _newline(start))
    if former is not None and outside.before == whole_lines("".join(roomy)):
        outside.before = [start]
    text = outside.text
    return None if former is None and text == start else text.encode("utf-8", "surrogateescape")


def build(
    current: bytes | None,
    entries: Shelf | Iterable[Entry],
    *,
    broken: Mapping[str, str] = _NONE,
    ours: Container[str] = (),
    recorded: Container[str] = (),
    gone: Collection[str] = (),
    max_lines: int = INDEX_LINES,
    max_bytes: int = INDEX_BYTES,
) -> Built:
    """Return the index for `entries`, keeping what others wrote in `current` (None: no file yet).

    `current` must be text (see `unreadable`). `ours` are the lines that we wrote once, of which `recorded`
    are at hand and asked first; those of `entries` are ours too. Every other line inside the block is
    somebody's, whatever its shape. `broken` are files that can't be read as a memory, and why: they go to the
    overflow page, so that every file is reachable. `gone` are files that leave by this change: an item of a
    list that links to one and nothing else goes, whoever wrote it.
    """
    text = _NEW_FILE if current is None else current.decode("utf-8", "surrogateescape")
    newline = _newline(text)
    shelf = entries if isinstance(entries, Shelf) else Listed(entries)
    outside = _outside(text, _Ours(ours, recorded, shelf), gone)
    linked = linked_paths(outside.text)
    total = shelf.count() - len(shelf.among(linked))
    lost = {path: why for path, why in broken.items() if path not in linked}
    if not outside.had_block:
        if not total and not lost and current is not None:
            return Built(outside.text.encode("utf-8", "surrogateescape"), (), 0)
        _make_room(outside.before, newline)
    outside_text = outside.text
    frame = f"{BEGIN}{newline}{END}{newline}"
    room_lines = max(0, max_lines - len(_LINE_END.findall(outside_text)) - 2)
    room_bytes = max_bytes - len((outside_text + frame).encode("utf-8", "surrogateescape"))
    ranked = _but(shelf.best(room_lines + len(linked)), linked)[:room_lines]
    count = _fitting(ranked, room_lines, room_bytes, len(newline), bool(lost), (total, total + len(lost)))
    lines = [entry.line for entry in ranked[:count]]
    unlisted = total - count + len(lost)
    if unlisted:
        lines.append(_tail(unlisted))
    block = "".join(line + newline for line in (BEGIN, *lines, END))
    whole = "".join(outside.before) + block + "".join([*outside.strays, *outside.after])

    def rest() -> bytes:
        return _overflow(_but(shelf.best(-1), linked)[count:], lost)

    merged = tuple(outside.merged)
    data = whole.encode("utf-8", "surrogateescape")
    return Built(data, tuple(lines), unlisted, merged, rest if unlisted else None)


def _but(entries: Iterable[Entry], linked: Collection[str]) -> list[Entry]:
    return [entry for entry in entries if entry.path not in linked]


def empty_overflow() -> bytes:
    """Return an overflow page for an index that lists every memory."""
    return f"# More memories\n\n{OVERFLOW_MARK}\n\nEvery memory is listed in {INDEX}.\n".encode()


def block_lines(current: bytes) -> list[str]:
    """Return the lines inside our block of an index file, without their line ends."""
    lines: list[str] = []
    within = False
    for line in whole_lines(current.decode("utf-8", "surrogateescape")):
        marker = _block_mark(line)
        if marker in (BEGIN, END):
            within = marker == BEGIN
        elif within:
            lines.append(line.rstrip("\r\n"))
    return lines


class _Ours:
    """Lines that are ours: those that we wrote once, as far as that is known, and those of now."""

    def __init__(self, once: Container[str], recorded: Container[str], shelf: Shelf) -> None:
        self._recorded = recorded
        self._once = once
        self._shelf = shelf
        self._now: set[str] | None = None

    def __contains__(self, line: object) -> bool:
        if line in self._recorded:
            return True
        if self._now is None:
            self._now = self._shelf.lines()
        return line in self._now or line in self._once


def _newline(text: str) -> str:
    """Return how the lines of `text` end, by the first that does."""
    found = _LINE_END.search(text)
    return found.group() if found else "\n"


def _outside(text: str, ours: Container[str], gone: Collection[str] = ()) -> _Outside:
    result = _Outside([], [], [], False, [])
    within = False
    lines = whole_lines(text)
    marks, unsettled = _conflicts_of_ours(lines)
    for position, line in enumerate(lines):
        if position in marks:
            continue
        stripped = _block_mark(line)
        if stripped in (BEGIN, END):
            within = stripped == BEGIN
            if line.startswith(_BYTE_ORDER) and not position:
                result.before.append(_BYTE_ORDER)
            result.had_block = True
        elif gone and _is_item_of(line, gone):
            continue
        elif not within:
            (result.after if result.had_block else result.before).append(line)
        elif stripped and not _TAIL.fullmatch(stripped) and line.rstrip("\r\n") not in ours:
            result.strays.append(line)
            if position in unsettled:
                result.merged.append(line.rstrip("\r\n"))
    return result


def _block_mark(line: str) -> str:
    """Return what stands on a line, for comparison with the marks of our block."""
    return line.removeprefix(_BYTE_ORDER).strip()


def _is_item_of(line: str, gone: Collection[str]) -> bool:
    """Whether `line` is an item of a list whose one link leads to a file that is `gone`."""
    return (
        bool(_ITEM.match(line)) and len(_LINK.findall(line)) == 1 and not linked_paths(line).isdisjoint(gone)
    )


def _conflicts_of_ours(lines: Sequence[str]) -> tuple[set[int], set[int]]:
    """Return the places of a merge's marks in or around our block, and of the lines between them."""
    marks: set[int] = set()
    unsettled: set[int] = set()
    begins = [position for position, line in enumerate(lines) if _block_mark(line) == BEGIN]
    ends = [position for position, line in enumerate(lines) if _block_mark(line) == END]
    for found in conflicts(list(lines)):
        between = range(found[0], found[-1] + 1)
        if any(first < found[-1] and found[0] < last for first in begins for last in ends):
            marks.update(found)
            unsettled.update(between)
    return marks, unsettled


def _make_room(before: list[str], newline: str) -> None:
    """End what stands before a first block with a line end and a blank line."""
    if before and not before[-1].endswith(("\n", "\r")):
        before[-1] += newline
    if before and before[-1].strip():
        before.append(newline)


def _fitting(
    ranked: Sequence[Entry],
    room_lines: int,
    room_bytes: int,
    newline: int,
    lost: bool,
    totals: tuple[int, int],
) -> int:
    """Return how many of `ranked` fit, leaving room for the last line when some don't.

    `totals` are the memories in all, and those with the files that can't be read.
    """
    reserve = len(_tail(totals[1]).encode()) + newline
    count = used = with_tail = 0
    for entry in ranked:
        used += len(entry.line.encode("utf-8", "surrogateescape")) + newline
        if used > room_bytes:
            break
        count += 1
        with_tail = count if used + reserve <= room_bytes else with_tail
    if count == totals[0] and not lost:
        return count
    return min(with_tail, max(0, room_lines - 1))


def _tail(unlisted: int) -> str:
    return f"- {unlisted}{_TAIL_END}"


def _overflow(rest: Sequence[Entry], lost: Mapping[str, str]) -> bytes:
    lines = [f"# More memories, continued from {INDEX}", "", OVERFLOW_MARK, ""]
    lines += [entry.line for entry in rest]
    for path, why in lost.items():
        stem = inert(path.rsplit("/", 1)[-1].removesuffix(".md"))
        lines.append(f"- [{stem}]({link_target(path)}) — {why}")
    return ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape")


def inert(text: str) -> str:
    """Return `text` on one line, all of it visible, without tags or comments, unable to end the link."""
    if re.fullmatch(_INERT, text):
        return text
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
