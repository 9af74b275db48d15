"""What a shell line runs: its simple commands, without a shell, and only as well as a rule's moment needs.

Quotes, heredocs, redirections and the words that stand before a command (`sudo`, variables) are seen through.
What can't be made out is no command: nobody is told a rule because of it.
"""

LINE_CHARS = 4_000
"""Characters of a line that are looked at."""
MOST_CALLS = 24


def word_set(text: str) -> "frozenset[str]":
    """Return the words of `text` as a set."""
    return frozenset(text.split())


_BEFORE = word_set(
    """sudo doas env time nohup command exec builtin nice ionice stdbuf xargs then do else if while
    until ! { timeout"""
)
"""Words before a command that are none of it."""
_RUNNERS = {
    "npx": 0,
    "bunx": 0,
    "uvx": 0,
    **dict.fromkeys(("uv run", "poetry run", "pipenv run", "pdm run", "hatch run", "bundle exec"), 1),
    **dict.fromkeys(("pnpm exec", "pnpm dlx", "yarn dlx", "npm exec", "pipx run", "python -m"), 1),
}
"""Programs that run the one named behind them, and how many words of theirs stand between."""
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
_SHORT = {"i": "install", "rm": "remove", "un": "uninstall"}
_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_WRITING = word_set("rm mv cp touch tee mkdir rmdir unlink truncate ln install trash")
"""Programs that write, move or delete the files they are given."""
DELETING = word_set("rm rmdir unlink trash")


class Call:
    """One simple command: `program` without its folder, the `words` and `flags` behind it, in order.

    `into` are the files that its output goes to; `flag_first` says that a flag stands before the words.
    """

    __slots__ = ("flag_first", "flags", "into", "program", "words")

    def __init__(self, program: str, given: "list[str]", into: "list[str]") -> None:
        self.program = _plain_name(program)
        self.words = [word for word in given if not word.startswith("-")]
        self.flags = [word for word in given if word.startswith("-")]
        self.flag_first = bool(given) and given[0].startswith("-")
        self.into = into
        if self.program in _MANAGERS and self.words:
            self.words[0] = _SHORT.get(self.words[0], self.words[0])

    def runs(self, wanted: "list[str]") -> bool:
        """Whether this is the command `wanted`, such as ``git push --force``, whatever more it is given."""
        if not wanted or self.program != wanted[0]:
            return False
        words = [word for word in wanted[1:] if not word.startswith("-")]
        # A word behind the first flag may be that flag's value: `git -C web commit`.
        starts = (0, 1) if self.flag_first else (0,)
        if words and not any(self.words[at : at + 1] == words[:1] for at in starts):
            return False
        rest = iter(self.words)
        return all(word in rest for word in words) and all(
            self._has(flag) for flag in wanted[1:] if flag.startswith("-")
        )

    def written(self) -> "list[str]":
        """Return the files it writes, moves or deletes, as they are named."""
        words = self.words
        if self.program == "git":
            words = words[1:] if words[:1] in (["rm"], ["mv"], ["restore"]) else []
        elif self.program == "sed":
            words = words[1:] if self._has("-i") else []
        elif self.program not in _WRITING:
            words = []
        return [*words, *self.into]

    def deleted(self) -> "list[str]":
        """Return the files it deletes, as they are named."""
        if self.program == "git" and self.words[:1] == ["rm"]:
            return self.words[1:]
        return self.words if self.program in DELETING else []

    def _has(self, flag: str) -> bool:
        if flag in self.flags or any(given.startswith(f"{flag}=") for given in self.flags):
            return True
        letters = flag[1:] if len(flag) > 1 and flag[1] != "-" else ""
        short = [given for given in self.flags if not given.startswith("--")]
        return bool(letters) and any(set(letters) <= set(given[1:]) for given in short)


def calls(line: str) -> "list[Call]":
    """Return the simple commands of the shell line `line`, in order, at most `MOST_CALLS`."""
    found: list[Call] = []
    for words, into in _simple(_without_heredocs(line[:LINE_CHARS])):
        _add(found, words, into, deeper=True)
        if len(found) >= MOST_CALLS:
            break
    return found


