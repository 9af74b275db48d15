"""``reverie``: where every command starts, and the one catch-all boundary around all of them.

Exit codes: 0 done, 1 something is wrong (told on stderr), 2 wrong usage.
"""

import pathlib
import sys

from pipeline.cli import front, streams
from pipeline.core.errors import InputError, ReverieError, UsageError, cause
from pipeline.hooklib import places
from pipeline.hooklib.settings import WRITING, step_for


def run() -> None:
    """Run the command line; the boundary at which any error becomes one readable message."""
    streams.utf8()
    if not _is_somewhere():
        _tell(
            InputError(
                "the directory you are in was removed", fix="Change to one that exists, then try again."
            )
        )
        sys.exit(1)
    if "doctor" not in sys.argv[1:2]:  # it looks only
        _note_interpreter()
    try:
        if not front.answered(sys.argv[1:]):
            from pipeline.cli.tree import program

            program()()
    except ReverieError as error:
        _tell(error)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        # A full disk, a folder that may only be read, a limit of the system's: wherever it shows.
        step = step_for(error.errno) if error.errno in WRITING else "`reverie doctor` looks at the rest."
        _tell(ReverieError(cause(error), fix=step))
        sys.exit(1)
    except Exception as error:
        if places.variable("REVERIE_DEBUG"):
            raise
        step = "This is a fault in Reverie; REVERIE_DEBUG=1 shows where."
        _tell(ReverieError(str(error) or "something that nobody foresaw", fix=step))
        sys.exit(1)


def _tell(error: ReverieError) -> None:
    from pipeline.cli import output

    output.failure(error)


def _is_somewhere() -> bool:
    """Whether this process stands in a directory; one that was removed is no project's and has no path."""
    try:
        pathlib.Path.cwd()
    except OSError:
        return False
    return True


def _note_interpreter() -> None:
    """Note which Python runs, where the hooks would find none that does."""
    home = places.home_dir()
    if not places.needs_note(home):
        return
    from pathlib import Path

    from pipeline.install.hook_registration import note_if_none

    note_if_none(Path(home))


if __name__ == "__main__":
    run()
