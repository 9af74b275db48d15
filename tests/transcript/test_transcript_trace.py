"""A reading with two consumers: each record beside the entries that are made of it."""

from __future__ import annotations

from pipeline.transcript import read, trace
from tests.support.transcripts import Transcript, encode


def talk() -> Transcript:
    made = Transcript()
    made.user("Add a button.")
    made.tool("Edit", {"file_path": "/home/dev/shop/a.py"})
    made.enqueue("And a test.")
    made.answer("Which colour?", "blue")
    made.assistant("Done.")
    return made


def test_every_record_comes_with_the_entries_that_a_reading_gives(tmp_path):
    made = talk()
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"".join(map(encode, made.records)) + b"[]\n")
    whole, traced = read(file), trace(file)
    entries = list(whole.entries)
    seen = list(traced.entries)
    assert [entry for each in seen for entry in each.entries] == entries
    assert [each.piece.record for each in seen] == [*made.records, None]
    assert (traced.cursor, traced.bad, traced.type_counts) == (whole.cursor, whole.bad, whole.type_counts)


def test_a_reading_goes_on_where_the_last_one_ended(tmp_path):
    made = talk()
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"".join(map(encode, made.records[:3])))
    first = trace(file)
    assert len(list(first.entries)) == 3
    file.write_bytes(b"".join(map(encode, made.records)))
    rest = trace(file, first.cursor)
    assert [each.piece.record for each in rest.entries] == made.records[3:]


def test_a_prompt_that_no_record_repeats_is_of_none(tmp_path):
    made = Transcript()
    made.user("Add a button.")
    made.enqueue("And a test.")
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"".join(map(encode, made.records)))
    assert [entry.text for entry in read(file, quiet=True).entries] == ["Add a button.", "And a test."]
    assert [len(each.entries) for each in trace(file, quiet=True).entries] == [1, 0]
