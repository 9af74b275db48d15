"""What calls for a team cost, with their replies, in the home until the team's database has them.

    unsettled/<team>/<call>.json    {"call", "reply", "dollars", "tokens"}

Who paid for a reply while the database is away keeps it here and does something else. It is settled before
the next thing is asked there, so that the question finds it and nobody pays twice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import TeamError, UnreachableTeamError
from pipeline.core.home import Home
from pipeline.record import record, values_of
from pipeline.team import spending

LOG = logging.getLogger("reverie.worker")
_SET_ASIDE = ".odd"
"""The end of the name of a file of which nothing can be settled."""


@record
class Unsettled:
    """Those of one team, in `folder`."""

    folder: Path

    @classmethod
    def of(cls, home: Path, team: str) -> Unsettled:
        """Return those of `team` in the home."""
        return cls(Home(home).unsettled / team)

    def keep(self, call: spending.Call, reply: str | None, dollars: Decimal, tokens: dict[str, int]) -> None:
        """Keep what `call` cost, and its `reply` as the database is to have it."""
        value = {"call": values_of(call), "reply": reply, "dollars": str(dollars), "tokens": tokens}
        write_atomic(self.folder / f"{call.id}.json", orjson.dumps(value))

    def settle(self, ask: Callable[..., Any]) -> None:
        """Let the database, which `ask` asks, have all that is kept. What it refuses is set aside.

        Raises UnreachableTeamError where it is still away.
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
            except (TeamError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                aside = file.with_suffix(_SET_ASIDE)
                LOG.warning(
                    "%s: it can't be settled with the team: %s; it is now %s", file, error, aside.name
                )
                file.replace(aside)
            else:
                file.unlink(missing_ok=True)
