"""A real `reverie watch` over transcripts that grow, and what came of it in the ledger."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from threading import Timer
from typing import Any

from tests.support.transcripts import Transcript, encode, enqueue, tool_use, user
from tests.support.warm import LIMIT, shared_workers

NOW = "2026-03-02T09:40:00Z"
_LAST_REWIND = 60
"""A rewind past the end of a conversation that is over leaves it as it is, unlike one import of all."""
WORDS = ("café", "日本語の文", "naïve", "plain words", "🙂 smile", "Ünïcode")


def environment(place: Path, home: str, **more: str) -> dict[str, str]:
    """Return the whole environment of a command with its home below `place`."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "CLAUDE_CONFIG_DIR": str(place / "claude"),
        "REVERIE_HOME": str(place / home),
        "REVERIE_NOW": NOW,
        **more,
    }


def run(env: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one command of ``reverie`` to its end."""
    return shared_workers().reverie(arguments, env, Path.cwd())


class Watch:
    """A process of ``reverie watch --json``, with what it told so far: how far each file was read."""

    def __init__(
        self, env: dict[str, str], folder: Path, *, settle: float = 0.01, every: float = 1.0
    ) -> None:
        self.offsets: dict[str, int] = {}
        self.process = subprocess.Popen(
            [
                sys.executable, "-m", "pipeline.cli.main", "watch", "--dir", str(folder), "--json",
                "--settle", str(settle), "--every", str(every),
            ],
            env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

        # Who waits for what never comes then sees a dead process.
        self._bound = Timer(LIMIT, self.process.kill)
        self._bound.daemon = True
        self._bound.start()

    def hears(self) -> dict[str, Any] | None:
        """Return the next pass it tells of, None when the process is dead."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return None
        told: dict[str, Any] = json.loads(line)
        self.offsets[told["file"]] = told["offset"]
        return told

    def reads(self, key: str, offset: int) -> bool:
        """Wait until the file `key` was read up to `offset`; False when the process is dead."""
        while self.offsets.get(key, -1) < offset:
            if self.hears() is None:
                return False
        return True

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it by a signal; return its code and what it complained of."""
        self.process.send_signal(number)
        self._bound.cancel()
        _, complaints = self.process.communicate(timeout=60)
        return self.process.returncode, complaints


def lines(session: Transcript, random: Random) -> Iterator[bytes]:
    """Yield the lines of a session of every kind, without an end."""
    number = 0
    while True:
        number += 1
        before = len(session.records)
        what = random.randrange(12)
        text = f"{number}: {random.choice(WORDS)} " * random.randrange(1, 9)
        if what < 5:
            session.user(text)
        elif what < 8:
            session.assistant(text)
        elif what == 8:
            session.tool("Bash", {"command": "ls"}, "output " * 30)
        elif what == 9:
            session.assistant([{"type": "text", "text": text}, tool_use("Edit", {}, f"toolu_{number}")])
        elif what == 10:
            session.raw(b"no record " + text.encode() + b"\n")
        else:
            if number < _LAST_REWIND:
                chained = [
                    record["uuid"]
                    for record in session.records[-9:]
                    if isinstance(record, dict) and "uuid" in record
                ]
                session.parent = random.choice(chained or [session.parent])
            session.add(user(text, isMeta=True))
            session.raw(enqueue(text, sessionId=session.session_id, timestamp=session.stamp()))
            session.add(user(text))
        yield b"".join(map(encode, session.records[before:]))


def rows(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return what a ledger holds of transcripts, whatever the passes were in which it was read."""
    connection = sqlite3.connect(home / "ledger.sqlite")
    place = "(SELECT byte_offset FROM memory_transcript_entries WHERE id = {})"
    queries = {
        "entries": _all_but(connection, "memory_transcript_entries", "id", "file_id")
        + " ORDER BY source_file, byte_offset, block",
        "conversations": "SELECT source_file, session_id, first_message_at, last_message_at, entry_count,"
        f" status, reason, {place.format('first_row')}, {place.format('last_row')}"
        " FROM memory_conversations ORDER BY source_file, 8",
        "files": _all_but(connection, "memory_file_states", "id") + " ORDER BY file_path",
        "bad lines": "SELECT f.file_path, b.place, b.reason FROM bad_lines b"
        " JOIN memory_file_states f ON f.id = b.file_id ORDER BY 1, 2",
    }
    found = {name: connection.execute(query).fetchall() for name, query in queries.items()}
    connection.close()
    return found


def _all_but(connection: sqlite3.Connection, table: str, *left_out: str) -> str:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    return f"SELECT {', '.join(name for name in columns if name not in left_out)} FROM {table}"
