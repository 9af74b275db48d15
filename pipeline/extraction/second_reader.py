"""The second reader: sees each candidate beside its few lines alone, and says whether they bear it out.

    borne out, and nothing against it    live
    stretched                            live in the narrower words it gives, or dropped
    not said, somebody else's, passing   dropped with its reason
    said by another of this reply too    dropped: that one says it
    a permission                         dropped
    an instruction                       dropped where the word list agrees, or where no person's words
                                         bear it out; else the inbox
    what the word list alone doubts      the inbox, by the door
    no clear answer                      the inbox

What it says can only take away: an origin gets weaker, never stronger, narrower words are a candidate like
the first, and what `verify.floor` misses stays missed. Its reply is kept before it is acted on, so a crash
asks nothing twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pipeline.context import PhaseContext
from pipeline.core import faults
from pipeline.core.errors import InvalidReplyError, RefusedError, TooLongError, TruncatedError
from pipeline.domain.memory import Memory, Origin
from pipeline.domain.sentences import folded, sentences
from pipeline.extraction.checkpoint import Answer, Checkpoint, without_secrets
from pipeline.extraction.known_memories import Known, nearest
from pipeline.extraction.schema import Candidate, Narrower, Opinion, TakenBack, Verification
from pipeline.extraction.screen import (
    NOWHERE,
    SAID_LATER,
    Case,
    Rejected,
    Screen,
    Verdict,
    Withdrawn,
    quoted_only,
    too_weak,
)
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.second_page import LEGEND, Page, row
from pipeline.llm import Message, Reply, Request
from pipeline.llm.prompts import load
from pipeline.safety.invisible import visible_line
from pipeline.safety.markup import without_tags
from pipeline.text.slugs import slugify
from pipeline.text.specifics import specifics
from pipeline.verify.barred import bar
from pipeline.verify.cover import misses
from pipeline.verify.provenance import said_at, weakest_origin

NEAREST = 3
UNCLEAR = "the second reader gave no clear answer"
PASSING_PART = "a part of it holds for the moment only"
STAYS = "still holds by its lines, yet it would go"
LEAVES = "holds no longer by its lines, yet it would stay"
_NO_ANSWER = (InvalidReplyError, RefusedError, TooLongError, TruncatedError)
"""Asked again it would be no better: what it was about waits for a person."""
Said = TypeVar("Said", Opinion, TakenBack)
_VERDICTS = frozenset({"borne_out", "stretched", "not_said"})
_ORIGINS: dict[str, Origin] = {
    "person": "user-stated",
    "confirmed": "user-confirmed",
    "assistant": "assistant-inferred",
}


@dataclass(frozen=True, slots=True)
class _Stretched:
    """A case that says too much, and how; `kind` is the same without what is particular to the case.

    `narrower` is what the reader would say instead; without it `to_inbox` lets a person decide.
    """

    case: Case
    how: str
    narrower: Narrower | None = None
    to_inbox: bool = False
    kind: str = "stretched"


_Ruling = Case | Rejected | _Stretched | Memory


def ask(phase: PhaseContext, items: Sequence[str]) -> Reply[Verification] | None:
    """Return what the second reader says of `items`, as a page has them; None without a clear answer.

    Raises ModelError or SpendError where nothing was answered.
    """
    assert phase.client is not None, "whoever asks has looked"
    settings = phase.settings.model
    request = Request(
        purpose="extract.verify",
        model=settings.model,
        system=load("extract.verify").render(),
        messages=(Message("user", without_tags("\n".join(items), ())),),
        max_tokens=settings.max_output_tokens,
    )
    try:
        return phase.client.complete(request, Verification)
    except _NO_ANSWER:
        return None


class SecondReader:
    """Reads what the first reply proposes once more. Raises ModelError or SpendError with nothing done."""

    def __init__(self, phase: PhaseContext, screen: Screen, answer: Answer, checkpoint: Checkpoint) -> None:
        self._phase = phase
        self._screen = screen
        self._answer = answer
        self._checkpoint = checkpoint

    def read(self, verdict: Verdict) -> Verdict:
        """Return what of a screened reply may be written; what rules quoted is read by nobody."""
        if self._answer.by_rules:
            verdict = quoted_only(verdict)
        settled = Verdict(rejected=verdict.rejected)
        near = self._nearest(verdict.cases)
        cases = []
        for case in verdict.cases:
            same = _says_already(case, near[case.id])
            if same is None:
                cases.append(case)
            else:
                settled.known.append(same)
        if self._answer.by_rules:
            settled.cases, settled.withdrawals = cases, verdict.withdrawals
            return settled
        answered = self._verify(cases, near, verdict.withdrawals)
        self._settle(settled, cases, answered, near)
        settled.withdrawals = _taken_back(verdict.withdrawals, answered, settled)
        return settled

    # -- the question ----------------------------------------------------------------------------------

    def _verify(
        self, cases: Sequence[Case], near: Mapping[str, Sequence[Known]], withdrawals: Sequence[Withdrawn]
    ) -> Verification:
        """Return the reply about `cases` and `withdrawals`; asked for once in a run."""
        if not cases and not withdrawals:
            return Verification()
        kept = self._checkpoint.kept("verified")
        if kept is not None:
            return Verification.model_validate(kept)
        if self._phase.client is None:
            return Verification()
        page = Page(self._screen)
        items = [page.item(case, near[case.id]) for case in cases]
        items += [self._withdrawal(page, withdrawn) for withdrawn in withdrawals]
        items[:0] = [f"{LEGEND}\n"] if page.has_pasted else []
        answered = ask(self._phase, items)
        if answered is None:
            reply = Verification()
        else:
            self._checkpoint.dollars += answered.dollars
            reply = without_secrets(answered.value)
        faults.reach("extract.verified")
        self._checkpoint.keep("verified", reply.model_dump(), now=self._phase.clock.now())
        faults.reach("extract.verified_kept")
        return reply

    # -- what it says ---------------------------------------------------------------------------------

    def _settle(
        self,
        settled: Verdict,
        cases: Sequence[Case],
        answered: Verification,
        near: Mapping[str, Sequence[Known]],
    ) -> None:
        """Put each of `cases` where its opinion puts it in `settled`."""
        opinions = _once_each(answered.items)
        for case in cases:
            ruling = _ruled(case, opinions.get(case.id), near[case.id])
            if isinstance(ruling, _Stretched):
                settled.sent_back.append(ruling.kind)
                ruling = self._narrowed(ruling, opinions[case.id])
                if isinstance(ruling, Case):
                    # As it was first worded, it was asked before the question.
                    ruling = _says_already(ruling, near[case.id]) or ruling
            elif isinstance(ruling, Case):
                ruling = self._heard(ruling, opinions[case.id])
            if isinstance(ruling, Case):
                settled.cases.append(ruling)
            elif isinstance(ruling, Memory):
                settled.known.append(ruling)
            else:
                settled.rejected.append(ruling)
        _said_by_another(settled, opinions)

    def _narrowed(self, stretched: _Stretched, opinion: Opinion) -> Case | Rejected:
        """Return a case in the narrower words that were given for it, or why there is none."""
        case = stretched.case
        first = self._answer.reply.memories[int(case.id[1:]) - 1]
        narrower = stretched.narrower
        if narrower is None and stretched.kind == STAYS:
            narrower = _keeping(first, case, opinion)
        dropped = Rejected(case.item.name, f"stretched: {stretched.how}", stretched.to_inbox, case.item)
        if narrower is None:
            return dropped
        candidate = _in_words(first, narrower, case)
        if not (candidate.statement.strip() or candidate.why.strip() or candidate.replaces):
            return dropped
        result = self._screen.examine(case.id, candidate)
        if isinstance(result, Rejected):
            return result
        if result.missing.nowhere or _contradicted(result, opinion):
            return dropped
        return self._heard(result, opinion)

    def _heard(self, case: Case, opinion: Opinion) -> Case | Rejected:
        """Return a case with the origin that the reader hears and a name that fits, or why it is too weak."""
        item, old, heard = case.item, case.old, _ORIGINS[opinion.words]
        if weakest_origin([item.origin, heard]) == heard:
            item = replace(item, origin=heard)
        if old is None:
            return too_weak(item) or replace(case, item=item)
        later = said_at(old)
        if item.said_at is not None and later is not None and item.said_at < later:
            # What was said earlier may add to a memory, but not say what it is called.
            item, name = replace(item, name=old.name, title="", description=""), ""
        else:
            name = self._better_name(opinion.name, item, old)
        return too_weak(item) or replace(case, item=replace(item, name=name or item.name), renamed=bool(name))

    def _better_name(self, given: str, item: Screened, old: Memory) -> str:
        """Return `given` as a name, or "" where something speaks against it: no screen has seen it."""
        words = " ".join(given.replace("-", " ").replace("_", " ").split())
        name = slugify(words)
        texts = (
            item.name,
            item.description,
            item.body,
            *(new for _, new in item.replaces),
            old.name,
            old.body,
        )
        known = folded(" ".join((*texts, *item.tags, *item.cues)))
        digits = [part for part in words.split() if not part.isalpha()]
        unknown = [part for part in digits if folded(part) not in known]
        if not words or bar(words) or unknown or name.startswith("memory-"):
            return ""
        return "" if self._screen.buried({name}, item.sources) else name

    def _nearest(self, cases: Sequence[Case]) -> dict[str, list[Known]]:
        texts = [f"{case.item.description}\n{case.item.body}" for case in cases]
        found = nearest(self._phase, texts, limit=NEAREST) if cases else []
        return {case.id: known[:NEAREST] for case, known in zip(cases, found, strict=True)}

    def _withdrawal(self, page: Page, withdrawn: Withdrawn) -> str:
        name = withdrawn.withdrawal.name
        scope = "; provisional" if name in self._answer.provisional else ""
        target = self._phase.store.scan().by_name(name)
        rows = [
            row("memory", target.memory.body if target else ""),
            *page.lines(withdrawn.cited, withdrawn.sources),
        ]
        return "\n".join([f"## {withdrawn.id} (withdrawal of {visible_line(name)}{scope})", *rows]) + "\n"


def heard_as(case: Case, answered: Verification, near: Sequence[Known]) -> Origin | Rejected:
    """Return whose word a case is that nobody may reword, or why no person's words bear it out."""
    opinion = _once_each(answered.items).get(case.id)
    # That another memory says it too is no matter here.
    alone = opinion and opinion.model_copy(update={"known": ""})
    ruling = _ruled(case, alone, near)
    if isinstance(ruling, _Stretched):
        return Rejected(case.item.name, f"stretched: {ruling.how}")
    if isinstance(ruling, Rejected) or opinion is None or isinstance(ruling, Memory):
        return ruling if isinstance(ruling, Rejected) else Rejected(case.item.name, UNCLEAR, True)
    heard = _ORIGINS[opinion.words]
    if heard == "assistant-inferred":
        return Rejected(case.item.name, "its words are the assistant's")
    return heard if weakest_origin([case.item.origin, heard]) == heard else case.item.origin


