"""What all hooks share: a bounded read of stdin, the home, the boundary, the spool, the start of a worker.

The person waits while a hook runs, so this imports next to nothing, does not look into the event's JSON, and
leaves starting a worker to ``start_worker.py``, which is read only when no worker is alive.
"""

import _signal

# Before anything else is imported: Ctrl-C in the terminal is meant for the session and reaches us as well.
_signal.signal(_signal.SIGINT, _signal.SIG_IGN)

import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

KEEP = 16 << 20  # bytes of an event that are kept; what comes after is read and dropped
FIRST_BYTE = 1.0  # seconds to wait for anything at all
QUIET = 0.15  # seconds of silence after "}" that end an event whose sender never closes the pipe
TOTAL = 1.8  # seconds for all of stdin; the host gives SessionEnd hooks 1.5 to 2 s
PATIENCE = 5  # so many times both, where the host waits for a minute: a busy machine may be late by seconds
LOG_LIMIT = 64 << 10
BINARY = getattr(os, "O_BINARY", 0)  # Windows would turn line ends


def main() -> None:
    """Take the event that the first argument names."""
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    if not (event.isascii() and event.isalnum() and len(event) <= 40):
        event = "Unknown"
    without_failing(event, lambda: take(event))


def without_failing(name: str, work: "Callable[[], None]") -> None:
    """Do the `work` of a hook: the one boundary of all hooks, since one that fails disturbs the session.

    Whatever is raised becomes a line of the hook log that begins with `name`.
    """
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - a hook may never fail
        broken = broken_compiled(error)
        log(home_dir(), f"{name}: {describe(error)}{f'; removed {broken}' if broken else ''}")


def broken_compiled(error: BaseException) -> str:
    """Remove the compiled file whose reading raised `error`, and return its path; "" where none did.

    A power cut may leave half of one. Python would fail on it at each start, and never make it anew.
    """
    step = error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_name == "get_code":
            path = step.tb_frame.f_locals.get("bytecode_path")
            if isinstance(path, str) and path.endswith(".pyc"):
                try:
                    os.unlink(path)
                except OSError:
                    return ""
                return path
        step = step.tb_next
    return ""


def take(event: str) -> None:
    """Spool the event on stdin and make sure that a worker runs."""
    own_standard_streams()
    data = read_stdin(patience=1 if event == "SessionEnd" else PATIENCE)
    if not data.strip() or os.environ.get("REVERIE_INSIDE"):
        return
    home = home_dir()
    if home:
        write_event(home, event, data)
        ensure_worker(home)


def own_standard_streams() -> None:
    """Open /dev/null on closed standard descriptors, so that no file of ours becomes one of them."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def read_stdin(system: str = os.name, patience: int = 1) -> bytes:
    """Return what arrives on stdin until EOF, silence after a complete-looking object, or the deadline.

    `patience` says how many times `FIRST_BYTE` and `TOTAL` it waits.
    """
    more = by_thread() if system == "nt" else by_poll()
    start = time.monotonic()
    chunks: list[bytes] = []
    size = 0
    last = b""
    while True:
        left = start + patience * TOTAL - time.monotonic()
        if not last:
            left = min(left, start + patience * FIRST_BYTE - time.monotonic())
        elif last.rstrip().endswith(b"}"):
            left = min(left, QUIET)
        chunk = more(left) if left > 0 else b""
        if not chunk:
            break
        last = last[-64:] + chunk if len(chunk) < 64 else chunk
        if size < KEEP:
            chunks.append(chunk[: KEEP - size])
        size += len(chunk)
    return b"".join(chunks)


def by_poll() -> "Callable[[float], bytes]":
    """Return a function that waits so many seconds for bytes on stdin; empty when none came or will come."""
    import select

    poll = select.poll()
    poll.register(0, select.POLLIN)

    def more(seconds: float) -> bytes:
        try:
            return os.read(0, 1 << 20) if poll.poll(seconds * 1000) else b""
        except OSError:
            return b""  # a directory or a terminal that went away: there is no event

    return more


def by_thread() -> "Callable[[float], bytes]":
    """Do what `by_poll` does for Windows, which can't wait for a pipe: a thread reads."""
    import queue
    import threading

    arrived: queue.Queue[bytes] = queue.Queue()

    def read() -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(0, 1 << 20)
            except OSError:
                chunk = b""
            arrived.put(chunk)

    threading.Thread(target=read, daemon=True).start()

    def more(seconds: float) -> bytes:
        try:
            return arrived.get(timeout=seconds)
        except queue.Empty:
            return b""

    return more


