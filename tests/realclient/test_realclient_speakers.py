"""The scenes of `fixtures/speakers/`, played anew: the client still tells a person's decision from others'.

With SPEAKERS_TO=FOLDER in the environment the files of the fixture are written into that folder as well.
"""

import os
from pathlib import Path

import pytest

from pipeline.text.pasted import typed
from pipeline.transcript import read
from tests.realclient.box import OpenBox
from tests.realclient.speakers import SCENES, shortened
from tests.support import speakers
from tests.support.transcripts import write_lines

pytestmark = pytest.mark.realclient


@pytest.mark.parametrize("scene", SCENES)
def test_only_what_a_person_said_is_a_persons(open_box: OpenBox, tmp_path: Path, scene: str) -> None:
    records = shortened(SCENES[scene](open_box))
    folder = Path(os.environ.get("SPEAKERS_TO") or tmp_path)
    file = write_lines(folder / f"{scene}.jsonl", records)
    assert speakers.said(file) == speakers.SCENES[scene]
    if scene == "pasted":
        (prompt,) = [entry.text for entry in read(file).entries if entry.speaker == "person"]
        assert "ERROR line 29" in prompt and typed(prompt).strip() == "what is wrong here:"
