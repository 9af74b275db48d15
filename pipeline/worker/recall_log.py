"""What recall did, from the hooks' files into the ledger, and from there into each store's counts.

The hooks append to ``<home>/recall/sessions/<session>.jsonl`` and look at nothing else. `take` copies what
is new, whatever stands in it; a file whose session has been silent for a month is removed. `count` then
adds to ``_state.json``, exactly once: what was put before a prompt, and what somebody asked for.
"""

from __future__ import annotations

import logging
import os
import stat
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.context import open_store
from pipeline.core import faults, paths, system
from pipeline.core.errors import ODD_DATA, StoreError, cause
from pipeline.core.home import Home
from pipeline.hooklib import jsonish, times
from pipeline.hooklib.events import SESSION_START
from pipeline.hooklib.places import PROJECT_STORE
from pipeline.hooklib.plain import well_formed
from pipeline.ledger import Ledger, files, recalls
from pipeline.ledger.recalls import BadLine, Item, Line, Logged, Progress
from pipeline.recall.prepared.session_memory import KEEP_SECONDS
from pipeline.safety.late import late
from pipeline.safety.redaction import redact
from pipeline.worker.context import WorkerContext

LOG = logging.getLogger("reverie.worker")
MOST_LINE = 1 << 20
MOST_AT_ONCE = 8 << 20
"""Bytes taken of one file in one go; the rest comes with the next."""
_LINES_AT_ONCE = 500
_ROWS_AT_ONCE = 20_000
_HEAD = 64
MOST_ITEMS = 100
"""Memories taken of one line."""
_BY_HAND = ("show", "recall")
"""Uses that a command of ours notes, in a store that a person named or stood in."""
_ASKED = ("show", "read")
"""Uses that are accesses; what a question brought up was not asked for itself."""
_KINDS = ("sent", "start", "reset")
_BAD_CHARS = 500
_NAME_CHARS = 200
_PATH_CHARS = 4096
_WHY = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SESSION = late(r"([A-Za-z0-9_-]{1,80})\.jsonl")


def take(ledger: Ledger, home: Path, now: float) -> int:
    """Take every new line of the hooks' files into `ledger` and return how many there were.

    A file that can't be read is left, and told of in the log. Files of sessions silent for `KEEP_SECONDS`
    before `now` (epoch seconds) are removed once the ledger has all of them.
    """
    folder = Home(home).recall_sessions
    known = recalls.progress(ledger)
    taken = 0
    for file, session in _files(folder):
        try:
            taken += _take_file(ledger, file, session, known.get(session), now)
        except OSError as error:
            LOG.warning("%s: what recall did can't be read: %s", file, error.strerror or error)
    return taken


def _files(folder: Path) -> Iterator[tuple[Path, str]]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208 - a name may be no text
    except FileNotFoundError:
        return
    for name in names:
        match = _SESSION.fullmatch(name)
        if match:
            yield folder / name, match[1]


def _take_file(ledger: Ledger, file: Path, session: str, known: Progress | None, now: float) -> int:
    info = file.lstat()
    if not stat.S_ISREG(info.st_mode):
        raise OSError(0, "it is no regular file")
    taken = 0
    if known is None or known.taken != info.st_size:
        handle = os.open(file, os.O_RDONLY | system.NO_LINK | system.NO_WAIT | system.OPEN)
        with os.fdopen(handle, "rb") as opened:
            known, taken = _follow(ledger, opened, session, known, now)
    if known is not None and info.st_mtime < now - KEEP_SECONDS:
        _remove(ledger, file, session, known)
    return taken


def _follow(
    ledger: Ledger, opened: BinaryIO, session: str, known: Progress | None, now: float
) -> tuple[Progress | None, int]:
    """Read on from `known`; return how far that came, None when another process is at it, and the lines."""
    progress = known or Progress()
    size = os.fstat(opened.fileno()).st_size
    if progress.taken > size or opened.read(len(progress.head)) != progress.head:
        # Removed and begun anew, so what we know of it is about another file.
        progress = Progress(base=progress.base + progress.taken)
    opened.seek(0)
    head = opened.read(_HEAD)
    stop = min(size, progress.taken + MOST_AT_ONCE)
    found = 0
    before = known
    while progress.taken < stop:
        lines, bad, end = _batch(opened, progress, now)
        if end == progress.taken:
            break
        after = Progress(end, progress.base, head[:end])
        if not recalls.add_lines(ledger, session, lines, bad, before=before, after=after):
            return None, found
        found += len(lines)
        before = progress = after
    return progress, found


