"""A worker that did work and then has to wait does so in a fresh process, under the same lock and number."""

import os
import select
import subprocess
import sys
import time
from datetime import UTC, datetime

from pipeline.core import locks
from pipeline.ledger import jobs
from tests.support.hooks import LIMIT
from tests.support.workshop import Workshop

JOB = ("reindex", "/nowhere")
"""What it waits for."""


def test_it_keeps_lock_and_number_until_nothing_is_near(shop: Workshop) -> None:
    session = shop.session(1, start=datetime.now(UTC).replace(microsecond=0).isoformat())
    session.user("Remember: the queue is kept in SQLite, never in memory.")
    session.assistant("Noted.")
    shop.fire(session)
    with shop.ledger() as ledger:
        jobs.enqueue(ledger, *JOB, now=time.time(), run_after=time.time() + 500)
    (shop.home / "logs").mkdir()
    log = shop.home / "logs" / "worker.log"
    log.touch()
    env = {**shop.env, "REVERIE_MODEL__PROVIDER": "offline", "REVERIE_WORKER__LINGER_SECONDS": "600"}
    process = subprocess.Popen([sys.executable, "-m", "pipeline.worker"], env=env, cwd=shop.home)
    follow = ["tail", "-n", "+1", "-f", str(log)]
    with subprocess.Popen(follow, stdout=subprocess.PIPE) as said:
        assert said.stdout is not None
        seen = b""
        while seen.count(b": pass: ") < 2:
            assert select.select([said.stdout], [], [], LIMIT)[0], seen.decode()
            seen += os.read(said.stdout.fileno(), 4096)
        assert locks.worker_alive(shop.home)
        with shop.ledger() as ledger:
            ledger.execute("DELETE FROM jobs WHERE key = ?", (JOB[1],))
        assert process.wait(LIMIT) == 0 and not locks.worker_alive(shop.home)
        said.terminate()
    words = [line.split(": ", 1)[1] for line in shop.log()]
    assert [word for word in words if word in ("begins", "waits in a new process", "ends")] == [
        "begins",
        "waits in a new process",
        "begins",
        "ends",
    ]
    assert {line.split()[2] for line in shop.log()} == {str(process.pid)}
    assert shop.memories()
