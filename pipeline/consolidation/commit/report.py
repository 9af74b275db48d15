"""The report a dream leaves: markdown for a person, JSON for programs, both under ``<home>/reports``."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.core.home import Home
from pipeline.core.zone import minute
from pipeline.domain.action import DreamAction
from pipeline.domain.operations import Gate
from pipeline.hooklib.plain import clipped
from pipeline.text.humanize import count

_MOST_QUOTED = 120
"""Characters of a quote in a report."""


@dataclass(slots=True)
class DreamReport:
    """What one dream did.

    `word` is ``done``, ``nothing`` (no operation was needed), ``closed`` (a gate), ``partial`` (a group
    failed and comes first next time), ``dry`` (nothing was written) or ``failed``. Tokens and dollars are of
    this run's model calls; `estimated` says that the provider did not count the tokens, `by_rules` that there
    was no model to ask, `replies` how they came about if they are not a model's own. `cued` counts the
    memories that got phrases to be found by, `procedures` the procedures that were proposed;
    `left_alone` are changed memories that only a person may change,
    and which have no memory near them that a dream may; `nobodys` are those of them of which nobody knows who
    wrote them. `reused` counts the groups whose answer was there
    from an earlier try: a dry run, or a dream that was cut off. `unread` has a line for the files that could
    not be read as memories, and took no part.
    """

    run_id: str
    store: str
    at: str
    word: str = "nothing"
    reason: str = ""
    gates: list[Gate] = field(default_factory=list)
    memories: int = 0
    changed: int = 0
    looked_at: list[list[str]] = field(default_factory=list)
    actions: list[DreamAction] = field(default_factory=list)
    refused: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    carried_over: int = 0
    left_out: list[str] = field(default_factory=list)
    calls: int = 0
    tokens: int = 0
    estimated: bool = False
    dollars: float = 0.0
    paths: list[str] = field(default_factory=list)
    by_rules: bool = False
    cued: int = 0
    procedures: int = 0
    left_alone: list[str] = field(default_factory=list)
    nobodys: list[str] = field(default_factory=list)
    replies: str = ""
    reused: int = 0
    unread: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DreamReport:
        """Return a report from the values `as_json` writes, its gates left out."""
        actions = [DreamAction.from_json(action) for action in values["actions"]]
        return cls(**{**values, "gates": [], "actions": actions})


def write(report: DreamReport, home: Path) -> Path:
    """Write `report` as ``<run>.md`` and ``<run>.json`` and return the markdown's path."""
    folder = Home(home).reports
    write_atomic(folder / f"{report.run_id}.json", as_json(report))
    path = folder / f"{report.run_id}.md"
    write_atomic(path, as_markdown(report).encode())
    return path


def find(home: Path, store: Path, run: str = "") -> Path | None:
    """Return the markdown of the newest dream in `store`, or of the one whose id begins with `run`."""
    found = all_of(home, store, run)
    return found[0].with_suffix(".md") if found else None


def all_of(home: Path, store: Path, run: str = "") -> list[Path]:
    """Return the JSON of every dream in `store` whose id begins with `run`, the newest first.

    Raises StoreError for a file that holds no report.
    """
    found: list[tuple[str, int, Path]] = []
    same: dict[str, bool] = {}
    # An id is compared, never made into a path: it may come from an address.
    for file in Home(home).reports.glob("*.json"):
        if not file.name.startswith(run):
            continue
        folder, at = _head(file)
        if folder not in same:
            same[folder] = Path(folder).resolve() == store.resolve()
        if same[folder]:
            # Two dreams may run within the second that `at` tells.
            found.append((at, file.stat().st_mtime_ns, file))
    return [file for _, _, file in sorted(found, reverse=True)]


