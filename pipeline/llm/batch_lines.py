"""The lines in which a provider tells what came of a batch: each stands for itself, and an odd one too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from pipeline.core.errors import ODD_DATA
from pipeline.llm.batching import UNREADABLE, BatchResult
from pipeline.llm.request import RawReply


def lines_of(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines of what comes in `chunks`.

    Raises ValueError for a last one that has no end and is no JSON: it broke off.
    """
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from filter(bytes.strip, whole)
    if rest.strip():
        orjson.loads(rest)
        yield rest


def result_of(line: bytes, reply_of: Callable[[dict[str, Any]], RawReply]) -> BatchResult:
    """Return what `line` tells; `reply_of` makes a reply of a message.

    One that tells nothing is `UNREADABLE`, and of nobody knows which request (`custom_id` is "") where it
    does not say that either.
    """
    custom_id = ""
    try:
        values = orjson.loads(line)
        if isinstance(values["custom_id"], str):
            custom_id = values["custom_id"]
        result = values["result"]
        kind = result["type"]
        if kind == "succeeded":
            return BatchResult(custom_id, kind, reply_of(result["message"]))
        if not isinstance(kind, str):
            raise TypeError("it has no type")
        return BatchResult(custom_id, kind, None, _reason(result) if kind == "errored" else "")
    except ODD_DATA as error:
        reason = f"its result can't be read ({type(error).__name__})"
        return BatchResult(custom_id, UNREADABLE, None, reason)


def _reason(result: dict[str, Any]) -> str:
    try:
        return str(result["error"]["error"]["message"])
    except ODD_DATA:
        return "the provider does not say why"
