"""The pages of a store at a person's word: CORE.md, REFLECTION.md, the diary, and its tags."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest

from pipeline.app import views
from pipeline.app.application import App
from pipeline.app.rebuilding import rebuild
from pipeline.app.views import TagCount
from pipeline.app.writing import NewMemory, store_memory
from pipeline.core import zone
from pipeline.core.errors import InputError, UnknownMemoryError, UsageError
from pipeline.domain.memory import Memory
from pipeline.store import ChangeSet, Episode, Store
from pipeline.store.derived import reflection_page
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory

CLOCKS = "Local time lost an hour in the report of all months when clocks moved, which the zone tells.\n"
SEEDS_REFLECTION = """# Reflection Summary (auto-generated)
> Last updated: 2026-11-27 | Last reflection: 2026-02-13 | Total reflections: 2

## Themes
Top tag co-occurrences revealing recurring themes:

- **fix + python**: 52 memories ("Fix S3 upload", "A title that is so long that it would...", "Other 00")

## Cross-Project Patterns
Tags that span multiple projects:

- **fix**: appears in major-domo (38), vagabond-rpg (22), paper-dynasty (19)

## Most Accessed
Top 10 memories by access count:

1. [Fix S3 upload](s3.md) - 7 accesses
2. [Other 00](o00.md) - 1 access

## Recent Insights
Insight-type memories:

- [Clocks](clocks.md) - Local time lost an hour in the report of all months when clocks moved, which the...

## Consolidation History

