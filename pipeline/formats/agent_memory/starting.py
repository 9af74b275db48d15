"""What is done once when a server or the mirror begins: bring a folder up to date, archive what is due."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import cause
from pipeline.formats.agent_memory.errors import AgentMemoryError
from pipeline.formats.agent_memory.folder import LOG, is_older
from pipeline.formats.agent_memory.index import version_of
from pipeline.formats.agent_memory.layout import prepare
from pipeline.formats.agent_memory.memory import AgentMemory

_MOST_LOG, _LOGS = 10_000_000, 3


def start(memory: AgentMemory) -> None:
    """Make the folder where it is missing, migrate an older one, and archive what is due, if that is wanted.

    What can't be done is told in the warnings and stops nobody from reading.
    """
    try:
        if not memory.exists:
            prepare(memory.root)
        if memory.is_newer:
            memory.warn("a later version wrote the folder: it is read, and nothing is written")
            return
        if is_older(version_of(memory.root)) or memory.options.rebuild_at_start:
            with memory.writer():
                memory.rebuild()
        else:
            memory.index()
        if memory.options.auto_archive:
            gone = memory.archive_due()
            if gone:
                LOG.info("%d memories were archived: nobody used them, or they were long done", len(gone))
    except (AgentMemoryError, OSError) as error:
        memory.warn(cause(error))


def log_to(file: str, level: str) -> None:
    """Let what happens to the files be logged to `file`, of at most 10 MB and with three former ones."""
    LOG.setLevel(level)
    if not LOG.handlers:
        LOG.addHandler(logging.NullHandler())  # Else Python would print it beside what the program says.
    path = Path(file).expanduser().absolute()
    if not file or any(getattr(known, "baseFilename", "") == str(path) for known in LOG.handlers):
        return
    ensure_dir(path.parent)
    handler = RotatingFileHandler(path, maxBytes=_MOST_LOG, backupCount=_LOGS, encoding="utf-8", delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    LOG.addHandler(handler)
