"""Work: the ledger, jobs, the spool, the worker, the scheduler, which model answers and what it spent."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pipeline.app.application import App
from pipeline.app.status import OFFLINE_MEANS, TRIED_AGAIN, mends, obstacles
from pipeline.core import locks
from pipeline.core.errors import InputError, ReverieError, UnauthorisedError
from pipeline.core.home import Home
from pipeline.domain.finding import Finding, Level
from pipeline.formats.agent_memory import mirrored
from pipeline.hooklib import projects
from pipeline.install.schedule import setup
from pipeline.intake import spool
from pipeline.ledger import Ledger, calls, files, jobs, outages, unread
from pipeline.ledger.outages import Outage
from pipeline.llm import describe, logins
from pipeline.text.humanize import ago, count

_MODES = {
    "off": "no background work is done (store.mode)",
    "observe": "background work only fills the ledger and makes no memory (store.mode)",
    "propose": "background work puts what it finds into the inbox (store.mode)",
}

_UNREAD_FIXES = {
    unread.PRINTED: "Set extraction.include_print_sessions to read them too.",
    unread.UNUSABLE: "`reverie work --retry` reads them again.",
}


def check(app: App) -> Iterator[Finding]:
    """Yield how the work stands."""
    yield from _mode(app)
    yield from _left_alone(app)
    yield from _ledger(app)
    yield from _spool(app.home)
    yield from _scheduled(app.home)
    yield from _mirror(app)
    yield from _in_step(app)
    yield from _provider(app)


def _mode(app: App) -> Iterator[Finding]:
    mode = app.settings.store.mode
    if mode in _MODES:
        fix = f'Set mode = "auto" under [store] in {Home(app.home).config}, if that is not wanted.'
        yield Finding("note", "mode", f"{mode}: {_MODES[mode]}", fix)


def _left_alone(app: App) -> Iterator[Finding]:
    lists = app.settings.projects
    why = projects.why_ignored(str(Path.cwd()), lists.only, lists.ignore)
    if why:
        message = f"sessions in this folder are neither read nor recalled into: {why}"
        yield Finding("note", "project", message, "Change that, if it is not wanted.")


def _mirror(app: App) -> Iterator[Finding]:
    for text in mirrored.doubts(app.settings, app.home):
        fix = "`reverie agent-memory sync --dry-run` shows what it would do."
        yield Finding("warning", "mirror", text, fix)


def _ledger(app: App) -> Iterator[Finding]:
    if not Home(app.home).ledger.exists():
        yield Finding("note", "ledger", "none yet; the first event or command makes it")
        return
    try:
        with app.ledger(to_look=True) as ledger:
            yield from _sound(ledger)
            yield from _unread(app, ledger)
            yield from _jobs(ledger, outages.known(ledger, describe(app.llm, app.settings.model)[0]))
            yield from _spend(app, ledger)
    except ReverieError as error:
        yield Finding("error", "ledger", str(error), error.fix)


def _sound(ledger: Ledger) -> Iterator[Finding]:
    verdict = ledger.check()
    if verdict:
        fix = "Move ledger.sqlite aside; `reverie ingest --dir` builds a new one."
        yield Finding("error", "ledger", verdict, fix)
    else:
        counts = files.counts(ledger)
        read = f"{count(counts['files'], 'transcript')}, {count(counts['spoken'], 'utterance')}"
        message = f"sound; {read}"
        yield Finding("ok", "ledger", message)
    if ledger.note:
        fix = "Make room on the disk, or the home writable for you."
        yield Finding("error", "ledger", ledger.note, fix)


def _unread(app: App, ledger: Ledger) -> Iterator[Finding]:
    included = app.settings.extraction.include_print_sessions
    for reason, number in unread.reasons(ledger, print_sessions=included).items():
        fix = _UNREAD_FIXES.get(reason, "")
        yield Finding("note" if fix else "ok", "not read", f"{reason}: {number:,}", fix)


def _jobs(ledger: Ledger, down: Outage | None) -> Iterator[Finding]:
    for job in jobs.list_jobs(ledger, state="parked"):
        message = (
            f"{job.kind} {job.key} was given up after {count(job.attempts, 'try', 'tries')}: {job.last_error}"
        )
        yield Finding("error", "jobs", message, mends("parked"))
    for held in obstacles(jobs.list_jobs(ledger, state="waiting"), down)[:3]:
        yield Finding("note", "jobs", f"{held['jobs']}: {held['cause']}", TRIED_AGAIN)


def _spend(app: App, ledger: Ledger) -> Iterator[Finding]:
    caps, now = app.settings.spend, app.clock.now()
    spent, held = calls.spent(ledger, now=now), calls.paused(ledger, now=now)
    if held:
        yield Finding("note", "spend", held, "It goes on by itself.")
    pairs = (
        (spent.hour_calls, caps.calls_per_hour, "calls in the last hour (spend.calls_per_hour)"),
        (spent.hour_tokens, caps.tokens_per_hour, "tokens in the last hour (spend.tokens_per_hour)"),
        (spent.day_dollars, caps.dollars_per_day, "dollars in 24 h (spend.dollars_per_day)"),
    )
    full = [f"{part:,.4g} of {cap:,.4g} {what}" for part, cap, what in pairs if part >= cap]
    if full:
        yield Finding("note", "spend", f"at its cap: {'; '.join(full)}", "The work waits; nothing is lost.")
    elif not held:
        yield Finding("ok", "spend", f"${spent.day_dollars:.4f} of ${caps.dollars_per_day:.2f} in 24 h")


def _in_step(app: App) -> Iterator[Finding]:
    if not Home(app.home).sharing.is_dir():
        return
    from pipeline.sharing.turn import turns

    for turn in turns(app.home):
        what = "team" if turn.team else "sync"
        if turn.error:
            fix = f"`reverie {what} status` says more; it is tried again, and nothing is lost."
            yield Finding("warning", what, f"{turn.store}: {turn.error}", fix)
            continue
        kept = count(turn.held + turn.refused, "memory", "memories")
        last = ago(turn.done, app.clock.now()) if turn.done else "never"
        message = f"{turn.store} is in step with {turn.team or turn.remote}, {last}"
        if turn.held or turn.refused:
            yield Finding("note", what, f"{message}; {kept} not", f"`reverie {what} status` says why.")
        else:
            yield Finding("ok", what, message)


def _spool(home: Path) -> Iterator[Finding]:
    try:
        waiting = sum(1 for _ in spool.pending(home))
        quarantined, left = spool.quarantined(home), spool.left(home)
        alive = locks.worker_alive(home)
    except ReverieError as error:
        yield Finding("error", "spool", str(error), error.fix)
        return
    events = "1 event waits" if waiting == 1 else f"{waiting or 'no'} events wait"
    if waiting and not alive:
        message = f"{events} and no worker runs"
        yield Finding("note", "spool", message, "Run `reverie work`; see logs/worker.log.")
    else:
        yield Finding("ok", "spool", f"{events}; worker {'running' if alive else 'idle'}")
    for event, reason in left:
        message = f"{event} could not be taken: {reason}"
        yield Finding("error", "spool", message, "Mend that; the next worker tries again.")
    for event, reason in quarantined:
        fix = "Look at it in spool/quarantine/, then delete it."
        yield Finding("note", "quarantine", f"{event}: {reason}", fix)


def _scheduled(home: Path) -> Iterator[Finding]:
    try:
        found = setup.status(home)
    except InputError as error:
        yield Finding("note", "schedule", str(error), error.fix)
        return
    if not found.installed:
        message = "dreams are looked for after sessions only"
        yield Finding("ok", "schedule", f"{message}; `reverie schedule install` adds the scheduler")
        return
    level: Level = "ok" if found.current else "error"
    stale = "" if found.current else ", from an earlier install: it may start a Python that is gone"
    fix = "" if found.current else "Run `reverie schedule install`."
    yield Finding(level, "schedule", f"{found.kind} looks for a dream every few hours{stale}", fix)


def _provider(app: App) -> Iterator[Finding]:
    try:
        name, reason = describe(app.llm, app.settings.model)
    except ReverieError as error:
        yield Finding("error", "provider", str(error), error.fix)
        return
    if name == "offline":
        offered = logins.unused(app.settings.model, client=False)
        seen = f" {logins.in_words(offered)}, but {logins.NOT_USED}." if offered else ""
        way = logins.how_to_allow(offered[0], Home(app.home).config) if offered else ""
        fix = f"{way}." if way else "Log in with `claude`, or set model.api_key_env in config.toml."
        fix += ' Until then mode = "observe" under [store] keeps turns for a model.'
        yield Finding("note", "provider", f"offline: {reason}.{seen} {OFFLINE_MEANS}", fix)
    elif "but" in reason.split():
        yield Finding("error", "provider", f"{name}: {reason}", "Mend that, or set model.provider.")
    else:
        yield from _answers(app, name, reason)


def _answers(app: App, name: str, reason: str) -> Iterator[Finding]:
    """Say whether the provider can answer, as far as its last call and the logins that are here tell."""
    settings, config = app.settings.model, Home(app.home).config
    offered = logins.unused(settings)
    down = _down(app, name)
    refused = down is not None and down.outcome == UnauthorisedError.outcome
    at_a_loss = name == "claude-cli" and offered and not (logins.used(settings) or logins.has_own_login())
    if refused or at_a_loss:
        why = "its last call was refused" if refused else "claude has no login of its own here"
        seen = f" {logins.in_words(offered)}, but {logins.NOT_USED}." if offered else ""
        ways = [logins.how_to_allow(offered[0], config)] if offered else []
        fix = ". ".join(
            [*ways, "Mend the login, then run `reverie doctor --online`." if refused else logins.LOG_IN]
        )
        yield Finding("error", "provider", f"{name}: {why}, so nothing will be learned.{seen}", fix)
    elif down is not None:
        level: Level = "error" if down.is_for_a_person else "note"
        tries = f"{count(down.failures, 'try', 'tries')}, the first {ago(down.began_at, app.clock.now())}"
        message = f"{name} does not answer ({tries}): {down.reason}"
        yield Finding(level, "provider", message, f"{down.fix} {TRIED_AGAIN}".lstrip())
    else:
        yield Finding("ok", "provider", f"{name}: {reason}; --online tries it")
        if offered:
            message = f"{logins.in_words(offered)}, but {logins.NOT_USED}"
            yield Finding("note", "login", message, f"{logins.how_to_allow(offered[0], config)}.")
    gateway = logins.passed_by(settings) if name == "anthropic" else ""
    if gateway:
        message = f"Claude Code asks {gateway} ({logins.URL}), and Reverie asks {logins.OWN_URL} itself"
        yield Finding("note", "login", message, logins.how_to_stay_with(gateway, settings, config))
    if logins.hidden(settings):
        fix = f"Write {logins.COPY_LINE} instead, and {logins.COPYING}."
        yield Finding("error", "login", f"{logins.HIDDEN}, so nothing will be learned by it", fix)
    missing = logins.lacking(settings)
    if missing:
        message = f"{', '.join(missing)}, which config.toml names, is not set here"
        yield Finding("note", "login", message, "Background work that is started from here lacks it, too.")


def _down(app: App, name: str) -> Outage | None:
    """Return why the provider did not answer last, if it did not; nothing is known without a ledger."""
    if not Home(app.home).ledger.exists():
        return None
    try:
        with app.ledger(to_look=True) as ledger:
            return outages.known(ledger, name)
    except ReverieError:
        return None  # `_ledger` has said what is wrong with it
