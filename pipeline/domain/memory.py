"""The registry of the 16 memory types, and a memory as a value.

The registry is the hinge between the five source formats (DESIGN §5): Claude Code's four classes, schema
v3's eleven kinds, and the agent-memory tiers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Self

MAX_DESCRIPTION = 150
MAX_QUOTE = 200
_WORD = re.compile(r"\w+")

HostClass = Literal["user", "feedback", "project", "reference"]
Tier = Literal["core", "learning", "task"]
Origin = Literal[
    "user-stated", "user-confirmed", "assistant-inferred", "assistant-written", "imported", "hand-written"
]
GUESSES = frozenset({"assistant-inferred", "assistant-written"})
"""Origins of what only the assistant said; the second is of what it wrote through a tool."""


@dataclass(frozen=True, slots=True)
class MemoryType:
    """One row of the registry.

    `answers` says in a few words what the type is for; `host_class` is what Claude Code calls it;
    `folder` is relative to the store; `weight` multiplies the decay score (seed 2, C-15).
    """

    name: str
    answers: str
    host_class: HostClass
    folder: str
    weight: float
    tier: Tier

    @property
    def is_graph(self) -> bool:
        """Whether memories of this type live under ``graph/`` and carry a title (schema v3)."""
        return self.folder.startswith("graph/")


_ROWS = (
    MemoryType("user", "who the person is", "user", "", 1.3, "core"),
    MemoryType("feedback", "how the person wants work done", "feedback", "", 1.3, "core"),
    MemoryType("project", "what is happening, and why", "project", "", 1.0, "core"),
    MemoryType("reference", "where to look things up", "reference", "", 1.0, "core"),
    MemoryType("decision", "what was chosen over what", "project", "graph/decisions", 1.3, "core"),
    MemoryType("configuration", "a setting that works", "reference", "graph/configurations", 1.1, "core"),
    MemoryType("procedure", "steps to follow", "feedback", "graph/procedures", 1.4, "core"),
    MemoryType("workflow", "how work flows here", "feedback", "graph/workflows", 1.0, "core"),
    MemoryType("code_pattern", "a pattern to reuse", "feedback", "graph/code-patterns", 1.1, "core"),
    MemoryType("solution", "what solved a problem", "project", "graph/solutions", 1.2, "learning"),
    MemoryType("fix", "what mended a bug", "project", "graph/fixes", 1.0, "learning"),
    MemoryType("problem", "what is still wrong", "project", "graph/problems", 0.9, "learning"),
    MemoryType("error", "an error and its meaning", "project", "graph/errors", 0.8, "learning"),
    MemoryType("insight", "what several cases share", "project", "graph/insights", 1.25, "learning"),
    MemoryType("general", "anything else that lasts", "project", "graph/general", 0.8, "learning"),
    MemoryType("task", "work to come back to", "project", "graph/tasks", 0.8, "task"),
)

TYPES: dict[str, MemoryType] = {row.name: row for row in _ROWS}
WHO_SPEAKS = ("person", "assistant", "pasted")
"""Who says what a source quotes; the last for what a person only pasted."""
HUMAN_ONLY = frozenset({"user", "feedback"})
"""Types that only a person's own words can support."""
OF_PROCEDURES = ("steps", "preconditions", "postconditions")
"""The lists that a procedure has."""
FINISHED = frozenset({"done", "completed", "closed", "cancelled", "canceled", "dropped"})
"""Words that a task's status has when nothing is to be done any more, in lower case."""


class Untouchable(Enum):
    """Why code may not change a memory's file without a person's word; the value follows its name."""

    PINNED = "is pinned"
    NOT_OURS = "was written or edited by someone else"

    def clause_about(self, subject: str) -> str:
        """Return the reason as a clause about `subject`, such as “the memory”."""
        return f"{subject} {self.value}"


def why_untouchable(*, pinned: bool, ours: bool) -> Untouchable | None:
    """Return why a memory may not be changed by code, or None when it may.

    `ours` says that Reverie wrote the file of itself, or Claude did, and nobody changed it since.
    """
    if pinned:
        return Untouchable.PINNED
    return None if ours else Untouchable.NOT_OURS


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Where a fact was said: one entry of one session, with a short quote that is in it.

    `at` is when it was said (ISO 8601), or None when the entry carries no usable time. `bears` are the keys
    of the sentences it stands for (`domain.sentences`), empty where it stands for all of the memory.
    `speaker` is ``pasted`` for what a person only pasted: nobody's word for what stands there.
    """

    session: str
    uuid: str
    quote: str
    at: str | None = None
    speaker: Literal["person", "assistant", "pasted"] = "person"
    bears: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        texts = (self.session, self.uuid, self.quote, "" if self.at is None else self.at, *self.bears)
        if not isinstance(self.bears, tuple) or not all(isinstance(text, str) for text in texts):
            raise ValueError("a source is made of texts")
        "".join(texts).encode()  # Raises a ValueError for what no file can hold.
        if len(self.quote) > MAX_QUOTE:
            raise ValueError(f"a quote has at most {MAX_QUOTE} characters")
        if self.speaker not in WHO_SPEAKS:
            raise ValueError(f"the speaker of a source is one of {', '.join(WHO_SPEAKS)}")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the source that `as_values` made `values` of, maybe by way of JSON; others' keys are left.

        Raises TypeError or ValueError when they are none.
        """
        known = {key: values[key] for key in _FIELDS if key in values}
        if isinstance(known.get("bears"), list):
            known["bears"] = tuple(known["bears"])
        return cls(**known)

    def as_values(self) -> dict[str, Any]:
        """Return its fields by name."""
        return {key: getattr(self, key) for key in _FIELDS}

    def is_for(self, key: str) -> bool:
        """Whether this stands for the sentence named `key`."""
        return not self.bears or key in self.bears

    def as_told(self) -> dict[str, Any]:
        """Return it for a report, as JSON can hold it, without what is not known.

        Of a file that Claude wrote there is no quote, and may be no record but the session itself.
        """
        unknown = {"quote"} if not self.quote else set()
        unknown |= {"uuid"} if self.uuid == self.session else set()
        values = {**self.as_values(), "bears": list(self.bears)}
        return {key: value for key, value in values.items() if key not in unknown}

    @property
    def pointer(self) -> tuple[str, str, str]:
        """Return what it points at, whatever it bears."""
        return self.session, self.uuid, self.quote


