"""Which text is a slash command of the host, and which commands say nothing."""

from pathlib import Path

import pytest

from pipeline.hooklib.host_commands import is_command, is_steering, split_command


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("/review", ("review", "")),
        ("  /review  the tests ", ("review", "the tests")),
        ("/plan\nfirst the schema", ("plan", "first the schema")),
        ("/tmp must stay clean", ("tmp", "must stay clean")),
        ("/superpowers:brainstorm it", ("superpowers:brainstorm", "it")),
        ("/tmp/x is full", None),
        ("/tmp: keep it clean", None),
        ("/tmp, and /var", None),
        ("/ what", None),
        ("/", None),
        ("//", None),
        ("/--help", None),
        ("review /tmp", None),
        ("", None),
        ("/" + "a" * 200, None),
        ("/" + "word " * 4000, ("word", ("word " * 3999).strip())),
    ],
)
def test_the_form_of_a_command(text: str, parts: tuple[str, str] | None) -> None:
    assert split_command(text) == parts


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("/compact", True),
        ("/Compact", True),
        ("/review the diff", True),
        ("/plan", True),
        ("/some-plugin:skill now", True),
        ("/mcp__linear__triage", True),
        ("/tmp must stay clean: from now on write to build/", False),
        ("/home is full", False),
        ("/compact/it", False),
        ("clear", False),
    ],
)
def test_only_names_the_host_has_are_commands(text: str, known: bool) -> None:
    assert is_command(text) is known


@pytest.mark.parametrize(
    "file", ["commands/tidy.md", "commands/repo/tidy.md", "skills/tidy/SKILL.md"], ids=str
)
@pytest.mark.parametrize("above", ["", "inner/folder"])
def test_a_project_has_commands_of_its_own(tmp_path: Path, file: str, above: str) -> None:
    assert not is_command("/tidy up", str(tmp_path / above))
    made = tmp_path / ".claude" / file
    made.parent.mkdir(parents=True)
    made.write_text("Tidy up.", "utf-8")
    assert is_command("/tidy up", str(tmp_path / above))
    assert not is_command("/tmp is full", str(tmp_path / above))


def test_a_persons_own_commands_count_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    made = tmp_path / "skills" / "tidy" / "SKILL.md"
    made.parent.mkdir(parents=True)
    made.write_text("Tidy up.", "utf-8")
    assert is_command("/tidy") and not is_command("/tidier")


@pytest.mark.parametrize(
    ("name", "arguments", "steers"),
    [
        ("clear", "", True),
        ("compact", "keep the decisions", True),
        ("model", "opus", True),
        ("cost", "", True),
        ("plan", "", True),
        ("plan", "move the parser out", False),
        ("review", "", False),
        ("deploy", "", False),
    ],
)
def test_what_only_steers_the_host(name: str, arguments: str, steers: bool) -> None:
    assert is_steering(name, arguments) is steers


def test_a_persons_own_command_may_have_a_name_of_the_hosts() -> None:
    assert is_steering("checkpoint", "") and not is_steering("checkpoint", "", ran_in_host=False)
    assert is_steering("clear", "", ran_in_host=False)
