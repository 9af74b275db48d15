"""What a shell line runs, as well as the moment of a rule needs to know it."""

import pytest

from pipeline.text.shell import MOST_CALLS, calls

RUN = {
    "cd web && git -C x commit -m 'a; git push'": ["cd web", "git x commit a; git push"],
    "FOO=1 sudo -E npm i left-pad 2>&1 | tee out.log": ["sudo", "npm install left-pad", "tee out.log"],
    "cat > a/b.txt <<'EOF'\ngit push\nEOF\npytest -q": ["cat", "pytest"],
    'git commit -m "$(cat <<EOF\ngit push\nEOF\n)"': ["git commit $(cat \n)"],
    "bash -lc 'npm test && git push'": ["bash npm test && git push", "npm test", "git push"],
    "npx prettier --write x": ["npx prettier x", "prettier x"],
    "python3.12 -m pytest": ["python pytest", "pytest"],
    "uv run pytest": ["uv run pytest", "pytest"],
    "timeout 5m /usr/bin/git push": ["git push"],
    "echo hi # git push": ["echo hi"],
    "echo 'git push'; x=$(git pull)": ["echo git push", "git pull"],
    "if ! make check; then git stash; fi": ["make check", "git stash", "fi"],
    "echo \\; git": ["echo ; git"],
    "ls \\\n-la": ["ls"],
    "'unclosed": ["unclosed"],
    "": [],
}


@pytest.mark.parametrize("line", RUN)
def test_a_line_runs_its_commands(line: str) -> None:
    assert [" ".join([call.program, *call.words]) for call in calls(line)] == RUN[line]


WRITTEN = {
    "rm -rf legacy/x.go": (["legacy/x.go"], ["legacy/x.go"]),
    "git rm old.py": (["old.py"], ["old.py"]),
    "git mv a.py b.py": (["a.py", "b.py"], []),
    "sed -i s/a/b/ f.py 2>/dev/null": (["f.py"], []),
    "sed s/a/b/ f.py >> g.py": (["g.py"], []),
    "cat legacy/x.go": ([], []),
    "> empty.txt": (["empty.txt"], []),
}


@pytest.mark.parametrize("line", WRITTEN)
def test_what_a_command_writes_and_deletes_is_told_apart(line: str) -> None:
    (call,) = calls(line)
    assert (call.written(), call.deleted()) == WRITTEN[line]


@pytest.mark.parametrize(
    ("line", "wanted", "runs"),
    [
        ("git push --force-with-lease origin x", "git push", True),
        ("git push -uf", "git push -f", True),
        ("git push", "git push --force", False),
        ("git commit --no-verify -m x", "git commit --no-verify", True),
        ("git -C web commit", "git commit", True),
        ("git log commit", "git commit", False),
        ("npm run install", "npm install", False),
        ("npm ci", "npm", True),
        ("npm install --prefix=web", "npm install --prefix", True),
    ],
)
def test_a_command_is_known_by_its_words_and_flags(line: str, wanted: str, runs: bool) -> None:
    assert calls(line)[0].runs(wanted.split()) is runs


def test_a_long_line_ends_the_search() -> None:
    assert len(calls("git push;" * 400)) == MOST_CALLS
    assert calls(" " * 5_000 + "git push") == []
