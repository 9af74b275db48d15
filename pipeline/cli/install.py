"""Commands for coming, and what is set: init, install, mode, allow, hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.app import first_run, folders
from pipeline.app.application import App
from pipeline.cli import clients, output
from pipeline.cli.clients import ClientOption, McpOption
from pipeline.cli.diagnostics import tell_first_sight
from pipeline.cli.options import AgreedOption, DryRunOption, JsonOption, YesOption
from pipeline.cli.progress import progress
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.core.home import Home
from pipeline.diagnostics.audit import audit, first_sight
from pipeline.hooklib.events import EVENTS, TOOL
from pipeline.hooklib.settings import MODES
from pipeline.install import claude_settings, commands, hooks
from pipeline.install import status_line as status_lines
from pipeline.install.hook_registration import (
    events_for,
    note_home,
    note_interpreter,
    settings_snippet,
)
from pipeline.install.hooks import Edit
from pipeline.install.mode import EFFECT, set_mode

StatusLineOption = Annotated[
    bool | None,
    typer.Option(
        "--status-line/--no-status-line",
        help="Also show what was learned and what waits in Claude Code's status line, if that is free.",
    ),
]
LINE_BY_LINE = "`--dry-run` shows the change of the settings line by line."
OPEN = "Sessions that are open now keep the hooks they began with; new ones have the change."


def init(
    client: ClientOption = None,
    mcp: McpOption = None,
    status_line: StatusLineOption = None,
    dry_run: DryRunOption = False,
    yes: AgreedOption = False,
    as_json: JsonOption = False,
) -> None:
    """Install hooks and show what will happen.

    Where the hooks are in already, it only tells. It changes nothing that nobody said yes to.
    """
    app = App()
    app.require_settings()
    tell = output.talk if as_json else output.line
    if client:
        clients.register(client, dry_run=dry_run, yes=yes, tell=tell)
        return
    clients.require_fit(mcp)
    facts = _Facts(app, as_json=as_json)
    if status_line or not first_run.wired(paths.project_root(Path.cwd())):
        file = claude_settings.user_file()
        _install(file, status_line, facts, dry_run=dry_run, yes=yes, unasked=False, tell=tell)
    clients.offer(mcp, dry_run=dry_run, yes=yes, tell=tell)
    facts.tell()
    if not as_json:
        _tell_folder(app)
    output.talk("`reverie doctor` looks whether all is well, `reverie status` what it does.")


def _tell_folder(app: App) -> None:
    """Show what others wrote into the memory folder here, if they did: it is looked at, and no more."""
    if not app.store_path.is_dir():
        return
    try:
        with progress("looking"):
            found = audit(
                app.store_path,
                now=app.clock.now(),
                project=paths.project_root(Path.cwd()),
                ledger=Home(app.home).ledger,
            )
    except InputError as error:
        # It can't be listed; what was installed is no worse for it.
        output.talk(str(error))
        return
    if found.memories > found.writers.reverie:
        output.line()
        tell_first_sight(first_sight(found))


def install(
    user: Annotated[bool, typer.Option("--user", help="For all projects (the default).")] = False,
    project: Annotated[bool, typer.Option("--project", help="For the project here only.")] = False,
    status_line: StatusLineOption = None,
    dry_run: DryRunOption = False,
    yes: YesOption = False,
) -> None:
    """Add the hooks to Claude Code's settings.json.

    Shows the change first, keeps the file as it was, and changes nothing else in it.
    """
    if user and project:
        raise UsageError("--user and --project exclude each other", fix="Name one of them.")
    root = paths.project_root(Path.cwd())
    app = App()
    # A configuration that is broken is told before anything is changed.
    app.require_settings()
    facts = _Facts(app, project_only=project)
    done = _install(
        claude_settings.project_file(root) if project else claude_settings.user_file(),
        status_line,
        facts,
        dry_run=dry_run,
        yes=yes,
    )
    if done and project:
        output.talk("The file names places on this machine: keep it out of the repository.")
    if not dry_run:
        facts.tell()


def mode(
    name: Annotated[
        str,
        typer.Argument(metavar="MODE", help="off, observe, propose or auto.", autocompletion=lambda: MODES),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Show or set what background work may do."""
    home = paths.home_dir()
    changed = bool(name) and set_mode(home, name)
    if name and not as_json:
        output.line(f"{'set' if changed else 'it was so already'} in {Home(home).config}")
    now = App().settings.store.mode
    if name and now != name:
        output.talk(
            f"REVERIE_STORE__MODE is set in the environment and stands above the file: {now} holds here."
        )

    def tell() -> None:
        for choice in MODES if not name else (now,):
            output.hanging(f"{'*' if choice == now else ' '} {choice:<8} ", EFFECT[choice])

    value = {"mode": now, "changed": changed, "effect": EFFECT[now]}
    output.data(value, tell, as_json=as_json)


