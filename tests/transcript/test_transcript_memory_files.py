"""What a transcript says was written into memory files: done calls only, with the text they left."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.ids import text_digest
from pipeline.domain.speech import MemoryWrite
from pipeline.transcript import Cursor
from pipeline.transcript.memory_files import patched
from pipeline.transcript.reader import read
from tests.support.claudes import patch
from tests.support.transcripts import Transcript, assistant, tool_result, tool_use, write_lines

FILE = "/home/dev/.claude/projects/-w-shop/memory/deploys.md"
LEFT = "---\nname: deploys\nmetadata:\n  node_type: memory\n---\n\nDeploy on Mondays.\n"


def written(tmp_path: Path, talk: Transcript, cursor: Cursor | None = None) -> list[MemoryWrite]:
    file = write_lines(tmp_path / "s.jsonl", talk.records)
    reading = read(file, cursor or Cursor(), quiet=True)
    return [item for entry in reading.entries for item in entry.written]


def wrote(talk: Transcript, outcome: Any, path: str = FILE, tool: str = "Write", **more: Any) -> None:
    given = {"file_path": path, "content": "asked for", "old_string": "a", "new_string": "b"}
    talk.tool(tool, given, toolUseResult=outcome, **more)


def test_the_text_is_that_of_the_result_not_of_the_call(tmp_path: Path) -> None:
    talk = Transcript()
    wrote(talk, {"type": "create", "content": LEFT, "userModified": False})
    (found,) = written(tmp_path, talk)
    call, result = talk.records
    assert (found.path, found.uuid, found.tool) == (FILE, call["uuid"], "Write")
    assert (found.at, found.until) == (call["timestamp"][:19] + "+00:00", result["timestamp"][:19] + "+00:00")
    assert found.digest == text_digest(LEFT) and not found.changed


def test_an_edit_is_told_by_the_file_before_and_its_hunks(tmp_path: Path) -> None:
    after = LEFT.replace("Mondays", "Tuesdays").replace("name: deploys", "name: deploys\nextra: 1")
    talk = Transcript()
    wrote(talk, {"originalFile": LEFT, "structuredPatch": patch(LEFT, after)}, tool="Edit")
    assert [item.digest for item in written(tmp_path, talk)] == [text_digest(after)]


@pytest.mark.parametrize(
    "hunks",
    [None, [], [{"oldStart": 1, "lines": ["-no such line"]}], [{"lines": [" a"]}], ["x"], [{"oldStart": 1}]],
)
def test_hunks_that_do_not_fit_tell_nothing(hunks: object) -> None:
    assert patched("a\nb\n", hunks) is None


def test_line_ends_are_not_part_of_the_text() -> None:
    assert text_digest("a\r\nb\r\n") == text_digest("\ufeffa\nb\n") != text_digest("a\nc\n")


@pytest.mark.parametrize(
    ("outcome", "more"),
    [("Error: no", {"is_error": True}), ("Error: no", {}), ({"content": LEFT}, {"is_error": True})],
)
def test_calls_that_failed_or_were_refused_are_told_nowhere(
    tmp_path: Path, outcome: Any, more: dict[str, Any]
) -> None:
    talk = Transcript()
    wrote(talk, outcome, **more)
    assert written(tmp_path, talk) == []


def test_a_call_without_a_result_was_not_done(tmp_path: Path) -> None:
    talk = Transcript()
    talk.add(assistant([tool_use("Write", {"file_path": FILE, "content": LEFT}, "toolu_x")]))
    assert written(tmp_path, talk) == []


def test_a_result_in_a_later_reading_finds_its_call(tmp_path: Path) -> None:
    talk = Transcript()
    talk.user("remember that")
    call = talk.add(assistant([tool_use("Write", {"file_path": FILE, "content": LEFT}, "toolu_x")]))
    file = write_lines(tmp_path / "s.jsonl", talk.records)
    first = read(file, Cursor())
    assert [item for entry in first.entries for item in entry.written] == []
    talk.add(tool_result("ok", "toolu_x", toolUseResult={"content": LEFT}))
    write_lines(file, talk.records[-1:], append=True)
    found = [item for entry in read(file, first.cursor).entries for item in entry.written]
    assert [(item.uuid, item.digest) for item in found] == [(call, text_digest(LEFT))]
    assert found[0].at == talk.records[1]["timestamp"][:19] + "+00:00"


def test_what_a_person_changed_in_the_dialog_says_so(tmp_path: Path) -> None:
    talk = Transcript()
    wrote(talk, {"content": LEFT, "userModified": True})
    assert [item.changed for item in written(tmp_path, talk)] == [True]


@pytest.mark.parametrize(
    ("path", "outcome", "counts"),
    [
        ("/home/dev/shop/memory/a.md", {"content": LEFT}, True),
        ("/home/dev/notes/a.md", {"content": LEFT, "memdirStamped": True}, True),
        ("/home/dev/notes/a.md", {"content": LEFT}, False),
        ("/home/dev/shop/memory/a.py", {"content": LEFT}, False),
        ("/home/dev/shop/memory/\0.md", {"content": LEFT}, False),
    ],
)
def test_only_markdown_in_a_memory_folder_counts(
    tmp_path: Path, path: str, outcome: dict[str, Any], counts: bool
) -> None:
    talk = Transcript()
    wrote(talk, outcome, path)
    assert bool(written(tmp_path, talk)) is counts


def test_what_the_clients_own_extraction_saved_counts_without_its_text(tmp_path: Path) -> None:
    talk = Transcript()
    talk.add({"type": "system", "subtype": "memory_saved", "writtenPaths": [FILE, 3, "a\0b"]})
    (found,) = written(tmp_path, talk)
    assert (found.path, found.tool, found.digest) == (FILE, "memory_saved", "")
    assert found.at == found.until is not None
