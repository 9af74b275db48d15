"""Long listings: what one reads at once on a terminal, everything in a pipe, and what a table costs."""

import json
import os
import subprocess
import sys

import pytest

from pipeline.cli import progress
from tests.cli.conftest import make_desk
from tests.support.stores import settled
from tests.support.terminals import on_terminals
from tests.support.transcripts import SESSION, Transcript

MANY = 60
LONG = "word " * 10_000


@pytest.fixture(scope="module")
def crowded(tmp_path_factory):
    """A store of many memories, one of which has pages for its description."""
    desk = make_desk(tmp_path_factory.mktemp("crowded"))
    store = desk.store
    store.mkdir(parents=True)
    for number in range(MANY):
        about = LONG if number == 0 else f"Rule {number} of the house."
        text = f"---\nname: rule-{number:02}\ndescription: {about}\ntype: project\n---\n\nRule {number}.\n"
        (store / f"rule-{number:02}.md").write_text(text)
    desk.here("reindex")
    settled(store)
    return desk


def terminal(desk, *command):
    return on_terminals(command, desk.env, desk.project, 120)


def names(text):
    return [word for word in text.split() if word.startswith("rule-")]


def test_a_terminal_gets_what_one_reads_at_once_and_how_to_see_the_rest(crowded):
    data, talk = terminal(crowded, "list")
    assert names(data) == [f"rule-{number:02}" for number in range(50)]
    assert "10 more: --all shows all, --limit N so many." in talk
    for more in (["--all"], ["--limit", "0"]):
        data, talk = terminal(crowded, "list", *more)
        assert len(names(data)) == MANY and " more: " not in talk


def test_a_pipe_gets_a_line_for_each_and_as_many_as_were_asked_for(crowded):
    told = crowded.here("list")
    assert len(told.out.splitlines()) == MANY + 1 and " more: " not in told.err
    told = crowded.here("list", "--limit", "5")
    assert len(told.out.splitlines()) == 6 and "55 more: " in told.err
    assert len(crowded.here("list", "--json", "--limit", "5").json) == 5
    assert len(crowded.here("list", "--json").json) == MANY
    assert "exclude each other" in crowded.here("list", "--all", "--limit", "5", code=2).err


def test_a_description_of_pages_is_cut_but_for_programs(crowded):
    assert max(map(len, crowded.here("list").out.splitlines())) < 400
    assert len(terminal(crowded, "list", "--limit", "1")[0]) < 1_000
    assert crowded.here("list", "--json").json[0]["description"] == LONG.strip()


WATCH = """
import sys
opened = set()
sys.addaudithook(lambda event, given: event == "open" and opened.add(str(given[0])))
from pipeline.cli.main import run
try:
    run()
except SystemExit:
    pass
import json
print(json.dumps([sorted(name for name in opened if name.endswith(".md")), "rich.console" in sys.modules]))
"""


def test_listing_reads_no_body_and_builds_no_table_of_richs(crowded):
    done = subprocess.check_output(
        [sys.executable, "-c", WATCH, "list"], cwd=crowded.project, env=crowded.env
    )
    opened, rich = json.loads(done.splitlines()[-1])
    assert [name for name in opened if "rule-" in name] == []
    assert not rich


def test_equal_memories_of_both_scopes_are_still_told_once(desk):
    for words in (["Deploys happen on Tuesdays."], ["--user", "Deploys happen on Tuesdays."]):
        desk.here("add", *words, "--force", "--type", "project")
    desk.here("add", "--user", "Terse answers, please.")
    assert [row["scope"] for row in desk.here("list", "--sort", "name", "--json").json] == ["both", "user"]


@pytest.mark.parametrize("command", ["list", "--help"])
def test_a_reader_that_leaves_is_no_error(crowded, command):
    reader, writer = os.pipe()
    os.close(reader)
    start = [sys.executable, "-m", "pipeline.cli.main", command]
    done = subprocess.run(
        start, cwd=crowded.project, env=crowded.env, stdout=writer, stderr=subprocess.PIPE, text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_of_conversations_the_latest_are_read(desk):
    for number in (1, 2, 3):
        talk = Transcript(
            f"{number}{SESSION[1:]}", cwd=str(desk.project), start=f"2026-11-2{number}T09:00:00Z"
        )
        for _ in range(4):
            talk.user(f"We keep the {number} gulls in a list.")
            talk.assistant("Kept.")
        talk.write(desk.project / f"talk-{number}.jsonl")
        desk.here("ingest", "--file", f"talk-{number}.jsonl")
    told = desk.here("conversations", "--limit", "2")
    assert [f"talk-{number}" in told.out for number in (1, 2, 3)] == [False, True, True]
    assert "1 earlier: --all shows all" in told.err
    assert len(desk.here("conversations", "--json").json) == 3
    assert len(desk.here("process", "--all", "--estimate", "--limit", "1", "--json").json) == 1
    assert "--estimate" in desk.here("process", "--limit", "1", code=2).err


def test_on_a_terminal_config_shows_sections_and_what_was_set(desk):
    desk.here("config", "set", "dream.sessions", "9")
    data, talk = terminal(desk, "config")
    assert "Caps on model calls" in data and "dream.sessions" in data and "spend.dollars_per_day" not in data
    assert "`reverie config --all`" in talk
    assert "spend.dollars_per_day" in terminal(desk, "config", "--all")[0]
    assert "spend.dollars_per_day" in desk.here("config").out


def test_what_is_said_meanwhile_stands_above_a_progress(capsys):
    shown = progress._Shown("reading")
    shown.start()
    progress.say("skipped: [bold]a file[/bold] :warning:\n")
    shown.change("reading: 2 files")
    shown.end()
    progress.say("done\n")
    told = capsys.readouterr().err
    assert "skipped: [bold]a file[/bold] :warning:\n" in told and told.endswith("done\n")
    late = progress._Shown("too late")
    late.end()
    late.start()
    assert progress._shown == [] and capsys.readouterr().err == ""
