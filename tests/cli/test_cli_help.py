"""The command line as a person meets it: headings, -h, completion, words that are near."""

import re
import subprocess
import sys
from typing import Any

import pytest
import typer

from pipeline.cli import groups
from pipeline.cli.table import COMMANDS
from pipeline.cli.tree import cli, program
from tests.support.transcripts import Transcript
from tests.support.warm import shared_workers


def test_help_shows_every_command_under_a_heading(desk):
    text = desk.here("--help").out
    for heading, commands in COMMANDS.items():
        section = text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(commands)
    assert "\nCommands:\n" not in text
    assert len(re.findall(r"^\w.*:$", text, re.MULTILINE)) == len(COMMANDS) + 1


def commands():
    program: Any = typer.main.get_command(cli)
    for name, command in program.commands.items():
        yield [name]
        yield from ([name, inner] for inner in getattr(command, "commands", {}))


@pytest.mark.parametrize("command", [[], *commands()], ids=" ".join)
def test_h_is_help_everywhere(desk, command):
    assert desk.here(*command, "-h").out == desk.here(*command, "--help").out != ""


@pytest.mark.parametrize("command", [[], ["undo"], ["config", "set"]], ids=" ".join)
def test_help_before_a_command_is_its_help(desk, command):
    assert desk.here("help", *command).out == desk.here(*command, "--help").out
    assert "No such command" in desk.here("help", "hlep", code=2).err


def test_a_command_that_is_near_is_offered(desk):
    assert "Did you mean" in desk.here("hstory", code=2).err


