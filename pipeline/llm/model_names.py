"""Names of models: the aliases of the client, and the full names that the Messages API knows.

On Bedrock, Vertex and gateways the client turns its own alias into what the provider calls that model, which
it does not do for a full name. Where it asks Anthropic, an alias is the newest model of its kind.
"""

from __future__ import annotations

_FULL = {"haiku": "claude-haiku-4-5", "sonnet": "claude-sonnet-5-5", "opus": "claude-opus-5-5"}
_ALIASES = {full: alias for alias, full in _FULL.items()}


def for_client(model: str) -> str:
    """Return what ``claude --model`` is to be given: the alias where there is one, else `model` as it is."""
    return _ALIASES.get(model, model)


def for_api(model: str) -> str:
    """Return what the Messages API is to be given: an alias's full name, else `model` as it is."""
    return _FULL.get(model, model)
