"""Days by which something had to be done and which are over: a note, as it may just have been done."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta

from pipeline.diagnostics.audit.folder import File
from pipeline.domain.finding import Finding
from pipeline.text.clauses import sentences
from pipeline.text.dates import parse_day

LONG_OVER = 14
"""Days after which a deadline is told of."""
_NAMES = (
    "january januar jan",
    "february februar feb",
    "march märz mar",
    "april apr",
    "may mai",
    "june juni jun",
    "july juli jul",
    "august aug",
    "september sept sep",
    "october oktober oct okt",
    "november nov",
    "december dezember dec dez",
)
_MONTHS = {name: number for number, row in enumerate(_NAMES, start=1) for name in row.split()}
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_DAY = (
    rf"(?P<iso>\d{{4}}-\d\d-\d\d)(?!\d)|(?P<day>\d{{1,2}})\.? (?P<month>{_MONTH})\.?,? (?P<year>\d{{4}})"
    rf"|(?P<month2>{_MONTH})\.? (?P<day2>\d{{1,2}}),? (?P<year2>\d{{4}})"
)
_WEEKDAY = r"(?:[^\W\d_]{2,12}[,.]? ){0,3}"
# “slides due Tuesday 2026-04-14”, “must be uploaded by 2026-06-01” · “written by Ada on 2026-06-01”
_BY = (
    r"\b(?:due|deadline|until|till|by|before|no later than|not later than|at the latest|latest|expires?"
    r"|ends?|closes?"
    r"|bis|spätestens|fällig|frist|vor dem|jusqu'au|avant le|d'ici|pour le|hasta|antes del?|entro"
    r"|fino al|prima del"
    r"|uiterlijk|vóór|tot|przed|najpóźniej|termin|prazo|até)\b"
)
# “goes off on Sunday 2026-08-02” · “went off on 2026-08-02”
_DUTY = (
    r"\b(?:must|has to|have to|is to|are to|to be|due|goes (?:off|live|out)|slot|appointment"
    r"|presentation|launch(?:es)?"
    r"|soll|sollen|muss|müssen|wird|werden|doit|doivent|debe|deben|deve|devono|moet)\b"
)
_WHEN = r"\b(?:on|after|to|is|at|for|am|an|zum|le|el|il|op)\b|:"
_DEADLINE = re.compile(
    rf"(?:{_BY}:? {_WEEKDAY}|{_DUTY}[^.;!?\n]{{0,60}}?(?:{_WHEN}),? ?{_WEEKDAY})(?:{_DAY})", re.IGNORECASE
)
# “It was on MySQL until 2026-03-01.” · “It must be off MySQL until 2026-03-01.”
_HISTORY = re.compile(
    r"\b(?:was|were|had|did|used to|ran|lasted|since|seit|war|waren|wurde|wurden|hatte|bisher|depuis"
    r"|était|desde|era|od)\b",
    re.IGNORECASE,
)


def check(file: File, now: datetime) -> Iterator[Finding]:
    """Yield the first deadline in `file` that was long over on the day of `now`."""
    if file.memory is None:
        return
    for sentence in sentences(f"{file.memory.description}\n{file.body}"):
        for match in _DEADLINE.finditer(sentence):
            day = _day(match)
            # “Before 2026-03-01 it was on MySQL.”
            before = match[0].lower().startswith("before")
            history = _HISTORY.search(sentence if before else sentence[: match.start()])
            if day and not history and now.date() - day > timedelta(days=LONG_OVER):
                what = f"speaks of a day to come that was {day.isoformat()}"
                fix = "See what came of it; correct or remove it."
                at = file.line_of(sentence.strip()[:60])
                yield Finding("note", "deadline-over", what, fix, path=file.path, line=at)
                return


def _day(match: re.Match[str]) -> date | None:
    if match["iso"]:
        return parse_day(match["iso"])
    day, month, year = (match[name] or match[name + "2"] for name in ("day", "month", "year"))
    try:
        return date(int(year), _MONTHS[month.lower()], int(day))
    except ValueError:
        return None
