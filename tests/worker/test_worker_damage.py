"""A damaged ledger is made anew by the worker, which loses nothing it could keep and says what it did."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.core.errors import LedgerError
from pipeline.ledger import calls, connection, open_ledger, recovery, unread
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

NOW = "2026-03-02T09:30:00+00:00"
LATER = "2026-03-02T12:00:00+00:00"
RETRIED = "2026-03-02T12:20:00+00:00"
"""When what could not be written or read at `LATER` is tried again."""
PAGE = 4096
Damage = Callable[[Path], None]


def garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all, " * 1_000)


def half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def one_page_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-PAGE])


def page_of(table: str) -> Damage:
    """Return what scrambles the first page of `table`."""

    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as raw:
            found = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
        data = bytearray(path.read_bytes())
        data[(found - 1) * PAGE : found * PAGE] = b"\x5a" * PAGE
        path.write_bytes(data)

    return damage


DAMAGES: dict[str, tuple[Damage, bool]] = {
    "garbage": (garbage, False),
    "a page of the dialogue": (page_of("memory_transcript_entries"), True),
    "a page of what was spent": (page_of("model_calls"), False),
    "one page short": (one_page_short, True),
    "half": (half, False),
}
"""Each with whether what was spent can still be read."""


def ledger_of(shop: Workshop) -> Path:
    return shop.home / "ledger.sqlite"


def lived(shop: Workshop) -> Transcript:
    """Let a session be read by the model, and a proposal wait; then begin another turn."""
    session = shop.session()
    session.user("From now on always run the linter before a commit.")
    session.assistant("Noted.")
    shop.fire(session)
    assert shop.work(REVERIE_NOW=NOW) == 0
    with shop.ledger() as ledger:
        ledger.execute(
            "INSERT INTO inbox (store, kind, payload_json, reason, run_id, created_at)"
            " VALUES ('s', 'memory', '{}', 'a person decides', 'r', 1)"
        )
        assert calls.spent(ledger, now=datetime.fromisoformat(NOW)).hour_calls > 0
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    session.user("The gateway listens on port 8443.")
    session.assistant("I keep it in mind.")
    shop.fire(session)
    return session


def aside(shop: Workshop) -> list[Path]:
    return [path for path in shop.home.glob("ledger.sqlite.damaged-*") if path.suffix != "-wal"]


def start(shop: Workshop) -> str:
    """Return what the person is told when a session starts."""
    return shop.started(REVERIE_NOW=LATER)


@pytest.mark.parametrize(("damage", "spend_known"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_ledger_is_set_aside_and_made_anew(
    shop: Workshop, damage: Damage, spend_known: bool
) -> None:
    session = lived(shop)
    damage(ledger_of(shop))
    size = ledger_of(shop).stat().st_size
    assert shop.work(REVERIE_NOW=LATER) == 0
    [kept] = aside(shop)
    assert kept.stat().st_size >= size and not list((shop.home / "spool").glob("*.json"))
    with shop.ledger() as ledger:
        assert ledger.check() == ""
        texts = [row["content"] for row in ledger.rows("SELECT content FROM memory_transcript_entries")]
        assert len(texts) == len(set(texts)) == 4, session
        known = ledger.value("SELECT count(*) FROM model_calls WHERE started_at < ?", (_seconds(LATER) - 60,))
        assert (known > 0) == spend_known
    line = start(shop)
    assert "the ledger was damaged" in line and kept.name in line
    assert ("what was spent before is not known" in line) == (not spend_known)


def test_what_waits_for_a_decision_outlives_a_damaged_page(shop: Workshop) -> None:
    lived(shop)
    page_of("memory_transcript_entries")(ledger_of(shop))
    assert shop.work(REVERIE_NOW=LATER) == 0
    with shop.ledger() as ledger:
        assert ledger.value("SELECT reason FROM inbox") == "a person decides"


@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(b""), lambda path: path.unlink()])
def test_a_ledger_that_is_empty_or_gone_is_made_anew_without_a_word(shop: Workshop, damage: Damage) -> None:
    lived(shop)
    damage(ledger_of(shop))
    assert shop.work(REVERIE_NOW=LATER) == 0
    assert not aside(shop) and not list((shop.home / "spool").glob("*.json"))
    assert "damaged" not in start(shop)


def test_a_command_makes_it_anew_too_and_says_so(shop: Workshop) -> None:
    lived(shop)
    garbage(ledger_of(shop))
    looked = shop.reverie("status", REVERIE_NOW=LATER)
    assert looked.returncode == 1 and "reverie work" in looked.stderr and "Traceback" not in looked.stderr
    worked = shop.reverie("work", REVERIE_NOW=LATER)
    assert worked.returncode == 0 and "the ledger was damaged" in worked.stderr
    assert shop.reverie("status", REVERIE_NOW=LATER).returncode == 0


def test_a_ledger_that_is_only_locked_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.01)
    path = tmp_path / "ledger.sqlite"
    open_ledger(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="locked"):
            recovery.renew(path, now=datetime.now(UTC))
        other.execute("ROLLBACK")
    assert recovery.renew(path, now=datetime.now(UTC)) is None
    assert [file.name for file in tmp_path.glob("*damaged*")] == []


def test_somebody_elses_database_is_left_alone_and_told(shop: Workshop) -> None:
    lived(shop)
    ledger_of(shop).unlink()
    with closing(sqlite3.connect(ledger_of(shop))) as raw, raw:
        raw.execute("CREATE TABLE theirs (a)")
    assert shop.work(REVERIE_NOW=LATER) == 0
    assert not aside(shop) and list((shop.home / "spool").glob("*.json"))
    line = start(shop)
    assert "learns nothing for now" in line and "not a Reverie ledger" in line and "aside" in line
    assert "paused" in shop.status_line()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


LEVELS = [*range(0, 8_000, 800), *range(8_000, 64_000, 8_000), *range(64_000, 320_000, 20_000)]
"""Bytes beyond which no file grows: 30 levels, from a disk without any room to one that has enough."""
COMMANDS = (["status"], ["add", "The build box has twelve cores."], ["consolidate"], ["doctor"], ["work"])


def test_a_disk_without_room_costs_nothing_but_time(shop: Workshop) -> None:
    assert len(LEVELS) >= 30
    session = lived(shop)
    before = shop.memories()
    for number, level in enumerate(LEVELS):
        shop.fire(session)
        shop.longest_file = level
        assert shop.work(REVERIE_NOW=LATER) in (0, 1)
        for arguments in (COMMANDS[number % 5], COMMANDS[(number + 2) % 5]):
            done = shop.reverie(*arguments, REVERIE_NOW=LATER)
            said = done.stdout + done.stderr
            assert done.returncode in (0, 1), (level, arguments, said)
            assert "fault in Reverie" not in said and "Traceback" not in said, (level, arguments, said)
            assert "Error" not in said and "[Errno" not in said, (level, arguments, said)
        assert shop.temporary() == [], level
    shop.longest_file = -1
    assert shop.work(REVERIE_NOW=LATER) == 0
    assert set(before) <= set(shop.memories()) and not list((shop.home / "spool").glob("*.json"))
    assert not aside(shop)


def test_a_session_says_that_the_disk_is_full(shop: Workshop) -> None:
    lived(shop)
    line = shop.started(room=False, REVERIE_NOW=LATER)
    assert "keeps nothing for now" in line and str(shop.home) in line and "Make room" in line
    assert "\n" not in line and shop.temporary() == []
    assert "keeps nothing" not in shop.started(session="other", REVERIE_NOW=LATER)


def test_a_session_says_that_the_home_can_only_be_read(shop: Workshop) -> None:
    lived(shop)
    folders = [shop.home, *(path for path in shop.home.rglob("*") if path.is_dir())]
    for path in [*shop.home.rglob("*"), shop.home]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    try:
        line, mark = start(shop), shop.status_line(REVERIE_NOW=LATER)
        done = shop.reverie("status", REVERIE_NOW=LATER)
    finally:
        for path in folders:
            path.chmod(0o700)
    assert "keeps nothing for now" in line and "Make the folder writable" in line
    assert mark.startswith("reverie paused: nothing can be written in ")
    assert "Traceback" not in done.stderr and "fault in Reverie" not in done.stderr


def test_a_session_says_that_a_transcript_can_not_be_read(shop: Workshop) -> None:
    session = lived(shop)
    (shop.folder / f"{session.session_id}.jsonl").chmod(0o000)
    assert shop.work(REVERIE_NOW=LATER) == 0
    line = start(shop)
    assert line.startswith("Reverie: 1 turn can't be read and waits: ") and "Permission denied" in line
    assert "1 unread" in shop.status_line(REVERIE_NOW=LATER)
    (shop.folder / f"{session.session_id}.jsonl").chmod(0o600)
    shop.await_idle()  # the one that the session's start began
    assert shop.work(REVERIE_NOW=RETRIED) == 0
    assert "unread" not in shop.status_line(REVERIE_NOW=RETRIED)


def test_a_session_says_that_the_ledger_is_locked(shop: Workshop, tmp_path: Path) -> None:
    lived(shop)
    with closing(sqlite3.connect(ledger_of(shop), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert shop.work(REVERIE_NOW=LATER) == 0
        assert "learns nothing for now: ledger.sqlite: database is locked" in start(shop)
        assert "locked" in shop.status_line(REVERIE_NOW=LATER)
        other.execute("ROLLBACK")
    shop.await_idle()
    assert shop.work(REVERIE_NOW=RETRIED) == 0 and not aside(shop)
    assert "locked" not in shop.status_line(REVERIE_NOW=RETRIED)


def test_a_long_session_seen_late_is_never_told_to_be_read(shop: Workshop) -> None:
    session = shop.session()
    for number in range(40):
        session.user(f"Shelf {number} holds the boxes of customer {number}, as agreed.")
        session.assistant("Noted.")
    shop.fire(session)
    soon = session.now.isoformat()
    assert shop.work(REVERIE_NOW=soon) == 0
    with shop.ledger() as ledger:
        assert unread.to_come(ledger, print_sessions=False) == (10, 1)
    assert "10 turns of 1 session not read yet" in " ".join(
        shop.reverie("status", REVERIE_NOW=soon).stdout.split()
    )
    estimate = shop.reverie("process", "--estimate", REVERIE_NOW=soon).stdout
    assert "nothing is left" not in estimate and "10 turns of 1 session not read yet" in estimate
    late = (session.now + timedelta(hours=2)).isoformat()
    assert shop.work(REVERIE_NOW=late) == 0
    assert "not read yet" not in shop.reverie("status", REVERIE_NOW=late).stdout
    assert "nothing is left to read" in shop.reverie("process", "--estimate", REVERIE_NOW=late).stdout
    assert {f"customer {number}," in "".join(shop.knowledge().values()) for number in range(40)} == {True}


@pytest.mark.parametrize(("days", "stays"), [("1", False), ("40", True), ("forever", True)])
def test_what_was_set_aside_goes_when_dialogue_does(shop: Workshop, days: str, stays: bool) -> None:
    lived(shop)
    old = shop.home / "ledger.sqlite.damaged-20260101T000000"
    old.write_bytes(b"what was said")
    in_a_week = (datetime.fromtimestamp(old.stat().st_ctime, UTC) + timedelta(days=7)).isoformat()
    assert shop.work(REVERIE_NOW=in_a_week, REVERIE_DIALOGUE__KEEP_DAYS=days) == 0
    assert old.exists() is stays
