"""What `test_many_transcripts` runs as a process of its own, since it is killed and copied.

python -m tests.intake.many_transcripts FOLDER (same | killed | lost)
"""

import os
import shutil
import signal
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

from pipeline.config import Settings
from pipeline.core.clock import FixedClock
from pipeline.core.errors import InputError
from pipeline.intake import decoders
from pipeline.intake.ingest import file_key, ingest_file
from pipeline.intake.many import Intake
from pipeline.ledger import open_ledger
from pipeline.transcript import survey
from tests.support.transcripts import Transcript, encode, tool_use

NOW = FixedClock(datetime(2026, 3, 3, tzinfo=UTC))
SECRET = "gh" + "p_" + "madeUp7" * 6


def material(folder):
    """Write transcripts of every kind, and two that are none."""
    projects = folder / "projects"
    sessions = [Transcript(session_id=f"session-{number}") for number in range(9)]
    for number, session in enumerate(sessions):
        session.user(f"question {number} of the person")
        session.tool("Bash", {"command": "ls"}, "output " * 50)
        session.assistant(f"answer {number}")
    sessions[1].user(f"use {SECRET} for it")
    sessions[4].user(f"again {SECRET}, in a tool's name too")
    sessions[4].assistant([tool_use(SECRET, {})])
    sessions[5].user("and then", parentUuid=None)
    for number, session in enumerate(sessions):
        path = projects / f"-w-{number % 2}" / f"session-{number}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        session.write(path)
    (projects / "-w-0" / "session-2b.jsonl").write_bytes(encode({"type": "session_meta", "payload": {}}))
    (projects / "-w-1" / "session-3b.jsonl").write_bytes(b"nothing of the kind\n" * 300)
    copied = (projects / "-w-0" / "session-0.jsonl").read_bytes()
    (projects / "-w-1" / "session-9.jsonl").write_bytes(copied + b'{"torn\n' + copied)
    return projects


def together(projects, home, act=None):
    """Read all of `projects` into the ledger in `home`; `act` is called before each statement there."""
    with open_ledger(home / "ledger.sqlite") as ledger:
        if act is not None:
            ledger.connection.set_trace_callback(act)
        found = Intake(ledger, projects, settings=Settings(), clock=NOW).read(survey(projects))
        return [getattr(item, "skipped", "error") for item in found]


def one_by_one(projects, home):
    """Read all of `projects`, each file in a transaction of its own."""
    with open_ledger(home / "ledger.sqlite") as ledger:
        for found in survey(projects):
            path = Path(found.path)
            key = file_key(path, (projects,))
            try:
                ingest_file(ledger, path, key=key, settings=Settings(), clock=NOW, quiet=True)
            except InputError as error:
                assert "not a transcript" in str(error), error


def dump(home):
    """Return all rows of the ledger in `home`, but for what is made at random in each."""
    connection = sqlite3.connect(home / "ledger.sqlite")
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {}
    for table in sorted(set(tables) - {"schema_migrations", "identity", "secret_salt", "secret_marks"}):
        rows[table] = connection.execute(f"SELECT * FROM {table}").fetchall()
    rows["secret_marks"] = sorted(connection.execute("SELECT length, spaced FROM secret_marks").fetchall())
    connection.close()
    assert len(rows["memory_transcript_entries"]) > 20
    return rows


def home_for(folder, name):
    home = folder / name
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    return home


def same(folder, projects, expected):
    """Read all at once, in this process and with two more, and once again."""
    for worth in (decoders.WORTH_IT, 0):
        decoders.WORTH_IT = worth
        home = home_for(folder, f"together-{worth}")
        outcomes = together(projects, home)
        assert dump(home) == expected, worth
        assert outcomes.count("error") == 2 and outcomes.count("") == len(outcomes) - 2, outcomes
        assert set(together(projects, home)) == {"unchanged", "error"}
        assert dump(home) == expected
        with open_ledger(home / "ledger.sqlite") as ledger:
            ledger.execute("UPDATE memory_file_states SET status = 'ingesting' WHERE id = 1")
        together(projects, home)
        assert dump(home) == expected, "what a crash left half read"


class Killer:
    """Kills this process before the statement of a number."""

    def __init__(self, point):
        self.left = point

    def __call__(self, statement):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed(folder, projects, expected):
    """Kill the reading before every few statements, and read again."""
    statements: list[str] = []
    together(projects, home_for(folder, "whole"), statements.append)
    writes = [
        n for n, text in enumerate(statements) if text.lstrip().startswith(("INSERT", "UPDATE", "COMMIT"))
    ]
    assert any(text.startswith("COMMIT") for text in statements)
    for point in [*writes[:: max(1, len(writes) // 12)], len(statements) - 1]:
        home = home_for(folder, "killed")
        pid = os.fork()
        if not pid:
            together(projects, home, Killer(point))
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        together(projects, home)
        assert dump(home) == expected, (point, statements[point])


def lost(folder, projects, expected):
    """Kill the two other processes while they are read from."""
    for number in range(2):
        record = {"type": "progress", "sessionId": "s", "data": {}}
        lines = [encode({**record, "uuid": f"{number}-{n:040}"}) for n in range(18_000)]
        (projects / "-w-0" / f"a-long-{number}.jsonl").write_bytes(b"".join(lines))
    home = home_for(folder, "plain")
    one_by_one(projects, home)
    decoders.WORTH_IT = 0
    killed_now: list[int] = []

    def kill(statement):
        if statement.lstrip().startswith("INSERT INTO link_batches"):
            children = Path("/proc/self/task").glob("*/children")
            for pid in [int(word) for file in children for word in file.read_text().split()]:
                os.kill(pid, signal.SIGKILL)
                killed_now.append(pid)

    other = home_for(folder, "lost")
    together(projects, other, kill)
    assert len(set(killed_now)) == 2, killed_now
    assert dump(other) == dump(home)


def main():
    folder, name = Path(sys.argv[1]), sys.argv[2]
    os.environ["REVERIE_HOME"] = str(folder / "home")
    projects = material(folder)
    home = home_for(folder, "expected")
    one_by_one(projects, home)
    {"same": same, "killed": killed, "lost": lost}[name](folder, projects, dump(home))
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
