"""What ``claude -p --output-format json`` printed, as a reply or as a named error.

A failure shows in the exit code, in ``is_error``, in ``subtype``, or only in the words of a result that
looks fine (a used-up allowance does); all four are looked at.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from pipeline.core.errors import (
    InvalidReplyError,
    ModelError,
    OverloadedError,
    QuotaError,
    TooLongError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.hooklib import jsonish
from pipeline.llm import error_phrases
from pipeline.llm.budget import Usage, estimate_tokens
from pipeline.llm.request import RawReply, Request

_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
}
_SHOWN = 300
_NOTICE = 500
"""A result of at most this many characters, without JSON in it, may be a notice instead of an answer."""


def read_result(stdout: str, stderr: str, code: int, request: Request) -> RawReply:
    """Return the reply in what the client printed, or raise the ModelError kind it amounts to."""
    result = _result(stdout)
    if result is None:
        raise _failure(f"{stdout}\n{stderr}".strip(), None, code)
    text = result.get("result")
    text = text if isinstance(text, str) else ""
    if code != 0 or result.get("is_error") or result.get("subtype", "success") != "success":
        error = _failure(_message(result, text, stderr), result, code)
        if isinstance(result.get("usage"), dict):
            # The client may have asked several times before it gave up; those tokens are spent.
            error.usage = _usage(result, request, text)
        raise error
    structured = result.get("structured_output")
    if structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    elif len(text) <= _NOTICE and "{" not in text:
        # Some notices come as a success: exit 0, is_error false, the sentence as the result.
        notice = _named(text, result)
        if notice is not None:
            raise notice
    stop = result.get("stop_reason")
    model = _model(result) or request.model
    stop_reason = stop if isinstance(stop, str) and stop else "end_turn"
    return RawReply(text, stop_reason, _usage(result, request, text), "claude-cli", model)


def raise_failure(stdout: str, stderr: str, code: int) -> NoReturn:
    """Raise the ModelError kind for a client that ended with `code` before it was asked anything."""
    raise _failure(f"{stdout}\n{stderr}".strip(), None, code).unsent()


def _asked(result: dict[str, Any]) -> bool:
    """Whether the client says that it used tokens or time of the API."""
    used = result.get("usage")
    counted = isinstance(used, dict) and any(used.get(name) for name in _COUNTS)
    return bool(counted or result.get("duration_api_ms") or result.get("total_cost_usd"))


def _result(stdout: str) -> dict[str, Any] | None:
    """Return the result object: all of `stdout`, or its last line that is one, or the last of a list."""
    for text in (stdout, *reversed(stdout.split("\n"))):
        if not text.lstrip().startswith(("{", "[")):
            continue
        try:
            value = jsonish.loads(text)
        except ValueError:
            # Warnings may stand around the object, or it is none; the next reading is a single line.
            continue
        for item in reversed(value if isinstance(value, list) else [value]):
            if isinstance(item, dict) and item.get("type") == "result":
                return item
    return None


def _message(result: dict[str, Any], text: str, stderr: str) -> str:
    errors = result.get("errors")
    listed = [str(error) for error in errors] if isinstance(errors, list) else []
    status = result.get("api_error_status")
    return " ".join(filter(None, [text, *listed, f"status {status}" if status else "", stderr.strip()]))


def _failure(message: str, result: dict[str, Any] | None, code: int) -> ModelError:
    named = _named(message, result)
    if named is not None:
        return named
    subtype = str((result or {}).get("subtype", ""))
    if subtype in ("error_max_structured_output_retries", "error_max_turns"):
        return InvalidReplyError(
            f"claude gave no fitting reply ({subtype}).", fix="Try again or name another model."
        )
    if "unknown option" in message:
        return UnavailableError(f"claude: {message[:_SHOWN]}", fix="Update Claude Code.")
    what = message[:_SHOWN] or "it printed nothing"
    return ModelError(f"claude failed with exit code {code}: {what}", fix="Run `claude -p hello` to see why.")


def _named(message: str, result: dict[str, Any] | None) -> ModelError | None:
    """Return the error that the words or the status of a failure name."""
    status = (result or {}).get("api_error_status")
    short = f"claude: {message[:_SHOWN]}"
    if error_phrases.is_quota(message):
        return QuotaError(short, fix="Wait until the allowance is renewed.")
    if error_phrases.is_too_long(message) or status == 413:
        return TooLongError(short, fix="Ask about less at once.")
    passing = isinstance(status, int) and (status in (408, 429) or status >= 500)
    overloaded = passing or error_phrases.is_overloaded(message)
    if error_phrases.is_web_page(message) and not overloaded:
        return UnavailableError(
            "claude: it was answered with a web page, as a network or a gateway does to which one must log in"
            " first.",
            fix="Open a page in a browser and log in there, or mend the gateway's address.",
        )
    if error_phrases.is_wrong_model(message) or status == 404:
        return UnavailableError(short, fix="Set model.model to a model that `claude --model` takes.")
    if status == 403 or (error_phrases.is_forbidden(message) and status != 401):
        return UnauthorisedError(
            short, fix="Ask who runs your organisation or gateway, or use another login."
        )
    if error_phrases.is_unauthorised(message) or status == 401:
        error = UnauthorisedError(short, fix="Run `claude` and log in with /login.")
        stayed = error_phrases.is_logged_out(message) and result is not None and not _asked(result)
        return error.unsent() if stayed else error
    if overloaded:
        return OverloadedError(short, fix="Nothing to do: it is tried again.")
    if error_phrases.is_no_network(message):
        return UnavailableError(short, fix="Check the network.")
    return None


def _model(result: dict[str, Any]) -> str | None:
    """Return the one model that answered, when the client names exactly one."""
    used = result.get("modelUsage")
    return str(next(iter(used))) if isinstance(used, dict) and len(used) == 1 else None


def _usage(result: dict[str, Any], request: Request, text: str) -> Usage:
    used = result.get("usage")
    if isinstance(used, dict):
        counts = {name: used[name] for name in _COUNTS if isinstance(used.get(name), int)}
        if counts:
            return Usage(**{_COUNTS[name]: count for name, count in counts.items()})
    asked = request.system + "".join(message.content for message in request.messages)
    return Usage(estimate_tokens(asked), estimate_tokens(text), estimated=True)
