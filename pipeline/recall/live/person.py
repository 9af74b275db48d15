"""The lines for the person, which Claude Code shows and gives to no model.

At a session's start: what was learned, what waits for a decision, what is broken and what mends it. With a
prompt: the names of what was put before it. Nothing is said twice on one day (`announced.Seen`).
"""

import os

from pipeline.hooklib import home_files, places, settings, zone
from pipeline.hooklib.plain import clipped
from pipeline.recall.live import fence
from pipeline.recall.live.announced import DAY, FOR_GOOD, Seen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LEARNED = ("created", "updated", "noted", "promoted")
ELSEWHERE = {"came": "came from elsewhere", "changed": "changed elsewhere", "left": "taken out elsewhere"}
"""What others did (`pipeline.hooklib.news`), in words."""
_HEARD = "heard"
_NAMES = 3
_LONGEST = 500
_STALLED_SECONDS = 3_600.0
_DEAD_SECONDS = 60.0
_SETUP_SECONDS = 7_200.0
_HERE = (
    "Reverie is installed and starts in the background; the first time takes a minute or two."
    " What you say meanwhile is kept."
)
_FOUND = (
    "Reverie found a newer Python and sets itself up in the background (once, a minute or two)."
    " What you say meanwhile is kept."
)
_NO_PYTHON = "-1"
"""What ``hooks/prepare_worker.py`` notes in place of tries where it found no Python of 3.11 or newer."""
_MOST_BYTES = 16 << 10
_CLIENTS_COMMANDS = "/commands/reverie/status.md"


def at_start(
    home: str,
    state: "dict[str, Any]",
    seen: Seen,
    now: float,
    *,
    since: float,
    problems: "list[str]",
    plugin: bool,
) -> str:
    """Return what the person reads at a session's start, a line for each matter, "" for nothing new.

    `state` is what the hook state says of the session's store and `seen` what was said there, `since` when
    the session before began (epoch seconds), `problems` what the hook found in the settings; `plugin` says
    that Claude Code runs the hook as a plugin's. The caller keeps `seen`. Raises OSError.
    """
    everywhere = Seen(home, home)
    ask = _command("status", plugin)
    board = settings.board(home)
    broken = [*(_setup(home, now) or _first(home, plugin)), *_settings(home, problems), *_trouble(board)]
    broken = broken or _stalled(home, now, settings.left_over(board)[0])
    broken += [*_unread(board, ask), *_stopped(state, ask)]
    lines = [line for line in (_plain(line) for line in broken) if everywhere.today(line, now)]
    news = [_plain(line) for line in _read_through(board, everywhere, now)]
    news += [_plain(line) for line in [_news(state, seen, everywhere, now, since, plugin)] if line]
    if lines or news:
        everywhere.keep(now)
    return "\n".join([*lines, *news])


def moved(before: str) -> str:
    """Return the line that the memories here are those of a project that was at `before`."""
    return _plain(f"Reverie: this project was at {before} before; its memories came along")


def with_prompt(home: str, names: "list[str]", now: float) -> str:
    """Return the line that names what was put before a prompt, without what was named today already."""
    seen = Seen(home, home)
    new = [name for name in (fence.label(name, 60) for name in names) if seen.today(f"recalled {name}", now)]
    if not new:
        return ""
    seen.keep(now)
    return f"Reverie recalled {', '.join(new)}"


def meanwhile(home: str, store: str, names: "list[str]", until: float, now: float) -> str:
    """Return the line that `names` came from others, the newest at `until`, while the session was open.

    The next session's start then says no more of them.
    """
    seen = Seen(home, store)
    seen.moved(_HEARD, until)
    seen.keep(now)
    everywhere = Seen(home, home)
    line = _plain(f"Reverie: {_elsewhere(names)}") if names else ""
    if not line or not everywhere.today(line, now):
        return ""
    everywhere.keep(now)
    return line


def _elsewhere(names: "list[str]") -> str:
    return f"{len(names)} changed elsewhere ({_listed(names)})"


