"""What a hook event says: fields out of whole, cut or oddly encoded JSON, and what of them may be kept."""

from __future__ import annotations

import json
from typing import Any

from pipeline.hooklib.plain import well_formed
from pipeline.safety.late import late

PAYLOAD_LIMIT = 20_000
"""Bytes of redacted JSON kept in the ledger for one event."""
_SALVAGE = {
    name: late(rf'"{name}"\s{{0,20}}:\s{{0,20}}("(?:[^"\\\n]|\\.){{1,4096}}")')
    for name in ("session_id", "transcript_path", "cwd", "hook_event_name", "agent_id", "reason", "trigger")
}


def decode_text(raw: bytes) -> str:
    """Decode UTF-8, UTF-16 or UTF-32, with or without a mark; what can't be decoded becomes U+FFFD."""
    return raw.decode(json.detect_encoding(raw), "replace")


def fields_of(raw: bytes) -> dict[str, Any]:
    """Return the JSON object at the start of `raw`, or what can be picked out of a broken one."""
    text = decode_text(raw).lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        return value
    picked = {}
    for name, pattern in _SALVAGE.items():
        found = pattern.search(text)
        if found:
            try:
                picked[name] = json.loads(found[1], strict=False)
            except ValueError:
                # A broken escape inside this one value; the others may still do.
                continue
    return picked


def text_field(fields: dict[str, Any], name: str) -> str | None:
    """Return the field `name` if it is text that says something; lone surrogates become U+FFFD."""
    value = fields.get(name)
    return well_formed(value) if isinstance(value, str) and value.strip() else None


def payload_of(fields: dict[str, Any]) -> str:
    """Return `fields` as redacted JSON within PAYLOAD_LIMIT, long strings cut first."""
    for longest in (PAYLOAD_LIMIT, 4000, 500, 100):
        text = json.dumps(_safe(fields, longest, 0), ensure_ascii=False)
        if len(text.encode()) <= PAYLOAD_LIMIT:
            return text
    few = {name: value for name, value in fields.items() if name in _SALVAGE and isinstance(value, str)}
    return json.dumps(_safe(few, 1000, 0), ensure_ascii=False)


def _safe(value: Any, longest: int, depth: int) -> Any:
    """Return `value` with its strings redacted and at most `longest` characters, and no deep nesting."""
    if isinstance(value, str):
        # Redacted with some text to spare, so that the cut does not hide half a secret from the rules.
        from pipeline.safety.redaction import redact  # Who only counts what waits keeps nothing.

        text = redact(well_formed(value[: longest + 4096])).text
        return text if len(text) <= longest else text[:longest] + "…"
    if isinstance(value, dict):
        if depth > 8:
            return "…"
        return {str(_safe(name, 200, depth)): _safe(item, longest, depth + 1) for name, item in value.items()}
    if isinstance(value, list):
        return [_safe(item, longest, depth + 1) for item in value[:200]] if depth <= 8 else "…"
    return value
