"""The checks in code that each candidate must pass before anyone reads it again. No input or output.

Source: DESIGN §6, "Evidence". What a candidate says is compared with its lines in `verify.floor` only; what
it means is the second reader's. A candidate that fails is not silently lost: every drop carries its reason,
and what a person might still want goes to the inbox instead.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pipeline.domain.memory import (
    HUMAN_ONLY,
    MAX_DESCRIPTION,
    MAX_QUOTE,
    TYPES,
    Evidence,
    Memory,
    Origin,
)
from pipeline.domain.sentences import folded
from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering, paths_shown
from pipeline.extraction.schema import Candidate, Cited, Extraction, Withdrawal
from pipeline.extraction.screened_candidate import MAX_PART, PARTS, Screened, local, screened
from pipeline.hooklib.plain import one_line
from pipeline.safety.invisible import visible
from pipeline.store import Forgotten
from pipeline.text.pasted import typed
from pipeline.text.quotes import in_one_line, quoted_in, typed_in
from pipeline.text.slugs import slugify
from pipeline.verify.barred import bar, doubt, forbidden
from pipeline.verify.floor import ACTED_ON, Ground, Line, Missing

NO_REASON = "the dialogue took it back"
"""Stands for a given reason that may not be written."""
LEAST_INFERRED = 0.7
"""Least confidence with which something only the assistant said goes live (DESIGN §9)."""
_LABEL_CHARS = 40
"""Within so many characters a quote may begin with the label of its line: “PERSON: ”."""
AROUND = 2
"""Lines on either side of a cited one that count as its surroundings."""
MOST_UNCITED = 12
"""Lines of a person that a withdrawal without a quote is judged by."""
LENGTH = "length"
"""The check that a candidate fails which is too long."""
FORGOTTEN = "it was forgotten on request, rejected or undone, and nobody has said it since"

ONLY_PASTED = "it stands only in what the person pasted, not in what they typed"
NOWHERE = "stands in none of its lines"
SAID_LATER = "said later otherwise"
"""Why words that were overtaken change nothing; so the second reader says, and so do the days."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate or withdrawal that was not taken, and why.

    `to_inbox` is true when a person may decide; `candidate` is then what accepting it writes. `check` names
    the check of the screen that found it.
    """

    name: str
    reason: str
    to_inbox: bool = False
    candidate: Screened | None = None
    check: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A candidate that passed: `id` names it in the reply, `cited` are its lines, `old` what it changes.

    `missing` is what of it stands in none of those lines; `renamed` that its memory's name no longer fits;
    `doubt` what it reads like by its words alone, such as a permission, "" for nothing.
    """

    id: str
    item: Screened
    cited: tuple[int, ...]
    missing: Missing = field(default_factory=Missing)
    old: Memory | None = None
    renamed: bool = False
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """A withdrawal that passed: `cited` are the lines to judge it by, `doubt` why a person should decide."""

    id: str
    withdrawal: Withdrawal
    sources: tuple[Evidence, ...]
    cited: tuple[int, ...] = ()
    doubt: str = ""


@dataclass(slots=True)
class Verdict:
    """The outcome of a screening, and later of the second reading.

    `known` says what needs no writing, `sent_back` for each candidate that needed narrower words why.
    """

    cases: list[Case] = field(default_factory=list)
    withdrawals: list[Withdrawn] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    known: list[Memory] = field(default_factory=list)
    sent_back: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> list[Screened]:
        """Return the candidates that passed."""
        return [case.item for case in self.cases]


