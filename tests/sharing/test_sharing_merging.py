"""Revisions of several machines that meet: the same text for all who have the same, and nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Sequence
from difflib import SequenceMatcher

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import InputError
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import sentences
from pipeline.sharing import wording
from pipeline.sharing.meaning import Question, State
from pipeline.sharing.merging import state_of
from pipeline.sharing.revisions import Revision, after, read_record
from pipeline.sharing.wording import body_of, row_of, woven
from pipeline.store.files import document
from tests.support.stores import memory

WORDS = (
    "Deploys run on Tuesdays.",
    "The gateway bans us at five retries",
    "- Log each retry.",
    "1. Push the image.",
    "**Why:** The old one leaked.",
    "**How to apply:** Ask before a release.",
    "**Also:** Keep the cache for a day.",
    "```\nmake deploy\n```",
    "# Notes",
    "Use port 8025.",
    "端口是8025。",
    "> quoted words",
)
BODIES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6, unique=True).map(
    lambda lines: "\n".join(lines) + "\n"
)


class Clone:
    """A machine: what it knows of the others, its own text, and a clock that may be hours off."""

    def __init__(self, number: int, skew: int) -> None:
        self.machine = f"{number:x}"
        self.skew = skew
        self.known: dict[str, Revision] = {}

    def state(self) -> State:
        return state_of(self.known.values())

    def write(self, file: bytes | None, now: int, *, forgotten: bool = False, **more: str) -> Revision:
        heads = self.state().heads if self.known else ()
        seen = max((item.clock for item in self.known.values()), default=(0, 0))
        made = Revision(
            memory="0a1b2c3d",
            parents=heads,
            machine=self.machine,
            clock=after(seen, now + self.skew),
            at="",
            path=more.get("path", "deploys.md"),
            file=None if file is None else file.decode(),
            forgotten=forgotten,
        )
        self.known[made.name] = made
        return made

    def meet(self, other: Clone) -> None:
        self.known, other.known = ({**self.known, **other.known} for _ in range(2))


def file_of(body: str, **values: object) -> bytes:
    told = {"description": "How deploys go.", "id": "0a1b2c3d", **values}
    return document.compose(memory("deploys", body=body, path="deploys.md", **told))


def text_of(state: State) -> Memory:
    assert state.file is not None
    return document.parse(state.file, state.path)


def words_in(body: str) -> set[str]:
    return {sentence.folded for sentence in sentences(body)}


def pair(base: str, left: str | None, right: str | None, *, forgotten: bool = False) -> State:
    """The state where `left` and `right` were made of `base` on two machines; None: it left there."""
    one, two = Clone(1, 0), Clone(2, 7_200_000)
    one.write(file_of(base), 1)
    one.meet(two)
    one.write(None if left is None else file_of(left), 2, forgotten=forgotten)
    two.write(None if right is None else file_of(right), 3)
    one.meet(two)
    assert one.state() == two.state()
    return one.state()


def test_changes_of_two_sentences_both_hold():
    found = pair("One. Two. Three.\n", "One more. Two. Three.\n", "One. Two. Three more.\n")
    assert text_of(found).body == "One more. Two. Three more.\n"
    assert found.questions == ()


@pytest.mark.parametrize(
    ("base", "left", "right", "whole"),
    [
        ("One.", "One more.", "One. And two.", "One more. And two."),
        ("One.", "One more. Really.", "One. And two.", "One more. Really. And two."),
        ("Zero. One.", "Zero. One more.", "Zero. One. And two.", "Zero. One more. And two."),
        ("One. Three.", "One more. Three.", "One. Two. Three.", "One more. Two. Three."),
        ("One. Three.", "One more. Three.", "Zero. One. Three.", "Zero. One more. Three."),
        ("One. Two.", "One more. Two more.", "One. And. Two. Three.", "One more. And. Two more. Three."),
    ],
)
def test_a_sentence_stands_where_that_stood_which_it_replaces(base, left, right, whole):
    for one, two in ((left, right), (right, left)):
        assert text_of(pair(base, one, two)).body == f"{whole}\n"


def test_what_only_one_side_left_out_goes():
    assert text_of(pair("One. Two.\n", "One.\n", "One. Two. Three.\n")).body == "One. Three.\n"


def test_two_words_for_one_sentence_both_stand_and_are_asked_about():
    found = pair("Port eighty. Two.\n", "Port 8080. Two.\n", "Port 9090. Two.\n")
    assert text_of(found).body == "Port 9090. Port 8080. Two.\n"
    assert found.questions == (Question("Port eighty.", ("Port 9090.",), ("Port 8080.",)),)


def test_what_left_on_one_side_and_changed_on_the_other_stands():
    found = pair("One. Two.\n", "Two.\n", "One more. Two.\n")
    assert text_of(found).body == "One more. Two.\n"
    assert [item.sentence for item in found.questions] == ["One."]


def test_a_memory_that_left_stays_away_unless_it_was_changed():
    assert pair("One.\n", None, "One.\n").file is None
    found = pair("One. Two.\n", None, "One. Two. Three.\n")
    assert text_of(found).body == "One. Two. Three.\n"
    assert found.questions == (Question("", (), ()),)


def test_forgotten_words_go_and_only_new_ones_stand():
    found = pair("One. Two.\n", None, "One. Two. Three.\n", forgotten=True)
    assert text_of(found).body == "Three.\n"
    assert found.questions == (Question("", (), (), forgotten=True),)
    assert pair("One. Two.\n", None, "Two.\n", forgotten=True).file is None


def test_a_label_comes_along_with_the_first_sentence_behind_it():
    found = pair("Do it.\n**Why:** It broke.\n", "Do it.\n", "Do it.\n**Why:** It broke. Twice.\n")
    assert text_of(found).body == "Do it.\n\n**Why:** Twice.\n"


def test_fields_are_taken_each_for_itself_and_sources_stay():
    said = Evidence(session="s", uuid="u", quote="Two.")
    one, two = Clone(1, 0), Clone(2, -7_200_000)
    one.write(file_of("One.\n"), 1)
    one.meet(two)
    one.write(file_of("One.\n", importance=0.9, tags=("a",)), 2)
    two.write(file_of("One. Two.\n", title="Deploys here", tags=("b",), sources=(said,)), 3)
    one.meet(two)
    found = text_of(one.state())
    assert (found.importance, found.title, set(found.tags)) == (0.9, "Deploys here", {"a", "b"})
    assert [source.pointer for source in found.sources] == [said.pointer]


def test_a_guess_does_not_become_a_persons_word():
    one, two = Clone(1, 0), Clone(2, 0)
    one.write(file_of("One.\n"), 1)
    one.meet(two)
    one.write(file_of("One. Two.\n", origin="assistant-inferred"), 2)
    two.write(file_of("One. Three.\n", origin="user-confirmed"), 3)
    one.meet(two)
    assert text_of(one.state()).origin == "assistant-inferred"


def test_two_words_of_one_moment_come_in_one_order():
    one, two = Clone(1, 0), Clone(2, 0)
    one.write(file_of("One.\n"), 1)
    one.meet(two)
    made = one.write(file_of("One more.\n"), 2), two.write(file_of("One less.\n"), 2)
    assert made[0].clock == made[1].clock
    first = next(iter(one.known.values()))
    assert state_of([first, *made]) == state_of([first, *reversed(made)])


def test_a_record_says_what_it_said():
    made = Clone(1, 0).write(file_of("Größe 端口.\n"), 5)
    assert read_record(made.file_name, made.data) == made
    with pytest.raises(InputError, match="its name"):
        read_record(f"revisions/{made.memory}/{'0' * 40}.json", made.data)


@settings(max_examples=50)
@given(BODIES, BODIES, st.randoms(use_true_random=False))
def test_a_body_says_just_the_sentences_of_its_row(left, right, chance):
    rows = row_of(left, 0), row_of(right, 1)
    words = sorted({piece.folded for row in rows for piece in row})
    stays = set(chance.sample(words, chance.randint(0, len(words))))
    row = woven(rows[0], (), rows[1:], stays)
    assert {piece.folded for piece in row} == stays
    assert [sentence.folded for sentence in sentences(body_of(row))] == [piece.folded for piece in row]
    assert "<<<<" not in body_of(row)


def _edited(body: str, chance: random.Random, fresh: str) -> str:
    pieces = list(row_of(body, 0))
    deed = chance.randrange(4)
    at = chance.randrange(len(pieces)) if pieces else 0
    texts = [piece.label + piece.text for piece in pieces]
    if deed == 0 and len(texts) > 1:
        texts.pop(at)
    elif deed == 1 and texts:
        texts[at] = fresh
    else:
        texts.insert(at, fresh)
    return "\n".join(texts) + "\n"


def _history(chance: random.Random, clones: int, steps: int) -> tuple[list[Clone], set[str]]:
    """Machines that write, forget, take away and meet in any order, and every sentence that was said."""
    found = [Clone(number, chance.choice((-7_200_000, 0, 0, 90_000_000))) for number in range(1, clones + 1)]
    said: set[str] = set()
    for step in range(steps):
        one = chance.choice(found)
        if one.known and chance.random() < 0.4:
            one.meet(chance.choice(found))
            continue
        file = one.state().file if one.known else None
        if file is not None and chance.random() < 0.1:
            one.write(None, step, forgotten=chance.random() < 0.4)
            continue
        fresh = f"{chance.choice(WORDS[:4])} Words number {step} here."
        body = _edited(document.parse(file, "deploys.md").body, chance, fresh) if file else f"{fresh}\n"
        said |= words_in(body)
        one.write(file_of(body, importance=chance.random()), step)
    return found, said


@pytest.mark.parametrize("clones", [2, 5])
@settings(max_examples=8)
@given(chance=st.randoms(use_true_random=False))
def test_all_who_know_the_same_say_the_same_and_nothing_is_lost(chance, clones):
    found, said = _history(chance, clones, 18)
    every = [revision for clone in found for revision in clone.known.values()]
    if not every:
        return
    whole = state_of(every)
    shuffled = every * 2
    chance.shuffle(shuffled)
    assert state_of(shuffled) == whole
    for _ in range(3):
        for clone in found:
            clone.meet(chance.choice(found))
    for clone in found[1:]:
        found[0].meet(clone)
    assert found[0].state() == whole
    kept = {folded for revision in every if revision.file for folded in words_of_file(revision.file)}
    assert said <= kept
    if whole.file is not None:
        body = text_of(whole).body
        assert "<<<<" not in body
        assert "====" not in body
    assert not _lost(every, whole)


def words_of_file(file: str) -> set[str]:
    return words_in(document.parse(file.encode(), "deploys.md").body)


def _lost(every: Sequence[Revision], whole: State) -> set[str]:
    """Return sentences of the heads that are not in the text, and that nobody left out who had seen them."""
    known = {revision.name: revision for revision in every}
    heads = [known[name] for name in whole.heads]
    stands = words_in(text_of(whole).body) if whole.file is not None else set()

    def before(revision: Revision) -> list[Revision]:
        waiting, seen = [revision], {}
        while waiting:
            item = waiting.pop()
            if item.name not in seen:
                seen[item.name] = item
                waiting += [known[name] for name in item.parents]
        return list(seen.values())

    seen_by = [(words_of_file(head.file) if head.file else set(), before(head)) for head in heads]
    left_out = {
        folded
        for own, line in seen_by
        for item in line
        for folded in (words_of_file(item.file) if item.file else set())
        if folded not in own
    }
    return {folded for own, _ in seen_by for folded in own} - stands - left_out


@settings(max_examples=8)
@given(chance=st.randoms(use_true_random=False))
def test_a_text_written_over_all_heads_stands_as_it_is(chance):
    clone = _history(chance, 3, 16)[0][0]
    if not clone.known or clone.state().file is None:
        return
    before = clone.state()
    clone.write(before.file, 99)
    after_it = clone.state()
    assert after_it.file == before.file
    assert after_it.questions == ()


@given(st.lists(st.integers(0, 12), unique=True), st.lists(st.integers(0, 12)))
def test_what_changed_is_found_without_a_search_as_with_one(ours, theirs):
    left, right = ([str(number) for number in numbers] for numbers in (ours, theirs))
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    found = [item for item in wording._changed(left, right) if item[0] != "equal"]
    assert found == [item for item in matcher.get_opcodes() if item[0] != "equal"]
