"""The tools over the store by the names of `memory_…`; those over relations and pages stand beside."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from pipeline.app import embed as embedding
from pipeline.app import embedding_settings, graph, on_behalf
from pipeline.app.dream import consolidate
from pipeline.app.keepable import MOST_CONTENT
from pipeline.app.on_behalf import Wish
from pipeline.app.selecting import Filter
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core.errors import InputError
from pipeline.llm.live_guard import is_loopback
from pipeline.server import lean
from pipeline.server.calls import Answer, Call

_TAGS_TOLD = 50


def store(call: Call, given: dict[str, Any]) -> Answer:
    """Store a memory with type, title and content."""
    app = call.app()
    wish = Wish(
        text=given["content"],
        kind=given["type"],
        title=given["title"],
        tags=tuple(given.get("tags", ())),
        importance=given.get("importance", 0.5),
        confidence=given.get("confidence", 0.8),
        quote=given.get("quote", ""),
        steps=tuple(given.get("steps", ())),
        preconditions=tuple(given.get("preconditions", ())),
        postconditions=tuple(given.get("postconditions", ())),
        episode=given.get("episode", False),
        most=MOST_CONTENT,
    )
    return lean.written(app, on_behalf.remember(app, wish))


def recall(call: Call, given: dict[str, Any]) -> Answer:
    """Return the memories that a question is about."""
    wanted = Filter(types=tuple(given.get("types", ())), tags=tuple(given.get("tags", ())))
    return lean.hits(call.app(), given, wanted)


def get(call: Call, given: dict[str, Any]) -> Answer:
    """Return one memory whole; counts as a use of it."""
    return lean.whole(call, given["id"])


def search(call: Call, given: dict[str, Any]) -> Answer:
    """Return the memories that pass the filters."""
    wanted = Filter(
        types=tuple(given.get("types", ())),
        tags=tuple(given.get("tags", ())),
        all_tags=given.get("match") == "all",
        min_importance=given.get("min_importance", 0.0),
        since=given.get("since", ""),
        until=given.get("until", ""),
    )
    return lean.hits(call.app(), given, wanted, limit=20)


def reflect(call: Call, given: dict[str, Any]) -> Answer:
    """Dream over the project's memories now."""
    asked = Counter[str]()

    def between() -> None:
        asked["model"] += 1
        call.go_on(f"question {asked['model']} to the model")

    call.go_on("looking at what changed")
    report = consolidate(
        call.app(),
        force=True,
        dry_run=given.get("dry_run", False),
        since=given.get("since", ""),
        between=between,
    )
    return _as_answer(report)


def _as_answer(report: DreamReport) -> Answer:
    return {
        "word": report.word,
        "reason": report.reason,
        "memories": report.memories,
        "actions": [f"{action.op}: {', '.join(action.memories)}" for action in report.actions],
        "refused": len(report.refused),
        "run": report.run_id,
    }


def stats(call: Call, _: dict[str, Any]) -> Answer:
    """Count the memories of the project."""
    app = call.app()
    if app.is_fresh:
        return {"memories": 0, "by_type": {}, "by_tag": {}, "by_band": {}, "edges": 0, "by_relation": {}}
    found = asdict(graph.stats(app, app.open_store()))
    return {**found, "by_tag": dict(list(found["by_tag"].items())[:_TAGS_TOLD])}


def embed(call: Call, given: dict[str, Any]) -> Answer:
    """Make the vectors that are missing."""
    found = []
    for done in embedding.embed(call.app(), anew=given.get("force", False)):
        call.go_on(f"vectors of {done.store.name}")
        vectors = done.vectors
        counts = {"made": vectors.made, "total": vectors.total, "pending": vectors.pending}
        found.append({"store": str(done.store), **counts, "model": vectors.model, "reason": vectors.reason})
    return {"stores": found}


def config(call: Call, given: dict[str, Any]) -> Answer:
    """Say what makes the vectors, after choosing another maker on this machine where one is asked for."""
    app = call.app()
    if given.get("provider") == "ollama" and not is_loopback(app.settings.embeddings.ollama_url):
        raise InputError(
            "that Ollama is on another machine, to which texts would go",
            fix="A person sets it: `reverie config embeddings --provider ollama`.",
        )
    chosen = {key: value for key in ("provider", "ollama_model", "openai_model") if (value := given.get(key))}
    key = embedding_settings.choose(app, **chosen).key
    made = call.app().settings.embeddings
    return {
        "provider": made.provider,
        "ollama_model": made.ollama_model,
        "openai_model": made.openai_model,
        "key": key,
    }
