"""A Message Batches API on the loopback address, beside the Messages API of `loopback`.

What a batch's requests are answered with is the same function that answers single ones, so that both ways
can be compared. A test says when a batch ends and what becomes of single requests of it; the server keeps
what it was sent and what it would charge for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.http_server import Quiet, listening
from tests.support.loopback import KEY_VARIABLE, Answer, LoopbackApi, NoReply, few_authorities
from tests.support.model import borne_out

ROOT = "/v1/messages/batches"
FINE = "succeeded"
Fate = Callable[[str], Any]
"""From a prompt to what becomes of it in a batch: FINE, ``expired``, ``errored`` or ``canceled``."""


@dataclass
class Batch:
    """One batch as it was sent; `results` are its lines once it has ended."""

    id: str
    requests: list[dict[str, Any]]
    created_at: datetime
    ended: bool = False
    canceling: bool = False
    archived: bool = False
    results: list[dict[str, Any]] = field(default_factory=list)

    def value(self, url: str) -> dict[str, Any]:
        """Return the batch as the API shows it."""
        kinds = Counter(line["result"]["type"] for line in self.results)
        counts = {name: kinds[name] for name in (FINE, "errored", "canceled", "expired")}
        status = "ended" if self.ended else "canceling" if self.canceling else "in_progress"
        at = self.created_at
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": {"processing": 0 if self.ended else len(self.requests), **counts},
            "created_at": at.isoformat(),
            "expires_at": (at + timedelta(days=1)).isoformat(),
            "ended_at": at.isoformat() if self.ended else None,
            "archived_at": at.isoformat() if self.archived else None,
            "cancel_initiated_at": at.isoformat() if self.canceling else None,
            "results_url": f"{url}{ROOT}/{self.id}/results" if self.ended else None,
        }


class BatchApi(LoopbackApi):
    """Both APIs. `batches` are those that came, newest last; `charged` counts what was answered, by prompt.

    `at_once` ends each batch as it comes; else `end` does. With `refusal` (status and message) no batch is
    taken, nor one whose prompts `is_too_large` (`refused` has how many each of those had). `cut` results are
    sent of a batch before the connection ends, and `lack` are left out of it. `line` writes a result, and
    `now` is the server's clock.
    """

    def __init__(self, answer: Answer, reader: Answer = borne_out) -> None:
        super().__init__(answer, reader)
        self.batches: list[Batch] = []
        self.charged: Counter[str] = Counter()
        self.single: list[dict[str, Any]] = []
        self.fate: Fate = lambda prompt: FINE
        self.at_once = True
        self.refusal: tuple[int, str] | None = None
        self.is_too_large: Callable[[list[str]], bool] = lambda prompts: False
        self.refused: list[int] = []
        self.after_taking: Callable[[], None] = lambda: None
        self.cut = -1
        self.lack = 0
        self.line: Callable[[dict[str, Any]], bytes] = lambda line: json.dumps(line).encode()
        self.now = lambda: datetime(2026, 3, 9, 8, 0, tzinfo=UTC)
        self.asked: list[str] = []

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

    def end(self) -> None:
        """Let every batch end that is under way: what is canceled was not begun."""
        for batch in self.batches:
            if not batch.ended:
                batch.results = [self._result(batch, one) for one in reversed(batch.requests)]
                batch.ended = True

    def _result(self, batch: Batch, one: Mapping[str, Any]) -> dict[str, Any]:
        prompt = one["params"]["messages"][0]["content"]
        fate = "canceled" if batch.canceling else self.fate(prompt)
        if fate == "errored":
            error = {
                "type": "error",
                "request_id": None,
                "error": {"type": "api_error", "message": "made up"},
            }
            return {"custom_id": one["custom_id"], "result": {"type": fate, "error": error}}
        if fate != FINE:
            return {"custom_id": one["custom_id"], "result": {"type": fate}}
        answered = self.take(one["params"])
        assert not isinstance(answered, NoReply)
        self.charged[prompt] += 1
        return {"custom_id": one["custom_id"], "result": {"type": FINE, "message": answered[2]}}

    def call(self, method: str, path: str, body: Any) -> tuple[int, dict[str, str], Any] | NoReply:
        """Answer one HTTP request."""
        path = path.partition("?")[0]
        if not path.startswith(ROOT):
            self.single.append(body)
            prompt = body["messages"][0]["content"]
            self.charged[prompt] += 1
            return self.take(body)
        self.asked.append(f"{method} {path}")
        rest = path[len(ROOT) :].strip("/").split("/")
        if rest == [""]:
            return self._made(body) if method == "POST" else (200, {}, self._listed())
        found = next((batch for batch in self.batches if batch.id == rest[0]), None)
        if found is None:
            return 404, {}, _error("not_found_error", "there is no such batch")
        if rest[1:] == ["cancel"]:
            found.canceling = not found.ended
        if rest[1:] == ["results"]:
            return 200, {"x-lines": "yes"}, found.results[self.lack :]
        return 200, {}, found.value(self.url)

    def _made(self, body: Any) -> tuple[int, dict[str, str], Any]:
        if self.refusal is not None:
            return self.refusal[0], {}, _error("invalid_request_error", self.refusal[1])
        if self.is_too_large([one["params"]["messages"][0]["content"] for one in body["requests"]]):
            self.refused.append(len(body["requests"]))
            return 413, {}, _error("request_too_large", "made-up limit")
        made = Batch(f"msgbatch_{len(self.batches) + 1:04}", body["requests"], self.now())
        self.batches.append(made)
        if self.at_once:
            self.end()
        self.after_taking()
        # As it is when it begins: nothing has ended a moment after it came.
        value = made.value(self.url)
        return 200, {}, value

    def _listed(self) -> dict[str, Any]:
        values = [batch.value(self.url) for batch in reversed(self.batches)]
        return {"data": values, "has_more": False, "first_id": None, "last_id": None}


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@contextmanager
def serving_batches(answer: Answer, reader: Answer = borne_out) -> Iterator[BatchApi]:
    """Run a BatchApi until the block ends."""
    api = BatchApi(answer, reader)

    class Handler(Quiet):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            self._respond(api.call("POST", self.path, json.loads(raw or b"{}")))

        def do_GET(self) -> None:
            self._respond(api.call("GET", self.path, None))

        def _respond(self, response: Any) -> None:
            if isinstance(response, NoReply):
                self.close_connection = True
                return
            status, headers, reply = response
            kind, data = "application/json", json.dumps(reply).encode()
            cut = len(data)
            if headers.pop("x-lines", ""):
                kind, lines = "application/x-jsonl", [api.line(line) + b"\n" for line in reply]
                data = b"".join(lines)
                cut = len(data) if api.cut < 0 else len(b"".join(lines[: api.cut])) + 10
            self.send(status, kind, data, headers, cut=cut)

    with listening(Handler) as api.url:
        yield api
