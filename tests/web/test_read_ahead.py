"""What the page reads ahead waits for who asks already, and begins before a server has long been idle."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pipeline.web import serving
from pipeline.web.serving import Watched


def order_of(*, answered_after: float) -> list[str]:
    """Return what came first, the answer to a request that is under way or what is read ahead."""
    order: list[str] = []

    async def ran() -> None:
        release = asyncio.Event()

        async def app(scope, receive, send):
            await release.wait()
            order.append("answered")

        async def wait_for_a_lull():
            begun: Any = SimpleNamespace(started=True)
            server: Any = asyncio.create_task(asyncio.Event().wait())
            await serving._lull(begun, server, watched)
            order.append("read ahead")
            server.cancel()

        watched, unused = Watched(app), cast("Any", None)
        asyncio.get_running_loop().call_later(answered_after, release.set)
        await asyncio.gather(watched({"type": "http"}, unused, unused), wait_for_a_lull())

    asyncio.run(ran())
    return order


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(serving, "_LULL_SECONDS", 0.02)


def test_who_asks_already_is_answered_first():
    assert order_of(answered_after=0.15) == ["answered", "read ahead"]


def test_an_answer_that_goes_on_and_on_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(serving, "_MOST_LULLS", 3)
    assert order_of(answered_after=0.5) == ["read ahead", "answered"]
