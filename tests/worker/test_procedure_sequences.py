"""Command sequences that sessions share: what counts as the same step, and what comes back."""

import pytest

from pipeline.worker.procedures.sequences import LONGEST, Command, repeated, step_of


def session(name, *commands, day="2026-11-01"):
    """The commands of one session; one that begins with ``!`` failed."""
    return [
        Command(
            name,
            f"{name}-{number}",
            text.removeprefix("!"),
            not text.startswith("!"),
            f"{day}T10:{number:02}:00Z",
        )
        for number, text in enumerate(commands)
    ]


RELEASE = ("sed -i s/1.0/1.1/ pyproject.toml", "make test", "git commit -am 'Release 1.1'", "git tag v1.1")
AGAIN = ("sed -i s/1.1/1.2/ pyproject.toml", "make test", 'git commit -am "Release 1.2"', "git tag v1.2")


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("ls -la", ""),
        ("git status && git log -3", ""),
        ("cd shop && make test", "make test"),
        ("FOO=1 sudo systemctl restart shop", "systemctl restart"),
        ("git commit -m 'a; b' && git push --tags", "git commit -m && git push --tags"),
        ("python3 -m pip install -e .", "python -m pip install -e"),
        ("uv run pytest -q tests/test_a.py::test_b", "pytest -q"),
        ("docker compose up -d", "docker compose up -d"),
        ("kubectl get pods", ""),
        ("sed -n 1,5p a.py", ""),
        ("sed -i s/a/b/ a.py", "sed -i"),
        ("./scripts/deploy.sh --to=staging", "deploy.sh --to"),
        ("cat > notes.txt <<'END'\nit's\nEND", ""),
        ("", ""),
        ("'", "'"),
    ],
)
def test_a_step_is_known_by_program_subcommand_and_options(command, step):
    assert step_of(command) == step


def test_what_two_sessions_did_in_one_order_comes_back_with_both():
    first = session("a", "ls", *RELEASE, "git push", day="2026-11-01")
    second = session("b", "git pull", AGAIN[0], "cat setup.py", *AGAIN[1:], day="2026-11-09")
    (found,) = repeated([first, second])
    assert found.steps == ("sed -i", "make test", "git commit -am", "git tag")
    assert [done.session for done in found.occurrences] == ["b", "a"]
    assert [command.text for command in found.occurrences[1].commands] == list(RELEASE)


def test_one_session_alone_repeats_nothing_however_often():
    assert repeated([session("a", *RELEASE, *AGAIN)]) == []


def test_what_failed_is_left_out_and_what_was_tried_again_counts_once():
    first = session("a", RELEASE[0], "!make test", "make test", "make test", *RELEASE[2:])
    (found,) = repeated([first, session("b", *AGAIN, day="2026-11-09")])
    assert len(found.steps) == 4 and found.occurrences[-1].commands[1].uuid == "a-3"


def test_two_steps_or_one_step_over_and_over_are_no_sequence():
    pair = ("make build", "make test")
    assert repeated([session("a", *pair), session("b", *pair)]) == []
    turns = pair * 4
    assert repeated([session("a", *turns), session("b", *turns)]) == []


def test_a_part_of_a_longer_sequence_is_left_out_though_more_sessions_share_it():
    long = session("a", *RELEASE, "git push --tags"), session("b", *AGAIN, "git push --tags")
    short = session("c", *RELEASE[:3], "npm publish", day="2026-11-20")
    assert [(row.steps[-1], len(row.occurrences)) for row in repeated([*long, short])] == [
        ("git push --tags", 2)
    ]


def test_of_what_never_ends_a_bounded_part_is_kept():
    names = [f"tool{number} go" for number in range(LONGEST * 3)]
    found = repeated([session("a", *names), session("b", *names)])
    assert {len(row.steps) for row in found} == {LONGEST} and len(found) == LONGEST * 2 + 1
