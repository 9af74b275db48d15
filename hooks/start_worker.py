"""Start a worker that inherits the lock the hook has just taken.

The lock belongs to the open file, not to the process, so it passes to the worker without a moment in
which a second hook could take it. The worker gets its own session, no descriptor of the host's (a pipe
kept open makes Claude Code wait), Reverie's home as its directory, and SIGINT back, which the hook ignores.
"""

from __future__ import annotations

import os
import sys
from _signal import SIG_DFL, SIGINT, signal

from spooling import first_line, make_dirs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

LOG_LIMIT = 1 << 20
PASSED = (
    *("HOME", "LANG", "LANGUAGE", "LC_*", "TMPDIR"),
    *("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_PROJECT_DIR_NAME"),
    *(
        "APPDATA",
        "LOCALAPPDATA",
        "PROGRAMDATA",
        "USERNAME",
        "USERPROFILE",
        "SYSTEMROOT",
        "COMSPEC",
        "PATHEXT",
    ),
)
"""What the worker gets of a hook's variables; a star stands for any ending. docs/privacy.md has why."""
NEVER = ("PATH", "PYTHON*", "LD_*", "DYLD_*", "REVERIE_HOME", "REVERIE_SEEN", "REVERIE_INSIDE")
"""What it does not get from there, whatever names it."""
NAMING = (
    *(("model", "api_key_env"), ("model", "auth_token_env"), ("model", "pass_env")),
    ("embeddings", "openai_key_env"),
)
"""Section and key of the settings whose value is the name of a variable, or several."""
SIGNS = "\n[]{}=,."
"""What parts the words of TOML."""
LOGINS = (
    *("ANTHROPIC_*", "CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*", "CLAUDE_CODE_OAUTH_TOKEN", "AWS_*"),
    *("AZURE_*", "GOOGLE_*", "GCLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
)
"""What may be a login, or belong to one."""
NETWORK = (
    ("proxy", ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")),
    ("no_proxy", ("NO_PROXY", "no_proxy")),
    ("ca_file", ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")),
)
"""The keys of ``[network]`` in ``config.toml``, and the variables by which programs go for them."""
FOLDERS = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/homebrew/bin"
DETACHED, BREAKAWAY = 0x8 | 0x200, 0x0100_0000  # no console and a group of its own; out of the host's job


def start(home: str, lock: int) -> int:
    """Start the worker and return its process id. Raises OSError when the interpreter can't be run.

    Where no Python is known that has the packages, ``prepare_worker.py`` is started in its place, which
    looks for one, since that takes longer than a session may wait.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    log = home + "/logs/worker.log"
    make_dirs(home + "/logs")
    python, path = interpreter(home, root, log)
    if os.path.exists(log) and os.path.getsize(log) > LOG_LIMIT:
        os.replace(log, log + ".1")
    arguments = [python, "-m", "pipeline.worker"]
    if not python:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prepare_worker.py")
        arguments = [sys.executable, "-I", "-S", script, home]
    values = environment(home, path)
    os.chdir(home)
    if os.name == "nt":
        os.close(lock)
        return spawn_on_windows(arguments if python else [*arguments, "-1"], values, log)
    close_on_exec(lock)
    worker = spawn([*arguments, *(["--lock-fd"] if python else []), str(lock)], values, log)
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d\n" % worker, 0)  # for a person to read; the lock itself decides
    return worker


def environment(home: str, path: str, system: str = os.name) -> dict[str, str]:
    """Return the worker's environment: `PASSED`, what ``config.toml`` names, a PATH of ours, and no more.

    What a hook has comes from the person's shell and from the settings of whatever project a session is in,
    and nobody can tell which. So nothing else of it goes along; a variable that the person's ``config.toml``
    names (`names_in`) does. Of the logins that are not taken the names alone are told, so that
    `pipeline.llm.logins` can say which line lets one through.
    """
    named = names_in(home + "/config.toml")
    values, seen = {}, []
    for name, value in os.environ.items():
        setting = name.startswith("REVERIE_") and "__" in name
        if is_listed(name, PASSED) or (is_listed(name, named) and not (setting or is_listed(name, NEVER))):
            values[name] = value
        elif is_listed(name, LOGINS) and value.lower() not in ("", "0", "false", "no", "off"):
            seen.append(name)
    values["PATH"] = search_path(home, system)
    values.update({"REVERIE_HOME": home, "REVERIE_SEEN": " ".join(seen), "PYTHONSAFEPATH": "1"})
    values["PYDANTIC_DISABLE_PLUGINS"] = "__all__"  # looking for them reads what every package says of itself
    if broke_a_compiled_file(home + "/logs/worker.log"):
        values["PYTHONPYCACHEPREFIX"] = os.devnull  # none is read, and the worker removes it
    values["PYTHONUTF8"] = "1"  # the names of files are what they are, whatever LC_ALL says
    config = values.get("CLAUDE_CONFIG_DIR")
    if config and config[0] != "~":
        values["CLAUDE_CONFIG_DIR"] = os.path.abspath(config)  # the worker runs elsewhere
    if path:
        values["PYTHONPATH"] = path
    return values


def is_listed(name: str, names: tuple[str, ...]) -> bool:
    """Whether `name` is one of `names`, or begins as one of them that ends in a star."""
    return name in names or any(item[-1] == "*" and name.startswith(item[:-1]) for item in names)


def names_in(file: str) -> tuple[str, ...]:
    """Return the names of variables that the keys of `NAMING` have in the TOML `file`: `AWS_*`, `NAME=OTHER`.

    Of ``NAME=OTHER`` it is OTHER that a shell has. A file that can't be read, or is no TOML, names none.
    """
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ()
    try:
        text = os.read(handle, 1 << 20).decode("utf-8", "replace")
    except OSError:
        return ()
    finally:
        os.close(handle)
    found: list[str] = []
    try:
        for key, value in strings_of(words_of(text.lstrip("\ufeff"))):
            found += value.replace(",", " ").split() if key in NAMING else ()
    except ValueError:
        return ()
    names = [name.rpartition("=")[2] for name in found]
    return tuple(name for name in names if name.isascii() and name.rstrip("*").isidentifier())


def words_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and text of each word of TOML: a sign is its own kind, `"` a string, `w` any other.

    The Python of a hook may be too old to read TOML. Comments are left out, and strings are not unescaped: no
    name needs that. Raises ValueError for a string that does not end.
    """
    at = 0
    while at < len(text):
        start, sign = at, text[at]
        if sign in "\"'":
            quote = sign * 3 if text.startswith(sign * 3, at) else sign
            at = end_of_string(text, at + len(quote), quote)
            yield '"', text[start + len(quote) : at]
            at += len(quote)
        elif sign == "#":
            while at < len(text) and text[at] != "\n":
                at += 1
        elif sign in SIGNS:
            yield sign, sign
            at += 1
        elif sign in " \t\r":
            at += 1
        else:
            while at < len(text) and text[at] not in SIGNS + "#\"' \t\r":
                at += 1
            yield "w", text[start:at]


def end_of_string(text: str, at: int, quote: str) -> int:
    """Return where the string that begins in `text` at `at` is closed by `quote`. Raises ValueError."""
    while not text.startswith(quote, at):
        if at >= len(text) or (text[at] == "\n" and len(quote) == 1):
            raise ValueError("a string does not end")
        at += 2 if text[at] == "\\" and quote[0] == '"' else 1
    while len(quote) > 1 and text.startswith(quote, at + 1):
        at += 1  # quotes right before the closing ones are the string's
    return at


def strings_of(words: Iterator[tuple[str, str]]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield each string of the TOML `words`, with its key: ``("model", "pass_env")``, however it is written.

    Raises ValueError where a list does not end.
    """
    section: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    for kind, word in words:
        if kind == "[" and not key:
            section = tuple(part for sign, part in until_bracket(words) if sign in '"w')
        elif kind == "=":
            yield from value_of(words, section + key)
            key = ()
        elif kind in '"w':
            key += (word,)


def until_bracket(words: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the `words` before the next closing bracket, which is taken out as well."""
    for kind, word in words:
        if kind == "]":
            return
        yield kind, word


def value_of(
    words: Iterator[tuple[str, str]], key: tuple[str, ...]
) -> Generator[tuple[tuple[str, ...], str], None, str]:
    """Yield the strings of the value of `key` with their keys; return the sign that ended it.

    Takes out of `words` what it reads. Raises ValueError for a list that does not end.
    """
    depth = 0
    for kind, word in words:
        if kind == '"':
            yield key, word
        elif kind == "{":
            yield from table_of(words, key)
        elif kind in "[]":
            depth += 1 if kind == "[" else -1
        elif depth and kind in "=}":
            raise ValueError("a list does not end")
        elif not depth and kind in "\n,}":
            return kind
    if depth:
        raise ValueError("a list does not end")
    return ""


def table_of(
    words: Iterator[tuple[str, str]], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the strings of the table in braces that is the value of `above`, with their keys."""
    key = above
    for kind, word in words:
        ended = kind
        if kind == "=":
            ended = yield from value_of(words, key)
            key = above
        elif kind in '"w':
            key += (word,)
        if ended == "}":
            return


def search_path(home: str, system: str = os.name) -> str:
    """Return the PATH that a command typed by the person noted, else the system's own folders."""
    noted = first_line(home + "/path")
    if noted:
        return noted
    if system == "nt":
        return os.environ.get("SYSTEMROOT", "C:\\Windows") + "\\System32"
    return FOLDERS


def interpreter(home: str, root: str, log: str) -> tuple[str, str]:
    """Return the Python for the worker and what its PYTHONPATH should be ("" for an installed package).

    Both are "" where none is known, or the one that is known lacked a package the last time.
    """
    noted = first_line(home + "/python")
    if runnable(noted) and not lacked_a_package(log) and is_up_to_date(home, root, noted):
        return noted, beside(root)
    for own in (root + "/.venv/bin/python", root + "/.venv/Scripts/python.exe"):
        if runnable(own):
            return own, beside(root)
    return "", ""


def beside(root: str) -> str:
    """Return `root` if the package lies there, as it does in a checkout and in a plugin, else ""."""
    return root if os.path.isdir(root + "/pipeline") else ""


def lacked_a_package(log: str) -> bool:
    """Whether the last that a worker said is that a module is missing in its Python."""
    last = last_line(log)
    return last.startswith((b"ModuleNotFoundError: ", b"ImportError: ")) or b"No module named" in last


def broke_a_compiled_file(log: str) -> bool:
    """Whether the last that a worker said is that what Python keeps compiled of a module can't be read."""
    last = last_line(log)
    return last.startswith((b"EOFError: ", b"ValueError: bad marshal", b"TypeError: ")) or b"marshal" in last


def last_line(log: str) -> bytes:
    """Return the last line of the file `log`, or the end of a long one; nothing where it can't be read."""
    try:
        handle = os.open(log, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return b""
    try:
        os.lseek(handle, max(0, os.fstat(handle).st_size - 600), os.SEEK_SET)
        return os.read(handle, 600).strip().rpartition(b"\n")[2]
    except OSError:
        return b""
    finally:
        os.close(handle)


def is_up_to_date(home: str, root: str, python: str) -> bool:
    """Whether `python`, if it is of the environment that Reverie made, was made for this version of it."""
    own = home + "/environment/"
    return not python.startswith(own) or not beside(root) or first_line(own + "made-for") == root


def runnable(path: str) -> bool:
    """Say whether `path` is absolute and a program we may run."""
    return os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def close_on_exec(lock: int) -> None:
    """Let only the lock pass to the worker, whatever descriptors the host left open to us."""
    for name in os.listdir("/dev/fd"):
        number = int(name)
        if number > 2 and number != lock:
            try:
                os.set_inheritable(number, False)
            except OSError:
                continue  # the listing's own descriptor, closed by now
    os.set_inheritable(lock, True)


def spawn(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Start `arguments` in a new session with stdin and stdout on /dev/null and stderr in `log`."""
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            values,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=(SIGINT,),
        )
    except (NotImplementedError, AttributeError):  # Python 3.7 has no such function
        return fork(arguments, values, log)


def spawn_on_windows(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Start `arguments` apart from the console and, if allowed, from the job the host ends."""
    import subprocess

    for flags in (DETACHED | BREAKAWAY, DETACHED):
        try:
            with open(log, "ab") as errors:
                worker = subprocess.Popen(
                    arguments,
                    env=values,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    creationflags=flags,
                )
        except PermissionError:
            continue  # the job lets nobody leave
        return worker.pid
    return 0


def fork(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Do the same where posix_spawn knows no new sessions (older macOS)."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        signal(SIGINT, SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number, source in (
            (0, quiet),
            (1, quiet),
            (2, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)),
        ):
            os.dup2(source, number)
        os.execve(arguments[0], arguments, values)
    finally:
        os._exit(127)
