"""A value recognised once is known again, in whatever form it stands; ordinary words are not."""

import pytest

from pipeline.safety.recognised import Recognised
from pipeline.safety.redaction import redact

SALT = b"s" * 32


def knowing(*values: str) -> Recognised:
    known = Recognised(SALT)
    assert all(known.learn(value) for value in values)
    return known


@pytest.mark.parametrize(
    ("value", "text", "masked"),
    [
        ("hunter2!", "비밀번호는 hunter2!", "비밀번호는 [redacted:known]!"),
        ("Sommer2026", "again sommer2026, and SOMMER2026.", "again [redacted:known], and [redacted:known]."),
        ("rocket-Cobalt50", "wifi-password-rocket-cobalt50-here", "wifi-password-[redacted:known]-here"),
        ("rocket-Cobalt50", "http://bob:rocket-Cobalt50@h/x", "http://bob:[redacted:known]@h/x"),
        ("Tanuki96x", "それはTanuki96xです", "それは[redacted:known]です"),
        ("4366 5457 0849 8021", "paid by 4366545708498021", "paid by [redacted:known]"),
        ("4366545708498021", "paid by 4366545708498021.", "paid by [redacted:known]."),
        ("badger falcon rocket monkey", "it is badger-falcon rocket monkey", "it is [redacted:known]"),
        ("Матрёшка10!", "пароль Матрёшка10!", "пароль [redacted:known]!"),
    ],
)
def test_a_known_value_goes_wherever_it_stands(value: str, text: str, masked: str) -> None:
    known = knowing(value)
    assert known.mask(text) == masked
    assert known.mask(masked) == masked


@pytest.mark.parametrize(
    "value", ["admin", "test", "swordfish", "web01", "server01", "7702", "339805", "a1", "changeme"]
)
def test_what_would_mask_ordinary_words_is_not_kept(value: str) -> None:
    known = Recognised(SALT)
    assert known.learn(value) == [] and len(known) == 0


@pytest.mark.parametrize(
    "text", ["hunter23 and xhunter2", "hunter 2", "the cobalt rocket", "Sommer 2026", "sommer20261"]
)
def test_what_is_only_like_it_stays(text: str) -> None:
    assert knowing("hunter2!", "rocket-Cobalt50", "Sommer2026").mask(text) == text


def test_what_is_kept_tells_nothing_without_the_salt() -> None:
    (fingerprint,) = Recognised(SALT).learn("rocket-Cobalt50")
    (other,) = Recognised(b"t" * 32).learn("rocket-Cobalt50")
    assert fingerprint.digest != other.digest
    assert Recognised(SALT, [fingerprint]).learn("Rocket_cobalt50") == []
    assert Recognised(SALT, [fingerprint]).mask("x rocket-Cobalt50") == "x [redacted:known]"


def test_a_value_found_across_breaks_is_known_without_them() -> None:
    value, piece = redact('password = "correct-" + "horse2024"').values
    assert piece == "horse2024"
    assert knowing(value).mask("so correct-horse2024 it is") == "so [redacted:known] it is"


def test_a_value_is_in_no_picture_of_what_was_found() -> None:
    assert "swordfish" not in repr(redact("password = swordfish-22"))


@pytest.mark.parametrize("value", ["2024", "4471", "339805", "19840316", "48291374", "61930275"])
@pytest.mark.parametrize("quoted", ["{}", '"{}"', "`{}`", "„{}“"])
def test_a_short_number_is_masked_where_it_is_told_and_nowhere_else(value: str, quoted: str) -> None:
    told = redact(f"the PIN is {quoted.format(value)}")
    assert value not in told.text and told.values == (value,)
    known = Recognised(SALT)
    assert known.learn(value) == []
    for text in (
        f"In {value} it began.",
        f"order {value}, line {value}",
        f"took {value} ms",
        f"/a/{value}.log",
    ):
        assert known.mask(text) == text


@pytest.mark.parametrize("value", ["482913740056", "4829-1374-0056"])
def test_a_long_number_is_known_again(value: str) -> None:
    assert knowing(value).mask(f"so {value} it is") == "so [redacted:known] it is"


@pytest.mark.parametrize("marks", ['""', "''", "``", "„“", "«»", "「」", "“”"])
def test_a_quoted_value_is_known_without_its_quotes(marks: str) -> None:
    told = redact(f"the password is {marks[0]}Sommer-2026x{marks[1]}")
    assert told.values == ("Sommer-2026x",)
    known = knowing(*told.values)
    assert known.mask("sommer-2026x again") == "[redacted:known] again"
    assert known.mask(f"{marks[0]}Sommer-2026x{marks[1]}") == f"{marks[0]}[redacted:known]{marks[1]}"


@pytest.mark.parametrize(
    "value", ["admin:Marble1995!", "base64:Marble1995!", "token=Marble1995!", "Marble1995!:fx"]
)
def test_a_value_found_with_its_name_is_known_without_it(value: str) -> None:
    assert knowing(value).mask("so Marble1995 it is") == "so [redacted:known] it is"


def test_each_line_of_a_key_is_known_alone() -> None:
    lines = ("MHcCAQEEIPnOi5kGs0b/dr0bLvRgQV70Tas", "ItuksU8DZB1b9ksuoAoGCCqGSM49AwEHoUQD")
    for sign in ("\n", "\\n"):
        key = sign.join(("-----BEGIN EC PRIVATE KEY-----", *lines, "-----END EC PRIVATE KEY-----"))
        known = knowing(*redact(f"see {key} there").values)
        for line in lines:
            assert known.mask(f"so {line} it is") == "so [redacted:known] it is"
        assert known.mask("a BEGIN EC PRIVATE KEY line") == "a BEGIN EC PRIVATE KEY line"


def test_a_value_without_its_beginning_is_known() -> None:
    known = knowing("base64:nXyhghIdKBQRpApyaRFQSzmMbx", "0x" + "9515df12defe0260" * 4)
    for value in ("nXyhghIdKBQRpApyaRFQSzmMbx", "9515df12defe0260" * 4):
        assert known.mask(f"so {value} it is") == "so [redacted:known] it is"


@pytest.mark.parametrize("before", ["seed words: ", "seed words\n", "secret seed: ", ""])
def test_a_seed_phrase_is_known_without_the_words_before_it(before: str) -> None:
    words = "garbage initial appear trust left bicycle ecology dial document story segment figure"
    known = knowing(*redact(before + words).values)
    assert known.mask(f"it is {words} then") == "it is [redacted:known] then"
    assert known.mask("it is " + words.replace(" ", ", ") + " then") == "it is [redacted:known] then"
