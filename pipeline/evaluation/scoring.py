"""``reverie eval``: extract from sessions that have a gold list, and score what comes out. Deterministic.

A suite is a folder of sessions, each with ``transcript.jsonl``, ``gold.json`` (written before anyone saw an
answer) and ``cassettes/`` of recorded replies. Matching is by strings, as the gold lists have it:

* a memory *states* a gold item when for every group in ``all`` one alternative occurs in it; it is *kept*
  strictly when the same memories also hold every group in ``reason``, else only leniently;
* a memory is *right* when it states a must or fine item (alone, or together with others citing its entry)
  and is no double of another, *clean* when besides it trips no ``never`` pattern and no outdated value;
* *never* counts memories in which a ``never`` pattern occurs outside a sentence that negates it.

Alternatives are case-insensitive substrings, or regular expressions after ``re:``.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.config import SpendSettings
from pipeline.context import open_store
from pipeline.core import zone
from pipeline.core.clock import FixedClock, SystemClock, parse_time
from pipeline.core.errors import InputError
from pipeline.core.home import Home
from pipeline.domain.body import Body
from pipeline.domain.memory import Memory
from pipeline.extraction.run import Outcome
from pipeline.extraction.strategies import TurnStrategy
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import Ledger, calls, open_ledger, utterances
from pipeline.text.clauses import sentences
from pipeline.text.similarity import SAID_TWICE, every_word, jaccard
from pipeline.worker import Worker, WorkerContext

SECOND_READER = ("extract.verify", "extract.narrow")
"""The purposes of the second reader's calls."""
_ALL_CALLS = 10**6
PIECES = "cassettes-pieces"
_NEGATED = re.compile(
    r"\b(?:not|never|no longer|instead of|rather than|rejected|replaced|replaces|overruled|against|without|"
    r"dropped|ruled out|n['’]t|over (?:the|a|an)|earlier|previously|originally|formerly|used to|was)\b|"
    r"ではなく|ない|なかった|せず|却下|退け|やめ",
    re.IGNORECASE,
)

_Read = tuple[list[Memory], list[Outcome], dict[str, tuple[int, int]]]


