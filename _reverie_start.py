"""Where the installed `reverie` starts: what PYTHONPATH names comes last, and stands for nothing of ours.

A project may have a package called `pipeline`, or modules named like those we use.
"""

import os
import sys


def run() -> None:
    """Run the command line."""
    here = absolute(os.path.dirname(__file__))
    named = {absolute(folder or ".") for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep)}
    own = [folder for folder in sys.path if folder and absolute(folder) not in named]
    named_again = [folder for folder in sys.path if folder not in own and absolute(folder) != here]
    sys.path[:] = [*own, *([] if here in own else [here]), *named_again]
    from pipeline.cli.main import run as command_line

    command_line()


def absolute(folder):
    """Return the absolute path of `folder`; as it is where it is relative to a directory that was removed."""
    try:
        return os.path.abspath(folder)
    except OSError:
        return folder
