"""Many transcripts in one transaction: the rows of one after the other, whatever happens on the way."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORES = len(os.sched_getaffinity(0)) if sys.platform == "linux" else 0


@pytest.mark.parametrize(
    "what",
    [
        "same",
        pytest.param("killed", marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="no copies here")),
        pytest.param(
            "lost", marks=pytest.mark.skipif(CORES < 2, reason="one core, or no /proc to find children in")
        ),
    ],
)
def test_many_transcripts_give_the_rows_of_one_after_the_other(tmp_path, what):
    done = subprocess.run(
        [sys.executable, "-m", "tests.intake.many_transcripts", str(tmp_path), what],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr[-3000:]
