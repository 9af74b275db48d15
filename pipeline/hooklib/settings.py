"""The settings the recall hooks obey, read without TOML or pydantic as long as nobody has changed them.

The worker leaves them in ``<home>/recall/board.json`` with the stamp of the ``config.toml`` they came from.
While that file still has this stamp, the board's values hold; when it has another, it is parsed.
Variables do not count here: a hook has those that a project's settings name.
"""

import os
import stat

from pipeline.hooklib import home_files, jsonish, places
from pipeline.hooklib.plain import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEFAULTS: "dict[str, Any]" = {
    "enabled": True,
    "memories": 5,
    "prompt_chars": 9_500,
    "session_chars": 60_000,
    "user_scope": True,
    "session_start": True,
    "session_start_tokens": 1_500,
    "model_selection": False,
    "floor": 1.0,
    "before_tools": False,
    "show_news": True,
    "show_names": True,
}
"""``[recall]`` where nobody set it; ``pipeline.config`` takes them from here."""
TIME_ZONE = ""
"""``time_zone`` of ``[extraction]`` where nobody set it: the machine's."""
MODES = ("off", "observe", "propose", "auto")
"""What ``mode`` of ``[store]`` may be, from nothing at all to everything, which is the default."""
PROJECTS = ("only", "ignore")
"""The lists of ``[projects]``."""
_OURS = ("REVERIE_RECALL__", "REVERIE_STORE__", "REVERIE_EXTRACTION__", "REVERIE_PROJECTS__")
_NO_ROOM = (28, 122, 69, 27)
"""ENOSPC, EDQUOT of Linux and macOS, EFBIG; the module that names them costs a hook time."""
NO_ROOM = "Make room on the disk."
WRITING = frozenset({*_NO_ROOM, 1, 13, 30})
"""And EPERM, EACCES, EROFS: what `step_for` knows a step for."""
_WORDS = {
    **dict.fromkeys(("1", "true", "yes", "on", "y", "t"), True),
    **dict.fromkeys(("0", "false", "no", "off", "n", "f"), False),
}
_MOST_BOARD = 4 << 20
_MOST_CONFIG = 1 << 20


def hook_settings(home: str, problems: "list[str] | None" = None) -> "dict[str, Any]":
    """Return the values of ``[recall]``, ``mode`` of ``[store]``, ``time_zone``, the lists of ``[projects]``.

    Never raises: a value that can't be used means its default, and a line about it is added to `problems`.
    """
    messages = [] if problems is None else problems
    sections = _from_board(home)
    if sections is None:
        sections = _from_config(home, messages)
    found = _checked(sections, messages)
    messages.extend(_passed_over(home))
    return found


def _passed_over(home: str) -> "list[str]":
    """Return the line about what is set here, where it does not count, for commands that a person types."""
    named = os.environ.get("REVERIE_HOME", "")
    if named and os.path.abspath(os.path.expanduser(named)) != home:
        return [
            f"REVERIE_HOME does not count in sessions, which keep all in {home}."
            " `reverie install`, typed in a terminal where it is set, makes it count"
        ]
    set_here = sorted(name for name in os.environ if name.startswith(_OURS))
    if not set_here:
        return []
    section, _, key = set_here[0][len("REVERIE_") :].lower().partition("__")
    return [f"{set_here[0]} does not count in sessions. `reverie config set {section}.{key}` does"]


def board(home: str) -> "dict[str, Any]":
    """Return what the worker last left for the hooks in ``board.json``, {} when there is none to read."""
    try:
        value = jsonish.loads(
            jsonish.decode(places.read_file(f"{home}/{home_files.HOOK_STATE}", _MOST_BOARD))
        )
    except (OSError, ValueError):
        # No worker ran yet, or it is of a version that writes other things: nothing is lost but speed.
        return {}
    return value if isinstance(value, dict) else {}


def config_stamp(home: str) -> "list[int] | None":
    """Return size, mtime_ns and ctime_ns of ``config.toml``, or None when there is none."""
    file = f"{home}/{home_files.CONFIG}"
    try:
        # A link that leads round in a ring is there, too, and no settings.
        info = os.stat(file) if os.path.exists(file) else os.lstat(file)
    except (OSError, ValueError):
        return None
    return [info.st_size, info.st_mtime_ns, info.st_ctime_ns]


def _from_board(home: str) -> "dict[str, Any] | None":
    """Return the board's settings by section, or None when ``config.toml`` is another than they came from."""
    seen = board(home)
    stamp = config_stamp(home)
    if stamp is None:
        return {}
    kept = seen.get("settings")
    return kept if isinstance(kept, dict) and seen.get("config_stamp") == stamp else None


def _from_config(home: str, problems: "list[str]") -> "dict[str, Any]":
    try:
        return parsed(config_text(f"{home}/{home_files.CONFIG}"))
    except ValueError as error:
        problems.append(f"{home_files.CONFIG} can't be read, so recall goes by its defaults: {error}")
        return {"store": {"mode": least_mode(home)}}


