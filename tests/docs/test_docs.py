"""The documentation is true: its commands run, its generated parts are current, its links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from pipeline.cli.tree import cli
from tests.cli.conftest import make_desk
from tests.support.transcripts import Transcript

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(ROOT.glob("docs/*.md"))]
PAGES += [ROOT / folder / "README.md" for folder in ("pipeline", "prompts", "hooks", "fixtures")]
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
MENTION = re.compile(r"`reverie ([a-z][a-z-]*)((?: [^`]*)?)`")
SLOW = "reverie eval"
"""Its whole table is compared with a fresh run below."""


def blocks():
    for page in PAGES:
        for block in CONSOLE.findall(page.read_text("utf-8")):
            for line in block.splitlines():
                if line.startswith("$ ") and line != f"$ {SLOW}":
                    yield page.relative_to(ROOT).as_posix(), line[2:]


def options():
    """Name of each command with its options, and those of the commands below it."""
    program: Any = typer.main.get_command(cli)
    commands = program.commands
    below = {name: [*getattr(commands[name], "commands", {}).values()] for name in commands}
    return {
        name: {
            word for command in (commands[name], *below[name]) for one in command.params for word in one.opts
        }
        for name in commands
    }


@pytest.fixture(scope="module")
def reader(tmp_path_factory):
    """A project of someone who follows the documentation, with the session that it speaks of."""
    desk = make_desk(tmp_path_factory.mktemp("reader"))
    talk = Transcript(cwd=str(desk.project), start="2026-11-20T09:00:00Z")
    for text in ("Always run the linter before a commit.", "we use postgres 16 in production", "thanks"):
        talk.user(text)
        talk.assistant("Good.")
    talk.write(desk.project / "session.jsonl")
    (desk.project.parent / ".claude" / "projects").mkdir(parents=True)
    desk.here("extract", "--transcript", "session.jsonl")
    return desk


@pytest.mark.parametrize("page", sorted({page for page, _ in blocks()}))
def test_a_command_in_the_documentation_runs(reader, page):
    for command in [command for where, command in blocks() if where == page]:
        words = shlex.split(command.replace("~", str(reader.project.parent)))
        assert words[0] == "reverie"
        done = reader.here(*words[1:])
        assert done.out + done.err, command


def test_the_documentation_shows_commands_that_are_run():
    assert len(list(blocks())) >= 8


# The evaluation is compared beside the other tests of the same readings (test_recorded_sessions.py).
PARTS = ["demo-short", "demo", "commands", "dream", "configuration", "layers", "performance"]


@pytest.fixture(scope="module")
def compared():
    """What the comparison of all these parts ended with."""
    return subprocess.run(
        [sys.executable, "docs/build.py", "--check", *PARTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("part", PARTS)
def test_a_generated_part_is_current(compared, part):
    assert f": {part} is outdated" not in compared.stdout


def test_the_parts_are_compared(compared):
    assert (compared.returncode, compared.stdout) == (0, ""), compared.stderr


def test_every_command_named_anywhere_exists_with_its_options():
    known = options()
    wrong = []
    sources = [*PAGES, ROOT / "CHANGELOG.md", *ROOT.glob("pipeline/**/*.py"), *ROOT.glob("hooks/*")]
    for source in (file for file in sources if file.is_file()):
        for name, rest in MENTION.findall(source.read_text("utf-8")):
            unknown = set(re.findall(r"--[a-z-]+", rest)) - known.get(name, set()) - {"--help"}
            if name not in known or unknown:
                wrong.append(f"{source.relative_to(ROOT)}: reverie {name}{rest}")
    assert not wrong


def test_every_variable_that_is_read_is_documented():
    told = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    sources = [*ROOT.glob("pipeline/**/*.py"), *ROOT.glob("hooks/*.py")]
    sources += [ROOT / "hooks" / "run", ROOT / "hooks" / "pythons", ROOT / "bin" / "reverie"]
    read = {
        name
        for file in sources
        for name in re.findall(r"\bREVERIE_[A-Z]+(?:_[A-Z]+)*\b(?!__)", file.read_text("utf-8"))
    }
    assert {"REVERIE_HOME", "REVERIE_PYTHON"} <= read
    assert not {name for name in read if f"`{name}`" not in told}


def test_every_link_leads_to_a_file():
    link = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
    prose = {page: re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL) for page in PAGES}
    found = [(page, target) for page, text in prose.items() for target in link.findall(text)]
    assert found
    assert not [(page.name, target) for page, target in found if not (page.parent / target).exists()]


def test_the_first_screen_is_the_sentence_the_commands_and_their_output():
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert lines[0] == "# Reverie"
    assert next(at for at, line in enumerate(lines) if line.startswith("make demo  ")) < 10
    assert lines.index("$ make demo") < 20