def home_dir() -> str:
    """Return Reverie's home as an absolute path, or "" where none can be told; it never raises.

    A hook's environment holds what a project's settings put there, so ``REVERIE_HOME`` does not count here.
    What does is what a command that a person typed noted beside the client's own settings.
    """
    config = os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude"
    config = os.path.expanduser(config) if config[0] == "~" else config
    try:
        config = "" if config[0] == "~" else os.path.abspath(config)
    except OSError:
        return ""  # a relative path, seen from a directory that is gone
    noted = first_line(config + "/reverie.home") if config else ""
    return noted if os.path.isabs(noted) else config and config + "/reverie"


def first_line(path: str) -> str:
    """Return the first line of the file `path`, or "" when there is none to read."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, 4096).partition(b"\n")[0]).strip()
    except OSError:
        return ""
    finally:
        os.close(handle)


def write_event(home: str, event: str, data: bytes) -> None:
    """Write the spool file: under a hidden name first, fsynced, then renamed."""
    spool = home + "/spool"
    now = time.time()
    name = f"{int(now * 1000):013d}-{os.getpid()}-{os.urandom(3).hex()}-{event}.json"
    temp = f"{spool}/.{name}.reverie-tmp-"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY
    try:
        handle = os.open(temp, flags, 0o600)
    except FileNotFoundError:
        make_dirs(spool)
        handle = os.open(temp, flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
        os.rename(temp, f"{spool}/{name}")
    except BaseException:
        os.unlink(temp)
        raise
    finally:
        os.close(handle)


def ensure_worker(home: str) -> None:
    """Start a worker unless one is alive, which is to say unless one holds the lock."""
    lock = os.open(home + "/worker.lock", os.O_RDWR | os.O_CREAT | BINARY, 0o600)
    if not (taken_on_windows(lock) if os.name == "nt" else taken(lock)):
        return
    here = os.path.dirname(os.path.abspath(__file__))
    if here not in sys.path:
        sys.path.append(here)
    try:
        import start_worker
    except (EOFError, ImportError, TypeError, ValueError):  # as in capture.py: a compiled file that broke
        forget_compiled(here, "start_worker")
        import start_worker

    start_worker.start(home, lock)


def forget_compiled(folder: str, name: str) -> None:
    """Take away what Python keeps compiled of the module `name`; where that can't be, let it look past it."""
    try:
        os.unlink(f"{folder}/__pycache__/{name}.{sys.implementation.cache_tag}.pyc")
    except OSError:
        sys.pycache_prefix = os.devnull


def taken(lock: int) -> bool:
    """Lock the open file `lock`, for as long as any process has it open; False when another holds it."""
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def taken_on_windows(lock: int) -> bool:
    """Whether the open file `lock` can be locked; it is let go, since a child must take its own there."""
    import msvcrt

    try:
        msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        msvcrt.locking(lock, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]
    except OSError:
        return False
    return True


def make_dirs(path: str) -> None:
    """Make `path` and its missing parents, each for its owner only."""
    try:
        os.mkdir(path, 0o700)
    except FileNotFoundError:
        parent = os.path.dirname(path)
        if os.path.isdir(parent):
            raise  # nothing can be made there: /proc, for one, says so of everything
        make_dirs(parent)
        make_dirs(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def describe(error: BaseException) -> str:
    """Name the cause without what differs from one hook to the next (process ids, random names)."""
    if isinstance(error, OSError):
        where = (
            os.path.dirname(str(error.filename)) if ".reverie-tmp-" in str(error.filename) else error.filename
        )
        return f"{error.strerror}: {where}"
    return str(error) or "an error without a word"


def log(home: str, cause: str) -> None:
    """Add one line to the hook log unless its end already names the same cause."""
    if not home:
        return
    try:
        make_dirs(home + "/logs")
        handle = os.open(home + "/logs/hook.log", os.O_RDWR | os.O_CREAT | os.O_APPEND | BINARY, 0o600)
        try:
            size = os.fstat(handle).st_size
            os.lseek(handle, max(0, size - 4096), os.SEEK_SET)
            tail = os.read(handle, 4096)
            text = cause.encode("utf-8", "replace").replace(b"\n", b" ")[:1000]
            if text in tail:
                return
            if size > LOG_LIMIT:
                os.ftruncate(handle, 0)
            os.write(handle, time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()).encode() + text + b"\n")
        finally:
            os.close(handle)
    except OSError:
        # The disk is full or the home can't be written: there is nowhere left to say it.
        return
