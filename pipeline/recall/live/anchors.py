"""Whether the files a memory is about are still there.

Only what can be told for certain is told: relative paths under the project's root. A path elsewhere, a glob,
a symbol or an address says nothing, and a missing file never makes a memory false; it only is mentioned.
"""

import os
import re

_PATH = r"(?:\./)?([\w.@+ -]+(?:/[\w.@+ -]+)*)/?(?::\d+(?:-\d+)?)?"
_ENDING = r"\.[A-Za-z][A-Za-z0-9]{0,7}$"
MOST = 8
"""Anchors looked at for one memory."""


def freshness(anchors: "list[str]", root: str) -> str:
    """Return what to say of the files that `anchors` name below the project at `root`, "" for nothing.

    For example ``all there`` or ``src/x.py is gone``.
    """
    present, missing = [], []
    for anchor in anchors[:MOST] if root else ():
        path = relative_path(anchor)
        if not path:
            continue
        if os.path.lexists(f"{root}/{path}"):
            present.append(path)
        elif "/" in path and os.path.isdir(f"{root}/{path.partition('/')[0]}"):
            # Without its first folder the path is another project's, and a bare name may lie anywhere.
            missing.append(path)
    if not missing:
        return "all there" if present else ""
    more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
    return f"{', '.join(missing[:2])}{more} {'is' if len(missing) == 1 else 'are'} gone"


def relative_path(anchor: str) -> str:
    """Return the path that `anchor` is when it is a relative one, without a line number, else ""."""
    match = re.fullmatch(_PATH, anchor.strip())
    path = match.group(1) if match else ""
    if ".." in path.split("/"):
        return ""
    return path if "/" in path or re.search(_ENDING, path) else ""