@dataclass(frozen=True, slots=True)
class Screen:
    """What candidates are held against: the lines, what is forgotten, the memories shown in full by name.

    `provisional` names the memories of this very conversation, which may be withdrawn without a quote.
    """

    rendering: Rendering
    forgotten: Forgotten = field(default_factory=Forgotten)
    shown: Mapping[str, Memory] = field(default_factory=dict)
    provisional: frozenset[str] = frozenset()
    limit: int = 40
    checks: Sequence[Check] = field(default_factory=lambda: CHECKS)

    def judge(self, reply: Extraction) -> Verdict:
        """Return what of `reply` holds against the dialogue it was made from."""
        verdict = Verdict()
        earlier: set[str] = set()
        for number, candidate in enumerate(reply.memories):
            result = self.examine(f"c{number + 1}", candidate, number=number, earlier=earlier)
            if isinstance(result, Case):
                earlier.add(_content(result.item))
                verdict.cases.append(result)
            else:
                verdict.rejected.append(result)
        for number, withdrawal in enumerate(reply.withdrawals):
            taken = self._withdrawn(f"w{number + 1}", withdrawal)
            if isinstance(taken, Withdrawn):
                verdict.withdrawals.append(taken)
            else:
                verdict.rejected.append(taken)
        return verdict

    def examine(
        self, case_id: str, candidate: Candidate, *, number: int = 0, earlier: Collection[str] = ()
    ) -> Case | Rejected:
        """Return one candidate as a case, or why it is not one.

        `number` is its place in the reply, `earlier` holds what the cases before it say.
        """
        found = cite_each(candidate.evidence, self.rendering)
        sources = tuple(dict.fromkeys(source for _, source in found))
        old = self.shown.get(candidate.update_of.strip())
        origin = _origin(_stating(found) or sources, self.rendering)
        item = screened(candidate, old, origin, found)
        look = Look(candidate, item, sources, self, number, earlier)
        for check in self.checks:
            found_wrong = check.find(look)
            if isinstance(found_wrong, str) and found_wrong:
                found_wrong = Rejected(label(candidate.name or candidate.statement[:60]), found_wrong)
            if isinstance(found_wrong, Rejected):
                return replace(found_wrong, check=check.name)
        cited = tuple(sorted({number for number, _ in found}))
        missing = self._missing(item, cited, old)
        return Case(case_id, item, cited, missing, old, doubt=doubt(_words(candidate)))

    def around(self, cited: Iterable[int]) -> list[int]:
        """Return the numbers of the lines `cited` and those around them."""
        near = {number for line in cited for number in range(line - AROUND, line + AROUND + 1)}
        return sorted(near & self.rendering.lines.keys())

    def _missing(self, item: Screened, cited: Iterable[int], old: Memory | None) -> Missing:
        lines = [self.rendering.lines[number] for number in self.around(cited)]
        pasted = any(source.speaker == "pasted" for source in item.sources)
        only_pasted = pasted and not any(source.speaker == "person" for source in item.sources)
        ground = Ground(
            [spoken for line in lines for spoken in _spoken(line, only_pasted=only_pasted)],
            old=f"{old.name}\n{old.title}\n{old.description}\n{old.body}" if old else "",
            dialogue=self.rendering.words,
        )
        texts = (item.statement, item.why, item.how_to_apply)
        acted_on = (old.type if old else item.type) in ACTED_ON
        return ground.missing([*texts, *(text for _, text in item.replaces)], acted_on=acted_on)

    def _withdrawn(self, withdrawal_id: str, withdrawal: Withdrawal) -> Withdrawn | Rejected:
        found = cite_each(withdrawal.evidence, self.rendering)
        sources = tuple(dict.fromkeys(source for _, source in found))
        withdrawal = _sound(withdrawal)
        cited = tuple(sorted({number for number, _ in found}))
        # Only a person takes a person's words back, but what this conversation taught may go as it came.
        if withdrawal.name in self.provisional:
            cited = cited or self._last_person_lines()
        elif not any(source.speaker == "person" for source in sources):
            return Rejected(withdrawal.name, "withdrawal without a line in which the person takes it back")
        buried = self.buried({withdrawal.name}, sources)
        if buried:
            return Rejected(withdrawal.name, buried)
        return Withdrawn(withdrawal_id, withdrawal, sources, cited)

    def buried(self, names: Iterable[str], sources: Sequence[Evidence]) -> str:
        """Return why nothing of these names and sources may come back, or ""."""
        return FORGOTTEN if any(self.forgotten.bars(sources, name) for name in names) else ""

    def _last_person_lines(self) -> tuple[int, ...]:
        lines = self.rendering.lines.items()
        numbers = [n for n, line in lines if line.speaker == "person" and self.rendering.is_new(n)]
        return tuple(numbers[-MOST_UNCITED:])


