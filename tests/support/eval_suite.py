"""A suite of one session to evaluate, made on the spot, and a model on the loopback address that reads it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.transcripts import Transcript

NAME = "shop"
SAID = (
    "keep the retries at 3, the gateway bans us at 5",
    "and tests run on postgres 16, never on sqlite, because of the jsonb columns",
    "thanks, that is all",
)


ASIDE = "I would put all of it behind a switch of its own."
"""What the assistant says after the first of them."""


def gold(evidence: Sequence[str]) -> dict[str, Any]:
    """A gold list for `SAID`, whose entries have the uuids `evidence`."""
    return {
        "session": NAME,
        "about": "two wishes",
        "must": [
            {
                "id": "m1", "fact": "Retries stay at 3. Reason: the gateway bans at 5.", "type": ["project"],
                "all": [["retr"], ["re:\\b3\\b", "three"]], "reason": [["ban"]],
                "at": ["a"], "evidence": [evidence[0]], "channel": "typed",
            },
            {
                "id": "m2", "fact": "Tests run on Postgres 16, not SQLite. Reason: jsonb columns.",
                "type": ["feedback"], "all": [["postgres"], ["sqlite"]], "reason": [["jsonb"]],
                "at": ["b"], "evidence": [evidence[1]], "channel": "typed",
            },
        ],
        "fine": [],
        "never": [{"id": "n1", "what": "a wish for MySQL", "any": ["mysql"]}],
        "superseded": [],
    }  # fmt: skip


def lay_out(
    suite: Path, *, session: str = NAME, with_gold: bool = True, aside: str = ASIDE, after: str = ""
) -> Path:
    """Write one session into `suite` and return its folder; `after` is one more thing that is said last."""
    folder = suite / session
    folder.mkdir(parents=True)
    talk = Transcript()
    evidence = []
    for text in [*SAID, *filter(None, [after])]:
        evidence.append(talk.user(text))
        talk.assistant(aside)
    talk.write(folder / "transcript.jsonl")
    if with_gold:
        (folder / "gold.json").write_text(json.dumps({**gold(evidence), "session": session}), "utf-8")
    return folder
