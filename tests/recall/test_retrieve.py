"""Which memories come to a prompt: the right ones, once, as their files are now, and mostly none."""

import os
from pathlib import Path
from typing import Any

import pytest

from pipeline.recall import Budget, retrieve
from pipeline.recall.live import candidates, fence
from tests.support.recall import MOMENT, NOW, Desk

DEPLOY = "how do we deploy to staging?"


def ask(desk: Desk, prompt: str = DEPLOY, budget: Budget | None = None, **options):
    found = retrieve(
        prompt, desk.store, budget, home=desk.home, now=MOMENT, root=str(desk.project), **options
    )
    assert found.chars == fence.size(found.text) and bool(found.items) == bool(found.text)
    return found


def names(desk: Desk, prompt: str = DEPLOY, budget: Budget | None = None, **options) -> list[str]:
    return [item.name for item in ask(desk, prompt, budget, **options).items]


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A project that knows a few things, with its index made."""
    desk.write(
        "staging-deploys", "Deploy to staging with make ship.", "Needs the vpn. `make ship` asks twice."
    )
    desk.write("prefers-tabs", "Indent with tabs, never spaces.", "Said in a review.", type="feedback")
    desk.write("billing-rounds-up", "Invoices round up to full cents.", "The tax office wants it so.")
    desk.write("postgres-port", "The local postgres listens on 5433.", "5432 is taken by the other project.")
    desk.index()
    return desk


def test_the_memory_a_prompt_is_about_comes_with_all_that_tells_it(full: Desk) -> None:
    found = ask(full)
    (item,) = found.items
    assert (item.name, item.path, item.store) == ("staging-deploys", "staging-deploys.md", str(full.store))
    assert item.why == ["deploy", "staging"] and item.score > 0.3
    assert (item.said, item.origin, item.type) == (NOW, "user-stated", "project")
    assert "make ship" in item.text and item.text in found.text and found.text.startswith(fence.HEADER)
    assert found.left_out == 0 and found.tokens == -(-found.chars // 4)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("wie war das mit dem postgres port?", ["postgres-port"]),
        ("connection refused on 5433", ["postgres-port"]),
        ("invoices come out one cent too high, round up?", ["billing-rounds-up"]),
        ("add a button to the settings page", []),
        ("why does the parser test fail", []),
        ("write a haiku", []),
        ("ok thanks", []),
        ("/review staging", []),
        ("!make ship staging", []),
        ("", []),
        ("x" * 1_000_000, []),
    ],
)
def test_most_prompts_get_nothing(full: Desk, prompt: str, expected: list[str]) -> None:
    assert names(full, prompt) == expected


def test_a_follow_up_is_understood_by_what_was_said_before(full: Desk) -> None:
    before = "Which port does the local postgres database listen on?"
    plain, helped = ask(full, "and the port?"), ask(full, "and the port?", context=before)
    assert helped.considered
    assert max(item.score for item in helped.considered) > max(
        [item.score for item in plain.considered], default=0
    )


def test_the_same_question_gets_the_same_bytes(full: Desk) -> None:
    assert ask(full).text == ask(full).text


@pytest.mark.parametrize("indexed", [True, False])
def test_bug_111_files_decide_while_no_worker_is_alive(desk: Desk, indexed: bool) -> None:
    for name in "abd":
        desk.write(f"note-{name}", f"Deploys to staging {name}.", "Old words.")
    stamps = {path: path.stat().st_mtime_ns for path in desk.store.glob("*.md")}
    if indexed:
        desk.index()
    (desk.store / "note-a.md").unlink()
    b = desk.store / "note-b.md"
    b.write_text(b.read_text().replace("Old words.", "New words."))
    c = desk.write("note-c", "Deploys to staging c.", "By hand.")
    (desk.store / "note-d.md").rename(desk.store / "other-d.md")
    for path, old in (*stamps.items(), (c, min(stamps.values()))):
        if path.exists():
            os.utime(path, ns=(old, old))
    found = ask(desk, budget=Budget(floor=0.5))
    assert sorted(item.path for item in found.items) == ["note-b.md", "note-c.md", "other-d.md"]
    assert "New words." in found.text and "Old words." in found.text and "staging a" not in found.text
    assert next(item for item in found.items if item.path == "note-b.md").text.count("Old words.") == 0


def test_bug_111_a_change_is_seen_in_a_store_too_large_to_look_at_whole(full: Desk) -> None:
    """The folder's own time tells of new and gone files; a suggested file is always looked at."""
    for at in range(candidates.SMALL):
        (full.store / f"note-{at}.md").write_bytes(b"---\nname: note-%d\n---\nNothing of note.\n" % at)
    full.index()
    assert names(full) == ["staging-deploys"]
    file = full.store / "staging-deploys.md"
    file.write_text(file.read_text().replace("Needs the vpn", "Needs no vpn"))
    assert "Needs no vpn" in ask(full).text
    full.write("staging-deploys-two", "Deploy to staging on fridays too.", "x")
    file.unlink()
    assert names(full) == ["staging-deploys-two"]


