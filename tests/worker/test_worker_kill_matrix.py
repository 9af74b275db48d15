"""kill -9 at every point of `faults.POINTS`, then a new worker: the end is the same as if nothing happened.

Three stages follow one another in one session. ``first`` is a first turn; ``turn`` brings a new memory and
a change to an old one; ``conversation`` is the reading of the whole, with a correction, a withdrawal and the
diary. The last two are killed at each point. Time stands still, so the end states are equal byte for byte
but for ids made at random.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.faults import POINTS
from tests.support.loopback import LoopbackApi, fact, person_lines, serving
from tests.support.model import borne_out, items_of
from tests.support.transcripts import Transcript
from tests.support.warm import WarmWorkers, shared_workers
from tests.support.workshop import Workshop

RETRIES = "Keep the payment retries at 3, the gateway bans us at 5."
STAGING = "The staging database is reset every Monday at 06:00 UTC."
LATER = "Staging is reset on Tuesdays now, at 07:00 UTC."
PNPM = "We decided for pnpm over npm, because of the shared store on the build machine."
OVER = "Forget the retries rule, the gateway team lifted the ban."
NOW = {
    "first": "2026-03-02T09:01:00+00:00",
    "turn": "2026-03-02T09:11:00+00:00",
    "conversation": "2026-03-02T13:00:00+00:00",
}
STAGES = ("turn", "conversation")
_ELSEWHERE = ("batch.", "dream.", "recall.", "agent_memory.", "mirror.", "sync.", "team.", "watch.")
REACHED = tuple(point for point in POINTS if not point.startswith(_ELSEWHERE))
"""What reading dialogue comes by."""
BOUGHT_TWICE = ("extract.after_call", "extract.verified")
"""Where a reply is lost that nobody can know: it was sent for, and not committed."""


def changing(item: dict[str, Any]) -> dict[str, Any]:
    """Return a candidate as the update of the one sentence about staging."""
    new = {"number": 1, "text": item["statement"]}
    return {**item, "update_of": "staging-reset", "statement": "", "replaces": [new]}


def answer(prompt: str) -> dict[str, Any]:
    """Play the model: what it says follows from what is new to it."""
    line = {text: number for number, text in person_lines(prompt)}
    if "<conversation>" in prompt:
        staging = fact(
            "staging-reset", "Staging is reset on Tuesdays at 07:00 UTC for ever.", line[LATER], LATER
        )
        return {
            "memories": [changing(staging)],
            "withdrawals": [{"name": "payment-retries", "reason": "the ban was lifted",
                             "evidence": [{"line": line[OVER], "quote": OVER}]}],
            "episode": {"title": "Retries and staging", "summary": ["Retries were fixed, then freed."]},
        }  # fmt: skip
    if LATER in line:
        pnpm = fact("pnpm-over-npm", PNPM, line[PNPM], type="decision", title="pnpm over npm")
        staging = fact("staging-reset", LATER, line[LATER])
        return {"memories": [{**pnpm, "statement": f"{PNPM} Always."}, changing(staging)]}
    retries = fact("payment-retries", RETRIES, line[RETRIES], type="feedback")
    return {"memories": [retries, fact("staging-reset", STAGING, line[STAGING])]}


def read_again(prompt: str) -> Any:
    """Play the second reader: what says “for ever” or “Always” says too much, once."""
    short = "Staging is reset on Tuesdays at 07:00 UTC."
    opinions = {}
    for name, text in items_of(prompt).items():
        if "for ever" in text or "Always." in text:
            new = {"statement": PNPM, "description": PNPM}
            changed = {"replaces": [{"number": 1, "text": short}], "description": short}
            narrower = new if "(new; " in text else changed
            opinions[name] = {"verdict": "stretched", "how": "it says for how long", "narrower": [narrower]}
    return borne_out(prompt, **opinions)


def say(session: Transcript, *texts: str) -> None:
    for text in texts:
        session.user(text)
        session.assistant("Understood.")


@dataclass
class Matrix:
    """A workshop that can be put back to the state before each stage, and how each stage ends."""

    shop: Workshop
    api: LoopbackApi
    workers: WarmWorkers
    saved: Path
    ends: dict[str, tuple[Any, Any, int]]

    def run(self, stage: str, **env: str) -> int:
        return self.workers.run({**self.shop.env, **self.api.environment, "REVERIE_NOW": NOW[stage], **env})

    def calls(self) -> int:
        return len(self.api.prompts) + len(self.api.second)

    def end(self) -> tuple[Any, Any]:
        return self.shop.knowledge(), self.shop.books()

    def keep(self, stage: str) -> None:
        shutil.copytree(self.shop.place, self.saved / stage)

    def put_back(self, stage: str) -> None:
        shutil.rmtree(self.shop.place)
        shutil.copytree(self.saved / stage, self.shop.place)
        self.api.prompts.clear()
        self.api.second.clear()


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    """Play the stages undisturbed, keeping the state before each and the end of each."""
    base = tmp_path_factory.mktemp("kill")
    shop = Workshop(base / "place", {})
    session = shop.session()
    script = {"first": (RETRIES, STAGING), "turn": (LATER, PNPM), "conversation": (OVER,)}
    hooks = {"first": "Stop", "turn": "Stop", "conversation": "SessionEnd"}
    with serving(answer, read_again) as api:
        made = Matrix(shop, api, shared_workers(), base / "saved", {})
        for stage, texts in script.items():
            say(session, *texts)
            shop.fire(session, hooks[stage])
            made.keep(stage)
            api.prompts.clear()
            api.second.clear()
            assert made.run(stage) == 0
            made.ends[stage] = (*made.end(), made.calls())
        yield made


def test_the_undisturbed_stages_do_what_they_should(matrix: Matrix) -> None:
    knowledge, books, calls = matrix.ends["turn"]
    assert calls == 2 and LATER in knowledge["staging-reset.md"] and "Always" not in str(knowledge)
    assert [row[3] for row in books["runs"]] == ["applied", "applied"]
    assert json.loads(knowledge["_index.json"])["count"] == 3 and "Pnpm over npm" in knowledge["CORE.md"]
    knowledge, books, calls = matrix.ends["conversation"]
    assert calls == 2 and "archive/2026/payment-retries.md" in knowledge
    assert "Tuesdays at 07:00" in knowledge["staging-reset.md"]
    assert "Retries and staging" in knowledge["episodes/2026-03-02.md"]
    assert [row[1] for row in books["conversations"]] == ["archived"]


CHAINS = [
    *[(point,) for point in REACHED],
    ("store.file_replaced#2",),
    ("store.file_replaced#3",),
    ("extract.after_call", "extract.after_call"),
    ("extract.after_reply_commit", "store.staged", "store.intent_written"),
    ("store.intent_written", "store.file_replaced", "store.files_replaced", "store.done"),
    ("extract.after_store", "extract.after_store", "extract.after_cursor"),
    ("extract.verified", "extract.verified", "extract.verified_kept"),
    ("extract.planned_kept", "store.done", "extract.after_store"),
]


SWEEP = [
    # Each chain in one of the stages, in turn; in the other one as well if the whole is run.
    pytest.param(stage, chain, id=f"{stage}-{' '.join(chain)}", marks=[pytest.mark.whole] if at % 2 else [])
    for number, chain in enumerate(CHAINS)
    for at, stage in enumerate(STAGES, number)
]


@pytest.mark.parametrize(("stage", "chain"), SWEEP)
def test_bug_048_killed_and_started_again(matrix: Matrix, stage: str, chain: tuple[str, ...]) -> None:
    matrix.put_back(stage)
    for point in chain:
        assert matrix.run(stage, REVERIE_CRASH_AT=point) == -9, f"{point} is not reached"
    assert matrix.run(stage) == 0
    knowledge, books, calls = matrix.ends[stage]
    assert matrix.shop.knowledge() == knowledge
    assert matrix.shop.books() == books
    assert matrix.calls() == calls + sum(point in BOUGHT_TWICE for point in chain)
    assert matrix.shop.temporary() == []
    if stage == STAGES[-1]:
        assert matrix.run(stage) == 0
        assert matrix.end() == (knowledge, books), "another worker has nothing to do"


def test_a_conversation_too_short_to_read_is_marked_so_after_a_crash_too(matrix: Matrix) -> None:
    """Its turn is read first, so the second visit is the one that passes over the whole."""
    matrix.put_back("first")
    assert matrix.run("conversation", REVERIE_CRASH_AT="extract.after_cursor#2") == -9
    assert matrix.run("conversation") == 0
    assert [row[1] for row in matrix.shop.books()["conversations"]] == ["skipped"]
    assert len(matrix.api.prompts) == 1
