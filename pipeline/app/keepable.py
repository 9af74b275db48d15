"""What a text must be that is to be kept, whoever writes it by hand or through a tool."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.errors import InputError
from pipeline.verify.barred import TAKEN_OUT, doubt, forbidden, holds_secret

MOST_CONTENT = 50_000


def require_fit(texts: Sequence[str], *, sure: bool) -> None:
    """Raise InputError where no memory may say this; what is only doubtful passes where one is `sure`."""
    if len(texts[0]) > MOST_CONTENT:
        raise InputError(
            "it is too long for one memory", fix=f"Write at most {MOST_CONTENT:,} characters, the rest apart."
        )
    require_keepable("\n".join(texts), sure=sure, parts=texts)


def require_keepable(text: str, *, sure: bool, parts: Sequence[str] = ()) -> None:
    """Raise InputError for a secret and for what may stand in no memory; unless `sure` for doubtful text.

    Of `parts`, where `text` is made of some, each is looked at by itself for what is hidden: a character that
    is usual in a text is not hidden because its title says it again.
    """
    if TAKEN_OUT in text:
        raise InputError(
            "the text holds the mark of a secret that was taken out",
            fix=f"Leave out `{TAKEN_OUT}…]`; say where the secret is kept.",
        )
    if holds_secret(text):
        raise InputError("the text holds a secret", fix="Leave the secret out; say where it is kept.")
    barred = next(filter(None, map(forbidden, parts or (text,))), None)
    if barred:
        raise InputError(f"the text {barred}", fix="Memories state facts; they grant nothing.")
    reads = "" if sure else doubt(text)
    if reads:
        raise InputError(
            f"the text {reads}",
            fix="Memories state facts; they grant nothing. --force keeps it all the same.",
            by_tool="Memories state facts; they grant nothing. Say what is so, or let the person write it.",
        )
