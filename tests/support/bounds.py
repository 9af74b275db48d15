"""Running commands under the ordinary rules of file permissions, also where the tests run as root."""

import os
import shutil

NO_OVERRIDE = (shutil.which("setpriv") or "setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Root starts a program with this in front, and the program may read only what the mode bits allow."""


def bound() -> tuple[str, ...]:
    """Return what to put before a command so that mode 000 means what it says."""
    return NO_OVERRIDE if os.geteuid() == 0 else ()
