"""A folder at a glance: what is counted, and what Reverie would do with the files of each writer."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.diagnostics.audit import FirstSight, audit, first_sight
from pipeline.diagnostics.audit.first_sight import Row
from pipeline.diagnostics.audit.writers import Writers
from pipeline.domain.finding import Finding
from pipeline.store import Store
from tests.support.claude_folder import claude_folder
from tests.support.stores import memory, save

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return claude_folder(tmp_path / "memory")


@pytest.fixture
def with_transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder where Claude Code keeps it, beside the transcripts of its sessions."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    project = tmp_path / "claude" / "projects" / "-shop"
    project.mkdir(parents=True)
    return claude_folder(project / "memory", transcripts=project)


def seen(root: Path, project: Path) -> FirstSight:
    return first_sight(audit(root, now=NOW, project=project))


def test_each_fault_is_counted_where_it_stands(root: Path, tmp_path: Path) -> None:
    found = seen(root, tmp_path)
    assert {row.kind: (row.number, row.paths) for row in found.rows} == {
        "unreadable": (1, ("broken.md",)),
        "dangling": (1, ("MEMORY.md",)),
        "unlisted": (2, ("feedback_4.md", "feedback_5.md")),
        "doubles": (1, ("tabs_two.md", "tabs_one.md")),
        "contradictions": (1, ("retry_second.md", "retry_first.md")),
        "dead_paths": (1, ("moved_code.md",)),
    }
    assert (found.memories, found.more) == (60, 0)


def test_a_sound_folder_has_no_row(tmp_path: Path) -> None:
    found = seen(claude_folder(tmp_path / "memory", sound=True), tmp_path)
    assert (found.rows, found.more, found.memories) == ((), 0, 60)


def test_stamps_of_sessions_without_a_trace_are_nobodys(root: Path, tmp_path: Path) -> None:
    found = audit(root, now=NOW, project=tmp_path)
    assert replace(found.writers, note="") == Writers(unknown=59)


def test_who_wrote_it_is_told_by_our_record_and_by_the_stamp(with_transcripts: Path, tmp_path: Path) -> None:
    root = with_transcripts
    store = Store.open(root)
    save(store, memory("ours", extra={"originSessionId": "s"}), memory("edited-since"))
    edited = root / "edited-since.md"
    edited.write_text(edited.read_text("utf-8") + "By hand.\n", "utf-8")
    found = audit(root, now=NOW, project=tmp_path)
    assert replace(found.writers, note="") == Writers(reverie=1, claude=40, unknown=19, held=1)
    plan = first_sight(found).plan
    assert [sentence.split(" ")[0] for sentence in plan] == ["1", "40", "19", "1", "This"]
    assert "`reverie undo`" in plan[1] and "wait for your yes: `reverie adopt`" in plan[2]


def test_where_our_record_cannot_be_read_nothing_is_claimed(root: Path, tmp_path: Path) -> None:
    save(Store.open(root), memory("ours"))
    log = root / ".reverie" / "written.jsonl"
    log.unlink()
    log.mkdir()
    found = audit(root, now=NOW, project=tmp_path)
    assert replace(found.writers, note="") == Writers()
    (sentence,) = first_sight(found).plan
    assert sentence.startswith("Who wrote them can't be told: ") and sentence.endswith("not a regular file.")


def test_what_one_file_has_often_is_counted_where_it_counts(root: Path, tmp_path: Path) -> None:
    def of(code: str, path: str) -> Finding:
        return Finding("error", code, "x", path=path)

    codes = ("secret", "dead-path", "no-description", "overflow", "merge-conflict")
    found = replace(
        audit(root, now=NOW, project=tmp_path),
        findings=tuple(of(code, path) for code in codes for path in ("a.md", "a.md", "b.md")),
    )
    assert first_sight(found).rows == (
        Row("conflicts", 2, "have both sides of a merge", ("a.md", "b.md")),
        Row("secrets", 2, "have what looks like a password or a key", ("a.md", "b.md")),
        Row("unloaded", 2, "are longer than what Claude Code loads", ("a.md", "b.md")),
        Row("dead_paths", 3, "paths that are named are gone", ("a.md", "b.md")),
    )
    assert first_sight(found).more == 3
