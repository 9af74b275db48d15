"""What is taken out of text and what must stay. All values are made up.

A ``~`` in a made-up value is dropped before use: without it, scanners of this repository would take the
values for real.
"""

import base64
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.safety.detection import HINTS, names
from pipeline.safety.placed_rules import COMMANDS, SIGNED
from pipeline.safety.redaction import has_secret, redact
from pipeline.safety.rule import Rule, lower
from pipeline.safety.secret_rules import KEY_AT, QUOTED, SHAPES
from pipeline.safety.vendor_rules import PREFIXED, VENDORS

# (text around, the value that must go)
SECRETS = [
    ("post to {} today", "https://hooks.slack.~com/workflows/T00000000/A00000000/123456789/madeupmadeup"),
    ("post to {} today", "https://hooks.slack.~com/triggers/E00000000/123456789/madeupmadeup"),
    ("the key is {} for now", "sk-~ant-api03-made-up-0123456789abcdef"),
    ("OPENAI {} .", "sk-~proj-abcdEFGH0123456789"),
    ("old key {} here", "sk-~abcdefghij0123456789ABCD"),
    ("id {} in eu-west-1", "AKI~A0123456789ABCDEF"),
    ("push with {} please", "gh~p_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789"),
    ("fine grained {} ok", "github_~pat_11ABCDEFG0aBcDeFgHiJkL_mNoPqRsT"),
    ("bot {} posts", "xox~b-123456789012-abcdefABCDEF"),
    ("charge with {} now", "sk_~live_abcdefghij0123456789ABCD"),
    ("GitLab {} here", "glp~at-abcdefghij0123456789"),
    ("header {} ends", "ey~JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.made_up-signature"),
    ("maps {} key", "AI~zaSyA0123456789abcdefghijklmnopqrstu"),
    ("post to {} today", "https://hooks.slack.~com/services/T00000000/B00000000/madeupmadeupmadeup"),
    ("mail {} ok", "SG.~abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"),
    ("password = {}", "hunter2-made-up"),
    ("password: {}", "swordfish"),
    ("the password is {}, do not share it", "hunter2-made-up"),
    ("my new password is `{}` since today", "swordfish"),
    ("The api key for staging is {} I think", "k3y-made-up"),
    ("DB_PASS={}", "swordfish"),
    ("export SECRET_KEY='{}'", "django-made-up"),
    ('{{"password": "{}", "user": "bob"}}', "correct horse battery"),
    ('log: "{{\\"token\\": \\"{}\\"}}"', "abc-made-up"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYmadeupkey0"),
    ("client_secret: {}", "9f8e7d6c5b4a"),
    ("**Password:** {}", "Tr0ub4dor&3"),
    ('if ("{}" == password) {{', "hunter2-made-up"),
    ("postgres://bob:{}@db.local/shop", "s3cr3t"),
    ("redis://:{}@cache:6379/0", "s3cr3t"),
    ("git clone https://{}@git.example.org/x.git", "0123456789abcdefghijABCD"),
    ("Authorization: Bearer {}", "made-up-0123456789"),
    ("curl -H 'X-Api-Key: {}' http://x", "made-up-0123"),
    ("sent as Bearer {} yesterday", "abcdef0123456789"),
    ("mysql --password {} shop", "hunter2"),
    ("curl -u bob:{} http://x", "hunter2"),
    ("パスワードは {} です", "hunter22"),
    ("//registry.example.org/:_authToken={}", "np~m_abcdefghijklmnopqrstuvwxyz0123456789"),
    ("AccountName=x;{};y", "AccountKey=" + "a1B2" * 21 + "ab=="),
]

HARMLESS = [
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "commit 89e6c98d92887913cadf06b2adb97f26cde4849b Merge",
    "session 550e8400-e29b-41d4-a716-446655440000 ended",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "data aGVsbG8gd29ybGQgdGhpcyBpcw== end",
    "the password reset page",
    "token budget: 4000",
    "max_tokens: 4000, tokens: 12345678",
    'password = os.environ["X"]',
    "password=os.environ['X'];",
    "password = getpass.getpass()",
    "token = request.headers.get('x')",
    "def login(user: str, password: str, token: str | None = None):",
    "password: string",
    "api_key=settings.api_key, token=token",
    "password=${DB_PASSWORD} token: ${{ secrets.TOKEN }}",
    "Authorization: Bearer $TOKEN",
    "We store the password: it must have 8 characters",
    "token: the one from the vault",
    "the token is base64-encoded and the token is expired",
    "const token = await getToken()",
    "secret = load_secret()",
    "Set the password to something long",
    "primary key: user_id2, foreign key: users.id1",
    "cache key = abc123def456",
    "https://example.com:8080/a@b and ssh://git@github.com:foo/bar",
    "git@github.com:someone/thing.git",
    "bearer of news 12345",
    "tests pass: 12345678, passed: 1234567",
    "risk-averse-people-are-12345678901234567890",
    "fixed in sk-learn",
    'api_key_env = "ANTHROPIC_API_KEY"',
    "List<String> and <b>private</b>",
    "timer 1700000000:da39a3ee5e6b4b0d3255bfef95601890afd80709",
]


SHAPED = (*PREFIXED, *VENDORS)
SHOWN = (*SHAPES, *SIGNED, *COMMANDS, *PREFIXED, *VENDORS, *QUOTED)


def named(rule: Rule) -> str:
    return f"{rule.kind}: {rule.finds}"


@pytest.mark.parametrize("rule", SHOWN, ids=named)
def test_each_rule_finds_its_example_and_no_more_of_it(rule: Rule) -> None:
    before, value, after = re.split("[«»]", rule.finds.replace("~", ""))
    (found,) = re.finditer(rule.pattern, before + value + after)
    (found,) = re.finditer(rule.inner, found[0]) if rule.inner else (found,)
    assert (
        value in [text for name, text in found.groupdict().items() if name.startswith("value")]
        or found[0] == value
    )
    assert any(hint in (before + value + after).lower() for hint in rule.hints)
    result = redact(before + value + after)
    if rule.inner:
        assert value not in result.text and rule.kind in result.kinds
        return
    assert result.text == f"{before}[redacted:{rule.kind}]{after}"
    assert result.kinds == (rule.kind,)


@pytest.mark.parametrize("rule", [rule for rule in SHAPED if "(?P<value>" not in rule.pattern], ids=named)
def test_a_token_is_found_where_no_blank_parts_it_from_words(rule: Rule) -> None:
    _, value, _ = re.split("[«»]", rule.finds.replace("~", ""))
    (hint, *_) = [hint for hint in rule.hints if hint in rule.finds.replace("~", "").lower()]
    around = f"{hint} 鍵は{value}です", f"{hint} clé{value}é"
    assert [value in redact(text).text for text in around] == [False, False]
    assert redact(around[0]).text.endswith("です")


@pytest.mark.parametrize("rule", SHOWN, ids=named)
def test_each_rule_leaves_its_example_alone(rule: Rule) -> None:
    assert any(hint in rule.leaves.lower() for hint in rule.hints), "the rule is tried on it"
    assert redact(rule.leaves).text == rule.leaves


@pytest.mark.parametrize(("around", "value"), SECRETS)
def test_bug_091_a_secret_goes_and_its_sentence_stays(around: str, value: str) -> None:
    value = value.replace("~", "")
    result = redact(around.format(value))
    before, _, after = around.format("\0").partition("\0")
    assert value not in result.text
    assert result.text.startswith(before) and result.text.endswith(after)
    assert "[redacted:" in result.text and result.found == 1


@pytest.mark.parametrize(("around", "value"), SECRETS)
def test_redacting_twice_changes_nothing(around: str, value: str) -> None:
    once = redact(around.format(value.replace("~", ""))).text
    assert redact(once) == type(redact(once))(once, 0, ())


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text).text == text
    assert not has_secret(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a <private>x</private> b", "a  b"),
        ("a <PRIVATE>x\ny</Private>b", "a b"),
        ("a <private>x <private>y</private> z</private> b", "a  b"),
        ("a <private>x and no end", "a "),
        ("<pri<private>x</private>vate>rest", ""),
        ("an end </private> alone", "an end </private> alone"),
        ("the `<private>` tag hides <private>x</private>", "the `<private>` tag hides "),
        ("<private>`x`</private>", ""),
    ],
)
def test_bug_091_private_blocks_leave_no_trace(text: str, left: str) -> None:
    assert redact(text).text == left


