"""Put what Reverie remembers before a prompt, a tool's use or a session; fail in silence, exit 0.

Run by Claude Code as ``python -I -S recall.py <event>``, one of EVENTS, with the event's JSON on stdin;
what it prints becomes context. A person waits for it, so what it runs is the lean part of the package
(``pipeline.recall``, ``pipeline.hooklib``), found beside this folder. A session's start is an event for the
worker as well: it is spooled after the answer has been given.
"""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - the launcher tries whatever Python it finds
    os._exit(3)  # too old for the package; stdin is unread, so the launcher's next Python may try

HERE = os.path.dirname(os.path.abspath(__file__))
# At the end, so that nothing of ours or beside us stands before a module of the interpreter.
sys.path.append(HERE)
try:
    import spooling  # it also sees to Ctrl-C
except (EOFError, ImportError, TypeError, ValueError):
    sys.pycache_prefix = os.devnull  # its compiled file is broken: a Stop removes it, none is read today
    import spooling

EVENTS = ("UserPromptSubmit", "SessionStart", "PreToolUse")


def main() -> None:
    """Answer the event that the first argument names."""
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    spooling.without_failing(event, lambda: take(event))


def take(event: str) -> None:
    """Answer the event on stdin; tell the worker of a session's start, whatever became of the answer."""
    spooling.own_standard_streams()
    data = spooling.read_stdin()
    if event not in EVENTS or not data.strip() or os.environ.get("REVERIE_INSIDE"):
        return
    home = spooling.home_dir()
    if home:
        try:
            answer(event, data, home)
        finally:
            if event == "SessionStart":
                note_start(event, data, home)


def answer(event: str, data: bytes, home: str) -> None:
    """Print what recall has to say; what it could not use goes to the log."""
    problems: list[str] = []
    sys.path.append(package_folder())
    from pipeline.recall.live import hook

    told = hook.run(event, data, home, problems).encode("utf-8", "replace")
    # The answer is complete before its first byte is written, so nothing half-made can become context.
    view = memoryview(told)
    while view:
        view = view[os.write(1, view) :]
    for problem in problems:
        spooling.log(home, f"{event}: {problem}")


def note_start(event: str, data: bytes, home: str) -> None:
    """Tell the worker of the session, once Claude Code has all that it waits for."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.close(quiet)
    spooling.write_event(home, event, data)
    spooling.ensure_worker(home)


def package_folder() -> str:
    """Return the folder that holds the package: beside `hooks` in a checkout, around it in a wheel."""
    parent = os.path.dirname(HERE)
    return os.path.dirname(os.path.dirname(parent)) if os.path.basename(parent) == "_bundled" else parent


if __name__ == "__main__":
    main()
    os._exit(0)
