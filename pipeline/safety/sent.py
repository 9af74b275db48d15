"""Takes out of a text what should not leave this machine when a page of memories is sent to somebody."""

from __future__ import annotations

import re

from pipeline.safety.redaction import redact

PATH = "[path]"
"""What stands for a path."""
_QUOTED = re.compile(
    r"""(?P<quote>["'`])(?:file://|~[\w.-]*/|/(?=[^/\s])|[A-Za-z]:[\\/]|\\\\)[^"'`\n]*(?P=quote)"""
)
_BARE = re.compile(
    r"""(?<![\w/\\:.~])
    (?: file://\S+
      | ~[\w.-]*/[^\s"'`<>|,;()\[\]{}]*
      | /(?:home|Users|root|mnt|Volumes|tmp|var|opt|srv|work|etc|private)\b[^\s"'`<>|,;()\[\]{}]*
      | /[\w.@+~-]+(?:/[^\s"'`<>|,;()\[\]{}/]+)+/?
      | [A-Za-z]:[\\/][^\s"'`<>|,;()\[\]{}]*
      | \\\\[^\s"'`<>|,;()\[\]{}]+
    )""",
    re.VERBOSE,
)


def sendable(text: str, homes: tuple[str, ...] = ()) -> str:
    """Return `text` without secrets and without paths of a machine; `homes` are folders known by name.

    Paths within a project (``src/app.py``) and addresses of the web stay.
    """
    text = redact(text).text
    for home in sorted((home for home in homes if len(home) > 1), key=len, reverse=True):
        # A folder whose name has blanks ends where none of the patterns below would see its end.
        text = re.sub(re.escape(home) + r"""[^\s"'`<>|,;()\[\]{}]*""", PATH, text)
        spelled = re.sub(r"[^A-Za-z0-9]", "-", home)
        text = re.sub(re.escape(spelled) + r"[\w-]*", PATH, text) if spelled.count("-") > 1 else text
    text = _QUOTED.sub(lambda found: f"{found['quote']}{PATH}{found['quote']}", text)
    return _BARE.sub(PATH, text)
