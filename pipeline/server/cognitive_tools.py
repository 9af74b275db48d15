"""The eighteen tools over the store by the names of ``memory_…``, as they are listed.

Each takes the name of a graph besides.
"""

from pipeline.server.shapes import answer, fields, flag, many, share, text, whole
from pipeline.server.tool import (
    ADDS,
    AGAIN,
    ASKS_A_MODEL,
    HITS,
    LIMIT,
    MEMORY,
    OFFSET,
    QUOTE,
    READS,
    TYPES,
    WRITTEN,
    Tool,
    with_graph,
)

_ID = text("Id, unique start of it (six characters or more), or name.", most=300, least=1)
_KINDS = many(text(choices=TYPES), "Only these types.", most=len(TYPES))
_TAGS = many(text(most=100, least=1), "Only with these tags.", most=50)
_STEPS = many(text(most=2_000, least=1), most=100)
_RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
_EDGE = answer(
    id=text(),
    type=text(),
    from_id=text(),
    from_title=text(),
    to_id=text(),
    to_title=text(),
    strength={"type": "number"},
    description=text(),
)
_MADE = answer(path=text(), text=text())

_TOOLS: tuple[Tool, ...] = (
    Tool(
        "memory_store",
        "Store a memory",
        "Store a memory with type, title and content: after a fix, a decision, a working configuration, a"
        " pattern to reuse. Search first, so that nothing is stored twice. It is kept as yours, unconfirmed,"
        " unless `quote` cites the person.",
        fields(
            ["type", "title", "content"],
            type=text(choices=TYPES),
            title=text(most=150, least=1),
            content=text("Markdown.", most=50_000, least=1),
            tags=many(text(most=100, least=1), most=50),
            importance=share(default=0.5),
            confidence=share(default=0.8),
            steps=many(text(most=1_000, least=1), "What to do, in order; of a procedure only.", most=50),
            preconditions=many(text(most=1_000, least=1), "What must hold before its steps.", most=50),
            postconditions=many(text(most=1_000, least=1), "What holds after them.", most=50),
            episode=flag("Whether the day's log gets an entry, too.", default=False),
            quote=QUOTE,
        ),
        WRITTEN,
        ADDS,
        "cognitive.store",
    ),
    Tool(
        "memory_recall",
        "Recall by meaning",
        "Find the memories that a question is about, by words and, where vectors are on, by meaning. For"
        " exact filters take memory_search.",
        fields(["query"], query=text(most=1_000, least=1), types=_KINDS, tags=_TAGS, limit=LIMIT),
        HITS,
        READS,
        "cognitive.recall",
    ),
    Tool(
        "memory_get",
        "Get a memory",
        "Read one memory whole by its id or name. Counts as a use of it.",
        fields(["id"], id=_ID),
        MEMORY,
        READS,
        "cognitive.get",
    ),
    Tool(
        "memory_search",
        "Search with filters",
        "List memories by type, tag, importance or day, with or without words to look for; counts as no use.",
        fields(
            query=text("Left out: all that pass the filters, the last changed first.", most=1_000),
            types=_KINDS,
            tags=_TAGS,
            match=text("Whether one of the tags is enough (any).", choices=("any", "all")),
            min_importance=share(),
            since=text("Changed since: 2026-11-20, yesterday, 7d, 2w.", most=40),
            until=text("Changed before, in the same forms.", most=40),
            limit=whole(least=1, most=100, default=20),
            offset=OFFSET,
        ),
        HITS,
        READS,
        "cognitive.search",
    ),
    Tool(
        "memory_relate",
        "Relate two memories",
        "Record how one memory stands to another. The same pair and type again changes that relation.",
        fields(
            ["from_id", "to_id", "type"],
            from_id=_ID,
            to_id=_ID,
            type=text(choices=_RELATIONS),
            description=text(most=2_000),
            strength=share(default=0.8),
            context=text(most=500),
        ),
        _EDGE,
        AGAIN,
        "relations.relate",
    ),
    Tool(
        "memory_related",
        "Related memories",
        "Follow the relations of a memory, up to `max_depth` steps.",
        fields(
            ["id"],
            id=_ID,
            types=many(text(choices=_RELATIONS), most=len(_RELATIONS)),
            direction=text(choices=("outgoing", "incoming", "both")),
            max_depth=whole(least=1, most=5, default=1),
        ),
        answer(
            related=many(
                answer(
                    name=text(),
                    id=text(),
                    type=text(),
                    depth=whole(),
                    relation=text(),
                    direction=text(),
                    strength={"type": "number"},
                    edge_id=text(),
                    via=text("The memory from which the last step leads here."),
                )
            )
        ),
        READS,
        "relations.related",
    ),
    Tool(
        "memory_edge_get",
        "Get a relation",
        "Read one relation by its id.",
        fields(["edge_id"], edge_id=_ID),
        _EDGE,
        READS,
        "relations.edge_get",
    ),
    Tool(
        "memory_edge_search",
        "Search relations",
        "List relations by words, type or end.",
        fields(
            query=text(most=1_000),
            types=many(text(choices=_RELATIONS), most=len(_RELATIONS)),
            from_id=_ID,
            to_id=_ID,
            limit=whole(least=1, most=100, default=50),
        ),
        answer(edges=many(_EDGE)),
        READS,
        "relations.edge_search",
    ),
    Tool(
        "memory_reflect",
        "Reflect on the memories",
        "Merge doubles and draw insights over the memories of this project now; it asks a model and may take"
        " minutes. With dry_run it only says what it would do. Only when the person asks for it.",
        fields(
            since=text("Left out: what changed since the last time. 2026-11-20, yesterday, 7d, 2w.", most=40),
            dry_run=flag(default=False),
        ),
        answer(
            word=text("done, nothing, closed, partial, dry or failed."),
            reason=text(),
            memories=whole(),
            actions=many(text()),
            refused=whole(),
            run=text(),
        ),
        ASKS_A_MODEL,
        "cognitive.reflect",
        slow=True,
    ),
    Tool(
        "memory_reflection",
        "Write the reflection",
        "Make REFLECTION.md anew and read it.",
        fields(),
        _MADE,
        AGAIN,
        "relations.reflection",
    ),
    Tool(
        "memory_stats",
        "Counts",
        "Count the memories here by type, tag and band (active, fading, dormant, archived), and relations.",
        fields(),
        answer(
            memories=whole(),
            by_type={"type": "object"},
            by_tag={"type": "object"},
            by_band={"type": "object"},
            edges=whole(),
            by_relation={"type": "object"},
        ),
        READS,
        "cognitive.stats",
    ),
    Tool(
        "memory_episode",
        "Add to the day's episode",
        "Note what happened in the log of the day.",
        fields(
            ["type", "title"],
            type=text(most=100, least=1),
            title=text(most=150, least=1),
            tags=many(text(most=100, least=1), most=50),
            summary=_STEPS,
            memory_id=_ID,
        ),
        answer(day=text(), time=text(), title=text(), type=text()),
        ADDS,
        "relations.episode",
    ),
    Tool(
        "memory_tags_list",
        "List tags",
        "List the tags in use with their counts.",
        fields(limit=whole(least=1, most=500, default=50)),
        answer(tags=many(answer(tag=text(), count=whole()))),
        READS,
        "relations.tags_list",
    ),
    Tool(
        "memory_tags_related",
        "Related tags",
        "List the tags that stand beside one.",
        fields(["tag"], tag=text(most=100, least=1), limit=whole(least=1, most=100, default=20)),
        answer(tags=many(answer(tag=text(), count=whole()))),
        READS,
        "relations.tags_related",
    ),
    Tool(
        "memory_embed",
        "Make vectors",
        "Make the vectors that are missing, or with `force` all, so that memory_recall finds by meaning.",
        fields(force=flag(default=False)),
        answer(
            stores=many(
                answer(
                    store=text(), made=whole(), total=whole(), pending=whole(), model=text(), reason=text()
                )
            )
        ),
        ASKS_A_MODEL,
        "cognitive.embed",
        slow=True,
    ),
    Tool(
        "memory_core",
        "Make CORE.md",
        "Make CORE.md anew and read it.",
        fields(),
        _MADE,
        AGAIN,
        "relations.core",
    ),
    Tool(
        "memory_decay",
        "Count the decay",
        "Work out the decay scores anew.",
        fields(),
        answer(counted=whole(), by_band={"type": "object"}),
        AGAIN,
        "relations.decay",
    ),
    Tool(
        "memory_config",
        "Settings of the vectors",
        "Say what makes the vectors, or choose another maker on this machine. Whatever sends texts away, and"
        " any key, a person sets: `reverie config embeddings`.",
        fields(
            provider=text(choices=("off", "wordllama", "ollama")),
            ollama_model=text(most=200, least=1),
            openai_model=text(most=200, least=1),
        ),
        answer(provider=text(), ollama_model=text(), openai_model=text(), key=text("Where it is kept.")),
        AGAIN,
        "cognitive.config",
    ),
)
COGNITIVE_TOOLS = tuple(map(with_graph, _TOOLS))
