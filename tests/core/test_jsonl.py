"""Append-only JSON lines: what a torn line costs, and that two writers don't mix their lines."""

import os
import subprocess
import sys

import pytest

from pipeline.core import jsonl
from tests.architecture.source import ROOT

WRITER = """
import sys
from pathlib import Path
from pipeline.core import jsonl
for number in range(200):
    jsonl.append(Path(sys.argv[1]), [{"who": sys.argv[2], "number": number, "text": sys.argv[2] * 500}] * 2)
"""


def values(file):
    return jsonl.parse(file.read_bytes()).values


def test_what_was_appended_comes_back_in_order(tmp_path):
    file = tmp_path / "new" / "log.jsonl"
    jsonl.append(file, [{"name": "Übung"}, ["a", ""]])
    jsonl.append(file, iter([1]))
    assert values(file) == [{"name": "Übung"}, ["a", ""], 1]
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700


def test_no_values_make_no_file(tmp_path):
    jsonl.append(tmp_path / "log.jsonl", [])
    assert not list(tmp_path.iterdir())


def test_a_torn_last_line_swallows_nothing_and_is_told_by_its_number(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"a": 1}\n{"a": "tor')
    jsonl.append(file, [{"a": 2}])
    found = jsonl.parse(file.read_bytes())
    assert (found.values, found.torn) == ([{"a": 1}, {"a": 2}], [2])


def test_a_whole_last_line_without_its_line_break_counts(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_bytes(b'{"a": 1}\n{"a": 2}')
    assert values(file) == [{"a": 1}, {"a": 2}]
    jsonl.append(file, [{"a": 3}])
    assert values(file) == [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize("line", [b"\xff\xfe", b"[" * 100_000, b"{]", b"\0\0\0"])
def test_a_line_of_anything_costs_itself_only(line):
    found = jsonl.parse(b"1\n" + line + b"\n2\n")
    assert (found.values, found.torn) == ([1, 2], [2])


def test_a_line_separator_of_unicode_inside_a_value_ends_no_line(tmp_path):
    file = tmp_path / "log.jsonl"
    jsonl.append(file, ["a\u2028b\x85c\rd"])
    assert values(file) == ["a\u2028b\x85c\rd"]


def test_two_processes_that_append_at_once_mix_no_lines(tmp_path):
    file = tmp_path / "log.jsonl"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(file), name], cwd=ROOT) for name in ("a", "b")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    found = jsonl.parse(file.read_bytes())
    assert not found.torn and len(found.values) == 800
    assert all(value["text"] == value["who"] * 500 for value in found.values)
    pairs = zip(found.values[::2], found.values[1::2], strict=True)
    assert all(first == second for first, second in pairs)


def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path):
    other = tmp_path / "other"
    (tmp_path / "log.jsonl").symlink_to(other)
    with pytest.raises(OSError, match=r"log\.jsonl"):
        jsonl.append(tmp_path / "log.jsonl", [1])
    assert not other.exists()


def test_a_pipe_in_the_place_of_the_file_keeps_nobody_waiting(tmp_path):
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(OSError, match=r"log\.jsonl"):
        jsonl.append(tmp_path / "log.jsonl", [1])