@pytest.mark.parametrize("end", ["-----END RSA PRIVATE KEY-----\nafter", ""])
def test_a_key_block_goes_whole_even_when_cut(end: str) -> None:
    body = base64.b64encode(bytes(range(90))).decode()
    text = f"before\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n{end}"
    assert redact(text).text == "before\n[redacted:private-key]" + end[len("-----END RSA PRIVATE KEY-----") :]


def test_a_key_block_inside_json_goes_whole() -> None:
    pem = "-----BEGIN PRIVATE KEY-----\nMIIBmadeup\n-----END PRIVATE KEY-----\n"
    assert "MIIB" not in redact(json.dumps({"k": pem})).text


def test_kinds_and_count_name_what_was_found() -> None:
    result = redact("password = hunter2-x and <private>y</private> and redis://:pa55word@h")
    assert (result.found, result.kinds) == (3, ("password", "private", "url-password"))


PIECES = st.one_of(
    st.sampled_from(
        ["password", "token", " = ", ": ", " is ", '"', "'", "`", "\n", " ", "[", "]", "://", "u:"]
    ),
    st.sampled_from(["@h", "<private>", "</private>", "[redacted:token]", "--password ", "Bearer "]),
    st.sampled_from(["hunter2", "abc", "a1b2c3d4e5f6g7h8", "gh" + "p_" + "a1" * 18]),
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_redaction_is_idempotent(text: str) -> None:
    once = redact(text).text
    assert redact(once).text == once


NAME_PARTS = [
    "pass",
    "word",
    "PASSWORD",
    "secret",
    " key",
    "_key",
    "api",
    "account",
    "service",
    "token",
    "pwd",
]
NAME_PARTS += ["密码", "İ", "x", "_", "-", " ", "=", "credentials", "パスワード", "Contraseña", "master-key"]


@given(st.lists(st.sampled_from(NAME_PARTS), max_size=9).map("".join))
def test_the_quick_search_finds_every_name_the_pattern_finds(text: str) -> None:
    assert names(text, lower(text), HINTS.found_in(lower(text))) == [
        name.start() for name in KEY_AT.finditer(text)
    ]


def test_a_long_name_of_many_words_is_looked_at_once():
    """Each word could once be read in two ways, so that one more doubled the work: this took an hour."""
    name = "to-" * 32
    assert not has_secret(f"It is called\n{name}Z9\nand {name}\n{name}9")
