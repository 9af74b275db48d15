"""A scripted Messages API's state, and what a fake claude program looks like."""

from collections.abc import Callable
from pathlib import Path
from typing import Any


class Api:
    """Plays `answers` in order, each (status, headers, body), and keeps the requests it got."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, dict[str, str], Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def say(self, text: str | None, *, stop: str = "end_turn", headers: dict[str, str] | None = None) -> None:
        content = [] if text is None else [{"type": "text", "text": text}]
        usage = {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5}
        body: Any = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
        }
        body |= {"content": content, "stop_reason": stop, "stop_sequence": None, "usage": usage}
        self.answers.append((200, headers or {}, body))

    def refuse(self, status: int, message: str, **headers: str) -> None:
        body = {"type": "error", "error": {"type": "some_error", "message": message}}
        self.answers.append(
            (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)
        )


HELP = (
    "--json-schema <s> --tools <t> --no-session-persistence --safe-mode --disable-slash-commands "
    "--system-prompt[-file]"
)
PROGRAM = """#!{python}
import json, os, sys
seen = {seen!r}
if "--help" in sys.argv:
    with open(seen + ".help", "a") as counter:
        counter.write("x")
    print({help!r})
    sys.exit(0)
record = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd()}}
record["stdin"] = sys.stdin.buffer.read().decode()
if "--system-prompt-file" in sys.argv:
    record["system"] = open(sys.argv[sys.argv.index("--system-prompt-file") + 1]).read()
with open(seen, "w") as out:
    json.dump(record, out)
{body}
"""

FakeClaude = Callable[..., Path]