@dataclass(slots=True)
class Score:
    """How one session came out. Lists hold gold ids or memory names, for a reader who wants to know which."""

    session: str
    memories: list[Memory]
    must: int
    strict: list[str] = field(default_factory=list)
    lenient: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    sourced: int = 0
    dropped: list[str] = field(default_factory=list)
    spent: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Calls and tokens by the purpose of the call."""

    def row(self) -> dict[str, str]:
        """Return the score as the cells of a table."""
        n = len(self.memories)
        return {
            "session": self.session,
            "kept": f"{len(self.strict)}/{self.must}",
            "without reason": f"{len(self.lenient)}/{self.must}",
            "memories": str(n),
            "right": f"{len(self.right)}/{n}",
            "clean": f"{len(self.clean)}/{n}",
            "never": f"{len(self.never)}/{n}",
            "outdated": str(len(self.outdated)),
            "doubled": str(len(self.doubled)),
            "dated and sourced": f"{self.sourced}/{n}",
        }


def sessions(suite: Path, only: str = "") -> list[Path]:
    """Return the session folders of `suite`, by name; with `only` just that one."""
    found = sorted(gold.parent for gold in suite.glob(f"{only or '*'}/gold.json"))
    if not found:
        raise InputError(
            "no session with a gold.json",
            file=str(suite),
            fix="Name a suite: `reverie eval --suite DIR`. Reverie's own comes with a checkout only.",
        )
    return found


def evaluate(suite: Path, *, only: str = "", llm: str = "", pieces: int = 1) -> Iterator[Score]:
    """Extract from every session of `suite` in a scratch home and yield its score.

    `llm` is empty to replay each session's own cassettes, ``record`` to record them, else a provider's
    spec. With `pieces` over 1 each session is read that many times while it grows, turn by turn, before it is
    read as a whole; its cassettes are then in ``cassettes-pieces``.
    """
    for folder in sessions(suite, only):
        if pieces > 1 and not llm and not only and not (folder / PIECES).is_dir():
            # Reading in pieces was recorded for some sessions only.
            continue
        memories, outcomes, spent = _read_session(folder, llm, pieces)
        result = score(memories, outcomes, gold_of(folder))
        result.spent = spent
        yield result


def gold_of(folder: Path) -> dict[str, Any]:
    """Return the gold list of one session."""
    loaded: dict[str, Any] = json.loads((folder / "gold.json").read_text("utf-8"))
    return loaded


def run_session(folder: Path, *, llm: str = "", pieces: int = 1) -> tuple[list[Memory], list[Outcome]]:
    """Extract from one session in a scratch home; returns its memories, ordered by name, and the runs."""
    memories, outcomes, _ = _read_session(folder, llm, pieces)
    return memories, outcomes


def _read_session(folder: Path, llm: str, pieces: int) -> _Read:
    spec = llm
    if llm in ("", "record"):
        cassettes = folder / ("cassettes" if pieces == 1 else PIECES)
        spec = f"{llm or 'replay'}:{cassettes}"
    # The sessions were recorded in UTC: in another zone their requests would have other times in them.
    with zone.using("UTC"), tempfile.TemporaryDirectory(prefix="reverie-eval-") as scratch:
        return _run(folder / "transcript.jsonl", Path(scratch), spec, pieces)


def _run(transcript: Path, scratch: Path, spec: str, pieces: int) -> _Read:
    # The caps guard a person's money; a suite is started by hand and replays for nothing.
    generous = SpendSettings(
        calls_per_run=1000, calls_per_hour=10_000, tokens_per_hour=10**9, dollars_per_day=1000
    )
    settings = config.load(scratch).model_copy(update={"spend": generous})
    clock = FixedClock(_end(transcript) + timedelta(hours=2))
    growing = scratch / transcript.parent.name / transcript.name
    growing.parent.mkdir()
    outcomes: list[Outcome] = []
    home = Home(scratch)
    with open_ledger(home.ledger) as ledger:
        context = WorkerContext(scratch, settings, clock, ledger, llm=spec, store=home.user_store)
        worker = Worker(context)
        key = f"{growing.parent.name}/{growing.name}"
        for part in _parts(transcript, pieces):
            growing.write_bytes(part)
            ingest_file(ledger, growing, key=key, settings=settings, clock=clock, quiet=True)
            if pieces > 1:
                turn = TurnStrategy(key, settings.extraction, first_sight=False)
                outcomes += worker.read_spans(key, turn)
        if pieces == 1:
            outcomes += worker.read_file(key)
        else:
            outcomes += worker.read_conversations(key)
        spoken = utterances.utterances(ledger, key, after_row=0)
        spent = _spent(ledger)
    if not spoken:
        raise InputError("nobody speaks in it", file=str(transcript), fix="Check the transcript.")
    store_path = Home(scratch).user_store
    documents = open_store(store_path, settings).scan().documents if store_path.is_dir() else []
    found = sorted((document.memory for document in documents), key=lambda memory: memory.name)
    shutil.rmtree(store_path, ignore_errors=True)
    return found, outcomes, spent


def _spent(ledger: Ledger) -> dict[str, tuple[int, int]]:
    """Return calls and tokens by purpose."""
    found: dict[str, tuple[int, int]] = {}
    for call in calls.list_calls(ledger, limit=_ALL_CALLS):
        count, tokens = found.get(call.purpose, (0, 0))
        used = call.input_tokens + call.output_tokens + call.cache_write_tokens + call.cache_read_tokens
        found[call.purpose] = (count + 1, tokens + used)
    return found


def cost(scores: Sequence[Score]) -> str:
    """Return in one line what extraction took, and what the second reader added to it."""
    first, second = [0, 0], [0, 0]
    for purpose, (count, tokens) in (item for score in scores for item in score.spent.items()):
        kind = second if purpose in SECOND_READER else first
        kind[0] += count
        kind[1] += tokens
    share = f" (+{second[1] / first[1]:.0%})" if first[1] else ""
    return (
        f"{first[0]:,} calls with {first[1]:,} tokens to extract; "
        f"{second[0]:,} with {second[1]:,} to read again{share}"
    )


def _parts(transcript: Path, pieces: int) -> Iterator[bytes]:
    lines = transcript.read_bytes().splitlines(keepends=True)
    for number in range(1, pieces + 1):
        yield b"".join(lines[: len(lines) * number // pieces])


def _end(transcript: Path) -> Any:
    stamps = (
        parse_time(json.loads(line).get("timestamp"))
        for line in transcript.read_text("utf-8").splitlines()
        if line.startswith("{")
    )
    return max((stamp for stamp in stamps if stamp), default=SystemClock().now())


def score(memories: list[Memory], outcomes: list[Outcome], gold: dict[str, Any]) -> Score:
    """Return how `memories` stand against `gold`; the rules are in the module's docstring."""
    result = Score(session=gold["session"], memories=memories, must=len(gold["must"]))
    result.dropped = [f"{r['name']}: {r['reason']}" for o in outcomes for r in o.rejected]
    credited = {item["id"]: credits(item, memories) for item in (*gold["must"], *gold["fine"])}
    for item in gold["must"]:
        _credit(result, item, credited[item["id"]])
    for number, memory in enumerate(memories):
        right = any(memory in holders for holders in credited.values())
        _judge(result, memory, memories[:number], right, gold)
    return result


