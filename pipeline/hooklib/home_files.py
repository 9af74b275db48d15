"""What Reverie keeps in its home, by name relative to it: the one list, for hooks and for everything else.

`pipeline.core.home` has them as paths. ``hooks/capture.py``, ``hooks/start_worker.py`` and ``hooks/run``
import nothing of this package and repeat a few; a test holds those equal. Each constant in capitals is such
a name, so that purging and ``doctor`` need no list of their own.
"""

LEDGER = "ledger.sqlite"
CONFIG = "config.toml"
CONFIG_LOCK = "config.lock"
"""Held by who changes a setting, so that of two commands at once neither undoes the other's."""
PYTHON = "python"
"""One line: the interpreter that can run the worker."""
SETUP = "setup"
"""What became of setting up an environment: a line for programs, a line for the person."""
SETUP_LOCK = "setup.lock"
SETUP_LOG = "logs/setup.log"
ENVIRONMENT = "environment"
"""The packages that Reverie installed for itself, where a machine had none."""
TOLD_PYTHON = "told-python"
"""The day on which a person was last told that no Python can run the hooks."""
USER_STORE = "memory"
"""The store of the memories meant for all projects."""

SPOOL = "spool"
QUARANTINE = "spool/quarantine"
WORKER_LOCK = "worker.lock"
LOGS = "logs"
WORKER_LOG = "logs/worker.log"
HOOK_LOG = "logs/hook.log"
REPORTS = "reports"
SEARCH = "search"
"""One search index for each store."""

RECALL = "recall"
HOOK_STATE = "recall/board.json"
"""What the worker leaves for the hooks to read."""
RECALL_SESSIONS = "recall/sessions"
ANNOUNCED = "recall/seen"
STARTS = "recall/starts"
"""The latest starts of sessions, so that of two hooks for one only the first answers."""
SESSION_MEMORY = "session-memory"

INSTALLED = "installed.json"
BACKUPS = "backups"
SCHEDULE_MADE = "schedule-made"
"""The folders that the scheduler's files needed, one a line, so that removing them takes those too."""
WINDOWS_TASK = "reverie-dream.xml"

CLAUDE_LOCK = "claude.lock"
CLAUDE_FLAGS = "claude-flags.json"
CLAUDE_FOLDER = "claude-cwd"
