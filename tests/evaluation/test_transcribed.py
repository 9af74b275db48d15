"""What came of replies that no model's API gave says so wherever it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.consolidation.commit.report import DreamReport, as_markdown
from tests.cli.conftest import make_desk, session
from tests.support.loopback import keep_each_line, serving

NOW = "2026-11-20T12:00:00Z"
NAME = "From-now-on"
DESK = "copied from a model's chat, no API"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """Replies to the session of `tests.cli`, taken down at a desk."""
    desk = make_desk(tmp_path / "recording")
    with serving(keep_each_line) as api:
        env = {**api.environment, "REVERIE_RECORD_ORIGIN": "transcribed", "REVERIE_NOW": NOW}
        transcript = session(desk.project).write(desk.project / "s.jsonl")
        desk.here("extract", "--transcript", transcript, "--llm", f"record:{tmp_path / 'kept'}", **env)
    told = desk.here("why", NAME.lower()).out
    assert f"replies: {DESK}" in told
    return tmp_path / "kept"


def test_why_says_that_the_reply_was_replayed_and_transcribed(tmp_path: Path, recordings: Path) -> None:
    desk = make_desk(tmp_path / "playing")
    transcript = session(desk.project).write(desk.project / "s.jsonl")
    desk.here("extract", "--transcript", transcript, "--llm", f"replay:{recordings}", REVERIE_NOW=NOW)
    told = desk.here("why", NAME.lower()).out
    (run,) = desk.here("why", NAME.lower(), "--json").json["runs"]
    assert f"run {run['id']} (conversation): replay (transcribed) claude-haiku-4-5\n" in told
    assert f"  request: {run['prompt_digest'][:12]}\n" in told
    assert f"  replies: replayed from a recording {DESK}\n" in told
    assert any(run["prompt_digest"][:12] in file.name for file in recordings.iterdir())


def test_a_dreams_report_says_so() -> None:
    report = DreamReport("r", "s", "2026-11-27T12:00", calls=1, replies=f"replayed from a recording {DESK}")
    assert f"$0.0000; replayed from a recording {DESK}." in as_markdown(report)
    assert "replayed" not in as_markdown(DreamReport("r", "s", "2026-11-27T12:00", calls=1))
