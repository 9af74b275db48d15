"""The corpus of made-up secrets in context and look-alikes, and what breaks a secret in two."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import secrets
from bench.secret_cases import Case, made
from pipeline.safety import unbroken
from pipeline.safety.plausible import stands_for_another
from pipeline.safety.redaction import redact
from pipeline.safety.rule import Rule
from pipeline.safety.vendor_rules import MORE

CASES = made()
SECRET = [case for case in CASES if case.secrets]
HARMLESS = [case for case in CASES if not case.secrets]
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
KEY = "sk-" + "ant-api03-" + "aB3dE5fG7h" * 6


def test_secrets_are_found_and_look_alikes_left_alone() -> None:
    assert len(SECRET) >= 400 and len(HARMLESS) >= 100
    missed = [case.text for case in SECRET if not secrets.right(case)]
    assert len(missed) <= len(SECRET) * 0.03, missed
    taken = [redact(case.text).text for case in HARMLESS if not secrets.right(case)]
    assert len(taken) <= len(HARMLESS) * 0.01, taken


@pytest.mark.parametrize("case", SECRET[:: len(SECRET) // 60], ids=lambda case: case.kind)
def test_redacting_a_case_twice_changes_nothing(case: Case) -> None:
    once = redact(case.text).text
    assert redact(once).text == once


@settings(max_examples=400)
@given(
    st.sampled_from(MORE).flatmap(
        lambda rule: st.tuples(st.just(rule), st.from_regex(rule.pattern, fullmatch=True))
    )
)
def test_a_token_of_each_vendor_is_found(made_up: tuple[Rule, str]) -> None:
    _, token = made_up
    digits = any(char.isdigit() for char in token)
    if not digits or not token.isascii() or stands_for_another(token) or len(set(token)) < 8:
        return  # no program makes such a one
    assert token not in redact(f"it is {token} for now").text


@pytest.mark.parametrize(
    ("before", "broken", "after"),
    [
        ("use ", TOKEN[:9] + "\u200b" + TOKEN[9:], " now"),
        ("use ", TOKEN[:9] + "\u00ad" + TOKEN[9:20] + "\u2060" + TOKEN[20:], " now"),
        ("use ", TOKEN[:9] + "\x1b[0m" + TOKEN[9:20] + "\x1b[1;31m" + TOKEN[20:], " now"),
        ("use ", TOKEN[:9] + "\\\n" + TOKEN[9:], " now"),
        ('key = "', TOKEN[:9] + '" + "' + TOKEN[9:], '"'),
        ("key = '", TOKEN[:9] + "' +\n    '" + TOKEN[9:], "'"),
        ("`", TOKEN[:9] + "`\n`" + TOKEN[9:], "` and more"),
        ("> it wrapped: ", KEY[:30] + "\n> " + KEY[30:], "\n> so it is"),
        ("it wrapped: ", KEY[:30] + "  \n" + KEY[30:50] + "\n" + KEY[50:], "\nso it is"),
        ("mail: ", TOKEN[:9] + "=\n" + TOKEN[9:], " ok"),
        ("page: ", TOKEN[:9] + "<wbr>" + TOKEN[9:20] + "&shy;" + TOKEN[20:], " ok"),
    ],
)
def test_a_broken_secret_goes_whole_and_nothing_beside_it(before: str, broken: str, after: str) -> None:
    assert redact(before + broken + after).text == f"{before}[redacted:token]{after}"


@pytest.mark.parametrize(
    "text",
    [
        f"A={TOKEN}\nB_ID=Ov23li9qb0b6Z6uUvh75",
        f"token: {TOKEN}\nnext: abc123def4567",
        f"first {TOKEN}\nThen the next line goes on.",
    ],
)
def test_the_line_after_a_secret_stays(text: str) -> None:
    assert redact(text).text == text.replace(TOKEN, "[redacted:token]")


@given(
    st.lists(
        st.sampled_from(["ab1", "\u200b", "\x1b[0m", "\\\n", '" + "', " ", "\n", "C3d4e5f6g", "x"]),
        max_size=12,
    )
)
def test_a_view_says_where_its_characters_stand(pieces: list[str]) -> None:
    text = "".join(pieces)
    for view in unbroken.views(text):
        assert all(text[slice(*view.span(at, at + 1))] == char for at, char in enumerate(view.text))


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'{"a": "\u00dcb3rfl13g3r"}', '{"a": "Üb3rfl13g3r"}'),
        (r'{"a": "x\/\u0079"}', '{"a": "x/y"}'),
        (r'{"a": "\\u0079 \\\u0079"}', r'{"a": "\\u0079 \\y"}'),
        (r'{"a": "\" \n \u0022 \u000a \ud83d\ude00"}', r'{"a": "\" \n \u0022 \u000a \ud83d\ude00"}'),
    ],
)
def test_escapes_are_written_out_and_say_the_same(text: str, read: str) -> None:
    assert unbroken.written_out(text) == read
    assert json.loads(read) == json.loads(text)


def test_nothing_gets_through_the_whole_path(tmp_path: Path) -> None:
    cases = [
        case
        for case in SECRET
        if secrets.right(case) and secrets.learnable(case.secrets) == list(case.secrets)
    ]
    assert secrets.leaks(cases[:: len(cases) // 40], tmp_path) == {}
