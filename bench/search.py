"""What a question to the search index costs at 10,000 memories, and what other ways of cutting words would.

Prints milliseconds and ratios: ``python -m bench.search [rounds]``. Words fall as they do in prose (the
n-th most frequent one 1/n as often), since a store in which every word is everywhere tests nothing.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path

from bench.measure import Ratio, compare
from pipeline.search.fts import SearchIndex
from pipeline.search.rows import Content, SearchRow

_PARTS = "ba co de fi gu ha jo ke li mu na po ri so te vu wa xi yo zu"
SYLLABLES = _PARTS.split(" ")
VOCABULARY = 20_000
TOKENIZERS = ("unicode61 remove_diacritics 2", "porter unicode61 remove_diacritics 2", "trigram")
_CUMULATED = list(accumulate(1 / (rank + 1) for rank in range(VOCABULARY)))


def word(rank: int) -> str:
    """Return the `rank`-th most frequent word."""
    parts = []
    while True:
        rank, at = divmod(rank, len(SYLLABLES))
        parts.append(SYLLABLES[at])
        if not rank:
            return "".join(parts) + "n"


def prose(chance: random.Random, count: int) -> str:
    """Return `count` words."""
    return " ".join(map(word, chance.choices(range(VOCABULARY), cum_weights=_CUMULATED, k=count)))


def memories(count: int) -> list[Content]:
    """Return the memories of a store, the same in each run; one in ten restates the one before it."""
    chance = random.Random(count)
    made: list[Content] = []
    for number in range(count):
        description, body = prose(chance, 14), prose(chance, 80)
        if number % 10 == 9:
            kept = made[-1].body.split()
            body = " ".join(chance.sample(kept, len(kept) // 2)) + " " + prose(chance, 40)
        made.append(Content(f"memory-{number}", "", description, ("bench",), body))
    return made


def rows(made: list[Content]) -> list[SearchRow]:
    """Return `made` as the index takes them, in files ``m0.md``, ``m1.md`` and so on."""
    return [SearchRow(f"m{at}.md", str(at), partial(_itself, one)) for at, one in enumerate(made)]


def _itself(one: Content) -> Content:
    return one


def opened(folder: Path, count: int) -> SearchIndex:
    """Return the index of a store of `count` memories."""
    index = SearchIndex.open(folder, folder / f"store-{count}")
    index.sync(rows(memories(count)))
    return index


def growth(folder: Path, rounds: int, many: int = 10_000, few: int = 100) -> Ratio:
    """Twenty questions to an index of 10,000 memories, against the same to one of 100."""
    asked = [row.description for row in memories(few)[::5]]
    with opened(folder, many) as large, opened(folder, few) as small:
        return compare(
            lambda: [large.search(text, 5) for text in asked],
            lambda: [small.search(text, 5) for text in asked],
            rounds,
        )


def costs(folder: Path, count: int = 10_000) -> Iterator[tuple[str, float]]:
    """Yield what was done and its milliseconds, one after another."""
    made = memories(count)
    with SearchIndex.open(folder, folder / "costs") as index:
        yield "ours: build", _ms(lambda: index.sync(rows(made)))
        yield "ours: sync, nothing new", _ms(lambda: index.sync(rows(made)))
        changed = [replace(row, digest="new") for row in rows(made)[:10]] + rows(made)[10:]
        yield "ours: sync, 10 new", _ms(lambda: index.sync(changed))
        yield "ours: search", _median([partial(index.search, one.description, 5) for one in made[::200]])
        near = [partial(index.neighbours, f"{one.description} {one.body}", 7) for one in made[::200]]
        yield "ours: neighbours", _median(near)
        yield "ours: MB", index.path.stat().st_size / 1e6
    for tokenizer in TOKENIZERS:
        yield from _plain(folder, tokenizer, made)


def _plain(folder: Path, tokenizer: str, made: list[Content]) -> Iterator[tuple[str, float]]:
    """Yield the costs of SQLite's own tokenizer, asked for every word of the question."""
    path = folder / "plain.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f'CREATE VIRTUAL TABLE words USING fts5(text, tokenize="{tokenizer}")')

    def fill() -> None:
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO words VALUES (?)", [(f"{one.description} {one.body}",) for one in made]
        )
        connection.execute("COMMIT")

    def ask(text: str) -> object:
        match = " OR ".join(f'"{one}"' for one in text.split())
        return connection.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 5", (match,)
        ).fetchall()

    yield f"{tokenizer}: build", _ms(fill)
    yield f"{tokenizer}: search", _median([partial(ask, one.description) for one in made[::200]])
    yield f"{tokenizer}: MB", path.stat().st_size / 1e6
    connection.close()


def likeness(folder: Path, count: int) -> Iterator[tuple[str, float]]:
    """Yield the likeness of restated memories, and of the nearest unrelated one: a floor goes between."""
    made = memories(count)
    with opened(folder, count) as index:
        twins, others = [], []
        for number in range(9, count, max(10, count // 100)):
            number -= number % 10 - 9
            found = dict(index.neighbours(f"{made[number].description} {made[number].body}", 7))
            twins.append(found.pop(f"m{number - 1}.md", 0.0))
            found.pop(f"m{number}.md", None)
            others.append(max(found.values(), default=0.0))
    yield f"{count}: least likeness of a restated pair", min(twins)
    yield f"{count}: greatest likeness of an unrelated pair", max(others)


def _ms(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def _median(work: Sequence[Callable[[], object]]) -> float:
    return statistics.median(map(_ms, work))


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, value in costs(place):
            print(f"{name:50} {value:10.2f}")
        for count in (100, 1_000, 10_000):
            for name, value in likeness(place, count):
                print(f"{name:50} {value:10.2f}")
        print(f"10,000 memories against 100: {growth(place, rounds)}")


if __name__ == "__main__":
    main()
