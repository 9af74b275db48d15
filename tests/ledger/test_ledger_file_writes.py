"""What the assistant wrote into memory files, kept by path and looked up by folder."""

from pipeline.domain.speech import MemoryWrite
from pipeline.ledger import Ledger, file_writes
from tests.ledger.build import at, ingest, said, silent


def wrote(path: str, uuid: str = "u1", minutes: float = 0, digest: str = "d") -> MemoryWrite:
    return MemoryWrite(path, uuid, "Write", at(minutes), at(minutes, 1), digest, "b")


def test_writes_below_a_folder_come_oldest_first(led: Ledger) -> None:
    ingest(
        led,
        [
            silent(1, written=(wrote("/m/a.md", "u2", 5), wrote("/m/deep/b.md", "u2", 5))),
            said(2, written=(wrote("/m/a.md", "u1", 1, ""),)),
            said(3, written=(wrote("/m2/a.md"), wrote("/m.md"), wrote("/n/m/a.md"))),
        ],
    )
    found = file_writes.below(led, ["/m", "/m"])
    assert {path: [write.uuid for write in writes] for path, writes in found.items()} == {
        "a.md": ["u1", "u2"],
        "deep/b.md": ["u2"],
    }
    last = found["a.md"][-1]
    assert (last.session, last.digest, last.before, last.changed) == ("5e55", "d", "b", False)
    assert last.until is not None and last.at is not None and last.until - last.at == 1.0


def test_a_call_that_another_transcript_repeats_is_one(led: Ledger) -> None:
    for key in ("one.jsonl", "two.jsonl"):
        ingest(led, [said(1, written=(wrote("/m/a.md"),))], key=key)
    assert len(file_writes.below(led, ["/m"])["a.md"]) == 1


def test_an_entry_without_words_is_told_all_the_same(led: Ledger) -> None:
    ingest(led, [silent(1, written=(wrote("/m/a.md"),))])
    assert led.value("SELECT count(*) FROM memory_transcript_entries") == 0
    assert file_writes.below(led, ["/m"])
