"""The lines of worker.log: which area they come from, and the job, run and session they are about."""

from __future__ import annotations

import logging
import sys

from pipeline.worker.process import FieldFormatter
from tests.support.loopback import LoopbackApi, Refusal
from tests.support.workshop import Workshop

NOW = "2026-03-02T09:05:00+00:00"


def line(**fields: object) -> str:
    record = logging.LogRecord("reverie.worker", logging.INFO, "x.py", 1, "what %s", ("happened",), None)
    record.__dict__.update(fields)
    return FieldFormatter("%(name)s %(message)s").format(record)


def test_a_line_names_the_fields_it_has() -> None:
    assert line() == "reverie.worker what happened"
    assert line(session="", run="r1", job=7) == "reverie.worker what happened job=7 run=r1"


def test_the_fields_stand_before_a_traceback() -> None:
    try:
        raise KeyError("x")
    except KeyError:
        lines = line(job=7, exc_info=sys.exc_info()).splitlines()
    assert lines[0] == "reverie.worker what happened job=7" and lines[1].startswith("Traceback")


def test_what_became_of_a_session_can_be_found_by_its_id(shop: Workshop, api: LoopbackApi) -> None:
    first, second = shop.session(1), shop.session(2)
    for session in (first, second):
        session.user("Shelf 01 holds 17 boxes.")
        session.assistant("Noted.")
        shop.fire(session)
    assert shop.work(REVERIE_NOW=NOW) == 0
    found = [line for line in shop.log() if f"session={first.session_id}" in line]
    assert found and all(" INFO reverie.worker: extraction: " in line for line in found)
    with shop.ledger() as ledger:
        known = {
            row["id"]
            for row in ledger.rows("SELECT id FROM runs WHERE key LIKE ?", (f"%{first.session_id}%",))
        }
    assert {line.partition(" run=")[2].split()[0] for line in found} <= known


def test_a_failure_names_its_job_and_session(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = lambda prompt: Refusal(400)
    session = shop.session(1)
    session.user("Shelf 01 holds 17 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    assert shop.work(REVERIE_NOW=NOW) == 0
    (found,) = [line for line in shop.log() if " WARNING reverie.worker: " in line]
    assert f"session={session.session_id}" in found and " job=" in found
