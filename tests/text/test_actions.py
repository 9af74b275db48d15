"""Whether what is about to be done meets the moment of a rule."""

import pytest

from pipeline.text import actions
from pipeline.text.actions import MOST_KEYS, key_of, of_command, of_file, words_of
from pipeline.text.file_patterns import lies_in

MET = [
    ("git commit -am x", "do commit", 0.9),
    ("git push -f", "do force push", 0.9),
    ("git push", "do force push", 0.0),
    ("npm i left-pad", "do install", 0.9),
    ("make deploy", "do deploy", 0.9),
    ("./scripts/deploy.sh prod", "do deploy", 0.9),
    ("cat deploy.sh", "do deploy", 0.0),
    ("rm -r legacy/x.go", "do delete at legacy/", 1.0),
    ("rm -r other/x.go", "do delete at legacy/", 0.0),
    ("touch legacy/x.go", "do delete at legacy/", 0.0),
    ("npm test", "run npm", 1.0),
    ("pnpm test", "run npm", 0.0),
    ("git branch", "do branch", 0.0),
    ("git switch -c topic", "do branch", 0.9),
    ("echo git push", "do push", 0.0),
]


@pytest.mark.parametrize(("line", "moment", "sure"), MET)
def test_a_command_meets_the_moment_of_what_it_does(line: str, moment: str, sure: float) -> None:
    doing = of_command(line)
    assert doing.met([moment]) == (sure, moment)
    assert (key_of(moment) in doing.lookup_keys()) >= bool(sure), "what is met is found"


def test_who_does_what_the_rule_asks_for_needs_no_telling() -> None:
    rule = ["do commit", "but run make lint"]
    assert of_command("git commit").met(rule) == (0.9, "do commit")
    assert of_command("make lint && git commit").met(rule) == (0.0, "")
    assert of_command("git commit").met([]) == (0.0, "")


@pytest.mark.parametrize(
    ("path", "pattern", "lies"),
    [
        ("legacy/foo.go", "legacy/", True),
        ("cmd/legacy/foo.go", "legacy/", True),
        ("legacy.go", "legacy/", False),
        ("a/b/foo.go", "*.go", True),
        ("api/x.pb.go", "*.pb.go", True),
        ("api/x.go", "*.pb.go", False),
        ("gen/a/b.ts", "gen/**", True),
        ("src/api/v1/users.ts", "src/**/*.ts", True),
        ("src/api/v1/users.py", "src/**/*.ts", False),
        ("docs/build.py", "build.py", True),
        ("docs/rebuild.py", "build.py", False),
        ("docs\\build.py", "docs/build.py", True),
        ("tests/unit/x.py", "@tests", True),
        ("src/x.spec.ts", "@tests", True),
        ("src/contest.py", "@tests", False),
        ("a/b", "*", False),
        ("", "legacy/", False),
    ],
)
def test_a_pattern_means_its_files(path: str, pattern: str, lies: bool) -> None:
    assert lies_in(path, pattern) is lies
    assert not lies or key_of(f"at {pattern}") in of_file(path, new=False).lookup_keys()


def test_a_kind_of_file_says_less_than_a_place() -> None:
    edit = of_file("legacy/foo_test.go", new=False)
    assert [edit.met([f"at {pattern}"])[0] for pattern in ("legacy/", "*.go", "@tests")] == [0.9, 0.6, 0.6]


def test_a_new_file_among_migrations_is_a_migration() -> None:
    assert of_file("db/migrations/7.sql", new=True).met(["do migrate"])[0] == 0.9
    assert of_file("db/migrations/7.sql", new=False).met(["do migrate"])[0] == 0.0


def test_keys_are_bounded() -> None:
    assert (
        len(of_command("; ".join(f"rm a{at}/b{at}/c.x{at}" for at in range(80))).lookup_keys()) == MOST_KEYS
    )


def test_a_moment_is_said_in_words() -> None:
    moments = ["run git push --force", "do delete at legacy/", "at @tests"]
    assert [words_of(moment) for moment in moments] == ["git push --force", "delete legacy/", "tests"]
    assert actions.key_of("at **/*") == "" and actions.key_of("but run make") == ""
