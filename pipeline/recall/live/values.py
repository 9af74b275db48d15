"""What recall takes and gives: a budget, a recollection, and the recollections of one prompt."""

from pipeline.hooklib.settings import DEFAULTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST_BODY = 500
"""Characters up to which a memory's body is told whole."""


class Budget:
    """How much may be put before one prompt.

    `memories` counts memories; `body` bounds what is told of each one's body, in characters: of a longer one
    its description comes, and where the rest is; `chars` bounds the whole
    text with its wrapper and notices, counted as the larger of code points and UTF-16 units, since hosts
    count either; `session_chars_left` is what the session may still get; `floor` is the setting
    (`rank.floor_of`), None for the usual one; `dormant` says that dormant memories come as well.
    """

    __slots__ = ("body", "chars", "dormant", "floor", "memories", "session_chars_left")

    def __init__(
        self,
        memories: int = DEFAULTS["memories"],
        body: int = LONGEST_BODY,
        chars: int = DEFAULTS["prompt_chars"],
        session_chars_left: int = DEFAULTS["session_chars"],
        floor: "float | None" = None,
        dormant: bool = False,
    ) -> None:
        self.dormant = dormant
        self.memories = memories
        self.body = body
        self.chars = chars
        self.session_chars_left = session_chars_left
        self.floor = floor


class Recollection:
    """One memory chosen for a prompt.

    `path` is relative to `store`; `digest` is that of the file's bytes; `score` runs from 0 to about 1.5;
    `why` holds the words of the prompt that led here; `text` is the fenced piece; `freshness` tells of the
    files the memory is about, "" when there is nothing to tell; `said` is when it was last said (ISO 8601,
    "" when nobody knows); `origin` is who said it, in the file's own words, `by` as far as that is borne out.
    """

    __slots__ = (
        "by",
        "digest",
        "freshness",
        "id",
        "name",
        "origin",
        "path",
        "said",
        "score",
        "store",
        "text",
        "type",
        "why",
    )

    def __init__(
        self,
        *,
        id: str,
        name: str,
        path: str,
        store: str,
        type: str,
        digest: str,
        score: float,
        why: "list[str]",
        text: str,
        freshness: str,
        said_at: str,
        origin: str,
        by: str,
    ) -> None:
        self.id = id
        self.name = name
        self.path = path
        self.store = store
        self.type = type
        self.digest = digest
        self.score = score
        self.why = why
        self.text = text
        self.freshness = freshness
        self.said = said_at
        self.origin = origin
        self.by = by

    def as_item(self) -> "dict[str, Any]":
        """Return the line's entry for it in the session file."""
        return {
            "id": self.id,
            "name": self.name,
            "path": self.path,
            "store": self.store,
            "digest": self.digest,
            "score": round(self.score, 4),
            "why": self.why,
            "chars": len(self.text),
        }


class Considered:
    """A memory that was weighed for a prompt.

    `memory` is its file; `everywhere` says that it is meant for all projects; `score` and `verdict` say how
    it fits and what became of it, ``chosen`` or why not; `words` are those of the prompt that led to it, as
    typed, `cue` the ones that say one of its cues; they are looked up in the prompt only when somebody asks,
    which no hook does. `near` is how near the two are in meaning, from -1 to 1, 0 also
    for unknown.
    """

    __slots__ = ("_as_typed", "_cue", "_exact", "_words", "everywhere", "memory", "near", "score", "verdict")

    def __init__(
        self,
        memory: str,
        score: float,
        verdict: str,
        *,
        as_typed: "Callable[[list[str]], list[str]]",
        words: "list[str]",
        exact: "list[str]",
        cue: "list[str]",
        near: float,
        everywhere: bool,
    ) -> None:
        self._as_typed = as_typed
        self._words = words
        self._exact = exact
        self._cue = cue
        self.memory = memory
        self.score = score
        self.verdict = verdict
        self.near = near
        self.everywhere = everywhere

    @property
    def words(self) -> "list[str]":
        """The words of the prompt that led to it, and the specifics found in it."""
        return self._as_typed(self._words) + self._exact

    @property
    def cue(self) -> "list[str]":
        """The words of the prompt that say one of its cues."""
        return self._as_typed(self._cue)


class Recollections:
    """The answer to one prompt.

    `items` are the memories put before it, in their order; `text` is the brief that holds them, "" when
    there is nothing to say; `left_out` counts memories that were relevant and found no room; `considered`
    has every candidate, best first; `chars` and `tokens` measure `text`, the latter
    by the rule of thumb of four characters a token; `problems` tells of what could not be looked at.
    """

    __slots__ = ("chars", "considered", "items", "left_out", "problems", "text", "tokens")

    def __init__(
        self,
        items: "list[Recollection]",
        text: str,
        left_out: int,
        considered: "list[Considered]",
        chars: int,
        problems: "list[str]",
    ) -> None:
        self.items = items
        self.text = text
        self.left_out = left_out
        self.considered = considered
        self.chars = chars
        self.tokens = -(-chars // 4)
        self.problems = problems
