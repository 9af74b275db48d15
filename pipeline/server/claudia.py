"""The tools by the names of Claudia's memory, over the store, the diary and the dialogue of the project."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from pipeline.app import diary, on_behalf, transcripts
from pipeline.app.application import App
from pipeline.app.keepable import MOST_CONTENT
from pipeline.app.on_behalf import Wish
from pipeline.app.secrets_out import shown_without_secrets
from pipeline.app.selecting import Filter, Selected, select
from pipeline.core import zone
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, UnknownMemoryError
from pipeline.formats.claudia import sections
from pipeline.formats.claudia.categories import CATEGORIES, DIARY, TYPES_OF, category_of, parts_of
from pipeline.server import lean
from pipeline.server.calls import Answer, Call
from pipeline.text.near import did_you_mean
from pipeline.text.since import since as moment_of

_EXCERPT = 500
_MOST_CHARS = 60_000
"""Characters of a transcript that are given at once."""
_MOST_HITS = 50
_MOST_LISTED = 1_000


def recall(call: Call, given: dict[str, Any]) -> Answer:
    """Return what of memories and diary holds words of the query."""
    app, notes = call.app(), list[str]()
    category, limit = given.get("category", ""), given.get("limit", 10)
    since, until = given.get("dateFrom", ""), given.get("dateTo", "")
    found: list[Answer] = []
    if category != DIARY:
        wanted = Filter(types=TYPES_OF.get(category, ()), since=since, until=until)
        rows, _ = select(app, given["query"], wanted, limit=limit, problems=notes)
        found = [_hit(app, row) for row in rows]
    if category in ("", DIARY):
        found += _episodes(app, given["query"], since, until)
    return {"results": found[:limit], "notes": notes}


def _hit(app: App, row: Selected) -> Answer:
    _, document = lean.FINDER.find(app, row.memory.name)
    return {
        "filepath": _filepath(row),
        "category": category_of(row.memory.type),
        "type": row.memory.type,
        "excerpt": _cut(shown_without_secrets(document.memory.body), _EXCERPT),
        "date": row.said,
        "by": row.by,
        "score": row.score,
    }


def _episodes(app: App, query: str, since: str, until: str) -> list[Answer]:
    last = zone.day(iso(moment_of(until, app.clock.now()))) if until else ""
    return [
        {
            "filepath": f"{DIARY}/{page.day}.md",
            "category": DIARY,
            "type": entry.type,
            "excerpt": _cut("\n".join((entry.title, *entry.summary)), _EXCERPT),
            "date": f"{page.day} {entry.time}",
            "by": "",
            "score": 0.0,
        }
        for page in diary.timeline(app, since=since, words=query)
        if not last or page.day < last
        for entry in page.entries
    ]


def remember(call: Call, given: dict[str, Any]) -> Answer:
    """Keep something as a memory, or in a section of one that is there."""
    app = call.app()
    category, name = parts_of(given.get("filename", ""))
    category, section = given.get("category", "") or category, given.get("section", "")
    if category == DIARY:
        raise InputError("the diary writes itself", fix=f"Categories: {', '.join(TYPES_OF)}.")
    held = _held(app, name)
    if held:
        if given.get("quote"):
            raise InputError(
                f"there is a memory {held} already", fix="Write the person's words under another filename."
            )
        done = on_behalf.extend(app, held, section, given["content"])
        memory, outcome = done.memory, done.done
    else:
        wish = Wish(
            text=given["content"],
            kind=TYPES_OF[category][0] if category else "",
            title=name.replace("-", " ").replace("_", " "),
            section=section,
            quote=given.get("quote", ""),
            most=MOST_CONTENT,
        )
        memory, outcome = on_behalf.remember(app, wish), "created"
    filepath = f"{category_of(memory.type)}/{memory.name}.md"
    return {**lean.written(app, memory), "filepath": filepath, "outcome": outcome}


def _held(app: App, name: str) -> str:
    """Return the name of the project's memory that `name` means, "" for none."""
    from pipeline.text.slugs import slugify

    if not name or app.is_fresh:
        return ""
    snapshot = app.open_store().scan()
    found = snapshot.by_name(name) or snapshot.by_name(slugify(name))
    return "" if found is None else found.name


