"""Workers and commands that start at once: a process with everything imported, which forks for each of them.

Importing takes a worker longer than its work, and the tests run hundreds of them. Each is still a process of
its own, runs the main function of ``pipeline.worker`` or of ``reverie`` with the environment it is given and
under the ordinary rules of file permissions, and dies by the signal it sends itself. What the interpreter
itself reads at its start (the locale, ``PYTHONUTF8``) it can't be given: that takes a process started anew.

Run as a program, it takes one JSON object a line (`Order`) and prints the exit status (negative: the signal
that killed it).
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import re
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypedDict

from tests.support.bounds import bound

ROOT = Path(__file__).resolve().parents[2]
MEASURING = "COVERAGE_PROCESS_CONFIG"
"""The variable by which coverage measures a process that is started."""
_MEASURED = {name: os.environ[name] for name in (MEASURING,) if name in os.environ}
_LEAST_RECORDS = 50
LIMIT = 180
"""Seconds after which a process that should have ended counts as hanging."""


class Order(TypedDict, total=False):
    """What to run: the worker, or `reverie` with `arguments`, which prints to the files `out` and `err`.

    They and `stdin` may be terminals. `cwd` is removed before it starts if it is `gone`. No file may grow
    beyond `longest_file` bytes, as on a disk that is full.
    """

    env: dict[str, str]
    arguments: list[str]
    cwd: str
    gone: bool
    stdin: str
    out: str
    err: str
    longest_file: int


class WarmWorkers:
    """Runs one worker or command after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, env: Mapping[str, str], *, longest_file: int = -1, err: Path | None = None) -> int:
        """Run a worker to its end and return its exit status; `err` is the file for what it complains of."""
        order: Order = {"env": dict(env), "longest_file": longest_file}
        return self._order({**order, "err": str(err)} if err else order)

    def reverie(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        cwd: Path,
        *,
        stdin: str = os.devnull,
        gone: bool = False,
        longest_file: int = -1,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``reverie ARGUMENTS`` in `cwd`, which is removed first if it is to be `gone`."""
        with tempfile.TemporaryDirectory() as scratch:
            out, err = Path(scratch, "out"), Path(scratch, "err")
            pipes = [_pipe(place) for place in (out, err)] if longest_file >= 0 else []
            values: Order = {"cwd": str(cwd), "stdin": stdin, "out": str(out), "err": str(err)}
            values |= {"env": dict(env), "arguments": [*arguments], "gone": gone}
            status = self._order({**values, "longest_file": longest_file})
            found = [_drained(pipe) for pipe in pipes] or [out.read_bytes(), err.read_bytes()]
        printed, told = (text.decode("utf-8") for text in found)
        return subprocess.CompletedProcess([*arguments], status, printed, told)

    def on_terminals(
        self, arguments: Sequence[str], env: Mapping[str, str], cwd: Path, out: str, err: str
    ) -> int:
        """Run ``reverie ARGUMENTS`` in `cwd`, which prints to the terminals `out` and `err`; its status."""
        values: Order = {"cwd": str(cwd), "out": out, "err": err}
        return self._order({"env": dict(env), "arguments": [*arguments], **values})

    def _order(self, order: Order) -> int:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        if not select.select([stdout], [], [], LIMIT)[0]:
            self._process.kill()
            raise AssertionError(f"still running after {LIMIT} s: {order.get('arguments', 'the worker')}")
        return int(stdout.readline())


def _pipe(place: Path) -> int:
    """Make a pipe with a name, which no limit on files is for, and return the end to read from.

    What is written into it waits there, up to a megabyte.
    """
    os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 1 << 20)
    return reader


def _drained(pipe: int) -> bytes:
    """Return all that waits in `pipe`, into which nobody writes any more, and close it."""
    with os.fdopen(pipe, "rb") as reader:
        return reader.read()


@contextmanager
def warm_workers() -> Iterator[WarmWorkers]:
    """Start the process that forks; it ends with the block."""
    command = [*bound(), sys.executable, "-m", "tests.support.warm"]
    env = {**os.environ, **_MEASURED, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT
    ) as process:
        yield WarmWorkers(process)
        assert process.stdin is not None
        process.stdin.close()


@cache
def shared_workers() -> WarmWorkers:
    """Return the one warm process that all tests of this process share; it ends with it."""
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(warm_workers())


def _warm_up() -> None:
    """Do once what every child would have to do by itself: import, compile the rules, open a model client."""
    import frontmatter  # noqa: F401 - imported for the children, as is what follows
    import portalocker  # noqa: F401
    import tenacity  # noqa: F401

    import pipeline
    from pipeline.cli.tree import program
    from pipeline.config.rules import Settings
    from pipeline.extraction.offline_cues import correction, is_statement, type_of
    from pipeline.safety.guard import doubt
    from pipeline.safety.redaction import redact

    for found in pkgutil.walk_packages(pipeline.__path__, "pipeline."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    importlib.import_module("pipeline.worker.__main__")
    _read_parameters(program())  # each command is imported
    _make_methods()
    kinds: list[Any] = [Settings, *map(type, vars(Settings.model_construct()).values())]
    for kind in kinds:
        kind.model_rebuild()
    _compile()
    _read_prompts()
    # The other rules are compiled at the first use.
    redact(
        '{"session_id": "1", "key": "value"} at https://user@host/?token=value, --auth=1, 2026-03-02 09:00'
    )
    assert doubt("The rules are compiled at the first use.") is None
    assert type_of("Rules.") is correction("Rules.") is None and not is_statement("Rules.")
    _read_texts()
    _ask_once()


def _make_methods() -> None:
    """Make the methods of records, and what `dataclasses` knows them by, which wait for their first use."""
    from pipeline.record import _Fields

    records: list[Any] = [
        kind for kind in gc.get_objects() if isinstance(kind, type) and _is_late(kind, _Fields)
    ]
    assert len(records) > _LEAST_RECORDS
    for kind in records:
        assert kind.__dataclass_fields__
        one: Any = object.__new__(kind)
        for method in (kind.__init__, kind.__eq__, kind.__hash__):
            with contextlib.suppress(AttributeError, TypeError):  # it has no values, and maybe no hash
                method(one, *([one] if method is kind.__eq__ else []))


def _is_late(kind: type, late: type) -> bool:
    return type(kind.__dict__.get("__dataclass_fields__")) is late


def _read_texts() -> None:
    """Read a text and a file's front matter, for which patterns are compiled at the first use."""
    from pipeline.hooklib import front_matter
    from pipeline.text.languages import languages_written
    from pipeline.text.pasted import pasted_lines
    from pipeline.text.specifics import shapes

    text = "We deploy Falcon 3.2 on 2026-03-02, said Ines.\n> It was quoted.\n\n    at main (app.py:3)\n"
    found = (languages_written(text), [*shapes(text)], pasted_lines(text))
    assert None not in found
    assert front_matter.read('name: a\ndescription: "b: c"\ntags: [d, e]\nlist:\n  - f\n  - g: h\n')
    assert [*Path(__file__).parent.glob("war*.py")]


def _compile() -> None:
    """Compile the patterns that wait for their first use, and keep them: `re` forgets all but 512."""
    from pipeline.safety.late import _Late
    from pipeline.safety.rule import Rule

    re._MAXCACHE = 1 << 20  # type: ignore[attr-defined]
    known = gc.get_objects()
    assert all(found.pattern for found in known if type(found) is _Late)
    assert all(
        re.compile(text) for rule in known if type(rule) is Rule for text in (rule.pattern, rule.inner)
    )


def _read_prompts() -> None:
    """Read what a model is asked with, and describe the replies of those that extract."""
    from pipeline.extraction.schema import ConversationExtraction, Extraction, Verification
    from pipeline.llm import prompts
    from pipeline.llm.structured import schema_of

    assert all(map(prompts.load, prompts.names()))
    for kind in (ConversationExtraction, Extraction, Verification):
        schema_of(kind)


def _read_parameters(command: Any) -> None:
    """Let `command`, and those below it, make what reads their parameters, or every run makes it."""
    for parameter in command.params:
        getattr(parameter, "get_runtime_param", bool)()  # not every typer that may be here makes anything
    for inner in getattr(command, "commands", {}).values():
        _read_parameters(inner)


def _ask_once() -> None:
    """Let the client of the API load what it does at its first question, and at its first answer."""
    from pipeline.llm.anthropic_client import AnthropicProvider
    from pipeline.llm.request import Message, Request
    from tests.support.loopback import serving

    request = Request("warm-up", "none", "", (Message("user", "Hello."),), 1)
    with serving(lambda _: {"ok": True}) as api:
        AnthropicProvider("made-up", base_url=api.url).send(request, {"type": "object"})


def serve() -> None:
    """Fork for every line on stdin."""
    _warm_up()
    gc.collect()
    gc.freeze()  # no child looks for garbage in, and so copies, what it shares with the others
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(order: Order) -> None:
    """Be what was ordered, and end."""
    from pipeline.cli import main as command
    from pipeline.worker import process as worker

    status = 1
    try:
        _redirect(0, order.get("stdin", os.devnull), os.O_RDONLY)
        _redirect(1, order.get("out", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if "err" in order:
            _redirect(2, order["err"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        # As at an interpreter's start: those of the parent go by what its own streams were.
        sys.stdin = os.fdopen(0, encoding="utf-8")
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")
        if order.get("longest_file", -1) >= 0:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["longest_file"], hard))
        os.chdir(order.get("cwd", ROOT))
        if order.get("gone"):
            os.rmdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        time.tzset()
        if "arguments" in order:
            sys.argv = ["reverie", *order["arguments"]]
            sys.modules["__main__"].__package__ = None  # or click takes the program's name from this module
            command.run()
            status = 0
        else:
            status = worker.main([])
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - this process must never go on as a second server
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _redirect(number: int, path: str, flags: int) -> None:
    opened = os.open(path, flags | os.O_NOCTTY, 0o600)
    os.dup2(opened, number)
    os.close(opened)


if __name__ == "__main__":
    serve()
