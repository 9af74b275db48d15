"""Nothing is destroyed: what a dropped generation alone held of a memory's text goes to the archive."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.core.errors import ConflictError
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence
from pipeline.domain.sentences import sentences
from pipeline.revision import Door, Replacement, amended
from pipeline.store import ChangeSet, Document, Store, fsck, scan_archive
from pipeline.verify.flaw import Flaw
from tests.support.kept import kept_anywhere, texts_of
from tests.support.stores import NOW, memory, tree

KINDS = (
    "add",
    "amend",
    "describe",
    "extend",
    "merge",
    "supersede",
    "retire",
    "undo",
    "redo",
    "pin",
    "edit",
    "rename",
)


class Life:
    """A store that lives through random revisions, and each text that ever stood in a live file of it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.random = random.Random(seed)
        self.now = NOW
        self.count = 0
        self.seen: set[str] = set()
        self.done: list[str] = []

    @property
    def store(self) -> Store:
        return Store.open(self.path, create=True, generations=2)

    def words(self) -> str:
        self.count += 1
        return f"Word{self.count} is {self.random.choice(['red', 'blue', '4'])} now."

    def said(self) -> Evidence:
        self.count += 1
        return Evidence(session="s", uuid=f"u{self.count}", quote="q", at=self.now.isoformat())

    def step(self) -> None:
        """Do one random revision; one that may not be done is passed over."""
        self.now += timedelta(minutes=7)
        store = self.store
        door = Door(store, now=self.now, approved=True)
        documents = store.scan().documents
        kind = self.random.choice(KINDS) if len(documents) > 2 else "add"
        try:
            getattr(self, f"_{kind}")(store, door, documents)
            door.write(
                f"run-{len(self.done)}", f"{self.random.choice(['extraction of x', 'inbox update', kind])}"
            )
        except ConflictError:
            return
        self.done.append(kind)
        self.seen |= texts_of(store)

    def _one(self, documents: list[Document]) -> Document:
        return self.random.choice(documents)

    def _add(self, store: Store, door: Door, documents: list[Document]) -> None:
        name = f"fact-{self.random.randrange(6)}"
        body = Body(f"{self.words()} {self.words()}", self.random.choice(["", self.words()])).render()
        kind = self.random.choice(["project", "decision", "user"])
        door.create(memory(name, body=body, type=kind, description=self.words(), sources=(self.said(),),
                           id=f"{self.random.getrandbits(64):016x}"))  # fmt: skip

    def _amend(self, store: Store, door: Door, documents: list[Document]) -> None:
        item = self._one(documents)
        number = self.random.randint(1, max(1, len(sentences(item.memory.body))))
        text = self.random.choice(["", self.words()])
        made, removals = amended(
            item.memory, [Replacement(number, text)], Body(""), [self.said()], now=self.now
        )
        assert not isinstance(door.revise(item, made, removals), Flaw)

    def _describe(self, store: Store, door: Door, documents: list[Document]) -> None:
        item = self._one(documents)
        door.revise(item, replace(item.memory, description=self.words(), title=self.words()))

    def _extend(self, store: Store, door: Door, documents: list[Document]) -> None:
        item = self._one(documents)
        made, removals = amended(item.memory, [], Body(self.words()), [self.said()], now=self.now)
        door.revise(item, made, removals)

    def _rename(self, store: Store, door: Door, documents: list[Document]) -> None:
        item = self._one(documents)
        door.revise(item, replace(item.memory, name=f"name-{self.random.randrange(4)}"), rename=True)

    def _merge(self, store: Store, door: Door, documents: list[Document]) -> None:
        one, two = self.random.sample(documents, 2)
        first = sentences(one.memory.body)
        covered = {two.id: {len(sentences(two.memory.body)): first[0].text}} if first else {}
        door.merge(one, [two], covered, "r")

    def _supersede(self, store: Store, door: Door, documents: list[Document]) -> None:
        one, two = self.random.sample(documents, 2)
        door.supersede(one, [two], "r")

    def _retire(self, store: Store, door: Door, documents: list[Document]) -> None:
        door.retire(self._one(documents), "r")

    def _pin(self, store: Store, door: Door, documents: list[Document]) -> None:
        item = self._one(documents)
        door.bring(store.unpin(item) if item.head.pinned else store.pin(item))

    def _edit(self, store: Store, door: Door, documents: list[Document]) -> None:
        # What a person takes out of a file by hand is theirs to lose; here they only add.
        file = store.root / self._one(documents).path
        file.write_bytes(file.read_bytes().rstrip(b"\n") + f"\n\n{self.words()}\n".encode())

    def _undo(self, store: Store, door: Door, documents: list[Document]) -> None:
        standing = [item for item in store.history() if not item.run.startswith("undo-") and not item.undone]
        if standing:
            store.undo(self.random.choice(standing).run, at=self.now)

    def _redo(self, store: Store, door: Door, documents: list[Document]) -> None:
        undone = [item for item in store.history() if item.run.startswith("undo-") and not item.undone]
        if undone:
            store.undo(self.random.choice(undone).run, at=self.now)


