"""KeiSei's journals as a format: each task a memory of a task, each numeric claim a reference.

A line has the fields of its journal first. Of a memory of ours stand behind them its id, its description as
``desc``, its text and what its state says beyond open and done; recipes over the journals pass over these.
Sessions are times and no memories. Journals grow at their end: of what changed there its last line is
replaced, and what was open and is over gets a line of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.core import jsonl
from pipeline.core.atomic import ensure_dir
from pipeline.core.clock import parse_time
from pipeline.core.errors import InputError
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.formats.carried import Carried, Plain, Reading, Written, require
from pipeline.formats.keisei import journals
from pipeline.formats.keisei.claims import pointed_at
from pipeline.formats.keisei.journals import CLAIMS, SESSIONS, TASKS, Fault, Line, stamp, whole
from pipeline.formats.keisei.tasks import LONGEST_NAME, name_of
from pipeline.hooklib.plain import one_line
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.humanize import count

_KEPT = "keisei"
"""The key of our front matter with what only a line of a journal has."""
_UNTIMED = "untimed"
"""What is kept of a task that is over of which no time in its line can be read; never written there."""
_TASK, _CLAIM = "task", "reference"
_OPEN, _DONE, _FAILED = "open", "done", "closed"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
_FOUNDED = {"REAL": 0.9, "FROM-JOURNAL": 0.7, "ESTIMATE-HTC": 0.4}
"""How sure a claim of each tier is."""
_OF_TASK = ("kind", "name", "start_epoch", "end_epoch", "duration_s", "ts")
_OF_CLAIM = ("kind", "value", "evidence_tier", "pointer", "ts")
_OURS = ("id", "desc", "text", "outcome", "blockers", "status")
"""What a line has of a memory of ours beside the fields of its journal."""
_BEFORE_TS = ("exit", "metric", "source")


@dataclass(slots=True)
class _Found:
    """What a journal has of one thing: its last state, and the numbers of its lines."""

    value: Line
    lines: list[int] = field(default_factory=list)


class KeiSeiRecords(Plain):
    """A folder of time journals."""

    name = "keisei"
    about = "a folder with tasks.jsonl and numeric-claims.jsonl"

    def read(self, path: Path) -> Reading:
        """Return the tasks and claims of the journals in `path`; sessions are counted and left."""
        require(path, folder=True)
        seen = Reading(rest={})
        for name in (TASKS, CLAIMS, SESSIONS):
            file = path / name
            if file.is_file():
                faults: list[Fault] = []
                numbered = list(journals.numbered(file, faults))
                for fault in faults:
                    seen.fault(name, fault.line, fault.why)
                if name == SESSIONS:
                    _leave_sessions(seen, numbered)
                    continue
                seen.files[file] = file.read_bytes()
                _take(seen, name, _tasks(numbered) if name == TASKS else _claims(numbered))
        if not seen.files:
            raise InputError(
                "there is no journal of tasks or claims in it",
                file=str(path),
                fix="Traces tell what was done, and none of it is a memory: `reverie ingest` reads"
                " transcripts, and `reverie extract` makes memories of them.",
            )
        return seen

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        line = encoded(memory)
        if line["kind"] == "claim":
            return claim_of(line)
        back = task_of(line, str(line["name"]))
        # What was read without a time is not changed by the one that a new line would have.
        untimed = _kept(memory).get(_UNTIMED) and memory.completed_at is None
        return _marked_untimed(replace(back, completed_at=None)) if untimed else back

    def why_not(self, memory: Memory) -> str:
        """Return why `memory` can't be written: it is no task, and no claim that came from a journal."""
        if memory.type != _TASK and _kept(memory).get("kind") != "claim":
            return "a journal has tasks and claims alone"
        too_long = len(jsonl.dump([encoded(memory)])) >= journals.LONGEST_LINE
        return f"a line has less than {journals.LONGEST_LINE:,} bytes" if too_long else ""

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan the journals with `records` in them; other lines stay byte for byte, readable or not."""
        held: dict[str, tuple[str, _Found]] = seen.rest or {}
        lines = {name: _split(seen.files.get(path / name, b"")) for name in (TASKS, CLAIMS)}
        before = {name: [*found] for name, found in lines.items()}
        for key in gone:
            name, found = held.get(key, ("", _Found({})))
            for number in found.lines:
                lines[name][number - 1] = b""
        keys: list[str] = []
        for record in records:
            memory = record.memory if record.key or record.memory.id else replace(record.memory, id=new_id())
            name, found = held.get(record.key, ("", _Found({})))
            line = encoded(memory)
            keys.append(record.key or str(line["id"]))
            if not record.key:
                lines[CLAIMS if line["kind"] == "claim" else TASKS] += [jsonl.dump([line])]
            elif found.value["kind"] == "start" and line["kind"] != "start":
                lines[name] += [jsonl.dump([{**line, "kind": "stop"}])]
            elif line != encoded(record_of(found.value, memory.name)):
                lines[name][found.lines[-1] - 1] = jsonl.dump([_onto(found.value, line)])
        return Written(
            {path / name: _joined(found) for name, found in lines.items() if found != before[name]}, keys
        )

    @contextmanager
    def saving(self, path: Path) -> Iterator[None]:
        """Hold the journals' own locks, so that no task that ends meanwhile is lost."""
        ensure_dir(path)
        with ExitStack() as held:
            for name in (TASKS, CLAIMS):
                held.enter_context(journals.alone(path / name))
            yield


