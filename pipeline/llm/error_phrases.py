"""What the sentences that providers answer with instead of a reply mean.

Neither the Messages API nor ``claude -p`` gives a code for all of these, so their words are what there is.
"""

from __future__ import annotations

import re

from pipeline.safety.late import late

_QUOTA = late(
    r"credit balance|usage limit|(hit|reached|exceeded) your (?!.{0,40}rate[ -]limit).{0,40}limit|"
    r"(?<!rate )(?<!rate-)limit reached|out of (extra )?usage|"
    r"quota|spend(ing)? limit|billing",
    re.IGNORECASE,
)
_TOO_LONG = late(
    r"prompt is too long|input is too long|too many (input )?tokens|context (window|length|limit)|"
    r"maximum context|request_too_large|exceeds? .{0,40}context",
    re.IGNORECASE,
)
_UNAUTHORISED = late(
    r"not logged in|/login|log ?in again|"
    r"(please|must|need to|have to) (sign|log) ?in|sign ?in to (continue|use)|"
    r"(organi[sz]ation|account|workspace|administrator) (has|was|is|have been|has been) "
    r"(disabled|suspended|deactivated|banned)|"
    r"invalid (x-)?api[ -]key|api key.{0,20}(missing|not found)|"
    r"authentication[_ ](error|failed)|failed to authenticate|unauthori[sz]ed|"
    r"oauth token (has )?(expired|revoked)|\b401\b|"
    r"could not load (the default )?credentials|unable to locate credentials|"
    r"security token.{0,40}(invalid|expired)|expiredtoken|unrecognizedclient",
    re.IGNORECASE,
)
_FORBIDDEN = late(
    r"permission_error|\b403\b|forbidden|do(es)? not have (access|permission)|"
    r"(organi[sz]ation|administrator) (has|was|is|have been|has been) disabled",
    re.IGNORECASE,
)
_WRONG_MODEL = late(
    r"issue with the selected model|(invalid|unknown|unsupported) model|no such model|"
    r"model(:| name| id)? .{0,80}((does|may) not exist|not (found|available|supported|valid))|"
    r"not_found_error.{0,40}model:|model_not_found",
    re.IGNORECASE | re.DOTALL,
)
_WEB_PAGE = late(r"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_LOGGED_OUT = late(r"not logged in", re.IGNORECASE)
_OVERLOADED = late(
    r"overloaded|rate[ _-]limit|too many requests|internal server error|service unavailable|"
    r"(api error|status|http):? ?(429|5\d\d)\b",
    re.IGNORECASE,
)
_NO_NETWORK = late(
    r"econnrefused|enotfound|eai_again|econnreset|connection error|network error|fetch failed|"
    r"unable to connect",
    re.IGNORECASE,
)


def is_quota(text: str) -> bool:
    """Whether `text` says that the account's allowance is used up."""
    return bool(_QUOTA.search(text))


def is_too_long(text: str) -> bool:
    """Whether `text` says that the prompt does not fit the model's window."""
    return bool(_TOO_LONG.search(text))


def is_unauthorised(text: str) -> bool:
    """Whether `text` says that nobody is logged in, or that a key is not accepted."""
    return bool(_UNAUTHORISED.search(text))


def is_logged_out(text: str) -> bool:
    """Whether `text` says that the client has no login at all."""
    return bool(_LOGGED_OUT.search(text))


def is_forbidden(text: str) -> bool:
    """Whether `text` says that the login is known, and not allowed to ask."""
    return bool(_FORBIDDEN.search(text))


def is_wrong_model(text: str) -> bool:
    """Whether `text` says that there is no model of that name."""
    return bool(_WRONG_MODEL.search(text))


def is_web_page(text: str) -> bool:
    """Whether `text` is a page for people, such as a network or a gateway shows to who must log in first."""
    return bool(_WEB_PAGE.search(text))


def is_overloaded(text: str) -> bool:
    """Whether `text` says that another try may work."""
    return bool(_OVERLOADED.search(text))


def is_no_network(text: str) -> bool:
    """Whether `text` says that the provider's server was not reached."""
    return bool(_NO_NETWORK.search(text))
