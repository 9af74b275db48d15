"""`recall` and `injected`: what would be said to a prompt, and what a session was told."""

import json
import os
import re
import subprocess
import sys

import pytest

from pipeline.ledger import open_ledger, recalls
from pipeline.recall.live import overruled, session_file
from pipeline.recall.live.rank import FLOOR, floor_of
from tests.cli.conftest import make_desk
from tests.support.recall import HOOKS, context_of, memory_text

NOW = "2026-11-27T10:00:00+00:00"
AT = 1795773600.0
QUESTION = "how do we deploy the harbour service to staging?"


@pytest.fixture
def told(tmp_path):
    """A project with one memory, and a home where a session was told of it."""
    desk = make_desk(tmp_path)
    desk.env["REVERIE_NOW"] = NOW
    desk.store.mkdir(parents=True)
    write(desk.store, "staging-deploys", "The harbour service goes to staging with make ship.")
    return desk


def home(desk):
    return desk.project.parent / ".claude" / "reverie"


def write(store, name, description, **more):
    store.mkdir(parents=True, exist_ok=True)
    (store / f"{name}.md").write_text(memory_text(name, description, "Deploy it so.", **more), "utf-8")


def hook(desk, session="5e55-1", at=AT, name="staging-deploys", **more):
    item = {
        "id": "id-1", "name": name, "path": f"{name}.md", "store": "/s", "score": 0.61,
        "why": ["deploy", "staging"], "chars": 310,
    }  # fmt: skip
    line = {"k": "sent", "at": at, "hook": "UserPromptSubmit", "cwd": str(desk.project), "chars": 492}
    session_file.append(str(home(desk)), session, {**line, "items": [item], **more})


def uses(desk):
    with open_ledger(home(desk) / "ledger.sqlite") as ledger:
        return [(row.use, row.memory) for row in recalls.uncounted(ledger, limit=99)]


def test_recall_says_what_the_hook_would_say(told):
    said = told.here("recall", *QUESTION.split())
    assert '<recollection name="staging-deploys"' in said.out
    assert "1 memory," in said.err
    assert "/s" not in told.here("recall", "what is the colour of the moon").out


def test_recall_as_json_has_score_reason_and_size(told):
    value = told.here("recall", QUESTION, "--json").json
    [item] = value["items"]
    assert (item["name"], item["path"]) == ("staging-deploys", "staging-deploys.md")
    assert {"deploy", "staging"} <= set(item["why"])
    assert value["considered"] == [
        {
            "memory": f"{os.path.realpath(told.store)}/staging-deploys.md",
            "score": item["score"],
            "verdict": "chosen",
            "words": item["why"],
            "cue": [],
            "meaning": 0.0,
        }
    ]
    assert value["chars"] == len(value["text"])
    assert value["tokens"] == -(-value["chars"] // 4)


def test_recall_explains_what_it_left_out(told):
    write(told.store, "harbour-lights", "Harbour lights blink at night.")
    write(told.store, "tides", "Tides come twice a day.")
    said = told.here("recall", "--explain", QUESTION)
    chosen, because, missed, _, left, _ = said.out.splitlines()
    assert chosen[4:] == "  staging-deploys.md: chosen"
    words = because.removeprefix("      words ").split(", ")
    assert set(words) == {"deploy", "harbour", "service", "staging"}
    assert f"harbour-lights.md: below the floor of {FLOOR:.2f}" in missed
    assert "tides.md: too few shared words" in left
    assert f"A memory needs a score of {FLOOR:.2f}, since `recall.floor` is 1." in said.err
    assert "Enough words are two telling ones" in said.err
    said = told.here("recall", "--explain", QUESTION, REVERIE_RECALL__FLOOR="50")
    assert f"below the floor of {floor_of(50):.2f}" in said.out
    needed = f"A memory needs a score of {floor_of(50):.2f}, since `recall.floor` is 50"
    assert f"{needed}; with 1 it would be {FLOOR:.2f}." in said.err.replace("\n", " ")
    assert told.here("recall", "--explain", "zebra crossing").out == "no memory has a telling word of it\n"
    unheard = told.here("recall", "--explain", "which zebra do we use?").out
    assert unheard.endswith("(passed over, as they stand in anything: which, do, we, use)\n")


def test_recall_names_the_floor_at_which_the_best_that_missed_would_come(told):
    write(told.store, "harbour-lights", "Harbour lights blink at night.")
    asked = "do the lights of our shop window blink at christmas and in easter week, who pays the power?"
    said = told.here("recall", "--explain", asked)
    (least,) = re.findall(r"The best that missed it would come with `recall.floor` at (0\.\d\d)\.", said.err)
    assert "harbour-lights.md: " in said.out.splitlines()[0]
    assert told.here("recall", asked).out == ""
    assert "harbour-lights" in told.here("recall", asked, REVERIE_RECALL__FLOOR=least).out
    higher = f"{float(least) + 0.02:.2f}"
    assert told.here("recall", asked, REVERIE_RECALL__FLOOR=higher).out == ""


def test_recall_explains_cues_and_what_the_person_said_otherwise(told):
    write(told.store, "beacon", "Lamps are swapped by the keeper.", more="cues: [light bulb change]\n")
    said = told.here("recall", "--explain", "who does the light bulb change?")
    assert "; cue light, bulb, change" in said.out
    said = told.here("recall", "--explain", "stop using make ship for the harbour service on staging")
    assert f"staging-deploys.md: {overruled.VERDICT}" in said.out


@pytest.mark.parametrize("prompt", [QUESTION, "stop using make ship for the harbour service on staging"])
def test_recall_says_the_same_as_the_hook(told, prompt):
    write(
        told.store, "staging-vpn", "Staging needs the harbour vpn to deploy a service." + " More of it." * 80
    )
    payload = {"session_id": "5e55-9", "cwd": str(told.project), "prompt": prompt}
    command = [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), "UserPromptSubmit"]
    done = subprocess.run(
        command, input=json.dumps(payload).encode(), env=told.env, cwd=told.project, capture_output=True,
        timeout=20, check=True,
    )  # fmt: skip
    assert told.here("recall", prompt).out.rstrip("\n") == context_of(done.stdout)


