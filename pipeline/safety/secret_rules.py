"""The rules `redaction` goes by: what is a secret by its shape, and what is one by the name before it.

Nothing here decides anything; `redaction` says how the rules are used and where they come from. Each rule
stands with an example that it finds, the secret in ``«»``, and one that it must leave alone; a test runs them
all. A ``~`` in an example is dropped first: without it, scanners of this repository would take made-up
secrets for real ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern whose group ``value``, or else the whole match, is a secret of `kind`.

    It is tried only on text that holds one of `hints` (lower case), and compiled when it first is.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: str
    finds: str
    leaves: str


def _token(pattern: str) -> str:
    """Return `pattern` where no longer name has it as its end.

    ASCII only: in Japanese or Chinese a word stands right before a token, without a blank.
    """
    return rf"(?a:(?<![\w-])(?:{pattern}))"


def _whole(pattern: str) -> str:
    """Return `pattern` where it is no part of a longer word: a hash, a path, a blob.

    The group is atomic: the longest match is looked at, and no shorter one is tried that would end well.
    """
    return rf"(?a:(?<![^\W_])(?>{pattern})(?![^\W_]))"


PRIVATE_TAG = re.compile(r"<(/?)private\b[^<>]{0,200}>", re.IGNORECASE)

PRIVATE_KEY = Rule(
    "private-key",
    ("-----begin ",),
    r"(?s)-----BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:.*?-----END (?P=label)-----|(?:(?:\\r)?\\n|\s|[A-Za-z0-9+/=:,_-])*)",
    "see «-----BEGIN ~RSA PRIVATE KEY-----\nMIIBmadeup\n-----END RSA PRIVATE KEY-----» above",
    "-----BEGIN PUBLIC KEY-----\nMIIBmadeup\n-----END PUBLIC KEY-----",
)

PREFIXED = (
    Rule("token", ("sk-",), _token(r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}"),
         "the key is «sk-~ant-api03-made-up-0123456789» for now", "fixed in risk-ant-colony-simulations"),
    Rule("token", ("sk-",), _token(r"sk-[A-Za-z0-9]{20,}"),
         "old key «sk-~abcdefghij0123456789» here", "risk-averse-people-are-12345678901234567890"),
    Rule("token", ("k_live_", "k_test_"), _token(r"[prs]k_(?:live|test)_\w{10,}"),
         "charge with «sk_~live_abcdefghij0123» now", "task_live_migrations_of_tables"),
    Rule("token", ("whsec_",), _token(r"whsec_[\w+/=]{16,}"),
         "the hook has «whsec~_abcdefghij0123456789»", "settings.whsec_name"),
    Rule("token", ("gho_", "ghp_", "ghs_", "ghu_", "ghr_"), _token(r"gh[opsur]_[A-Za-z0-9]{16,}"),
         "push with «gh~p_aBcDeFgHiJkLmNoPqRsTuV» please", "the prefix ghp_ marks a token"),
    Rule("token", ("github_pat_",), _token(r"github_pat_\w{16,}"),
         "fine grained «github_~pat_11ABCDEFG0aBcDeFgHiJ» ok", "read github_pat_name from the file"),
    Rule("token", ("xox",), _token(r"xox[a-z]-[A-Za-z0-9-]{8,}"),
         "bot «xox~b-123456789012-abcdef» posts", "tokens begin with xoxb-"),
    Rule("token", ("xapp-",), _token(r"xapp-\d-[A-Za-z0-9-]{16,}"),
         "app «xap~p-1-A0123456789-abcdef» runs", "xapp-1-beta is out"),
    Rule("token", ("npm_",), _token(r"npm_[A-Za-z0-9]{30,}"),
         "publish with «np~m_abcdefghijklmnopqrstuvwxyz0123»", "npm_config_registry is set"),
    Rule("token", ("hf_",), _token(r"hf_[A-Za-z0-9]{30,}"),
         "load with «hf~_abcdefghijklmnopqrstuvwxyz0123»", "hf_hub_download loads it"),
    Rule("token", ("aiza",), _token(r"AIza[\w-]{30,}"),
         "maps «AI~zaSyA0123456789abcdefghijklmnopqrstu» key", "AIza is how they begin"),
    Rule("token", ("gocspx-",), _token(r"GOCSPX-[\w-]{28}"),
         "client «GOC~SPX-abcdefghijklmnopqrstuvwxyz01» of Google", "GOCSPX- begins it"),
    Rule("token", ("ya29.",), _token(r"ya29\.[\w-]{20,}"),
         "oauth «ya2~9.a0AfMadeUpMadeUpMadeUp» works", "ya29.example"),
    Rule("token", ("dop_v1_",), _token(r"dop_v1_[0-9a-f]{32,}"),
         "droplet «dop_~v1_0123456789abcdef0123456789abcdef»", "dop_v1_tokens expire"),
    Rule("token", ("shpat_", "shpca_", "shppa_", "shpss_"), _token(r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
         "shop «shpat~_0123456789abcdef0123456789ABCDEF»", "shpat_tokens are for apps"),
    Rule("token", ("lin_api_",), _token(r"lin_api_\w{20,}"),
         "issues with «lin_~api_abcdefghij0123456789»", "lin_api_client is slow"),
    Rule("token", ("sntry",), _token(r"sntry[su]_[\w+/=-]{30,}"),
         "errors go to «sntry~s_eyJpYXQiOjE3MDAwMDAwMDAsMadeUp»", "sntrys_release is a tag"),
    Rule("token", ("atatt3",), _token(r"ATATT3[\w=-]{30,}"),
         "wiki «ATATT~3xFfGF0abcdefghijklmnopqrstuvwxyz» edits", "ATATT3 is the prefix"),
    Rule("token", ("age-secret-key-",), _token(r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
         f"decrypt with «AGE-SECRET-KEY-~1{'QQQQ0123456789' * 3}»", "AGE-SECRET-KEY-1 begins it"),
    Rule("token", ("tskey-",), _token(r"tskey-[a-z]+-[\w-]{16,}"),
         "join with «tskey-~auth-k123456CNTRL-abcdef»", "tskey-auth-short"),
    Rule("token", ("akcp",), _token(r"AKCp[A-Za-z0-9]{10,}"),
         "artifacts «AKC~p5abcdefghij01» upload", "AKCp begins it"),
    Rule("token", ("eyj",), _token(r"eyJ[\w-]{10,}(?:\.[\w-]{6,}){1,4}"),
         "header «ey~JhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.made_up» ends", "eyJhbGciOiJIUzI1NiJ9 decodes"),
)  # fmt: skip

PLACED = (
    Rule("url-password", ("://",), r"://[^\s/:@'\"<>\[]{0,200}:(?P<value>[^\s/'\"<>]{1,300})@",
         "postgres://bob:«s3cr3t»@db.local/shop", "https://example.com:8080/a@b and ssh://git@github.com:foo/bar"),
    Rule("url-password", ("://",), r"://(?P<value>[A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@",
         "git clone https://«0123456789abcdefghijABCD»@git.example.org/x.git", "https://git@git.example.org/x.git"),
    Rule("header", ("authorization", "x-api-key"),
         r"(?i)\b(?:authorization|x-api-key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
         r"(?:(?:bearer|basic|token|apikey)\s+)?(?P<value>[\w.~+/=-]{8,})",
         "curl -H 'X-Api-Key: «made-up-0123»' http://x", "Authorization: Bearer $TOKEN"),
    Rule("header", ("bearer",), r"(?i)\bbearer\s+(?=[\w.~+/=-]*\d)(?P<value>[\w.~+/=-]{12,})",
         "sent as Bearer «abcdef0123456789» yesterday", "bearer of news 12345"),
    Rule("password", ("--pass", "--token", "--secret", "--api"),
         r"(?i)(?<!\S)--(?:password|passphrase|token|secret|api-?key)[ ]+"
         r"[\"']?(?P<value>[^\s\"'-][^\s\"']{3,})",
         "mysql --password «hunter2» shop", "mysql --password --host db"),
    Rule("password", ("curl",),
         r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)\s*[\"']?[\w.@-]+:(?P<value>[^\s\"']+)",
         "curl -u bob:«hunter2» http://x", "curl -u bob http://x"),
)  # fmt: skip

VENDORS = (
    Rule("aws", ("akia", "asia", "abia", "acca", "a3t"),
         _whole(r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}"),
         "id «AKI~A0123456789ABCDEF» in eu-west-1", "blob xAKIA0123456789ABCDEFGH"),
    Rule("aws", ("aws",),
         r"(?i)aws.{0,20}?(?:key|pwd|pw|password|pass|token).{0,20}?['\"](?P<value>[0-9a-z/+]{40})['\"]",
         "aws sts key is '«wJalrXUtnFEMI/K7MDENG/bPxRfiCYmadeupkey0~»'",
         "aws says the key of '3f786850e387550fdab836ed7e6dc881de23001' is gone"),
    Rule("azure-storage-key", ("accountkey=",), _whole(r"AccountKey=[a-zA-Z0-9+/=]{88}"),
         f"AccountName=x;«AccountKey=~{'a1B2' * 21}ab==»;y", "AccountKey=$(az storage keys list)"),
    Rule("discord", ("discord", "bot"),
         _whole(r"[MNO][a-zA-Z\d_-]{23,25}\.[a-zA-Z\d_-]{6}\.[a-zA-Z\d_-]{27}"),
         f"bot «M~{'abcd' * 5}efg.a1b2c3.{'wxyz' * 6}abc»", "the bot is called Moderator.of.channels"),
    Rule("gitlab", ("glpat", "gldt", "glft", "glsoat", "glrt", "glcbt"),
         _whole(r"(?:(?:glpat|gldt|glft|glsoat|glrt)-|glcbt-(?:[0-9a-fA-F]{2}_)?)[A-Za-z0-9_-]{20,50}(?!\w)"),
         "GitLab «glp~at-abcdefghij0123456789» here", "glpat-short"),
    Rule("gitlab", ("gr1348941",), _whole(r"GR1348941[A-Za-z0-9_-]{20,50}(?!\w)"),
         "register with «GR134~8941abcdefghij0123456789»", "GR1348941 begins it"),
    Rule("gitlab", ("glimt", "glptt", "glagent", "gloas"),
         _whole(r"(?:glimt-[A-Za-z0-9_-]{25}|glptt-[A-Za-z0-9_-]{40}|glagent-[A-Za-z0-9_-]{50,1024}"
                r"|gloas-[A-Za-z0-9_-]{64})(?!\w)"),
         f"trigger «glp~tt-{'0123456789' * 4}»", "glagent-config is a file"),
    Rule("mailchimp", ("-us",), _whole(r"[0-9a-z]{32}-us[0-9]{1,2}"),
         "list «0123456789abcdef~0123456789abcdef-us12»", "tell-us12 and 0123456789abcdef-us1"),
    Rule("npm", (":_authtoken",), r"//\S+/:_authToken=\s*(?P<value>[A-Fa-f0-9-]{36})(?![^\W_])",
         "//registry.example.org/:_authToken=«01234567-~89ab-cdef-0123-456789abcdef»",
         "//registry.example.org/:_authToken=${NPM}"),
    Rule("pypi", ("pypi-ag",), _whole(r"pypi-(?:AgEIcHlwaS5vcmc|AgENdGVzdC5weXBpLm9yZw)[A-Za-z0-9_-]{70,}"),
         f"upload with «pypi~-AgEIcHlwaS5vcmc{'a1b2c3d4e5' * 7}»", "pypi-AgEIcHlwaS5vcmc begins it"),
    Rule("sendgrid", ("sg.",), _whole(r"SG\.[a-zA-Z0-9_-]{22}\.[a-zA-Z0-9_-]{43}"),
         f"mail «SG.~abcdefghijklmnopqrstuv.{'abcdefghij' * 4}ABC» ok", "see SG.chapter.two"),
    Rule("slack", ("hooks.slack.com",), _whole(r"(?i:https://hooks\.slack\.com/(?:services|workflows|triggers)/[TE][a-z0-9_]+(?:/[a-z0-9_]+){2,3})"),
         "post to «https://hooks.slack.~com/services/T00000000/B00000000/madeupmadeup» today",
         "https://hooks.slack.com/services/ is the start"),
    Rule("square-oauth", ("sq0csp",), _whole(r"sq0csp-[0-9A-Za-z\\_-]{43}"),
         f"pay with «sq0~csp-{'abcdefghij' * 4}ABC»", "sq0csp-short"),
    Rule("telegram", (":aa",), _whole(r"\d{8,10}:[0-9A-Za-z_-]{35}"),
         f"chat «12345678:~AA{'abcdefghij' * 3}ABC»",
         "timer 1700000000:aa39a3ee5e6b4b0d3255bfef95601890afd80709"),
    Rule("twilio", ("twilio",), _whole(r"(?:AC|SK)[a-z0-9]{32}"),
         "twilio «AC~0123456789abcdef0123456789abcdef» calls", "twilio ACcounts are listed"),
)  # fmt: skip

SHAPES = (PRIVATE_KEY, *PREFIXED, *PLACED, *VENDORS)
"""What is a secret wherever it stands; of two that find the same text the first one names it."""

_WORD = (
    r"(?:(?:api|auth|service|account|db|database|priv|private|client)_?key|(?:db|database|key)_?pass|"
    r"password|passwd|pwd|secret|contrase[ñn]a)\w*"
)
_VALUE = r"(?P<value>(?=\w)[^\v'\"]*[^\v,'\"`])"
QUOTED = (
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?i){_WORD}[]'\"]{{0,2}}(?::|\s*(?:={{1,3}}|!==?|=>))\s*(?P<quote>['\"`]){_VALUE}(?P=quote)",
         'secret_of_staging = "«swordfish»"', 'password = settings["X"]'),
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?P<quote>['\"`]){_VALUE}(?P=quote)\s*[!=]{{2,3}}\s*\w*{_WORD}",
         'if ("«hunter2-made-up»" == password) {', 'if ("password" == kind) {'),
    Rule("password", ("pass", "pwd", "secret", "key", "contrase"),
         rf"(?i){_WORD}\S{{0,50}}?\s*(?P<quote>['\"`]){_VALUE}(?P=quote);",
         'db_key.set "«swordfish»";', 'client_key "${KEY}";'),
)  # fmt: skip
"""What is a secret in quotes beside a name that says so; tried on one line at a time."""

_LEAD = r"(?:api|access|auth|private|secret|encryption|signing|account|service|client|master)[ _-]?"
KEY = (
    r"(?:pass[_-]?word|passwd|passphrase|passwort|pwd|secret|(?<!\w)pass|(?<=_)pass|token|credentials?|"
    rf"{_LEAD}key|"
    r"パスワード|暗証番号|密码|contraseña)"
)
KEY_HINTS = (
    "pass", "pwd", "secret", "token", "credential", "key", "パスワード", "暗証番号", "密码", "contraseña",
)  # fmt: skip
KEY_AT = re.compile(rf"(?=[ptscaem\u30d1\u6697\u5bc6]){KEY}", re.IGNORECASE)
"""Finds the names: the charset in front saves trying every alternative everywhere."""
KEY_LEAD = re.compile(rf"{_LEAD}\Z")
"""What stands before the word ``key`` in a name, in lower case."""
QUOTES = ('"', "'", "`")

ASSIGNED = re.compile(
    rf"(?P<key>{KEY})(?P<close>\\*[\"'`\])*]{{0,4}})[ \t]{{0,8}}(?P<sep>:=|={{1,3}}>?|:|：|は)"
    r"\*{0,2}[ \t]{0,8}\*{0,2}"
    r"(?:(?P<quote>\\*[\"'`])(?P<quoted>(?:(?!(?P=quote))[^\n]){1,400})(?P=quote)|(?P<bare>[^\s\"'`,;<>]{4,400}))",
    re.IGNORECASE,
)
SPOKEN = re.compile(
    rf"(?P<key>{KEY})(?:[ ]+for[ ][^\n.,;:]{{1,40}}?)?[ ]+(?:is|was|=|to)[ ]+(?:now[ ]+)?(?:"
    r"(?P<quote>[\"'`])(?P<quoted>[^\s\"'`]{4,200})(?P=quote)|(?P<bare>[^\s\"'`,;<>]{6,200}))",
    re.IGNORECASE,
)

PLACEHOLDER = re.compile(r"[$<{%(\[]|.*\[redacted:|[*x.•…_-]+$|your[-_ ]|example|change[-_]?me|\.\.\.", re.I)
NOT_A_VALUE = {
    "string", "bytes", "number", "boolean", "integer", "float", "object", "undefined", "null",
    "none", "true", "false", "optional", "required", "secretstr", "value", "values", "password",
    "passwd", "token", "secret", "username", "missing", "invalid", "expired", "wrong", "correct",
    "empty", "unset", "unknown", "default", "redacted", "hidden", "disabled", "enabled", "needed",
    "either", "which", "there", "never", "always", "stored", "hashed", "encrypted", "rotated",
    "leaked", "generated", "refreshed", "revoked",
}  # fmt: skip
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
ALGORITHM = re.compile(
    r"(?i)(?:base|sha|utf|hs|rs|es|md|aes|rfc|oauth|bcrypt|argon)-?\d|\d+[- ]?[a-z]+$|v\d|\d+$"
)
SYMBOL = re.compile(r"[!@#$%^&*+=~?]")
VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|TOKEN|SECRET|PASSWORD|PASS|PWD|CREDENTIALS?)")
