"""Relations as they stand in front matter: one for each target, type and direction; pure values.

A label that we don't know is kept as it is, and so is every further key of a relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.hooklib.front_matter import text_of

Link = Mapping[str, Any]
Links = tuple[dict[str, Any], ...]
Key = tuple[str, str, str]
"""Target, type and direction, by which a relation is known."""

_KEY = ("target", "type", "direction")
OUTGOING, INCOMING = "outgoing", "incoming"


def key_of(link: Link) -> Key:
    """Return by what `link` is known; without a direction it leads away."""
    direction = INCOMING if text_of(link.get("direction")) == INCOMING else OUTGOING
    return text_of(link.get("target")), text_of(link.get("type")), direction


def keys_of(links: Iterable[Link]) -> set[Key]:
    """Return by what each of `links` is known."""
    return {key_of(link) for link in links}


def mirrored(direction: str) -> str:
    """Return what `direction` is seen from the other end."""
    return OUTGOING if direction == INCOMING else INCOMING


def link_to(
    target: str, type_name: str, direction: str, *, strength: float, context: str = "", edge_id: str = ""
) -> dict[str, Any]:
    """Return a new relation in the order of schema v3, without what is empty."""
    link = {"target": target, "type": type_name, "direction": direction, "strength": round(strength, 4)}
    return {
        **link,
        **({"context": context} if context else {}),
        **({"edge_id": edge_id} if edge_id else {}),
    }


def with_link(links: Sequence[Link], link: Link) -> Links:
    """Return `links` with `link`, in the place of the one known by the same; further keys of it stay."""
    key = key_of(link)
    found = [dict(each) for each in links]
    for number, each in enumerate(found):
        if key_of(each) == key:
            # A direction that is not said stays unsaid.
            more = {
                name: value for name, value in link.items() if name not in ("target", "type", "direction")
            }
            found[number] = {**each, **more}
            return tuple(found)
    return (*found, dict(link))


def without(links: Sequence[Link], gone: Iterable[Key]) -> Links:
    """Return `links` without those known by one of `gone`."""
    dropped = set(gone)
    return tuple(dict(link) for link in links if key_of(link) not in dropped)


def retargeted(links: Sequence[Link], former: str, heir: str, *, own: str) -> Links:
    """Return `links` of the memory `own` with those to `former` leading to `heir`, "" for nowhere.

    One that leads there already, or would lead to the memory itself, is left out.
    """
    taken = keys_of(link for link in links if key_of(link)[0] != former)
    found = []
    for link in links:
        target, type_name, direction = key_of(link)
        if target == former:
            key = (heir, type_name, direction)
            if heir in ("", own) or key in taken:
                continue
            taken.add(key)
            found.append({**link, "target": heir})
        else:
            found.append(dict(link))
    return tuple(found)