def cite_each(evidence: Sequence[Cited], rendering: Rendering) -> list[tuple[int, Evidence]]:
    """Return those of `evidence` whose quote is found in the cited line, each as a source with its line.

    A source bears the part that was named for it (put into keys by `screened`), else the statement.
    """
    found: list[tuple[int, Evidence]] = []
    for cited in evidence:
        utterance = rendering.lines.get(cited.line)
        quote = utterance and _quoted(cited.quote, utterance.text)
        if utterance is None or not quote:
            continue
        source = Evidence(
            session=utterance.session_id,
            uuid=utterance.uuid,
            quote=in_one_line(quote)[:MAX_QUOTE].strip(),
            at=utterance.at,
            speaker="pasted" if _only_pasted(quote, utterance) else utterance.speaker,
            bears=(cited.part if cited.part in PARTS else "statement",),
        )
        if (cited.line, source) not in found:
            found.append((cited.line, source))
    return found


def _only_pasted(quote: str, utterance: Utterance) -> bool:
    """Whether a person's line has `quote` only where they pasted something."""
    return utterance.speaker == "person" and not typed_in(quote, utterance.text)


def _quoted(quote: str, text: str) -> str:
    """Return `quote` as far as it stands in `text`, without a label of the line that was copied along."""
    if quoted_in(quote, text):
        return quote
    at = quote.find(": ", 0, _LABEL_CHARS)
    rest = quote[at + 2 :] if at >= 0 else ""
    return rest if rest and quoted_in(rest, text) else ""


def _spoken(line: Utterance, *, only_pasted: bool) -> Iterator[Line]:
    """Yield what an utterance gives a text to rest on.

    What a person pasted and speaks about is theirs to act on; where nothing but the paste speaks, it is not.
    """
    by_person = line.speaker == "person"
    if by_person and only_pasted:
        yield Line(typed(line.text), local(line.at), by_person=True)
    yield Line(_shown(line), local(line.at), by_person=by_person and not only_pasted)


def _shown(line: Utterance) -> str:
    """Return what was said, and the files that stand behind it in brackets."""
    return "\n".join((line.text, *paths_shown(line)))


def quoted_only(verdict: Verdict) -> Verdict:
    """Return `verdict` without the cases that say what stands in none of their lines: nobody reads on."""
    kept = [case for case in verdict.cases if not case.missing.nowhere]
    for case in verdict.cases:
        if case.missing.nowhere:
            missing = "”, “".join(case.missing.nowhere)
            verdict.rejected.append(Rejected(case.item.name, f"“{missing}” {NOWHERE}"))
    return replace(verdict, cases=kept)


def too_weak(item: Screened) -> Rejected | None:
    """Return why words that only the assistant said may not make `item`, or None when they may."""
    if item.origin != "assistant-inferred":
        return None
    if item.type in HUMAN_ONLY:
        if any(source.speaker == "pasted" for source in item.sources):
            return Rejected(item.name, ONLY_PASTED, True, item)
        return Rejected(item.name, "only the assistant said it; a person's line is needed")
    if item.confidence < LEAST_INFERRED:
        return Rejected(item.name, "only the assistant said it, and not surely", True, item)
    return None


@dataclass(frozen=True, slots=True)
class Look:
    """A candidate as the checks see it: as it came, as it would be kept, and what it is held against."""

    candidate: Candidate
    item: Screened
    sources: tuple[Evidence, ...]
    screen: Screen
    number: int = 0
    earlier: Collection[str] = ()


def _too_many(look: Look) -> str:
    limit = look.screen.limit
    return f"over the limit of {limit} memories from one reply" if look.number >= limit else ""


