"""Workers that start at once: a process with everything imported, which forks for each of them.

Importing takes a worker longer than its work, and the crash tests run a hundred of them. Each is still a
process of its own, runs ``pipeline.worker``'s main function, and dies by the signal it sends itself.

Run as a program, it takes one JSON object a line, the worker's whole environment, and prints its exit
status (negative: the signal that killed it).
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WarmWorkers:
    """Runs one worker after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, env: Mapping[str, str]) -> int:
        """Run a worker to its end and return its exit status."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(json.dumps(dict(env)) + "\n")
        stdin.flush()
        return int(stdout.readline())


@contextmanager
def warm_workers() -> Iterator[WarmWorkers]:
    """Start the process that forks; it ends with the block."""
    command = [sys.executable, __file__]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env, cwd=ROOT
    ) as process:
        yield WarmWorkers(process)
        assert process.stdin is not None
        process.stdin.close()


def serve() -> None:
    """Fork a worker for every line on stdin."""
    import frontmatter  # noqa: F401 - imported for the children, as is what follows
    import tenacity  # noqa: F401

    from pipeline.core.errors import UnavailableError
    from pipeline.llm.anthropic_client import AnthropicProvider
    from pipeline.llm.request import Message, Request
    from pipeline.safety.redaction import redact
    from pipeline.worker import __main__ as worker

    redact("warm up: the rules are compiled at the first use, and so is the scanner")
    with contextlib.suppress(UnavailableError), socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and not listening: what the client loads at its first call is loaded
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        request = Request("warm-up", "none", "", (Message("user", "Hello."),), 1)
        AnthropicProvider("made-up", base_url=address).send(request, {"type": "object"})
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.environ.clear()
                os.environ.update(json.loads(line))
                status = worker.main([])
            except BaseException:  # noqa: BLE001 - this process must never go on as a second server
                traceback.print_exc()
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
