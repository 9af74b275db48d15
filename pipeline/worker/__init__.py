"""The background process: drain the spool, ingest, extract, and go away again.

    drain      events out of the spool, rows and jobs into the ledger
    places     which memory folder a session belongs to
    reader     one source file into its memory folder, for the jobs and the commands
    dream_job  a dream over each store that was at work, where its gates are open
    jobs       the jobs, one after the other, each settled whatever happens
    __main__   the detached process a hook starts

Exactly one runs at a time: the lock on ``worker.lock`` dies with the process that holds it.
"""

from __future__ import annotations

from pipeline.worker.jobs import Pass, Worker
from pipeline.worker.memory_folder import check_owner, store_for

__all__ = ["Pass", "Worker", "check_owner", "store_for"]
