"""``reverie team``, ``share`` and ``unshare``: what a colleague's Claude learned, for everyone of a team."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from pipeline.app import in_step, team_backlog
from pipeline.app import team as use_case
from pipeline.app.application import App
from pipeline.app.offered import no_team, replaced_of_others
from pipeline.app.team import Joined, Parting, Standing
from pipeline.cli import named_rows, output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.machines import summary, tell_conflicts
from pipeline.cli.options import AgreedOption, JsonOption
from pipeline.cli.progress import progress
from pipeline.cli.tables import table
from pipeline.core.errors import InputError, UsageError
from pipeline.sharing.run import Synced
from pipeline.text.humanize import count

team = typer.Typer(
    help="Share memories with a team, in a PostgreSQL database.",
    no_args_is_help=True,
    context_settings=HELP_OPTIONS,
)
TeamName = Annotated[str, typer.Argument(metavar="TEAM", help="The team's name: a-z, 0-9 and dashes.")]
MemoryName = Annotated[str, typer.Argument(metavar="NAME", help="The memory's name.")]
DatabaseOption = Annotated[
    str, typer.Option("--database", metavar="URL", help="postgresql://LOGIN@HOST:PORT/DATABASE, no password.")
]
PersonOption = Annotated[str, typer.Option("--as", metavar="PERSON", help="As whom the team sees them.")]


_HOW_TO_SHARE = "`reverie share NAME` gives the team one of your memories."


@team.command()
def init(name: TeamName, database: DatabaseOption, person: PersonOption, as_json: JsonOption = False) -> None:
    """Found a team, and join it with this project.

    The database is set up where that is needed.
    """
    done = use_case.found_team(App(), name, database, person)
    output.data(done, lambda: _tell_joined(done), as_json=as_json)
    _end(done.first)
    output.talk("`reverie team invite LOGIN --as PERSON` lets somebody join.")
    output.talk(_HOW_TO_SHARE)


@team.command()
def invite(
    login: Annotated[str, typer.Argument(metavar="LOGIN", help="Their login at the database.")],
    person: PersonOption,
    as_json: JsonOption = False,
) -> None:
    """Let somebody's login join the team of this project."""
    app = App()
    done = use_case.invite(app, login, person)
    name = done.team
    output.data(
        {"team": name, "login": login, "person": person, "login_exists": done.may_log_in, "url": done.url},
        lambda: output.line(f"{person} may join {name} now"),
        as_json=as_json,
    )
    if not done.may_log_in:
        output.talk(
            f"The server has no login {login} yet. Who runs it makes one (`CREATE ROLE {login} LOGIN PASSWORD"
            " '…'`), or you meant another name."
        )
    output.talk(f"They run, in their project: reverie team join {name} --database {shlex.quote(done.url)}")


@team.command()
def join(name: TeamName, database: DatabaseOption, as_json: JsonOption = False) -> None:
    """Have the team's memories in this project from now on.

    They lie below ``team/`` in its memory folder.
    """
    with progress(f"joining {name}") as tell:
        done = use_case.join(App(), name, database, tell)
    output.data(done, lambda: _tell_joined(done), as_json=as_json)
    _end(done.first)
    output.talk(_HOW_TO_SHARE)


@team.command()
def status(as_json: JsonOption = False) -> None:
    """Show members, machines and what waits."""
    app = App()
    why, begins = no_team(app)
    if why:
        output.data({"team": None}, lambda: output.line(f"{why}: {begins}"), as_json=as_json)
        return
    found = use_case.status(app)
    output.data(found, lambda: _tell_status(app, found), as_json=as_json)


