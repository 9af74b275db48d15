"""For any store and any changes: undo restores every byte, and twice applied is once applied."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.core.errors import ConflictError
from pipeline.store import ChangeSet, Store, WriteFile, fsck
from tests.support.stores import NOW, memory, save, tree

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40)
TYPES = st.sampled_from(["user", "feedback", "project", "fix", "decision", "task"])
MEMORIES = st.builds(
    lambda name, type, body, pinned, dated: memory(
        f"m {name}", type=type, body=body, pinned=pinned, created=NOW if dated else None,
        updated=NOW if dated else None,
    ),
    TEXT, TYPES, TEXT, st.booleans(), st.booleans(),
)  # fmt: skip
ACTS = st.sampled_from(["rewrite", "retire", "pin", "unpin", "leave", "edit"])
INDEXES = st.sampled_from([None, b"", b"# Mine", b"# Mine\r\n- a line\r\n", b"- [x](m.md)\n\n"])

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
many = settings(
    max_examples=10,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)


def planned(store, acts, new, text):
    """Plan one act for each memory of `store`, and the `new` ones; what may not be done is left out."""
    operations = []
    for item, act in zip(store.scan().documents, acts, strict=False):
        if act == "rewrite" and store.is_ours(item):
            operations.append(store.put(replace(item.memory, body=text, aliases=("was",)), existing=item))
        elif act == "retire":
            operations.append(store.retire(item, year=2026, reason=text, superseded_by="x"))
        elif act in ("pin", "unpin"):
            try:
                operations += getattr(store, act)(item)
            except ConflictError:
                continue
    operations += [store.put(replace(one, id=f"new-{number}")) for number, one in enumerate(new)]
    return [*operations, WriteFile("episodes/2026-11-27.md", text.encode(), None)]


def filled(place, old, acts, index):
    store = Store.open(Path(place), create=True, index_lines=12)
    if index is not None:
        (store.root / "MEMORY.md").write_bytes(index)
    puts = save(store, *(replace(one, id=f"0ld-{number}") for number, one in enumerate(old)))
    for put, act in zip(puts, acts, strict=False):
        if act == "edit":
            (store.root / put.path).write_bytes(put.data + b"by hand\n")
    return store


@many
@given(
    st.lists(MEMORIES, max_size=6), st.lists(ACTS, max_size=6), st.lists(MEMORIES, max_size=4), TEXT, INDEXES
)
def test_undo_restores_every_byte_and_redo_every_change(old, acts, new, text, index):
    with tempfile.TemporaryDirectory() as place:
        store = filled(place, old, acts, index)
        before, ours = tree(store.root), {d.path for d in store.scan().documents if store.is_ours(d)}
        change = ChangeSet("dream", "test", planned(store, acts, new, text))
        store.apply(change, generation=True)
        after = tree(store.root)
        assert store.apply(change, generation=True).already
        assert tree(store.root) == after
        store.undo("dream")
        assert tree(store.root) == before
        assert {d.path for d in store.scan().documents if store.is_ours(d)} == ours
        store.undo("undo-dream")
        assert tree(store.root) == after
        store.undo("dream")
        assert tree(store.root) == before


@many
@given(st.lists(MEMORIES, min_size=1, max_size=5), st.lists(st.lists(ACTS, max_size=5), max_size=4), TEXT)
def test_runs_undone_in_turn_lead_back_step_by_step(old, rounds, text):
    with tempfile.TemporaryDirectory() as place:
        store = filled(place, old, [], None)
        states = []
        for number, acts in enumerate(rounds):
            states.append(tree(store.root))
            operations = planned(store, acts, [], f"{text} {number}")[:-1]
            store.apply(ChangeSet(f"dream-{number}", "test", operations), generation=True)
        for number in reversed(range(len(rounds))):
            store.undo(f"dream-{number}")
            assert tree(store.root) == states[number]
        assert not [item for item in fsck(store) if item.code in ("conflict", "temp-file", "interrupted")]


@many
@given(st.lists(MEMORIES, min_size=1, max_size=6), st.lists(ACTS, min_size=1, max_size=6), TEXT)
def test_no_text_is_ever_in_no_place(old, acts, text):
    with tempfile.TemporaryDirectory() as place:
        store = filled(place, old, acts, None)
        before = {raw for path, raw in tree(store.root).items() if path != "MEMORY.md"}
        store.apply(ChangeSet("dream", "test", planned(store, acts, [], text)), generation=True)
        assert before <= set(tree(store.root).values()) | {item.before for item in store.diff("dream")}