def config_text(file: str) -> str:
    """Return what stands in the settings file, "" when there is none; a pipe is not waited for.

    Raises ValueError, in words for a person, when it is no text that anybody can go by.
    """
    try:
        if not stat.S_ISREG(os.stat(file).st_mode):
            raise ValueError("it is no file")
        raw = places.read_file(file, _MOST_CONFIG + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from error
    if len(raw) > _MOST_CONFIG:
        raise ValueError("it is longer than 1 MB")
    try:
        # Some editors on Windows put a mark before the first line, which is no TOML.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no text in UTF-8, from byte {error.start + 1} on") from error


def parsed(text: str) -> "dict[str, Any]":
    """Return the settings by section that stand in `text`; ValueError where it is no TOML."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except tomllib.TOMLDecodeError:
        raise
    except ValueError as error:  # of a number with thousands of digits
        raise ValueError("a number in it is too long") from error


def least_mode(home: "str | os.PathLike[str]") -> str:
    """Return the mode to go by while ``config.toml`` is no TOML: the least that a line of it names.

    Whoever wrote `off` there wanted less than everything, and a slip in another line changes nothing in that.
    So did who named projects to leave alone: as nobody can tell which those are, all are.
    """
    import re

    file = f"{os.fspath(home)}/{home_files.CONFIG}"
    try:
        text = places.read_file(file, _MOST_CONFIG).decode("utf-8", "replace")
    except OSError:
        return MODES[-1]
    lines = "\n".join(line.split("#")[0] for line in lines_of(text))
    keys = "|".join(PROJECTS)
    if re.search(rf"(?m)(^|[\s.{{,\ufeff])[\"']?({keys})[\"']?\s*=", lines):
        return MODES[0]
    named = re.findall(r"(?m)(?:^|[\s.{,\ufeff])[\"']?mode[\"']?\s*=\s*[\"']?(\w+)", lines)
    return min((mode for mode in named if mode in MODES), key=MODES.index, default=MODES[-1])


def config_fault(home: str) -> str:
    """Return why ``config.toml``, as it is now, stops background work; "" when nothing is known against it.

    The one rule for all who tell a person of it without reading every setting. The worker notes what it met
    (`pipeline.recall.prepared.hook_state`); until it has met this file, what hooks see in it counts. What
    variables of the environment say is no part of it.
    """
    stamp = config_stamp(home)
    seen = board(home)
    if stamp is None or seen.get("config_stamp") == stamp:
        return ""
    if seen.get("config_problem_stamp") == stamp:
        return str(seen.get("config_problem") or "")
    problems: list[str] = []
    try:
        _checked(parsed(config_text(f"{home}/{home_files.CONFIG}")), problems)
    except ValueError as error:
        problems = [str(error)]
    return f"{home_files.CONFIG}: {problems[0]}" if problems else ""


def noted(seen: "dict[str, Any]", what: str) -> str:
    """Return the words that the board `seen` holds about `what` (`pipeline.recall.prepared.hook_state`)."""
    value = seen.get(what)
    return str(value[1]) if isinstance(value, list) and len(value) == 2 else ""


def left_over(seen: "dict[str, Any]") -> "tuple[int, str]":
    """Return how many events the board `seen` says could not be taken, and why; (0, "") for none."""
    value = seen.get("left")
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], int):
        return value[0], str(value[1])
    return 0, ""


def home_fault(home: str) -> str:
    """Return why nothing can be written in `home`, as far as the system tells at once; "" where it can."""
    try:
        room = os.statvfs(home)
    except (AttributeError, OSError):
        return ""  # none yet, or a system that does not tell
    if room.f_flag & getattr(os, "ST_RDONLY", 1) or not os.access(home, os.W_OK):
        return f"nothing can be written in {home}"
    return f"the disk is full: {home}" if room.f_blocks and not room.f_bavail else ""


def step_for(number: "int | None") -> str:
    """Return what a person can do about an error of the system's when something is written."""
    return NO_ROOM if number in _NO_ROOM else "Make the folder writable for you."


def _checked(sections: "dict[str, Any]", problems: "list[str]") -> "dict[str, Any]":
    given = _section(sections, "recall")
    found: dict[str, Any] = {}
    for key, default in DEFAULTS.items():
        found[key] = _as(default, given[key]) if key in given else default
        if found[key] is None:
            problems.append(f"recall.{key}: {given[key]!r} can't be used; it counts as {default}")
            found[key] = default
    mode = _section(sections, "store").get("mode", MODES[-1])
    if mode not in MODES:
        # Somebody wanted less than everything; until the word is mended, nothing is the safe reading.
        problems.append(f"store.mode: there is no mode {mode!r}; recall is off")
        mode = "off"
    for key in PROJECTS:
        found[key] = listed(_section(sections, "projects").get(key, ()))
        if found[key] is None:
            # Somebody wanted less than everything, here too.
            problems.append(f"projects.{key}: this is no list of folders; recall is off")
            mode, found[key] = "off", []
    found["mode"] = mode
    found["time_zone"] = str(_section(sections, "extraction").get("time_zone", TIME_ZONE))
    return found


def listed(value: "Any") -> "list[str] | None":
    """Return a list of folders as a setting gives it, or a variable (as in ``PATH``); None if it is none."""
    items = [part for part in value.split(os.pathsep) if part] if isinstance(value, str) else value
    fits = isinstance(items, list | tuple) and all(isinstance(item, str) and item.strip() for item in items)
    return list(items) if fits else None


def _section(sections: "dict[str, Any]", name: str) -> "dict[str, Any]":
    section = sections.get(name)
    return section if isinstance(section, dict) else {}


def _as(default: "Any", value: "Any") -> "Any":
    """Return `value` as the type of `default`, or None when it is no such thing."""
    if isinstance(default, bool):
        return value if isinstance(value, bool) else _WORDS.get(str(value).lower())
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if isinstance(value, bool) or not 0 <= number < 1e12:
        return None
    if isinstance(default, float):
        return number
    return int(number) if number == int(number) else None
