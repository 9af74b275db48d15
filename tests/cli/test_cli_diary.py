"""`timeline` and `day` over what conversations left in the diary."""

import os
import shutil
from pathlib import Path

import pytest

from pipeline.store import ChangeSet, Episode, Store

DAYS = {
    "2026-11-18": [("09:10", "Set up the gateway", ["Three retries were agreed.", "At five it bans us."])],
    "2026-11-20": [
        ("10:00", "Chose bun over pnpm", ["The CI moved."]),
        ("16:30", "Fixed the Übersicht – 日本", []),
    ],
}


@pytest.fixture
def diary(desk):
    """A project whose diary has two days, as extraction writes them."""
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    store = Store.open(desk.store)
    shutil.rmtree(store.root / "episodes")  # That of the command itself.
    for date, entries in DAYS.items():
        for number, (time, title, summary) in enumerate(entries):
            entry = Episode(date, time, title, "conversation", ("ci", "tools"), tuple(summary), "ship.md")
            page = store.append_episodes([entry])
            assert page is not None
            store.apply(ChangeSet(f"{date}-{number}", "extraction", [page]))
    return desk


def test_timeline_lists_the_newest_day_first(diary):
    told = diary.here("timeline")
    assert told.out.splitlines() == [
        "2026-11-20",
        "  10:00  Chose bun over pnpm",
        "  16:30  Fixed the Übersicht – 日本",
        "2026-11-18",
        "  09:10  Set up the gateway",
    ]
    assert "3 entries" in told.err and "reverie day 2026-11-20" in told.err


@pytest.mark.parametrize(
    ("options", "days"),
    [
        (["--since", "2026-11-19"], ["2026-11-20"]),
        (["--since", "2026-11-21"], []),
        (["--limit", "1"], ["2026-11-20"]),
        (["bun", "ci"], ["2026-11-20"]),
        (["RETRIES"], ["2026-11-18"]),
        (["--since", "3d"], ["2026-11-20", "2026-11-18"]),
        (["--since", "yesterday"], ["2026-11-20"]),
    ],
    ids=str,
)
def test_timeline_can_be_narrowed(diary, options, days):
    found = diary.here("timeline", *options, "--json", REVERIE_NOW="2026-11-21T08:00:00Z").json
    assert [page["day"] for page in found] == days


def test_a_day_is_shown_whole_and_the_newest_by_itself(diary):
    told = diary.here("day").out
    assert told.startswith("2026-11-20\n\n10:00  Chose bun over pnpm\n       - The CI moved.\n")
    assert "tags: ci, tools" in told and "memory: ship.md" in told
    assert "- At five it bans us." in diary.here("day", "2026-11-18").out
    entry = diary.here("day", "yesterday", "--json", REVERIE_NOW="2026-11-21T08:00:00Z").json["entries"][0]
    assert (entry["run"], entry["summary"]) == ("", ["The CI moved."])


def test_a_day_without_entries_says_which_has_some(diary):
    said = diary.here("day", "2026-11-19", code=1).err
    assert "nothing was written on 2026-11-19" in said and "2026-11-20" in said
    assert "reverie timeline" in said


def test_a_person_s_own_lines_on_a_page_hide_no_entry(diary):
    page = diary.store / "episodes" / "2026-11-18.md"
    page.write_text(
        page.read_text("utf-8") + "\nmine\n## no time\n## 11:11 - By hand\n- **Summary:** Mine.\n"
    )
    assert [entry["title"] for entry in diary.here("day", "2026-11-18", "--json").json["entries"]] == [
        "Set up the gateway",
        "By hand",
    ]


@pytest.mark.parametrize("page", [b"", b"# mine\nno entry\n", b"\xff\xfe\0", None, os.mkfifo, Path.mkdir])
def test_an_odd_page_hides_no_other(diary, page):
    """Also one that is newer than all."""
    for name in ("2026-11-25", "2026-11-19", "9999-99-99"):
        file = diary.store / "episodes" / f"{name}.md"
        if isinstance(page, bytes):
            file.write_bytes(page)
        elif page is None:
            file.symlink_to("/etc/hostname")
        else:
            page(file)
    told = diary.here("timeline")
    assert told.out.count("\n  ") == 3 and told.out.startswith("2026-11-20\n")
    assert diary.here("day", "--json").json["day"] == "2026-11-20"
    said = diary.here("day", "2026-11-25", code=1).err
    assert "fault" not in said and "Errno" not in said


def test_an_empty_diary_says_how_it_comes_to_be(desk):
    assert desk.here("timeline").out == "the diary has no entry yet\n"
    for command, code in (("timeline", 0), ("timeline --since 7d", 0), ("day", 1), ("day 2026-11-18", 1)):
        said = desk.here(*command.split(), code=code).err
        assert "There is no model now" in said and "`reverie doctor`" in said
        with_key = {"REVERIE_MODEL__PROVIDER": "anthropic", "ANTHROPIC_API_KEY": "k"}
        assert "no model" not in desk.here(*command.split(), code=code, **with_key).err
    assert "when it is over" in desk.here("day", code=1).err
    assert desk.here("timeline", "--json").json == []
