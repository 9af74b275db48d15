"""What `graph.js` draws, and what a list of the same tells: memories as spots, relations as bonds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pipeline.app.relation_map import RelationMap, Spot

MOST_DRAWN = 2_000
"""Memories in one picture; of more the most related are shown."""
MOST_COLOURS = 8
"""Types with a colour of their own; the rest share a quiet one."""


def colours(types: dict[str, int]) -> dict[str, int]:
    """Return the number of its colour for each type, the most frequent first; 0 is the quiet one."""
    return {name: at if at <= MOST_COLOURS else 0 for at, name in enumerate(types, start=1)}


def data(part: RelationMap, whole: RelationMap, address: Callable[[int, Spot], str]) -> dict[str, Any]:
    """Return the picture of `part` of `whole` as plain values; `address` gives what a spot opens."""
    colour = colours(whole.types())
    return {
        "spots": [
            {
                "name": spot.name,
                "title": spot.title,
                "type": spot.type,
                "band": spot.band,
                "group": spot.group,
                "scope": spot.scope,
                "relations": spot.relations,
                "colour": colour.get(spot.type, 0),
                "url": address(number, spot),
            }
            for number, spot in enumerate(part.spots)
        ],
        "bonds": [[bond.start, bond.end, bond.type, round(bond.strength, 3)] for bond in part.bonds],
    }


def rows(part: RelationMap, start: int, most: int) -> list[dict[str, Any]]:
    """Return the spots of `part` from `start` on, each with its relations in words and the spots there."""
    chosen: Sequence[Spot] = part.spots[start : start + most] if most else part.spots
    around = part.around(range(start, start + len(chosen)))
    return [
        {
            "number": number,
            "spot": spot,
            "near": [
                {"type": kind, "leads": leads, "number": other, "spot": part.spots[other]}
                for kind, leads, other in around.get(number, ())
            ],
        }
        for number, spot in enumerate(chosen, start=start)
    ]
