"""Templates: every text is escaped, whatever it is; a mark that a template wants is its own.

`Page` values are what a template gets; filters say days, counts and money as the commands do.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pipeline.app.changes import compare
from pipeline.core import zone
from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install
from pipeline.text.humanize import count
from pipeline.text.word_diff import word_diff

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    raise InputError(
        f"the page needs a package that is not installed: {error.name}", fix=how_to_install("web")
    ) from error

FOLDER = Path(__file__).parent
_LABELS = ("Why", "How to apply", "Also")
TEMPLATES = FOLDER / "templates"
STATIC = FOLDER / "static"


@cache
def environment() -> Environment:
    """Return the templates; a name that nobody gave is an error, and nothing is trusted as HTML."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"compare": compare, "word_diff": word_diff}
    made.filters |= {"day": zone.day, "minute": zone.minute, "count": count, "dollars": dollars}
    made.filters |= {"labels": labels, "moment": moment, "capitalize_first": capitalized}
    return made


def render(template: str, **values: Any) -> str:
    """Return `template` with `values`."""
    return environment().get_template(template).render(**values)


def labels(text: str) -> Markup:
    """Return `text` with the labels of a memory's parts in bold, which are ours, whoever wrote the rest."""
    found = escape(text)
    for label in _LABELS:
        found = found.replace(f"**{label}:**", Markup(f"<strong>{label}:</strong>"))
    return found


def dollars(amount: float) -> str:
    """Return an amount with as many digits as tell something: ``$1.20``, ``$0.0013``."""
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def moment(seconds: float) -> str:
    """Return a moment of the ledger (epoch seconds) as day and minute by the clocks of the zone."""
    return zone.minute(datetime.fromtimestamp(seconds, UTC))


def capitalized(text: str) -> str:
    """Return `text` as the beginning of a sentence; the rest of it stays, unlike by ``capitalize``."""
    return text[:1].upper() + text[1:]
