"""Models behind one seam: `Client.complete(request, schema)` gives a validated value or a named error.

Importing this package imports no SDK: anthropic, tenacity and the redactor's engine come with the first
call that needs them.
"""

from typing import TYPE_CHECKING

from pipeline.core.lazily import exports

if TYPE_CHECKING:
    from pipeline.llm.client import Client
    from pipeline.llm.providers import describe, open_provider
    from pipeline.llm.request import Message, Meter, Provider, RawReply, Reply, Request, request_digest

__getattr__ = exports(
    __name__,
    {
        "client": "Client",
        "providers": "describe open_provider",
        "request": "Message Meter Provider RawReply Reply Request request_digest",
    },
)

__all__ = [
    "Client",
    "Message",
    "Meter",
    "Provider",
    "RawReply",
    "Reply",
    "Request",
    "describe",
    "open_provider",
    "request_digest",
]
