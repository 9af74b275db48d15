"""However a file grows, the passes together give what one reading of the whole gives."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.speech import Entry
from pipeline.transcript import Cursor, abandoned, read
from tests.support.transcripts import assistant, encode, enqueue, tool_result, user

STAMP = {"timestamp": "2026-03-02T09:00:00Z"}
LINES = [
    encode(user("hello 日本 🚀", uuid="a", **STAMP)),
    encode(user("no stamp", uuid="b", parentUuid="a")),
    encode(assistant("yes", uuid="c")),
    encode(tool_result("out", uuid="d", timestamp="2026-03-02T09:05:00Z")),
    encode({"type": "brand-new", "x": 1}),
    encode({"ts": 1772442000, "kind": "other", "event_class": "user_note", "message": "flat"}),
    encode(user("glued", uuid="e"))[:-1] + encode({"type": "summary", "leafUuid": "e"}),
    b'{"type":"user","uuid":"torn","mess' + encode(user("after", uuid="f", sessionId="s")),
    b'{"broken":\n',
    b"\n",
    b"\0" * 20 + b"\n",
    b"42\n",
    encode(user("crlf", uuid="g"))[:-1] + b"\r\n",
    b'{"type":"user","uuid":"h","message":{"content":"\\ud83d \xb2"}}\n',
]
QUEUE = [
    encode(enqueue("later", **STAMP)),
    encode(enqueue("and then", **STAMP)),
    encode({"type": "queue-operation", "operation": "dequeue"}),
    encode({"type": "queue-operation", "operation": "remove"}),
    encode({"type": "queue-operation", "operation": "popAll", "content": "later"}),
    encode(user("later", uuid="q")),
    encode(
        {"type": "attachment", "uuid": "r", "attachment": {"type": "queued_command", "prompt": "and then"}}
    ),
]
ENDS = [b"", b'{"type":"user"', encode(user("last", uuid="z"))[:-1], "🚀".encode()[:2], b"\0\0"]

Bad = list[tuple[int, str]]


def grow(
    data: bytes, cuts: list[int], *, quiet_always: bool = False
) -> tuple[list[Entry], Bad, dict[str, int], int]:
    """Read a file that grows to each of `cuts` and then to its whole; return what all passes gave."""
    found: list[Entry] = []
    bad: Bad = []
    counts: dict[str, int] = {}
    cursor = Cursor()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        for end in [*sorted(cuts), len(data)]:
            with path.open("ab") as out:
                out.write(data[out.tell() : end])
            reading = read(path, cursor, quiet=quiet_always or end == len(data))
            found += reading.entries
            assert reading.restarted == ""
            bad += reading.bad
            for kind, count in reading.type_counts.items():
                counts[kind] = counts.get(kind, 0) + count
            cursor = Cursor.from_json(reading.cursor.to_json())
    return found, bad, counts, cursor.offset


def files(*pools: list[bytes]) -> st.SearchStrategy[bytes]:
    line = st.sampled_from([line for pool in pools for line in pool])
    return st.tuples(st.lists(line, max_size=25), st.sampled_from(ENDS)).map(lambda p: b"".join(p[0]) + p[1])


CUTS = st.lists(st.integers(0, 3000), max_size=6)


@settings(max_examples=120)
@given(files(LINES, QUEUE), CUTS)
def test_any_growth_gives_the_same_as_one_reading(data: bytes, cuts: list[int]) -> None:
    assert grow(data, [cut for cut in cuts if cut < len(data)]) == grow(data, [])


@settings(max_examples=80)
@given(files(LINES[:6], [LINES[6], LINES[8], LINES[13]]), CUTS)
def test_quiet_passes_in_between_lose_and_double_nothing(data: bytes, cuts: list[int]) -> None:
    parts = grow(data, [cut for cut in cuts if cut < len(data)], quiet_always=True)[0]
    whole = grow(data, [])[0]
    assert [(e.offset, e.uuid, e.text) for e in parts] == [(e.offset, e.uuid, e.text) for e in whole]


@settings(max_examples=120)
@given(st.lists(st.binary(max_size=60), max_size=12), st.booleans())
def test_no_bytes_break_the_reader(chunks: list[bytes], quiet: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(LINES[0] + b"\n".join(chunks))
        reading = read(path, quiet=quiet)
        first, *rest = reading.entries
        assert first.text == "hello 日本 🚀"
        assert not any(entry.speaker for entry in rest)
        assert len(LINES[0]) <= reading.cursor.offset <= path.stat().st_size


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(list("ab")) | st.text(max_size=4), inner)
    ),
    max_leaves=6,
)
FIELDS = [
    "message",
    "uuid",
    "parentUuid",
    "sessionId",
    "timestamp",
    "toolUseResult",
    "origin",
    "attachment",
    "content",
]
TYPES = ["user", "assistant", "system", "attachment", "progress", "queue-operation", "x"]


@settings(max_examples=80)
@given(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(FIELDS), JSON), JSON)
def test_no_shape_of_a_field_breaks_the_reader(kind: str, record: dict[str, object], content: object) -> None:
    message = record.get("message", {"content": content, "usage": content, "id": content})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(encode({"operation": "enqueue", **record, "type": kind, "message": message}))
        reading = read(path, quiet=True)
        for entry in reading.entries:
            assert isinstance(entry.text, str) and isinstance(entry.uuid, str) and entry.uuid
        assert (reading.bad, reading.cursor.offset) == ([], path.stat().st_size)


NODES = st.sampled_from(list("abcdefgh"))
LINKS = st.lists(st.tuples(NODES, st.none() | NODES, st.booleans(), st.booleans()), max_size=20)


@settings(max_examples=200)
@given(LINKS)
def test_the_last_prompt_is_never_abandoned(links: list[tuple[str, str | None, bool, bool]]) -> None:
    gone = abandoned(links)
    prompts = [uuid for uuid, _, is_prompt, is_sidechain in links if is_prompt and not is_sidechain]
    assert gone <= {uuid for uuid, *_ in links}
    assert not prompts or prompts[-1] not in gone
