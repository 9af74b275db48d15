"""Which memories a dream looks at: those that changed and their neighbours, in bounded groups."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.consolidation.choose.select import by_search, clusters, text_of
from pipeline.domain.operations import Cluster
from pipeline.search.fts import SearchIndex
from pipeline.search.refresh import search_rows
from pipeline.store import Store
from pipeline.store.files import document
from tests.support.stores import NOW, memory, save


def stored(tmp_path, count=0, *more, **values):
    """Return the documents of a store with memories m0, m1, … (ids the same), m0 changed longest ago."""
    store = Store.open(tmp_path / "store", create=True)
    made = [
        memory(f"m{n}", id=f"m{n}", updated=NOW + timedelta(days=n), **{"body": f"Fact {n}.\n", **values})
        for n in range(count)
    ]
    save(store, *made, *more)
    return store.scan().documents


def near(**pairs):
    """Return a neighbours function from `m0=["m1"]`."""
    return lambda one: pairs.get(one.id, [])


def shown(selection):
    return [list(cluster.ids + cluster.fixed) for cluster in selection.clusters]


def test_a_change_comes_with_its_neighbours_and_nothing_else(tmp_path):
    found = clusters(stored(tmp_path, 6), {"m1"}, near(m1=["m4", "m2"], m4=["m5"]))
    assert found.clusters == (Cluster(("m1", "m2", "m4")),)
    assert (found.carried_over, found.left_out) == ((), ())


def test_changes_that_share_a_neighbour_stay_together(tmp_path):
    found = clusters(stored(tmp_path, 6), {"m0", "m3", "m5"}, near(m0=["m2"], m5=["m2"]), max_cluster=3)
    assert shown(found) == [["m0", "m2", "m5"], ["m3"]]


def test_groups_without_links_share_a_cluster_while_there_is_room(tmp_path):
    found = clusters(stored(tmp_path, 8), {"m0", "m1", "m2"}, near(m0=["m5"], m1=["m6", "m7"]), max_cluster=4)
    assert shown(found) == [["m0", "m2", "m5"], ["m1", "m6", "m7"]]


def test_nothing_changed_is_nothing_to_look_at(tmp_path):
    found = clusters(stored(tmp_path, 3), set(), near(m0=["m1"]))
    assert (found.clusters, found.carried_over) == ((), ())


def test_what_does_not_fit_is_carried_over_and_the_oldest_change_comes_first(tmp_path):
    found = clusters(stored(tmp_path, 6), {f"m{n}" for n in range(6)}, near(), max_cluster=2, max_clusters=2)
    assert shown(found) == [["m0", "m1"], ["m2", "m3"]]
    assert found.carried_over == ("m4", "m5")


def test_the_oldest_change_is_told_by_the_time_in_the_file(tmp_path):
    later, never = NOW + timedelta(hours=1), {"created": None, "updated": None}
    some = (memory("a", id="a", updated=later), memory("b", id="b"), memory("c", id="c", **never))
    found = clusters(stored(tmp_path, 0, *some), {"a", "b", "c"}, near(), max_cluster=1)
    assert shown(found) == [["c"], ["b"], ["a"]]


def test_bug_105_what_a_failed_part_left_is_first_in_line_next_time(tmp_path):
    changed = {f"m{n}" for n in range(6)}
    first = ("m5", "m3", "gone")
    found = clusters(stored(tmp_path, 6), changed, near(), max_cluster=2, max_clusters=1, first=first)
    assert shown(found) == [["m3", "m5"]]
    assert found.carried_over == ("m0", "m1", "m2", "m4")


def test_a_group_that_did_not_fit_carries_over_its_changes_but_not_its_neighbours(tmp_path):
    found = clusters(
        stored(tmp_path, 6), {"m0", "m1"}, near(m0=["m4"], m1=["m5"]), max_cluster=2, max_clusters=1
    )
    assert (shown(found), found.carried_over) == ([["m0", "m4"]], ("m1",))


def test_the_nearest_neighbours_win_the_room(tmp_path):
    links = near(m0=["m2", "m3"], m1=["m4", "m3"])
    found = clusters(stored(tmp_path, 6), {"m0", "m1"}, links, max_cluster=2)
    assert shown(found) == [["m0", "m2"], ["m1", "m4"]]


def test_a_cluster_has_no_more_characters_than_it_may(tmp_path):
    documents = stored(tmp_path, 4, body="x" * 1_000)
    found = clusters(documents, {"m0"}, near(m0=["m1", "m2", "m3"]), max_chars=2_600)
    assert shown(found) == [["m0", "m1"]]
    found = clusters(documents, {"m0", "m1", "m2"}, near(), max_chars=2_600)
    assert shown(found) == [["m0", "m1"], ["m2"]]


def test_a_change_too_long_for_any_question_is_left_out_with_the_reason(tmp_path):
    documents = stored(tmp_path, 2, memory("long", id="long", body="x" * 3_000))
    found = clusters(documents, {"m0", "long"}, near(m0=["long"]), max_chars=2_000)
    assert shown(found) == [["m0"]]
    assert found.left_out == (("long", "it is longer than one question may be (2000 characters)"),)


def test_an_id_that_two_files_have_means_one_of_them(tmp_path):
    documents = stored(tmp_path, 2, memory("a", id="same"), memory("b", id="same", body="Other.\n"))
    assert len({document.head.id for document in documents}) == len(documents)
    found = clusters(documents, {"m0", "same"}, near(m0=["same"]))
    assert (shown(found), found.left_out) == ([["m0", "same"]], ())


@pytest.mark.parametrize("by", ["pinned", "foreign", "hand-edited"])
def test_bug_099_what_a_person_owns_is_context_only(tmp_path, by):
    documents = stored(tmp_path, 1, memory("theirs", id="theirs", pinned=by == "pinned"))
    if by == "foreign":
        file = tmp_path / "other" / "theirs.md"
        file.parent.mkdir()
        file.write_bytes(document.compose(memory("theirs", id="theirs")))
        documents = [documents[0], *Store.open(file.parent).scan().documents]
    fixed = {"theirs"} if by == "hand-edited" else set()
    found = clusters(documents, {"m0", "theirs"}, near(theirs=["m0"]), fixed=fixed)
    assert found.clusters == (Cluster(("m0",), ("theirs",)),)


def test_a_group_of_which_nothing_may_change_is_not_asked_about(tmp_path):
    found = clusters(stored(tmp_path, 3), {"m0", "m2"}, near(m0=["m1"]), fixed={"m0", "m1"})
    assert (shown(found), found.carried_over) == ([["m2"]], ())


def test_only_as_many_changes_are_looked_up_as_a_dream_can_show(tmp_path):
    asked = []
    clusters(
        stored(tmp_path, 9),
        {f"m{n}" for n in range(9)},
        lambda one: asked.append(one.id) or [],
        max_cluster=2,
        max_clusters=2,
    )
    assert asked == ["m0", "m1", "m2", "m3"]


def test_a_change_seen_only_as_a_neighbour_still_has_its_turn(tmp_path):
    links = near(m0=["m2"], m2=["m3"])
    found = clusters(stored(tmp_path, 4), {"m0", "m1", "m2"}, links, max_cluster=2, max_clusters=1)
    assert (shown(found), found.carried_over) == ([["m0", "m2"]], ("m1", "m2"))


def test_ids_without_a_memory_are_ignored(tmp_path):
    found = clusters(stored(tmp_path, 2), {"gone", "m0", ""}, near(m0=["lost", "m0", "m1", ""]))
    assert (shown(found), found.carried_over) == ([["m0", "m1"]], ())


LINKS = st.dictionaries(st.integers(0, 11), st.lists(st.integers(0, 14), max_size=5), max_size=12)


@pytest.fixture(scope="module")
def twelve(tmp_path_factory):
    return stored(tmp_path_factory.mktemp("select"), 12)


@given(
    changed=st.sets(st.integers(0, 11)),
    links=LINKS,
    fixed=st.sets(st.integers(0, 11)),
    most=st.integers(1, 5),
    count=st.integers(1, 4),
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=150)
def test_any_selection_keeps_its_bounds_loses_no_change_and_is_the_same_again(
    twelve, changed, links, fixed, most, count, order
):
    neighbours = near(**{f"m{n}": [f"m{one}" for one in some] for n, some in links.items()})
    ids, held = {f"m{n}" for n in changed}, {f"m{n}" for n in fixed}
    options = {"max_cluster": most, "max_clusters": count, "fixed": held}
    found = clusters(twelve, ids, neighbours, **options)
    every = [one for group in shown(found) for one in group]
    assert len(every) == len(set(every))
    assert len(found.clusters) <= count
    for cluster in found.clusters:
        assert cluster.ids
        assert len(cluster.ids + cluster.fixed) <= most
        assert (set(cluster.ids) & held, set(cluster.fixed) - held) == (set(), set())
    assert len(found.carried_over) == len(set(found.carried_over))
    assert not ids or set(found.carried_over) < ids
    assert ids - held <= set(every) | set(found.carried_over)
    shuffled = order.sample(twelve, len(twelve))
    assert clusters(shuffled, ids, neighbours, **options) == found


def test_the_search_index_gives_the_neighbours(tmp_path):
    pnpm = memory(
        "uses-pnpm", id="pnpm", description="Use pnpm, never npm.", body="npm writes a second lock file.\n"
    )
    again = memory(
        "package-manager", id="again", description="Install with pnpm, not npm.", body="Two lock files.\n"
    )
    snow = memory("snow", id="snow", description="It snows in winter.", body="Bring a coat.\n")
    documents = stored(tmp_path, 0, pnpm, again, snow)
    with SearchIndex.open(tmp_path, tmp_path / "store") as index:
        assert index.sync(search_rows(documents)) == 3
        assert by_search(index, documents, limit=1)(pnpm) == ["again"]
        assert by_search(index, documents, floor=0.99)(pnpm) == []
        found = clusters(documents, {"pnpm", "snow"}, by_search(index, documents), max_cluster=2)
    assert sorted(map(sorted, shown(found))) == [["again", "pnpm"], ["snow"]]


def test_all_that_a_person_reads_of_a_memory_is_searched():
    made = memory("slug", title="Title", description="Line.", tags=("tag",), body="Body.\n")
    assert text_of(made) == "slug\nTitle\nLine.\ntag\nBody.\n"
