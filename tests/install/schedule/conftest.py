"""A machine of one's own: a home directory, and schedulers that note what they are told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_CRONTAB = """#!/bin/sh
tab="$HOME/crontab"
case "$1" in
-l) if [ -f "$HOME/broken" ]; then echo 'you may not use cron' >&2; exit 1; fi
    if [ -f "$tab" ]; then /bin/cat "$tab"; else echo 'no crontab for me' >&2; exit 1; fi ;;
-r) /bin/rm "$tab" ;;
-) /bin/cat >"$tab" ;;
esac
"""
_NOTING = """#!/bin/sh
echo "{name} $*" >>"$HOME/told"
if [ -f "$HOME/refuse" ] && /bin/grep -q "$({last})" "$HOME/refuse"; then echo 'not today' >&2; exit 3; fi
echo "$({last}) is fine"
"""


class Machine:
    """`home` is the person's home, `reverie` Reverie's; `told` what the schedulers were called with."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.reverie = home / "reverie"
        self.crontab = home / "crontab"
        self.tools = home / "tools"
        self.tools.mkdir(parents=True)

    def have(self, *names: str) -> None:
        """Put the program of a scheduler on the search path."""
        last = 'for word in "$@"; do case "$word" in -*) ;; *) echo "$word"; break ;; esac; done'
        for name in names:
            text = _CRONTAB if name == "crontab" else _NOTING.format(name=name, last=last)
            (self.tools / name).write_text(text)
            (self.tools / name).chmod(0o755)

    def refuse(self, word: str) -> None:
        """Let every call fail whose first plain word is `word`."""
        (self.home / "refuse").write_text(word + "\n")

    def told(self) -> list[str]:
        """Return the calls so far and forget them."""
        file = self.home / "told"
        lines = file.read_text().splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(tmp_path / "José's home")
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", str(made.tools))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert os.environ["HOME"] == str(made.home)
    return made