def allow(
    undo: Annotated[bool, typer.Option("--undo", help="Take the yes back.")] = False,
    yes: YesOption = False,
) -> None:
    """Let this project's settings name its memory folder.

    Where autoMemoryDirectory in a project's own settings names a folder, that counts only once you have said
    yes here, also where the folder lies in the project.
    """
    home, here = paths.home_dir(), Path.cwd()
    if undo:
        output.line("taken back" if folders.disallow(home, here) else "nothing was allowed here")
        return
    folder, file = folders.waiting(here)
    if folder:
        output.talk(f"{file} names {folder} as the memory folder of this project.")
        if not yes and not output.can_ask():
            raise InputError("nothing was changed: here nobody can be asked", fix="Add --yes.")
        if not agreed("Keep this project's memories there, and show sessions what lies there?", yes):
            output.talk("nothing was changed")
            return
    output.line(f"memories of this project are in {folders.allow(home, here)}")


def hooks_snippet(as_json: JsonOption = False) -> None:
    """Print the hooks to merge into Claude Code's settings.json."""
    del as_json  # it is JSON either way
    events = events_for(before_tools=App().settings.recall.before_tools)
    output.data(settings_snippet(events), output.line, as_json=True)


def _install(
    file: Path,
    status_line: bool | None,
    facts: _Facts,
    *,
    dry_run: bool,
    yes: bool,
    unasked: bool = True,
    tell: Callable[[str], None] = output.line,
) -> bool:
    """Put the hooks into `file`, and the commands beside it, unless a plugin brings them.

    Where nobody can be asked it goes on only if it may do so `unasked`. Return whether something was changed.
    """
    home = paths.home_dir()
    wiring = claude_settings.wiring(paths.project_root(Path.cwd()))
    plugin, wanted = wiring.plugin, App().settings.recall.before_tools
    if plugin and wanted == bool(wiring.before_tools):
        tell(f"the plugin {plugin} runs the hooks already; nothing to put into settings.json")
        if status_line:
            output.talk("The status line is not set in plugin mode: `reverie statusline --setting` has it.")
        if not dry_run:
            _note(home)
        return False
    events = _events(wiring, file, before_tools=wanted)
    edit = hooks.plan(file, events, status_line=not plugin and _may_have_line(file, status_line))
    brings = file == claude_settings.user_file() and not plugin
    more = commands.plan(hooks.read_record(home)) if brings else []
    if not edit.changes:
        tell(f"already there: {file} has all hooks")
    if not (edit.changes or more):
        if not dry_run:
            _note(home)
        return False
    _tell_additions(edit, more, tell, whole=dry_run)
    if dry_run or not _wanted(
        f"Write this to {file if edit.changes else commands.folder()}?", facts, yes=yes, unasked=unasked
    ):
        return False
    _write(home, edit, more)
    tell(f"installed into {file if edit.changes else commands.folder()}")
    if status_line is None and not yes and not plugin:
        _offer_line(home, file, events)
    output.talk(OPEN)
    return True