# -- out ----------------------------------------------------------------------------------------------


def encoded(memory: Memory) -> Line:
    """Return the line of `memory`; what is neither a task nor a claim is written as a task."""
    kept = {key: item for key, item in _kept(memory).items() if key != _UNTIMED}
    if kept.get("kind") == "claim":
        line = {"kind": "claim", "value": memory.description}
        line |= {key: kept.get(key, "") for key in ("evidence_tier", "pointer")}
        made = memory.created or memory.updated or _LONG_AGO
        line |= {"ts": stamp(made.timestamp())}
        text = {} if memory.body.strip() == _claim_text(line).strip() else {"text": memory.body}
        more = {key: value for key, value in kept.items() if key not in line}
        return line | more | ({"id": memory.id} if memory.id else {}) | text
    return _task_line(memory, kept)


def _task_line(memory: Memory, kept: Mapping[str, Any]) -> Line:
    start = int((memory.created or memory.updated or _LONG_AGO).timestamp())
    line: Line = {"kind": "start", "name": one_line(memory.name, LONGEST_NAME), "start_epoch": start}
    end, ended = start, memory.finished_at
    if memory.is_finished or ended is not None:
        end = max(start, int(ended.timestamp())) if ended else start
        line |= {"kind": "stop" if "exit" in kept else "task", "end_epoch": end, "duration_s": end - start}
    line |= {key: kept[key] for key in _BEFORE_TS if key in kept}
    line["ts"] = stamp(end)
    line |= {key: value for key, value in kept.items() if key not in line}
    plain = task_of(line, line["name"])
    body = replace(memory, blockers=(), outcome="", status="").whole_text
    more = {
        "id": memory.id,
        "desc": memory.description if memory.description != plain.description else "",
        "text": body if body.strip() != plain.body.strip() else "",
        "outcome": memory.outcome if memory.outcome != plain.outcome else "",
        "blockers": list(memory.blockers),
    }
    line |= {key: value for key, value in more.items() if value}
    return line | ({"status": memory.status} if memory.status != plain.status else {})


def _onto(raw: Line, line: Line) -> Line:
    """Return `line` in the place of `raw`, with the name that stands there."""
    return {**line, **{key: raw[key] for key in ("kind", "name") if key in raw}}


# -- in -----------------------------------------------------------------------------------------------


def record_of(value: Line, name: str) -> Memory:
    """Return the memory in a line of either journal; a task is called `name`."""
    return claim_of(value) if value["kind"] == "claim" else task_of(value, name)


def task_of(value: Line, name: str) -> Memory:
    """Return the task in `value`, the last state of it, called `name` here."""
    code = whole(value.get("exit"))
    begun, ended = _moment(value.get("start_epoch")), _moment(value.get("end_epoch"))
    is_open = value["kind"] == "start"
    known = {*_OF_TASK, *_OURS}
    kept = {key: item for key, item in value.items() if key not in known}
    body = _text(value, "text") or _task_text(value, begun, ended)
    plain = _OPEN if is_open else _FAILED if code else _DONE
    blockers = value.get("blockers")
    completed = None if is_open else ended or parse_time(value.get("ts"))
    found = Memory(
        name=name,
        description=one_line(_text(value, "desc"), MAX_DESCRIPTION) or first_line(body),
        type=_TASK,
        body=body.strip("\n") + "\n",
        id=_text(value, "id"),
        created=begun or parse_time(value.get("ts")),
        status=str(value.get("status", plain)),
        completed_at=completed,
        outcome=_text(value, "outcome") or (f"It failed: exit code {code}." if code else ""),
        blockers=tuple(str(text) for text in blockers) if isinstance(blockers, list) else (),
        extra={_KEPT: kept} if kept else {},
    )
    return found if is_open or completed is not None else _marked_untimed(found)


def _marked_untimed(memory: Memory) -> Memory:
    return replace(memory, extra={**memory.extra, _KEPT: {**_kept(memory), _UNTIMED: True}})


def claim_of(value: Line) -> Memory:
    """Return the claim in `value`."""
    text = _text(value, "value")
    return Memory(
        name=one_line(text, LONGEST_NAME),
        description=one_line(text, MAX_DESCRIPTION),
        type=_CLAIM,
        body=(_text(value, "text") or _claim_text(value)).strip("\n") + "\n",
        id=_text(value, "id"),
        confidence=_FOUNDED.get(_text(value, "evidence_tier"), 0.5),
        created=parse_time(value.get("ts")),
        extra={_KEPT: {key: item for key, item in value.items() if key not in ("value", "ts", *_OURS)}},
    )


