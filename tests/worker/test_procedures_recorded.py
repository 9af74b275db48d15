"""A model's real answers to twelve sequences, whose right answers another hand wrote down before.

`half` is ``dev`` for what was looked at while the prompt was written, ``test`` for what was not.
"""

import json
from pathlib import Path

import pytest

from pipeline.ledger import inbox
from pipeline.llm.cassette import ReplayProvider
from pipeline.worker.procedures import asking
from pipeline.worker.procedures.sequences import Command, repeated
from tests.support.dreaming import dreaming

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "procedures"
CASES = json.loads((FIXTURES / "cases.json").read_text("utf-8"))
WRONG = {"quarterly-station-import"}
"""Whose answer gives a value of one occasion as its example, where the label wants none."""


def sessions(case):
    """The commands of a case by session."""
    return [
        [
            Command(
                session["session"],
                f"{session['session']}-{number}",
                step["command"],
                step["succeeded"],
                f"{session['day']}T10:{number:02}:00Z",
                step["asked"],
            )
            for number, step in enumerate(session["steps"])
        ]
        for session in case["sessions"]
    ]


def proposed(case, folder, cassettes):
    """What of a case waits in the inbox, as the payload of its proposal, None for nothing."""
    with dreaming(folder) as bench:
        bench.provider = ReplayProvider(cassettes)  # type: ignore[assignment]
        asking.propose(bench.desk(), bench.store.scan(), repeated(sessions(case)))
        payloads = [item.payload for item in inbox.list_inbox(bench.ledger, str(bench.store.path))]
        assert len(payloads) < 2
        return payloads[0] if payloads else None


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_it_is_proposed_where_a_person_would_want_it(case, tmp_path):
    payload = proposed(case, tmp_path, FIXTURES / "cassettes")
    assert (payload is not None) == (case["expect"] == "procedure")
    if payload is None:
        return
    text = "\n".join([*payload["steps"], *payload["preconditions"], *payload["postconditions"]])
    assert [name for name in case["must_name"] if name not in text] == []
    assert bool([name for name in case["must_not"] if name in text]) == (case["name"] in WRONG)


def test_no_instruction_in_the_material_reaches_a_proposal(tmp_path):
    (case,) = [case for case in CASES if case["name"].startswith("injected")]
    assert proposed(case, tmp_path, FIXTURES / "cassettes") is None