def _news(
    state: "dict[str, Any]", seen: Seen, everywhere: Seen, now: float, since: float, plugin: bool
) -> str:
    """Return the line of what was learned since the last start and what waits to be decided.

    What waits for all projects is news once a day, not in each of them.
    """
    since = max(since, seen.moved("told", now))
    learned, tidied = _changed(state, since)
    came = _came(state, max(since, seen.noted(_HEARD)))
    parts = []
    if learned:
        parts.append(f"{len(learned)} learned {_when(since, now)} ({_listed(learned)})")
    if tidied:
        parts.append(f"{len(tidied)} merged or retired {'' if learned else _when(since, now)}".strip())
    if came:
        parts.append(_elsewhere(came))
    count, shared = _count(state.get("inbox")), _count(state.get("shared"))
    more_here = count > shared and seen.grew("inbox", count - shared, now)
    decide = (shared > 0 and everywhere.grew("inbox", shared, now)) or more_here
    if decide:
        parts.append(f"{count} to decide")
    where = _command("inbox" if decide and len(parts) == 1 else "status", plugin)
    return f"Reverie: {', '.join(parts)}. {where}" if parts else ""


def _read_through(board: "dict[str, Any]", everywhere: Seen, now: float) -> "list[str]":
    """Return the lines that a backlog which the person gave to a team's workers is read, each once."""
    found = board.get("backlogs")
    rows = (
        [row for row in found if isinstance(row, list) and len(row) == 2] if isinstance(found, list) else []
    )
    return [
        f"Reverie: {text}. `reverie team status` has more"
        for at, text in rows
        if isinstance(text, str) and everywhere.once(f"backlog {at}", text, now, FOR_GOOD)
    ]


def _changed(state: "dict[str, Any]", since: float) -> "tuple[list[str], list[str]]":
    """Return the names of memories that were learned and of those that were tidied up after `since`."""
    learned: dict[str, None] = {}
    tidied: dict[str, None] = {}
    changes = state.get("changes")
    for change in changes if since and isinstance(changes, list) else ():
        known = isinstance(change, list) and len(change) > 2 and isinstance(change[0], int | float)
        if known and change[0] > since and change[1] not in ELSEWHERE.values():
            (learned if change[1] in LEARNED else tidied)[fence.label(str(change[2]), 60)] = None
    return list(learned), [name for name in tidied if name not in learned]


def _came(state: "dict[str, Any]", since: float) -> "list[str]":
    """Return the names of memories that others changed after `since`."""
    changes = state.get("changes")
    rows = changes if since and isinstance(changes, list) else ()
    found = [str(row[2]) for row in rows if row[1] in ELSEWHERE.values() and row[0] > since]
    return list(dict.fromkeys(fence.label(name, 60) for name in found))


def _count(value: "Any") -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _listed(names: "list[str]") -> str:
    more = len(names) - _NAMES
    return ", ".join([*names[:_NAMES], *([f"{more} more"] if more > 0 else [])])


def _when(since: float, now: float) -> str:
    day = zone.day(since)
    if day == zone.day(now):
        return "since the last session"
    return "since yesterday" if day == zone.day(now - DAY) else f"since {day}"


def _stopped(state: "dict[str, Any]", ask: str) -> "list[str]":
    """Return the lines about work that was given up, or waits for something to be mended."""
    held, parked = state.get("held"), state.get("parked")
    lines = (
        [f"Reverie: {cause}. {ask}" for cause in parked if isinstance(cause, str)]
        if isinstance(parked, list)
        else []
    )
    if isinstance(held, str) and held:
        end = " " if held.endswith("…") else ". "
        lines.append(f"Reverie learns nothing for now: {held.rstrip('.')}{end}{ask}")
    return lines


def unusable(home: str, error: OSError) -> str:
    """Return the line that nothing can be written in `home`, for `error`, and what mends it."""
    why = (error.strerror or "it can't be written").rstrip(".")
    return _plain(f"Reverie keeps nothing for now: {home}: {why}. {settings.step_for(error.errno)}")


def _trouble(board: "dict[str, Any]") -> "list[str]":
    """Return the lines of what keeps every worker from its work, and of a ledger that had to be made anew."""
    trouble, renewed = (settings.noted(board, what) for what in ("trouble", "renewed"))
    return [
        *([f"Reverie learns nothing for now: {trouble}"] if trouble else []),
        *([f"Reverie: {renewed}"] if renewed else []),
    ]