- Total merges performed: 1
"""
DIARY = [
    Episode("2026-02-10", "03:00", "Reflection: 1 merge", "reflection"),
    Episode("2026-02-13", "03:00", "Merged a into b", "merge"),
    Episode("2026-02-13", "03:00", "Reflection: 1 merge", "reflection"),
]


def keep(app: App, bench: Bench, content: str, **values: object) -> Memory:
    new = NewMemory(**{"type": "project", "content": content, **values})  # type: ignore[arg-type]
    return store_memory(app, bench.store, new).memory


def tagged(name: str, title: str, importance: float = 0.1, **values: object) -> Memory:
    more = {"tags": ("fix", "python"), "path": f"{name}.md", **values}
    return memory(name, title=title, importance=importance, **more)


def test_the_seed_s_reflection_is_made_line_by_line() -> None:
    made = [
        tagged("s3", "Fix S3 upload", 0.9),
        tagged("long", "A title that is so long that it would take all of a line", 0.8),
        *(tagged(f"o{n:02}", f"Other {n:02}") for n in range(50)),
        memory("clocks", type="insight", title="Clocks", body=CLOCKS, path="clocks.md"),
    ]
    made = [replace(item, description="Said otherwise.") for item in made]
    state = {
        made[0].id: {"access_count": 7},
        made[2].id: {"access_count": 1},
        made[3].id: {"access_count": 0},
    }
    projects = {
        "vagabond-rpg": Counter(fix=22, rpg=3),
        "paper-dynasty": Counter(fix=19),
        "major-domo": Counter(fix=38),
    }
    assert (
        reflection_page.text(made, state, DIARY, projects, NOW.replace(day=27, month=11)) == SEEDS_REFLECTION
    )


def test_pairs_of_tags_that_tell_of_the_same_memories_are_one_theme() -> None:
    made = [
        *(memory(f"a{n}", title=f"A{n}", tags=("ci", "bun", "node"), path=f"a{n}.md") for n in range(5)),
        *(memory(f"b{n}", title=f"B{n}", tags=("ci", "time"), path=f"b{n}.md") for n in range(2)),
    ]
    page = reflection_page.text(made, {}, [], {}, NOW)
    assert re.findall(r"\*\*(.*)\*\*: (\d+)", page) == [("bun + ci + node", "5"), ("ci + time", "2")]
    assert "Total reflections: 0" in page and "Last reflection: never" in page


def test_a_tag_that_known_stores_share_spans_projects(bench: Bench, app: App) -> None:
    keep(app, bench, "The cache is Redis.", tags=["redis", "cache"])
    other = Store.open(bench.store.path.parent.parent / "-home-dev-board" / "memory", create=True)
    other.apply(ChangeSet("x", "x", [other.put(memory("b", tags=("redis",))), other.put(memory("c"))]))
    page = views.reflection(app, bench.store)
    assert page.changed and "- **redis**: appears in " in page.text
    assert re.search(r"\*\*redis\*\*: appears in [\w-]+ \(1\), [\w-]+ \(1\)\n", page.text)
    assert "cache**: appears" not in page.text


def test_the_setting_names_tags_that_are_projects(
    bench: Bench, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_DREAM__PROJECTS", "shop, board")
    for text, tags in (("One.", ["shop", "ci"]), ("Two.", ["board", "ci"]), ("Three.", ["shop", "ci"])):
        keep(app, bench, text, tags=tags)
    page = views.reflection(App(store=bench.store.path), bench.store)
    assert "- **ci**: appears in shop (2), board (1)\n" in page.text


def test_reindex_makes_the_reflection_anew_from_the_store_alone(bench: Bench, app: App) -> None:
    keep(app, bench, "The cache is Redis.", tags=["redis", "cache"])
    bench.store.apply(ChangeSet("d", "d", [bench.store.append_episodes(DIARY[1:])]))  # type: ignore[list-item]
    file = bench.store.root / "REFLECTION.md"
    assert "REFLECTION.md" in rebuild(app)
    first = file.read_bytes()
    assert b"Last reflection: 2026-02-13 | Total reflections: 1" in first
    assert b"merges performed: 1" in first and "REFLECTION.md" not in rebuild(app)
    file.unlink()
    rebuild(app)
    assert file.read_bytes() == first
    file.write_text("# My own\n", "utf-8")
    assert views.reflection(app, bench.store).text == "# My own\n"


def test_a_file_without_an_id_is_counted_too(bench: Bench, app: App) -> None:
    (bench.store.root / "plain.md").write_text("---\nname: plain\ntitle: Plain\n---\nIt holds.\n", "utf-8")
    state = {"version": 1, "entries": {"path:plain.md": {"access_count": 3}}}
    (bench.store.root / "_state.json").write_bytes(orjson.dumps(state))
    assert "1. [Plain](plain.md) - 3 accesses\n" in views.reflection(app, bench.store).text


def test_core_is_made_anew_when_what_is_in_it_has_faded(
    bench: Bench, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(app, bench, "The cache is Redis.", type="configuration")
    assert "[The cache is Redis.]" in views.core(app, bench.store).text
    later = NOW + timedelta(days=60)
    monkeypatch.setenv("REVERIE_NOW", later.isoformat())
    page = views.core(App(store=bench.store.path), bench.store)
    assert page.changed and "Redis" not in page.text and f"Last updated: {later.date()}" in page.text


def test_an_entry_by_hand_stands_in_the_person_s_day(bench: Bench, app: App) -> None:
    made = keep(app, bench, "The cache is Redis.", type="decision", title="Chose Redis", episode=False)
    with zone.using("Asia/Tokyo"):
        entry = views.add_episode(
            app, bench.store, title="Chose\nRedis", type_name="decision", tags=["a b", "c"],
            summary=["It is quick."], memory="chose-redis",
        )  # fmt: skip
        there = zone.minute(NOW)
    assert f"{entry.day} {entry.time}" == there
    assert (bench.store.root / "episodes" / f"{entry.day}.md").read_text("utf-8") == (
        f"# {entry.day}\n\n## {entry.time} - Chose Redis\n- **Type:** decision\n- **Tags:** a b, c\n"
        f"- **Memory:** [chose-redis](../{made.path})\n- **Summary:** It is quick.\n"
    )


@pytest.mark.parametrize(
    ("values", "error", "says"),
    [
        ({"title": " "}, InputError, "has a title"),
        ({"type_name": "merge"}, UsageError, "only a dream"),
        ({"type_name": "reflection"}, UsageError, "only a dream"),
        ({"type_name": "merge "}, UsageError, "only a dream"),
        ({"type_name": "\u2003\n reflection"}, UsageError, "only a dream"),
        ({"type_name": "Merge"}, UsageError, "only a dream"),
        ({"summary": ["The key is ghp_" + "x1Yz" * 9]}, InputError, "holds a secret"),
        ({"memory": "nobody"}, UnknownMemoryError, "nobody"),
    ],
)
def test_an_entry_that_may_not_stand_is_refused(
    bench: Bench, app: App, values: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        views.add_episode(app, bench.store, **{"title": "Ok", **values})  # type: ignore[arg-type]
    assert not (bench.store.root / "episodes").exists()


def test_entries_are_listed_newest_first_and_find_what_moved(bench: Bench, app: App) -> None:
    for title, kind in (("Chose Redis", "decision"), ("Mended the leak", "fix")):
        keep(app, bench, f"{title}.", type=kind, title=title)
    found = views.episodes(app, bench.store)
    assert [(entry.title, entry.type) for entry in found] == [
        ("Mended the leak", "fix"),
        ("Chose Redis", "decision"),
    ]
    assert [entry.title for entry in views.episodes(app, bench.store, kind="decision")] == ["Chose Redis"]
    assert len(views.episodes(app, bench.store, limit=1)) == 1
    plan = bench.store.pin(bench.store.read("chose-redis"))
    bench.store.apply(ChangeSet("pin", "pin", plan))
    (moved,) = views.episodes(app, bench.store, words="redis")
    assert moved.memory == bench.store.read("chose-redis").path and moved.memory.startswith("vault/")


def test_tags_are_counted_and_those_beside_one(bench: Bench, app: App) -> None:
    for number, tags in enumerate((["ci", "bun"], ["ci"], ["ci", "bun", "time"])):
        keep(app, bench, f"Fact {number}.", tags=tags)
    assert views.tags(app, bench.store) == [TagCount("ci", 3), TagCount("bun", 2), TagCount("time", 1)]
    assert views.related_tags(app, bench.store, "ci", 1) == [TagCount("bun", 2)]
    with pytest.raises(InputError, match="no memory has the tag 'x'"):
        views.related_tags(app, bench.store, "x")


def test_the_index_is_right_after_every_change(bench: Bench, app: App) -> None:
    made = keep(app, bench, "The cache is Redis.")
    entry = orjson.loads((bench.store.root / "_index.json").read_bytes())["entries"][made.id]
    assert (entry["name"], entry["content_preview"]) == (made.name, "The cache is Redis.")


def test_a_page_that_somebody_else_wrote_is_never_overwritten(app: App, bench: Bench) -> None:
    page = bench.store.root / "CORE.md"
    page.write_text("# What this shop is about\n\nBoots.\n", "utf-8")
    store_memory(app, bench.store, NewMemory(type="fix", content="The till rounds up."))
    rebuild(app)
    assert page.read_text("utf-8") == "# What this shop is about\n\nBoots.\n"
    with pytest.raises(InputError, match="somebody else wrote it"):
        views.core(app, bench.store)


def test_a_page_of_ours_from_before_is_made_anew(app: App, bench: Bench) -> None:
    store_memory(app, bench.store, NewMemory(type="fix", content="The till rounds up."))
    page = bench.store.root / "CORE.md"
    page.write_text("# Memory Core (auto-generated)\n> old\n", "utf-8")
    assert "The till rounds up" in views.core(app, bench.store).text
