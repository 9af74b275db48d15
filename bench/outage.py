"""A provider that is down for 26 hours: what is asked meanwhile, and when is all done afterwards?

    python -m bench.outage [jobs] [hours]

Time is simulated; ledger, spool, worker and client are the real ones, and the provider is a server on the
loopback address. It is down in every way that `WAYS` names, one after the other, for equal parts of the time.
Sessions take their turns while it is down, and Stops keep coming, also afterwards: each starts a worker,
as a hook would, which stays for as long as a job is nearly due. Nobody types a command.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.core.clock import FixedClock, iso
from pipeline.ledger import calls, jobs, open_ledger
from pipeline.worker import Worker, WorkerContext
from tests.support.loopback import LoopbackApi, NoReply, Refusal, keep_each_line, serving
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
HOURS = 26.0
JOBS = 200
STOP_SECONDS = 290.0
ASKED_WAIT = 4_000.0
WAYS: dict[str, Any] = {
    "529": Refusal(529, "Overloaded"),
    "500": Refusal(500, "Internal server error"),
    "429": Refusal(429, "slow down", {"retry-after": f"{ASKED_WAIT:.0f}"}),
    "no answer in time": NoReply.SILENCE,
    "connection dropped": NoReply.HANG_UP,
}
_BUSY = 0.8
"""By this share of the outage every session has begun; after it only old ones go on."""
_CALLS_FOR_ALL = 1_000_000
ENVIRONMENT = {
    "REVERIE_MODEL__TIMEOUT_SECONDS": "3",
    # The caps would put a part of the work off, whatever the provider does.
    "REVERIE_SPEND__CALLS_PER_HOUR": str(_CALLS_FOR_ALL),
    "REVERIE_SPEND__TOKENS_PER_HOUR": str(1_000 * _CALLS_FOR_ALL),
    "REVERIE_SPEND__DOLLARS_PER_DAY": str(_CALLS_FOR_ALL),
}


@dataclass(slots=True)
class Result:
    """What came of it: when the provider was `asked` while it was down, and how many `rows` tell of that.

    Times are seconds from the beginning; the outage ended at `ended`. `all_done` is None when something still
    waited an hour after that; `given_up` counts jobs that were parked and stretches that were passed over.
    """

    jobs: int
    ended: float
    stops: int = 0
    asked: list[float] = field(default_factory=list)
    rows: int = 0
    all_done: float | None = None
    given_up: int = 0
    memories: int = 0

    @property
    def waits(self) -> list[float]:
        """Return the seconds between one question and the next."""
        return [after - before for before, after in pairwise(self.asked)]


def simulate(
    shop: Workshop, api: LoopbackApi, *, wanted: int = JOBS, hours: float = HOURS, ways: Sequence[Any] = ()
) -> Result:
    """Let the provider behind `api` be down for `hours`, with `wanted` jobs, and return what came of it.

    The environment of this process must be that of `shop`, with ENVIRONMENT.
    """
    clock = FixedClock(START)
    found = Result(wanted, hours * 3_600)
    down = tuple(ways or WAYS.values())

    def seconds() -> float:
        return (clock.at - START).total_seconds()

    def sleep(length: float) -> None:
        clock.at += timedelta(seconds=length)

    def answer(prompt: str) -> Any:
        if seconds() >= found.ended:
            return keep_each_line(prompt)
        found.asked.append(seconds())
        return down[min(int(seconds() / found.ended * len(down)), len(down) - 1)]

    api.answer = answer
    sessions: list[Transcript] = []
    settings = config.load(shop.home)
    with open_ledger(shop.home / "ledger.sqlite") as ledger:
        while found.all_done is None and seconds() < found.ended + 3_600:
            clock.at = max(clock.at, START + timedelta(seconds=STOP_SECONDS * found.stops))
            begun = 1 + round((wanted - 1) * min(1.0, (seconds() + STOP_SECONDS) / (found.ended * _BUSY)))
            for number in range(len(sessions) + 1, begun + 1):
                sessions.append(_turn(shop, number, clock))
            shop.fire(sessions[found.stops % len(sessions)])
            found.stops += 1
            while True:
                worker = Worker(WorkerContext(shop.home, settings, clock, ledger, sleep=sleep))
                worker.run()
                due = worker.next_due()
                if due is None or due > settings.worker.linger_seconds:
                    break
                sleep(due)
            kept = [job for job in jobs.list_jobs(ledger) if job.state != "done"]
            if seconds() >= found.ended and not kept:
                found.all_done = seconds()
        found.given_up = len(jobs.list_jobs(ledger, state="parked"))
        found.given_up += sum(run[3] == "failed:unextractable" for run in shop.books()["runs"])
        rows = calls.list_calls(ledger, limit=_CALLS_FOR_ALL)
        found.rows = sum(row.started_at < (START.timestamp() + found.ended) for row in rows)
    found.memories = len(shop.memories())
    return found


def _turn(shop: Workshop, number: int, clock: FixedClock) -> Transcript:
    """Play the first turn of session `number`, up to its Stop."""
    session = shop.session(number, iso(clock.at))
    session.user(f"Shelf {number:03d} holds {number * 17} boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    return session


def main() -> None:
    """Run it and print what came of it."""
    logging.getLogger("reverie").setLevel(logging.ERROR)
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else JOBS
    hours = float(sys.argv[2]) if len(sys.argv) > 2 else HOURS
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder, serving(keep_each_line) as api:
        shop = Workshop(Path(folder) / "place", {**api.environment, **ENVIRONMENT})
        os.environ.update(shop.env)
        shop.home.mkdir(mode=0o700)
        found = simulate(shop, api, wanted=wanted, hours=hours)
    after = None if found.all_done is None else (found.all_done - found.ended) / 60
    print(f"down for {hours:g} h: {', '.join(WAYS)}; {found.jobs} jobs, {found.stops} Stops")
    print(f"requests while it was down: {len(found.asked)}, rows of them in the ledger: {found.rows}")
    print(f"waits between them: {min(found.waits):,.1f} s to {max(found.waits):,.1f} s")
    print(f"all done by themselves: {'no' if after is None else f'{after:.0f} min after it ended'}")
    print(f"given up: {found.given_up}; memories: {found.memories} of {found.jobs}")


if __name__ == "__main__":
    main()
