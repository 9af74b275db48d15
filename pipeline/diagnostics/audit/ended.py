"""What one memory says is given up while another counts on it: a service, a tool, a version, a person.

The name must be the same, letter for letter, and both must be about the same matter. The memory that ends it
must say so outright; the other must say in its description that it is in use, tell nothing of an end, and not
be the younger.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.diagnostics.audit.subject import NEUTRAL, Compared, elsewhere
from pipeline.text.clauses import denies, sentences
from pipeline.text.dates import DAY
from pipeline.text.similarity import content_words

_N = r"(?P<x>[A-Z][\w+#]*(?:[.-][\w+#]+)*)"
_BELONGS = (
    "account|contract|subscription|access|tree|project|server|instance|licen[cs]e|plan|integration|gateway|cluster"
    "|job|jobs|setup|repo|repository|tenant|key|board|service|port|app|site|shop|vertrag|konto|abo|zugang|server"
)
_OVER = (
    "closed|cancell?ed|deleted|removed|revoked|archived|retired|dropped|switched off|turned off"
    "|shut down|gone|replaced"
    "|abandoned|decommissioned|ended|discontinued|expired|terminated|wound down|no longer (?:used"
    "|in use)|out of use"
    "|gekündigt|abgeschaltet|gelöscht|abgelöst|ersetzt|entfernt|aufgegeben|stillgelegt|eingestellt|abgemeldet"
)
_IS = r"(?:was|were|is|are|has been|have been|got|wurde|wurden|ist|sind)"
_STOPS = (
    r"(?=\s*(?:[.,;:)!]|$|on\b|in\b|since\b|as of|that\b|last\b|at\b|by\b|with\b|am\b|im\b|seit\b|durch\b"
    r"|and\b|for\b))"
)
_ENDS = tuple(
    re.compile(pattern)
    for pattern in (
        # “The Mollie contract ended on …”, “PagerDuty is cancelled” · “Jenkins removed the artifacts”
        rf"\b{_N}(?:'s)?(?:[ -](?:{_BELONGS}))*(?: {_IS})?(?: (?:now|all|finally|fully|already|zum \w+"
        rf"|am \S+|im \w+))?"
        rf" (?:{_OVER}){_STOPS}",
        # “moved from FreeRTOS to Zephyr” · “imported from Excel”
        rf"\b(?:moved|migrated|switched|changed|went|ported|transferred|umgezogen|gewechselt|umgestiegen)"
        rf"(?: away| over)?(?: \w+)? (?:from|von) {_N} (?:to|onto|zu|zum|auf|nach)\b",
        # “We left Jenkins for GitHub Actions”, “gave up Zotero.” · “left Paris early”
        rf"\b(?:left|quit|dropped|ditched|abandoned) {_N} (?:for|in favou?r of)\b",
        rf"\b(?:gave up|given up|stopped using|got rid of|said goodbye to|moved away from"
        rf"|moved off) {_N}{_STOPS}",
        rf"\b(?:replaces|replaced|took over from|succeeds|succeeded|supersedes|superseded) {_N}{_STOPS}",
        rf"\b(?:no longer|not) (?:on|in|with|via|through|use[sd]?|using|at) {_N}{_STOPS}",
        rf"\bnicht mehr (?:bei|über|auf|mit|in|von) {_N}",
        rf"\b[Ww]eg von {_N}",
    )
)
# “The checkout goes through Mollie”, “Supervisor is Prof. Aldous Renner” · “the price of Mollie”
_IN_USE = (
    r"(?:\b(?:is|are|on|through|in|by|use|uses|using|via|over|at|with|run|runs|goes|"
    r"über|bei|auf|mit|ist|sind|läuft|durch|in|von)|:|-|–) (?:the |a |an |der |die |das |dem |our )?"
    r"(?:[A-Z][\w.]* ){0,2}"
)
_BEHIND = re.compile(
    r"\b(?:was|were|used to|until|till|formerly|before|previously|back then|at first|once|bis|früher"
    r"|war|zuvor|ehemals"
    r"|never|instead|unlike|rather)\b",
    re.IGNORECASE,
)
_EVERYDAY = frozenset(
    re.findall(
        r"\w+",
        """
        Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July
        August September October November December Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag
        Januar Februar Mai Juni Juli Oktober Dezember English German French Spanish Italian Polish Dutch Latin
        Englisch Deutsch The All Both It They We He She Die Der Das Alle Es Sie
        """,
    )
)
"""Days, months and languages change for one thing and stay for another."""
_LOG = 3
"""So many days in one memory make it a diary."""
_FIRST = 2
_WORDS = re.compile(r"[A-Z][\w+#]*(?:[.-][\w+#]+)*")
_VERSION = re.compile(r"\b(?P<name>[A-Z][A-Za-z+#]*) (?P<version>\d+(?:\.\d+)*)\b(?! ?[%€$\w])")
_CHANGED = re.compile(
    r"\b(?:upgraded|updated|moved|went|switched|migrated|raised|bumped|ported|aktualisiert|umgestellt|angehoben)\b[^.\n]*?"
    r"\b(?:to|auf) (?P<name>[A-Z][A-Za-z+#]*) (?P<version>\d+(?:\.\d+)*)\b"
)
_WHOLE = content_words(
    "project game app engine version code repository team everything whole upgrade update api newer"
)


@dataclass(frozen=True, slots=True)
class Ended:
    """`name`, which `by` says is given up, is still in use in `used_in`; `what` says it in words."""

    by: Compared
    used_in: Compared
    what: str


def given_up(texts: list[Compared]) -> Iterator[Ended]:
    """Yield each pair of which one gives up what the other counts on."""
    users: dict[str, list[Compared]] = defaultdict(list)
    for compared in texts:
        for name in set(_WORDS.findall(_claim(compared))):
            users[name].append(compared)
    for ender in texts:
        # In a diary, what was ended on one day may have come back on another.
        if len(set(DAY.findall(ender.text))) < _LOG:
            yield from _by(ender, users)


def _by(ender: Compared, users: dict[str, list[Compared]]) -> Iterator[Ended]:
    for name in sorted(_ended_in(ender.text)):
        back = rf"\b(?:back|again|return\w*|wieder)\b[^.\n]*\b{re.escape(name)}\b"
        if re.search(back, ender.text) is None:
            for other in users[name]:
                if other is not ender and _counts_on(other, name, ender):
                    yield Ended(ender, other, f"counts on {name}, which is given up")
    for match in _CHANGED.finditer(ender.text):
        for other in users[match["name"]]:
            if other is not ender and _older_version(other, match, ender):
                what = f"counts on another version than {match['name']} {match['version']}, as"
                yield Ended(ender, other, what)


def _ended_in(text: str) -> set[str]:
    found = (match for pattern in _ENDS for match in pattern.finditer(text))
    names = {match["x"] for match in found if not denies(text[max(0, match.start() - 20) : match.start()])}
    return names - _EVERYDAY


def _claim(ender: Compared) -> str:
    """Return what a memory says first: its description, or its first sentences where it has none."""
    return ender.description or " ".join(sentences(ender.text)[:_FIRST])


def _counts_on(other: Compared, name: str, ender: Compared) -> bool:
    """Whether `other` says that `name` is in use, for the matter of `ender`, and is not the younger."""
    claim = _claim(other)
    used = re.search(rf"{_IN_USE}{re.escape(name)}\b", claim)
    if used is None or _BEHIND.search(claim) or denies(claim) or name in _ended_in(other.text):
        return False
    ours = content_words(claim) - NEUTRAL - content_words(name)
    return bool(ours & ender.everything()) and not elsewhere(ender, other) and not _younger(other, ender)


def _older_version(other: Compared, match: re.Match[str], ender: Compared) -> bool:
    mine = {found["version"] for found in _VERSION.finditer(other.text) if found["name"] == match["name"]}
    if not mine or match["version"] in other.text or _BEHIND.search(_claim(other)) or elsewhere(ender, other):
        return False
    plain = NEUTRAL | _WHOLE | content_words(match["name"])
    headed = (
        content_words(_claim(other)) - plain - ender.everything(),
        ender.heading() - plain - other.everything(),
    )
    return not all(headed) and not _younger(other, ender)


def _younger(other: Compared, ender: Compared) -> bool:
    mine, theirs = other.file.dated(), ender.file.dated()
    return mine is not None and theirs is not None and mine > theirs
