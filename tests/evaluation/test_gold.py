"""The evaluation sessions are whole: scripts, transcripts and gold lists agree with one another."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pipeline.domain.memory import TYPES
from pipeline.evaluation.suite import halves_of

EVAL = Path(__file__).resolve().parents[2] / "fixtures" / "eval"
SESSIONS = sorted(path.parent for path in EVAL.glob("*/gold.json"))
CHANNELS = {"typed", "queued", "answer", "refusal", "slash", "beside_tool"}
each_session = pytest.mark.parametrize("folder", SESSIONS, ids=lambda folder: folder.name)


def load_builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("eval_build", EVAL / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["eval_build"] = module
    spec.loader.exec_module(module)
    return module


BUILDER = load_builder()
BUILT = BUILDER.folders([])


def gold_of(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "gold.json").read_text(encoding="utf-8"))
    return loaded


def records_of(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def matches(alternative: str, text: str) -> bool:
    """Whether one alternative of a gold list stands in the text: a substring, or a pattern after ``re:``."""
    if alternative.startswith("re:"):
        return re.search(alternative[3:], text, re.IGNORECASE) is not None
    return alternative.lower() in text.lower()


def channel_of(record: dict[str, Any]) -> str:
    """How the person's words stand in this record, by its form alone."""
    if record["type"] == "attachment":
        return "queued" if record["attachment"]["type"] == "queued_command" else "none"
    content = record.get("message", {}).get("content", "")
    if isinstance(content, str):
        return "slash" if "<command-args>" in content else "typed"
    kinds = [block["type"] for block in content]
    if set(kinds) <= {"text", "image"}:
        return "typed"
    if kinds == ["tool_result", "text"]:
        return "beside_tool"
    if "tool_result" not in kinds:
        return "none"
    if isinstance(record.get("toolUseResult"), dict) and "answers" in record["toolUseResult"]:
        return "answer"
    if str(content[0]["content"]).startswith("User has approved your plan"):
        return "answer"
    return "refusal" if "the user said:" in str(content[0]["content"]) else "none"


def test_every_session_is_in_one_half() -> None:
    written = {script.parent.name for script in EVAL.glob("*/script.md")}
    assert len(SESSIONS) >= 12 and {folder.name for folder in SESSIONS} <= written
    # Some that the halves name are still to be written.
    assert written <= set(halves_of(EVAL))


@pytest.mark.parametrize("folder", BUILT, ids=lambda folder: folder.name)
def test_building_again_changes_no_byte(folder: Path) -> None:
    for path, text in BUILDER.build(folder).items():
        assert path.read_bytes() == text.encode("utf-8"), path.name


@each_session
def test_every_evidence_uuid_is_in_the_transcript(folder: Path) -> None:
    gold = gold_of(folder)
    known = {record.get("uuid") for record in records_of(folder)}
    for item in gold["must"] + gold["fine"]:
        assert item["evidence"], item["id"]
        assert set(item["evidence"]) <= known, item["id"]


@each_session
def test_the_channel_named_is_the_channel_of_an_evidence_entry(folder: Path) -> None:
    by_uuid = {record["uuid"]: record for record in records_of(folder) if "uuid" in record}
    gold = gold_of(folder)
    for item in gold["must"] + gold["fine"]:
        assert item["channel"] in CHANNELS, item["id"]
        found = {channel_of(by_uuid[uuid]) for uuid in item["evidence"]}
        assert item["channel"] in found, (item["id"], found)


@each_session
def test_counts_are_in_range(folder: Path) -> None:
    gold = gold_of(folder)
    low, fine_low = (0, 0) if folder.name == "nothing" else (3, 1)
    assert low <= len(gold["must"]) <= (20 if low else 0)
    assert fine_low <= len(gold["fine"]) <= 22
    assert 3 <= len(gold["never"]) <= 16


@each_session
def test_sizes_are_in_range(folder: Path) -> None:
    records = records_of(folder)
    speech = [r for r in records if r["type"] == "user" and isinstance(r["message"]["content"], str)]
    speech += [
        r for r in records if r["type"] == "assistant" and r["message"]["content"][0]["type"] == "text"
    ]
    assert 25 <= len(speech) <= 130
    assert 40 <= len(records) <= 400


@each_session
def test_a_gold_fact_satisfies_its_own_groups(folder: Path) -> None:
    gold = gold_of(folder)
    for item in gold["must"] + gold["fine"]:
        for group in item["all"] + item["reason"]:
            assert any(matches(alternative, item["fact"]) for alternative in group), (item["id"], group)


@each_session
def test_no_gold_fact_trips_a_never_pattern(folder: Path) -> None:
    gold = gold_of(folder)
    for item in gold["must"] + gold["fine"]:
        for bar in gold["never"]:
            hits = [pattern for pattern in bar["any"] if matches(pattern, item["fact"])]
            assert not hits, (item["id"], bar["id"], hits)


@each_session
def test_gold_uses_registered_types_and_unique_ids(folder: Path) -> None:
    gold = gold_of(folder)
    assert gold["session"] == folder.name
    items = gold["must"] + gold["fine"] + gold["never"]
    assert len({item["id"] for item in items}) == len(items)
    assert {name for item in gold["must"] + gold["fine"] for name in item["type"]} <= set(TYPES)


@each_session
def test_superseded_rows_tell_old_from_new(folder: Path) -> None:
    for row in gold_of(folder)["superseded"]:
        assert not any(matches(pattern, row["new"]) for pattern in row["old_any"]), row["old"]
        assert any(matches(pattern, row["new"]) for pattern in row["new_any"]), row["new"]


@each_session
def test_the_chain_has_no_dangling_parent_and_no_uuid_twice(folder: Path) -> None:
    chained = [record for record in records_of(folder) if "uuid" in record]
    known = [record["uuid"] for record in chained]
    assert len(set(known)) == len(known)
    assert {record["parentUuid"] for record in chained} - {None} <= set(known)