def _batch(opened: BinaryIO, progress: Progress, now: float) -> tuple[list[Line], list[BadLine], int]:
    """Return the next whole lines from `progress`, what in them is wrong, and where they end."""
    lines: list[Line] = []
    bad: list[BadLine] = []
    end = progress.taken
    opened.seek(end)
    for _ in range(_LINES_AT_ONCE):
        if end - progress.taken >= MOST_LINE:
            break
        raw = opened.readline(MOST_LINE)
        position = progress.base + end
        length = len(raw)
        if not raw.endswith(b"\n"):
            length += _rest(opened) if length == MOST_LINE else 0
            if length <= MOST_LINE:
                break  # Its end has not been written yet.
            bad.append(_bad_line(position, f"longer than {MOST_LINE:,} bytes", raw))
        else:
            line, wrong = parse_line(raw, position, now)
            lines += [line] if line else []
            bad += wrong
        end += length
    return lines, bad, end


def _rest(opened: BinaryIO) -> int:
    """Return how many bytes the line that is being read still has, 0 when its end is not there yet."""
    found = 0
    while raw := opened.readline(MOST_LINE):
        found += len(raw)
        if raw.endswith(b"\n"):
            return found
    return 0


def _remove(ledger: Ledger, file: Path, session: str, known: Progress) -> None:
    """Remove a silent session's file, unless something in it is still to be read.

    A hook that wakes the session between the last look and the removal loses its line: the memory may then
    be sent once more, which after a month does no harm.
    """
    with file.open("rb") as opened:
        opened.seek(known.taken)
        rest = opened.read(MOST_LINE)
    if b"\n" in rest:
        return
    if rest:
        torn = _bad_line(known.base + known.taken, "torn: it has no end", rest)
        recalls.add_bad(ledger, session, [torn])
    file.unlink(missing_ok=True)
    file.with_name(f"{session}.picks.json").unlink(missing_ok=True)
    recalls.begin_anew(ledger, session)


# -- one line --------------------------------------------------------------------------------------
#
# A hook writes these lines, but a crash, another version or anybody else may have left something different:
# what can be understood is kept, and the rest is told of.


