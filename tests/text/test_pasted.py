"""Which lines of a message were pasted: a table of messages, and what the rule makes of each line.

`python -m bench.pasted` prints both error rates and each line that is judged wrongly.
"""

import pytest

from pipeline.text.pasted import MARK, marked, pasted_lines, typed
from tests.support.pasted_cases import messages, wrong


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


@pytest.mark.parametrize(
    "line", ["> " * 5000, "`" * 20000, "a " * 50000, '"' * 20000, "[" * 20000, " " * 50000]
)
def test_endless_lines_are_judged_in_time_that_grows_with_their_length(line: str) -> None:
    assert len(pasted_lines(f"{line}\n{line}\nx")) == 3
