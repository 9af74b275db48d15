"""Bytes to records: what real files hold besides one object a line."""

import io
import json
from typing import Any

import pytest

from pipeline.transcript import lines

A = b'{"type":"user","uuid":"a","sessionId":"s","n":"has }{ inside"}'
B = b'{"type":"summary","leafUuid":"b"}'
TORN = b'{"type":"user","uuid":"t","message":{"role":"user","content":[{"type":"text","text":"ha'
NESTED = b'{"type":"progress","sessionId":"s","data":{"m":{"type":"user","uuid":"n","message":{"a":1}}'


def records(raw: bytes) -> list[object]:
    return [piece.record for piece in lines.parse(raw, 0, 1)]


def ids(raw: bytes) -> list[Any]:
    """Return the uuid or leafUuid of each piece, None for a bad one."""
    found = [piece.record for piece in lines.parse(raw, 0, 1)]
    return [record and record.get("uuid", record.get("leafUuid")) for record in found]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (A + b"\n", ["a"]),
        (A + b"\r\n", ["a"]),
        (b"\xef\xbb\xbf" + A + b"\n", ["a"]),
        (A + b"\0" * 9000 + b"\n", ["a"]),
        (b"\0" * 300 + A + b"\n", ["a"]),
        (A + B + b"\n", ["a", "b"]),
        (A + b"\0\0" + B + b"\n", ["a", "b"]),
        (A + b" \t" + B + A + b"\n", ["a", "b", "a"]),
        (TORN + A + b"\n", [None, "a"]),
        (TORN + A + B + b"\n", [None, "a", "b"]),
        (A + TORN + b"\n", ["a", None]),
        (TORN + b"\n", [None]),
        (NESTED + b"\n", [None]),
        (b"\n", []),
        (b"  \r\n", []),
        (b"\0\0\0\n", [None]),
        (b"42\n", [None]),
        (b'"text"\n', [None]),
        (b"[1]\n", [None]),
        (b"null\n", [None]),
        (b"no json\n", [None]),
        ('{"uuid":"x\u2028y"}\n'.encode(), ["x\u2028y"]),
    ],
)
def test_a_line_gives_its_records(raw: bytes, expected: list[str | None]) -> None:
    assert ids(raw) == expected


@pytest.mark.parametrize("raw", [A + B + b"\n", b"\0\0" + A + b"\0" + B + b"\n", b"\xb2" + TORN + A + b"\n"])
def test_every_piece_knows_where_it_stands(raw: bytes) -> None:
    pieces = [piece for piece in lines.parse(raw, 1000, 7) if piece.record]
    assert pieces
    for piece in pieces:
        held = raw[piece.offset - 1000 : piece.offset - 1000 + piece.length]
        assert (json.loads(held), piece.raw, piece.line) == (piece.record, held, 7)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (rb'"ok \ud83d end"', "ok \ufffd end"),
        (rb'"\udcb2"', "\ufffd"),
        (rb'"\ud83d\ude80"', "\U0001f680"),
        (b'"a\xb2b"', "a\ufffdb"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'"a\tb"', "a\tb"),
    ],
)
def test_text_always_encodes_as_utf8(value: bytes, expected: str) -> None:
    [record] = records(b'{"k":[' + value + b"]}\n")
    assert record == {"k": [expected]}
    assert json.dumps(record, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("number", [b"18446744073709551616", b"-" + b"9" * 30, b"1" * 5000, b"1e999", b"NaN"])
def test_numbers_beyond_64_bits_do_not_lose_the_record(number: bytes) -> None:
    [record] = records(b'{"uuid":"a","n":' + number + b"}\n")
    assert isinstance(record, dict) and record["uuid"] == "a"


@pytest.mark.parametrize("depth", [1000, 5000, 200_000])
def test_deep_nesting_costs_one_line_at_most(depth: int) -> None:
    raw = b'{"uuid":"a","n":' + b"[" * depth + b"]" * depth + b"}\n"
    [piece] = lines.parse(raw, 0, 3)
    assert piece.record is not None or (piece.line, piece.reason) == (3, "nested too deeply")


def test_duplicate_keys_take_the_last() -> None:
    assert records(b'{"a":1,"a":2}\n') == [{"a": 2}]


def test_an_unfinished_line_gives_only_its_complete_beginning() -> None:
    pieces = list(lines.mend(A + B + TORN, 0, 1, whole=False))
    assert [piece.length for piece in pieces] == [len(A), len(B)]
    assert len(list(lines.mend(A + b"42", 0, 1, whole=False))) == 1
    assert list(lines.mend(TORN + A, 0, 1, whole=False)) == []
    assert list(lines.mend(b"\0" * 50, 0, 1, whole=False)) == []


@pytest.mark.parametrize(
    ("data", "limit", "expected"),
    [
        (b"ab\ncd\n", 100, [(b"ab\n", 3), (b"cd\n", 3)]),
        (b"ab\ncd", 100, [(b"ab\n", 3), (b"cd", 2)]),
        (b"abcdefgh\nx\n", 4, [(b"abcd\n", 9), (b"x\n", 2)]),
        (b"abcdefgh", 4, [(b"abcd", 8)]),
        (b"abc\nx\n", 4, [(b"abc\n", 4), (b"x\n", 2)]),
    ],
)
def test_lines_over_the_limit_are_cut(data: bytes, limit: int, expected: list[tuple[bytes, int]]) -> None:
    handle = io.BytesIO(data)
    assert [lines.rest(handle.readline(limit), handle, limit) for _ in expected] == expected
    assert handle.readline(limit) == b""
