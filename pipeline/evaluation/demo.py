"""``reverie demo``: the main job in a temporary home, through the real hook and the real worker.

A sample session is laid where Claude Code would write it, its Stop event is given to the hook exactly as the
host would, and the worker that the hook starts extracts with recorded replies of a model. Nothing outside
the temporary home is touched.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from pipeline.core import locks, paths
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.home import Home
from pipeline.hooklib.places import PROJECT_STORE, sanitise
from pipeline.install.hook_registration import note_interpreter
from pipeline.intake import spool

QUESTION = "can i mock the tide server in the new test?"
"""A prompt of a later session that one of the sample's memories bears on."""
LONGEST_SECONDS = 60.0
LONGEST_LIVE_SECONDS = 1800.0
_IDLE_LOOKS = 10
_TIMEOUT = "REVERIE_MODEL__TIMEOUT_SECONDS"
_LIVE = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "REVERIE_RECORD_ORIGIN", _TIMEOUT)


@dataclass(frozen=True, slots=True)
class Staged:
    """A demo ready to be looked at: its environment, its store, and the transcript used."""

    env: dict[str, str]
    store: Path
    transcript: Path
    home: Path


def stage(root: Path, *, transcript: Path | None = None, llm: str = "") -> Staged:
    """Run one session through hook and worker under `root`; returns when the worker is done.

    Without `transcript` the bundled sample is used, with `llm` empty the bundled replies. Raises
    InputError when the transcript names no session, ReverieError when the worker left no memory folder.
    """
    sample = paths.bundled("fixtures/demo")
    source = transcript or sample / "transcript.jsonl"
    session, cwd, ended = _facts(source)
    config = root / ".claude"
    project = config / "projects" / sanitise(cwd)
    ensure_dir(project)
    laid = project / f"{session}.jsonl"
    shutil.copyfile(source, laid)
    names = ("PATH", "LANG", "LC_ALL", "TERM", "TZ", *(_LIVE if llm else ()))
    kept = {name: os.environ[name] for name in names if name in os.environ}
    env = {**kept, "HOME": str(root), "CLAUDE_CONFIG_DIR": str(config), "REVERIE_NOW": ended}
    home = config / "reverie"
    note_interpreter(home)
    provider = llm or f"replay:{sample / 'cassettes'}"
    settings = [
        f"model.provider = {json.dumps(provider)}",
        # Hooks hand on what the settings name: the clock stands still for the worker as well.
        f"model.pass_env = {json.dumps(['REVERIE_NOW', *(name for name in kept if name in _LIVE)])}",
        "worker.flush_wait_seconds = 0",
        "worker.linger_seconds = 0",
        "extraction.include_print_sessions = true",
        # The sample was recorded there: everywhere else its requests would have other times in them.
        *([] if transcript else ['extraction.time_zone = "UTC"']),
        # Typed with the command, so the key in the environment is meant.
        *(['model.api_key_env = "ANTHROPIC_API_KEY"'] if "ANTHROPIC_API_KEY" in kept else []),
    ]
    if _TIMEOUT in kept:
        settings.append(f"model.timeout_seconds = {json.dumps(kept[_TIMEOUT])}")
    write_atomic(Home(home).config, "".join(f"{line}\n" for line in settings).encode())
    event = {
        "session_id": session,
        "transcript_path": str(laid),
        "cwd": cwd,
        "hook_event_name": "Stop",
        "stop_hook_active": False,
    }
    fire("Stop", event, env)
    _wait(home, LONGEST_LIVE_SECONDS if llm else LONGEST_SECONDS)
    return Staged(env, project / PROJECT_STORE, laid, home)


def fire(name: str, event: dict[str, object], env: dict[str, str]) -> None:
    """Give `event` to the hook as Claude Code does: JSON on stdin, the launcher from the bundle."""
    launcher = paths.bundled("hooks") / "run"
    subprocess.run(["sh", str(launcher), name], input=json.dumps(event).encode(), env=env, check=True)


def reverie(arguments: list[str], staged: Staged) -> str:
    """Return what ``reverie ARGUMENTS`` prints inside the staged home; ReverieError where it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli.main", *arguments],
        env=staged.env,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        why = done.stderr.decode("utf-8", "replace").strip().removeprefix("error: ")
        raise ReverieError(
            f"`reverie {shlex.join(arguments)}` ended with {done.returncode}: {why or 'it said nothing'}",
            fix="Mend the cause named.",
        )
    return done.stdout.decode("utf-8", "replace")


def _facts(source: Path) -> tuple[str, str, str]:
    """Return session id, cwd, and a moment two hours after the last entry (so that the talk is over)."""
    session = cwd = ""
    last = None
    try:
        lines = source.read_bytes().splitlines()
    except OSError as error:
        raise InputError(str(error), file=str(source), fix="Name a readable transcript.") from error
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            session = session or str(record.get("sessionId") or "")
            cwd = cwd or str(record.get("cwd") or "")
            moment = parse_time(record.get("timestamp"))
            last = max(last, moment) if last and moment else last or moment
    if not session or not cwd or last is None:
        raise InputError(
            "no session id, directory or time in it", file=str(source), fix="Name a Claude Code transcript."
        )
    return session, cwd, iso(last + timedelta(hours=2))


def _wait(home: Path, longest: float) -> None:
    """Wait until the hook's worker has taken the event and gone."""
    deadline = time.monotonic() + longest
    idle = 0
    while time.monotonic() < deadline and idle < _IDLE_LOOKS:
        alive = locks.worker_alive(home)
        if not alive and not any(True for _ in spool.pending(home)):
            return
        # A worker that died leaves the event lying; one that is about to look again is back at once.
        idle = 0 if alive else idle + 1
        time.sleep(0.1)
    raise ReverieError(
        "the worker did not finish", file=str(Home(home).worker_log), fix="Read the log named above."
    )
