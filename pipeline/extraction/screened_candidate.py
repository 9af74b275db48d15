"""A candidate that passed the screen: the memory or the change it makes, and how it waits in the inbox.

Both doors, extraction's own and a person's yes in the inbox, write what is made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.core import zone
from pipeline.core.clock import latest, parse_time
from pipeline.core.errors import InputError
from pipeline.domain.body import Body
from pipeline.domain.cues import MOST_CUES
from pipeline.domain.memory import MAX_DESCRIPTION, OF_PROCEDURES, TYPES, Evidence, Memory, Origin
from pipeline.domain.sentences import folded, sentences, unlabelled
from pipeline.hooklib.plain import one_line
from pipeline.revision import Removal, Replacement, amended
from pipeline.store.files.described import gist, telling
from pipeline.text.dates import absolute
from pipeline.text.slugs import slugify
from pipeline.verify.provenance import origin_of, pruned, replace_bears, sources_of, vouched, weakest_origin
from pipeline.verify.tags import MOST_TAGS, phrased, spelled, union

if TYPE_CHECKING:
    from pipeline.extraction.schema import Candidate

MAX_PART = 2_000
"""Most characters of a statement, a reason, or how to apply it: more is not one fact."""
MOST_ANCHORS = 8
PARTS = {"statement": "statement", "why": "why", "how_to_apply": "how to apply"}
"""Parts of a candidate that a line may bear, with their names in a memory."""


@dataclass(frozen=True, slots=True)
class Screened:
    """A candidate that passed: everything the store needs but its place.

    For an update (`update_of` names the memory) the three parts hold only what is added, and `replaces` pairs
    of an old sentence with what takes its place, empty for nothing.
    """

    name: str
    update_of: str
    type: str
    title: str
    description: str
    statement: str
    why: str
    how_to_apply: str
    tags: tuple[str, ...]
    anchors: tuple[str, ...]
    importance: float
    confidence: float
    origin: Origin
    sources: tuple[Evidence, ...]
    said_at: datetime | None
    replaces: tuple[tuple[str, str], ...] = ()
    cues: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()

    @property
    def body(self) -> str:
        """Return the markdown body: the statement, then why and how to apply it."""
        return Body(self.statement, self.why, self.how_to_apply).render()

    @property
    def folded_sentences(self) -> frozenset[str]:
        """Return the sentences it would write, in the form in which two are equal."""
        texts = [self.body, *(text for _, text in self.replaces)]
        return frozenset(sentence.folded for text in texts for sentence in sentences(text))

    def memory(self, memory_id: str, now: datetime) -> Memory:
        """Return the new memory this makes."""
        return pruned(
            Memory(
                name=self.name,
                description=self.description,
                type=self.type,
                body=self.body,
                id=memory_id,
                title=self.title,
                tags=self.tags,
                importance=self.importance,
                confidence=self.confidence,
                created=now,
                updated=now,
                origin=self.origin,
                sources=self.sources,
                anchors=self.anchors,
                cues=self.cues,
                steps=self.steps,
                preconditions=self.preconditions,
                postconditions=self.postconditions,
            )
        )

    def amending(self, old: Memory, now: datetime) -> tuple[Memory, tuple[Removal, ...]] | None:
        """Return `old` with this change, and what leaves it; None when it lacks a sentence to replace.

        Sentences that are not named stay word for word; id, type, place and age stay. The origin is that of
        the words that carry the fact now.
        """
        numbers: dict[str, list[int]] = {}
        for number, sentence in enumerate(sentences(old.body), start=1):
            numbers.setdefault(sentence.folded, []).append(number)
        if any(folded(before) not in numbers for before, _ in self.replaces):
            return None
        known = {*numbers, *(s.folded for _, text in self.replaces for s in sentences(text))}
        parts = (_but(text, known) for text in (self.statement, self.why, self.how_to_apply))
        memory, removals = amended(
            old,
            [Replacement(n, text) for before, text in self.replaces for n in numbers[folded(before)]],
            Body(*parts),
            self.sources,
            now=now,
        )
        return self._dressed(memory, old), removals

    def renames(self, old: Memory) -> bool:
        """Whether the meaning turned, so that the name has to follow: a sentence was replaced."""
        return self.name != old.name and any(text for _, text in self.replaces)

    def _dressed(self, memory: Memory, old: Memory) -> Memory:
        fresh = self.origin
        if fresh == "assistant-inferred" and vouched(old):
            # Only a person's yes lets the assistant's words stand among a person's.
            fresh = "user-confirmed"
        before = {sentence.folded for sentence in sentences(old.body)}
        origins = [
            origin_of(sources_of(old, sentence.text), old.origin) if sentence.folded in before else fresh
            for sentence in sentences(memory.body)
            if sentence.part == "statement"
        ]
        description = self.description or old.description
        title = self.title or old.title
        if self.replaces:
            # A line that tells the former fact would be read alone, in MEMORY.md.
            description = self.description or gist(memory.body)
        if not self.title and self._overtakes(title, memory.body):
            title = ""
        return replace(
            memory,
            name=self.name or old.name,
            description=description,
            title=title,
            tags=union((self.tags, old.tags), most=MOST_TAGS),
            importance=max(old.importance, self.importance),
            confidence=self.confidence,
            origin=weakest_origin(origins) if origins else old.origin,
            anchors=union((self.anchors, old.anchors), most=MOST_ANCHORS),
            cues=union((self.cues, old.cues), most=MOST_CUES),
        )

    def _overtakes(self, title: str, body: str) -> bool:
        """Whether `title` has a word of a sentence that is replaced which `body` says no more."""
        gone = {word for old, new in self.replaces if new for word in telling(old)} - telling(body)
        return not gone.isdisjoint(telling(title))

    def to_json(self) -> dict[str, Any]:
        """Return the candidate as the payload of an inbox item, with its body to be read there."""
        return {
            **asdict(self),
            "sources": [source.as_values() for source in self.sources],
            "said_at": self.said_at.isoformat() if self.said_at else None,
            "body": self.body,
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Screened:
        """Return the candidate of an inbox item, also of one that an earlier version put there.

        Those held a candidate without sources, or only a body. Raises InputError when there is no text to
        write, or what is there can't be read.
        """
        fix = "Add it yourself with `reverie add`, then `reverie inbox reject` this one."
        given = payload.get("replaces") or ()
        whole = Body.parse(str(payload.get("body") or ""))
        body = Body(*(str(payload.get(part) or "") for part in ("statement", "why", "how_to_apply")))
        body = body if body.statement.strip() or given else whole
        if not (body.statement or given) or not payload.get("type"):
            raise InputError("it holds no text to write", fix=fix)
        try:
            return cls(
                name=slugify(str(payload["name"])),
                update_of=str(payload.get("update_of") or ""),
                type=str(payload["type"]),
                title=str(payload.get("title") or ""),
                description=str(payload.get("description") or "")[:MAX_DESCRIPTION],
                statement=body.statement,
                why=body.why,
                how_to_apply=body.how_to_apply,
                tags=tuple(payload.get("tags") or ()),
                anchors=tuple(payload.get("anchors") or ()),
                importance=float(payload.get("importance", 0.5)),
                confidence=float(payload.get("confidence", 0.8)),
                origin=payload.get("origin") or "assistant-inferred",
                sources=tuple(map(Evidence.of, payload.get("sources") or ())),
                said_at=parse_time(payload.get("said_at")),
                replaces=tuple((str(old), str(new)) for old, new in given),
                cues=phrased(str(cue) for cue in payload.get("cues") or ()),
                **{key: tuple(map(str, payload.get(key) or ())) for key in OF_PROCEDURES},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("the proposal can't be read", fix=fix) from error


def type_of(candidate: Candidate) -> str:
    """Return the type that a candidate names, as types are spelled."""
    return candidate.type.strip().lower().replace("-", "_")


def screened(
    candidate: Candidate, old: Memory | None, origin: Origin, found: Sequence[tuple[int, Evidence]]
) -> Screened:
    """Return `candidate` as it may be written: over `old` or new, with the lines `found` for it."""
    said_at = latest(source.at for _, source in found)
    spoken_at = local(said_at)
    name = slugify(candidate.name or candidate.statement)
    statement = _dated(candidate.statement, spoken_at)
    item = Screened(
        name=name if candidate.name.strip() or old is None else old.name,
        update_of=old.name if old else "",
        type=old.type if old and type_of(candidate) not in TYPES else type_of(candidate),
        title="",
        description="" if old else gist(statement),
        statement=statement,
        why=_dated(candidate.why, spoken_at),
        how_to_apply=_dated(candidate.how_to_apply, spoken_at),
        tags=spelled(candidate.tags),
        anchors=union(
            ((one_line(item, 200) for item in candidate.anchors if item.strip()),), most=MOST_ANCHORS
        ),
        importance=round(candidate.importance, 2),
        confidence=round(candidate.confidence, 2),
        origin=origin,
        sources=(),
        said_at=said_at,
        replaces=_replaces(candidate, old, spoken_at),
        cues=phrased(candidate.cues),
    )
    return replace(item, sources=_sources(item, [source for _, source in found]))


def local(at: datetime | str | None) -> datetime | None:
    """Return when something was said, as the clocks of the person showed it."""
    moment = parse_time(at)
    return zone.local(moment) if moment else None


def _dated(text: str, spoken_at: datetime | None) -> str:
    """Return a proposed text as it may stand in a memory: days for “tomorrow”, no labels of its own."""
    return unlabelled(absolute(text.strip(), spoken_at))


def _replaces(
    candidate: Candidate, old: Memory | None, spoken_at: datetime | None
) -> tuple[tuple[str, str], ...]:
    """Return the sentences of `old` that are replaced, with what takes their place; equal ones left out."""
    numbered = dict(enumerate(sentences(old.body), start=1)) if old else {}
    pairs = {
        numbered[change.number].text: _dated(change.text, spoken_at)
        for change in candidate.replaces
        if change.number in numbered
    }
    return tuple((before, text) for before, text in pairs.items() if folded(before) != folded(text))


def _sources(item: Screened, given: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return `given` with the keys of the sentences each stands for, one source for each quote.

    What no source was named for rests on all of them.
    """
    keys: dict[tuple[str, str, str], list[str]] = {}
    first: dict[tuple[str, str, str], Evidence] = {}
    everything = [sentence.key for sentence in sentences(item.body)]
    for source in given:
        part = PARTS.get(source.bears[0]) if source.bears and not item.update_of else None
        own = [sentence.key for sentence in sentences(item.body) if sentence.part == part]
        first.setdefault(source.pointer, source)
        keys.setdefault(source.pointer, []).extend(own or everything)
    borne = {key for found in keys.values() for key in found}
    for found in keys.values():
        found.extend(key for key in everything if key not in borne)
    return tuple(
        replace_bears(source, () if set(keys[pointer]) >= set(everything) else dict.fromkeys(keys[pointer]))
        for pointer, source in first.items()
    )


def _but(text: str, known: Iterable[str]) -> str:
    """Return the sentences of `text` but those that are `known`, in the form in which two are equal."""
    present = set(known)
    return " ".join(sentence.text for sentence in sentences(text) if sentence.folded not in present)
