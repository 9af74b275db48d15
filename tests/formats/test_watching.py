"""The commands around the reading of transcripts: watch, health-check, transition; files that are gone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.transcripts import Transcript, assistant
from tests.support.watching import Watch, environment, run

NAME = "5e550001-0000-4000-8000-000000000000"
KEY = f"-w-shop/{NAME}.jsonl"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A session of two lines below ``projects``."""
    session = Transcript(NAME, str(tmp_path), "2026-03-02T09:00:00Z")
    session.user("hello")
    session.assistant("hello to you")
    path = tmp_path / "projects" / KEY
    path.parent.mkdir(parents=True)
    return session.write(path)


def health(place: Path) -> dict:
    done = run(environment(place, "home"), "health-check", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def conversations(place: Path) -> list[tuple[str, str]]:
    done = run(environment(place, "home"), "conversations", "--json")
    return [(item["status"], item["reason"]) for item in json.loads(done.stdout)]


def test_a_folder_that_was_named_from_where_one_stood_is_found_from_elsewhere(
    tmp_path: Path, path: Path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    env = environment(tmp_path, "home")
    assert run(env, "ingest", "--dir", "projects").returncode == 0
    monkeypatch.chdir("/")
    path.unlink()
    done = run(env, "ingest", "--dir", str(tmp_path / "projects"), "--json")
    assert [(row["file"], row["note"]) for row in json.loads(done.stdout)] == [(KEY, "gone")]
    assert health(tmp_path)["files"]["gone"] == 1


def test_a_single_project_s_folder_gives_the_keys_of_its_tree(tmp_path: Path, path: Path) -> None:
    env = environment(tmp_path, "home")
    done = run(env, "ingest", "--dir", str(path.parent), "--json")
    assert [row["file"] for row in json.loads(done.stdout)] == [KEY]
    again = run(env, "ingest", "--dir", str(tmp_path / "projects"), "--json")
    assert [row["note"] for row in json.loads(again.stdout)] == ["unchanged"]


def test_a_file_that_was_read_and_is_gone_is_no_error(tmp_path: Path, path: Path) -> None:
    env = environment(tmp_path, "home")
    run(env, "ingest", "--file", str(path))
    path.unlink()
    assert health(tmp_path)["files"]["missing"] == 1
    assert json.loads(run(env, "ingest", "--file", str(path), "--json").stdout)[0]["note"] == "gone"
    assert run(env, "ingest", "--file", str(path.with_name("other.jsonl"))).returncode == 1
    files = health(tmp_path)["files"]
    assert (files["gone"], files["missing"], files["total"]) == (1, 0, 1)


def test_a_reimport_says_what_it_changed(tmp_path: Path, path: Path) -> None:
    env = environment(tmp_path, "home")
    run(env, "ingest", "--file", str(path))
    run(env, "transition", "ready", "1")
    path.write_bytes(path.read_bytes().replace(b"hello to you", b"good morning"))
    done = run(env, "ingest", "--file", str(path), "--reimport")
    assert "reimported: 1 changed, in conversation 1" in " ".join(done.stdout.split()), done.stdout


def test_health_check_tells_of_files_entries_and_states(tmp_path: Path, path: Path) -> None:
    run(environment(tmp_path, "home"), "ingest", "--dir", str(tmp_path / "projects"))
    with path.open("ab") as out:
        out.write(b'{"half')
    found = health(tmp_path)
    assert found["files"] == {
        "total": 1, "idle": 1, "ingesting": 0, "gone": 0, "behind": 1, "missing": 0, "bad_lines": 0,
        "by_source": {"claude-code": 1},
    }  # fmt: skip
    assert found["entries"]["person"] == found["entries"]["assistant"] == found["entries"]["sessions"] == 1
    states = ["active", "ready", "queued", "processing", "archived", "skipped", "review"]
    assert sorted(found["conversations"]) == sorted([*states, "total"])
    assert found["conversations"]["active"] == 1 and found["watch"] == {"running": False}
    assert [trouble.split(" files")[0] for trouble in found["troubles"]] == ["1"]
    shown = run(environment(tmp_path, "home"), "health_check")
    assert "active" in shown.stdout and "note: 1 files have more" in " ".join(shown.stderr.split())


def test_a_person_ends_what_goes_on_here_and_passes_it_over(tmp_path: Path, path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = environment(tmp_path, "home")
    run(env, "ingest", "--dir", str(tmp_path / "projects"))
    assert conversations(tmp_path) == [("active", "")]
    assert run(env, "transition", "ready").returncode == 0
    assert conversations(tmp_path) == [("ready", "")]
    assert run(env, "transition", "skipped", "1").returncode == 0
    assert conversations(tmp_path) == [("skipped", "by hand")]
    refused = run(env, "transition", "archived", "1")
    assert refused.returncode == 1 and "can't go from skipped to archived" in refused.stderr
    assert run(env, "transition", "processing", "1").returncode == 2


def test_a_watcher_tells_what_it_reads_and_marks_what_is_gone(tmp_path: Path, path: Path) -> None:
    env = environment(tmp_path, "home")
    watch = Watch(env, tmp_path / "projects", every=600.0)
    assert watch.reads(KEY, path.stat().st_size)
    second = run(env, "watch", "--dir", str(tmp_path / "projects"))
    assert second.returncode == 1 and "another `reverie watch` runs" in second.stderr
    assert health(tmp_path)["watch"]["running"]
    dotted = path.with_name("a.b.jsonl")
    dotted.write_bytes(path.read_bytes().replace(b"hello", b"hullo").replace(NAME.encode(), b"a.b"))
    path.with_name("agent-1.jsonl").write_bytes(path.read_bytes())
    (path.parent / "notes.txt").write_text("nothing")
    assert watch.reads("-w-shop/a.b.jsonl", dotted.stat().st_size)
    path.unlink()
    told = watch.hears()
    assert told is not None and (told["file"], told["note"]) == (KEY, "gone")
    code, err = watch.end()
    assert code == 0 and err.startswith("watching 1 file in ")
    assert err.endswith("read 2 new rows of 2 files\n")
    found = health(tmp_path)
    assert (found["files"]["total"], found["files"]["gone"]) == (2, 1)
    assert found["watch"]["passes"] == 3 and not found["watch"]["running"]


def test_without_the_package_the_timer_looks_and_says_so(tmp_path: Path, path: Path) -> None:
    (tmp_path / "without" / "watchfiles").mkdir(parents=True)
    (tmp_path / "without" / "watchfiles" / "__init__.py").write_text("raise ImportError('not here')\n")
    root = str(Path(__file__).parents[2])
    env = environment(
        tmp_path, "home", PYTHONPATH=os.pathsep.join([str(tmp_path / "without"), root]), COLUMNS="300"
    )
    watch = Watch(env, tmp_path / "projects", every=0.2)
    assert watch.reads(KEY, path.stat().st_size)
    with path.open("ab") as out:
        out.write(json.dumps(assistant("more", uuid="u9", sessionId=NAME)).encode() + b"\n")
    assert watch.reads(KEY, path.stat().st_size)
    code, complaints = watch.end()
    assert code == 0 and "[watch]'`" in complaints


def test_what_is_no_transcript_is_told_once_and_stops_no_other(tmp_path: Path, path: Path) -> None:
    other = path.with_name("0.jsonl")
    other.write_bytes(b'{"type":"session_meta","payload":{}}\n')
    watch = Watch(environment(tmp_path, "home"), tmp_path / "projects", every=0.1)
    assert watch.reads(KEY, path.stat().st_size)
    for number in range(6):
        # The timer comes round meanwhile.
        with path.open("ab") as out:
            out.write(json.dumps(assistant("more", uuid=f"u{number}", sessionId=NAME)).encode() + b"\n")
        assert watch.reads(KEY, path.stat().st_size)
    code, complaints = watch.end()
    assert code == 0 and complaints.count("not a transcript") == 1, complaints
    assert "not a transcript" in health(tmp_path)["watch"]["last_error"]


def test_no_folder_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    done = run(environment(tmp_path, "home"), "watch", "--dir", str(tmp_path / "nowhere"))
    assert done.returncode == 1 and "no such directory" in done.stderr and not done.stdout
    assert run(environment(tmp_path, "home"), "watch", "--every", "0").returncode == 2