def complete(desk, *words, shell="bash"):
    env = {
        **desk.env,
        "_REVERIE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": " ".join(("reverie", *words)),
        "COMP_CWORD": str(len(words)),
        "_TYPER_COMPLETE_ARGS": " ".join(("reverie", *words)),
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = shared_workers().reverie([], env, desk.project)
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_names_and_settings(desk, shell):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    desk.here("add", "--user", "Terse answers.", "--name", "deploy-tersely")
    assert "timeline" in complete(desk, "time", shell=shell)
    for command in ("show", "why", "forget", "pin", "unpin"):
        found = complete(desk, command, "dep", shell=shell)
        assert "deploy-day" in found and "deploy-tersely" in found
    assert "spend.dollars_per_day" in complete(desk, "config", "set", "spend.d", shell=shell)
    # Asked of a Python started for it: whether the shell is looked for is decided with the command tree.
    env = {**desk.env, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    code = "import sys; sys.argv[0] = 'reverie'; from pipeline.cli.main import run; run()"
    ask = [sys.executable, "-c", code, "--show-completion", shell]
    script = subprocess.run(ask, env=env, capture_output=True, text=True, check=True).stdout
    assert f"complete_{shell}" in script and "reverie" in script


def test_completion_says_nothing_where_nothing_can_be_read(desk):
    assert complete(desk, "show", "x", shell="bash").strip() == ""


def test_no_message_for_a_person_has_the_name_of_a_class(desk):
    code = "from pipeline.cli.main import run; from pipeline.cli.tree import cli; "
    code += "cli.command('boom')(lambda: {}['x']); run()"
    done = subprocess.run([sys.executable, "-c", code, "boom"], env=desk.env, capture_output=True, text=True)
    assert "KeyError" not in done.stderr and "This is a fault in Reverie" in done.stderr
    assert groups.HELP_OPTIONS["help_option_names"][0] == "-h"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_name_is_offered_that_a_shell_would_run(desk, shell):
    desk.here("add", "Ship on Mondays.", "--name", "deploy")
    for stem in ("$(id)", "`id`", "*", "a;id", "-rf", "a'b", 'a"b', "two words", "naïve.words"):
        (desk.store / f"{stem}.md").write_text("---\ntype: project\ndescription: x\n---\nShip it.\n")
    found = complete(desk, "show", "", shell=shell)
    assert "deploy" in found and "naïve.words" in found
    assert not any(odd in found for odd in ("(id", "`", "*\n", '*"', "rf", ";", "two"))


@pytest.mark.parametrize("columns", ["20", "53", "60", "71", "80", "200", "x"])
@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"], ["--version"]], ids=" ".join)
def test_what_is_answered_past_the_tree_is_what_the_tree_says(desk, capsys, arguments, columns):
    told = desk.here(*arguments, COLUMNS=columns).out
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        patch.setattr(sys, "argv", ["reverie"])
        with pytest.raises(SystemExit) as end:
            program()(arguments)
    assert (end.value.code, capsys.readouterr().out) == (0, told)


@pytest.mark.parametrize(
    ("past", "through"),
    [
        (["status"], ["status", "--llm", "offline"]),
        (["status", "--json"], ["status", "--llm", "offline", "--json"]),
        (["statusline"], ["--", "statusline"]),
    ],
    ids=" ".join,
)
def test_the_state_is_the_same_past_the_tree_and_through_it(desk, past, through):
    desk.here("add", "Deploys happen on Tuesdays.")
    stopped = {"REVERIE_NOW": "2026-11-20T12:00:00Z"}
    one, other = desk.run(*past, **stopped), desk.run(*through, **stopped)
    assert (one.out, one.err) == (other.out, other.err)
    assert one.out


def test_reading_transcripts_says_the_same_past_the_tree_and_through_it(desk, tmp_path):
    talk = Transcript(cwd=str(desk.project))
    talk.user("Deploys happen on Tuesdays.")
    (tmp_path / "p").mkdir()
    talk.write(tmp_path / "p")
    home = desk.project.parent / ".claude" / "reverie"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("[spend]\ndolars_per_day = 5\n")
    desk.here("ingest", "--dir", tmp_path)
    (tmp_path / "empty").mkdir()
    for folder, code in ((tmp_path, 0), (tmp_path / "empty", 0), (tmp_path / "none", 1)):
        one = desk.here("ingest", "--dir", folder, code=code)
        other = desk.here("--", "ingest", "--dir", folder, code=code)
        assert (one.out, one.err) == (other.out, other.err)
        assert ("unchanged" in one.out) == (folder == tmp_path)
        assert ("spend.dolars_per_day" in one.err) == (code == 0)


def test_a_program_of_a_long_name_has_its_help_too(desk):
    start = "import sys; sys.argv[0] = 'reverie' * 12; from pipeline.cli.main import run; run()"
    told = subprocess.run(
        [sys.executable, "-c", start, "--help"], env=desk.env, capture_output=True, text=True
    )
    assert told.stdout.startswith(f"Usage: {'reverie' * 12}") and "\nSetting up:\n" in told.stdout


def test_the_table_says_of_each_command_what_its_function_says():
    known = {name: entry.help for commands in COMMANDS.values() for name, entry in commands.items()}
    assert {name: command.get_short_help_str(1000) for name, command in program().commands.items()} == known


def test_what_is_asked_most_loads_neither_the_tree_nor_a_command(desk):
    ask = "import sys; from pipeline.cli.main import run\ntry:\n    run()\nexcept SystemExit:\n    pass\n"
    ask += "print(sorted({name.partition('.')[0] for name in sys.modules} & {'typer', 'rich', 'pydantic'}))"
    for word in ("--help", "--version", "statusline"):
        done = subprocess.run(
            [sys.executable, "-c", ask, word],
            env=desk.env,
            input="",
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1] == "[]"


def test_summaries_of_a_group_fit_on_80_columns():
    clipped = []
    for name, command in program().commands.items():
        if hasattr(command, "commands"):
            known = dict(command.commands)
            room = 80 - 6 - max(map(len, known))
            clipped += [
                f"{name} {key}" for key, one in known.items() if "..." in one.get_short_help_str(room)
            ]
    assert not clipped
