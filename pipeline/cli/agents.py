"""``reverie agents``: the sub-agents of sessions with their times and tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import journals as use_case
from pipeline.cli import output
from pipeline.cli.options import JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.formats.keisei import agents_file
from pipeline.formats.keisei.agents import Agent
from pipeline.formats.keisei.journals import stamp
from pipeline.text.humanize import count

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
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="At most so many.")] = 30,
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
        known = [agent for agent in agents_file.read(ledger) if agent.session_id.startswith(session)]
    else:
        known = list(use_case.sub_agents(use_case.transcripts(folder), session=session))
    if target is not None:
        number = agents_file.write(target, known)
        output.talk(f"{count(number, 'agent')} written: {target}")
    chosen = _chosen(known, over)
    found = chosen[:limit] if over else chosen[-limit:]
    columns = ("agent", "for", "status", "began", "seconds", "tools", "in", "out", "counted")
    output.data(found, lambda: table(columns, map(_row, found), empty="no agents"), as_json=as_json)
    if len(chosen) > len(found) and not as_json:
        output.talk(f"{count(len(chosen) - len(found), 'agent')} more; --limit shows them")


def _chosen(known: list[Agent], over: int) -> list[Agent]:
    if not over:
        return sorted(known, key=lambda agent: (agent.started or 0, agent.id))
    large = [agent for agent in known if _tokens(agent) > over]
    return sorted(large, key=lambda agent: (-_tokens(agent), agent.id))


def _tokens(agent: Agent) -> int:
    return agent.tokens.tokens_in + agent.tokens.tokens_out


def _row(agent: Agent) -> tuple[object, ...]:
    tokens = agent.tokens
    figures = (f"{tokens.tokens_in:,}", f"{tokens.tokens_out:,}") if tokens.counted else ("", "")
    return (
        agent.agent_type or agent.id,
        agent.description,
        agent.status,
        "" if agent.started is None else stamp(agent.started),
        "" if agent.duration_ms is None else f"{agent.duration_ms / 1000:.0f}",
        agent.tool_uses,
        *figures,
        _COUNTED.get(tokens.counted, tokens.counted),
    )
