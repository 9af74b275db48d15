"""Reading a growing, shrinking, replaced or broken file from a cursor."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.transcript import Cursor, Reading, lines, read
from tests.support.transcripts import Transcript, encode, user, write_lines


def row(number: int, text: str = "") -> bytes:
    """Return one user record's line; the same length for the same length of `text`."""
    stamp = f"2026-03-02T09:{number % 60:02d}:00Z"
    return encode(user(text or f"row {number}", uuid=f"u{number:04d}", sessionId="s", timestamp=stamp))


def texts(reading: Reading) -> list[str]:
    return [entry.text for entry in reading.entries]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def test_bug_001_half_a_line_is_left_until_it_is_whole(path: Path) -> None:
    first, second = row(1), row(2)
    path.write_bytes(first + second[:40])
    reading = read(path)
    assert (texts(reading), reading.cursor.offset, reading.bad) == (["row 1"], len(first), [])
    path.write_bytes(first + second)
    again = read(path, reading.cursor)
    assert (texts(again), again.cursor.offset) == (["row 2"], path.stat().st_size)


def test_a_tail_cut_inside_a_character_is_left(path: Path) -> None:
    whole = row(1, "日本 🚀")
    for cut in range(whole.index("🚀".encode()), whole.index("🚀".encode()) + 4):
        path.write_bytes(whole[:cut])
        for quiet in (False, True):
            reading = read(path, quiet=quiet)
            assert (texts(reading), reading.cursor.offset, reading.bad) == ([], 0, [])
    path.write_bytes(whole)
    assert texts(read(path, reading.cursor)) == ["日本 🚀"]


def test_a_cursor_that_names_a_place_beyond_the_file_waits_for_nothing(path: Path) -> None:
    path.write_bytes(row(1))
    reading = read(path)
    assert texts(reading) == ["row 1"]
    path.write_bytes(row(1) + row(2))
    damaged = replace(reading.cursor, queue="99999999999999999999999+5w,0+99999999999999999999w|")
    assert texts(read(path, damaged)) == ["row 2"]


def test_a_file_of_the_kernel_s_is_no_transcript() -> None:
    with pytest.raises(InputError, match="a file of the kernel's"):
        list(read(Path("/proc/self/mem")).entries)


def test_bug_003_a_bad_line_costs_itself_only(path: Path) -> None:
    path.write_bytes(row(1) + b'{"type":"user","message":\n' + row(2))
    reading = read(path)
    assert texts(reading) == ["row 1", "row 2"]
    assert [line for line, _ in reading.bad] == [2]
    assert reading.cursor.offset == path.stat().st_size
    again = read(path, reading.cursor)
    assert (texts(again), again.bad, again.cursor) == ([], [], reading.cursor)


def test_bug_006_a_file_that_shrinks_is_read_anew(path: Path) -> None:
    path.write_bytes(row(1) + row(2)[:30])
    reading = read(path)
    assert texts(reading) == ["row 1"]
    path.write_bytes(row(3, "r"))
    again = read(path, reading.cursor)
    assert (texts(again), again.restarted, again.bad) == (["r"], "shrunk", [])
    assert again.cursor.offset == path.stat().st_size


def test_bug_010_lone_surrogates_become_replacement_characters(path: Path) -> None:
    lines = [rb'"ok \ud83d end"', rb'"\udcb2"', rb'"\ud83d\ude80"']
    path.write_bytes(b"".join(b'{"type":"user","message":{"content":%s}}\n' % text for text in lines))
    found = texts(read(path))
    assert found == ["ok \ufffd end", "\ufffd", "\U0001f680"]
    assert "".join(found).encode("utf-8")


def test_bug_012_runs_of_zero_bytes(path: Path) -> None:
    good = row(1)[:-1] + b"\0" * 9000 + b"\n" + b"\0" * 300 + row(2) + row(3)
    path.write_bytes(good + b"\0" * 5000)
    for quiet in (False, True):
        reading = read(path, quiet=quiet)
        assert texts(reading) == ["row 1", "row 2", "row 3"]
        assert (reading.cursor.offset, reading.bad) == (len(good), [])
    path.write_bytes(good + b"\0" * 5000 + row(4))
    assert texts(read(path, reading.cursor)) == ["row 4"]