def _task_text(value: Line, begun: datetime | None, ended: datetime | None) -> str:
    """Return what a journal says of a task, in sentences."""
    parts = [_text(value, "desc") or name_of(value)]
    seconds = whole(value.get("duration_s"))
    if begun and ended:
        parts.append(f"It ran from {stamp(begun.timestamp())} to {stamp(ended.timestamp())}.")
    elif begun:
        parts.append(f"It began at {stamp(begun.timestamp())}.")
    parts.append(f"It took {count(seconds, 'second')}." if seconds is not None else "")
    metric = value.get("metric")
    counted = ", ".join(f"{key} {item}" for key, item in metric.items()) if isinstance(metric, dict) else ""
    parts.append(f"Counted: {counted}." if counted else "")
    return "\n\n".join(filter(None, parts)) + "\n"


def _claim_text(value: Mapping[str, Any]) -> str:
    tier, pointer = str(value.get("evidence_tier") or ""), str(value.get("pointer") or "")
    founded = ": ".join(text for text in (tier, pointer) if text)
    return f"{value.get('value')}\n" + (f"\nIt rests on {founded}.\n" if founded else "")


# -- journals -----------------------------------------------------------------------------------------


def _take(seen: Reading, name: str, found: Sequence[_Found]) -> None:
    """Add what was `found` in the journal `name` to `seen`, each under a key of its own."""
    names = [name_of(item.value) for item in found]
    for item, called in zip(found, names, strict=True):
        value = item.value
        moment = _text(value, "ts") or str(value.get("start_epoch") or "")
        key = _text(value, "id") or f"{name}#{called or digest(_text(value, 'value'))[:8]}@{moment}"
        plain, number = key, 1
        while key in seen.rest:
            number += 1
            key = f"{plain}-{number}"
        seen.rest[key] = (name, item)
        # Of several tasks of one name each is called by its moment, too.
        memory = record_of(value, called if names.count(called) < 2 else f"{called} {moment}")
        target = pointed_at(_text(value, "pointer")) if value["kind"] == "claim" else ""
        links = (("RELATED_TO", target, "it rests on it"),) if target else ()
        seen.records.append(Carried(memory, key, name, item.lines[-1], value, links))


def _tasks(numbered: Sequence[tuple[int, Line]]) -> list[_Found]:
    """Return the tasks of a journal: what was started and stopped is one."""
    found: list[_Found] = []
    begun: dict[tuple[str, int | None], list[_Found]] = {}
    for number, line in numbered:
        if line.get("kind") not in ("start", "stop", "task"):
            continue
        start = (name_of(line), whole(line.get("start_epoch")))
        if line["kind"] == "stop" and begun.get(start):
            item = begun[start].pop()
            item.value, item.lines = {**item.value, **line}, [*item.lines, number]
            continue
        item = _Found(line, [number])
        found.append(item)
        if line["kind"] == "start":
            begun.setdefault(start, []).append(item)
    return found


def _claims(numbered: Sequence[tuple[int, Line]]) -> list[_Found]:
    """Return the claims of a journal, one that stands there twice once."""
    found: dict[tuple[str, ...], _Found] = {}
    for number, line in numbered:
        if line.get("kind") == "claim" and _text(line, "value").strip():
            same = tuple(_text(line, key) for key in (*_OF_CLAIM, "session_id", "id"))
            found.setdefault(same, _Found(line)).lines.append(number)
    return [*found.values()]


def _leave_sessions(seen: Reading, numbered: Sequence[tuple[int, Line]]) -> None:
    known = {_text(line, "id") for _, line in numbered if line.get("kind") == "session"}
    if known:
        why = f"{count(len(known), 'session')}: when a session was is no memory"
        seen.fault(SESSIONS, numbered[0][0], why, unread=False)


def _split(data: bytes) -> list[bytes]:
    """Return the lines of a journal with their ends, by number; a torn one gets its end."""
    lines = data.split(b"\n")
    rest = lines.pop()
    return [line + b"\n" for line in lines] + ([rest + b"\n"] if rest else [])


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"".join(lines)


def _kept(memory: Memory) -> dict[str, Any]:
    held = memory.extra.get(_KEPT)
    return dict(held) if isinstance(held, dict) else {}


def _moment(epoch: object) -> datetime | None:
    found = whole(epoch)
    return (
        parse_time(datetime.fromtimestamp(found, UTC)) if found is not None and 0 <= found < 2**37 else None
    )


def _text(line: Mapping[str, Any], key: str) -> str:
    value = line.get(key)
    return value if isinstance(value, str) else ""
