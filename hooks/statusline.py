"""Print Reverie's part of Claude Code's status line; fail in silence, exit 0.

Run by Claude Code as ``python -I -S statusline.py`` with the session's JSON on stdin (see
``pipeline.hooklib.statusline``). A person sees its line after each message, so it does as little as it can.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import capture  # noqa: E402 - its bounded reader, and where the home is

if __name__ == "__main__":
    try:
        data = capture.read_stdin()
        parent = os.path.dirname(HERE)
        bundled = os.path.basename(parent) == "_bundled"
        sys.path.append(os.path.dirname(os.path.dirname(parent)) if bundled else parent)
        from pipeline.hooklib import statusline

        told = statusline.line(data, capture.home_dir()) + "\n"
        os.write(1, told.encode("utf-8", "replace"))
    except BaseException as error:  # noqa: BLE001 - a boundary: a status line may never fail
        capture.log(capture.home_dir(), f"statusline: {capture.describe(error)}")
    os._exit(0)