_FIELDS = tuple(Evidence.__slots__)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a memory took the place of: the one-line text, the day it was said ("" if unknown), its name."""

    text: str
    day: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """One fact as the store knows it; `extra` holds front-matter keys Reverie doesn't know.

    `name` is the slug and the file stem's base; times are aware UTC datetimes or None when the file
    does not say; `path` is relative to the store, empty before the memory is written; `aliases` are names
    and ids of memories merged into this one, and former names of its own, by which it is still found;
    `replaces` is what it took the place of; `cues` are phrases by which it is searched, never shown.
    A procedure has `steps`, and what holds before and after them; a task may have `status`, `completed_at`,
    `blockers` and `outcome`.
    """

    name: str
    description: str
    type: str
    body: str
    id: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    importance: float = 0.5
    confidence: float = 0.8
    created: datetime | None = None
    updated: datetime | None = None
    origin: str = ""
    sources: tuple[Evidence, ...] = ()
    relations: tuple[dict[str, Any], ...] = ()
    anchors: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    replaces: tuple[Replaced, ...] = ()
    cues: tuple[str, ...] = ()
    pinned: bool = False
    steps: tuple[str, ...] = ()
    preconditions: tuple[str, ...] = ()
    postconditions: tuple[str, ...] = ()
    status: str = ""
    completed_at: datetime | None = None
    blockers: tuple[str, ...] = ()
    outcome: str = ""
    path: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def type_row(self) -> MemoryType:
        """Return this memory's registry row; an unknown type reads as ``project`` (checklist L-C9)."""
        return TYPES.get(self.type, TYPES["project"])

    @property
    def is_a_guess(self) -> bool:
        """Whether only the assistant said it, and no person confirmed it."""
        return self.origin in GUESSES

    @property
    def holds_no_persons_words(self) -> bool:
        """Whether it is a guess to which no person's line was added either."""
        return self.is_a_guess and not any(source.speaker == "person" for source in self.sources)

    @property
    def host_class(self) -> HostClass:
        """Return what Claude Code calls it; ``feedback`` is a person's, so a guess is none."""
        found = self.type_row.host_class
        return "project" if self.is_a_guess and found in HUMAN_ONLY else found

    @property
    def changed_at(self) -> float:
        """Return when the memory was last updated, else created (epoch seconds); 0 when nobody knows."""
        moment = self.updated or self.created
        return moment.timestamp() if moment else 0.0

    @property
    def shown_title(self) -> str:
        """Return the title, or one made from the name."""
        return self.title or self.name.replace("-", " ").replace("_", " ").strip().capitalize()

    @property
    def is_finished(self) -> bool:
        """Whether its status says that nothing is to be done any more."""
        return self.status.strip().lower() in FINISHED

    @property
    def finished_at(self) -> datetime | None:
        """Return since when nothing is to be done any more, as far as the file tells; None while there is."""
        return self.completed_at or (self.updated or self.created if self.is_finished else None)

    @property
    def parts_of_work(self) -> tuple[str, ...]:
        """Return what stands beside the text of a procedure or a task, each a line of its own."""
        lists = (*self.steps, *self.preconditions, *self.postconditions, *self.blockers)
        return tuple(text for text in (*lists, self.outcome) if text)

    @property
    def whole_text(self) -> str:
        """Return the text and below it what stands beside it, as one is told of a procedure or a task."""
        steps = [f"{number}. {text}" for number, text in enumerate(self.steps, start=1)]
        lists = {
            "Before": [f"- {text}" for text in self.preconditions],
            "Steps": steps,
            "After": [f"- {text}" for text in self.postconditions],
            "Waits for": [f"- {text}" for text in self.blockers],
            "Status": [self.status] if self.parts_of_work and self.status else [],
            "Outcome": [self.outcome] if self.outcome else [],
        }
        more = [f"{label}:\n" + "\n".join(lines) for label, lines in lists.items() if lines]
        return "\n\n".join([self.body.rstrip("\n"), *more]) + "\n" if more else self.body

    @property
    def dictated_at(self) -> datetime | None:
        """Return when a person wrote it with `reverie add`, which is when they said it; else None."""
        return self.created if self.origin == "hand-written" else None

    @property
    def headline(self) -> str:
        """Return what names the memory in a list: its title, or its description where that begins with it.

        A title that is the start of the description alone would be a sentence without its end.
        """
        return self.description if _begins(self.description, self.shown_title) else self.shown_title

    @property
    def is_told_by_headline(self) -> bool:
        """Whether the description has no word that `headline` has not: shown beside it, it says it twice."""
        return _begins(self.headline, self.description)


def _begins(text: str, start: str) -> bool:
    """Whether the words of `text` begin with those of `start`, whatever stands between and behind them."""
    starts = [_WORD.search(item.casefold()) for item in (text, start)]
    if not all(starts) or len({found.group() for found in starts if found}) > 1:
        return False
    words, first = (_WORD.findall(item.casefold()) for item in (text, start))
    return bool(first) and words[: len(first)] == first