def test_bug_013_two_records_on_one_line(path: Path) -> None:
    path.write_bytes(row(1, "has }{ inside")[:-1] + row(2))
    found = list(read(path).entries)
    assert [(e.uuid, e.text) for e in found] == [("u0001", "has }{ inside"), ("u0002", "row 2")]
    assert found[1].offset == len(row(1, "has }{ inside")) - 1


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (600 * 1024 * 1024,) * 2)
from pathlib import Path
from pipeline.transcript import read
reading = read(Path(sys.argv[1]))
found = [(e.text, len(e.note)) for e in reading.entries]
print(found, reading.bytes_read, reading.cursor.offset, len(reading.bad))
"""


def test_bug_015_a_line_of_thirty_megabytes(path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 30_000_000}}
    write_lines(path, [user([{"type": "text", "text": "keep me"}, image], uuid="a"), row(2)])
    size = path.stat().st_size
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == f"[('keep me\\n[image]', 0), ('row 2', 0)] {size} {size} 0"


def test_bug_018_invalid_bytes_spoil_one_character(path: Path) -> None:
    path.write_bytes(row(1, "naïve") + row(2, "a@b").replace(b"@", b"\xb2") + row(3, "日本"))
    reading = read(path)
    assert texts(reading) == ["naïve", "a\ufffdb", "日本"]
    assert (reading.cursor.offset, reading.bad) == (path.stat().st_size, [])


def test_bug_024_a_file_that_vanished(path: Path) -> None:
    path.write_bytes(row(1) + row(2)[:20])
    reading = read(path)
    assert texts(reading) == ["row 1"]
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(path, reading.cursor)


def test_a_file_deleted_while_it_is_read_is_read_to_its_end(path: Path) -> None:
    path.write_bytes(b"".join(row(n) for n in range(5)))
    reading = read(path)
    path.unlink()
    assert len(texts(reading)) == 5


def rewound(path: Path) -> None:
    path.write_bytes(row(1) + row(5, "again") + row(6) + row(7))


def replaced(path: Path) -> None:
    new = path.with_suffix(".new")
    new.write_bytes(row(8) + row(9) + row(7))
    new.replace(path)


def same_size(path: Path) -> None:
    path.write_bytes(row(8) + row(9) + row(7))
    os.utime(path, ns=(1, 1))


def same_size_same_end(path: Path) -> None:
    path.write_bytes(row(8) + row(2) + row(3))
    os.utime(path, ns=(1, 1))


def truncated(path: Path) -> None:
    path.write_bytes(row(1) + row(2))


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (rewound, "rewound"),
        (replaced, "replaced"),
        (same_size, "replaced"),
        (same_size_same_end, "replaced"),
        (truncated, "shrunk"),
        (emptied, "shrunk"),
    ],
)
def test_another_content_is_noticed_and_read_from_the_beginning(path: Path, change: object, why: str) -> None:
    path.write_bytes(row(1) + row(2) + row(3))
    reading = read(path)
    assert len(texts(reading)) == 3
    assert callable(change)
    change(path)
    again = read(path, reading.cursor)
    assert (texts(again), again.restarted) == (texts(read(path)), why)
    assert again.cursor == replace(read_through(path), inode=again.cursor.inode)


@pytest.mark.parametrize(
    ("in_place", "more", "why"), [(False, 1, "replaced"), (True, 1500, "rewound"), (True, 1, "")]
)
def test_another_beginning_is_noticed_where_looking_is_cheap(
    path: Path, in_place: bool, more: int, why: str
) -> None:
    path.write_bytes(row(1) + row(2) + row(3))
    cursor = read_through(path)
    target = path if in_place else path.with_suffix(".new")
    target.write_bytes(row(8) + row(2) + row(3) + row(4) * more)
    target.replace(path)
    reading = read(path, cursor)
    assert (len(texts(reading)), reading.restarted) == (more + 3 if why else more, why)


def test_a_restart_forgets_the_old_beginning(path: Path) -> None:
    path.write_bytes(b"".join(row(n) for n in range(60)))
    cursor = read_through(path)
    path.write_bytes(b"".join(row(n) for n in range(100, 200)))
    again = read(path, cursor)
    assert (len(texts(again)), again.restarted) == (100, "rewound")
    os.utime(path, ns=(1, 1))
    touched = read(path, again.cursor)
    assert (texts(touched), touched.restarted) == ([], "")


def test_a_line_beyond_all_measure_is_skipped(path: Path) -> None:
    path.write_bytes(row(1))
    with path.open("r+b") as out:
        out.seek(lines.MAX_LINE + 1_000_000)
        out.write(b"\n" + row(2))
    reading = read(path)
    assert (texts(reading), reading.bad) == (["row 1", "row 2"], [(2, f"longer than {lines.MAX_LINE} bytes")])
    write_lines(path, [row(3)], append=True)
    again = read(path, reading.cursor)
    assert (texts(again), again.restarted) == (["row 3"], "")


def read_through(path: Path) -> Cursor:
    reading = read(path)
    list(reading.entries)
    return reading.cursor


def test_a_copy_in_its_place_goes_on_where_it_was(path: Path) -> None:
    path.write_bytes(row(1) + row(2))
    cursor = read_through(path)
    copy = path.with_suffix(".copy")
    copy.write_bytes(row(1) + row(2) + row(3))
    copy.replace(path)
    again = read(path, cursor)
    assert (texts(again), again.restarted) == (["row 3"], "")


def test_a_touched_file_is_not_read_again(path: Path) -> None:
    path.write_bytes(row(1))
    cursor = read_through(path)
    os.utime(path, ns=(1, 1))
    again = read(path, cursor)
    assert (texts(again), again.restarted) == ([], "")


@pytest.mark.parametrize("tail", [b"", row(2)[:25]])
def test_a_quiet_file_gives_its_last_line_without_newline(path: Path, tail: bytes) -> None:
    path.write_bytes(row(1)[:-1] + tail)
    assert texts(read(path)) == []
    reading = read(path, quiet=True)
    assert (texts(reading), reading.cursor.offset) == (["row 1"], len(row(1)) - 1)
    path.write_bytes(row(1)[:-1] + (row(2) if tail else b"\n" + row(2)))
    again = read(path, reading.cursor)
    assert (texts(again), again.restarted, again.bad) == (["row 2"], "", [])


def test_bug_120_new_rows_cost_about_their_own_size(path: Path) -> None:
    session = Transcript()
    for _ in range(2000):
        session.assistant("A reply of ordinary length, as one sees them all day in a session of this kind.")
    write_lines(path, session.records)
    whole, cursor, spent = path.stat().st_size, read_through(path), 0
    for number in range(50):
        session.user("ok")
        write_lines(path, session.records[-1:], append=True)
        reading = read(path, cursor)
        assert texts(reading) == ["ok"], number
        cursor, spent = reading.cursor, spent + reading.bytes_read
    assert spent < 0.05 * whole
    assert reading.bytes_read < 256 + 700


def test_the_first_pass_reads_each_byte_once(path: Path) -> None:
    path.write_bytes(b"".join(row(n) for n in range(300)))
    reading = read(path)
    list(reading.entries)
    assert reading.bytes_read == path.stat().st_size


def test_an_unfinished_pass_leaves_the_cursor(path: Path) -> None:
    path.write_bytes(row(1) + row(2))
    reading = read(path)
    next(reading.entries)
    assert reading.cursor == Cursor()
    reading.entries.close()  # type: ignore[attr-defined]


def test_a_cursor_survives_as_text(path: Path) -> None:
    path.write_bytes(row(1))
    cursor = read_through(path)
    assert Cursor.from_json(cursor.to_json()) == cursor
    assert cursor.line == 1 and cursor.at == "2026-03-02T09:01:00+00:00"


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[]", '{"offset":"7"}', '{"offset":true}', "{}", '{"new":1}']
)
def test_a_text_that_is_no_cursor_means_the_beginning(text: str) -> None:
    assert Cursor.from_json(text) == Cursor()


def test_line_numbers_go_on_across_passes(path: Path) -> None:
    path.write_bytes(row(1) + row(2))
    cursor = read_through(path)
    write_lines(path, [b"bad\n"], append=True)
    reading = read(path, cursor)
    assert texts(reading) == [] and reading.bad[0][0] == 3


FOREIGN = {
    b'{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x"}}\n': "Codex",
    b'{\n  "sessionId": "x",\n  "messages": []\n}\n': "Gemini",
    b'\xef\xbb\xbf{\n  "sessionId": "x"\n}\n': "Gemini",
    b'{"sessionId":"x","projectHash":"y","messages":[]}\n': "Gemini",
    b'{"type":"system","subtype":"init","session_id":"x","tools":[]}\n': "stream-json",
    b'{"type":"stream_event","event":{}}\n': "stream-json",
    b"SQLite format 3\0\x10\0": "SQLite",
    b"Dear diary,\ntoday I always used tabs.\n": "without a single JSON object",
}


@pytest.mark.parametrize("data", FOREIGN)
def test_other_programs_files_are_refused_by_name(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    with pytest.raises(InputError, match=FOREIGN[data]) as caught:
        read(path)
    assert caught.value.file == str(path) and caught.value.fix


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"\0" * 9000, b"torn", b'\xef\xbb\xbf{"type":"mode"}\n', b"bad\n{}\n"]
)
def test_poor_beginnings_are_still_transcripts(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert all(not entry.text for entry in read(path).entries)


def test_a_byte_order_mark_hides_nothing(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + row(1) + row(2).replace(b"\n", b"\r\n"))
    assert texts(read(path)) == ["row 1", "row 2"]


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, word in ((tmp_path, "directory"), (tmp_path / "pipe", "plain file")):
        with pytest.raises(InputError, match=word):
            read(path)
    with pytest.raises(InputError, match="can't be read"):
        read(tmp_path / ("x" * 300))