@team.command("sync")
def sync_now(
    force: Annotated[bool, typer.Option("--force", help="Take in doubtful texts as well.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the team's memories in step now.

    The worker does so by itself. With team.share = "ask", both offer what is new here in the inbox.
    """
    app = App()
    with progress("keeping the team in step") as tell:
        done = use_case.now(app, force=force, tell=tell)
    output.data(done, lambda: _tell(done), as_json=as_json)
    if fresh := use_case.offer(app):
        output.talk(f"{count(fresh, 'memory', 'memories')} of yours could be shared: `reverie inbox`.")
    elif not (done.memories or done.error):
        output.talk(_HOW_TO_SHARE)
    _end(done)


@team.command()
def cap(
    span: Annotated[str, typer.Argument(metavar="day|month", help="Of UTC.")] = "",
    dollars: Annotated[str, typer.Argument(metavar="DOLLARS", help="At most so many; none for no cap.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Cap what the team's workers may spend together.

    Who founded the team sets it, or whoever may invite. Without a span it shows the caps.
    """
    if span == "none":
        raise UsageError("say of which span", fix="`reverie team cap day none`, or `month none`.")
    if span and not dollars:
        raise UsageError("say how many dollars", fix=f"`reverie team cap {span} 5`, or `none` for no cap.")
    if not span:
        caps = use_case.caps(App())
        output.data(caps, lambda: _tell_caps(caps), as_json=as_json)
        return
    found = team_backlog.set_cap(App(), span, dollars)
    rows = {name: {"spent": float(so_far), "cap": float(most)} for name, (so_far, most) in found.items()}
    output.data(rows, lambda: _tell_caps(rows), as_json=as_json)


@team.command()
def leave(yes: AgreedOption = False, as_json: JsonOption = False) -> None:
    """Leave the team; what was shared stays.

    What you shared stays with the others, and what they shared stays here as it is now. The last member,
    and who leaves nobody who may invite, is asked first.
    """
    app = App()
    found = use_case.parting(app)
    if found.nobody_invites:
        output.talk(_parting(found))
    is_yes = yes or not found.nobody_invites
    if not output.agreed(f"Leave {found.team} all the same?", yes=is_yes, unasked="nothing was changed"):
        output.talk("nothing was changed")
        return
    back = team_backlog.bring_home(app)
    name, folder = use_case.leave(app)
    output.data({"left": name, "folder": folder}, lambda: output.line(f"You left {name}"), as_json=as_json)
    if back:
        output.talk(f"`reverie process` reads the {count(back, 'transcript')} that its workers had not read.")
    output.talk("That ends the membership of your login: its other machines and projects are out as well.")
    if found.own:
        stay, where = (
            "stays" if found.own == 1 else "stay",
            "in the database" if found.is_last else "with the others",
        )
        output.talk(f"{count(found.own, 'memory', 'memories')} in your name {stay} {where}.")
    if found.unsent:
        what = "memory that was" if found.unsent == 1 else "memories that were"
        output.talk(f"{found.unsent:,} {what} changed here did not go out, and will not.")
    output.talk(
        f"The team's memories stay in {folder} as they are now. Delete that folder if you don't want them;"
        " if you come back, they are taken up from there."
    )


def share(name: MemoryName, yes: AgreedOption = False, as_json: JsonOption = False) -> None:
    """Give the team a copy of a memory in your name.

    What was said for it in your sessions goes along with team.share_quotes = true alone. Where it would take
    the place of what others said there, you are asked first.
    """
    app = App()
    if not yes and (replaced := replaced_of_others(app, name)):
        what = f"it would take away what others say there: {' '.join(f'“{text}”' for text in replaced)}"
        if not output.can_ask():
            raise InputError(f"nothing was changed: {what}", fix="Add --yes, or `reverie update --team`.")
        if not output.ask(f"{what[0].upper()}{what[1:]}. Share it all the same?"):
            output.talk("nothing was changed")
            return
    done = use_case.share(app, name)
    row = {"shared": done.name, "sync": done.sync, "quotes": done.quotes, "kept_back": done.kept_back}
    output.data(row, lambda: _tell_shared(done), as_json=as_json)
    output.talk(f"`reverie unshare {done.name}` takes it back; what was read was read.")
    _end(done.sync)


def unshare(name: MemoryName, as_json: JsonOption = False) -> None:
    """Take a memory back that you shared with the team.

    Your own stays.
    """
    called, done = use_case.unshare(App(), name)
    output.data(
        {"unshared": called, "sync": done},
        lambda: output.line(f"{called} is no longer shared; your own stays"),
        as_json=as_json,
    )
    _end(done)


def _tell_joined(done: Joined) -> None:
    output.line(f"In the team {done.team} as {done.person}; its memories are in {done.folder}")
    if done.is_back:
        output.line("You are back: what it had when you left is in team/ still, now up to date")
        if done.aside:
            output.line(f"What was changed there since is not sent; it is kept in {done.aside}")
    elif done.aside:
        output.line(f"What was in team/ before is not sent to this team; it is kept in {done.aside}")
    _tell(done.first)


def _tell_shared(done: use_case.Shared) -> None:
    along = f" with {count(done.quotes, 'quote')}" if done.quotes else ""
    when = " once the database can be reached" if done.sync.error else ""
    output.line(f"{done.name} is shared{along}{when}")
    if done.kept_back:
        stay = "stays" if done.kept_back == 1 else "stay"
        output.line(f"{count(done.kept_back, 'quote')} {stay} here, for a secret or a path in it")


def _parting(found: Parting) -> str:
    what = (
        f"You are the last member of {found.team}: nobody could read or join it after you."
        if found.is_last
        else f"Nobody who stays in {found.team} may invite others."
    )
    back = f"Who founded it is a member again by `reverie team init {found.team}` with the same login"
    return f"{what} {back}; anybody else only by the database's administrator."


def _tell(done: Synced) -> None:
    output.line(summary(done, unit="revision"))
    named_rows.tell(done.names)
    named_rows.tell(in_step.stays_out(done.held, done.refused, ()))
    if done.asked:
        output.line(f"{count(done.asked, 'question')} for you: `reverie inbox`")


def _end(done: Synced) -> None:
    if done.error:
        output.talk(f"{done.error}. {done.fix}")
        raise typer.Exit(1)


def _tell_status(app: App, found: Standing) -> None:
    caps = in_step.facts_of_caps(found.caps or {})
    output.fields(dict([*in_step.facts_of_team(found, app.clock.now()), *caps]))
    tell_conflicts(found.conflicts)
    named_rows.tell(in_step.stays_out(found.held, found.refused, found.odd))
    _tell_rows(
        ("member", "state", "machines"),
        [_member(row, found.machines or ()) for row in found.members or ()],
    )
    _tell_rows(
        ("member", "sessions waiting", "being read", "read", "failed"),
        [(row["person"], *(f"{number:,}" for number in row["numbers"])) for row in in_step.queues(found)],
    )
    _tell_rows(
        in_step.COSTS,
        in_step.costs_of(found),
    )
    if about := in_step.about_costs(found):
        output.line()
        output.hanging("", about)


def _member(row: Mapping[str, Any], machines: Sequence[Mapping[str, Any]]) -> tuple[str, str, str]:
    lags = in_step.lags(row, machines)
    none = "no machine yet" if row["state"] == "active" else ""
    return row["person"], in_step.standing_of(row), "; ".join(lags) or none


def _tell_rows(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table below an empty line, nothing without rows."""
    if rows:
        output.line()
        table(columns, rows)


def _tell_caps(rows: Mapping[str, Mapping[str, float]]) -> None:
    output.fields(dict(in_step.facts_of_caps(rows)))
    if not rows:
        output.line("no cap")
