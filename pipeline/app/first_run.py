"""What a person should know before anything runs: where memories go, what it costs, how to stop it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.home import Home
from pipeline.hooklib.claude_settings import host_loads_memory
from pipeline.hooklib.events import EVENTS, TOOL
from pipeline.install import claude_settings, commands
from pipeline.install.mode import EFFECT
from pipeline.llm import describe, logins
from pipeline.safety.redaction import redact

_COST = {
    "offline": "nothing: no model is asked, so only sentences that say they should last are kept",
    "claude-cli": "from your Claude account, counted as if by the token",
    "anthropic": "by the token, on your API key",
}
_LEAVES = "the dialogue of finished turns, secrets taken out first, to {provider}"
_ALL = "; nothing else, to nobody else"
_ALSO = "memories, to {others}, as you typed `reverie sync init` or `reverie team join`"

_STOP = (
    "`reverie mode off` for now; {plugin}`reverie uninstall` takes {what} out, with --purge everything but"
    " memories"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What `reverie init` tells; every field is a sentence or a place."""

    hooks: str
    memories: str
    for_all_projects: str
    model: str
    cost: str
    leaves_the_machine: str
    mode: str
    in_a_session: str
    stop: str
    state: str


def facts(app: App, *, project_only: bool = False) -> Facts:
    """Return what holds here and now. Asks no model and writes nothing.

    With `project_only` the hooks go into the settings of the project here.
    """
    provider, why = describe(app.llm, app.settings.model)
    mode = app.settings.store.mode
    return Facts(
        hooks=_hooks(paths.project_root(Path.cwd())),
        memories=_memories(app),
        for_all_projects=str(Home(app.home).user_store),
        model=_model(app, provider, why),
        cost=_cost(app, provider),
        leaves_the_machine=_leaves(app, provider),
        mode=f"{mode}: {EFFECT[mode]}",
        in_a_session=_in_a_session(project_only=project_only),
        stop=_stop(),
        state=str(app.home),
    )


def _leaves(app: App, provider: str) -> str:
    """Return what goes to whom: the model's provider, and who memories are in step with."""
    found = [] if provider == "offline" else [_LEAVES.format(provider=_maker(app))]
    if not Home(app.home).sharing.is_dir():
        alone = app.settings.embeddings.provider in ("off", "wordllama")
        return f"{found[0]}{_ALL if alone else ''}" if found else "nothing"
    from pipeline.sharing.turn import turns  # In most homes nothing is kept in step.

    others = list(dict.fromkeys(turn.team or turn.remote for turn in turns(app.home)))
    found += [_ALSO.format(others=", ".join(others))] if others else []
    return "; ".join(found) or "nothing"


def wired(project: Path) -> list[str]:
    """Return by what the hooks run in `project`: settings files, and ``the plugin NAME``."""
    return claude_settings.wiring(project).sources


def _hooks(project: Path) -> str:
    found = claude_settings.wiring(project)
    if not found.sources:
        return "none yet: `reverie install` puts them in"
    more = f"; {TOOL} in {found.before_tools[0].file}" if found.before_tools else ""
    return f"{', '.join(EVENTS)} in {', '.join(found.sources)}{more}"


def _stop() -> str:
    plugin = claude_settings.wiring(paths.project_root(Path.cwd())).plugin
    if not plugin:
        return _STOP.format(plugin="", what="it")
    return _STOP.format(plugin=f"`claude plugin uninstall {plugin}` takes it out, ", what="the rest")


def _in_a_session(*, project_only: bool) -> str:
    """Return what can be asked for from within Claude Code, once hooks or plugin are in."""
    names = sorted(skill.parent.name for skill in paths.bundled("skills").glob("*/SKILL.md"))
    if project_only and not (
        claude_settings.wiring(paths.project_root(Path.cwd())).plugin
        or any((commands.folder() / f"{name}.md").exists() for name in names)
    ):
        # They name programs of this machine, and a project's commands are shared like its code.
        return f"no commands: `reverie install` for all projects brings /reverie:{names[0]} and others"
    return ", ".join(f"/reverie:{name}" for name in names)


def _memories(app: App) -> str:
    loads = host_loads_memory(str(paths.project_root(Path.cwd())))
    how = (
        "which Claude Code loads by itself"
        if loads
        else "which the hooks show, as Claude Code's memory is off"
    )
    return f"{app.store_path}, {how}"


def _model(app: App, provider: str, why: str) -> str:
    """Say which model is asked, and by what login it is not."""
    settings = app.settings.model
    model_line = f"{provider}: {why}" + ("" if provider == "offline" else f" ({settings.model})")
    client = provider == "claude-cli"
    offered = logins.unused(settings, client=client) if client or provider == "offline" else []
    if not offered:
        return model_line
    seen = f"{model_line}. {logins.in_words(offered)}, but {logins.NOT_USED}."
    if logins.used(settings) or logins.has_own_login():
        return seen
    missing = "" if provider == "offline" else " Nothing is learned without a login."
    return f"{seen}{missing} {logins.how_to_allow(offered[0], Home(app.home).config)}."


def _cost(app: App, provider: str) -> str:
    spend = app.settings.spend
    cost = _COST.get(provider, "as that provider asks")
    if provider == "offline":
        return cost
    caps = f"{spend.calls_per_hour} calls and {spend.tokens_per_hour:,} tokens an hour"
    return f"at most ${spend.dollars_per_day:.2f} a day, {caps}; {cost}"


def _maker(app: App) -> str:
    return redact(app.settings.model.base_url).text or "Anthropic"
