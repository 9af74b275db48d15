"""Sub-agents that sessions started: what they were for, how long they took, and their tokens.

All of it is read from transcripts, and nothing is kept. Where the transcript of a sub-agent is there, its
calls are counted; else what the client noted when it was over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.hooklib.plain import one_line
from pipeline.record import changing, record
from pipeline.safety.late import late
from pipeline.safety.recognised import Recognised
from pipeline.safety.structured import Cleaner
from pipeline.transcript import lines
from pipeline.transcript.files import unreadable

TOOLS = ("Task", "Agent")
"""What the client calls the tool that starts a sub-agent, before and now."""
_NOTIFICATION = b"<task-notification>"
_NOTED = late(r"<(task-id|status|total_tokens|tool_uses|duration_ms)>\s*([^<>]{1,200}?)\s*</\1>")
_BLOCK = late(r"<task-notification>(.*?)</task-notification>")
_MOST_OF_WORDS = 200
_MOST_LOOKED_AT = 4_000


@record
class Tokens:
    """Tokens of a sub-agent: newly read, written, and read again from the cache.

    `counted` is ``calls`` where each call was counted, ``client`` where only the client's own sum is known,
    whose input is then the last call's, and "" where nothing is.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cache_read: int = 0
    counted: str = ""


@changing
class Agent:
    """One sub-agent; `status` is running, done or failed. Times are epoch seconds, None if unknown."""

    id: str
    session_id: str
    agent_type: str
    description: str
    branch: str
    status: str
    started: float | None
    ended: float | None
    duration_ms: int | None
    tool_uses: int | None
    tokens: Tokens
    tool_use_id: str


def agents(transcripts: Iterable[Path], known: Recognised | None = None) -> Iterator[Agent]:
    """Yield the sub-agents of each transcript in the order in which they were started, each once.

    Secrets are taken out of what they were for, those that are `known` and others. Of a fork, which has its
    parent's lines too, only what is new counts. A file that is gone is passed over.
    """
    seen: set[str] = set()
    clean = Cleaner(known).text
    for transcript in transcripts:
        for agent in _of(transcript):
            if agent.tool_use_id not in seen:
                seen.add(agent.tool_use_id)
                yield cleaned(agent, clean)


def cleaned(agent: Agent, clean: Callable[[str], str]) -> Agent:
    """Take secrets out of the texts of `agent` with `clean`, and return it."""
    agent.description = one_line(clean(agent.description[:_MOST_LOOKED_AT]), _MOST_OF_WORDS)
    agent.agent_type = clean(agent.agent_type)
    agent.branch = clean(agent.branch)
    return agent


def _of(transcript: Path) -> list[Agent]:
    found: dict[str, Agent] = {}
    by_id: dict[str, Agent] = {}
    for entry in _records(transcript, found):
        for block in _blocks(entry):
            if block.get("type") == "tool_use" and block.get("name") in TOOLS:
                agent = _begun(entry, block, transcript.stem)
                found.setdefault(agent.tool_use_id, agent)
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in found:
                agent = found[block["tool_use_id"]]
                _answered(agent, entry, block)
                by_id[agent.id] = agent
        for noted in _notifications(entry):
            agent_noted = by_id.get(noted.get("task-id", ""))
            if agent_noted is not None:
                _noted(agent_noted, noted, entry)
    for agent in found.values():
        _count_calls(agent, transcript)
    return list(found.values())


def _records(file: Path, known: dict[str, Agent]) -> Iterator[dict[str, Any]]:
    """Yield the records of a transcript that may concern sub-agents; `known` grows meanwhile."""
    try:
        with file.open("rb") as source:
            while raw := source.readline(lines.MAX_LINE):
                if _concerns(raw, known):
                    for piece in lines.parse(raw, 0, 0):
                        if piece.record is not None:
                            yield piece.record
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(file, error) from error


