"""Whether a memory made of what was said now may take the place of an older one without asking a person.

Two things a person decides: words of a person's that would give way to the assistant's alone, and a text
that no longer says what the old one did, unless a person said something later.
"""

from __future__ import annotations

from pipeline.core.clock import latest, parse_time
from pipeline.domain.memory import Memory
from pipeline.verify.evidence import unvouched
from pipeline.verify.wording import Flaw, lost_between


def flaw_of(old: Memory, new: Memory) -> Flaw | None:
    """Return why `new`, which holds the new words and their sources alone, may not replace `old`'s text."""
    if unvouched(old.type, [new], replaced=old) is not None:
        return Flaw(f"only the assistant said it, and “{old.name}” holds a person's words", to_inbox=True)
    lost = lost_between(old, new)
    if lost and not said_later(new, old):
        return Flaw(f"{lost}, and no person said anything later", to_inbox=True)
    return None


def said_later(new: Memory, old: Memory) -> bool:
    """Whether a person's line of `new` was said after all that `old` rests on.

    A source of `old` without a time may be later than anything; an `old` without sources rests on nothing.
    """
    last = latest(source.at for source in new.sources if source.speaker == "person")
    earlier = [parse_time(source.at) for source in old.sources]
    return last is not None and all(at is not None and at < last for at in earlier)
