"""The hook starts the worker and commands ask for it: both go by one lock."""

from pathlib import Path

import pytest

from pipeline.core.errors import SpoolError
from pipeline.core.home import Home
from pipeline.core.locks import try_lock, worker_alive
from tests.support.hooks import Stage, note_python


def test_a_worker_of_the_hook_is_seen_and_is_the_only_one(stage: Stage) -> None:
    stage.run(b"{}")
    worker = stage.await_worker()
    stage.run(b"{}")
    assert len(stage.lines("started")) == 1 and worker_alive(stage.home)
    assert stage.lines("session") == [str(worker)]
    assert stage.lines("directory") == [str(stage.home)]
    stage.release()
    assert not worker_alive(stage.home)


def test_a_live_worker_keeps_a_command_from_the_lock(stage: Stage) -> None:
    stage.run(b"{}")
    stage.await_worker()
    assert worker_alive(stage.home) and try_lock(Home(stage.home).worker_lock) is None
    stage.release()


def test_the_hook_sees_a_lock_of_ours(busy: Stage) -> None:
    handle = try_lock(Home(busy.home).worker_lock)
    assert handle is not None
    with handle:
        busy.run(b"{}")
        assert not Home(busy.home).worker_log.exists()
    busy.run(b"{}")
    assert Home(busy.home).worker_log.exists()


def test_asking_makes_nothing(tmp_path: Path) -> None:
    assert worker_alive(tmp_path / "home") is False
    assert list(tmp_path.iterdir()) == []


def test_bug_045_a_directory_as_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / "worker.lock").mkdir()
    with pytest.raises(SpoolError) as caught:
        worker_alive(tmp_path)
    assert caught.value.file == str(tmp_path / "worker.lock") and caught.value.fix


@pytest.mark.parametrize("content", [b"", b"\xff\x00", b'{"pid":1}'])
def test_bug_045_a_damaged_lock_is_nobodys(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "worker.lock").write_bytes(content)
    assert worker_alive(tmp_path) is False


def test_an_interpreter_that_is_gone_leaves_no_lock(stage: Stage) -> None:
    gone = note_python(stage.home, "#!/nonexistent/python\n")
    stage.run(b"{}")
    assert str(gone) in Home(stage.home).hook_log.read_text()
    assert worker_alive(stage.home) is False
