"""The switch that makes an accidental live model call an error.

``REVERIE_NO_LIVE_CALLS=1`` is set by the test suite. Calls to a loopback address stay allowed, and so does a
``claude`` program named outright in the settings, which is how tests bring their own.
"""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

from pipeline.core.errors import LiveCallError

SWITCH = "REVERIE_NO_LIVE_CALLS"


def forbid_live(caller: str, *, base_url: str = "", named_program: bool = False) -> None:
    """Raise LiveCallError when the switch is on and this call would leave the machine."""
    if os.environ.get(SWITCH, "0") in ("", "0"):
        return
    if named_program or (base_url and is_loopback(base_url)):
        return
    raise LiveCallError(
        f"{caller} would make a live model call, and {SWITCH} is set",
        fix=f"Use replay:DIR or offline, or unset {SWITCH}.",
    )


def is_loopback(url: str) -> bool:
    """Whether `url` leads to this machine."""
    try:
        host = urlsplit(url).hostname or ""
        if host == "localhost":
            return True
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