def _unread(board: "dict[str, Any]", ask: str) -> "list[str]":
    """Return the line about events whose transcript can't be read."""
    unread, why = settings.left_over(board)
    if not unread:
        return []
    waits = "turns can't be read and wait" if unread > 1 else "turn can't be read and waits"
    return [f"Reverie: {unread} {waits}: {why.rstrip('.')}. {ask}"]


def _setup(home: str, now: float) -> "list[str]":
    """Return what became of setting up an environment (``hooks/prepare_worker.py``), if it matters still."""
    about, _, text = _text(f"{home}/{home_files.SETUP}").partition("\n")
    state, _, rest = about.partition(" ")
    at = rest.partition(" ")[0]
    age = now - int(at) if at.isdigit() else 0.0
    if not text.strip() or (state == "working" and age > _SETUP_SECONDS) or (state == "done" and age > DAY):
        return []
    if state in ("failed", "off") and os.path.exists(f"{home}/{home_files.PYTHON}"):
        return []  # somebody installed the packages meanwhile
    if state == "failed" and rest.split(" ")[1:2] == [_NO_PYTHON]:
        return [_FOUND]  # this runs under one that is new enough
    return [text.strip()]


def _first(home: str, plugin: bool) -> "list[str]":
    """Return that Reverie is there, at the first session of a plugin: nothing was set up yet."""
    before = (home_files.SETUP, home_files.PYTHON, home_files.WORKER_LOG)
    if not plugin or any(os.path.exists(f"{home}/{x}") for x in before):
        return []
    return [_HERE]


def _settings(home: str, problems: "list[str]") -> "list[str]":
    """Return what is wrong in ``config.toml``, else in what this session's environment says (`problems`)."""
    fault = settings.config_fault(home)
    if fault:
        return [f"Reverie learns nothing for now: {fault.rstrip('.')}. Mend {home}/{home_files.CONFIG}"]
    return [f"Reverie: {problem.rstrip('.')}" for problem in problems[:1]]


def _stalled(home: str, now: float, unread: int) -> "list[str]":
    """Return the line that events wait and no worker takes them: an hour, or less if the last one died.

    Of `unread` events it is known that a worker saw them, and why it could not take them.
    """
    try:
        found = os.listdir(f"{home}/{home_files.SPOOL}")
    except OSError:
        return []  # no event came yet
    names = [name for name in found if name[:13].isdigit() and name.endswith(".json")]
    if len(names) <= unread:
        return []
    waited = max((now - int(name[:13]) / 1000 for name in names), default=0.0)
    last = _text(f"{home}/{home_files.WORKER_LOG}").strip().rpartition("\n")[2]
    kind, _, why = last.partition(": ")
    died = kind.endswith("Error") and kind.isidentifier()
    if waited < (_DEAD_SECONDS if died else _STALLED_SECONDS):
        return []
    cause = f": {why}" if died and why else ""
    word = "turns wait" if len(names) > 1 else "turn waits"
    return [f"Reverie: {len(names)} {word}, as its worker does not run{cause}. `reverie doctor` says more"]


def _command(name: str, plugin: bool) -> str:
    """Return how the person asks for `name`: in the session where that is installed, else in a shell."""
    inside = plugin or os.path.exists(places.config_dir() + _CLIENTS_COMMANDS)
    return f"/reverie:{name}" if inside else f"`reverie {name}`"


def _text(file: str) -> str:
    """Return the end of `file`, "" when there is none."""
    try:
        handle = os.open(file, os.O_RDONLY | places.OPEN)
    except OSError:
        return ""
    try:
        os.lseek(handle, max(0, os.fstat(handle).st_size - _MOST_BYTES), os.SEEK_SET)
        return os.read(handle, _MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)


def _plain(line: str) -> str:
    """Return `line` on one line with nothing in it that acts, at most `_LONGEST` characters long."""
    return clipped(" ".join(fence.neutralise(line).split()), _LONGEST)