def _events(wiring: claude_settings.Wiring, file: Path, *, before_tools: bool) -> tuple[str, ...]:
    """Return the events that `file` should have our hooks for; of a plugin's it keeps those that it has."""
    if not wiring.plugin:
        return events_for(before_tools=before_tools)
    there = {event for found in wiring.files if found.file == file for event in found.commands}
    return (*(event for event in EVENTS if event in there), *((TOOL,) if before_tools else ()))


def _wanted(question: str, facts: _Facts, *, yes: bool, unasked: bool) -> bool:
    """Whether to go on, asked after what a person decides by: what it costs, what leaves the machine."""
    refused = not (yes or unasked or output.can_ask())
    if not yes:
        output.talk(LINE_BY_LINE)
        if refused or output.can_ask():
            facts.tell_before()
    if refused:
        raise InputError("nothing was changed: here nobody can be asked", fix="Add --yes.")
    wanted = agreed(question, yes)
    if not wanted:
        output.talk("nothing was changed")
    return wanted


def _note(home: Path) -> None:
    """Note for the hooks where the home is, and the Python that runs the worker."""
    note_home(home)
    note_interpreter(home)


def _write(home: Path, edit: Edit, more: Sequence[Edit]) -> None:
    for each in [*([edit] if edit.changes else []), *more]:
        hooks.install(home, each)
    note_home(home)
    if edit.changes and edit.before is not None:
        output.talk(f"The file as it was is kept in {Home(home).backups}.")


def _tell_additions(edit: Edit, more: Sequence[Edit], tell: Callable[[str], None], *, whole: bool) -> None:
    if edit.changes:
        tell_edit(edit, tell, whole=whole)
    if more:
        tell(commands.summary(more))


def tell_edit(edit: Edit, tell: Callable[[str], None], *, whole: bool) -> None:
    """Tell what `edit` changes: in a few lines, or the `whole` of it line by line."""
    if whole and tell is output.line:
        output.verbatim(edit.diff.rstrip("\n"))
    else:
        tell(edit.diff.rstrip("\n") if whole else edit.summary)


def _may_have_line(file: Path, wanted: bool | None) -> bool:
    """Whether our status line goes into `file`: if it is `wanted` and there is none."""
    if not wanted:
        return False
    free = status_lines.is_free(claude_settings.read(file) or "", file)
    if not free:
        output.talk("There is a status line already; `reverie statusline` prints a line for it to include.")
    return free


def _offer_line(home: Path, file: Path, events: Sequence[str]) -> None:
    """Offer a person in a terminal our status line, if `file` has none."""
    if not (output.can_ask() and status_lines.is_free(claude_settings.read(file) or "", file)):
        return
    if output.ask("Also show in Claude Code's status line what was learned and what waits?"):
        hooks.install(home, hooks.plan(file, events, status_line=True))


def agreed(question: str, yes: bool) -> bool:
    """Whether to go on: asked only in a terminal, since elsewhere nobody could answer."""
    return yes or output.ask(question)


class _Facts:
    """What a person should know, told once: before the question, or else at the end."""

    def __init__(self, app: App, *, project_only: bool = False, as_json: bool = False) -> None:
        self._app, self._project_only, self._as_json = app, project_only, as_json
        self._done = False

    def tell_before(self) -> None:
        """Tell all but where the hooks are, as they are not in yet; nothing where JSON comes at the end."""
        if not self._as_json:
            self._print(leave_out="hooks")
            output.line()

    def tell(self) -> None:
        """Tell all, if it was not told before."""
        if not self._done:
            self._print()

    def _print(self, *, leave_out: str = "") -> None:
        self._done = True
        found = first_run.facts(self._app, project_only=self._project_only)
        names: dict[str, Any] = {
            name.replace("_", " "): getattr(found, name)
            for name in type(found).__dataclass_fields__
            if name != leave_out
        }

        def tell() -> None:
            width = max(map(len, names)) + 2
            output.line()
            for name, text in names.items():
                output.hanging(f"{name:<{width}}", str(text))

        output.data(found, tell, as_json=self._as_json)