def read(file: Path) -> DreamReport:
    """Return the report in `file`, its gates left out. Raises StoreError where there is none."""
    try:
        return DreamReport.from_json(orjson.loads(file.read_bytes()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_report(file, error) from error


def _head(file: Path) -> tuple[str, str]:
    """Return the store of the report in `file`, and when it was made: of thousands only this is read."""
    try:
        with file.open("rb") as lines:
            first = [line.strip().rstrip(b",") for line in itertools.islice(lines, 4)]
        if [line.partition(b":")[0] for line in first[2:]] != [b'"store"', b'"at"']:
            whole = read(file)
            return whole.store, whole.at
        folder, at = (str(orjson.loads(line.partition(b":")[2])) for line in first[2:])
    except ValueError as error:
        raise _no_report(file, error) from error
    return folder, at


def _no_report(file: Path, error: Exception) -> StoreError:
    return StoreError(f"it holds no report of a dream: {error}", file=str(file), fix="Move the file away.")


def as_json(report: DreamReport) -> bytes:
    """Return `report` as JSON, indented."""
    return orjson.dumps(asdict(report), option=orjson.OPT_INDENT_2) + b"\n"


def as_markdown(report: DreamReport) -> str:
    """Return `report` for a person: what happened first, then why, then what it cost."""
    lines = [f"# Dream of {minute(report.at)}", "", headline(report), ""]
    if report.actions:
        lines += ["## Done", "", *(line for action in report.actions for line in _action(action)), ""]
    later = [item for item in report.refused if item.get("later")]
    others = [item for item in report.refused if not item.get("later")]
    waiting = [item for item in others if item["to_inbox"]]
    refused = [item for item in others if not item["to_inbox"]]
    would = "Would wait" if report.word == "dry" else "Waits"
    for head, items in (
        ("## Held back for the next dream", later),
        (f"## {would} in the inbox for you: `reverie inbox`", waiting),
        ("## Refused by the checks", refused),
    ):
        if items:
            lines += [head, "", *map(_refusal, items), ""]
    if report.failed:
        lines += ["## Failed, first in line next time", "", *(f"- {text}" for text in report.failed), ""]
    how = ", by rules alone: there is no model" if report.by_rules else ""
    lines += [f"## Looked at{how}", ""]
    lines += _looked_at(report)
    if report.left_out:
        lines += ["", "## Not looked at, for a person", "", *(f"- {text}" for text in report.left_out)]
    if report.unread:
        lines += ["", "## Took no part", "", *(f"- {text}" for text in report.unread)]
    lines += ["", *_costs(report)]
    return "\n".join(lines) + "\n"


def _looked_at(report: DreamReport) -> list[str]:
    lines = [f"- {_names(group)}" for group in report.looked_at]
    yours_alone = [name for name in report.left_alone if name not in report.nobodys]
    if yours_alone:
        yours = f"- {_names(yours_alone)}: yours (pinned, edited or written by hand)"
        lines.append(f"{yours}, so there was nothing a dream may change")
    if report.nobodys:
        who = "who wrote it: it waits" if len(report.nobodys) == 1 else "who wrote them: they wait"
        lines.append(f"- {_names(report.nobodys)}: nobody knows {who} for `reverie adopt`")
    nothing = "what had changed could not be asked about" if report.changed else "no memory had changed"
    return lines or [f"- nothing: {nothing}"]


def headline(report: DreamReport) -> str:
    """Return in a sentence what came of the dream, and why."""
    sentence = {
        "done": f"{_changes(report)} among {report.memories} memories.",
        "nothing": "Nothing needed doing.",
        "closed": "It did not start.",
        "partial": f"{_changes(report)}; a part failed and comes first next time.",
        "dry": f"{_changes(report)} would be made; nothing was written.",
        "failed": "It failed.",
    }[report.word]
    return f"{sentence} {report.reason}".strip()


def _action(action: DreamAction) -> list[str]:
    into = f" into **{action.into}**" if action.into and action.op != "retire" else ""
    others = [name for name in action.memories if not into or name != action.into]
    lines = [f"- **{action.op}** {_names(others)}{into}: {action.reason}"]
    lines += [f"  - left out “{text}”, covered by “{by}”" for text, by in action.left_out]
    lines += [f"  - stays: the second reader did not agree {claim}" for claim in action.denied]
    for source in action.sources:
        words = (
            f", “{clipped(source['quote'], _MOST_QUOTED)}”"
            if source.get("quote")
            else ", a file that Claude wrote"
        )
        lines.append(f"  - source: {minute(source['at'], 'unknown time')}{words}")
    return lines


def _refusal(item: dict[str, Any]) -> str:
    return f"- {item['op']} {_names(item['memories'])}: {item['why']}"


def _changes(report: DreamReport) -> str:
    return "1 change" if len(report.actions) == 1 else f"{len(report.actions)} changes"


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _names(names: list[str]) -> str:
    return ", ".join(names)


def _groups(number: int) -> str:
    return "1 group was" if number == 1 else f"{number} groups were"


def _costs(report: DreamReport) -> list[str]:
    about = " (estimated)" if report.estimated else ""
    replies = f"; {report.replies}" if report.replies else ""
    waits = "1 waits" if report.carried_over == 1 else f"{report.carried_over} wait"
    return [
        f"{report.changed} of {report.memories} memories had changed; {waits} for the next dream.",
        *([f"Phrases to be found by were added to {_memories(report.cued)}."] if report.cued else []),
        *(
            [f"{count(report.procedures, 'procedure')} proposed: `reverie inbox`."]
            if report.procedures
            else []
        ),
        f"{report.calls} model call{'' if report.calls == 1 else 's'},"
        f" {report.tokens:,} tokens{about}, ${report.dollars:.4f}{replies}.",
        *(
            [f"{_groups(report.reused)} answered by an earlier try, such as a dry run."]
            if report.reused
            else []
        ),
        f"Undo it with `reverie undo {report.run_id[:8]}`."
        if report.actions and report.word != "dry"
        else "",
    ]
