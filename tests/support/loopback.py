"""A Messages API on the loopback address, for worker processes of any number.

It answers with a function of what it was asked, keeps every request, and notes how many were in hand at
once.
"""

from __future__ import annotations

import atexit
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from pipeline.llm import ping
from pipeline.llm.prompts import load
from tests.support.http_server import Quiet, listening
from tests.support.model import borne_out, is_second

PING = load(ping.PURPOSE).render().strip()
"""The question whether anybody answers."""
KEY_VARIABLE = "REVERIE_TEST_KEY"


@dataclass(frozen=True)
class Refusal:
    """An answer other than a reply: an HTTP status with the API's error body."""

    status: int
    message: str = "made-up refusal"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Limited:
    """A reply with rate-limit headers: `left` of 100 tokens remain."""

    value: Any
    left: int


class NoReply(Enum):
    """No reply: the connection is held until the asker has had enough, or ended at once."""

    SILENCE = "silence"
    HANG_UP = "hang up"


Answer = Callable[[str], Any]
"""From the prompt to the value to reply with as JSON, its text, a Refusal, a Limited or a NoReply."""


class LoopbackApi:
    """What the API was asked: `prompts` in order, and `most_at_once` requests.

    `second` holds what extraction's second reader was asked, whom `reader` plays. The small question whether
    anybody answers is one like the others, or `pings` holds it where `ping` answers it.
    """

    def __init__(self, answer: Answer, reader: Answer = borne_out) -> None:
        self.answer = answer
        self.prompts: list[str] = []
        self.reader = reader
        self.second: list[str] = []
        self.ping: Answer | None = None
        self.pings: list[str] = []
        self.most_at_once = 0
        self.url = ""
        self._in_hand = 0
        self._lock = threading.Lock()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to ask here."""
        return {
            "REVERIE_MODEL__PROVIDER": "anthropic",
            "REVERIE_MODEL__API_KEY_ENV": KEY_VARIABLE,
            KEY_VARIABLE: "made-up",
            "REVERIE_MODEL__BASE_URL": self.url,
            **few_authorities(),
        }

    def take(self, body: Mapping[str, Any]) -> tuple[int, dict[str, str], dict[str, Any]] | NoReply:
        """Note a request and return status, headers and body of the response, or how there is none."""
        prompt = "".join(_text(message["content"]) for message in body["messages"])
        asked, answer = self.prompts, self.answer
        if is_second(prompt):
            asked, answer = self.second, self.reader
        elif self.ping is not None and prompt.startswith(PING):
            asked, answer = self.pings, self.ping
        with self._lock:
            asked.append(prompt)
            self._in_hand += 1
            self.most_at_once = max(self.most_at_once, self._in_hand)
        try:
            value = answer(prompt)
            return value if isinstance(value, NoReply) else _response(value)
        finally:
            with self._lock:
                self._in_hand -= 1


@cache
def few_authorities() -> dict[str, str]:
    """Return the variable that names a file of one authority, if this system knows any.

    To read the usual hundred and more, of which none is needed here, takes longer than to ask.
    """
    known = ssl.create_default_context().get_ca_certs(binary_form=True)
    if not known:
        return {}
    with NamedTemporaryFile("w", encoding="ascii", suffix=".pem", delete=False) as file:
        file.write(ssl.DER_cert_to_PEM_cert(known[0]))
    atexit.register(Path(file.name).unlink, missing_ok=True)
    return {"SSL_CERT_FILE": file.name}


def well(prompt: str) -> dict[str, Any]:
    """Answer the small question."""
    return {"ok": True}


def new_dialogue(prompt: str) -> str:
    """Return the part of an extraction prompt that holds the new dialogue."""
    found = re.search(r"<(new_dialogue|conversation)>\n(.*)</\1>", prompt, re.DOTALL)
    assert found, "this is no extraction prompt"
    return found[2]


def person_lines(prompt: str) -> list[tuple[int, str]]:
    """Return number and text of what a person says in the new dialogue."""
    found = re.findall(
        r"^\[(\d+)\] [^:\n]*\d\d:\d\d PERSON[^:\n]*: (.*)$", new_dialogue(prompt), re.MULTILINE
    )
    return [(int(number), text) for number, text in found]


def fact(name: str, statement: str, line: int, quote: str = "", **values: Any) -> dict[str, Any]:
    """Return a candidate memory that cites one line."""
    return {
        "name": name,
        "type": "project",
        "description": statement,
        "statement": statement,
        "evidence": [{"line": line, "quote": quote or statement}],
        **values,
    }


def keep_each_line(prompt: str) -> dict[str, Any]:
    """Answer with one memory for each line a person says, named after its first three words."""
    return {"memories": [fact("-".join(text.split()[:3]), text, n) for n, text in person_lines(prompt)]}


def keep_nothing(prompt: str) -> dict[str, Any]:
    """Answer that nothing is worth keeping."""
    return {"memories": []}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _response(answer: Any) -> tuple[int, dict[str, str], dict[str, Any]]:
    headers: dict[str, str] = {}
    if isinstance(answer, Refusal):
        error = {"type": "some_error", "message": answer.message}
        return answer.status, dict(answer.headers), {"type": "error", "error": error}
    if isinstance(answer, Limited):
        prefix = "anthropic-ratelimit-tokens-"
        headers = {f"{prefix}remaining": str(answer.left), f"{prefix}limit": "100"}
        answer = answer.value
    text = answer if isinstance(answer, str) else json.dumps(answer)
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }
    return 200, headers, body


@contextmanager
def serving(answer: Answer, reader: Answer = borne_out) -> Iterator[LoopbackApi]:
    """Run a LoopbackApi until the block ends."""
    api = LoopbackApi(answer, reader)

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            response = api.take(body)
            if isinstance(response, NoReply):
                self.close_connection = True
                if response is NoReply.SILENCE:
                    self.rfile.read(1)  # until the other side hangs up
                return
            status, headers, reply = response
            self.send(status, "application/json", json.dumps(reply).encode(), headers)

    with listening(Handler) as api.url:
        yield api
