"""Files of s09: read and written as its own program does, byte for byte, and safer where that is not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.domain.memory import Memory
from pipeline.formats.carried import Carried, Reading
from pipeline.formats.notes import indexed
from pipeline.formats.s09 import S09, TEACHING
from pipeline.hooklib.front_matter import read as read_as_yaml
from pipeline.store.files.document import split

S = S09()
BODY = "Tabs, not spaces.\n**Why:** it is the house's way.\n**How to apply:** in every file."


def theirs(name: str, kind: str, description: str, body: str) -> bytes:
    """Return the file that the seed's own program writes."""
    return f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\n{body}\n".encode()


def theirs_read(data: bytes) -> dict[str, str]:
    """Return what the seed's own program reads: keys by lines up to the second ``---`` anywhere."""
    _, front, body = data.decode().split("---", 2)
    pairs = (line.split(":", 1) for line in front.strip().splitlines() if ":" in line)
    return {
        **{key.strip(): value.strip().strip('"').strip("'") for key, value in pairs},
        "body": body.strip(),
    }


@pytest.mark.parametrize(
    ("name", "description", "body"),
    [
        ("user-preference-tabs", "User prefers tabs for indentation", BODY),
        ("Key Store", "it's: where keys are # see below", "One line."),
        ("a", "ends with a colon:", "---\nrules\n---\n\nand more"),
        ("ünïcode", "“quoted” — and 東京", "東京\n\n- a\n  - b\n```\ncode: 1\n```"),
        ("true", "12", "\n\nbegins late and ends late\n\n"),
    ],
)
@pytest.mark.parametrize("kind", ["user", "feedback", "project", "reference"])
def test_what_its_program_wrote_comes_back_byte_for_byte(
    name: str, description: str, body: str, kind: str
) -> None:
    data = theirs(name, kind, description, body)
    record = S.decoded(data, "x.md")
    memory = record.memory
    assert (memory.name, memory.description, memory.type) == (name, description, kind)
    assert S.encoded(memory, data) == data
    again = S.decoded(S.encoded(memory, None), "x.md").memory
    assert replace(again, body=again.body.strip("\n")) == replace(memory, body=memory.body.strip("\n"))


def test_a_plain_memory_is_written_as_its_program_does() -> None:
    memory = Memory("user-preference-tabs", "User prefers tabs for indentation", "user", BODY + "\n")
    data = S.encoded(memory, None)
    assert data == theirs("user-preference-tabs", "user", "User prefers tabs for indentation", BODY)
    assert theirs_read(data)["body"] == BODY


@pytest.mark.parametrize(
    "description",
    [
        "a: b",
        "# no comment",
        "ends:",
        "- item",
        "yes",
        "4.5",
        "it's 'so'",
        'say "x"',
        "two\nlines",
        "a --- b",
        "x" * 400,
    ],
)
def test_a_description_is_one_line_that_yaml_and_its_program_read_alike(description: str) -> None:
    data = S.encoded(Memory("n", description, "user", "Body.\n"), None)
    front = split(data).front
    assert front is not None
    value = (read_as_yaml(front) or {})["description"]
    assert isinstance(value, str) and "\n" not in value and len(value) <= 150
    found = theirs_read(data)
    assert (found["name"], found["body"]) == ("n", "Body.") and found["description"] in (
        value,
        value.strip("'\""),
    )
    assert S.decoded(data, "n.md").memory.description == value


def test_only_what_changed_is_written_and_keys_it_does_not_know_stay() -> None:
    data = b"---\nname: Key Store\ndescription: 'as is'\ntype: project\norigin: x\n---\n\nOld.\n"
    memory = replace(S.decoded(data, "k.md").memory, body="New.\n")
    assert S.encoded(memory, data) == (
        b"---\nname: Key Store\ndescription: as is\ntype: project\norigin: x\n---\n\nNew.\n"
    )


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"Only text.\n", "k", "project"),
        (b"---\nname: a\ntype: nonsense\n---\nText.\n", "a", "project"),
        (b"---\r\nname: a\r\ntype: user\r\n---\r\n\r\nText.\r\n", "a", "user"),
        (b"\xef\xbb\xbf---\nname: a\ntype: user\n---\n\nText.\n", "a", "user"),
    ],
)
def test_what_is_missing_or_odd_reads_as_a_project(data: bytes, name: str, kind: str) -> None:
    memory = S.decoded(data, "k.md").memory
    assert (memory.name, memory.type) == (name, kind) and memory.description.endswith("ext.")


def test_names_are_slugs_and_no_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "key.md").write_bytes(theirs("key", "user", "one", "One."))
    seen = S.read(tmp_path)
    names = ["key", "../../KEY", "MEMORY", "a/b", "x" * 90]
    written = S.write(tmp_path, [Carried(Memory(n, "d", "user", "b\n")) for n in names], (), seen)
    assert [*written.keys][:4] == ["key-2.md", "key-3.md", "memory-note.md", "a-b.md"]
    assert all(file.parent == tmp_path and len(file.name) <= 64 for file in written.files)


def test_the_index_has_a_line_for_each_and_keeps_a_persons_lines(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_bytes(theirs("b-name", "user", "of b", "B."))
    (tmp_path / "MEMORY.md").write_text("# Mine\n- [b-name](b.md) — old\n- [gone](gone.md) — gone\n")
    seen = S.read(tmp_path)
    written = S.write(tmp_path, [Carried(Memory("a", "of a", "user", "A.\n"))], (), seen)
    index = written.files[tmp_path / "MEMORY.md"]
    assert index == "# Mine\n- [a](a.md) — of a\n- [b-name](b.md) — of b\n".encode()
    written = S.write(tmp_path, [], ("b.md",), seen)
    assert written.files == {tmp_path / "b.md": None, tmp_path / "MEMORY.md": b"# Mine\n"}


def test_an_index_too_long_keeps_the_most_important_and_says_so() -> None:
    held = {
        f"m{n:03}.md": Memory(f"m{n:03}", "d" * 60, "user", "b\n", importance=n / 1000) for n in range(300)
    }
    lines = indexed(b"", held).decode().splitlines()
    assert len(lines) == 200 and lines[0].startswith("- [m299]")
    assert lines[-1] == "- … and 101 more: list this folder"
    assert indexed("\n".join(lines).encode() + b"\n", held).decode().splitlines() == lines
    wide = {key: replace(memory, description="é" * 150) for key, memory in held.items()}
    assert len(indexed(b"", wide)) <= 25_000


def test_an_unread_file_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"---\nname: a\nx: \xff\n---\n")
    (tmp_path / "empty.md").write_bytes(b"---\ntype: user\n---\n")
    (tmp_path / "link.md").symlink_to(tmp_path / "bad.md")
    seen = S.read(tmp_path)
    assert [fault.where for fault in seen.faults] == ["bad.md:3", "empty.md:1", "link.md:1"]
    assert seen.records == [] and isinstance(seen, Reading)


def test_the_limits_of_the_teaching_pipeline() -> None:
    assert (TEACHING.memories, TEACHING.messages, TEACHING.chars) == (10, 10, 4_000)
