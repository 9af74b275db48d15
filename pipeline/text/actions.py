"""What is about to be done, and the moments by which a rule about it is known. Pure functions, no model.

A *moment* is a line of text: ``run git push --force`` for a command, ``do commit`` for an action whatever
does it, ``at legacy/`` for files, ``at @tests`` for tests, ``do delete at legacy/`` for both at once;
``but run make lint`` is what the rule asks for: who does that needs no telling. Each has a *key* to be looked
up by. `Doing` is what a tool call or a person's order is about to do.
"""

from pipeline.text.file_patterns import TESTS, lies_in, parts_of, path_keys
from pipeline.text.shell import Call, calls, word_set

RUN, DO, AT, BUT = "run ", "do ", "at ", "but "
MOST_KEYS = 64
_WHOLE, _ACTION, _PLACE, _KIND = 1.0, 0.9, 0.9, 0.6
"""How sure it is that a rule is meant: a command or action on files, an action, a place, a kind of file."""

_COMMANDS = {
    "commit": ("git commit",),
    "push": ("git push",),
    "merge": ("git merge", "gh pr merge", "glab mr merge"),
    "rebase": ("git rebase",),
    "pull request": ("gh pr create", "gh pr edit", "glab mr create", "hub pull-request"),
    "branch": ("git checkout -b", "git switch -c", "git branch"),
    "release": (
        *("git tag", "gh release create", "npm publish", "pnpm publish", "yarn publish", "twine upload"),
        *("cargo publish", "poetry publish", "uv publish", "make release", "goreleaser", "gem push"),
    ),
    "deploy": ("kubectl apply", "terraform apply", "helm upgrade", "helm install", "vercel", "make ship"),
    "install": (
        *(f"{manager} {verb}" for manager in ("npm", "pnpm", "bun", "yarn") for verb in ("install", "add")),
        *("pip install", "uv add", "uv pip install", "poetry add", "cargo add", "go get", "composer require"),
        *("apt install", "apt-get install", "brew install", "bundle add", "gem install", "conda install"),
    ),
    "test": (
        *("pytest", "jest", "vitest", "tox", "nox", "rspec", "phpunit", "npm test", "npm run test"),
        *("yarn test", "pnpm test", "bun test", "go test", "cargo test", "make test", "mix test"),
        *("dotnet test", "gradle test", "mvn test", "rake test"),
    ),
    "migrate": ("alembic upgrade", "alembic revision", "prisma migrate", "flyway migrate", "goose up"),
}
_BY_PROGRAM: "dict[str, list[tuple[str, list[str]]]]" = {}
_NAMED = frozenset({"deploy", "migrate", "release"})
"""Words of a command's own (`make deploy`, `./deploy.sh`) that say what it does."""
_CUT = (".sh", ".py", ".js", ".rb")
_READERS = word_set("""git grep rg ag cat ls cd head tail less find echo sed awk vim nano code rm cp mv""")
"""Programs whose words are files or text and name no action."""