def _ruled(case: Case, opinion: Opinion | None, near: Sequence[Known]) -> _Ruling:
    """Return what becomes of a case: live, known already, stretched, or not taken."""
    item = case.item
    if opinion is None or opinion.verdict not in _VERDICTS or opinion.words not in (*_ORIGINS, "third_party"):
        return Rejected(item.name, UNCLEAR, True, item)
    against = _against(case, opinion, near)
    if against is not None:
        return against
    for known in near:
        if opinion.known.strip() == known.memory.name and not item.replaces:
            return known.memory
    narrower = opinion.narrower[0] if opinion.narrower else None
    if case.missing.nowhere:
        missing = "”, “".join(case.missing.nowhere)
        return _Stretched(case, f"“{missing}” {NOWHERE}", narrower, kind=NOWHERE)
    if opinion.verdict == "stretched":
        how = " ".join(opinion.how.split())[:300] or "it says more than its lines"
        return _Stretched(case, how, narrower)
    if _plain(opinion.lasts) == "part" and narrower is not None:
        return _Stretched(case, PASSING_PART, narrower, kind=PASSING_PART)
    contradicted = _contradicted(case, opinion)
    return replace(contradicted, narrower=narrower) if contradicted else case


def _said_by_another(settled: Verdict, opinions: Mapping[str, Opinion]) -> None:
    """Drop the new cases that another new one says as well, with every number and name in them."""
    new = {case.id: case for case in settled.cases if case.old is None}
    for case in list(new.values()):
        other = new.get(opinions[case.id].within.strip())
        # One that is dropped itself, or was narrowed, may no longer tell it.
        if other is None or opinions[other.id].within.strip() or opinions[other.id].narrower:
            continue
        whole = f"{other.item.description}\n{other.item.body}"
        body = case.item.body
        named = specifics(body) <= specifics(whole) and _capitals(body) <= _words(whole)
        if named and not misses(body, whole):
            settled.cases.remove(case)
            settled.rejected.append(Rejected(case.item.name, f"“{other.item.name}” says it too"))


