"""The hooks' Windows branches, tried here: the thread that reads stdin, the lock that is asked and let go."""

import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
READ = "import spooling, sys; sys.stdout.buffer.write(spooling.read_stdin('nt'))"
WINDOWS_LOCKS = """
LK_NBLCK, LK_UNLCK = 2, 0
held = {held}
def locking(handle, mode, count):
    print("lock" if mode == LK_NBLCK else "let go", count)
    if held and mode == LK_NBLCK:
        raise PermissionError("another process has it")
"""


def hook(code: str, *folders: Path, given: bytes = b"") -> bytes:
    """Run `code` beside the hooks in a bare interpreter, with `folders` searched for modules first."""
    paths = [str(HOOKS), *map(str, folders)]
    whole = f"import sys; sys.dont_write_bytecode = True; sys.path += {paths!r}\n{code}"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", whole], input=given, capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("given", [b"", b'{"a": 1}', b"x" * 3_000_000], ids=["nothing", "object", "much"])
def test_a_thread_reads_all_of_stdin(given: bytes) -> None:
    assert hook(READ, given=given) == given


def test_silence_after_an_object_ends_the_event_though_the_pipe_stays_open() -> None:
    line = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.append({str(HOOKS)!r})\n{READ}"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b'{"a": 1}')
        child.stdin.flush()
        assert child.stdout.read() == b'{"a": 1}'


@pytest.mark.parametrize("held", [True, False])
def test_the_lock_is_asked_for_and_let_go(tmp_path: Path, held: bool) -> None:
    (tmp_path / "msvcrt.py").write_text(WINDOWS_LOCKS.format(held=held), encoding="utf-8")
    told = hook("import spooling; print(spooling.taken_on_windows(0))", tmp_path).decode().splitlines()
    assert told == (["lock 1", "False"] if held else ["lock 1", "let go 1", "True"])
