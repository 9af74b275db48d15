"""The commands around a dream, over a recorded case: consolidate, dream, history, diff, undo, inbox, pin."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.consolidation import vetoes
from pipeline.consolidation.commit.proposals import inbox_item
from pipeline.domain.operations import Cover, Operation, Refused
from pipeline.domain.sentences import sentences
from pipeline.ledger import inbox, open_ledger
from pipeline.store import Store
from tests.support.dream_cases import FIXTURES, lay_out, load
from tests.support.stores import tree

NOW = load("doubles")["now"]
REPLAY = f"replay:{FIXTURES}/cassettes/doubles"


class Case:
    """A store of the case, and `reverie` called on it."""

    def __init__(self, desk, place: Path) -> None:
        self.root = place
        self.desk = desk
        lay_out("doubles", place)

    def reverie(self, *arguments, code=0, **env):
        env = {"REVERIE_NOW": NOW, "REVERIE_DREAM__RETIRE_SHARE": "1", "REVERIE_DREAM__CUES": "0", **env}
        return self.desk.here(*arguments, "--store", self.root, code=code, **env)

    def consolidate(self, *arguments, **env):
        return self.reverie("consolidate", "--force", "--llm", REPLAY, *arguments, **env)

    def files(self):
        """What a person has in the folder: the memories."""
        files = tree(self.root, skip=(".reverie", "archive", "episodes"))
        return {n: raw for n, raw in files.items() if n.endswith(".md") and n.islower()}


@pytest.fixture
def case(desk, tmp_path):
    return Case(desk, tmp_path / "memories")


def test_the_report_of_a_dream_can_be_shown_again(case):
    assert "no dream has run here yet" in case.reverie("report", code=1).err
    told = case.consolidate().out
    assert case.reverie("report").out == told
    run = case.reverie("report", "--json").json["run_id"]
    assert case.reverie("report", run[:8]).out == told
    assert "no dream" in case.reverie("report", "*", code=1).err
    assert "no dream" in case.desk.here("report", "--store", case.root.parent, code=1).err


def test_a_dream_that_did_nothing_took_place_all_the_same(desk):
    for name in ("ship", "cores"):
        desk.here("add", f"Words about {name}.", "--name", name)
    told = desk.here("consolidate", "--force").out
    assert "Nothing needed doing." in told and "2 of 2 memories had changed" in told
    looked = told.partition("## Looked at")[2]
    assert "- cores, ship: yours (pinned, edited or written by hand)" in looked and "nothing:" not in looked
    assert desk.here("report").out == told
    run = desk.here("report", "--json").json["run_id"]
    assert desk.here("report", run[:8]).out == told
    again = desk.here("consolidate", "--force").out
    assert "- nothing: no memory had changed" in again and "0 of 2 memories had changed" in again
    assert desk.here("report").out == again
    assert "no dream here has an id that begins with 'zz'" in desk.here("report", "zz", code=1).err


def test_consolidate_tells_what_it_did_and_how_to_undo_it(case):
    said = case.consolidate().out
    for part in (
        "4 changes among 10 memories",
        "**merge**",
        "source: 2026-11-09",
        "2 model calls",
        "reverie undo",
    ):
        assert part in said
    assert len(case.files()) == 6


def test_a_dry_run_changes_no_memory(case):
    before = case.files()
    report = case.consolidate("--dry-run", "--json").json
    assert (report["word"], len(report["actions"])) == ("dry", 4)
    assert report["reused"] == 0
    said = case.consolidate("--dry-run").out
    assert "would be made" in said and "answered by an earlier try, such as a dry run" in said
    assert case.files() == before
    assert case.reverie("history", "--json").json == []


def test_history_diff_and_undo_go_together(case):
    before = case.files()
    run = case.consolidate("--json").json["run_id"]
    (row,) = case.reverie("history", "--json").json
    assert (row["run"], row["reason"], row["undone"]) == (run, "dream", False)
    assert run[:8] in case.reverie("history").out
    diffs = {item["path"]: item["diff"] for item in case.reverie("diff", run[:8], "--json").json}
    gone = next(text for path, text in diffs.items() if path.startswith("archive/"))
    assert "+name: " in gone and "--- a/" in case.reverie("diff", run[:8], "--raw").out
    undone = case.reverie("undo", run[:8]).out
    assert undone.startswith("undid dream of 20") and f"({run[:8]})" in undone
    assert {n: raw for n, raw in case.files().items() if n in before} == before
    assert "was undone before" in case.reverie("undo", run).out
    assert case.reverie("undo", run, "--json").json["already"] is True
    assert [row["undone"] for row in case.reverie("history", "--json").json] == [False, True]


def test_undo_without_a_run_takes_the_newest_that_stands(case):
    case.consolidate()
    before = case.files()
    case.reverie("pin", "one-fix-per-commit")
    case.reverie("undo")
    assert case.files() == before
    assert len(case.reverie("undo", "--json").json["paths"]) >= 8


def test_what_was_undone_is_not_proposed_again(case):
    """The replay has no answer to a second question, so that asking one would fail."""
    case.consolidate()
    case.reverie("undo")
    report = case.consolidate("--json").json
    assert (report["word"], report["changed"], report["calls"]) == ("nothing", 0, 0)


def test_undo_refuses_where_an_edit_would_be_lost(case):
    action = case.consolidate("--json").json["actions"][0]
    file = case.root / f"{action['into']}.md"
    file.write_bytes(file.read_bytes() + b"By hand.\n")
    said = case.reverie("undo", code=1)
    assert file.name in said.err and "was edited since" in said.err
    assert file.read_bytes().endswith(b"By hand.\n")


def test_restore_brings_one_memory_back_for_good(case):
    before = case.files()
    case.consolidate()
    name = next(n.removesuffix(".md") for n in before if n not in case.files())
    assert f"restored   {name}.md" in case.reverie("restore", name).out
    assert case.files()[f"{name}.md"] == before[f"{name}.md"]
    assert case.reverie("restore", name, code=1).err
    assert f"name: {name}\n" in case.reverie("show", name).out


def test_dream_asks_the_gates_and_says_which_is_closed(case):
    said = case.reverie("dream", "--llm", "offline").out
    assert "not now: 0 sessions so far; 5 more sessions needed." in said
    assert "closed sessions" in said and "open   changed" in said
    (report,) = case.reverie("dream", "--llm", "offline", "--json").json
    assert report["word"] == "closed" and len(report["gates"]) == 7
    dream = case.reverie("status", "--json").json["dream"]
    assert "5 more sessions needed" in dream["waits"]


def test_dream_all_goes_over_every_store_the_ledger_knows(filled):
    assert isinstance(filled.here("dream", "--all", "--llm", "offline", "--json").json, list)


def test_dream_all_goes_on_where_one_store_can_not_be_used(case, tmp_path):
    places = [case.root, tmp_path / "other"]
    lay_out("doubles", places[1])
    (case.root / ".consolidate-lock").mkdir()
    with open_ledger(Path(case.reverie("status", "--json").json["home"]) / "ledger.sqlite") as ledger:
        for place in places:
            row = (f"{place}.jsonl", str(place))
            ledger.execute("INSERT INTO memory_file_states (file_path, store) VALUES (?, ?)", row)
    found = case.desk.here("dream", "--all", "--llm", "offline", "--json", code=1).json
    assert {report["store"]: report["word"] for report in found} == {
        str(places[0]): "failed",
        str(places[1]): "closed",
    }
    said = case.desk.here("dream", "--all", "--llm", "offline", code=1).out
    assert "It failed." in said and ".consolidate-lock: not a regular file. Move it" in said


def proposed(case):
    """Let every merge go to the inbox."""
    case.consolidate(REVERIE_STORE__MODE="propose")
    return case.reverie("inbox", "list", "--json").json


def test_the_inbox_shows_takes_and_drops(case):
    rows = proposed(case)
    assert [row["kind"] for row in rows] == ["dream:merge"] * 4
    first, second = rows[0]["id"], rows[1]["id"]
    assert "dream:merge" in case.reverie("inbox", "list").out
    assert case.reverie("inbox").out == case.reverie("inbox", "list").out
    assert case.reverie("inbox", "--json").json == rows
    shown = case.reverie("inbox", "show", first)
    assert "gives way" in shown.out and "only takes proposals" in shown.out
    before = case.files()
    assert "rejected" in case.reverie("inbox", "reject", second).out
    assert case.files() == before
    assert "accepted" in case.reverie("inbox", "accept", first).out
    assert len(case.files()) == len(before) - 1
    assert [row["id"] for row in case.reverie("inbox", "list", "--json").json] == [r["id"] for r in rows[2:]]
    assert "inbox" in case.reverie("history").out, "what a person accepts can be undone too"
    case.reverie("undo")
    assert {n: raw for n, raw in case.files().items() if n in before} == before


def test_an_option_before_a_command_of_the_inbox_is_wrong_usage(desk):
    said = desk.here("inbox", "--store", "x", "list", code=2)
    assert "options stand behind `reverie inbox list`" in " ".join(said.err.split())
    assert "accept" in desk.here("inbox", "--help").out


def propose(case, operation, *names):
    """Put `operation` about `names` in the inbox as a dream does, and return its number."""
    status = case.reverie("status", "--json").json
    store = Store.open(case.root)
    memories = {d.id: d.memory for d in (store.read(name) for name in names)}
    known = {d.id: d.memory for d in store.scan().documents}
    with open_ledger(Path(status["home"]) / "ledger.sqlite") as ledger:
        asked = replace(operation, ids=tuple(memories))
        kind, payload, reason = inbox_item(Refused(asked, "a person decides", to_inbox=True), known)
        return inbox.add_inbox(
            ledger, status["store"], kind=kind, payload_json=json.dumps(payload), reason=reason,
            run_id="r", now=0.0,
        )  # fmt: skip


def test_an_accepted_proposal_reaches_a_pinned_memory(case):
    case.reverie("pin", "one-fix-per-commit")
    case.reverie("inbox", "accept", propose(case, Operation("retire", reason="over"), "one-fix-per-commit"))
    assert case.reverie("show", "one-fix-per-commit", code=1).err


def edit(case, name):
    file = case.root / f"{name}.md"
    file.write_bytes(file.read_bytes() + b"Not on Fridays.\n")


SINCE = {
    "pinned": lambda case, name: case.reverie("pin", name),
    "moved": lambda case, name: (case.root / f"{name}.md").rename(case.root / "elsewhere.md"),
    "edited": edit,
}


@pytest.mark.parametrize("since", SINCE)
@pytest.mark.parametrize("what", ["promote", "retire"])
def test_a_proposal_is_not_done_to_what_it_no_longer_fits(case, since, what):
    name = "one-fix-per-commit"
    number = propose(case, Operation(what, reason="short"), name)
    SINCE[since](case, name)
    before = tree(case.root, skip=(".reverie",))
    said = case.reverie("inbox", "accept", number, code=1)
    assert "changed since it was proposed" in said.err and f"reverie inbox show {number}" in said.err
    assert tree(case.root, skip=(".reverie",)) == before
    case.reverie("inbox", "reject", number)


def put_in(case, name, **more):
    """Put a new text for `name` in the inbox as extraction does, and return its number."""
    status = case.reverie("status", "--json").json
    payload = {"name": name, "type": "feedback", "description": "Two.", "body": "Two fixes.\n", **more}
    with open_ledger(Path(status["home"]) / "ledger.sqlite") as ledger:
        return inbox.add_inbox(
            ledger, status["store"], kind="update" if "was" in more else "new", reason="yours",
            payload_json=json.dumps(payload), run_id="r", now=0.0,
        )  # fmt: skip


def test_an_update_that_waited_is_written_only_over_what_it_was_made_for(case):
    name = "one-fix-per-commit"
    file = case.root / f"{name}.md"
    was = Store.open(case.root).read(name).digest
    number = put_in(case, name, update_of=name, was=was)
    edit(case, name)
    said = case.reverie("inbox", "accept", number, code=1)
    assert "changed since this was proposed" in said.err and f"reverie inbox show {number}" in said.err
    assert b"Not on Fridays." in file.read_bytes()
    number = put_in(case, name, update_of=name, was=Store.open(case.root).read(name).digest)
    case.reverie("inbox", "accept", number)
    assert "Two fixes." in file.read_text("utf-8")


def test_a_new_memory_that_waited_takes_no_other_s_name(case):
    before = (case.root / "one-fix-per-commit.md").read_bytes()
    case.reverie("inbox", "accept", put_in(case, "one-fix-per-commit"))
    assert (case.root / "one-fix-per-commit.md").read_bytes() == before
    assert "Two fixes." in (case.root / "one-fix-per-commit-2.md").read_text("utf-8")


INCOMPLETE = {
    "supersede": "which of the memories stays",
    "merge": "which of the memories stays",
    "relate": "what to relate",
    "strike": "which sentence to strike",
    "rewrite": "what to rewrite",
    "fly": "what to fly",
}


@pytest.mark.parametrize("what", INCOMPLETE)
def test_a_proposal_that_does_not_say_what_to_do_is_refused_with_a_way_out(case, what):
    number = propose(case, Operation(what), "one-fix-per-commit")
    said = case.reverie("inbox", "accept", number, code=1)
    assert INCOMPLETE[what] in said.err and f"reverie inbox reject {number}" in said.err


def earlier(case, operation, *names, **more):
    """Put an operation in the inbox as earlier versions did, which wrote texts."""
    number = propose(case, Operation(operation, reason="over"), *names)
    with open_ledger(Path(case.reverie("status", "--json").json["home"]) / "ledger.sqlite") as ledger:
        (item,) = [item for item in inbox.list_inbox(ledger) if item.id == number]
        payload = item.payload
        payload["operation"] = {"dropped": [], "tags": [], **payload["operation"], **more}
        del payload["operation"]["covered"]
        del payload["operation"]["until"]
        ledger.execute("UPDATE inbox SET payload_json = ? WHERE id = ?", (json.dumps(payload), number))
    return number


@pytest.mark.parametrize("what", ["rewrite", "merge", "insight"])
def test_a_text_that_an_earlier_version_proposed_is_refused_with_a_way_out(case, what):
    names = ("one-fix-per-commit", "user-is-backend-only")
    number = earlier(case, what, *names, statement="Push without asking.", description="Push.", why="So.")
    before = case.files()
    shown = case.reverie("inbox", "show", number).out
    assert "Push without asking." in shown
    said = case.reverie("inbox", "accept", number, code=1)
    assert "earlier version" in said.err and f"reverie inbox reject {number}" in said.err
    assert case.files() == before
    case.reverie("inbox", "reject", number)


def test_what_an_earlier_version_proposed_without_a_text_can_still_be_accepted(case):
    case.reverie("inbox", "accept", earlier(case, "retire", "one-fix-per-commit"))
    assert case.reverie("show", "one-fix-per-commit", code=1).err
    case.reverie("undo")
    assert "one-fix-per-commit.md" in case.files()


def test_an_accepted_insight_is_written_and_points_at_what_it_rests_on(case):
    names = ("one-fix-per-commit", "user-is-backend-only")
    text = "Small commits suit a backend."
    insight = Operation("insight", name="small-commits", description=text, statement=text)
    number = propose(case, insight, *names)
    assert text in case.reverie("inbox", "show", number).out
    case.reverie("inbox", "accept", number)
    store = Store.open(case.root)
    written = store.read("small-commits").memory
    assert (written.body, written.type, written.origin) == (f"{text}\n", "insight", "assistant-inferred")
    assert {link["target"] for link in written.relations} == {store.read(name).id for name in names}
    assert "small-commits" in case.reverie("why", "small-commits").out
    case.reverie("undo")
    assert case.reverie("show", "small-commits", code=1).err


def test_an_accepted_merge_keeps_every_sentence_that_no_key_let_go(case):
    names = ("one-fix-per-commit", "user-is-backend-only")
    before = {name: Store.open(case.root).read(name).memory.body for name in names}
    into = Store.open(case.root).read(names[0]).id
    case.reverie("inbox", "accept", propose(case, Operation("merge", into=into, reason="one"), *names))
    merged = Store.open(case.root).read(names[1]).memory
    assert merged.name == names[0]
    assert merged.body.startswith(before[names[0]].strip())
    assert before[names[1]].splitlines()[0] in merged.body


def test_an_accepted_supersede_goes_by_the_person_s_word_not_by_time(case):
    names = ("one-fix-per-commit", "user-is-backend-only")
    into = Store.open(case.root).read(names[0]).id
    case.reverie("inbox", "accept", propose(case, Operation("supersede", into=into, reason="new"), *names))
    winner = Store.open(case.root).read(names[1]).memory
    assert [item.name for item in winner.replaces] == [names[1]]


@pytest.mark.parametrize("number", [1, 2])
def test_an_accepted_strike_takes_a_sentence_from_anywhere(case, number):
    store = Store.open(case.root)
    old, by = (store.read(name).memory for name in ("one-fix-per-commit", "user-is-backend-only"))
    found = [sentence.text for sentence in sentences(old.body)]
    assert len(found) == 2
    covered = (Cover(old.id, number, by.id, 1),)
    item = propose(case, Operation("strike", covered=covered, reason="changed"), "one-fix-per-commit")
    assert found[number - 1] in case.reverie("inbox", "show", item).out
    case.reverie("inbox", "accept", item)
    left = [sentence.text for sentence in sentences(Store.open(case.root).read(old.name).memory.body)]
    assert left == [text for text in found if text != found[number - 1]]
    former = list((case.root / "archive").rglob("earlier/*.md"))
    assert len(former) == 1 and found[number - 1] in former[0].read_text("utf-8")


def test_an_accepted_strike_leaves_no_memory_without_a_text(case):
    case.reverie("add", "Sign the commits.", "--name", "sign")
    store = Store.open(case.root)
    sign, by = store.read("sign").memory, store.read("user-is-backend-only").memory
    item = propose(case, Operation("strike", covered=(Cover(sign.id, 1, by.id, 1),)), "sign")
    said = case.reverie("inbox", "accept", item, code=1)
    assert "can't be done" in said.err and f"reverie inbox reject {item}" in said.err
    assert "Sign the commits." in case.reverie("show", "sign").out


def test_what_was_accepted_and_undone_is_remembered(case):
    number = propose(case, Operation("retire", reason="over"), "one-fix-per-commit")
    case.reverie("inbox", "accept", number)
    case.reverie("undo")
    (taken,) = vetoes.read(Store.open(case.root))
    assert (taken.op, len(taken.leaving), taken.day) == ("retire", 1, NOW[:10])


def test_what_a_person_added_no_dream_merges(case):
    for name in ("linter-first", "linter-twice"):
        case.reverie("add", "Always run the linter before a commit.", "--name", name, "--force")
    added = {n: b for n, b in case.files().items() if n.startswith("linter-")}
    case.consolidate()
    assert len(added) == 2 and {n: case.files().get(n) for n in added} == added
    assert "changed since by someone else  no" in case.reverie("why", "linter-twice").out


def test_status_tells_what_a_dream_did(case):
    case.consolidate()
    line = case.reverie("status").out.partition("Last runs\n")[2].splitlines()[0]
    assert re.match(r" +\d\d:\d\d  memories +dream applied: merge ", line) and " into " in line


def test_an_accepted_promotion_reaches_the_user_s_own_store(case):
    number = propose(case, Operation("promote"), "one-fix-per-commit")
    case.reverie("inbox", "accept", number)
    user = Store.open(Path(case.reverie("status", "--json").json["home"]) / "memory")
    assert [d.name for d in user.scan().documents] == ["one-fix-per-commit"]


def test_a_proposal_about_what_is_gone_is_refused_with_a_way_out(case):
    row = proposed(case)[0]
    (case.root / f"{row['name'].split(', ')[0]}.md").unlink()
    said = case.reverie("inbox", "accept", row["id"], code=1)
    assert "gone" in said.err and f"reverie inbox reject {row['id']}" in said.err
    case.reverie("inbox", "reject", row["id"])


def test_a_proposal_about_what_was_changed_since_does_not_write_over_it(case):
    row = proposed(case)[0]
    file = case.root / f"{row['name'].split(', ')[0]}.md"
    file.write_bytes(file.read_bytes() + b"But not on Fridays.\n")
    before = case.files()
    assert "changed since" in case.reverie("inbox", "accept", row["id"], code=1).err
    assert case.files() == before and b"Fridays" in file.read_bytes()


def test_pin_and_unpin_move_a_memory_and_back(case):
    raw = case.files()["one-fix-per-commit.md"]
    assert "vault/one-fix-per-commit.md" in case.reverie("pin", "one-fix-per-commit").out
    pinned = (case.root / "vault" / "one-fix-per-commit.md").read_bytes()
    assert b"pinned: true" in pinned and not (case.root / "one-fix-per-commit.md").exists()
    assert "(vault/one-fix-per-commit.md)" in case.reverie("pin", "one-fix-per-commit").out, "twice is once"
    assert case.reverie("unpin", "one-fix-per-commit", "--json").json["path"] == "one-fix-per-commit.md"
    assert case.files()["one-fix-per-commit.md"] == raw


WRONG = [
    (["undo"], "nothing to undo", "reverie history"),
    (["undo", "nobody"], "no change is called 'nobody'", "reverie history"),
    (["diff", "nobody"], "no change is called 'nobody'", "reverie history"),
    (["pin", "nobody"], "'nobody'", "reverie list"),
    (["unpin", "nobody"], "'nobody'", "reverie list"),
    (["restore", "nobody"], "'nobody'", "reverie list --retired"),
    (["inbox", "show", "77"], "number 77", "reverie inbox"),
    (["inbox", "accept", "77"], "number 77", "reverie inbox"),
    (["inbox", "reject", "77"], "number 77", "reverie inbox"),
    (["consolidate", "--force", "--llm", "replay:nowhere"], "nowhere", ""),
]


@pytest.mark.parametrize(("arguments", "what", "fix"), WRONG, ids=lambda value: " ".join(value)[:30])
def test_what_can_t_be_done_is_said_with_what_to_do(case, arguments, what, fix):
    before = tree(case.root)
    said = case.reverie(*arguments, code=1)
    assert what in said.err and fix in said.err and not said.out
    assert {n: b for n, b in tree(case.root).items() if n in before} == before


def test_a_folder_that_is_not_there_is_said(desk):
    for command in ("consolidate", "history", "undo"):
        assert "no memory folder" in desk.here(command, "--store", "missing", code=1).err


def test_the_report_is_json_a_program_can_read(case):
    run = case.consolidate("--json").json["run_id"]
    home = Path(case.reverie("status", "--json").json["home"])
    assert json.loads((home / "reports" / f"{run}.json").read_bytes())["actions"]