def test_recall_of_nothing_is_silent_on_stdout(told):
    said = told.here("recall", "what is the colour of the moon")
    assert (said.out, said.err) == ("", "recall would say nothing; --explain tells why\n")


@pytest.mark.parametrize(
    ("setting", "value", "names"),
    [
        ("FLOOR", "50", []),
        ("USER_SCOPE", "false", ["staging-deploys"]),
        ("MEMORIES", "1", None),
        ("MEMORIES", "0", []),
    ],
)
def test_recall_obeys_the_settings(told, setting, value, names):
    write(
        home(told) / "memory", "staging-rule", "A deploy to staging is announced, also for a harbour service."
    )
    both = {item["name"] for item in told.here("recall", QUESTION, "--json").json["items"]}
    assert both == {"staging-deploys", "staging-rule"}
    items = told.here("recall", QUESTION, "--json", **{f"REVERIE_RECALL__{setting}": value}).json["items"]
    assert len(items) == 1 if names is None else [item["name"] for item in items] == names


def test_recall_in_a_project_without_memories_still_has_the_user_scope(desk):
    write(
        home(desk) / "memory",
        "staging-rule",
        "A deploy to staging is announced, also for the harbour service.",
    )
    assert [i["name"] for i in desk.here("recall", QUESTION, "--json").json["items"]] == ["staging-rule"]
    assert not desk.store.exists()


def test_recall_with_no_memories_at_all_says_where_it_looked(desk):
    said = desk.here("recall", QUESTION, code=1)
    assert "there is no memory folder here yet" in said.err


def test_recall_names_the_store_it_is_given(told, tmp_path):
    write(tmp_path / "other", "staging-too", "Deploy the harbour service to staging by hand.")
    value = told.here("recall", QUESTION, "--json", "--store", tmp_path / "other").json
    assert [item["name"] for item in value["items"]] == ["staging-too"]
    assert "no memory folder" in told.here("recall", "x", "--store", tmp_path / "none", code=1).err


def test_asking_by_hand_is_a_use_and_explaining_is_none(told):
    told.here("recall", "--explain", QUESTION)
    assert uses(told) == []
    told.here("recall", QUESTION)
    told.here("show", "staging-deploys")
    told.here("list")
    assert [use for use, _ in uses(told)] == ["recall", "show"]
    assert len({memory for _, memory in uses(told)}) == 1


def test_who_only_looks_makes_no_ledger(tmp_path):
    desk = make_desk(tmp_path)
    write(tmp_path / "notes", "staging-deploys", "The harbour service goes to staging with make ship.")
    assert desk.here("recall", QUESTION, "--store", tmp_path / "notes").out
    assert desk.here("show", "staging-deploys", "--store", tmp_path / "notes").out
    assert not home(desk).exists()


def test_what_was_asked_for_is_counted_by_the_worker(told):
    told.here("show", "staging-deploys")
    told.here("work")
    [entry] = json.loads((told.store / "_state.json").read_text("utf-8"))["entries"].values()
    assert entry == {"access_count": 1, "last_accessed": NOW}


