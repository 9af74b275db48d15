"""Which memories of a store sleep: ``.reverie/asleep``, a line ``<band> <path>`` for each of them.

A *dormant* one comes only when it is asked for, an *archived* one stays in its place and is shown by name
alone. Who sleeps is decided by `pipeline.store.catalogue.sleep`; most stores have no such file.
"""

import os

from pipeline.hooklib import places

FILE = f"{places.PRIVATE}/asleep"
DORMANT, ARCHIVED = "dormant", "archived"
_MOST = 10_000_000


def asleep_in(root: str) -> "dict[str, str]":
    """Return the band of each memory that sleeps in the store at `root`, by path; empty where none does."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | places.OPEN
    try:
        handle = os.open(f"{root}/{FILE}", flags)
    except OSError:
        return {}
    with open(handle, "rb") as file:
        lines = file.read(_MOST).decode("utf-8", "replace").split("\n")
    rows = [line.partition(" ") for line in lines]
    return {path: band for band, _, path in rows if path and band in (DORMANT, ARCHIVED)}


def hidden_in(root: str, *, dormant: bool) -> "dict[str, str]":
    """Return those that are not to be told of, where the `dormant` ones are asked for."""
    return {path: band for path, band in asleep_in(root).items() if not dormant or band == ARCHIVED}