def test_at_most_so_many_changed_files_are_read(desk: Desk) -> None:
    for at in range(candidates.MOST_READ + 5):
        desk.write(f"staging-deploy-{at}", "Deploy to staging.", str(at))
    seen = [item.memory for item in ask(desk).considered]
    assert len(seen) == candidates.MOST_READ


@pytest.mark.parametrize("damage", [b"", b"no database at all", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_told_and_the_files_are_read(full: Desk, damage: bytes) -> None:
    full.index_file().write_bytes(damage)
    for beside in full.index_file().parent.glob("*-*"):
        beside.unlink()
    found = ask(full)
    assert [item.name for item in found.items] == ["staging-deploys"]
    assert len(found.problems) == 1 and "index" in found.problems[0]


@pytest.mark.parametrize("indexed", [True, False])
def test_bug_107_the_old_and_the_new_carry_their_dates_and_the_retired_stays_away(
    desk: Desk, indexed: bool
) -> None:
    desk.write("release-blocked", "The release is blocked by bug 12.", "", said="2026-05-11T10:00:00+00:00")
    desk.write("release-friday", "The release is blocked no more.", "")
    desk.write("release-old", "The release is blocked.", "", more="status: superseded\n")
    desk.write("release-gone", "The release is blocked.", "", store=desk.store / "archive" / "2026")
    if indexed:
        desk.index()
    found = ask(desk, "is the release blocked?", Budget(floor=0.5))
    assert sorted(item.name for item in found.items) == ["release-blocked", "release-friday"]
    assert 'said="2026-05-11, 200 days ago"' in found.text and 'said="2026-11-27, today"' in found.text
    assert "outdated" in found.text.splitlines()[0]


def test_bug_110_what_the_session_has_is_not_sent_again(full: Desk) -> None:
    (item,) = ask(full).items
    assert names(full, sent={item.id: item.digest}) == []
    assert names(full, sent={"anything": item.digest}) == []
    file = full.store / item.path
    file.write_text(file.read_text().replace("asks twice", "asks once"))
    assert names(full, sent={item.id: item.digest}) == ["staging-deploys"]


def test_bug_110_a_session_is_not_told_what_it_taught(desk: Desk) -> None:
    desk.write("staging-deploys", "Deploy to staging with make ship.", "", session="s-7")
    assert names(desk, session="s-7") == []
    assert names(desk, session="s-8") == ["staging-deploys"]
    desk.index()
    assert names(desk, session="s-7") == []
    assert ask(desk, session="s-7").considered[0].verdict == "learned in this very session"


FILLERS = {"ascii": "word ", "cjk": "設定の値 ", "emoji": "🚀🔧 "}


@pytest.mark.parametrize("filler", FILLERS)
@pytest.mark.parametrize("chars", [9_500, 3_000])
def test_bug_108_the_text_stays_below_the_hosts_limit(desk: Desk, filler: str, chars: int) -> None:
    for at in range(4):
        desk.write(f"staging-deploy-{at}", "Deploy to staging.", FILLERS[filler] * 800)
    weaker: dict[str, Any] = {"more": "pinned: true\n", "said": "2020-01-01T00:00:00Z"}
    desk.write("staging-vpn-4", "Deploy over the vpn, says the wiki.", FILLERS[filler] * 800, **weaker)
    found = ask(desk, budget=Budget(chars=chars, floor=0.5))
    assert max(len(found.text), len(found.text.encode("utf-16-le")) // 2) <= chars
    assert found.text.count("</recollection>") == len(found.items) == 5 - found.left_out
    assert found.items == [] or found.items[0].name == "staging-vpn-4", "pinned come first"
    if found.left_out:
        assert found.text == "" or f"{found.left_out} more match" in found.text.splitlines()[-1]


def test_bug_108_one_endless_memory_is_cut_and_says_where_the_rest_is(desk: Desk) -> None:
    file = desk.write("staging-deploys", "Deploy to staging.", "日本語テキスト" * 4300)
    (item,) = ask(desk).items
    assert fence.size(item.text) < 700 and f"[the rest is in {file}]" in item.text
    assert "\ufffd" not in item.text


@pytest.mark.parametrize(("left", "count"), [(60_000, 1), (700, 1), (300, 0), (0, 0), (-5, 0)])
def test_a_session_has_its_own_budget(full: Desk, left: int, count: int) -> None:
    found = ask(full, budget=Budget(session_chars_left=left))
    assert len(found.items) == count and found.left_out == 1 - count


def test_the_best_come_and_the_others_are_counted(desk: Desk) -> None:
    for at in range(8):
        desk.write(f"staging-deploy-{at}", "Deploy to staging.", str(at))
    found = ask(desk, budget=Budget(memories=3, floor=0.5))
    assert len(found.items) == 3 and found.left_out == 5
    assert found.text.endswith("5 more match; `reverie recall` with a question shows them.")
    assert names(desk, budget=Budget(memories=0)) == []


def test_the_floor_can_be_moved(full: Desk) -> None:
    assert names(full, budget=Budget(floor=9.0)) == []
    assert "below the floor" in ask(full, budget=Budget(floor=9.0)).considered[0].verdict


def test_the_user_scope_is_looked_at_too_and_says_so(full: Desk) -> None:
    full.write("staging-vpn", "Deploys to staging need the vpn on.", "", store=full.user_store)
    found = ask(full, user_store=full.user_store)
    assert [item.name for item in found.items] == ["staging-deploys", "staging-vpn"]
    assert 'scope="all projects"' in found.items[1].text and "scope" not in found.items[0].text
    assert names(full) == ["staging-deploys"]


def test_one_memory_in_two_places_comes_once(full: Desk) -> None:
    copy = full.user_store / "copy.md"
    copy.parent.mkdir(parents=True)
    copy.write_bytes((full.store / "staging-deploys.md").read_bytes())
    assert names(full, user_store=full.user_store) == ["staging-deploys"]
    found = ask(full, user_store=full.store)
    assert len(found.considered) == 1 and 'scope="all projects"' in found.text


@pytest.mark.parametrize("indexed", [True, False])
def test_two_that_give_one_id_are_two_memories(desk: Desk, indexed: bool) -> None:
    """A copy that was written on, here or in another scope, hides nothing of the first."""
    first = desk.write("staging-deploys", "Deploys to staging need the vpn on.", "Ask Mara for it.")
    copy = first.read_text("utf-8").replace("staging-deploys", "staging-windows")
    copy = copy.replace("need the vpn on", "start at noon").replace("Ask Mara for it", "Ben calls first")
    (desk.store / "staging-windows.md").write_text(copy, "utf-8")
    everywhere = desk.user_store / "staging-nights.md"
    everywhere.parent.mkdir(parents=True)
    everywhere.write_text(copy.replace("windows", "nights").replace("at noon", "at midnight"), "utf-8")
    if indexed:
        desk.index()
    found = names(desk, user_store=desk.user_store)
    assert sorted(found) == ["staging-deploys", "staging-nights", "staging-windows"]


def test_links_are_never_followed(desk: Desk, tmp_path: Path) -> None:
    outside = desk.write("secret", "Deploy to staging with the secret.", "", store=tmp_path / "outside")
    desk.write("other", "x", "y")
    (desk.store / "link.md").symlink_to(outside)
    (desk.store / "vault").symlink_to(outside.parent)
    assert names(desk) == []


def test_the_files_a_memory_is_about_are_checked(desk: Desk) -> None:
    (desk.project / "src").mkdir()
    desk.write("staging-deploys", "Deploy to staging with ship.", "", anchors="src/ship.py")
    assert ask(desk).items[0].freshness == "src/ship.py is gone"
    (desk.project / "src" / "ship.py").touch()
    assert 'files="all there"' in ask(desk).text


def test_a_pick_of_the_worker_needs_less(full: Desk) -> None:
    prompt = "the vpn again and then the parser and the lexer and the tokens of the grammar"
    assert names(full, prompt) == []
    assert names(full, prompt, picks=["staging-deploys"]) == ["staging-deploys"]
    assert names(full, "the parser and the lexer", picks=["staging-deploys"]) == []


@pytest.mark.parametrize("place", ["nowhere", "file"])
def test_a_store_that_is_none_holds_nothing(desk: Desk, place: str) -> None:
    (desk.project / "file").write_bytes(b"")
    found = retrieve(DEPLOY, desk.project / place, home=desk.home)
    assert (found.items, found.text, found.considered) == ([], "", [])


def test_nothing_is_written(full: Desk) -> None:
    def everything() -> dict[Path, int]:
        found = [path for place in (full.store, full.home) for path in place.rglob("*")]
        # SQLite keeps two small files beside an index while it is read.
        return {
            path: path.stat().st_mtime_ns for path in found if path.is_file() and path.suffix[-4:-3] != "-"
        }

    before = everything()
    assert names(full) == ["staging-deploys"]
    assert everything() == before