class Doing:
    """What is about to be done: commands, actions by name, files written, and of those the ones deleted."""

    __slots__ = ("actions", "calls", "deleted", "paths")

    def __init__(
        self,
        calls: "list[Call]",
        actions: "set[str]",
        paths: "list[str]",
        deleted: "list[str] | None" = None,
    ) -> None:
        self.calls = calls
        self.actions = actions
        self.paths = paths
        self.deleted = deleted or []

    def lookup_keys(self) -> "list[str]":
        """Return what moments it may meet are looked up by, each once."""
        found = dict.fromkeys(RUN + call.program for call in self.calls if call.program)
        found.update(dict.fromkeys(DO + action for action in sorted(self.actions)))
        for path in self.paths:
            found.update(dict.fromkeys(AT + part for part in path_keys(path)))
        return list(found)[:MOST_KEYS]

    def met(self, moments: "list[str]") -> "tuple[float, str]":
        """Return how surely a rule with `moments` is about this, 0 to 1, and the moment that says so."""
        if any(self._meets(moment[len(BUT) :]) for moment in moments if moment.startswith(BUT)):
            return 0.0, ""
        return max(((self._meets(moment), moment) for moment in moments), default=(0.0, ""), key=_first)

    def _meets(self, moment: str) -> float:
        if moment.startswith(RUN):
            wanted = moment[len(RUN) :].split(" ")
            return _WHOLE if any(call.runs(wanted) for call in self.calls) else 0.0
        if moment.startswith(AT):
            pattern = moment[len(AT) :]
            sure = _KIND if pattern == TESTS or pattern.startswith("*.") else _PLACE
            return sure if any(lies_in(path, pattern) for path in self.paths) else 0.0
        if not moment.startswith(DO):
            return 0.0
        action, _, folder = moment[len(DO) :].partition(" " + AT)
        if action not in self.actions:
            return 0.0
        if not folder:
            return _ACTION
        files = self.deleted if action == "delete" else self.paths
        return _WHOLE if any(lies_in(path, folder) for path in files) else 0.0


def _first(pair: "tuple[float, str]") -> float:
    return pair[0]


def of_command(line: str) -> Doing:
    """Return what the shell line `line` is about to do."""
    found = calls(line)
    actions = {action for call in found for action in actions_of(call)}
    paths = [path for call in found for path in call.written()]
    return Doing(found, actions, paths, [path for call in found for path in call.deleted()])


def of_file(path: str, *, new: bool) -> Doing:
    """Return what writing the file at `path` is about; `new` says that all of it is written."""
    return Doing([], {"migrate"} if new and "migrations" in parts_of(path) else set(), [path])


def actions_of(call: Call) -> "set[str]":
    """Return the names of what a command does, as far as it is known."""
    if not _BY_PROGRAM:
        for action, lines in _COMMANDS.items():
            for line in lines:
                words = line.split(" ")
                _BY_PROGRAM.setdefault(words[0], []).append((action, words))
    found = {action for action, words in _BY_PROGRAM.get(call.program, ()) if call.runs(words)}
    if call.deleted():
        found.add("delete")
    if "push" in found and any(flag == "-f" or flag.startswith("--force") for flag in call.flags):
        found.add("force push")
    if call.program == "git" and len(call.words) < 2:
        found -= {"branch", "release"}  # `git branch` and `git tag` alone list them
    return found | _said_by_name(call)


def _said_by_name(call: Call) -> "set[str]":
    """Return the actions that a command has in its name, such as `make deploy` or `./deploy.sh`."""
    if call.program in _READERS:
        return set()
    stem = call.program
    for ending in _CUT:
        stem = stem.removesuffix(ending)
    parts = [
        part
        for word in (stem, *call.words[:2])
        for part in word.replace("_", "-").replace(":", "-").split("-")
    ]
    return {part for part in parts if part in _NAMED}


def words_of(moment: str) -> str:
    """Return `moment` as a person would say it: ``git push --force``, ``delete legacy/``, ``tests``."""
    parts = moment.removeprefix(RUN).removeprefix(DO).removeprefix(AT).partition(" " + AT)
    return f"{parts[0]} {parts[2]}".strip().lstrip("@")


def key_of(moment: str) -> str:
    """Return what `moment` is looked up by, "" for one that nothing leads to."""
    if moment.startswith(BUT):
        return ""
    if moment.startswith(RUN):
        return RUN + moment[len(RUN) :].split(" ", 1)[0]
    if moment.startswith(DO):
        return moment.partition(" " + AT)[0]
    pattern = moment[len(AT) :]
    if pattern == TESTS:
        return moment
    parts = parts_of(pattern)
    if parts and parts[-1].startswith("*.") and "*" not in parts[-1][2:]:
        return f"{AT}.{parts[-1].rsplit('.', 1)[1]}"
    fixed = [part for part in parts if "*" not in part]
    return AT + fixed[-1] if fixed else ""
