"""Templates: every text is escaped, whatever it is; a mark that a template wants is its own.

`Page` values are what a template gets; filters say days, counts and money as the commands do.
"""

from __future__ import annotations

import marshal
import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from pipeline import __version__
from pipeline.app.changes import compare
from pipeline.core import kept_values, zone
from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install
from pipeline.hooklib.digests import sha256
from pipeline.text.humanize import count
from pipeline.text.word_diff import word_diff
from pipeline.web import words

try:
    import jinja2
    from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape
except ModuleNotFoundError as error:
    raise InputError(
        f"the page needs a package that is not installed: {error.name}", fix=how_to_install("web")
    ) from error

if TYPE_CHECKING:
    from jinja2.bccache import Bucket

FOLDER = Path(__file__).parent
_LABELS = ("Why", "How to apply", "Also")
_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ \N{NO-BREAK SPACE}][0-9]{2}:[0-9]{2})?")
TEMPLATES = FOLDER / "templates"
STATIC = FOLDER / "static"
_MOST_COMPILED = 4 << 20
"""Bytes of a compiled template, which are far fewer."""


class Compiled(BytecodeCache):
    """Templates as they were compiled once, in `folder`: a new server need not compile them again.

    What is there counts only if it is whole, this user's alone, and made by this version of this template.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """Return the name of the file for the template `name`."""
        return name

    def get_source_checksum(self, source: str) -> str:
        """Return a digest of all that the compiled code depends on."""
        made_by = f"{__version__} {jinja2.__version__} {sys.implementation.cache_tag} {sys.hexversion}"
        return sha256(f"{made_by}\n{source}".encode())

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give `bucket` its code, if it is kept."""
        made_from, _, code = kept_values.kept(self._folder / bucket.key, _MOST_COMPILED).partition(b"\n")
        if made_from == bucket.checksum.encode():
            found = marshal.loads(code)
            bucket.code = found if isinstance(found, CodeType) else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of `bucket`."""
        code = marshal.dumps(bucket.code)
        kept_values.keep(self._folder / bucket.key, bucket.checksum.encode() + b"\n" + code)


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
    made.globals |= {"compare": compare, "word_diff": word_diff, "field_values": words.field_values}
    made.filters |= {"day": zone.day, "minute": minute, "count": count, "dollars": dollars}
    made.filters |= {"labels": labels, "moment": moment, "capitalize_first": capitalized}
    made.filters |= {"unbroken": unbroken, "link_text": link_text, **words.FILTERS}
    return made


def keep_compiled(folder: Path) -> None:
    """Have what is compiled from now on kept in `folder`, and take from there what is."""
    environment().bytecode_cache = Compiled(folder)


def render(template: str, **values: Any) -> str:
    """Return `template` with `values`."""
    return environment().get_template(template).render(**values)


def labels(text: str) -> Markup:
    """Return `text` with the labels of a memory's parts in bold, which are ours, whoever wrote the rest."""
    found = unbroken(text)
    if "**" not in found:
        return found
    for label in _LABELS:
        found = found.replace(f"**{label}:**", Markup(f"<strong>{label}:</strong>"))
    return found


def unbroken(text: str) -> Markup:
    """Return `text` so that no line ends within a day or a moment."""
    found = str(escape(text))
    return Markup(_DAY.sub(r'<span class="nowrap">\g<0></span>', found))


def link_text(when: datetime | str | None) -> Markup:
    """Return day and minute as the text of a link: a browser finds it by what one types, blank and all."""
    return unbroken(zone.minute(when))


def dollars(amount: float) -> str:
    """Return an amount with as many digits as tell something: ``$1.20``, ``$0.0013``."""
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.4f}"


def moment(seconds: float) -> str:
    """Return a moment of the ledger (epoch seconds) as day and minute by the clocks of the zone."""
    return minute(datetime.fromtimestamp(seconds, UTC))


def minute(when: datetime | str | None, unknown: str = "") -> str:
    """Return day and minute as `zone.minute` says them, so that no line ends between the two."""
    return zone.minute(when).replace(" ", "\N{NO-BREAK SPACE}") or unknown


def capitalized(text: str) -> str:
    """Return `text` as the beginning of a sentence; the rest of it stays, unlike by ``capitalize``."""
    return text[:1].upper() + text[1:]
