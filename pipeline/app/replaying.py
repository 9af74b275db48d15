"""A bug bundle run again: screened, read again by the kept replies and planned, without any model.

It is done over a store made of the memories in the bundle. What else the store held is not in it: a name that
was taken there, or a share of the store that may leave at once, can come out otherwise.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pipeline.app import bundle_archive as archive
from pipeline.app.sandbox import Sandbox, outcome_of, sandbox
from pipeline.config import Settings
from pipeline.core import zone
from pipeline.core.clock import FixedClock, parse_time
from pipeline.core.errors import InputError
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence
from pipeline.extraction import reading
from pipeline.extraction.checkpoint import Answer, Checkpoint, memory_of, unpack
from pipeline.extraction.schema import ConversationExtraction, Extraction
from pipeline.extraction.strategies import Span
from pipeline.ledger import inbox, runs
from pipeline.record import names_of, record
from pipeline.revision import Door
from pipeline.store.history import forgotten
from pipeline.verify.flaw import Flaw

_NUMBERED = re.compile(r"-\d+$")
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, OverflowError, ValidationError)


@record
class Difference:
    """What came out otherwise: in what, what the run did, and what the replay does; "" for nothing."""

    about: str
    then: str
    now: str


@record
class Replayed:
    """What a replay came to. `notes` say what of the bundle could not be used."""

    run_id: str
    reverie: str
    then: dict[str, Any]
    now: dict[str, Any]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]

    @property
    def is_same(self) -> bool:
        """Whether the same came out."""
        return not self.differences


@record
class _Case:
    """What a bundle holds, in the shape in which extraction takes it."""

    run: runs.Run
    packed: dict[str, Any]
    answer: Answer
    span: Span
    memories: dict[str, Any]
    done: dict[str, Any]
    about: dict[str, Any]
    at: datetime


def replay(path: Path) -> Replayed:
    """Run the bundle at `path` again. Raises InputError for no bundle, and for a run without a reply."""
    case = _case(archive.read(path), path)
    notes: list[str] = []
    zone_name = str(case.about.get("zone") or "")
    known = bool(zone_name) and zone.exists(zone_name)
    if not known:
        notes.append(f"the zone {zone_name!r} is not known here: days may differ")
    days: AbstractContextManager[None] = zone.using(zone_name) if known else nullcontext()
    user_scope = case.about.get("user_scope") is True
    with days, sandbox(_settings(case), FixedClock(case.at), user_scope=user_scope) as box:
        try:
            notes += _fill(box, case)
            now = _again(box, case)
        except _MALFORMED as error:
            raise _odd(path) from error
    found = tuple(_differences(case.done, now))
    return Replayed(case.run.id, str(case.about.get("reverie") or ""), case.done, now, found, tuple(notes))


def _case(values: Mapping[str, Any], path: Path) -> _Case:
    packed = values[archive.REPLY]
    if "reply" not in packed:
        raise InputError(
            "the run in it has no reply that is kept, so there is nothing to run again",
            file=str(path),
            fix="run.json and calls.json in it say how it ended.",
        )
    try:
        # What was planned is what is to be found out.
        packed = {key: value for key, value in packed.items() if key != "planned"}
        row = values[archive.RUN]
        fields = {name: row.get(name) for name in names_of(runs.Run)}
        run = runs.Run(**{**fields, "reply_json": json.dumps(packed, ensure_ascii=False)})
        schema = ConversationExtraction if run.strategy == "conversation" else Extraction
        memories = values[archive.MEMORIES]
        lines = "\n".join(str(line["text"]) for line in packed["lines"].values())
        answer, span = unpack(run, schema, "\n".join([lines, *map(str, memories["heard"])]))
        at = datetime.fromtimestamp(float(run.replied_at or run.started_at), UTC)
    except _MALFORMED as error:
        raise _odd(path) from error
    return _Case(run, packed, answer, span, memories, values[archive.DONE], values[archive.ABOUT], at)


def _settings(case: _Case) -> Settings:
    settings = Settings()
    given = case.about.get("settings") or {}
    most, proposes = given.get("max_candidates"), given.get("mode") == "propose"
    extraction = settings.extraction
    if isinstance(most, int) and most > 0:
        extraction = extraction.model_copy(update={"max_candidates": most})
    store = settings.store.model_copy(update={"mode": "propose"}) if proposes else settings.store
    return settings.model_copy(update={"extraction": extraction, "store": store})


def _fill(box: Sandbox, case: _Case) -> list[str]:
    """Put the memories of the bundle where they were; return what could not be."""
    notes = []
    given = {**case.packed.get("shown", {}), **case.memories["known"]}
    doors = {False: Door(box.store, now=case.at, approved=True)}
    doors[True] = (
        doors[False] if box.everyone is box.store else Door(box.everyone, now=case.at, approved=True)
    )
    for name, values in given.items():
        memory = replace(memory_of(values), id=derived_id(case.run.id, name))
        planned = doors[name in case.memories["everywhere"]].create(memory)
        if isinstance(planned, Flaw):
            notes.append(f"the memory {name} could not be put there: it {planned.reason}")
    for door in {id(door): door for door in doors.values()}.values():
        door.write(f"before-{case.run.id}", "the memories of a bundle")
    for item in case.memories["forgotten"]:
        at = parse_time(item["at"])
        source = Evidence(session="", uuid=str(item["uuid"]), quote=str(item["quote"]))
        if at is not None:
            forgotten.note(box.store.root, [source], name="", reason="bundle", now=at)
    for item in case.memories["waiting"]:
        target = box.everyone if item["store"] == "user" else box.store
        payload = json.dumps(item["payload"], ensure_ascii=False)
        inbox.add_inbox(
            box.ledger,
            str(target.path),
            kind=str(item["kind"]),
            payload_json=payload,
            reason=str(item["reason"]),
            run_id="",
            now=case.at,
        )
    return notes


def _again(box: Sandbox, case: _Case) -> dict[str, Any]:
    box.start(case.run)
    runs.commit_reply(
        box.ledger,
        case.run.id,
        case.run.reply_json or "",
        prompt_digest=case.run.prompt_digest or "",
        model=case.run.model or "",
        provider=case.run.provider or "",
        now=case.at,
    )
    checkpoint = Checkpoint(box.ledger, case.run.id, dict(case.packed))
    return outcome_of(reading.bring_in(box.phase(), case.span, case.answer, checkpoint))


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Difference]:
    if then.get("outcome") != now["outcome"]:
        yield Difference("outcome", str(then.get("outcome")), str(now["outcome"]))
    for about in ("actions", "rejected", "proposals"):
        before = Counter(map(in_words, then.get(about) or ()))
        after = Counter(map(in_words, now[about]))
        yield from (Difference(about, text, "") for text in (before - after).elements())
        yield from (Difference(about, "", text) for text in (after - before).elements())


def in_words(item: Mapping[str, Any]) -> str:
    """Return an action, a rejection or a proposal in one line, without what differs from store to store."""
    name = str(item.get("name"))
    deed = str(item.get("action") or item.get("kind") or "")
    # In a store with others a new memory may have got a number.
    name = _NUMBERED.sub("", name) if deed == "created" else name
    reason = str(item.get("reason") or "")
    return " ".join(filter(None, [deed, name])) + (f": {reason}" if reason else "")


def _odd(path: Path) -> InputError:
    return InputError(
        "the file holds something else than a bundle does",
        file=str(path),
        fix="Ask for a bundle that `reverie bundle` wrote, whole and as it was.",
    )
