"""What of each scene in `fixtures/speakers/` a person said, beside the prompts they typed.

The files are the real client's (2.1.332), made anew by `tests/realclient/test_realclient_speakers.py`.
"""

from pathlib import Path

from pipeline.transcript import read

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "speakers"
Said = tuple[str | None, str]

SCENES: dict[str, list[Said]] = {
    "refusals": [
        ("refusal", "never touch build, use make clean"),
        ("beside_tool", "and then run the linter"),
    ],
    "plans": [
        ("refusal", "keep the old name"),
        ("answer", "[approved the plan]"),
        ("beside_tool", "but name it tab"),
    ],
    "forms": [("answer", "Q: Which formatter?\nA: yapf please")],
    "suggested": [("answer", "Q: Which formatter?\nA: ruff")],
    "server": [],
    "hooks": [],
    "host": [],
    "pasted": [],
}
"""The scene, and its pieces of speech by channel and text."""


def said(file: Path) -> list[Said]:
    """Return channel and text of what a person said in a transcript, but for prompts."""
    spoken = [entry for entry in read(file, quiet=True).entries if entry.speaker == "person"]
    return [(entry.channel, entry.text) for entry in spoken if entry.channel not in ("typed", "queued")]
