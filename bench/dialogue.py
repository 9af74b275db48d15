"""What searching 100,000 utterances costs, and making the index of them, against SQLite's bare FTS5."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.measure import Ratio, compare
from bench.search import prose
from pipeline.core.clock import iso
from pipeline.core.home import Home
from pipeline.domain.speech import Entry
from pipeline.ledger import Ledger, dialogue_rows, open_ledger
from pipeline.ledger.entries import commit_ingest
from pipeline.ledger.files import begin_ingest
from pipeline.search import derived_file
from pipeline.search.dialogue_index import DialogueIndex, Wanted

MANY = 100_000
_FILES = 200
_WORDS = 40
_ASKED = 20
_BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_BARE = "CREATE VIRTUAL TABLE words USING fts5(body, tokenize='porter unicode61 remove_diacritics 2')"


def indexing(folder: Path, rounds: int, count: int = MANY) -> Ratio:
    """The index of all utterances in a ledger anew, against inserting their texts into a bare table."""
    with _spoken(folder, count) as ledger:
        texts = _texts(ledger)
        path = folder / "bare.sqlite"

        def anew() -> None:
            derived_file.discard(Home(folder).dialogue_index)
            with DialogueIndex(folder) as index:
                assert index.refresh(ledger) == count

        def bare() -> None:
            path.unlink(missing_ok=True)
            _bare(path, texts).close()

        return compare(anew, bare, rounds)


def asking(folder: Path, rounds: int, count: int = MANY) -> Ratio:
    """Twenty questions of two words, with a look at what is new before each, against bare FTS5 queries."""
    with _spoken(folder, count) as ledger, DialogueIndex(folder) as index:
        index.refresh(ledger)
        texts = _texts(ledger)
        asked = [" ".join(text.split()[3:5]) for _, text in texts[:: count // _ASKED]]
        with closing(_bare(folder / "bare.sqlite", texts)) as connection:

            def ours() -> None:
                for words in asked:
                    index.refresh(ledger)
                    found, _ = index.find(words, Wanted(), 20)
                    assert dialogue_rows.places(ledger, [item.row for item in found])

            def bare() -> None:
                sql = "SELECT rowid, body FROM words WHERE words MATCH ? ORDER BY rank LIMIT 20"
                for words in asked:
                    connection.execute(sql, (words,)).fetchall()

            return compare(ours, bare, rounds)


def one_more(folder: Path, rounds: int, count: int = MANY) -> Ratio:
    """A turn more taken into the index of all utterances, against one into the index of few."""
    few = folder / "few"
    with (
        _spoken(folder, count) as many,
        _spoken(few, count // 1_000) as little,
        DialogueIndex(folder) as large,
        DialogueIndex(few) as small,
    ):
        large.refresh(many)
        small.refresh(little)
        turns = iter(range(10**6))

        def grow() -> None:
            turn = next(turns)
            for ledger in (many, little):
                _say(ledger, "-w-shop/0.jsonl", 10**6 + turn, 1)

        def both(index: DialogueIndex, ledger: Ledger) -> None:
            grow()
            assert index.refresh(ledger)

        return compare(lambda: both(large, many), lambda: both(small, little), rounds)


def _texts(ledger: Ledger) -> list[tuple[int, str]]:
    return ledger.plain_rows("SELECT id, content FROM memory_transcript_entries ORDER BY id")


def _bare(path: Path, texts: list[tuple[int, str]]) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(_BARE)
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO words (rowid, body) VALUES (?, ?)", texts)
    connection.execute("COMMIT")
    return connection


@contextmanager
def _spoken(folder: Path, count: int) -> Iterator[Ledger]:
    """Open a ledger in which so many utterances stand, in 200 transcripts."""
    with open_ledger(Home(folder).ledger) as ledger:
        files = min(_FILES, count)
        with ledger.together():
            for number in range(files if not _texts(ledger) else 0):
                _say(ledger, f"-w-shop/{number}.jsonl", 0, count // files)
        yield ledger


def _say(ledger: Ledger, key: str, first: int, count: int) -> None:
    chance = random.Random(f"{key} {first}")
    begin_ingest(ledger, key, f"/t/{key}", size=first + count, mtime_ms=0)
    commit_ingest(
        ledger,
        key,
        _entries(key, first, count, chance),
        cursor_json="{}",
        offset=first + count,
        size=first + count,
        mtime_ms=0,
        restarted="",
        bad=[],
        type_counts={},
        abandoned=lambda _: set(),
        gap_minutes=60,
        now=_BEGIN,
    )


def _entries(key: str, first: int, count: int, chance: random.Random) -> Iterator[Entry]:
    for number in range(first, first + count):
        person = number % 2 == 0
        yield Entry(
            number,
            1,
            0,
            "user" if person else "assistant",
            f"{key}{number}",
            None,
            key,
            prose(chance, _WORDS),
            "person" if person else "assistant",
            "typed" if person else "prose",
            at=iso(_BEGIN + timedelta(seconds=number)),
            at_source="own",
            chained=False,
        )
