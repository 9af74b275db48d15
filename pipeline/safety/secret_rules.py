"""The patterns `redact` goes by: what is a secret by its shape, and what is one by the name before it.

Nothing here decides anything; see `redact` for how they are used and where they come from.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """A pattern that is a secret by itself. It is tried only when one of `hints` (lower case) is there."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    group: int = 0


PRIVATE_TAG = re.compile(r"<(/?)private\b[^<>]{0,200}>", re.IGNORECASE)

PEM = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:.*?-----END (?P=label)-----|(?:(?:\\r)?\\n|\s|[A-Za-z0-9+/=:,_-])*)",
    re.DOTALL,
)

PREFIXED = (
    r"sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{8,}",
    r"sk-[A-Za-z0-9]{20,}",
    r"[prs]k_(?:live|test)_\w{10,}",
    r"whsec_[\w+/=]{16,}",
    r"gh[opsur]_[A-Za-z0-9]{16,}",
    r"github_pat_\w{16,}",
    r"xox[a-z]-[A-Za-z0-9-]{8,}",
    r"xapp-\d-[A-Za-z0-9-]{16,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"AIza[\w-]{30,}",
    r"ya29\.[\w-]{20,}",
    r"dop_v1_[0-9a-f]{32,}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"lin_api_\w{20,}",
    r"sntry[su]_[\w+/=-]{30,}",
    r"ATATT3[\w=-]{30,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{40,}",
    r"tskey-[a-z]+-[\w-]{16,}",
    r"AKCp[A-Za-z0-9]{10,}",
    r"eyJ[\w-]{10,}(?:\.[\w-]{6,}){1,4}",
)
TOKEN_HINTS = (
    "sk-", "k_live_", "k_test_", "whsec_", "gho_", "ghp_", "ghs_", "ghu_", "ghr_", "github_pat_",
    "xox", "xapp-", "npm_", "hf_", "aiza", "ya29.", "dop_v1_", "shpat_", "shpca_", "shppa_",
    "shpss_", "lin_api_", "sntry", "atatt3", "age-secret-key-", "tskey-", "eyj", "akcp",
)  # fmt: skip

SHAPES = (
    Shape("token", TOKEN_HINTS, re.compile(rf"(?<![\w-])(?:{'|'.join(PREFIXED)})")),
    Shape("url-password", ("://",), re.compile(r"://[^\s/:@'\"<>\[]{0,200}:([^\s/'\"<>]{1,300})@"), 1),
    Shape("url-password", ("://",), re.compile(r"://([A-Za-z0-9_-]{20,200})(?::x-oauth-basic)?@"), 1),
    Shape(
        "header",
        ("authorization", "x-api-key"),
        re.compile(
            r"(?i)\b(?:authorization|x-api-key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
            r"(?:(?:bearer|basic|token|apikey)\s+)?([\w.~+/=-]{8,})"
        ),
        1,
    ),
    Shape("header", ("bearer",), re.compile(r"(?i)\bbearer\s+(?=[\w.~+/=-]*\d)([\w.~+/=-]{12,})"), 1),
    Shape(
        "password",
        ("--pass", "--token", "--secret", "--api"),
        re.compile(
            r"(?i)(?<!\S)--(?:password|passphrase|token|secret|api-?key)[ ]+[\"']?([^\s\"'-][^\s\"']{3,})"
        ),
        1,
    ),
    Shape(
        "password",
        ("curl",),
        re.compile(r"\bcurl\b[^\n]{0,300}?\s(?:-u|--user)\s*[\"']?[\w.@-]+:([^\s\"']+)"),
        1,
    ),
)

# detect-secrets plugins by module and class, the hints that make a run worth while, and whether the
# secret is the pattern's last group instead of the whole match. Left out: entropy plugins and ip_public
# (too much that is no secret), artifactory (any word in capitals from APA on), github, stripe, jwt and
# openai (ours are wider), private_key (ours takes the block), basic_auth (takes the user's name along),
# cloudant, ibm and softlayer (the rule for assigned values covers them, with more care).
PLUGINS = (
    ("aws", "AWSKeyDetector", ("akia", "asia", "abia", "acca", "a3t", "aws"), True),
    ("azure_storage_key", "AzureStorageKeyDetector", ("accountkey=",), False),
    ("discord", "DiscordBotTokenDetector", ("discord", "bot"), False),
    ("gitlab_token", "GitLabTokenDetector", ("glpat", "gldt", "glft", "glsoat", "glrt", "gr1348941", "glcbt",
     "glimt", "glptt", "glagent", "gloas"), False),
    ("mailchimp", "MailchimpDetector", ("-us",), False),
    ("npm", "NpmDetector", (":_authtoken",), True),
    ("pypi_token", "PypiTokenDetector", ("pypi-ag",), False),
    ("sendgrid", "SendGridDetector", ("sg.",), False),
    ("slack", "SlackDetector", ("hooks.slack.com",), False),
    ("square_oauth", "SquareOAuthDetector", ("sq0csp",), False),
    ("telegram_token", "TelegramBotTokenDetector", (":aa",), False),
    ("twilio", "TwilioKeyDetector", ("twilio",), False),
)  # fmt: skip

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
KEYWORDS = ("pass", "pwd", "secret", "key", "contrase")
"""What a line must hold, beside a quote, for detect-secrets' keyword rules to be tried on it."""

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
