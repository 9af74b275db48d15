"""The machine: Python and its packages, the client, the home and who may read it, room, the clock."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from pipeline import __version__
from pipeline.app import damaged_files
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.clock import FixedClock, SystemClock, iso
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.core.tools import run_tool
from pipeline.domain.finding import Finding
from pipeline.hooklib import jsonish, places
from pipeline.llm.claude_program import find_claude, installed_claude
from pipeline.search.vectors import kept_key

PACKAGES: tuple[str, ...] = (
    "anthropic",
    "anyascii",
    "frontmatter",
    "orjson",
    "portalocker",
    "pydantic",
)
PACKAGES += ("rich", "tenacity", "tomlkit", "typer", "yaml")
_LEAST_FREE = 100 << 20
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_PROBE = "import importlib.util as u, sys; print(*(n for n in sys.argv[1:] if u.find_spec(n) is None))"
_EARLIEST = 2025


def check(app: App) -> Iterator[Finding]:
    """Yield what there is to say about the machine that Reverie runs on."""
    yield from _config(app)
    yield from _python()
    yield from _noted(app.home)
    yield from _setup(app.home)
    yield from _client(app)
    yield from _sessions(app.home)
    yield from _addresses(app)
    yield from _key(app)
    yield from _home(app.home)
    yield from _state(app.home)
    yield from _room(app.home)
    yield from _clock(app)


def _config(app: App) -> Iterator[Finding]:
    wrong = app.config_error
    if wrong is not None:
        message = f"{wrong}; until it is mended nothing is written and no model is asked"
        yield Finding("error", "config", message, wrong.fix)


def _key(app: App) -> Iterator[Finding]:
    """Say where the key for a server of vectors is kept, if one is."""
    kept = kept_key.where(app.home)
    if kept:
        yield Finding("ok", "embeddings key", f"kept {kept}; it is never shown")


def _python() -> Iterator[Finding]:
    version = f"Reverie {__version__}, Python {sys.version.split()[0]} at {sys.executable}"
    lacking = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if lacking:
        fix = "Install Reverie again: pipx install reverie, or pip install in that environment."
        yield Finding("error", "python", f"{version} lacks {', '.join(lacking)}", fix)
    else:
        yield Finding("ok", "python", version)
    if not hasattr(yaml, "CSafeLoader"):
        message = "PyYAML runs without its C library, so reading memories takes six times as long"
        yield Finding("note", "libyaml", message, "Install PyYAML from a wheel.")


def _noted(home: Path) -> Iterator[Finding]:
    """Look at the interpreter that the hooks will take: the one noted in the home."""
    file = Home(home).python
    again = "Run any `reverie` command that writes, such as `reverie work`, after removing that file."
    try:
        noted = file.read_text("utf-8").strip()
    except FileNotFoundError:
        if home.is_dir():
            message = "none is noted, so hooks look for one themselves"
            yield Finding("note", "interpreter", message, "`reverie work` notes this one.")
        return
    except (OSError, UnicodeDecodeError) as error:
        yield Finding("error", "interpreter", f"{file} can't be read: {error}", "Remove it; it is made anew.")
        return
    if not os.access(noted, os.X_OK):
        yield Finding("error", "interpreter", f"the hooks' Python is gone: {noted}", f"{again} ({file})")
        return
    if Path(noted) == Path(sys.executable):
        yield Finding("ok", "interpreter", "hooks and worker run under this Python")
        return
    try:
        code, out, err = run_tool((noted, "-c", _PROBE, *PACKAGES))
    except InputError as error:
        code, out, err = 1, "", str(error)
    if code or out.strip():
        why = f"lacks {', '.join(out.split())}" if not code else f"does not run: {err.strip()[-200:]}"
        yield Finding("error", "interpreter", f"the hooks' Python, {noted}, {why}", f"{again} ({file})")
    else:
        yield Finding("ok", "interpreter", f"hooks and worker run under {noted}")


def _setup(home: Path) -> Iterator[Finding]:
    """Tell of an environment that the plugin could not make and nobody made by hand since."""
    file = Home(home).setup
    if not file.is_file() or Home(home).python.exists():
        return
    state, _, message = file.read_text("utf-8", "replace").partition("\n")
    if state.startswith(("failed", "off")):
        fix = f"Mend that, or install it by hand as named; all of it is in {Home(home).setup_log}."
        yield Finding("error", "environment", message.strip(), fix)


def _client(app: App) -> Iterator[Finding]:
    program = find_claude(app.settings.model)
    if program is None:
        return
    version = _version_of(program)
    yield Finding("ok", "claude", f"{program}{f', version {version}' if version else ''}")


def _sessions(home: Path) -> Iterator[Finding]:
    """Tell what of this shell does not hold in sessions, where no variable counts and PATH is a noted one."""
    if places.by_client():
        return
    theirs = places.hooks_home()
    if home.absolute() != Path(theirs).absolute():
        message = f"this shell's home is {home}, sessions keep all in {theirs}"
        yield Finding("error", "sessions", message, "`reverie install` here makes this one theirs as well.")
    names = sorted(name for name in os.environ if name.startswith("REVERIE_") and "__" in name)
    if names:
        message = f"{', '.join(names)} counts for commands in this shell, not in sessions"
        yield Finding("note", "sessions", message, "`reverie config set` sets it for both.")
    found = shutil.which("claude")
    noted = places.first_line(str(Home(home).noted_path)) or places.FOLDERS
    if found and installed_claude(noted) is None:
        message = f"background work does not find {found}: its PATH is {noted}"
        yield Finding(
            "note", "sessions", message, "`reverie install` notes where it is, or model.claude_path."
        )


def _addresses(app: App) -> Iterator[Finding]:
    """Tell of an address that comes from the environment, since in a session a project can set that."""
    if app.settings.model.base_url:
        return
    named = [name for name in app.settings.model.pass_env if name.endswith(("BASE_URL", "ENDPOINT_URL"))]
    for name in named:
        message = f"model.pass_env takes {name} from the session, where a project's settings can change it"
        yield Finding("note", "model", message, "Write the address into model.base_url instead.")


def _version_of(program: Path) -> str:
    """Return the client's version by its place or package.json, "" if neither tells; nothing is run."""
    real = Path(os.path.realpath(program))
    named = _VERSION.fullmatch(real.name)
    if named:
        return named.group()
    for folder in list(real.parents)[:3]:
        try:
            package = jsonish.loads((folder / "package.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and "claude-code" in str(package.get("name")):
            return str(package.get("version", ""))
    return ""


def _home(home: Path) -> Iterator[Finding]:
    if not home.is_dir():
        yield Finding("note", "home", f"{home} does not exist yet; the first event makes it")
        return
    loose = [path for path in Home(home).private if path.exists() and _open_to_others(path)]
    for path in loose:
        mode = "700" if path.is_dir() else "600"
        yield Finding("error", "permissions", f"others can read {path}", f"chmod {mode} '{path}'")
    if not os.access(home, os.W_OK):
        yield Finding("error", "home", f"{home} can't be written", "Make it writable for you.")
    elif not loose:
        yield Finding("ok", "home", str(home))


def _state(home: Path) -> Iterator[Finding]:
    """Tell of state files that count as empty since they can't be read."""
    for item in damaged_files.in_home(home):
        yield Finding(item.level, item.code, f"{item.path}: {item.message}", item.fix)


def _open_to_others(path: Path) -> bool:
    return os.name != "nt" and bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def _room(home: Path) -> Iterator[Finding]:
    path = next((folder for folder in (home, *home.parents) if folder.is_dir()), None)
    if path is None:
        return
    free = shutil.disk_usage(path).free
    if free < _LEAST_FREE:
        message = f"only {free >> 20} MB are free where {path} is"
        yield Finding("error", "disk", message, "Make room: below it, events and memories can't be written.")


def _clock(app: App) -> Iterator[Finding]:
    now, real = app.clock.now(), SystemClock().now()
    if isinstance(app.clock, FixedClock):
        yield Finding("note", "clock", f"REVERIE_NOW stops it at {iso(now)}", "Unset REVERIE_NOW.")
    newest = max(
        (file.stat().st_mtime for file in (app.home, paths.projects_dir()) if file.exists()), default=0.0
    )
    ahead = newest - real.timestamp()
    if real.year < _EARLIEST or ahead > 3600:
        message = f"it says {iso(real)}" + (", but files here are newer" if ahead > 3600 else "")
        fix = "Set the machine's clock: waits, caps and dates go by it."
        yield Finding("error", "clock", message, fix)
    else:
        yield Finding("ok", "clock", iso(real))