def _capitals(text: str) -> set[str]:
    """Return the words with a capital letter, in lower case: in some languages only they can be names."""
    return {word.lower() for word in re.findall(r"\w+", text) if word[0].isupper()}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _plain(word: str) -> str:
    return word.strip(" .,;:!").lower()


def _against(case: Case, opinion: Opinion, near: Sequence[Known]) -> Rejected | None:
    """Return why a case may not go live whatever it says, or None."""
    item = case.item
    flags = {flag.strip().lower() for given in opinion.flags for flag in given.split(",")}
    foreign = [opinion.words == "third_party", "third_party" in flags]
    later = any(
        item.said_at is not None and (moment := said_at(known.memory)) is not None and moment > item.said_at
        for known in near
    )
    own = opinion.verdict == "borne_out" and opinion.words == "person"
    # An order may be a wish about work, so that it takes two to drop a person's: this reader and the list.
    alone = own and not case.doubt
    found: tuple[tuple[bool, str, bool], ...] = (
        ("permission" in flags, "it reads like a permission", False),
        ("instruction" in flags, "it reads like an instruction to a model", alone),
        (opinion.verdict == "not_said", "its lines do not say it", False),
        (any(foreign), "the words are somebody else's", not all(foreign) and own),
        (_plain(opinion.lasts) == "no", "it holds for the moment only", False),
        ("overtaken" in flags, SAID_LATER, not later),
    )
    for applies, reason, to_inbox in found:
        if applies:
            return Rejected(item.name, reason, to_inbox, item)
    return None


