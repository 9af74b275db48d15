"""One JSON question over HTTP, for the providers of vectors that are servers.

No redirect is followed (a key would go along), no proxy stands between this machine and itself, and the
reply is bounded.
"""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import urlsplit

from pipeline.core.errors import ConfigError, EmbeddingError
from pipeline.llm.live_guard import forbid_live, is_loopback

MOST_BYTES = 64_000_000
_ERROR_BYTES = 300


def fetch_json(
    url: str,
    body: dict[str, Any] | None = None,
    *,
    key: str = "",
    timeout: float,
    provider: str,
    fix: str = "",
) -> Any:
    """Return the JSON that `url` answers: to `body` sent as JSON, or to a plain question without one.

    `key` is sent as a bearer token; `timeout` is in seconds, for each piece of the reply. Raises ConfigError
    for what is no HTTP address, LiveCallError where the switch forbids leaving the machine, and
    EmbeddingError, which names `provider` and carries `fix`, when no JSON came.
    """
    if not _is_web(url):
        raise ConfigError(f"{url!r} is no http or https address", fix="Mend it in [embeddings].")
    if not (key.isascii() and key.isprintable()):
        # The library would say so as well, and quote the key.
        raise EmbeddingError(f"the key for {provider} has characters that no key has", fix=fix)
    forbid_live(provider, base_url=url)
    raw = _fetch_bytes(url, None if body is None else json.dumps(body).encode(), key, timeout, provider, fix)
    if len(raw) > MOST_BYTES:
        raise EmbeddingError(f"{provider} answered with more than {MOST_BYTES:,} bytes", fix=fix)
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise EmbeddingError(f"{provider} answered with what is no JSON: {error}", fix=fix) from error


def key_in(variable: str) -> str:
    """Return what the environment variable named `variable` holds; no name, no key."""
    return os.environ.get(variable, "").strip() if variable else ""


def _fetch_bytes(url: str, data: bytes | None, key: str, timeout: float, provider: str, fix: str) -> bytes:
    # urllib brings http, ssl and email along, which nothing else here needs.
    import http.client
    import urllib.error
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """A redirect is an answer like any other that is no reply."""

        def redirect_request(self, *_: Any) -> None:
            return None

    headers = {"Accept": "application/json", "Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    direct = (urllib.request.ProxyHandler({}),) if is_loopback(url) else ()
    try:
        question = urllib.request.Request(url, data, headers)
        with urllib.request.build_opener(Stay, *direct).open(question, timeout=timeout) as reply:
            found: bytes = reply.read(MOST_BYTES + 1)
            return found
    except urllib.error.HTTPError as error:
        with error:
            answer = error.read(_ERROR_BYTES).decode("utf-8", "replace").strip()
        reason = f"{provider} answered {error.code}: {answer}"
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = f"{provider} can't be reached at {url}: {error}"
    # Neither a server nor a library may put the key into a log.
    raise EmbeddingError(reason.replace(key, "[key]") if key else reason, fix=fix)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