@pytest.mark.parametrize("seed", range(6))
def test_every_sentence_that_was_ever_live_is_live_archived_or_in_a_generation(
    tmp_path: Path, seed: int
) -> None:
    life = Life(tmp_path / "memory", seed)
    for _ in range(40):
        life.step()
    store = life.store
    assert not life.seen - kept_anywhere(store), life.done
    assert len(life.seen) > 30 and len(set(life.done)) > 6
    archived = {item.path for item in scan_archive(store.root).documents}
    assert not any("/earlier/" in path for path in archived)
    codes = {item.code for item in fsck(store)}
    assert codes <= {"duplicate-name"}, codes


def put(store: Store, run: str, reason: str, body: str, name: str = "one") -> None:
    old = store.scan().by_name(name)
    made = memory(name, body=body)
    plan = store.put(replace(old.memory, body=body) if old else made, existing=old)
    store.apply(ChangeSet(run, reason, [plan], NOW), generation=True)


def earlier(store: Store) -> dict[str, bytes]:
    return {path: raw for path, raw in tree(store.root).items() if "/earlier/" in path}


def test_an_undone_creation_outlives_its_generation(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True, generations=1)
    put(store, "run-1", "extraction of x", "Use 3 retries.\n")
    raw = store.read("one").raw
    store.undo("run-1", at=NOW)
    assert store.scan().documents == [] and earlier(store) == {}, "its generation has it"
    for number in range(6):
        put(store, f"more-{number}", "extraction of x", f"Text {number}.\n", f"more-{number}")
    assert "run-1" not in {item.run for item in store.history()}
    assert list(earlier(store).values()) == [raw]


def test_what_stands_elsewhere_is_not_kept_twice(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True, generations=1)
    put(store, "run-1", "extraction of x", "Use 3 retries.\n")
    put(store, "run-2", "extraction of x", "Use 3 retries. Log each.\n")
    put(store, "run-3", "extraction of x", "Use 3 retries. Log each. Tell Mara.\n")
    store.apply(
        ChangeSet("gone", "forget one", [store.retire(store.read("one"), year=2026, reason="r")], NOW),
        generation=True,
    )
    for number in range(3):
        put(store, f"more-{number}", "extraction of x", f"Text {number}.\n", f"more-{number}")
        put(store, f"added-{number}", "forget x", f"Text {number}.\n", f"added-{number}")
    assert earlier(store) == {}


def test_a_generation_stays_while_its_texts_can_not_be_kept(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True, generations=1)
    put(store, "run-1", "extraction of x", "Use 3 retries.\n")
    put(store, "run-2", "extraction of x", "Use 4 retries.\n")
    (tmp_path / "archive").write_text("a file in its place\n")
    put(store, "run-3", "extraction of x", "Use 5 retries.\n")
    assert [item.run for item in store.history()] == ["run-3", "run-2"]
    (tmp_path / "archive").unlink()
    put(store, "run-4", "extraction of x", "Use 6 retries.\n")
    assert [item.run for item in store.history()] == ["run-4"]
    assert {raw.rpartition(b"---\n")[2] for raw in earlier(store).values()} == {
        b"Use 3 retries.\n", b"Use 4 retries.\n",
    }  # fmt: skip


def test_damaged_bytes_hold_up_nothing(tmp_path: Path) -> None:
    store = Store.open(tmp_path, create=True, generations=1)
    put(store, "run-1", "extraction of x", "Use 3 retries.\n")
    for file in (tmp_path / ".reverie/generations/run-1").iterdir():
        if file.suffix != ".json":
            file.write_bytes(b"damaged")
    put(store, "run-2", "extraction of x", "Use 4 retries.\n")
    assert [item.run for item in store.history()] == ["run-2"] and earlier(store) == {}