def _changes(case: Case) -> dict[int, str]:
    """Return what takes the place of each old sentence that an update replaces, by its number."""
    changed = dict(case.item.replaces)
    old = enumerate(sentences(case.old.body), start=1) if case.old else ()
    return {number: changed[sentence.text] for number, sentence in old if sentence.text in changed}


def _contradicted(case: Case, opinion: Opinion) -> _Stretched | None:
    """Return what is wrong with the sentences that an update replaces, or with those it leaves."""
    if case.old is None:
        return None
    changed = _changes(case)
    for number, sentence in enumerate(sentences(case.old.body), start=1):
        if (number in changed) != (number in opinion.gone):
            how = STAYS if number in changed else LEAVES
            return _Stretched(case, f"“{sentence.text[:150]}” {how}", to_inbox=True, kind=how)
    return None


def _keeping(first: Candidate, case: Case, opinion: Opinion) -> Narrower | None:
    """Return an update without the replacements of sentences that still hold; their new text is added.

    A sentence goes by two keys: where the readers differ it stays. None where they don't.
    """
    kept = {number: text for number, text in _changes(case).items() if number not in opinion.gone}
    if not kept:
        return None
    return Narrower(
        name=first.name,
        statement=" ".join(text for text in (first.statement, *kept.values()) if text),
        why=first.why,
        how_to_apply=first.how_to_apply,
        replaces=[change for change in first.replaces if change.number not in kept],
    )


def _taken_back(
    withdrawals: Sequence[Withdrawn], answered: Verification, settled: Verdict
) -> list[Withdrawn]:
    opinions = {name: opinion.taken_back for name, opinion in _once_each(answered.withdrawals).items()}
    found = []
    for withdrawn in withdrawals:
        match opinions.get(withdrawn.id, ""):
            case "yes":
                found.append(withdrawn)
            case "no":
                reason = "its lines do not take it back"
                settled.rejected.append(Rejected(withdrawn.withdrawal.name, reason))
            case _:
                found.append(replace(withdrawn, doubt=UNCLEAR))
    return found


def _says_already(case: Case, near: Sequence[Known]) -> Memory | None:
    """Return a memory in which every sentence of the case stands already, but for case and punctuation."""
    if case.item.replaces:
        return None
    for known in near:
        theirs = {sentence.folded for sentence in sentences(known.memory.body)}
        if case.item.folded_sentences <= theirs and (case.old is None or known.memory.name == case.old.name):
            return known.memory
    return None


def _once_each(opinions: Sequence[Said]) -> dict[str, Said]:
    """Return `opinions` by id, without those that contradict each other: two about one item are none."""
    counts = Counter(opinion.id for opinion in opinions)
    return {opinion.id: opinion for opinion in opinions if counts[opinion.id] == 1}


def _in_words(first: Candidate, narrower: Narrower, case: Case) -> Candidate:
    """Return `first` in narrower words; what it is called and what it points to follows them.

    Of an update no sentence goes that the first reader left: that takes both.
    """
    values = narrower.model_dump()
    named = {change.number for change in first.replaces}
    if case.old is not None:
        values["replaces"] = [change for change in values["replaces"] if change["number"] in named]
    texts = folded(f"{narrower.statement} {narrower.why}")
    values["anchors"] = [anchor for anchor in first.anchors if folded(anchor) in texts]
    if not values["name"].strip():
        del values["name"]
    return Candidate.model_validate({**first.model_dump(), **values})
