"""The tools over relations and decay, and over the pages that are made from a store."""

from __future__ import annotations

from typing import Any

from pipeline.app import graph, views
from pipeline.app.graph import EdgeView
from pipeline.server.calls import Answer, Call


def relate(call: Call, given: dict[str, Any]) -> Answer:
    """Relate two memories, or change how they are related."""
    app = call.app()
    edge = graph.relate(
        app,
        app.open_store(),
        given["from_id"],
        given["to_id"],
        given["type"],
        strength=given.get("strength"),
        context=given.get("context", ""),
        description=given.get("description", ""),
        by_person=False,
    )
    return _edge(edge)


def related(call: Call, given: dict[str, Any]) -> Answer:
    """Return the memories that one leads to."""
    app = call.app()
    found = graph.related(
        app,
        app.open_store(),
        given["id"],
        types=given.get("types", ()),
        direction=given.get("direction", "both"),
        depth=given.get("max_depth", 1),
    )
    return {
        "related": [
            {
                "name": item.name,
                "id": item.id,
                "type": item.type_of_memory,
                "depth": item.steps,
                "relation": item.type,
                "direction": item.direction,
                "strength": item.strength,
                "edge_id": item.edge_id,
                "via": item.via,
            }
            for item in found
        ]
    }


def edge_get(call: Call, given: dict[str, Any]) -> Answer:
    """Return one relation."""
    app = call.app()
    return _edge(graph.edge(app, app.open_store(), given["edge_id"]))


def edge_search(call: Call, given: dict[str, Any]) -> Answer:
    """Return the relations that hold words, or are of a type, or have an end."""
    app = call.app()
    found = graph.edges(
        app,
        app.open_store(),
        query=given.get("query", ""),
        types=given.get("types", ()),
        from_ref=given.get("from_id", ""),
        to_ref=given.get("to_id", ""),
        limit=given.get("limit", 50),
    )
    return {"edges": [_edge(edge) for edge in found]}


def decay(call: Call, _: dict[str, Any]) -> Answer:
    """Work out what each memory is worth by now."""
    app = call.app()
    found = graph.decay(app, app.open_store())
    return {"counted": len(found.memories), "by_band": found.bands}


def core(call: Call, _: dict[str, Any]) -> Answer:
    """Make CORE.md anew."""
    app = call.app()
    return _page(views.core(app, app.open_store()))


def reflection(call: Call, _: dict[str, Any]) -> Answer:
    """Make REFLECTION.md anew."""
    app = call.app()
    return _page(views.reflection(app, app.open_store()))


def episode(call: Call, given: dict[str, Any]) -> Answer:
    """Add an entry to the diary."""
    app = call.app()
    entry = views.add_episode(
        app,
        app.open_store(),
        title=given["title"],
        type_name=given["type"],
        tags=given.get("tags", ()),
        summary=given.get("summary", ()),
        memory=given.get("memory_id", ""),
        by_person=False,
    )
    return {"day": entry.day, "time": entry.time, "title": entry.title, "type": entry.type}


def tags_list(call: Call, given: dict[str, Any]) -> Answer:
    """Return the tags in use."""
    app = call.app()
    return _tags(views.tags(app, app.open_store(), given.get("limit", 50)))


def tags_related(call: Call, given: dict[str, Any]) -> Answer:
    """Return the tags that stand beside one."""
    app = call.app()
    return _tags(views.related_tags(app, app.open_store(), given["tag"], given.get("limit", 20)))


def _edge(edge: EdgeView) -> Answer:
    return {
        "id": edge.id,
        "type": edge.type,
        "from_id": edge.from_id,
        "from_title": edge.from_title,
        "to_id": edge.to_id,
        "to_title": edge.to_title,
        "strength": edge.strength,
        "description": edge.description,
    }


def _page(page: views.Page) -> Answer:
    return {"path": page.path, "text": page.text}


def _tags(found: list[views.TagCount]) -> Answer:
    return {"tags": [{"tag": item.tag, "count": item.memories} for item in found]}
