"""Commands start the worker as the hooks do, and both go by one lock."""

from pathlib import Path

import pytest

from pipeline.core.errors import SpoolError
from pipeline.core.locks import try_lock
from pipeline.install.schedule import tools
from tests.support.hooks import Stage


@pytest.fixture
def played(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """The stage's fake worker for calls inside this process."""
    monkeypatch.setenv("REVERIE_PYTHON", stage.env["REVERIE_PYTHON"])
    monkeypatch.setenv("REVERIE_INSIDE", "1")
    return stage


def test_a_command_starts_one_worker_and_the_hook_no_second(played: Stage) -> None:
    assert tools.ensure_worker(played.home) is True
    worker = played.await_worker()
    assert tools.ensure_worker(played.home) is False
    played.run(b"{}")
    assert len(played.lines("started")) == 1 and tools.worker_alive(played.home)
    assert played.lines("session") == [str(worker)]
    assert played.lines("directory") == [str(played.home)]
    assert not [line for line in played.lines("environment") if line.startswith("REVERIE_INSIDE=")]
    played.release()
    assert not tools.worker_alive(played.home)


def test_a_worker_of_the_hook_is_seen(stage: Stage) -> None:
    stage.run(b"{}")
    stage.await_worker()
    assert tools.worker_alive(stage.home)
    assert tools.ensure_worker(stage.home) is False
    stage.release()


def test_the_hook_sees_a_lock_of_ours(busy: Stage) -> None:
    handle = try_lock(tools.lock_path(busy.home))
    assert handle is not None
    with handle:
        busy.run(b"{}")
        assert not (busy.home / "logs" / "worker.log").exists()
    busy.run(b"{}")
    assert (busy.home / "logs" / "worker.log").exists()


def test_asking_makes_nothing(tmp_path: Path) -> None:
    assert tools.worker_alive(tmp_path / "home") is False
    assert list(tmp_path.iterdir()) == []


def test_bug_045_a_directory_as_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "worker.lock").mkdir()
    for ask in (tools.worker_alive, tools.ensure_worker):
        with pytest.raises(SpoolError) as caught:
            ask(tmp_path)
        assert caught.value.file == str(tmp_path / "worker.lock") and caught.value.fix


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b'{"pid":1}'])
def test_bug_045_a_damaged_lock_is_nobodys(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "worker.lock").write_bytes(content)
    assert tools.worker_alive(tmp_path) is False


def test_an_interpreter_that_is_gone_is_named(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_PYTHON", "/nonexistent/python")
    with pytest.raises(SpoolError, match="can't be started"):
        tools.ensure_worker(stage.home)
    assert tools.worker_alive(stage.home) is False
