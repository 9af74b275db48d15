"""Runs as one looks at them: what each was for, came to and cost; and one as a whole, redacted like a bundle.

Of an extraction all stands there: what it read, what the model proposed, what became of each and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.app import bundle_archive as archive
from pipeline.app import bundles, past_runs, scopes, status
from pipeline.app.application import App
from pipeline.consolidation.commit import report as reports
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.ledger import Ledger, calls, dialogue, runs, secrets
from pipeline.llm import budget, describe
from pipeline.safety.structured import Cleaner
from pipeline.store import undone_runs
from pipeline.text.slugs import slugify

KINDS = ("extract", "dream")
MOST_READ = 400
"""Lines of a dialogue that a run's page shows."""
_COUNTS = ("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens")
_REASON = "nobody noted what became of it"


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as a line of the list; `purpose` is what it did, `dollars` and `tokens` what its calls took.

    Of dreams from before their reports were kept, and of runs under way, nobody knows that: `calls` is None.
    """

    id: str
    kind: str
    purpose: str
    project: str
    started_at: float
    model: str
    outcome: str
    reason: str
    changes: int
    refused: int
    calls: int | None
    tokens: int = 0
    dollars: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """What was said, as the run had it; `number` is what its reply cites, 0 where the run did not keep it."""

    number: int
    speaker: str
    at: str
    text: str
    is_cited: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the model proposed, and what became of it.

    `fate` is ``created``, ``updated``, ``withdrawn``, ``known``, ``refused``, ``inbox`` or "" where nothing
    is noted; `memory` the memory it became. `opinion` is the second reader's word, "" where it was not asked.
    """

    name: str
    type: str
    text: str
    quotes: tuple[tuple[int, str], ...]
    fate: str
    reason: str
    check: str
    memory: str
    opinion: str
    how: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """A run of extraction as a whole, without secrets and with paths shortened.

    `lines` are those that the run kept, `dialogue` all that it read as far as the ledger still has it,
    `shown` the memories that it had before it, by name. `others` came of it with no candidate of that name.
    """

    id: str
    run: Mapping[str, Any]
    about: Mapping[str, Any]
    done: Mapping[str, Any]
    calls: Sequence[Mapping[str, Any]]
    lines: tuple[Line, ...]
    dialogue: tuple[Line, ...]
    more_dialogue: int
    shown: Mapping[str, str]
    candidates: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    bundle: bundles.Bundle

    @property
    def tokens(self) -> int:
        """Return the tokens of its calls."""
        return sum(_tokens(call) for call in self.calls)

    @property
    def dollars(self) -> float:
        """Return what its calls cost."""
        return sum(float(call["dollars"]) for call in self.calls)


@dataclass(frozen=True, slots=True)
class Expected:
    """What asking a run anew would take: as many calls and tokens as then, at the price of the model now."""

    provider: str
    model: str
    calls: int
    tokens: int
    dollars: float


def newest(
    app: App, start: int, limit: int, *, kind: str = "", everywhere: bool = False
) -> tuple[list[RunRow], int]:
    """Return runs of the memories here, or of all, the newest first, and how many there are."""
    if not Home(app.home).ledger.exists():
        return [], 0
    stores = None if everywhere else [str(scope.store_path) for scope in scopes.all_of(app)]
    with app.ledger(to_look=True) as ledger:
        found, total = runs.page_of(
            ledger, [kind] if kind else KINDS, stores=stores, start=start, limit=limit
        )
        until = app.clock.now().timestamp()
        ends = [run.finished_at or until for run in found]
        made = calls.made_between(ledger, min(run.started_at for run in found), max(ends)) if found else []
    undone = {store: undone_runs(Path(store)) for store in {run.store for run in found} if store}
    return [_row(app, run, made, run.id in undone.get(run.store, ())) for run in found], total


def _row(app: App, run: runs.Run, made: Iterable[calls.Call], is_undone: bool) -> RunRow:
    summary = run.summary
    taken = _taken_of_dream(app, run) if run.kind == "dream" else _taken(run, made)
    return RunRow(
        run.id,
        run.kind,
        "dream" if run.kind == "dream" else run.strategy,
        status.project_of(run.store),
        run.started_at,
        run.model or "",
        "undone" if is_undone else run.outcome or "under way",
        summary.reason,
        len(summary.actions),
        len(summary.rejected),
        *taken,
    )


def _taken(run: runs.Run, made: Iterable[calls.Call]) -> tuple[int | None, int, float]:
    if run.finished_at is None:
        return None, 0, 0.0
    mine = [
        call
        for call in made
        if past_runs.is_of(call) and run.started_at <= call.started_at <= run.finished_at
    ]
    return len(mine), sum(_tokens(_values(call)) for call in mine), sum(call.dollars for call in mine)


def _taken_of_dream(app: App, run: runs.Run) -> tuple[int | None, int, float]:
    file = Home(app.home).reports / f"{run.id}.json"
    try:
        report = reports.read(file)
    except (FileNotFoundError, StoreError):
        # Its own page names what is wrong with the report; the list goes on without the figures.
        return None, 0, 0.0
    return report.calls, report.tokens, report.dollars