def _concerns(raw: bytes, known: dict[str, Agent]) -> bool:
    if b'"Task"' in raw or b'"Agent"' in raw:
        return True
    if not known:
        return False
    return _NOTIFICATION in raw or (b"tool_result" in raw and any(name.encode() in raw for name in known))


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _begun(entry: dict[str, Any], block: dict[str, Any], session: str) -> Agent:
    given = block.get("input")
    asked: dict[str, Any] = given if isinstance(given, dict) else {}
    identity = str(block.get("id") or entry.get("uuid") or "")
    return Agent(
        id=identity,
        session_id=str(entry.get("sessionId") or session),
        agent_type=str(asked.get("subagent_type") or ""),
        description=str(asked.get("description") or "")[:_MOST_LOOKED_AT],
        branch=str(entry.get("gitBranch") or ""),
        status="running",
        started=_time(entry),
        ended=None,
        duration_ms=None,
        tool_uses=None,
        tokens=Tokens(),
        tool_use_id=identity,
    )


def _answered(agent: Agent, entry: dict[str, Any], block: dict[str, Any]) -> None:
    result = entry.get("toolUseResult")
    about: dict[str, Any] = result if isinstance(result, dict) else {}
    agent.id = str(about.get("agentId") or agent.id)
    if str(about.get("status") or "").endswith("launched"):
        # Of one in the background the answer says only that it runs.
        return
    agent.status = "failed" if block.get("is_error") is True else "done"
    agent.ended = _time(entry)
    agent.duration_ms = _number(about.get("totalDurationMs"))
    agent.tool_uses = _number(about.get("totalToolUseCount"))
    usage = about.get("usage")
    wrote = _number(usage.get("output_tokens")) if isinstance(usage, dict) else 0
    agent.tokens = _of_client(_number(about.get("totalTokens")), wrote or 0)


def _of_client(total: int | None, wrote: int) -> Tokens:
    return Tokens() if total is None else Tokens(max(0, total - wrote), min(wrote, total), 0, "client")


def _notifications(entry: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield what the client noted of sub-agents in the background that are over."""
    message = entry.get("message")
    texts = [message.get("content") if isinstance(message, dict) else None, entry.get("content")]
    texts += [block.get("text") for block in _blocks(entry)]
    for text in texts:
        if isinstance(text, str):
            for block in _BLOCK.findall(text.replace("\n", " ")):
                yield dict(_NOTED.findall(block))


def _noted(agent: Agent, noted: dict[str, str], entry: dict[str, Any]) -> None:
    agent.status = "done" if noted.get("status") == "completed" else "failed"
    agent.ended = _time(entry) or agent.ended
    agent.duration_ms = _number(noted.get("duration_ms"))
    agent.tool_uses = _number(noted.get("tool_uses"))
    agent.tokens = _of_client(_number(noted.get("total_tokens")), 0)


def _count_calls(agent: Agent, transcript: Path) -> None:
    """Take tokens and times from the sub-agent's own transcript, if it is there."""
    if not agent.id or "/" in agent.id:
        return
    name = f"agent-{agent.id}.jsonl"
    beside = transcript.with_suffix("") / "subagents" / name
    own = beside if beside.exists() else transcript.with_name(name)
    usages: dict[str, dict[str, Any]] = {}
    uses, first, last = 0, None, None
    for entry in _whole(own):
        moment = _time(entry)
        first, last = first or moment, moment or last
        message = entry.get("message")
        if entry.get("type") == "assistant" and isinstance(message, dict):
            uses += sum(block.get("type") == "tool_use" for block in _blocks(entry))
            if isinstance(message.get("usage"), dict):
                # One message comes in several records, of which the last has the whole sum.
                usages[str(message.get("id") or entry.get("uuid") or len(usages))] = message["usage"]
    if not usages:
        return
    sums = {key: sum(_number(usage.get(key)) or 0 for usage in usages.values()) for key in _USAGE}
    read = sums["input_tokens"] + sums["cache_creation_input_tokens"]
    agent.tokens = Tokens(read, sums["output_tokens"], sums["cache_read_input_tokens"], "calls")
    agent.tool_uses = uses if agent.tool_uses is None else agent.tool_uses
    if agent.duration_ms is None and first is not None and last is not None:
        agent.duration_ms = round((last - first) * 1000)


_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def _whole(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with file.open("rb") as source:
            while raw := source.readline(lines.MAX_LINE):
                for piece in lines.parse(raw, 0, 0):
                    if piece.record is not None:
                        yield piece.record
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(file, error) from error


def _time(entry: dict[str, Any]) -> float | None:
    moment = parse_time(entry.get("timestamp"))
    return moment.timestamp() if moment else None


def _number(value: object) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value[:18])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)
