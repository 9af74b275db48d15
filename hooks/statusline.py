"""Print Reverie's part of Claude Code's status line; fail in silence, exit 0.

Run by Claude Code as ``python -I -S statusline.py`` with the session's JSON on stdin (see
``pipeline.hooklib.statusline``). A person sees its line after each message, so it does as little as it can.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import spooling  # noqa: E402 - its bounded reader and its boundary


def show() -> None:
    """Print the line for the session on stdin."""
    data = spooling.read_stdin()
    parent = os.path.dirname(HERE)
    bundled = os.path.basename(parent) == "_bundled"
    sys.path.append(os.path.dirname(os.path.dirname(parent)) if bundled else parent)
    from pipeline.hooklib import statusline

    line = statusline.line(data, spooling.home_dir()) + "\n"
    os.write(1, line.encode("utf-8", "replace"))


if __name__ == "__main__":
    spooling.without_failing("statusline", show)
    os._exit(0)
