"""Claude Code's side: are the hooks in its settings or by a plugin, do their files exist, do they fire."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import LedgerError, SpoolError
from pipeline.core.home import Home
from pipeline.domain.finding import Finding
from pipeline.hooklib.events import EVENTS, TOOL
from pipeline.install import claude_settings
from pipeline.intake import spool
from pipeline.text.humanize import ago

_FILE = re.compile(r"\.py$|/run$|/python[\d.]*$")
_BY_HAND = "or merge what `reverie hooks` prints into settings.json."
_INIT = f"Run `reverie init`, {_BY_HAND}"
_INSTALL = f"Run `reverie install`, {_BY_HAND}"


def check(app: App) -> Iterator[Finding]:
    """Yield how the hooks are wired, and when the last event came."""
    found = claude_settings.wiring(paths.project_root(Path.cwd()))
    for error in found.unreadable:
        yield Finding("error", "hooks", str(error), "Mend it: Claude Code can't read it either.")
    for settings in found.files:
        if settings.hooks_off:
            message = f"{settings.file} switches all hooks off (disableAllHooks)"
            yield Finding("error", "hooks", message, "Remove disableAllHooks there.")
    for settings in found.with_hooks:
        yield from _wired(settings.file, settings.commands)
    yield from _before_tools(found, app.settings.recall.before_tools)
    if len(found.sources) > 1:
        message = (
            f"each event is noted more than once ({', '.join(found.sources)}); it is taken once all the same"
        )
        yield Finding("note", "hooks", message, "Keep one of them.")
    elif found.plugin:
        yield Finding("ok", "hooks", f"by the plugin {found.plugin}")
    elif not found.sources:
        message = "none in settings.json and no plugin enabled; --plugin-dir can't be seen from here"
        yield Finding("note", "hooks", message, _INIT)
    yield from _firing(app, bool(found.sources))


def _wired(file: Path, commands: dict[str, list[str]]) -> Iterator[Finding]:
    missing = [event for event in EVENTS if event not in commands]
    gone = sorted({path for lines in commands.values() for line in lines for path in _gone(line)})
    if missing:
        message = f"{file} has no hook for {', '.join(missing)}"
        yield Finding("error", "hooks", message, _INSTALL)
    if gone:
        message = f"{file} names what is not there: {', '.join(gone)}"
        yield Finding("error", "hooks", message, f"Reverie moved. {_INSTALL}")
    if not missing and not gone:
        yield Finding("ok", "hooks", f"all {len(EVENTS)} in {file}")


def _before_tools(found: claude_settings.Wiring, wanted: bool) -> Iterator[Finding]:
    """Yield whether the hook before the use of a tool is where the setting wants it, and only there."""
    files = ", ".join(str(settings.file) for settings in found.before_tools)
    if wanted and not files:
        message = "recall.before_tools is on, but no settings file has the hook for it"
        yield Finding("error", "hooks", message, "Run `reverie install`.")
    elif wanted:
        yield Finding("ok", "hooks", f"{TOOL} in {files}")
    elif files:
        message = f"{files} has a hook for {TOOL}, but recall.before_tools is off"
        yield Finding("note", "hooks", message, "Run `reverie install`, which takes it out.")


def _gone(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return [word for word in words if word.startswith("/") and _FILE.search(word) and not Path(word).exists()]


def _firing(app: App, wired: bool) -> Iterator[Finding]:
    now = app.clock.now()
    last = _last_event(app)
    if last is not None:
        yield Finding("ok", "events", f"the last one, {last[0]}, came {ago(last[1], now)}")
    elif wired:
        fix = "Finish a turn in a new session: hooks are read at its start."
        yield Finding("note", "events", "none has come yet", fix)
    log = Home(app.home).hook_log
    try:
        written, lines = log.stat().st_mtime, log.read_text("utf-8", "replace").strip().split("\n")
    except OSError:
        return
    if lines[-1]:
        message = f"it wrote {ago(written, now)}: {lines[-1]}"
        yield Finding("note", "hook.log", message, f"Mend that, then remove {log}.")


def _last_event(app: App) -> tuple[str, float] | None:
    """Return hook and time (epoch seconds) of the last event as far as it can be told, or None."""
    try:
        if Home(app.home).ledger.exists():
            with app.ledger(to_look=True) as ledger:
                return spool.last_event(app.home, ledger)
    except (LedgerError, SpoolError):
        # Told by the check of the ledger; what is in the spool is known all the same.
        pass
    try:
        return spool.last_event(app.home, None)
    except SpoolError:
        # Told by the check of the spool.
        return None
