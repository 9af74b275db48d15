"""Keep one hook event as one spool file, make sure a worker runs, say nothing, exit 0.

Run by Claude Code as ``python -I -S capture.py <Stop|SessionEnd|PreCompact>`` with the event's JSON on stdin.
Python compiles anew at each start the file it is called with, but not what that file imports. So all the work
is in ``spooling.py``, and nothing here but the way there.
"""

import _signal

# Before anything else is imported: Ctrl-C in the terminal is meant for the session and reaches us as well.
_signal.signal(_signal.SIGINT, _signal.SIG_IGN)

import os  # noqa: E402
import sys  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
# At the end, so that nothing of ours or beside us stands before a module of the interpreter.
sys.path.append(HERE)
try:
    import spooling
except (EOFError, ImportError, TypeError, ValueError):
    # Its compiled file is broken, as a power cut may leave one.
    try:
        os.unlink(f"{HERE}/__pycache__/spooling.{sys.implementation.cache_tag}.pyc")
    except OSError:
        sys.pycache_prefix = os.devnull  # it can't be removed: nothing compiled is read or written
    import spooling

if __name__ == "__main__":
    spooling.main()
    os._exit(0)
