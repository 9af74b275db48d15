"""Where the command line meets the outside: locale, pipes, terminals, hostile files, real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import SAID, session
from tests.support.hooks import HOOKS, note_python

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
CLI = [sys.executable, "-m", "pipeline.cli.main"]


def memory(name, description, body="body"):
    return f"---\nname: {name}\ndescription: {json.dumps(description)}\ntype: project\n---\n{body}\n"


def test_bug_017_text_is_utf_8_whatever_the_locale(desk, tmp_path):
    transcript = session(desk.project).write(tmp_path)
    event = {"session_id": transcript.stem, "transcript_path": str(transcript), "cwd": str(desk.project)}
    env = {**desk.env, **ASCII}
    note_python(desk.project.parent / ".claude" / "reverie")
    payload = json.dumps({**event, "hook_event_name": "Stop", "note": SAID}, ensure_ascii=False).encode()
    subprocess.run([sys.executable, HOOKS / "capture.py", "Stop"], input=payload, env=env, check=True)
    done = desk.anew(
        "work", **ASCII, REVERIE_NOW="2026-11-20T12:00:00+00:00", REVERIE_WORKER__FLUSH_WAIT_SECONDS="0"
    )
    assert done.out.startswith("1 event, 1 run, 0 failures")
    assert SAID in desk.anew("list", **ASCII).out
    assert SAID in (desk.store / "MEMORY.md").read_text("utf-8")


@pytest.mark.parametrize("command", [["list"], ["list", "--json"], ["config"], ["show", "m1"]], ids=" ".join)
def test_a_reader_that_leaves_early_is_no_error(desk, command):
    store = desk.store
    store.mkdir(parents=True)
    for number in range(400):
        (store / f"m{number}.md").write_text(
            memory(f"m{number}", "x" * 140, "y" * 70_000 if number == 1 else "z")
        )
    writer = subprocess.Popen(
        [*CLI, *command], cwd=desk.project, env=desk.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    writer.stdout.read(1)
    writer.stdout.close()
    with writer:
        told = writer.stderr.read().lower()
        assert b"error" not in told and b"exception" not in told
    assert writer.returncode == 0


def test_a_memory_cannot_steer_the_terminal(desk):
    store = desk.store
    store.mkdir(parents=True)
    (store / "evil.md").write_text(
        memory("evil", "red \x1b[31m", "title \x1b]0;owned\x07 and \x9b2J \u202eab")
    )
    for told in (desk.here("list"), desk.here("show", "evil"), desk.here("why", "evil")):
        assert not [char for char in told.out + told.err if ord(char) < 32 and char not in "\n\t"]
        assert not set("\x9b\u202e") & set(told.out)
        assert "�" in told.out


def test_brackets_in_a_memory_are_no_markup(desk):
    desk.here("add", "Prefix subjects with [api] or [/web].", "--name", "subjects")
    assert "Prefix subjects with [api] or [/web]." in desk.here("list").out


def test_a_file_name_that_is_no_utf_8_is_told_and_hides_no_other(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    (desk.store / os.fsdecode(b"a\xff.md")).write_text(memory("a", "b"))
    told = desk.run("list", "--json")
    assert [row["name"] for row in told.json] == ["deploy-day"]
    assert told.err.startswith(r"a\xff.md: its name is not UTF-8")
    assert "not UTF-8" in desk.here("doctor", code=1).out
    desk.here("reindex")
    assert "deploy-day" in (desk.store / "_index.json").read_text("utf-8")


def test_a_folder_or_transcript_whose_name_is_no_utf_8_is_an_error_that_says_so(desk):
    odd = Path(os.fsdecode(os.fsencode(desk.project) + b"-\xff"))
    assert "is not UTF-8" in desk.run("status", "--store", odd, code=1).err
    odd.mkdir()
    session(desk.project).write(odd)
    assert "is not UTF-8" in desk.run("ingest", "--dir", odd.parent).err


def test_json_can_hold_a_home_whose_name_is_no_utf_8(desk):
    odd = os.fsdecode(os.fsencode(desk.project) + b"-\xff")
    assert desk.run("status", "--json", REVERIE_HOME=odd).json["home"] == odd


@pytest.mark.parametrize("name", ["../../escape", "CON", "a/b", "🚀", "-", "x" * 300, "MEMORY"])
def test_a_hostile_name_stays_in_the_store(desk, name):
    made = desk.here("add", "Deploys happen on Tuesdays.", "--name", name, "--json").json
    inside = (desk.store / made["path"]).resolve()
    assert inside.parent == desk.store.resolve()
    assert inside.stem == made["name"]
    assert inside.name.lower() not in ("memory.md", "con.md")


def test_without_a_model_auto_says_that_it_goes_by_rules(desk, tmp_path):
    transcript = session(desk.project).write(tmp_path)
    told = desk.here("extract", "--transcript", transcript, "--llm", "auto", PATH="/nonexistent")
    assert told.out.count("created ") == 2
    assert "Rules keep only sentences" in told.err


def test_offline_works_whatever_is_configured(desk, tmp_path):
    transcript = session(desk.project).write(tmp_path)
    broken = {"REVERIE_MODEL__PROVIDER": "anthropic", "PATH": "/nonexistent"}
    told = desk.here("extract", "--transcript", transcript, code=1, **broken).err
    assert told.startswith("error: ")
    assert "api_key_env" in told
    assert "created " in desk.here("extract", "--transcript", transcript, "--llm", "offline", **broken).out


def test_a_home_that_is_a_file_is_named(desk):
    home = desk.project.parent / ".claude" / "reverie"
    home.parent.mkdir(parents=True)
    home.write_text("a file where the home should be")
    assert desk.here("status", code=1).err.startswith(f"error: {home}/")


@pytest.mark.parametrize(("debug", "shown"), [("", False), ("1", True)])
def test_a_fault_of_ours_is_one_readable_message_and_debug_shows_where(desk, debug, shown):
    code = "from pipeline.cli.main import run; from pipeline.cli.tree import cli; "
    code += "cli.command('boom')(lambda: 1 / 0); run()"
    env = {**desk.env, "REVERIE_DEBUG": debug}
    done = subprocess.run([sys.executable, "-c", code, "boom"], env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert ("Traceback" in done.stderr) is shown
    assert ("REVERIE_DEBUG=1 shows where" in done.stderr) is not shown


def test_help_fits_eighty_columns(desk):
    lines = desk.here("--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if line.startswith("  ") and line.endswith("...")]


def test_demo_takes_a_transcript_of_ones_own(desk, tmp_path):
    transcript = session(desk.project).write(tmp_path)
    told = desk.run("demo", "--llm", "offline", "--transcript", transcript).out
    assert SAID in told
    assert "A model sees those." in told


def test_eval_scores_one_session(desk):
    told = desk.here("eval", "--session", "nothing", "--json").json
    (score,) = told["scores"]
    assert not told["not_scored"]
    assert (score["session"], score["must"], score["strict"]) == ("nothing", 0, [])
