"""``reverie agents``: the sub-agents of sessions with their times and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import journals as use_case
from pipeline.app.application import App
from pipeline.app.traces import transcripts
from pipeline.cli import listings, output
from pipeline.cli.journal_options import latest
from pipeline.cli.listings import LimitOption
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.formats.keisei import agents_file
from pipeline.formats.keisei.agents import Agent
from pipeline.text.humanize import count, day_and_time

_COUNTED = {"client": "client's sum", "calls": "each call", "ledger": "ledger", "": ""}


def agents(
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="Of an agents' ledger (SQLite) instead; only read."),
    ] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="DIR", help="Of the transcripts below this folder.")
    ] = None,
    session: Annotated[str, typer.Option("--session", metavar="ID", help="Of this session.")] = "",
    over: Annotated[
        int, typer.Option("--over", metavar="TOKENS", min=0, help="Only those with more tokens, most first.")
    ] = 0,
    limit: LimitOption = None,
    target: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="Write all found to a new SQLite file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List sub-agents: what for, how long, how many tokens. The latest come last.

    Tokens are those read anew and those written; what came from the cache is in --json. Nothing is kept.
    """
    if ledger is not None and folder is not None:
        raise UsageError("--ledger and --dir exclude each other", fix="Name one of them.")
    if ledger is not None:
        known = list(use_case.agents_in(App(), ledger, session=session))
    else:
        known = list(use_case.sub_agents(App(), transcripts(folder), session=session))
    if target is not None:
        number = agents_file.write(target, known)
        output.talk(f"{count(number, 'agent')} written: {target}")
    found = _shown(known, over, limit, as_json=as_json)
    columns = ("agent", "for", "status", "began", "seconds", "tools", "in", "out", "counted")
    now = App().clock.now()
    rows = (_row(agent, now) for agent in found)
    output.data(found, lambda: table(columns, rows, empty="no agents"), as_json=as_json)


def _shown(known: list[Agent], over: int, limit: int | None, *, as_json: bool) -> Sequence[Agent]:
    if not over:
        return latest(sorted(known, key=lambda agent: (agent.started or 0, agent.id)), limit, as_json=as_json)
    large = sorted(
        (agent for agent in known if _tokens(agent) > over), key=lambda agent: (-_tokens(agent), agent.id)
    )
    shown = listings.most(limit, as_json=as_json)
    listings.tell_rest(len(large), shown, how="--limit 0 shows all")
    return listings.first(large, shown)


def _tokens(agent: Agent) -> int:
    return agent.tokens.tokens_in + agent.tokens.tokens_out


def _row(agent: Agent, now: datetime) -> tuple[object, ...]:
    tokens = agent.tokens
    figures = (f"{tokens.tokens_in:,}", f"{tokens.tokens_out:,}") if tokens.counted else ("", "")
    return (
        agent.agent_type or agent.id,
        agent.description,
        agent.status,
        "" if agent.started is None else day_and_time(agent.started, now),
        "" if agent.duration_ms is None else f"{agent.duration_ms / 1000:.0f}",
        agent.tool_uses,
        *figures,
        _COUNTED.get(tokens.counted, tokens.counted),
    )