def _add(found: "list[Call]", words: "list[str]", into: "list[str]", *, deeper: bool) -> None:
    given, words = words, _without_prefix(words)
    if "sudo" in given[: len(given) - len(words)]:
        found.append(Call("sudo", [], []))
    if not words:
        if into:
            found.append(Call("", [], into))
        return
    call = Call(words[0], words[1:], into)
    found.append(call)
    if call.program in _SHELLS:
        inner = next((at for at, word in enumerate(words) if word.startswith("-") and word.endswith("c")), 0)
        if deeper and inner and len(words) > inner + 1:
            for more, target in _simple(words[inner + 1]):
                _add(found, more, target, deeper=False)
        return
    pair = f"{call.program} {words[1]}" if len(words) > 1 else ""
    skip = _RUNNERS.get(call.program, _RUNNERS.get(pair, -1))
    if skip >= 0:
        rest = words[1 + skip :]
        while rest and rest[0].startswith("-"):
            rest = rest[1:]
        if rest:
            found.append(Call(rest[0], rest[1:], []))


def _without_prefix(words: "list[str]") -> "list[str]":
    at = 0
    while at < len(words):
        word = words[at]
        if word in _BEFORE:
            at += 1
            while at < len(words) and (words[at].startswith("-") or words[at].rstrip("smh").isdigit()):
                at += 1
        elif _is_assignment(word):
            at += 1
        else:
            break
    return words[at:]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum() and not name[:1].isdigit()


def _plain_name(program: str) -> str:
    name = program.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
    for start in ("python", "pip"):
        if name.startswith(start) and name[len(start) :].replace(".", "").isdigit():
            return start
    return name


def _without_heredocs(line: str) -> str:
    """Return `line` without the text that its heredocs hold, which no shell runs."""
    if "<<" not in line:
        return line
    kept: list[str] = []
    until = ""
    for row in line.split("\n"):
        if until:
            if row.strip() == until:
                until = ""
            continue
        before, sign, behind = row.partition("<<")
        if sign and not behind.startswith("<"):
            name = behind.lstrip("-").strip().split(" ", 1)[0].strip("'\"\\;)")
            until = name if name.replace("_", "a").isalnum() else ""
            # What stands behind the mark on its own line is still the shell's.
            row = before + (behind.partition(" ")[2] if until else "")
        kept.append(row)
    return "\n".join(kept)


def _simple(line: str) -> "list[tuple[list[str], list[str]]]":
    """Return words and files written of each simple command of `line`."""
    scan = _Scan()
    at = 0
    while at < len(line):
        at = scan.quoted(line, at) if scan.quote else scan.plain(line, at)
    scan.end()
    return scan.found


class _Scan:
    """A shell line being read: the word that is open, the command it belongs to, and those before."""

    def __init__(self) -> None:
        self.found: list[tuple[list[str], list[str]]] = []
        self.quote = ""
        self._words: list[str] = []
        self._into: list[str] = []
        self._word: str | None = None
        self._target = ""

    def quoted(self, line: str, at: int) -> int:
        """Take the sign at `at`, which stands in quotes; return where the next is."""
        sign = line[at]
        if sign == self.quote:
            self.quote = ""
        elif sign == "\\" and self.quote == '"' and at + 1 < len(line):
            self._take(line[at + 1])
            return at + 2
        else:
            self._take(sign)
        return at + 1

    def plain(self, line: str, at: int) -> int:
        """Take the sign at `at`, which stands in no quotes; return where the next is."""
        sign = line[at]
        if sign in "'\"":
            self.quote = sign
            self._take("")
        elif sign == "\\":
            if line[at + 1 : at + 2] != "\n":
                self._take(line[at + 1 : at + 2])
            return at + 2
        elif sign in "<>":
            if self._word and self._word.isdigit():
                self._word = None  # the number of a stream
            self._close()
            self._target = sign
        elif sign == "#" and self._word is None:
            end = line.find("\n", at)
            return len(line) if end < 0 else end
        elif sign == "&" and self._target and self._word is None:
            self._take(sign)
        elif sign in " \t":
            self._close()
        elif sign in "\n;|&()`":
            self.end()
        else:
            self._take(sign)
        return at + 1

    def end(self) -> None:
        """Close the command."""
        self._close()
        if self._words or self._into:
            self.found.append((self._words, self._into))
        self._words, self._into, self._target = [], [], ""

    def _take(self, text: str) -> None:
        self._word = (self._word or "") + text

    def _close(self) -> None:
        if self._word is None:
            return
        if not self._target:
            self._words.append(self._word)
        elif self._target == ">" and not self._word.startswith(("&", "/dev/")):
            self._into.append(self._word)
        self._word, self._target = None, ""
