"""The six tools that every client gets: recall, get, remember, forget, why, status."""

from __future__ import annotations

import logging
from typing import Any

from pipeline.app import explaining, on_behalf, scopes
from pipeline.app import recall as recalling
from pipeline.app.application import App
from pipeline.app.finding import Finder
from pipeline.app.on_behalf import Wish
from pipeline.app.scopes import scope_of
from pipeline.app.secrets_out import shown_without_secrets, without_secrets
from pipeline.app.selecting import Filter, Selected, select
from pipeline.app.state_words import damaged_words
from pipeline.core.clock import iso
from pipeline.domain.memory import Memory
from pipeline.hooklib.memory_format import author_of, speaker
from pipeline.hooklib.ownership import TOLD
from pipeline.search.refresh import borne_out
from pipeline.server.calls import Answer, Call
from pipeline.store import Document
from pipeline.verify.provenance import said_at

FINDER = Finder()


def recall(call: Call, given: dict[str, Any]) -> Answer:
    """Return the memories that hold words of the query, best first."""
    return hits(call.app(), given, Filter())


def hits(app: App, given: dict[str, Any], wanted: Filter, *, limit: int = 10) -> Answer:
    """Return the page of memories that `given` asks for among those that are `wanted`."""
    notes: list[str] = []
    size, offset = given.get("limit", limit), given.get("offset", 0)
    rows, more = select(app, given.get("query", ""), wanted, limit=size, offset=offset, problems=notes)
    return {
        "memories": [shown_without_secrets(_hit(row)) for row in rows],
        "next_offset": offset + size if more else None,
        "notes": notes,
    }


def get(call: Call, given: dict[str, Any]) -> Answer:
    """Return one memory whole; counts as a use of it."""
    return whole(call, given["name"])


def whole(call: Call, name: str) -> Answer:
    """Return all of the memory `name` that a reader needs."""
    app, document = FINDER.find(call.app(), name)
    memory = document.memory
    hand = TOLD if borne_out(app.home, [document]) else document.hand
    moment = said_at(memory)
    call.later.append(lambda: _count_use(app, document))
    # A person, or another program, may have written a secret into the file.
    memory = without_secrets(memory)[0]
    return {
        "name": memory.name,
        "id": document.id,
        "type": memory.type,
        "title": memory.shown_title or memory.title,
        "text": memory.body.strip(),
        "tags": list(memory.tags),
        "importance": memory.importance,
        "confidence": memory.confidence,
        "by": speaker(memory.origin, hand, author_of(memory.extra)),
        "said": iso(moment) if moment else "",
        "scope": scope_of(app),
        "pinned": memory.pinned,
        "replaces": [was.text for was in memory.replaces],
    }


def _count_use(app: App, document: Document) -> None:
    for problem in recalling.count_use(app, "show", document):
        logging.getLogger("reverie.server").warning("%s", problem)


def remember(call: Call, given: dict[str, Any]) -> Answer:
    """Keep a fact, in this project or for all."""
    app = call.app(user=given.get("everywhere", False))
    wish = Wish(
        text=given["text"],
        kind=given.get("type", ""),
        title=given.get("title", ""),
        why=given.get("why", ""),
        tags=tuple(given.get("tags", ())),
        quote=given.get("quote", ""),
    )
    return written(app, on_behalf.remember(app, wish))


def written(app: App, memory: Memory) -> Answer:
    """Return what is told of a memory that was just written."""
    note = "Kept as yours, unconfirmed: a person's words outweigh it." if memory.is_a_guess else ""
    if note and memory.sources:
        note = "Kept as yours; it counts as theirs once their words were found to bear it out."
    return {
        "name": memory.name,
        "id": memory.id,
        "type": memory.type,
        "origin": memory.origin,
        "scope": scope_of(app),
        "note": note,
    }


def forget(call: Call, given: dict[str, Any]) -> Answer:
    """Take a memory out of use."""
    name, app = on_behalf.forget(call.app(), given["name"], given.get("quote", ""))
    back = f"reverie restore {scopes.option(app)}{name}"
    return {"forgotten": name, "scope": scope_of(app), "back": back}


def why(call: Call, given: dict[str, Any]) -> Answer:
    """Return where a memory comes from."""
    app = scopes.holder(call.app(), given["name"])
    found = explaining.why(app, given["name"])
    memory, newest = found.memory, found.told
    return {
        "name": memory.name,
        "by": found.by,
        "origin": memory.origin,
        "written": iso(memory.created) if memory.created else "",
        "changed_by_others": not found.ours,
        "decided": newest.decided if newest else "",
        "machine": newest.machine if newest else "",
        "revision": newest.revision if newest else "",
        "sources": [
            {
                "speaker": source["speaker"],
                "at": source["at"] or "",
                "session": source["session"],
                "quote": source["quote"],
            }
            for source in found.sources
        ],
        "quotes": [
            {"said": f"{row['teller']} (the team)", "day": row["day"], "quote": row["quote"]}
            for row in found.quotes
        ],
        "unsourced": list(found.unsourced),
        "replaces": [was.text for was in memory.replaces],
        "note": found.note,
    }


def status(call: Call, _: dict[str, Any]) -> Answer:
    """Return whether memory works here."""
    app = call.app()
    value = app.status()
    everyone = scopes.user_scope(app)
    trouble = [value["config"], value["ledger"], *value["left_out"], *damaged_words(value)]
    trouble += [item["cause"] for item in value["obstacles"]]
    return {
        "project": str(app.here),
        "store": str(app.store_path),
        "memories": _count(app),
        "for_all_projects": _count(everyone),
        "inbox": int(value["inbox"]),
        "mode": value["mode"],
        "model": " ".join(filter(None, (value["provider"]["name"], value["provider"]["model"]))),
        "worker": value["worker"],
        "trouble": [line for line in trouble if line],
    }


def _count(app: App) -> int:
    there = app.store_path is not None and app.store_path.is_dir()
    return len(app.open_store().scan().documents) if there else 0


def _hit(row: Selected) -> dict[str, Any]:
    return {
        "name": row.memory.name,
        "type": row.memory.type,
        "description": row.memory.description,
        "said": row.said,
        "by": row.by,
        "scope": row.scope,
        "score": row.score,
    }