def credits(item: dict[str, Any], memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories that state the gold `item`: each alone, or several of them together.

    A part of the fact counts only in a memory that cites one of the item's own entries.
    """
    alone = [memory for memory in memories if states(memory, item["all"])]
    cited = set(item["evidence"])
    pool = [
        memory
        for memory in memories
        if memory not in alone
        and any(source.uuid in cited for source in memory.sources)
        and any(_any(group, text_of(memory)) for group in item["all"])
    ]
    together = "\n".join(text_of(memory) for memory in pool)
    whole = bool(alone) or all(_any(group, together) for group in item["all"])
    return [*alone, *pool] if whole else []


def _credit(result: Score, item: dict[str, Any], holders: Sequence[Memory]) -> None:
    if not holders:
        result.missed.append(item["id"])
        return
    result.lenient.append(item["id"])
    together = "\n".join(text_of(memory) for memory in holders)
    if all(_any(group, together) for group in item.get("reason", [])):
        result.strict.append(item["id"])


def _judge(
    result: Score, memory: Memory, earlier: Sequence[Memory], right: bool, gold: dict[str, Any]
) -> None:
    result.sourced += bool(memory.sources and memory.created and all(s.quote for s in memory.sources))
    trips = any(_asserts(memory, item["any"]) for item in gold["never"])
    outdated = any(
        _asserts(memory, row["old_any"]) and not _any(row["new_any"], text_of(memory))
        for row in gold.get("superseded", [])
    )
    doubled = any(_alike(memory, other) for other in earlier)
    for applies, names in (
        (trips, result.never),
        (outdated, result.outdated),
        (doubled, result.doubled),
        (not right, result.unmatched),
        (right and not doubled, result.right),
        (right and not doubled and not trips and not outdated, result.clean),
    ):
        if applies:
            names.append(memory.name)


def _alike(memory: Memory, other: Memory) -> bool:
    mine, theirs = (every_word(Body.parse(each.body).statement) for each in (memory, other))
    return jaccard(mine, theirs) >= SAID_TWICE


def states(memory: Memory, groups: Sequence[Sequence[str]]) -> bool:
    """Whether for every group one alternative occurs in `memory`."""
    return all(_any(group, text_of(memory)) for group in groups)


def text_of(memory: Memory) -> str:
    """Return what matching looks at: name, description and body, without backticks and quotes."""
    return re.sub(r"[`\"'“”‘’*]", "", f"{memory.name}\n{memory.description}\n{memory.body}").lower()


def _asserts(memory: Memory, patterns: Sequence[str]) -> bool:
    return any(_any(patterns, s) and not _NEGATED.search(s) for s in sentences(text_of(memory)))


def _any(alternatives: Sequence[str], text: str) -> bool:
    for alternative in alternatives:
        wanted = re.sub(r"[`\"“”‘’*]", "", alternative) if not alternative.startswith("re:") else alternative
        if wanted.startswith("re:"):
            if re.search(wanted[3:], text, re.IGNORECASE):
                return True
        elif wanted.lower().replace("'", "") in text:
            return True
    return False
