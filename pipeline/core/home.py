"""Every file and folder under Reverie's home, as a path. Their names are in `pipeline.hooklib.home_files`."""

from __future__ import annotations

from pathlib import Path

from pipeline.hooklib import home_files
from pipeline.record import record

NAMES: tuple[str, ...] = tuple(value for name, value in vars(home_files).items() if name.isupper())
"""All of them, relative to the home, with ``/`` between parts."""
OWN: tuple[str, ...] = tuple(dict.fromkeys(name.partition("/")[0] for name in NAMES))
"""What stands in the home itself."""


@record
class Home:
    """Reverie's own state directory at `path`. Nothing is looked at: a property names, there or not."""

    path: Path

    @property
    def private(self) -> tuple[Path, ...]:
        """Return what nobody else may read: all but ``config.toml``, which is a person's own file."""
        return (self.path, *(self.path / name for name in OWN if name != home_files.CONFIG))

    @property
    def ledger(self) -> Path:
        """Return the ledger: work, money and what was said."""
        return self.path / home_files.LEDGER

    @property
    def config(self) -> Path:
        """Return the settings a person wrote."""
        return self.path / home_files.CONFIG

    @property
    def config_lock(self) -> Path:
        """Return the lock of who changes a setting."""
        return self.path / home_files.CONFIG_LOCK

    @property
    def kept_settings(self) -> Path:
        """Return the settings that were found sound."""
        return self.path / home_files.KEPT_SETTINGS

    @property
    def looked_over(self) -> Path:
        """Return in which stores nothing is wrong, by their looks."""
        return self.path / home_files.LOOKED_OVER

    @property
    def python(self) -> Path:
        """Return the file with the interpreter that can run the worker."""
        return self.path / home_files.PYTHON

    @property
    def noted_path(self) -> Path:
        """Return the file with the PATH of the worker."""
        return self.path / home_files.PATH

    @property
    def allowed(self) -> Path:
        """Return the memory folders that a person let projects' own settings name."""
        return self.path / home_files.ALLOWED

    @property
    def openai_key(self) -> Path:
        """Return the file with the key for a server of vectors."""
        return self.path / home_files.OPENAI_KEY

    @property
    def setup(self) -> Path:
        """Return what became of setting up an environment."""
        return self.path / home_files.SETUP

    @property
    def setup_log(self) -> Path:
        """Return the log of that."""
        return self.path / home_files.SETUP_LOG

    @property
    def zones(self) -> Path:
        """Return the time zones in which this machine was."""
        return self.path / home_files.ZONES

    @property
    def user_store(self) -> Path:
        """Return the store of the memories meant for all projects."""
        return self.path / home_files.USER_STORE

    @property
    def drafts(self) -> Path:
        """Return the folder of texts that a person edited and that could not be written."""
        return self.path / home_files.DRAFTS

    @property
    def syncs(self) -> Path:
        """Return the folder of what `reverie sync` knows of each place it keeps in step."""
        return self.path / home_files.SYNCS

    @property
    def sharing(self) -> Path:
        """Return the folder of what is kept in step with other machines: a folder for each store."""
        return self.path / home_files.SHARING

    @property
    def unsettled(self) -> Path:
        """Return the folder of what was paid for teams whose databases were away: a folder for each."""
        return self.path / home_files.UNSETTLED

    @property
    def former(self) -> Path:
        """Return the folder of files elsewhere as they were before a command wrote them."""
        return self.path / home_files.FORMER

    @property
    def spool(self) -> Path:
        """Return the folder of events that no worker has taken yet."""
        return self.path / home_files.SPOOL

    @property
    def quarantine(self) -> Path:
        """Return the folder of events that can't be taken."""
        return self.path / home_files.QUARANTINE

    @property
    def worker_lock(self) -> Path:
        """Return the file that a live worker holds locked."""
        return self.path / home_files.WORKER_LOCK

    @property
    def logs(self) -> Path:
        """Return the folder of logs."""
        return self.path / home_files.LOGS

    @property
    def worker_log(self) -> Path:
        """Return the worker's log."""
        return self.path / home_files.WORKER_LOG

    @property
    def hook_log(self) -> Path:
        """Return the log in which hooks complain."""
        return self.path / home_files.HOOK_LOG

    @property
    def reports(self) -> Path:
        """Return the folder of dreams' reports."""
        return self.path / home_files.REPORTS

    @property
    def search(self) -> Path:
        """Return the folder of search indexes."""
        return self.path / home_files.SEARCH

    @property
    def dialogue_index(self) -> Path:
        """Return the index of what was said."""
        return self.path / home_files.DIALOGUE_INDEX

    @property
    def hook_state(self) -> Path:
        """Return what the worker leaves for the hooks."""
        return self.path / home_files.HOOK_STATE

    @property
    def recall_sessions(self) -> Path:
        """Return the folder of logs of what each session was given."""
        return self.path / home_files.RECALL_SESSIONS

    @property
    def session_memory(self) -> Path:
        """Return the folder of what each session was about."""
        return self.path / home_files.SESSION_MEMORY

    @property
    def page(self) -> Path:
        """Return the private file that leads a browser to the page that runs now."""
        return self.path / home_files.PAGE

    @property
    def templates(self) -> Path:
        """Return the folder of the page's templates as they were compiled."""
        return self.path / home_files.TEMPLATES

    @property
    def web(self) -> Path:
        """Return what hung together in the map that the page showed last."""
        return self.path / home_files.WEB

    @property
    def mcp_token(self) -> Path:
        """Return what clients of the server over HTTP have to show."""
        return self.path / home_files.MCP_TOKEN

    @property
    def mirrors(self) -> Path:
        """Return the folder of what stores and others' files had when they were last the same."""
        return self.path / home_files.MIRRORS

    @property
    def watch_lock(self) -> Path:
        """Return the file that a live watcher holds locked."""
        return self.path / home_files.WATCH_LOCK

    @property
    def watch_state(self) -> Path:
        """Return the watcher's diagnostics."""
        return self.path / home_files.WATCH

    @property
    def installed(self) -> Path:
        """Return the record of what installing did."""
        return self.path / home_files.INSTALLED

    @property
    def backups(self) -> Path:
        """Return the folder of settings files as they were before installing."""
        return self.path / home_files.BACKUPS

    @property
    def schedule_made(self) -> Path:
        """Return the list of folders made for the scheduler."""
        return self.path / home_files.SCHEDULE_MADE

    @property
    def windows_task(self) -> Path:
        """Return the task as Windows' scheduler was given it."""
        return self.path / home_files.WINDOWS_TASK

    @property
    def claude_lock(self) -> Path:
        """Return the lock of who runs the client."""
        return self.path / home_files.CLAUDE_LOCK

    @property
    def claude_flags(self) -> Path:
        """Return which options the client knows, by its version."""
        return self.path / home_files.CLAUDE_FLAGS

    @property
    def claude_folder(self) -> Path:
        """Return the folder the client is run in."""
        return self.path / home_files.CLAUDE_FOLDER
