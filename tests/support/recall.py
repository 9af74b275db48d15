"""A project with a store, a home, and the hooks run as the host runs them."""

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.hooklib import ownership, places, times
from pipeline.search import index_reader
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from tests.support.hooks import settings_of, worker_at_work

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
LIMIT = 60
NOW = "2026-11-27T10:00:00+00:00"
MOMENT = times.parse(NOW) or 0.0
FRONT = """---
name: {name}
description: {description}
type: {type}
metadata: {{type: {type}}}
id: {id}
importance: 0.6
confidence: 0.9
created: "{said}"
updated: "{said}"
origin: {origin}
sources: [{{session: {session}, uuid: u-1, quote: "as it was said", at: "{said}"}}]
anchors: [{anchors}]
{more}---
"""


def memory_text(name: str, description: str, body: str, **values: Any) -> str:
    """The bytes of a memory file as Reverie writes it, as text."""
    defaults = {
        "type": "project",
        "said": NOW,
        "origin": "user-stated",
        "session": "s-old",
        "anchors": "",
        "more": "",
    }
    ident = f"{abs(hash(name)) % 10**8:08x}-0000-4000-8000-000000000000"
    return (
        FRONT.format(name=name, description=description, **{"id": ident, **defaults, **values}) + body + "\n"
    )


@dataclass
class Desk:
    """A project at `project` with its store, and the home the hooks use."""

    project: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        return Path(places.home_dir())

    @property
    def store(self) -> Path:
        return Path(ownership.project_store(str(self.project)))

    @property
    def user_store(self) -> Path:
        return self.home / "memory"

    def write(
        self, name: str, description: str = "", body: str = "", *, store: Path | None = None, **values: Any
    ) -> Path:
        """Write a memory file into the project's store, or into `store`."""
        file = (store or self.store) / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(memory_text(name, description, body, **values), "utf-8", "surrogateescape")
        return file

    def index(self) -> None:
        """Make the project's search index, as a worker would."""
        index_store(self.home, self.store)

    def index_file(self) -> Path:
        """Return where the project's search index is."""
        return Path(index_reader.index_path(str(self.home), str(self.store)))

    def hook(self, event: str = "UserPromptSubmit", *, launcher: bool = False, **fields: Any) -> str:
        """Run the hook and return the context it gives, "" for none."""
        payload = {"session_id": "s-1", "cwd": str(self.project), "hook_event_name": event, **fields}
        return context_of(self.run(event, json.dumps(payload).encode(), launcher=launcher))

    def run(self, event: str, data: bytes, *, launcher: bool = False) -> bytes:
        """Run the hook on `data` and return what it prints; it must succeed and be silent on stderr."""
        command = [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), event]
        if launcher:
            command = ["sh", str(HOOKS / "run"), event]
        env = {**os.environ, "REVERIE_NOW": NOW, **self.env}
        given = {name: env.pop(name) for name in self.env if name.startswith("REVERIE_") and "__" in name}
        if given:
            # Hooks go by the file alone.
            self.home.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.home / "config.toml").write_text(settings_of(given), "utf-8")
        with worker_at_work(Path(places.hooks_home())) if event == "SessionStart" else nullcontext():
            done = subprocess.run(
                command, input=data, env=env, cwd=self.project, capture_output=True, timeout=LIMIT
            )
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    def log(self) -> list[str]:
        """The lines of the hook log without their times."""
        file = self.home / "logs" / "hook.log"
        return (
            [line.partition("Z ")[2] for line in file.read_text("utf-8").splitlines()]
            if file.exists()
            else []
        )

    def session_lines(self, session: str = "s-1") -> list[dict[str, Any]]:
        """The lines of a session's file."""
        file = self.home / "recall" / "sessions" / f"{session}.jsonl"
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()] if file.exists() else []


def index_store(home: Path, store: Path) -> None:
    """Make or refresh the search index of `store`."""
    refresh_index(home, Store.open(store), datetime(2026, 11, 27, 10, tzinfo=UTC))


def context_of(printed: bytes) -> str:
    """Return the context in what a hook printed: nothing, or one whole object of the host's shape."""
    if not printed:
        return ""
    whole = json.loads(printed)
    assert whole and set(whole) <= {"hookSpecificOutput", "systemMessage"}
    if set(whole) == {"systemMessage"}:
        return ""
    assert set(whole["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    return str(whole["hookSpecificOutput"]["additionalContext"])