def look(app: App, run_id: str) -> Look:
    """Return a run of extraction as a whole; InputError for what is none."""
    made = bundles.collect(app, run_id)
    values = {name: json.loads(text) for name, text in made.texts.items()}
    packed, run, done = values[archive.REPLY], values[archive.RUN], values[archive.DONE]
    with app.ledger(to_look=True) as ledger:
        spoken, more = _dialogue(ledger, made.run_id)
    candidates, others = _candidates(packed, done)
    cited = {number for item in candidates for number, _ in item.quotes}
    kept = packed.get("lines") or {}
    return Look(
        made.run_id,
        run,
        values[archive.ABOUT],
        done,
        values[archive.CALLS],
        tuple(_line(int(number), kept[number], int(number) in cited) for number in sorted(kept, key=int)),
        spoken,
        more,
        {name: str(memory.get("body") or "").strip() for name, memory in (packed.get("shown") or {}).items()},
        candidates,
        others,
        made,
    )


def expected(app: App, found: Look, model: str = "") -> Expected:
    """Return what it would take to ask the run `found` anew, of `model` or what the settings name."""
    provider = describe(app.llm, app.settings.model)[0]
    named = model or app.settings.model.model
    if provider == "offline":
        return Expected(provider, "", 0, 0, 0.0)
    counts = [sum(int(call[name]) for call in found.calls) for name in _COUNTS]
    usage = budget.Usage(counts[0], counts[1], counts[2], counts[3])
    return Expected(provider, named, len(found.calls), usage.total, budget.dollars(named, usage))


def _dialogue(ledger: Ledger, run_id: str) -> tuple[tuple[Line, ...], int]:
    """Return what the run read, as far as the ledger has it, and how many lines more there are."""
    run = past_runs.find(ledger, run_id)
    after = dialogue.dialogue(ledger, run.key, after_row=run.from_row - 1)
    spoken = [line for line in after if line.row <= run.through_row]
    clean, hidden = Cleaner(secrets.recognised(ledger)), bundles.Hidden()
    lines = [
        Line(0, line.speaker, line.at or "", hidden.text(clean.text(line.text)))
        for line in spoken[:MOST_READ]
    ]
    return tuple(lines), max(0, len(spoken) - MOST_READ)


def _line(number: int, values: Mapping[str, Any], is_cited: bool) -> Line:
    return Line(
        number, str(values.get("speaker")), str(values.get("at") or ""), str(values["text"]), is_cited
    )


def _candidates(
    packed: Mapping[str, Any], done: Mapping[str, Any]
) -> tuple[tuple[Candidate, ...], tuple[Candidate, ...]]:
    """Return what the model proposed with its fate, and what came of the run beside that."""
    fates = _fates(done)
    reply = packed.get("reply") or {}
    opinions = {str(item.get("id")): item for item in (packed.get("verified") or {}).get("items") or []}
    found = []
    used: set[str] = set()
    for number, item in enumerate(reply.get("memories") or [], start=1):
        opinion = opinions.get(f"c{number}") or {}
        name = str(item.get("name") or "")
        narrower = [str(other.get("name") or "") for other in opinion.get("narrower") or []]
        target = str(item.get("update_of") or "")
        names = [text for text in (name, slugify(name), target, *narrower, *map(slugify, narrower)) if text]
        key = next((text for text in names if text in fates and text not in used), "")
        used.add(key)
        found.append(_candidate(item, fates.get(key), opinion))
    for item in reply.get("withdrawals") or []:
        name = str(item.get("name") or "")
        used.add(name)
        found.append(_candidate({"type": "withdrawal", **item}, fates.get(name), {}))
    left = [_candidate({"name": name}, fate, {}) for name, fate in fates.items() if name not in used]
    return tuple(found), tuple(left)


def _fates(done: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return by name what became of each; what waits in the inbox is no plain refusal."""
    found: dict[str, dict[str, str]] = {}
    for item in done["rejected"]:
        found[str(item["name"])] = {
            "fate": "refused",
            "reason": item["reason"],
            "check": item.get("check", ""),
        }
    for item in done["proposals"]:
        was = found.get(str(item["name"]), {})
        found[str(item["name"])] = {**was, "fate": "inbox", "reason": item["reason"]}
    for item in done["actions"]:
        if "action" in item:
            name = str(item["name"])
            found[name] = {"fate": item["action"], "reason": item.get("reason", ""), "memory": name}
    return found


def _candidate(
    item: Mapping[str, Any], fate: Mapping[str, str] | None, opinion: Mapping[str, Any]
) -> Candidate:
    fate = fate or {"fate": "", "reason": _REASON}
    replaced = [f"{part.get('number')}: {part.get('text')}" for part in item.get("replaces") or []]
    text = item.get("statement") or "\n".join(replaced) or item.get("reason") or ""
    quotes = [(int(part["line"]), str(part["quote"])) for part in item.get("evidence") or []]
    return Candidate(
        str(item.get("name") or ""),
        str(item.get("type") or ""),
        str(text),
        tuple(quotes),
        fate["fate"],
        fate["reason"],
        fate.get("check", ""),
        fate.get("memory", ""),
        str(opinion.get("verdict") or "").replace("_", " "),
        str(opinion.get("how") or ""),
        item.get("confidence"),
    )


def _values(call: calls.Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in _COUNTS}


def _tokens(call: Mapping[str, Any]) -> int:
    return sum(int(call[name]) for name in _COUNTS)
