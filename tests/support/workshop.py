"""A place to run workers in: a config directory, a home, a project, and sessions with their transcripts."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.core.clock import Clock, FixedClock, parse_time
from pipeline.hooklib.places import sanitise
from pipeline.intake import spool
from pipeline.ledger import Ledger, open_ledger
from pipeline.worker import Worker, WorkerContext
from tests.support.bounds import bound
from tests.support.hooks import HOOKS, note_home, wait_for_lock
from tests.support.stores import tree
from tests.support.transcripts import Transcript
from tests.support.warm import shared_workers

ROOT = Path(__file__).resolve().parents[2]
QUICK = {
    "REVERIE_WORKER__FLUSH_WAIT_SECONDS": "0",
    "REVERIE_WORKER__LINGER_SECONDS": "0",
    # Its own tests turn it on: elsewhere a model that only extracts is asked.
    "REVERIE_DREAM__ENABLED": "false",
    "REVERIE_DREAM__CUES": "false",
    "REVERIE_NO_LIVE_CALLS": "1",
}
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def at(text: str) -> datetime:
    """Return the moment that `text` names."""
    moment = parse_time(text)
    assert moment is not None
    return moment


def _plain_index(text: str) -> str:
    """Return the index with its entries by name instead of id."""
    index = json.loads(text)
    entries = sorted(index["entries"].values(), key=lambda entry: str(entry["name"]))
    return json.dumps({**index, "entries": entries})


class Workshop:
    """Everything below one folder, `place`; `env` is the whole environment of the processes run here."""

    def __init__(self, place: Path, env: Mapping[str, str]) -> None:
        self.place = place
        self.home = place / "reverie"
        self.project = place / "shop"
        self.project.mkdir(parents=True, exist_ok=True)
        self.projects = place / "claude" / "projects"
        self.folder = self.projects / sanitise(os.path.realpath(self.project))
        self.store = self.folder / "memory"
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "CLAUDE_CONFIG_DIR": str(place / "claude"),
            "REVERIE_HOME": str(self.home),
            **QUICK,
            **env,
        }
        self.longest_file = -1
        """Bytes beyond which no file can grow, as on a full disk; -1 for any number."""
        self._events = 0

    # -- what the host does -----------------------------------------------------------------------

    def session(self, number: int = 1, start: str = "2026-03-02T09:00:00Z", **values: Any) -> Transcript:
        """Begin a session in the project; `write` brings it to its file."""
        raw = hashlib.sha256(f"session {number}".encode()).hexdigest()
        name = f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-9{raw[17:20]}-{raw[20:32]}"
        return Transcript(name, str(self.project), start, **values)

    def write(self, session: Transcript) -> Path:
        """Write `session` as it stands to its transcript."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return session.write(self.folder)

    def payload(self, session: Transcript, **values: Any) -> bytes:
        """Return what the host would hand a hook about `session`."""
        path = self.folder / f"{session.session_id}.jsonl"
        fields = {"session_id": session.session_id, "transcript_path": str(path), "cwd": session.cwd}
        return json.dumps({**fields, **values}).encode()

    def fire(self, session: Transcript, hook: str = "Stop", **values: Any) -> Path:
        """Write `session` and leave the spool file that `hook` would leave."""
        self.write(session)
        self._events += 1
        folder = self.home / "spool"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        stamp = int(session.now.timestamp() * 1000)
        file = folder / f"{stamp:013d}-1-{self._events:06x}-{hook}.json"
        file.write_bytes(self.payload(session, hook_event_name=hook, **values))
        return file

    def started(self, *, room: bool = True, session: str = "new", **env: str) -> str:
        """Start a session in the project as the host does; return what its person reads.

        Without `room` nothing can be written, as on a full disk.
        """
        fields = {"session_id": session, "cwd": str(self.project), "source": "startup"}
        full = () if room else ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
        printed = self._hook("recall.py", "SessionStart", fields, env, full)
        return str(json.loads(printed).get("systemMessage", "")) if printed else ""

    def status_line(self, **env: str) -> str:
        """Return Reverie's part of the status line in the project."""
        return self._hook("statusline.py", "", {"cwd": str(self.project)}, env).strip()

    def _hook(
        self,
        name: str,
        event: str,
        fields: Mapping[str, str],
        env: Mapping[str, str],
        before: Sequence[str] = (),
    ) -> str:
        note_home(self.projects.parent, self.home)
        return subprocess.run(
            [*bound(), *before, sys.executable, "-I", "-S", str(HOOKS / name), event],
            input=json.dumps({**fields, "hook_event_name": event}).encode(),
            env={**self.env, "REVERIE_PYTHON": "/bin/true", **env},
            cwd=self.project, capture_output=True, timeout=60, check=True,
        ).stdout.decode()  # fmt: skip

    # -- what Reverie does ------------------------------------------------------------------------

    def work(self, **env: str) -> int:
        """Run the worker as a process bound by file modes until it ends; return its exit status."""
        return shared_workers().run({**self.env, **env}, longest_file=self.longest_file)

    def reverie(self, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a `reverie` command in the project."""
        return shared_workers().reverie(
            arguments, {**self.env, **env}, self.project, longest_file=self.longest_file
        )

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """Open the ledger."""
        with open_ledger(self.home / "ledger.sqlite") as ledger:
            yield ledger

    @contextmanager
    def worker(self, clock: Clock | str) -> Iterator[Worker]:
        """Open a worker in this process; the environment must be this workshop's."""
        stopped = FixedClock(at(clock)) if isinstance(clock, str) else clock
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self.ledger() as ledger:
            yield Worker(WorkerContext(self.home, config.load(self.home), stopped, ledger))

    def await_idle(self) -> None:
        """Wait until no worker is alive and nothing is in the spool."""
        for _ in range(50):
            with open(os.open(self.home / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600), "rb") as lock:
                wait_for_lock(lock.fileno())
            if not list(spool.pending(self.home)):
                return
        raise AssertionError(f"no worker takes the events that wait: {self.log()[-5:]}")

    # -- what came of it --------------------------------------------------------------------------

    def memories(self) -> list[str]:
        """Return the names of the memory files, archive left out."""
        files = [
            f for f in self.store.rglob("*.md") if not {".reverie", "archive", "episodes"} & set(f.parts)
        ]
        return sorted(f.stem for f in files if not f.stem.startswith(("MEMORY", "CORE", "REFLECTION")))

    def log(self) -> list[str]:
        """Return the lines of the worker's log."""
        return (self.home / "logs" / "worker.log").read_text("utf-8").splitlines()

    def temporary(self) -> list[str]:
        """Return files that only an interrupted write leaves."""
        marks = ("reverie-tmp-", "/staged/", "/conflicts/", "intent.json")
        found = [f.relative_to(self.place).as_posix() for f in self.place.rglob("*") if f.is_file()]
        return sorted(name for name in found if any(mark in name for mark in marks))

    def knowledge(self) -> dict[str, str]:
        """Return the store's files as text, with the ids made at random left out."""
        kept = {session.stem for session in self.folder.glob("*.jsonl")}
        kept |= set(_UUID.findall("".join(f.read_text("utf-8") for f in self.folder.glob("*.jsonl"))))
        files = {name: data.decode("utf-8") for name, data in tree(self.store).items()}
        made = {found for text in files.values() for found in _UUID.findall(text)} - kept
        out: dict[str, str] = {}
        for name, text in files.items():
            for value in made:
                text = text.replace(value, "<id>").replace(value[:6], "<6>")
                name = name.replace(value[:6], "<6>")
            out[name] = _plain_index(text) if name == "_index.json" else text
        return out

    def books(self) -> dict[str, Any]:
        """Return what the ledger says of the work, without times, ids and the calls it took."""
        with self.ledger() as led:
            return {
                name: [tuple(row) for row in led.rows(query, ())]
                for name, query in {
                    "entries": "SELECT session_id, uuid, block, content FROM memory_transcript_entries"
                    " ORDER BY id",
                    "files": "SELECT file_path, status, last_processed_offset FROM memory_file_states",
                    "conversations": "SELECT id, status FROM memory_conversations ORDER BY id",
                    "events": "SELECT id, hook FROM events ORDER BY id",
                    "jobs": "SELECT kind, key, state, again, attempts, last_error FROM jobs ORDER BY id",
                    "runs": "SELECT strategy, from_row, through_row, outcome FROM runs"
                    " WHERE outcome IS NOT NULL ORDER BY started_at, through_row",
                    "watermarks": "SELECT key, strategy, row FROM watermarks ORDER BY 1, 2",
                    "inbox": "SELECT kind, reason FROM inbox ORDER BY id",
                }.items()
            }