def test_what_the_real_hook_said_is_what_recall_says_and_injected_shows(told):
    payload = {"session_id": "5e55-9", "cwd": str(told.project), "prompt": QUESTION}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), "UserPromptSubmit"],
        input=json.dumps(payload).encode(), env=told.env, cwd=told.project, capture_output=True, timeout=20,
    )  # fmt: skip
    said = context_of(done.stdout)
    value = told.here("recall", QUESTION, "--json").json
    assert said == value["text"]
    shown = told.here("injected", "5e55-9", "--json").json
    assert (shown["totals"]["chars"], shown["totals"]["tokens"]) == (value["chars"], value["tokens"])
    [line] = shown["lines"]
    [item], [expected] = line["items"], value["items"]
    assert (item["name"], item["digest"], item["score"]) == (
        "staging-deploys", expected["digest"], expected["score"],
    )  # fmt: skip
    told.here("work")
    [entry] = json.loads((told.store / "_state.json").read_text("utf-8"))["entries"].values()
    assert (entry["injected_count"], entry.get("access_count", 0)) == (2, 0)


# -- injected -----------------------------------------------------------------------------------------


def test_nothing_injected_is_said(desk):
    assert desk.here("injected").out == "recall has put nothing into any session yet\n"
    assert desk.here("injected", "--json").json is None
    assert desk.here("injected", "--all", "--json").json == []
    assert "yet" in desk.here("injected", "--all").out


def test_injected_shows_what_why_score_and_tokens_of_the_latest_session(told):
    hook(told, session="older", at=AT - 999)
    hook(told, left_out=2)
    session_file.reset(str(home(told)), "5e55-1", "compact", AT + 60)
    hook(told, at=AT + 120, k="start", hook="SessionStart", source="compact", name="harbour-lights")
    first, _, *rows = told.here("injected").out.splitlines()
    assert first == (
        f"session 5e55-1 in {told.project}: 2 times, 2 memories, 984 characters, about 246 tokens"
    )
    cells = [" ".join(row.split()) for row in rows]
    assert cells == [
        "2026-11-27 10:00 prompt staging-deploys 0.61 78 deploy, staging",
        "2026-11-27 10:00 prompt in all, with the text around them; 2 more found no room 123",
        "2026-11-27 10:01 compact the context was made anew",
        "2026-11-27 10:02 session start (compact) harbour-lights 0.61 78 deploy, staging",
        "2026-11-27 10:02 session start (compact) in all, with the text around them 123",
    ]


def test_injected_as_json(told):
    hook(told)
    value = told.here("injected", "--json").json
    assert (value["totals"]["memories"], value["totals"]["tokens"]) == (1, 123)
    [line] = value["lines"]
    assert line["items"][0]["why"] == ["deploy", "staging"]
    assert line["place"] == 0 and "position" not in line
    assert value["bad"] == []


def test_injected_finds_a_session_by_its_start(told):
    hook(told, session="5e55-1")
    hook(told, session="5e55-2", at=AT + 5)
    hook(told, session="5e55")
    for asked, found in (("5e55-1", "5e55-1"), ("5e55", "5e55")):
        assert told.here("injected", asked, "--json").json["totals"]["session"] == found
    assert "3 sessions begin with '5e'" in told.here("injected", "5e", code=1).err
    assert "gave nothing to a session 'nobody'" in told.here("injected", "nobody", code=1).err


def test_injected_lists_all_sessions_latest_first(told):
    hook(told, session="5e55-1")
    hook(told, session="5e55-2", at=AT + 5)
    rows = told.here("injected", "--all").out.splitlines()[1:]
    assert [row.split()[2] for row in rows] == ["5e55-2", "5e55-1"]


def test_injected_tells_of_lines_it_cant_understand(told):
    hook(told)
    file = home(told) / "recall" / "sessions" / "5e55-1.jsonl"
    with file.open("ab") as out:
        out.write(b"{\x1b[31m\n")
    said = told.here("injected")
    assert "can't be understood" in said.err
    assert "\x1b" not in said.out + said.err


def test_injected_names_a_damaged_ledger(told):
    hook(told)
    (home(told) / "ledger.sqlite").write_bytes(b"no ledger")
    assert "not a usable ledger" in told.here("injected", code=1).err


def test_hostile_names_reach_the_terminal_harmless(told):
    hook(told, name="red\x1b[31m\u202eeman")
    assert "\x1b" not in told.here("injected").out
    assert "\u202e" not in told.here("injected").out
