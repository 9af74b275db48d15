"""What calls for a team cost, with their replies, in the home until the team's database has them.

    unsettled/<team>/<call>.json    {"call", "reply", "dollars", "tokens"}

Who paid for a reply while the database is away keeps it here and does something else. It is settled before
the next thing is asked there, so that the question finds it and nobody pays twice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import TeamError, UnreachableTeamError
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.record import record, values_of
from pipeline.team import spending

LOG = logging.getLogger("reverie.worker")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FOR_GOOD = ("22", "23", "42")
"""Starts of SQLSTATEs by which the database says no to these very values."""
_SET_ASIDE = ".odd"
"""The end of the name of a file of which nothing can be settled."""


@record
class Unsettled:
    """Those of one team, in `folder`."""

    folder: Path

    @classmethod
    def of(cls, home: Path, team: str) -> Unsettled:
        """Return those of `team` in the home."""
        # The id is what a server said; only what was made as one is taken for a name as it is.
        name = team if _ID.fullmatch(team) else digest(team)
        return cls(Home(home).unsettled / name)

    def keep(self, call: spending.Call, reply: str | None, dollars: Decimal, tokens: dict[str, int]) -> None:
        """Keep what `call` cost, and its `reply` as the database is to have it."""
        value = {"call": values_of(call), "reply": reply, "dollars": str(dollars), "tokens": tokens}
        write_atomic(self.folder / f"{call.id}.json", orjson.dumps(value))

    def settle(self, ask: Callable[..., Any]) -> None:
        """Let the database, which `ask` asks, have all that is kept. What it refuses for good is set aside.

        What can't be read, or is refused for a while, as by a full disk there, stays. Raises
        UnreachableTeamError where the database is still away.
        """
        for file in sorted(self.folder.glob("*.json")):
            try:
                value = orjson.loads(file.read_bytes())
                call = spending.Call(**value["call"])
                ask(
                    spending.settle,
                    call,
                    value["reply"],
                    dollars=Decimal(value["dollars"]),
                    **value["tokens"],
                )
            except UnreachableTeamError:
                raise
            except FileNotFoundError:
                continue  # Another worker of this home was faster.
            except (OSError, TeamError) as error:
                if _is_for_good(error):
                    _set_aside(file, error)
                else:
                    LOG.warning("%s: it can't be settled with the team now: %s", file, error)
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                _set_aside(file, error)
            else:
                file.unlink(missing_ok=True)


def _is_for_good(error: Exception) -> bool:
    return (getattr(error.__cause__, "sqlstate", None) or "").startswith(_FOR_GOOD)


def _set_aside(file: Path, error: Exception) -> None:
    aside = file.with_suffix(_SET_ASIDE)
    LOG.warning("%s: it can't be settled with the team: %s; it is now %s", file, error, aside.name)
    with suppress(FileNotFoundError):  # Another worker of this home was faster.
        file.replace(aside)
