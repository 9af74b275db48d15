"""The background process: drain the spool, ingest, extract, dream, and go away again.

    context            what the parts share: home, ledger, opened stores, model, jobs
    memory_folder      which store a session belongs to
    extraction_runner  one source file into its store, for the jobs and the commands
    last_look          whether anything changed in a store since what is derived was made
    batch_runner       a backlog that is read in batches, looked at now and then
    batch_flight       a batch from when it is written down to the last of its results
    batch_results      what came of one batch, into the ledger
    batch_books        the books it is in beside the ledger, where a team's workers read
    dream_runner       a dream over each store that was at work, where its gates are open
    derived_files      the files and search indexes that are made from memories
    recall_log         what recall did, into the ledger and into each store's counts
    retry              when a job that failed is done again
    in_advance         memories that a model chooses for a session's next prompt
    jobs               one pass: every job that is due, each settled whatever happens
    process            the detached process a hook starts
    compiled           what becomes of a compiled file that broke

Exactly one runs at a time: the lock on ``worker.lock`` dies with the process that holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.core.lazily import exports

if TYPE_CHECKING:
    from pipeline.worker.context import WorkerContext
    from pipeline.worker.jobs import Pass, Worker
    from pipeline.worker.session_store import check_owner, store_for

__getattr__ = exports(
    __name__,
    {"context": "WorkerContext", "jobs": "Pass Worker", "session_store": "check_owner store_for"},
)
__all__ = ["Pass", "Worker", "WorkerContext", "check_owner", "store_for"]