def parse_line(raw: bytes, position: int, now: float) -> tuple[Line | None, list[BadLine]]:
    """Return the line that `raw` holds, None when it is none of ours, and what in it is wrong.

    A time that can't be true (none, or ahead of `now` by over a day) counts as `now`.
    """
    try:
        value = jsonish.loads(raw.decode("utf-8", "replace"))
    except ValueError as error:
        return None, [_bad_line(position, f"no JSON: {error}", raw)]
    if not isinstance(value, dict):
        return None, [_bad_line(position, "no object", raw)]
    kind = value.get("k")
    if kind not in _KINDS:
        return None, [_bad_line(position, "of a kind this Reverie does not know", raw)]
    given = value.get("items", [])
    given = given if isinstance(given, list) else [None]
    store = _text(value.get("store"), _PATH_CHARS)
    items = tuple(_item(item, store) for item in given[:MOST_ITEMS] if isinstance(item, dict))
    wrong = []
    if len(items) < len(given):
        left = len(given) - len(items)
        wrong.append(_bad_line(position, f"{left} of its {len(given)} memories can't be understood", raw))
    at = _number(value.get("at"))
    line = Line(
        position=position,
        kind=kind,
        at=at if 0 < at < now + times.DAY else now,
        hook=_hook(kind, _text(value.get("hook"), _NAME_CHARS), _text(value.get("source"), _NAME_CHARS)),
        cwd=_text(value.get("cwd"), _PATH_CHARS),
        store=store,
        chars=_count(value.get("chars")),
        tokens=_count(value.get("tokens")) or -(-_count(value.get("chars")) // 4),
        left_out=_count(value.get("left_out")),
        prompt=_text(value.get("prompt"), 16),
        items=items,
    )
    return line, wrong


def _hook(kind: str, hook: str, source: str) -> str:
    """Return what a line came from: a reset's cause, else the event, as in ``SessionStart:resume``."""
    if kind == "reset":
        return source
    if kind == "start":
        return ":".join(filter(None, (hook or SESSION_START, source)))
    return hook


def _bad_line(position: int, reason: str, raw: bytes) -> BadLine:
    """Return the note that `raw`, at `position`, can't be understood; secrets are taken out of its text."""
    return BadLine(position, reason, redact(_text(raw.decode("utf-8", "replace").strip(), _BAD_CHARS)).text)


def _item(value: dict[str, Any], store: str) -> Item:
    why = value.get("why")
    words = why if isinstance(why, list) else [why]
    chars = _count(value.get("chars"))
    return Item(
        memory=_text(value.get("id"), _NAME_CHARS),
        name=_text(value.get("name"), _NAME_CHARS),
        path=_text(value.get("path"), _PATH_CHARS),
        store=_text(value.get("store"), _PATH_CHARS) or store,
        digest=_text(value.get("digest"), _NAME_CHARS),
        score=_number(value.get("score")),
        # The words are a person's own, out of a prompt.
        why=tuple(redact(_text(word, _NAME_CHARS)).text for word in words[:_WHY] if _text(word, _NAME_CHARS)),
        chars=chars,
        tokens=-(-chars // 4),
    )


def _text(value: object, most: int) -> str:
    """Return `value` if it is text, bounded, and fit to be kept: no zero, no lone surrogate."""
    if not isinstance(value, str):
        return ""
    return well_formed(value[:most]).replace("\0", "\N{REPLACEMENT CHARACTER}")


def _count(value: object) -> int:
    number = _number(value)
    return int(number) if 0 <= number < jsonish.MOST_EXACT else 0


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if -jsonish.MOST_EXACT < number < jsonish.MOST_EXACT else 0.0


# -- counting -----------------------------------------------------------------------------------------


def count(context: WorkerContext) -> None:
    """Add what the log has and no store's counts have yet; a store that can't be written now has to wait.

    Counted only where memories are known to be ours: in stores the ledger knows, those a person named to a
    command, the user-scope store and Claude Code's own memory folders. A folder that only a session's file
    names is never written to.
    """
    rows = recalls.uncounted(context.ledger, limit=_ROWS_AT_ONCE)
    if not rows:
        return
    trusted = _trusted(context)
    by_store: dict[Path, list[tuple[Logged, str]]] = defaultdict(list)
    left_out = []
    for row in rows:
        store_path, path = _home_of(row, trusted)
        if store_path is None:
            left_out.append(row.id)
        else:
            by_store[store_path].append((row, path))
    recalls.set_counted(context.ledger, left_out, recalls.LEFT_OUT)
    for store_path, found in sorted(by_store.items()):
        try:
            _count_in(context, store_path, found)
        except (StoreError, OSError, *ODD_DATA) as error:
            LOG.warning("%s: uses are not counted yet: %s", store_path, cause(error))


def _count_in(context: WorkerContext, store_path: Path, found: Sequence[tuple[Logged, str]]) -> None:
    from pipeline.store import Use, foreign_dream_running

    now = context.clock.now()
    if foreign_dream_running(store_path, now):
        return
    store = open_store(store_path, context.settings)
    if store.is_team:
        # Uses are counted in a file of the store, and what others read tells nothing of this person.
        recalls.set_counted(context.ledger, [row.id for row, _ in found], recalls.LEFT_OUT)
        return
    by_path = (
        {d.path: d.id for d in store.scan().documents} if any(not row.memory for row, _ in found) else {}
    )
    uses: list[Use] = []
    for row, path in found:
        if row.use and not row.memory and path not in by_path:
            continue  # Read, but no memory: MEMORY.md, or one that has left since.
        memory = row.memory or by_path.get(path) or f"path:{path}"
        asked = row.use in _ASKED
        uses.append(Use(row.id, memory, _EPOCH + timedelta(seconds=row.at), asked))
    if uses:
        store.count_uses(uses, recalls.identity(context.ledger), now=now)
    faults.reach("recall.after_counts")
    recalls.set_counted(context.ledger, [row.id for row, _ in found])


def _trusted(context: WorkerContext) -> set[Path]:
    user_store = Home(context.home).user_store
    candidates = [*files.stores(context.ledger), str(user_store), str(context.store_override or "")]
    return {Path(os.path.realpath(store)) for store in candidates if store}


def _home_of(row: Logged, trusted: set[Path]) -> tuple[Path | None, str]:
    """Return the store of ours that holds the memory of `row`, None for none, and the memory's path there."""
    named = Path(row.store or row.path)
    if not named.is_absolute():
        return None, ""
    real = Path(os.path.realpath(named))
    for store_path in [real] if row.store else real.parents:
        # A person named it to a command of ours.
        named_by_hand = bool(row.store) and row.use in _BY_HAND
        known = store_path in trusted or named_by_hand or _is_project_memory(store_path)
        if known and store_path.is_dir():
            return store_path, row.path if row.store else real.relative_to(store_path).as_posix()
    return None, ""


def _is_project_memory(store_path: Path) -> bool:
    projects = Path(os.path.realpath(paths.projects_dir()))
    return store_path.name == PROJECT_STORE and store_path.parent.parent == projects
