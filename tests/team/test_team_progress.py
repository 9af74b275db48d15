"""Who waits for a first sync hears how far it is; `team cap` alone tells what was spent of each cap."""

from decimal import Decimal

import pytest

from pipeline.app import team
from pipeline.team import spending

pytestmark = pytest.mark.postgres


def test_who_waits_hears_how_far_it_is(pair, work):
    ann, bob = pair
    for number in range(3):
        team.share(ann.app, ann.add(f"The port of mill {number} is {number + 8000}."))
    heard: list[str] = []
    assert team.now(bob.app, tell=heard.append).came == 3
    assert heard[0] == "reading what the team has: 3 of 3"


def test_the_caps_are_told_alone(pair, work):
    ann, _ = pair
    assert team.caps(ann.app) == {}
    work.as_("ann", spending.set_cap, work.team, "day", Decimal(5))
    assert team.caps(ann.app) == {"day": {"spent": 0.0, "cap": 5.0}}
