"""Many workers read one backlog: how long it takes over the model's own latency, and what it holds meanwhile.

    python -m bench.team_workers --conversations 2000 --workers 1 2 4 8 --latency 0.5 --kill-every 100

Each worker is a machine of its own with a home and a store, all of them on this one, whose cores soon count
as much as the model does: `cpu a talk` is what a conversation took of them, in seconds. The floor is two
calls of `latency` seconds for each conversation, shared among the workers. Needs PostgreSQL; `make bench`
leaves it out.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.team import connecting, members, queue, schema, spending
from tests.support import loopback
from tests.support.model import borne_out
from tests.support.postgres import Server, running
from tests.support.team_machines import Machine, keep_facts, said_in, storm, talk, telling

CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'reverie'"
PROJECTS = 40
COLUMNS = (
    "workers", "seconds", "over floor", "cpu a talk", "kills", "asked",
    "read once", "connections", "MB early", "MB late", "dollars", "cap",
)  # fmt: skip


def main() -> None:
    """Run each number of workers once and print a line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument(
        "--latency", type=float, default=0.5, help="seconds that each call of the model takes"
    )
    parser.add_argument("--kill-every", type=int, default=0, help="calls between two kills, 0 for none")
    given = parser.parse_args()
    print("  ".join(f"{name:>11}" for name in COLUMNS))
    with running() as server:
        connecting.within(connecting.parse(server.url()), schema.set_up)
        for count in given.workers:
            with tempfile.TemporaryDirectory() as place:
                one_run(server, Path(place), count, given)


def one_run(server: Server, place: Path, count: int, given: argparse.Namespace) -> None:
    """Let `count` workers read the backlog, and print what that took."""
    total, latency = given.conversations, given.latency
    url, name = server.url(), f"team-{count}"
    address = connecting.parse(url)

    def slowly(answer: Any) -> Any:
        def later(prompt: str) -> Any:
            threading.Event().wait(latency)
            return answer(prompt)

        return later

    def ask(work: Any, *values: Any) -> Any:
        return connecting.within(address, lambda connection: work(connection, *values))

    team = ask(members.found_team, name, "Founder")
    with ExitStack() as stack:
        api = stack.enter_context(loopback.serving(slowly(keep_facts), slowly(borne_out)))
        api.ping = loopback.well
        laptop = Machine(place / "laptop", api.environment)
        laptop.folder.mkdir(parents=True)
        for number in range(total):
            talk(laptop.projects, f"project-{number % PROJECTS}", number)
        for words in (
            ("ingest", "--dir", str(laptop.projects)),
            ("team", "join", name, "--database", url),
            ("process", "--all", "--team", "--yes"),
        ):
            done = laptop.reverie(*words)
            assert done.returncode == 0, done.stderr
        cap = Decimal(total) / 1000 + 1
        ask(spending.set_cap, team, "day", cap)
        boxes = [
            Machine(place / f"box-{number}", api.environment, laptop.projects) for number in range(count)
        ]
        cpu, begun = os.times(), time.monotonic()
        seen = storm(
            boxes,
            lambda box: box.begin(name, url, "--until-empty", "--json"),
            kill_every=given.kill_every,
            calls=lambda: len(api.prompts) + len(api.second),
            connections=lambda: int(server.sql(CONNECTIONS)),
        )
        seconds, after = time.monotonic() - begun, os.times()
        used = sum(after[2:4]) - sum(cpu[2:4])
        once = sum((box.facts() for box in boxes), start=laptop.facts()) == {
            telling(number): 1 for number in range(total)
        }
        (mine,) = ask(queue.progress, team)
        assert mine.read == total, mine
        spent = ask(spending.spent, team, "day")
        row = (
            str(count),
            f"{seconds:.0f}",
            f"{seconds * count / (2 * latency * total):.2f}",
            f"{used / total:.2f}",
            str(seen.kills),
            str(sum(said_in(api.prompts).values())),
            "yes" if once else "NO",
            str(seen.connections),
            f"{seen.early / 1024:.0f}",
            f"{seen.late / 1024:.0f}",
            f"{spent:.2f}",
            f"{cap:.2f}",
        )
        print("  ".join(f"{value:>11}" for value in row), flush=True)


if __name__ == "__main__":
    main()
