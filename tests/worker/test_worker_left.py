"""What can't be taken now stays in the spool, is shown, and keeps nothing else from being taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.core import paths
from pipeline.core.errors import InputError
from pipeline.hooklib.projects import why_ignored
from pipeline.intake import spool
from pipeline.ledger import jobs
from tests.support.transcripts import Transcript, tool_result
from tests.support.workshop import Workshop

NOW = "2026-03-02T09:05:00+00:00"
OFFLINE = {"REVERIE_NOW": NOW, "REVERIE_MODEL__PROVIDER": "offline"}
SAY = "From now on always run the linter before a commit."


def talk(shop: Workshop, number: int, **values: Any) -> tuple[Transcript, Path]:
    session = shop.session(number)
    session.user(f"Shelf {number} holds boxes. {SAY}")
    session.assistant("Noted.")
    return session, shop.fire(session, **values)


def work(shop: Workshop, **env: str) -> None:
    assert shop.work(**{**OFFLINE, **env}) == 0


def spoken(shop: Workshop) -> set[str]:
    """Return the sessions whose words are in the ledger."""
    with shop.ledger() as ledger:
        rows = ledger.rows(
            "SELECT DISTINCT session_id FROM memory_transcript_entries WHERE speaker = 'person'"
        )
    return {row["session_id"] for row in rows}


def shown(shop: Workshop, command: str) -> str:
    return shop.reverie(command, **OFFLINE).stdout


def _spool_file(shop: Workshop, session: Transcript, event: Path) -> Path:
    event.chmod(0o000)
    return event


def _transcript(shop: Workshop, session: Transcript, event: Path) -> Path:
    path = shop.folder / f"{session.session_id}.jsonl"
    path.chmod(0o000)
    return path


def _folder(shop: Workshop, session: Transcript, event: Path) -> Path:
    away = shop.projects / "-elsewhere"
    away.mkdir()
    path = shop.folder / f"{session.session_id}.jsonl"
    path.rename(away / path.name)
    event.write_bytes(event.read_bytes().replace(bytes(shop.folder), bytes(away)))
    away.chmod(0o000)
    return away


@pytest.mark.parametrize("hide", [_spool_file, _transcript, _folder])
def test_what_can_not_be_read_now_is_read_later(
    shop: Workshop, hide: Callable[[Workshop, Transcript, Path], Path]
) -> None:
    (hidden, event), (other, _) = talk(shop, 1), talk(shop, 2)
    place = hide(shop, hidden, event)
    work(shop)
    assert spoken(shop) == {other.session_id}
    assert [file.id for file in spool.pending(shop.home)] == [event.stem]
    for command in ("status", "doctor"):
        assert event.stem in shown(shop, command) and "Permission denied" in shown(shop, command)
    place.chmod(0o700)
    work(shop)
    assert spoken(shop) == {hidden.session_id, other.session_id}
    assert [file.name for file in (shop.home / "spool").iterdir()] == []


def test_one_odd_line_stops_nobody(shop: Workshop) -> None:
    session = shop.session()
    asked = {"answers": {"q": "a"}, "questions": [{"question": ["x"]}]}
    session.add({**tool_result("y"), "toolUseResult": asked})
    session.add(tool_result(5, is_error=True))
    session.user(SAY)
    shop.fire(session)
    other, _ = talk(shop, 2)
    work(shop)
    assert spoken(shop) == {session.session_id, other.session_id} and not list(spool.pending(shop.home))


def test_an_unexpected_error_leaves_that_transcripts_events_only(shop: Workshop) -> None:
    (odd, _), (other, _) = talk(shop, 1), talk(shop, 2)
    work(shop)
    with shop.ledger() as ledger:
        ledger.execute(
            "UPDATE memory_file_states SET type_counts = '[' WHERE file_path LIKE ?", (f"%{odd.session_id}%",)
        )
    for session in (odd, other):
        session.user("And one more thing.")
    event, _ = shop.fire(odd, "SessionEnd"), shop.fire(other, "SessionEnd")
    for _ in range(2):
        work(shop)
        assert [(name, why[:15]) for name, why in spool.left(shop.home)] == [(event.stem, "a fault in Reve")]
    assert any("Traceback" in line for line in shop.log())
    with shop.ledger() as ledger:
        ledger.execute("UPDATE memory_file_states SET type_counts = '{}'")
    work(shop)
    assert spool.left(shop.home) == [] and not list(spool.pending(shop.home))


@pytest.mark.parametrize("file", ["/proc/self/mem", "/proc/kmsg", "/sys/kernel/uevent_seqnum"])
@pytest.mark.parametrize("linked", [False, True], ids=["named", "linked"])
def test_security_a12_a_file_of_the_kernels_is_no_transcript_and_does_not_stay(
    shop: Workshop, file: str, linked: bool
) -> None:
    """Some give errors only, some wait for ever, some have no end."""
    (session, event), (other, _) = talk(shop, 1), talk(shop, 2)
    path = shop.folder / f"{session.session_id}.jsonl"
    path.unlink()
    if linked:
        path.symlink_to(file)
    else:
        event.write_bytes(event.read_bytes().replace(bytes(path), file.encode()))
    work(shop)
    assert spoken(shop) == {other.session_id} and not list(spool.pending(shop.home))
    ((name, reason),) = spool.quarantined(shop.home)
    assert name == event.stem and "a file of the kernel's, not a transcript" in reason


@pytest.mark.parametrize("file", ["/dev/zero", "/dev/null", "/dev/full", "/nowhere", "pipe"])
def test_security_a12_a_device_is_no_transcript_and_does_not_stay(shop: Workshop, file: str) -> None:
    (session, _), (other, _) = talk(shop, 1), talk(shop, 2)
    path = shop.folder / f"{session.session_id}.jsonl"
    path.unlink()
    if file == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(file)
    work(shop)
    assert spoken(shop) == {other.session_id}
    assert not list(spool.pending(shop.home)) and spool.left(shop.home) == []
    assert len(shop.books()["events"]) == 2


@pytest.mark.parametrize(("days", "given_up"), [(6, False), (8, True)])
def test_security_a12_what_can_not_be_read_for_a_week_is_put_aside_with_its_reason(
    shop: Workshop, days: int, given_up: bool
) -> None:
    session, event = talk(shop, 1)
    place = _transcript(shop, session, event)
    later = f"2026-03-{2 + days:02}T09:05:00+00:00"
    work(shop, REVERIE_NOW=later)
    quarantined = spool.quarantined(shop.home)
    assert [name for name, _ in quarantined] == ([event.stem] if given_up else [])
    assert [file.id for file in spool.pending(shop.home)] == ([] if given_up else [event.stem])
    if given_up:
        assert "given up after 7 days" in quarantined[0][1] and "Permission denied" in quarantined[0][1]
    place.chmod(0o600)
    shop.fire(session)
    work(shop, REVERIE_NOW=later)
    assert spoken(shop) == {session.session_id}, "the next event finds all that was said"


def test_bug_cases_15_a_session_in_the_folder_of_our_own_calls_is_left_alone(shop: Workshop) -> None:
    """Should the client ever fire hooks there, and whatever its transcript says: nothing comes of it."""
    own = shop.home / "claude-cwd"
    own.mkdir(parents=True, mode=0o700)
    shop.project = own
    session, _ = talk(shop, 1, cwd=str(own))
    assert session.cwd == str(own)
    work(shop)
    assert spoken(shop) == set() and not list(spool.pending(shop.home))
    with shop.ledger() as ledger:
        assert jobs.list_jobs(ledger) == []
    done = shop.reverie("ingest", "--dir", str(shop.projects), **OFFLINE)
    assert done.returncode == 0 and spoken(shop) == set()
    assert why_ignored(str(shop.place / "claude-cwd"), [], []) == "", "another folder of that name is one"


def test_a_worker_tries_what_it_left_once(shop: Workshop) -> None:
    """However long it lingers: it would have no rest before the file can be read."""
    session, event = talk(shop, 1)
    _spool_file(shop, session, event)
    work(shop, REVERIE_WORKER__LINGER_SECONDS="5")
    assert sum("left for later" in line for line in shop.log()) == 1


def test_a_spool_that_can_not_be_listed_is_named(shop: Workshop) -> None:
    talk(shop, 1)
    folder = shop.home / "spool"
    folder.chmod(0o000)
    work(shop)
    folder.chmod(0o700)
    (line,) = [line for line in shop.log() if " ERROR " in line]
    assert str(folder) in line and "Permission denied" in line and "Make the spool folder readable" in line


def test_a_lock_that_can_not_be_opened_is_named(shop: Workshop) -> None:
    talk(shop, 1)
    (shop.home / "worker.lock").touch(0o600)
    (shop.home / "worker.lock").chmod(0o000)
    work(shop)
    assert [
        line for line in shop.log() if " ERROR " in line and "worker.lock" in line and "Permission" in line
    ]
    for command in ("work", "status"):
        done = shop.reverie(command, **OFFLINE)
        assert "worker.lock" in done.stderr and "Traceback" not in done.stderr


def test_a_directory_with_a_zero_byte_is_no_projects(shop: Workshop) -> None:
    session = shop.session(1)
    session.cwd = "/tmp/a\0b"
    session.user(SAY)
    shop.fire(session)
    work(shop)
    with shop.ledger() as ledger:
        assert [tuple(row) for row in ledger.rows("SELECT last_error FROM jobs WHERE last_error <> ''")] == []


def test_a_git_file_that_names_no_path_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: /a\0b\n")
    assert paths.project_root(tmp_path) == tmp_path.resolve()
    with pytest.raises(InputError, match=r"null (?:byte|character)"):
        paths.project_root(Path("/a\0b"))


@pytest.mark.parametrize("settings", ["[" * 100_000, '{"autoMemoryDirectory": "/a\\u0000b"}', "[1]"])
def test_settings_of_garbage_name_no_folder(shop: Workshop, settings: str) -> None:
    talk(shop, 1)
    (shop.place / "claude" / "settings.json").write_text(settings)
    work(shop)
    assert shop.memories() != []


def test_ingest_goes_on_with_the_next_file(shop: Workshop) -> None:
    (hidden, event), (other, _) = talk(shop, 1), talk(shop, 2)
    _folder(shop, hidden, event)
    odd, _ = talk(shop, 3)
    assert shop.reverie("ingest", "--file", str(shop.write(odd)), **OFFLINE).returncode == 0
    with shop.ledger() as ledger:
        ledger.execute("UPDATE memory_file_states SET type_counts = '['")
    odd.user("More.")
    shop.write(odd)
    done = shop.reverie("ingest", "--dir", str(shop.projects), **OFFLINE)
    assert spoken(shop) == {odd.session_id, other.session_id} and done.returncode == 0
    assert "Permission denied" in done.stderr and "a fault in Reverie" in done.stderr
