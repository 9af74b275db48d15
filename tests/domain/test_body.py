"""A body taken apart and put together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.body import LABEL, Body

plain = st.text(st.characters(blacklist_characters="\r*", codec="utf-8"), max_size=60).map(str.strip)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("Use tabs.\n", Body("Use tabs.")),
        ("Use tabs.\n\n**Why:** the printer\n", Body("Use tabs.", "the printer")),
        ("Use tabs.\n**Why:** a  **How to apply:** b", Body("Use tabs.", "a", "b")),
        ("Use tabs.\n**how to apply:** b", Body("Use tabs.", "", "b")),
        ("Use tabs. **Why:** a\n\n**Why:** b", Body("Use tabs.", "a\n\nb")),
        ("**Why:** a", Body("", "a")),
        ("", Body("")),
    ],
)
def test_a_body_is_taken_apart_at_its_labels(text: str, body: Body) -> None:
    assert Body.parse(text) == body


@given(plain, plain, plain)
def test_what_was_rendered_comes_back(statement: str, why: str, how: str) -> None:
    body = Body(statement, why, how)
    assert not LABEL.search(statement)
    assert Body.parse(body.render()) == body


def test_only_what_is_there_is_rendered() -> None:
    assert Body(" a ", "", "c").render() == "a\n\n**How to apply:** c\n"
    assert Body("").render() == ""
