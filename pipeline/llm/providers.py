"""Which provider answers: the specification from the settings or the command line, made real.

Nothing found by chance is ever used: a key or token counts when ``model.api_key_env`` or
``model.auth_token_env`` names its variable, or when a person asked for ``anthropic`` or ``record:DIR`` in so
many words.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.core.errors import ConfigError, UnauthorisedError, UnavailableError
from pipeline.hooklib.places import by_client, variable
from pipeline.llm import logins
from pipeline.llm.claude_program import find_claude, missing

if TYPE_CHECKING:
    from pipeline.config import ModelSettings
    from pipeline.llm.anthropic_client import AnthropicProvider
    from pipeline.llm.request import Provider, Request


class OfflineProvider:
    """No model at all; extraction then keeps explicit statements by rule."""

    name = "offline"

    def send(self, request: Request, schema: dict[str, Any]) -> NoReturn:
        """Raise UnavailableError."""
        raise UnavailableError("There is no model: the provider is offline.", fix="Set model.provider.")


def open_provider(spec: str, settings: ModelSettings, *, home: Path) -> Provider:
    """Return the provider that `spec` names: auto, anthropic, claude-cli, offline, replay:DIR or record:DIR.

    A `spec` that differs from ``settings.provider`` was given on the command line; only then, and for
    ``record:``, may ``anthropic`` take ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL from a person's shell. Raises
    UnauthorisedError without a key, UnavailableError without the program, CassetteError for a bad replay
    directory and ConfigError for any other word.
    """
    kind, folder = _split(spec)
    if kind == "auto":
        kind = describe(spec, settings)[0]
    if kind == "anthropic":
        return _anthropic(settings, typed=spec not in ("auto", settings.provider))
    if kind == "claude-cli":
        program = find_claude(settings)
        if program is None:
            raise missing(settings)
        from pipeline.llm.claude_cli import ClaudeCliProvider

        return ClaudeCliProvider(program, settings, home=home)
    if kind == "offline":
        return OfflineProvider()
    from pipeline.llm.cassette import RecordProvider, ReplayProvider

    if kind == "replay":
        return ReplayProvider(Path(folder).expanduser())
    return RecordProvider(_anthropic(settings, typed=True), Path(folder).expanduser())


def describe(spec: str, settings: ModelSettings) -> tuple[str, str]:
    """Return the name of the provider that `spec` leads to and why, without opening it.

    A claude program that the settings name is chosen even when it is gone, so that its absence is an
    error somebody sees and not a silent change to rules.
    """
    kind, _ = _split(spec)
    if kind == "auto":
        return _choose(settings)
    reason = f"asked for: {spec}"
    if kind == "anthropic" and not any(_credentials(settings, typed=spec != settings.provider)):
        reason += f", but {_no_key(settings)}"
    if kind == "claude-cli" and find_claude(settings) is None:
        reason += f", but {missing(settings)}"
    return kind, reason


def _choose(settings: ModelSettings) -> tuple[str, str]:
    if logins.key(settings):
        return "anthropic", f"{settings.api_key_env} is set (model.api_key_env)"
    if logins.token(settings):
        named = settings.auth_token_env
        by = "model.auth_token_env" if named else "model.api_key_env"
        return "anthropic", f"{named or logins.TOKEN} is set ({by})"
    program = find_claude(settings)
    if program is not None or settings.claude_path:
        where = str(program) if program else f"{settings.claude_path} (missing)"
        return "claude-cli", f"the claude program at {where}"
    return "offline", f"{_no_key(settings)}, and no claude program was found"


def _split(spec: str) -> tuple[str, str]:
    kind, colon, folder = spec.partition(":")
    if (kind in ("auto", "anthropic", "claude-cli", "offline") and not colon) or (
        kind in ("replay", "record") and folder
    ):
        return kind, folder
    raise ConfigError(
        f"unknown provider {spec!r}",
        fix="Use auto, anthropic, claude-cli, offline, replay:DIR or record:DIR.",
    )


def _credentials(settings: ModelSettings, *, typed: bool) -> tuple[str, str]:
    """Return API key and token, one at most: what the settings name, or the usual if a person `typed` it."""
    key, token = logins.key(settings), logins.token(settings)
    if key or token or not typed or by_client():
        return key, "" if key else token
    key = os.environ.get(logins.KEY, "")
    return key, "" if key else os.environ.get(logins.TOKEN, "")


def _no_key(settings: ModelSettings) -> str:
    for setting in ("api_key_env", "auth_token_env"):
        if getattr(settings, setting):
            return f"{getattr(settings, setting)} is not set (model.{setting})"
    return "model.api_key_env names no API key"


def _anthropic(settings: ModelSettings, *, typed: bool) -> AnthropicProvider:
    from pipeline.llm.anthropic_client import AnthropicProvider

    key, token = _credentials(settings, typed=typed)
    if not (key or token):
        raise UnauthorisedError(
            f"There is no API key: {_no_key(settings)}.",
            fix="Set model.api_key_env to the name of the variable that holds the key.",
        )
    url = settings.base_url or (variable(logins.URL) if typed else "")
    return AnthropicProvider(key, auth_token=token, base_url=url, timeout_seconds=settings.timeout_seconds)