def read(call: Call, given: dict[str, Any]) -> Answer:
    """Return a memory, a section of one, or a day of the diary."""
    category, name = parts_of(given["filepath"])
    if category == DIARY:
        page = diary.day(call.app(), name)
        lines = [
            line
            for entry in page.entries
            for line in (f"## {entry.time} - {entry.title}", *(f"- {text}" for text in entry.summary))
        ]
        found: Answer = {"text": "\n".join(lines), "by": "", "said": page.day}
        filepath = f"{DIARY}/{page.day}.md"
    else:
        try:
            whole = lean.whole(call, name)
        except UnknownMemoryError as error:
            raise InputError(f"there is no memory {name!r}", fix=error.fix) from error
        category = category_of(whole["type"])
        found = {"text": whole["text"], "by": whole["by"], "said": whole["said"]}
        filepath = f"{category}/{whole['name']}.md"
    names = [item.name for item in sections.sections(found["text"])]
    if given.get("section"):
        part = sections.read(found["text"], given["section"])
        if part is None:
            hint = did_you_mean(given["section"], names) or f"Sections: {', '.join(names) or 'none'}."
            raise InputError(f"{filepath} has no section {given['section']!r}", fix=hint)
        found["text"] = part
    return {"filepath": filepath, "category": category, "sections": names, **found}


def list_memories(call: Call, given: dict[str, Any]) -> Answer:
    """List memories by category, the last changed first."""
    app = call.app()
    rows, _ = select(app, "", Filter(), limit=_MOST_LISTED)
    counts = Counter(dict.fromkeys(CATEGORIES, 0))
    counts.update(category_of(row.memory.type) for row in rows)
    days = diary.timeline(app)
    counts[DIARY] = len(days)
    items = [_item(row) for row in rows] + [
        {
            "filepath": f"{DIARY}/{page.day}.md",
            "category": DIARY,
            "type": "",
            "description": "; ".join(entry.title for entry in page.entries),
            "changed": page.day,
            "by": "",
        }
        for page in days
    ]
    wanted = given.get("category", "")
    chosen = [item for item in items if item["category"] == wanted or not wanted]
    chosen.sort(key=lambda item: item["changed"], reverse=True)
    recent = given.get("recent", 20)
    return {"items": chosen[:recent], "counts": dict(counts), "more": max(0, len(chosen) - recent)}


def _item(row: Selected) -> Answer:
    return {
        "filepath": _filepath(row),
        "category": category_of(row.memory.type),
        "type": row.memory.type,
        "description": row.memory.description,
        "changed": _moment(row.memory.updated or row.memory.created),
        "by": row.by,
    }


def transcript(call: Call, given: dict[str, Any]) -> Answer:
    """Search what was said in the project, or read a conversation or a session."""
    app = call.app()
    number, source, query = given.get("conversationId"), given.get("sourceId", ""), given.get("query", "")
    limit, offset = given.get("limit", 500), given.get("offset", 0)
    empty: Answer = {"session": "", "conversation": None, "status": "", "lines": [], "hits": []}
    if query:
        scope = transcripts.Scope(project=app.here, session=source, conversation=number)
        found = transcripts.search(app, query, scope, limit=min(limit, _MOST_HITS), offset=offset)
        notes = ["No line holds all of these words; these hold some."] if found.partly else []
        hits = [
            {
                "session": hit.session,
                "conversation": hit.conversation,
                "at": hit.at,
                "speaker": hit.speaker,
                "excerpt": hit.excerpt,
            }
            for hit in found.hits
        ]
        more = offset + len(hits) if found.more else None
        return {**empty, "hits": hits, "next_offset": more, "notes": notes}
    page = transcripts.read(
        app, conversation=number, source=source, project=app.here, limit=limit, offset=offset
    )
    lines: list[Answer] = []
    room = _MOST_CHARS
    for line in page.lines:
        if lines and len(line.text) > room:
            break
        lines.append({"at": line.at or "", "speaker": line.speaker, "text": _cut(line.text, _MOST_CHARS)})
        room -= len(line.text)
    more = offset + len(lines) if page.more or len(lines) < len(page.lines) else None
    return {
        **empty,
        "session": page.session,
        "conversation": page.conversation,
        "status": page.status,
        "lines": lines,
        "next_offset": more,
        "notes": [],
    }


def _filepath(row: Selected) -> str:
    return f"{category_of(row.memory.type)}/{row.memory.name}.md"


def _cut(text: str, most: int) -> str:
    text = text.strip()
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _moment(at: datetime | None) -> str:
    return iso(at) if at else ""
