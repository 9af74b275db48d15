"""History, diff, undo, why: what was changed by whom, old beside new, and how it comes back."""

import json
import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from pipeline.core.ids import new_id
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Replaced
from pipeline.revision import Door, Replacement, amended
from pipeline.store import Episode, Store
from tests.cli.conftest import session
from tests.support.stores import NOW, memory
from tests.support.terminals import on_terminals

ROOT = Path(__file__).resolve().parents[2]
LONG = "Three retries it is for the payment gateway, since at five it bans the shop for an hour and more."


def test_the_history_of_one_memory_is_asked_for_by_its_name(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    desk.here("add", "Tabs, not spaces.", "--user", "--name", "tabs")
    desk.here("update", "ship", "--text", "Ship on Fridays.")
    rows = desk.here("history", "ship", "--json").json
    assert [row["what"] for row in rows] == ["changed ship", "created ship"]
    (row,) = desk.here("history", "tabs", "--json").json
    assert (row["what"], row["scope"], len(desk.here("history", "--json").json)) == (
        "created tabs",
        "user",
        3,
    )
    assert "no memory is called" in desk.here("history", "shop", code=1).err


@pytest.fixture
def changed(desk):
    """A project whose one memory was changed by an extraction; the store and the run come with it."""
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    store = Store.open(desk.store)
    early = Evidence(session="s", uuid="a", quote="three retries", at="2026-01-05T10:00:00+00:00")
    late = Evidence(session="s", uuid="b", quote="four from now on", at="2026-02-05T10:00:00+00:00")
    door = Door(store, now=NOW)
    old = memory(
        "retries", body=f"{LONG} Log each.\n", type="project", sources=(early,),
        replaces=(Replaced("Use 9 retries.", "2025-12-01", "nine"),),
    )  # fmt: skip
    door.create(old)
    door.write(new_id(), "extraction of a.jsonl")
    kept = store.read("retries")
    made, gone = amended(kept.memory, [Replacement(1, "Use 4 retries.")], Body("Tell Mara."), [late], now=NOW)
    door = Door(store, now=NOW)
    door.revise(kept, made, gone)
    run = new_id()
    door.write(run, "extraction of a.jsonl")
    return desk, store, run


def test_diff_shows_old_beside_new(changed):
    desk, _, run = changed
    told = desk.here("diff", run[:8]).out
    assert told.splitlines() == [
        f"{run[:8]}  {NOW:%Y-%m-%d %H:%M}  extraction",
        "",
        "changed  retries",
        "  sources: changed",
        f"  gone  {LONG}",
        "    →   Use 4 retries.",
        "  kept  Log each.",
        "  new   Tell Mara.",
    ]
    raw = desk.here("diff", run[:8], "--raw").out
    assert "--- a/retries.md" in raw and "-Three retries" in raw and "+Use 4 retries." in raw
    assert {item["path"] for item in desk.here("diff", run, "--json").json} >= {"retries.md"}


def test_a_page_of_the_diary_alone_is_no_change_that_anybody_would_undo(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    store = Store.open(desk.store)
    door = Door(store, now=NOW)
    page = store.append_episodes([Episode("2026-11-27", "10:00", "T", "x")])
    assert page is not None
    door.bring([page])
    assert door.write("page-1", "extraction of a.jsonl").paths == ["episodes/2026-11-27.md"]
    assert [item["run"] for item in desk.here("history", "--json").json if item["run"] == "page-1"] == []


def test_diff_and_history_fit_eighty_columns(changed):
    desk, _, run = changed
    for command in (["diff", run], ["history"]):
        shown, _ = on_terminals(command, desk.env, desk.project, 80)
        text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
        assert "retries" in text
        assert max(len(line) for line in text.splitlines()) <= 80, text


def test_history_says_who_and_what_and_its_ids_can_be_used(changed):
    desk, _, run = changed
    told = desk.here("history").out
    assert "extraction" in told and "changed retries" in told and "created ship" in told
    first = desk.here("history", "--json").json[0]
    assert (first["run"], first["by"], first["what"]) == (run, "extraction", "changed retries")
    desk.here("undo", first["short"])
    desk.here("undo", desk.here("history", "--json").json[0]["short"])
    newest = desk.here("history", "--json").json[0]
    assert newest["run"] == f"redo-{run}" and newest["what"].startswith(f"redid {run[:8]}")
    assert desk.here("undo", newest["short"]).out.startswith("undid ")
    assert desk.here("show", "retries").out.count("Three retries it is") == 1


def test_undo_says_of_each_file_what_became_of_it(changed):
    desk, _, run = changed
    told = desk.here("undo", run).out
    assert "as before  retries.md" in told and "removed    archive/2026/earlier/retries-" in told
    desk.here("forget", "ship")
    told = desk.here("undo").out
    assert "restored   ship.md" in told and "removed    archive/" in told and "as before  MEMORY.md" in told


def test_why_tells_what_was_replaced_and_what_each_source_stands_for(changed):
    desk, _, _ = changed
    told = desk.here("why", "retries").out
    assert "replaces: “Use 9 retries.” (said 2025-12-01, as nine)" in told
    first, second = told.split("source 2:")
    assert "stands for: “Use 4 retries.”" in first and "stands for: “Tell Mara.”" in first
    assert "stands for: “Log each.”" in second and "4 retries" not in second
    sources = desk.here("why", "retries", "--json").json["sources"]
    assert [item["sentences"] for item in sources] == [["Use 4 retries.", "Tell Mara."], ["Log each."]]
    assert "replaces" in desk.here("show", "retries").out


def test_days_and_times_are_local_for_a_person_and_utc_for_a_program(changed):
    desk, _, run = changed
    source = desk.here("why", "retries", "--json").json["sources"][0]
    moment = datetime.fromisoformat(source["at"])
    zone = {"REVERIE_EXTRACTION__TIME_ZONE": "Pacific/Kiritimati"}
    shown = moment.astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert moment.utcoffset() == timedelta(0)
    assert f"the person said at {shown:%Y-%m-%d %H:%M}\n" in desk.here("why", "retries", **zone).out
    dream = next(item for item in desk.here("history", "--json").json if item["run"] == run)
    done = datetime.fromisoformat(dream["at"]).astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert f"{done:%Y-%m-%d %H:%M} " in desk.here("history", **zone).out


def test_why_names_a_sentence_that_no_source_stands_for(changed):
    desk, store, _ = changed
    file = store.root / "retries.md"
    file.write_bytes(file.read_bytes() + b"\nBy hand.\n")
    assert "no source stands for: “By hand.”" in desk.here("why", "retries").out
    assert "stands for" not in desk.here("why", "ship").out


def test_a_former_name_is_shown_and_understood(changed):
    desk, store, _ = changed
    kept = store.read("retries")
    door = Door(store, now=NOW)
    door.revise(kept, replace(kept.memory, name="four-retries"), rename=True)
    door.write(new_id(), "extraction of a.jsonl")
    assert "name: four-retries" in desk.here("show", "retries").out
    assert re.search(r"^found as well as +retries$", desk.here("why", "retries").out, re.MULTILINE)
    assert "pinned     four-retries" in desk.here("pin", "retries").out
    desk.here("unpin", "retries")
    assert desk.here("forget", "retries", "--json").json["forgotten"] == "four-retries"
    assert "restored   four-retries.md" in desk.here("restore", "retries").out


def test_what_is_forgotten_stays_so_after_a_purge_and_a_new_install(desk):
    sessions = (
        desk.project.parent / ".claude" / "projects" / str(desk.project).replace("/", "-").replace("_", "-")
    )
    sessions.mkdir(parents=True)
    transcript = session(desk.project).write(sessions)
    desk.here("extract", "--transcript", transcript)
    names = [item["name"] for item in desk.here("list", "--json").json]
    (gone,) = (name for name in names if "naive" in name)
    store = desk.store
    sources = Store.open(store).read(gone).memory.sources
    desk.here("forget", gone)
    desk.here("uninstall", "--purge", "--yes")
    assert not (desk.project.parent / ".claude" / "reverie").exists()
    assert Store.open(store).forgotten().bars(sources, "any-name")
    desk.here("install", "--yes")
    desk.here("extract", "--transcript", transcript)
    assert [item["name"] for item in desk.here("list", "--json").json] == [n for n in names if n != gone]
    lines = (store / ".reverie" / "forgotten.jsonl").read_text().split("\n")
    assert [json.loads(line)["name"] for line in lines if line] == [gone]


def advised(said):
    """Return the one command that the talk of `said` advises."""
    (command,) = re.findall(r"`reverie ([^`]+)`", said.err)
    return command.split()


def test_an_undo_names_one_short_id_that_turns_it_round_however_often(changed):
    desk, _, run = changed
    before = desk.here("show", "retries").out
    said = desk.here("undo", run[:8])
    for number in range(5):
        verb, word = ("redid", "undo it once more") if number % 2 else ("undid", "redo it")
        assert said.out.startswith(f"{verb} extraction of a.jsonl of ") and f"({run[:8]})" in said.out
        assert said.err.startswith(f"To {word}: ")
        command = advised(said)
        assert command == ["undo", run[:8] if number % 2 else f"undo-{run[:8]}"]
        assert all(len(row["short"]) <= len("undo2-") + 8 for row in desk.here("history", "--json").json)
        assert (desk.here("show", "retries").out == before) == bool(number % 2)
        said = desk.here(*command)


def test_a_short_id_means_its_change_to_every_command(changed):
    desk, _, run = changed
    desk.here("undo", run[:8])
    desk.here("undo", f"undo-{run[:8]}")
    for row in desk.here("history", "--json").json:
        whole = desk.here("diff", row["run"], "--json").json
        assert desk.here("diff", row["short"], "--json").json == whole and whole
    assert desk.here("undo", f"redo-{run[:8]}", "--json").json["run"] == f"redo-{run}"
    again = desk.here("undo", f"redo-{run[:8]}")
    assert "was undone before" in again.out and advised(again) == ["undo", f"undo-{run[:8]}"]
    desk.here(*advised(again))
    again = desk.here("undo", f"undo-{run[:8]}")
    assert "was redone before" in again.out and advised(again) == ["undo", run[:8]]
    desk.here(*advised(again))
    assert desk.here("history", "--json").json[0]["what"].startswith(f"undid {run[:8]}")


def test_diff_without_an_id_is_the_latest_change_and_with_a_name_that_of_the_memory(changed):
    desk, _, run = changed
    assert desk.here("diff").out == desk.here("diff", run[:8]).out == desk.here("diff", "retries").out
    assert desk.here("diff", "ship").out.endswith("created  ship\n  new   Ship on Mondays.\n")
    desk.here("pin", "ship")
    assert "pinned  ship" in desk.here("diff").out and "pinned  ship" in desk.here("diff", "ship").out
    desk.here("forget", "ship")
    assert "retired  ship\n  gone  Ship on Mondays." in desk.here("diff", "ship").out
    assert "changed  retries" in desk.here("diff", "retries").out
    said = desk.here("diff", "nobody", code=1).err
    assert "no change is called 'nobody'" in said and "`reverie history`" in said


def test_of_a_change_of_many_a_name_shows_the_one_and_what_speaks_for_it(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    store = Store.open(desk.store)
    door = Door(store, now=NOW)
    for name in ("first", "second"):
        door.create(memory(name, body=f"The {name}.\n", type="project"))
    door.write(new_id(), "extraction of a.jsonl")
    told = desk.here("diff", "second").out
    assert "The second." in told and "first" not in told
    assert [item["path"] for item in desk.here("diff", "second", "--json").json].count("first.md") == 1


def test_a_memory_whose_changes_are_not_kept_has_no_latest_one(desk):
    desk.store.mkdir(parents=True)
    (desk.store / "mine.md").write_text("Mine.\n")
    assert "nothing was changed yet" in desk.here("diff", code=1).err
    assert "no change of “mine” is kept" in desk.here("diff", "mine", code=1).err


def test_a_damaged_change_hides_no_other_from_a_name(changed):
    desk, store, run = changed
    for file in (store.root / ".reverie/generations" / run).iterdir():
        if file.suffix != ".json":
            file.write_bytes(b"damaged")
    assert "created  retries" in desk.here("diff", "retries").out
    assert "not the bytes" in desk.here("diff", run[:8], code=1).err


def test_what_was_edited_by_hand_stands_in_the_history_and_in_diff(changed):
    desk, store, _ = changed
    file = store.root / "retries.md"
    file.write_bytes(file.read_bytes() + b"\nBy hand.\n")
    (store.root / "ship.md").unlink()
    rows = desk.here("history", "--json").json
    by_hand = {row["what"]: row for row in rows if row["by"] == "by hand"}
    assert by_hand.keys() == {"edited retries", "removed ship"}
    assert {(row["run"], row["short"], row["state"]) for row in by_hand.values()} == {("", "", "no undo")}
    assert re.search(r"^ +\d{4}-\d\d-\d\d \d\d:\d\d +by hand +edited retries +no undo$",
                     desk.here("history").out, re.MULTILINE)  # fmt: skip
    told = desk.here("diff", "retries").out
    assert "by hand\n\nchanged  retries" in told and "new   By hand." in told
    assert "gone  Ship on Mondays." in desk.here("diff", "ship").out
    desk.here("pin", "retries")
    after = [row["what"] for row in desk.here("history", "--json").json]
    assert (
        after.index("pinned retries") < after.index("edited retries") and after.count("edited retries") == 1
    )
    # None of it stands in the way of what can be undone.
    assert desk.here("undo").out.startswith("undid pin retries")


def test_going_back_step_by_step_never_leaves_for_another_store_unasked(desk):
    minutes = iter(range(10, 60))

    def do(*words, code=0):
        return desk.here(*words, code=code, REVERIE_NOW=f"2026-11-29T10:{next(minutes)}:00Z")

    do("add", "The yard opens at six.")
    do("add", "I prefer short names.", "--user")
    do("add", "The harbour closes at ten.")
    assert "harbour" in do("undo").out
    refused = do("undo", code=1)
    assert "all projects" in refused.err and "i-prefer-short-names" in refused.err
    assert len(do("list", "--json").json) == 2
    # It names both ways on; the next step is another store's again, or this project's own.
    everywhere, here = re.findall(r"`reverie (undo [\w-]+)`", refused.err)
    assert "yard" in do("diff", here.split()[1]).out
    assert "i-prefer-short-names" in do(*everywhere.split()).out
    assert "this project" in do("undo", code=1).err
    do("add", "The lake is deep.")
    assert "lake" in do("undo").out and "yard" in do("undo").out


def test_the_example_of_diff_in_the_documents_is_what_it_prints(changed):
    desk, _, _ = changed
    page = (ROOT / "docs" / "looking-after.md").read_text("utf-8")
    (shown,) = re.findall(r"```text\n\$ reverie diff retries\n(.*?)```", page, re.DOTALL)
    told = desk.here("diff", "retries").out
    assert shown.splitlines()[1:] == told.splitlines()[1:]
    assert shown.split()[2] == "extraction"
