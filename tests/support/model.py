"""Scripted models: a Messages API's state, a fake claude program, and extraction's second reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pipeline.evaluation.manner import SECOND_READER
from pipeline.llm import ping
from pipeline.llm.budget import Usage
from pipeline.llm.fakes import Scripted, ScriptedProvider
from pipeline.llm.request import RawReply, Request

_ITEM = re.compile(r"^## (?P<id>[cw]\d+) \((?P<what>.*)\)$", re.MULTILINE)


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


def items_of(prompt: str) -> dict[str, str]:
    """Return the items of a second reader's prompt by id, each with its text."""
    found = list(_ITEM.finditer(prompt))
    ends = [*(match.start() for match in found[1:]), *([len(prompt)] if found else [])]
    return {match["id"]: prompt[match.start() : end] for match, end in zip(found, ends, strict=True)}


def is_second(prompt: str) -> bool:
    """Whether a prompt is the second reader's."""
    return prompt.startswith("## ")


def borne_out(prompt: str, **opinions: dict[str, Any]) -> dict[str, Any]:
    """Answer that every item is borne out, in the words of whoever the code says, and taken back.

    What an update replaces holds no longer. `opinions` gives for an id what is otherwise.
    """
    items = items_of(prompt)
    said: dict[str, Any] = {"verdict": "borne_out", "words": "person", "lasts": "yes"}
    return {
        "items": [
            {
                "id": name,
                **said,
                "gone": [int(n) for n in re.findall(r"^old (\d+): .* => ", text, re.MULTILINE)],
                **opinions.get(name, {}),
            }
            for name, text in items.items()
            if name[0] == "c"
        ],
        "withdrawals": [
            {"id": name, "taken_back": "yes", **opinions.get(name, {})} for name in items if name[0] == "w"
        ],
    }


class TwoReaders(ScriptedProvider):
    """A scripted first reader, with a second one, `second`, that has a history of its own.

    The small question whether anybody answers gets its answer.
    """

    def __init__(
        self,
        script: Iterable[Scripted] | Callable[[Request], Scripted],
        reader: Callable[[str], Scripted] = borne_out,
    ) -> None:
        super().__init__(script)
        self.second = ScriptedProvider(lambda request: reader(request.messages[0].content))

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the next reply of whichever reader is asked."""
        if request.purpose == SECOND_READER:
            return self.second.send(request, schema)
        if request.purpose == ping.PURPOSE:
            return RawReply('{"ok": true}', "end_turn", Usage(20, 5), self.name, request.model)
        return super().send(request, schema)
