"""Ids of files that Reverie did not write: the same at every look, and under a new name."""

import json
from pathlib import Path

import pytest

from pipeline.core.clock import SystemClock
from pipeline.store import Store
from pipeline.store.files.identity import Identity
from pipeline.store.ownership.identities import FILE
from tests.support.stores import settled

TEXT = "---\nname: deploys\n---\n\nDeploy on Mondays.\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def ids(store: Store) -> dict[str, str]:
    return {document.path: document.id for document in Store.open(store.root).scan().documents}


def keep(store: Store) -> None:
    """Note every file as it is."""
    found = [(document, document.identity) for document in store.scan().documents]
    store.identities.keep(
        Identity(document.path, known.id, document.digest) for document, known in found if known is not None
    )


def test_a_file_has_an_id_before_anything_is_noted_and_keeps_it(store: Store) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    first = ids(store)
    assert len(first["a.md"]) == 36 and not (store.root / FILE).exists()
    keep(store)
    (store.root / "a.md").write_text(TEXT + "And Tuesdays.\n", "utf-8")
    assert ids(store) == first
    assert (store.root / "a.md").read_text("utf-8") == TEXT + "And Tuesdays.\n"


def test_two_stores_give_the_same_name_two_ids(tmp_path: Path) -> None:
    stores = [Store.open(tmp_path / name, create=True) for name in ("one", "two")]
    for store in stores:
        (store.root / "a.md").write_text(TEXT, "utf-8")
    assert ids(stores[0])["a.md"] != ids(stores[1])["a.md"]


def test_a_renamed_file_keeps_its_id_and_a_copy_gets_another(store: Store) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    keep(store)
    before = ids(store)["a.md"]
    (store.root / "copy.md").write_text(TEXT, "utf-8")
    assert ids(store)["a.md"] == before != ids(store)["copy.md"]
    (store.root / "a.md").unlink()
    (store.root / "copy.md").rename(store.root / "b.md")
    assert ids(store) == {"b.md": before}


def test_an_id_of_the_files_own_goes_first(store: Store) -> None:
    own = "6b0c0000-0000-4000-8000-000000000000"
    (store.root / "a.md").write_text(TEXT.replace("name", f"id: {own}\nname"), "utf-8")
    assert ids(store) == {"a.md": own}
    store.identities.keep([Identity("a.md", "another")])
    assert ids(store) == {"a.md": own}


def test_the_id_stands_in_the_index_and_not_in_the_file(store: Store) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    store.reindex(now=SystemClock().now())
    entries = json.loads((store.root / "_index.json").read_bytes())["entries"]
    assert list(entries) == [ids(store)["a.md"]]
    assert entries[ids(store)["a.md"]]["id"] == ids(store)["a.md"]
    settled(store.root)
    (document,) = Store.open(store.root).scan().documents
    assert document.cached and document.own_id == "" and document.id in entries
    assert (store.root / "a.md").read_text("utf-8") == TEXT


@pytest.mark.parametrize(
    "line",
    [b"{", b"[]", b'"a.md"', b'{"path":"a.md"}', b'{"path":"a.md","id":""}', b'{"path":"a.md","id":3}',
     b'{"path":"a.md","id":"x","digest":7}', b'{"path":"a.md","id":"x","tended":"yes"}', b"\xff\xfe"],
)  # fmt: skip
def test_an_odd_line_is_nobodys_word(store: Store, line: bytes) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    before = ids(store)
    (store.root / FILE).parent.mkdir(exist_ok=True)
    (store.root / FILE).write_bytes(line + b"\n")
    assert ids(store) == before
    (document,) = Store.open(store.root).scan().documents
    assert not document.tended


def test_what_was_said_of_other_bytes_lets_nobody_change_the_file(store: Store) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    (document,) = store.scan().documents
    store.identities.keep([Identity("a.md", "an-id", document.digest, "claude", "call", tended=True)])
    (document,) = store.scan().documents
    assert document.tended
    (store.root / "a.md").write_text(TEXT + "By hand.\n", "utf-8")
    (document,) = store.scan().documents
    assert (document.id, document.tended) == ("an-id", False)


def test_the_record_stays_as_long_as_its_files(store: Store) -> None:
    (store.root / "a.md").write_text(TEXT, "utf-8")
    for number in range(120):
        store.identities.keep([Identity("a.md", "an-id", str(number))])
    store.identities.compact()
    lines = (store.root / FILE).read_text("utf-8").split()
    assert [json.loads(line)["digest"] for line in lines] == ["119"]
