"""The picture in the README shows what the real client shows."""

import pytest

from docs.picture import FILE, draw, same, words
from tests.realclient import scene
from tests.realclient.box import OpenBox

pytestmark = pytest.mark.realclient


def test_the_picture_of_the_readme_shows_what_the_client_shows(open_box: OpenBox) -> None:
    now = draw(scene.play(open_box(*scene.RULES, project=scene.PROJECT)), scene.COLUMNS)
    kept = FILE.read_text("utf-8")
    assert same(kept, now), ("run `make picture`", words(kept), words(now))
