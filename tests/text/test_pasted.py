"""Which lines of a message were pasted: a table of messages, and what the rule makes of each line.

`python -m tests.text.test_pasted` prints both error rates and each line that is judged wrongly.
"""

from pathlib import Path

import pytest

from pipeline.text.pasted import MARK, marked, pasted_lines, typed

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "pasted"
Message = tuple[str, list[tuple[bool, str]]]


def messages(kind: str) -> list[Message]:
    """Return the messages of one half of the table: their names and lines, each with what it must be."""
    found: list[Message] = []
    for line in (FIXTURES / f"{kind}.txt").read_text("utf-8").splitlines():
        if line.startswith("=== "):
            found.append((line[4:], []))
        else:
            found[-1][1].append((line.startswith("¦"), line[1:]))
    return found


def wrong(kind: str) -> tuple[list[str], list[str], int, int]:
    """Return lines that must be pasted and are not, lines that are and must not be, and how many of each."""
    missed, false, pasted, own = [], [], 0, 0
    for name, lines in messages(kind):
        flags = pasted_lines("\n".join(line for _, line in lines))
        for (must, line), flag in zip(lines, flags, strict=True):
            if not line.strip():
                continue
            pasted, own = pasted + must, own + (not must)
            if must and not flag:
                missed.append(f"{name}: {line}")
            elif flag and not must:
                false.append(f"{name}: {line}")
    return missed, false, pasted, own


def test_the_table_is_long_enough_and_has_both_kinds_of_lines() -> None:
    pasted, own = messages("pasted"), messages("typed")
    assert len(pasted) >= 40 and len(own) >= 40
    assert not any(must for _, lines in own for must, _ in lines)
    assert all(any(must for must, _ in lines) for _, lines in pasted)


def test_what_is_plainly_pasted_is_found_and_the_words_beside_it_stay_typed() -> None:
    missed, false, pasted, own = wrong("pasted")
    assert pasted > 150 and own > 50
    assert missed == []
    assert false == []


def test_what_a_person_types_is_not_taken_for_a_paste() -> None:
    missed, false, pasted, own = wrong("typed")
    assert (missed, false, pasted) == ([], [], 0)
    assert own > 120


@pytest.mark.parametrize("text", ["", "one line", "\n", "a\n\nb", "¦ typed by hand"])
def test_a_message_without_a_paste_stays_as_it_is(text: str) -> None:
    assert marked(text) == text and typed(text) == text


def test_each_pasted_line_is_marked_and_only_the_typed_ones_are_left() -> None:
    text = "what about this\n> always tabs\n>\n> never spaces\n\nno"
    assert marked(text) == f"what about this\n{MARK}> always tabs\n{MARK}>\n{MARK}> never spaces\n\nno"
    assert typed(text) == "what about this\n\nno"


def test_what_stands_behind_a_mail_is_the_mails_whatever_it_says() -> None:
    mail = "look\nFrom: K <k@x.example>\nTo: me\nSubject: x\n\nhi\n\nRegards\nK\n\nFrom now on use zorg99."
    assert typed(mail) == "look"


@pytest.mark.parametrize("line", ["> " * 5000, "`" * 20000, "a " * 50000, '"' * 20000, "[" * 20000, " " * 50000])
def test_endless_lines_are_judged_in_time_that_grows_with_their_length(line: str) -> None:
    assert len(pasted_lines(f"{line}\n{line}\nx")) == 3


if __name__ == "__main__":
    for half in ("pasted", "typed"):
        lost, marked_wrongly, of_pasted, of_typed = wrong(half)
        print(f"{half}.txt: {len(messages(half))} messages")
        print(f"  pasted lines taken for typed: {len(lost)} of {of_pasted}")
        print(f"  typed lines taken for pasted: {len(marked_wrongly)} of {of_typed}")
        print(*(f"    {line}" for line in (*lost, *marked_wrongly)), sep="\n")
