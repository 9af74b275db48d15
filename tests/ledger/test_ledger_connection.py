from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.core.errors import LedgerError, NewerSchemaError
from pipeline.ledger import files, migrations
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.ledger.dialogue import dialogue
from pipeline.ledger.jobs import list_jobs
from pipeline.ledger.watermarks import set_watermark, watermark


def _schema(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as raw, raw:
        return raw.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@pytest.mark.parametrize("through", range(migrations.LATEST))
def test_a_migrated_ledger_equals_a_fresh_one(tmp_path: Path, through: int) -> None:
    fresh, old = tmp_path / "fresh", tmp_path / "old"
    open_ledger(fresh).close()
    connection = sqlite3.connect(old, isolation_level=None)
    migrations.migrate(connection, old, steps=migrations.STEPS[:through])
    connection.close()
    open_ledger(old).close()
    assert _schema(old) == _schema(fresh)
    assert len(_schema(old)) > 20


def test_which_memories_a_past_run_made_is_taken_from_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    before = [step.__name__ for step in migrations.STEPS].index("run_memories")
    summaries = {
        "r1": '{"reason": "", "actions": [{"action": "created", "name": "a", "id": "m1"}, {"id": "m1"}]}',
        "r2": '{"actions": [{"op": "merge", "memories": ["a"]}, {"action": "known", "id": "m1"}]}',
        "r3": "torn {",
        "r4": '{"actions": [5, {"id": "m2"}]}',
        "r5": '{"actions": [{"id": 7}, {"id": ""}]}',
        "r6": "[]",
        "r7": None,
        "r8": '{"actions": 5}',
        "r9": "[" * 100_000,
    }
    connection = sqlite3.connect(path, isolation_level=None)
    migrations.migrate(connection, path, steps=migrations.STEPS[:before])
    connection.executemany(
        "INSERT INTO runs (id, kind, key, store, strategy, from_row, through_row, started_at, summary_json)"
        " VALUES (?, 'extract', 'k', 's', 'turn', 0, 1, 1, ?)",
        summaries.items(),
    )
    connection.close()
    with open_ledger(path) as led:
        rows = led.rows("SELECT run, memory FROM run_memories ORDER BY run, memory")
    assert [tuple(row) for row in rows] == [("r1", "m1"), ("r2", "m1"), ("r4", "m2")]


def test_entries_of_before_stay_and_their_tools_are_told(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    before = [step.__name__ for step in migrations.STEPS].index("deeds")
    connection = sqlite3.connect(path, isolation_level=None)
    migrations.migrate(connection, path, steps=migrations.STEPS[:before])
    connection.execute("INSERT INTO memory_file_states (id, file_path) VALUES (1, 'k')")
    connection.executemany(
        "INSERT INTO memory_transcript_entries (session_id, source_file, role, content, tool_names, file_id,"
        " byte_offset, byte_length, block, uuid, speaker, channel, at_source, memory_writes, note,"
        " input_tokens, output_tokens) VALUES ('s', 'k', '', ?, ?, 1, ?, 1, 0, ?, ?, ?, 'own', '', '', 0, 0)",
        [
            ("use tabs", "", 0, "a", "person", "typed"),
            ("", "Edit,Bash", 1, "b", None, None),
            ("Done.", "", 2, "c", "assistant", "prose"),
        ],
    )
    connection.close()
    with open_ledger(path) as led:
        found = dialogue(led, "k", after_row=0)
        assert [(u.text, u.tool_names, u.files) for u in found] == [
            ("use tabs", (), ()), ("Done.", ("Edit", "Bash"), ())
        ]  # fmt: skip


def test_what_was_given_up_or_held_by_an_earlier_version_is_due_once_more(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    before = [step.__name__ for step in migrations.STEPS].index("outages")
    connection = sqlite3.connect(path, isolation_level=None)
    migrations.migrate(connection, path, steps=migrations.STEPS[:before])
    connection.executemany(
        "INSERT INTO jobs (kind, key, state, run_after, attempts, last_error, held_for, created_at,"
        " changed_at) VALUES ('extract_turn', ?, ?, 9e9, ?, ?, ?, 1, 1)",
        [
            ("held", "waiting", 0, "not logged in", "ab"),
            ("overloaded", "parked", 3, "HTTP 529", ""),
            ("killer", "parked", 0, "the worker died 5 times while this ran; ", ""),
            ("its turn", "waiting", 0, "", ""),
        ],
    )
    connection.close()
    with open_ledger(path) as led:
        found = {job.key: (job.state, job.run_after, job.attempts) for job in list_jobs(led)}
    assert found == {
        "held": ("waiting", 0, 0),
        "overloaded": ("waiting", 0, 0),
        "killer": ("parked", 9e9, 0),
        "its turn": ("waiting", 9e9, 0),
    }


def test_migration_names_are_recorded_in_order(led: Ledger) -> None:
    rows = led.rows("SELECT number, name FROM schema_migrations ORDER BY number")
    assert [tuple(row) for row in rows] == [
        (number, step.__name__) for number, step in enumerate(migrations.STEPS, 1)
    ]


def test_a_step_that_fails_leaves_no_trace(led: Ledger) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE half (a)")
        connection.execute("CREATE TABLE half (a)")

    before = _schema(led.path)
    with pytest.raises(sqlite3.OperationalError, match="half"):
        migrations.migrate(led.connection, led.path, steps=(*migrations.STEPS, broken))
    assert _schema(led.path) == before
    assert migrations.version(led.connection, led.path) == migrations.LATEST


def test_what_a_step_changed_before_one_that_fails_is_taken_back(led: Ledger) -> None:
    def sound(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE whole (a)")

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE whole (a)")

    before = _schema(led.path)
    with pytest.raises(sqlite3.OperationalError, match="whole"):
        migrations.migrate(led.connection, led.path, steps=(*migrations.STEPS, sound, broken))
    assert _schema(led.path) == before
    assert migrations.version(led.connection, led.path) == migrations.LATEST


def test_a_newer_schema_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as led:
        led.execute("INSERT INTO schema_migrations VALUES (99, 'from the future', 0)")
    before = path.read_bytes()
    with pytest.raises(NewerSchemaError, match=rf"schema 99.* up to {migrations.LATEST}") as caught:
        open_ledger(path)
    assert caught.value.file == str(path)
    assert "Upgrade" in caught.value.fix
    assert path.read_bytes() == before


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("CREATE TABLE theirs (a)")


def _cut(path: Path) -> None:
    open_ledger(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def _one_page_short(path: Path) -> None:
    open_ledger(path).close()
    path.write_bytes(path.read_bytes()[:-4096])


def _scrambled(path: Path) -> None:
    open_ledger(path).close()
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\x5a" * (len(whole) - 100))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"not a database at all, " * 100),
        lambda path: path.write_bytes(b"short"),
        _foreign,
        _cut,
        _one_page_short,
        _scrambled,
    ],
    ids=["garbage", "short", "foreign", "cut", "one page short", "scrambled"],
)
def test_a_damaged_ledger_is_named_and_never_overwritten(tmp_path: Path, damage) -> None:
    path = tmp_path / "ledger.sqlite"
    damage(path)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as caught:
        open_ledger(path)
    assert caught.value.file == str(path)
    assert "aside" in caught.value.fix
    assert path.read_bytes() == before


def test_a_folder_in_its_place_is_an_error_with_a_fix(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(LedgerError, match="can't be opened") as caught:
        open_ledger(tmp_path / "ledger.sqlite")
    assert caught.value.fix


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.touch()
    with open_ledger(path) as led:
        assert led.value("SELECT count(*) FROM jobs") == 0


def test_files_are_private(tmp_path: Path) -> None:
    path = tmp_path / "home" / "ledger.sqlite"
    with open_ledger(path) as led:
        set_watermark(led, "k", "s", "turn", 1)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes["ledger.sqlite-wal"] == 0o600
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_laxer_mode_is_tightened(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    open_ledger(path).close()
    path.chmod(0o644)
    open_ledger(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_pragmas(led: Ledger) -> None:
    assert led.value("PRAGMA journal_mode") == "wal"
    assert led.value("PRAGMA busy_timeout") == 5000
    assert led.value("PRAGMA foreign_keys") == 1


def test_a_failed_transaction_changes_nothing(led: Ledger) -> None:
    with pytest.raises(ZeroDivisionError), led.transaction():
        set_watermark(led, "k", "s", "turn", 1)
        1 / 0  # noqa: B018
    assert watermark(led, "k", "s", "turn") == 0
    assert not led.connection.in_transaction


def test_an_inner_transaction_can_fail_alone(led: Ledger) -> None:
    with led.transaction():
        set_watermark(led, "k", "s", "kept", 1)
        with pytest.raises(ZeroDivisionError), led.transaction():
            set_watermark(led, "k", "s", "lost", 1)
            1 / 0  # noqa: B018
        set_watermark(led, "k", "s", "also kept", 1)
    assert [watermark(led, "k", "s", name) for name in ("kept", "lost", "also kept")] == [1, 0, 1]


def test_an_outer_failure_takes_the_inner_with_it(led: Ledger) -> None:
    with pytest.raises(ZeroDivisionError), led.transaction():
        with led.transaction():
            set_watermark(led, "k", "s", "turn", 1)
        1 / 0  # noqa: B018
    assert watermark(led, "k", "s", "turn") == 0


def test_sqlite_errors_become_ours(led: Ledger) -> None:
    with pytest.raises(LedgerError, match="no such table") as caught:
        led.execute("SELECT * FROM nowhere")
    assert caught.value.file == str(led.path)


_HOLD = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
held.execute("COMMIT")
"""


def test_bug_050_a_busy_ledger_is_waited_for(led: Ledger) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(led.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin and holder.stdout
    assert holder.stdout.readline() == "held\n"
    release = threading.Timer(3.0, holder.communicate, args=("go\n",))
    release.start()
    set_watermark(led, "k", "s", "turn", 7)
    release.join()
    assert holder.returncode == 0
    assert watermark(led, "k", "s", "turn") == 7


_OPEN = """
import sys
from pathlib import Path
from pipeline.ledger.connection import open_ledger
print("up", flush=True)
sys.stdin.readline()
with open_ledger(Path(sys.argv[1])) as led:
    led.execute("INSERT INTO watermarks VALUES (?, 's', 't', 1)", (sys.argv[2],))
"""


def test_many_first_openers_make_one_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", _OPEN, str(path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for opener in openers:
        assert opener.stdout and opener.stdout.readline() == "up\n"
    for opener in openers:
        assert opener.stdin
        opener.stdin.write("go\n")
        opener.stdin.flush()
    assert [opener.communicate()[1] for opener in openers] == [""] * 4
    with open_ledger(path) as led:
        assert led.value("SELECT count(*) FROM watermarks") == 4


def test_the_stamps_of_files_read_before_are_taken_from_their_cursors(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    before = [step.__name__ for step in migrations.STEPS].index("stamps")
    cursors = {
        "sound": '{"offset": 7, "mtime_ns": 5, "size": 7}',
        "grown": '{"offset": 7, "mtime_ns": 5, "size": 9}',
        "torn": '{"offset": 7, "mtime',
        "odd": '{"offset": 7, "mtime_ns": "5", "size": true}',
        "huge": '{"offset": 7, "mtime_ns": 99999999999999999999, "size": 7}',
        "list": "[7]",
        "deep": "[" * 100_000,
        "never": "",
    }
    connection = sqlite3.connect(path, isolation_level=None)
    migrations.migrate(connection, path, steps=migrations.STEPS[:before])
    connection.executemany(
        "INSERT INTO memory_file_states (file_path, path, cursor_json, last_processed_offset)"
        " VALUES (?, ?, ?, 7)",
        [(name, f"/{name}", cursor) for name, cursor in cursors.items()],
    )
    connection.close()
    with open_ledger(path) as led:
        assert files.stamps(led) == ({"/sound": ("/sound", "sound", 5, 7)}, False)
        assert sorted(files.paths(led)) == sorted(f"/{name}" for name in cursors if name != "never")