def _unknown_type(look: Look) -> str:
    return "" if look.item.type in TYPES else f"unknown type {look.candidate.type[:40]!r}"


def _empty(look: Look) -> str:
    item = look.item
    stated = item.statement or (item.update_of and (item.replaces or item.why or item.how_to_apply))
    return "" if stated else "empty statement"


def _too_long(look: Look) -> str:
    candidate = look.candidate
    changed = (text for _, text in look.item.replaces)
    longest = max(map(len, (candidate.statement, candidate.why, candidate.how_to_apply, *changed)))
    return "too long for one fact" if longest > MAX_PART else ""


def _unquoted(look: Look) -> str:
    return "" if look.sources else "no quote is found in the line it cites"


def _nothing_new(look: Look) -> str:
    rendering = look.screen.rendering
    known = (cited for cited in look.candidate.evidence if cited.line in rendering.lines)
    fresh = (cited for cited in known if rendering.is_new(cited.line))
    found = any(_quoted(cited.quote, rendering.lines[cited.line].text) for cited in fresh)
    return "" if found else "cites nothing new"


def _forgotten(look: Look) -> str:
    return look.screen.buried({look.candidate.update_of.strip(), look.item.name}, look.sources)


def _said_twice(look: Look) -> str:
    return "says the same as another of this reply" if _content(look.item) in look.earlier else ""


def _content(item: Screened) -> str:
    return f"{item.replaces} {folded(item.statement)}"


def _barred(look: Look) -> str:
    return forbidden(_words(look.candidate))


def _words(candidate: Candidate) -> str:
    """Return all that a candidate would put into a memory, under each other."""
    parts = (
        candidate.name,
        candidate.statement,
        candidate.why,
        candidate.how_to_apply,
        *(change.text for change in candidate.replaces),
        *candidate.tags,
        *candidate.anchors,
    )
    return "\n".join(parts)


class Check(NamedTuple):
    """One check: its name, and what gives the reason against a candidate, or nothing."""

    name: str
    find: Callable[[Look], str | Rejected | None]


CHECKS: tuple[Check, ...] = (
    Check("number", _too_many),
    Check("type", _unknown_type),
    Check("empty", _empty),
    Check(LENGTH, _too_long),
    Check("quote", _unquoted),
    Check("new", _nothing_new),
    Check("barred", _barred),
    Check("forgotten", _forgotten),
    Check("weak", lambda look: too_weak(look.item)),
    Check("twice", _said_twice),
)
"""Every check of a candidate, in their order: the first that finds something decides."""


def label(name: str) -> str:
    """Return `name` as it may be reported: as the model gave it, or in plain letters if that is barred."""
    line = one_line(name, 200)
    return slugify(visible(line)) if line and bar(line) else line


def _sound(withdrawal: Withdrawal) -> Withdrawal:
    """Return `withdrawal` with a name and a reason that may be written."""
    reason = NO_REASON if bar(withdrawal.reason) else one_line(withdrawal.reason, MAX_DESCRIPTION)
    return withdrawal.model_copy(update={"name": label(withdrawal.name), "reason": reason})


def _stating(found: Sequence[tuple[int, Evidence]]) -> list[Evidence]:
    """Return the sources that bear the statement itself, whose words carry the fact."""
    return [source for _, source in found if source.bears == ("statement",)]


def _origin(sources: Sequence[Evidence], rendering: Rendering) -> Origin:
    """Say who stands behind a fact: a person's own words, a person's yes to the assistant's, or neither."""
    people = [source for source in sources if source.speaker == "person"]
    if not people:
        return "assistant-inferred"
    spoken: dict[str, Utterance] = {utterance.uuid: utterance for utterance in rendering.lines.values()}
    # A person who only said “yes, do that” confirmed what the assistant, or a paste, had put into words.
    short = all(len(typed(spoken[source.uuid].text).strip()) <= 40 for source in people)
    return "user-confirmed" if short and len(people) < len(sources) else "user-stated"
