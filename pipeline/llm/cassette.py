"""Recorded model calls: one readable JSON file per call, found again by the digest of the whole request.

A file holds ``format``, ``digest``, ``origin`` (``api``; ``transcribed`` when a stand-in for the API was
answered by hand; ``synthetic`` for malformed replies that no model gives on demand), ``purpose``, the
request and the reply, and a ``manner`` where `reverie eval` asked for a wrong reply. Long texts are lists of
lines, so that a diff reads well. Secrets are scrubbed from what is written; the digest is of the request as
it was sent.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import CassetteError
from pipeline.hooklib import places
from pipeline.llm.budget import Usage
from pipeline.llm.request import Provider, RawReply, Request, request_digest
from pipeline.safety.redaction import redact
from pipeline.text.slugs import slugify

FORMAT = 1
Origin = Literal["api", "transcribed", "synthetic"]
_REPLAY = "replay"
_WORDS = {
    "api": "made at the API",
    "transcribed": "copied from a model's chat, no API",
    "synthetic": "written by hand",
    "mixed": "of several origins",
}
"""Where recorded replies came from, in words, by origin; ``mixed`` where a folder has more than one."""
_RECORD_AGAIN = "Record it with record:DIR, or play the directory that belongs to these prompts."


@dataclass(frozen=True, slots=True)
class Cassette:
    """One recorded call."""

    file: Path
    digest: str
    purpose: str
    reply: RawReply


def in_words(provider: str) -> str:
    """Return how replies came about that are noted as of `provider`, in words; "" for a model's own."""
    kind, _, noted = provider.partition(" (")
    where = _WORDS.get(noted.rstrip(")") or ("api" if kind == _REPLAY else ""), "")
    return f"replayed from a recording {where}" if where and kind == _REPLAY else where


def is_replayed(provider: str) -> bool:
    """Whether replies noted as of `provider` were paid for when they were recorded."""
    return provider.partition(" (")[0] == _REPLAY


def _noted(kind: str, origin: str) -> str:
    """Return a provider's name for calls and runs, with the origin of what it gives if not the API itself."""
    return kind if origin == "api" else f"{kind} ({origin})"


class ReplayProvider:
    """Answers from the cassettes in `folder`, and from nothing else; its name tells what they are."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cassettes = load_all(folder)
        self._played: set[str] = set()
        names = {cassette.reply.provider for cassette in self._cassettes.values()} or {_REPLAY}
        self.name = names.pop() if len(names) == 1 else _noted(_REPLAY, "mixed")

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the recorded reply; without one raises CassetteError naming the nearest recordings."""
        digest = request_digest(request, schema)
        found = self._cassettes.get(digest)
        if found is None:
            raise CassetteError(
                self._miss(digest, request.purpose), file=str(self._folder), fix=_RECORD_AGAIN
            )
        self._played.add(digest)
        return found.reply

    def unplayed(self) -> list[str]:
        """Return the names of the files that no request asked for, sorted."""
        return sorted(c.file.name for c in self._cassettes.values() if c.digest not in self._played)

    def _miss(self, digest: str, purpose: str) -> str:
        near = [name for name in self.unplayed() if name.startswith(f"{slugify(purpose)}-")]
        miss = f"no recorded reply for the {purpose} request {digest[:12]}"
        if near:
            return f"{miss}; not played yet for that purpose: {', '.join(near[:3])}"
        return f"{miss}; {len(self._cassettes)} recordings, none left for that purpose"


class RecordProvider:
    """Asks another provider and keeps each call in `folder`; what is there already is not asked again."""

    name = "record"

    def __init__(self, inner: Provider, folder: Path) -> None:
        self._inner = inner
        self._folder = folder
        self._origin = _origin(places.variable("REVERIE_RECORD_ORIGIN") or None)

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the reply, having written it; errors are passed on and not recorded."""
        digest = request_digest(request, schema)
        file = self._folder / cassette_name(request.purpose, digest)
        if file.exists():
            return load(file).reply
        reply = self._inner.send(request, schema)
        write_atomic(file, encode(request, schema, reply, origin=self._origin))
        return replace(reply, provider=_noted(reply.provider, self._origin))


def cassette_name(purpose: str, digest: str) -> str:
    """Return the file name of a call."""
    return f"{slugify(purpose)}-{digest[:12]}.json"


def encode(request: Request, schema: dict[str, Any], reply: RawReply, *, origin: Origin) -> bytes:
    """Return the cassette's bytes: the same for the same call, with secrets scrubbed."""
    usage = asdict(reply.usage)
    if origin != "api":
        usage["estimated"] = True
    value = {
        "format": FORMAT,
        "digest": request_digest(request, schema),
        "origin": origin,
        "purpose": request.purpose,
        **({"manner": request.manner} if request.manner else {}),
        "request": {
            "model": request.model,
            "system": _lines(request.system),
            "messages": [{"role": m.role, "content": _lines(m.content)} for m in request.messages],
            "max_tokens": request.max_tokens,
            "schema": schema,
        },
        "reply": {
            "model": reply.model,
            "stop_reason": reply.stop_reason,
            "usage": usage,
            "text": _lines(reply.text),
        },
    }
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def load(file: Path) -> Cassette:
    """Return the cassette in `file`; raises CassetteError naming it when it is none."""
    try:
        value = json.loads(file.read_bytes())
        if value["format"] != FORMAT or value["origin"] not in get_args(Origin):
            raise ValueError(f"format {value['format']!r}, origin {value['origin']!r}")
        reply = value["reply"]
        usage = Usage(**reply["usage"])
        model = reply.get("model") or value["request"]["model"]
        provider = _noted(_REPLAY, value["origin"])
        raw = RawReply("\n".join(reply["text"]), reply["stop_reason"], usage, provider, model)
        return Cassette(file, str(value["digest"]), str(value["purpose"]), raw)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CassetteError(f"not a cassette: {error!r}", file=str(file), fix="Record it anew.") from error


def load_all(folder: Path) -> dict[str, Cassette]:
    """Return the cassettes in `folder` by digest; raises CassetteError when two have the same one."""
    if not folder.is_dir():
        raise CassetteError(
            "no such directory of recordings", file=str(folder), fix="Check the path after replay:."
        )
    found: dict[str, Cassette] = {}
    for file in sorted(folder.glob("*.json")):
        cassette = load(file)
        twin = found.setdefault(cassette.digest, cassette)
        if twin is not cassette:
            raise CassetteError(
                f"the same call as {twin.file.name}", file=str(file), fix="Delete one of the two."
            )
    return found


def _lines(text: str) -> list[str]:
    return redact(text).text.split("\n")


def _origin(named: str | None) -> Origin:
    return "transcribed" if named == "transcribed" else "api"
