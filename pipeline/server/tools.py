"""All tools by profile: what a client lists of each, and where it is carried out. Nothing is loaded to list them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from pipeline.server.shapes import Schema, answer, fields, flag, many, or_none, share, text, whole

LEAN, COGNITIVE, ALL = "lean", "cognitive", "all"
PROFILES = (LEAN, COGNITIVE, "agent-memory", "claudia", ALL)
LATER: Mapping[str, str] = {
    "agent-memory": "the tools over agent-memory's files come with a later version",
    "claudia": "the tools of Claudia's memory come with a later version",
}
"""Profiles that are named and have no tools yet, and why."""

_READS = {"readOnlyHint": True, "openWorldHint": False}
_ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
_AGAIN = {**_ADDS, "idempotentHint": True}
_REMOVES = {**_AGAIN, "destructiveHint": True}
_ASKS_A_MODEL = {**_ADDS, "openWorldHint": True}


class Tool(NamedTuple):
    """One tool. `run` is ``module.function`` below `pipeline.server`, "" for one that nothing backs yet.

    `slow` ones take a lane of their own, and tell how far they are.
    """

    name: str
    title: str
    about: str
    takes: Schema
    gives: Schema
    hints: Mapping[str, bool]
    run: str = ""
    slow: bool = False

    @property
    def listed(self) -> dict[str, Any]:
        """Return what ``tools/list`` says of it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.about,
            "inputSchema": self.takes,
            "outputSchema": self.gives,
            "annotations": {"title": self.title, **self.hints},
        }


_TYPES = (
    *("user", "feedback", "project", "reference", "decision", "configuration", "procedure", "workflow"),
    *("code_pattern", "solution", "fix", "problem", "error", "insight", "general", "task"),
)
_NAME = text("Its name as recall gives it, or an id of six characters or more.", most=300, least=1)
_QUOTE = text(
    "What the person typed in this project that bears it out, letter for letter. Leave it out for your own"
    " conclusions.",
    most=200,
)
_LIMIT = whole("How many at most.", least=1, most=50, default=10)
_OFFSET = whole("How many to pass over: next_offset of the former answer.", default=0)
_HIT = answer(
    name=text(),
    type=text(),
    description=text(),
    said=text(),
    by=text(),
    scope=text(),
    score={"type": "number"},
)
_HITS = answer(
    memories=many(_HIT), next_offset=or_none(whole("Ask again with this offset for more; null: no more.")),
    notes=many(text()),
)  # fmt: skip
_MEMORY = answer(
    name=text(), id=text(), type=text(), title=text(), text=text(), tags=many(text()),
    importance={"type": "number"}, confidence={"type": "number"}, by=text("Who stands behind it."),
    said=text(), scope=text(), pinned=flag(), replaces=many(text()), notes=many(text()),
)  # fmt: skip
_WRITTEN = answer(name=text(), id=text(), type=text(), origin=text(), scope=text(), note=text())

_LEAN = (
    Tool(
        "recall",
        "Recall memories",
        "Find what is remembered about a question: decisions, preferences, fixes, settings of this project and"
        " of all projects. Ask before you decide or search the code for something that may have been settled"
        " before. Gives names and one line each, best first; `get` has the whole text.",
        fields(
            ["query"],
            query=text("Words of the question; names, paths and errors as they stand.", most=1_000, least=1),
            limit=_LIMIT,
            offset=_OFFSET,
        ),
        _HITS,
        _READS,
        "lean.recall",
    ),
    Tool(
        "get",
        "Get a memory",
        "Read one memory whole, with who said it and when.",
        fields(["name"], name=_NAME),
        _MEMORY,
        _READS,
        "lean.get",
    ),
    Tool(
        "remember",
        "Remember a fact",
        "Keep one lasting fact for later sessions: a decision with its reason, a preference, a fix, a setting"
        " that works. Not for what the code or git says, nor for this task's state. If the person said it,"
        " cite them in `quote`; else it is kept as yours, unconfirmed. No secrets.",
        fields(
            ["text"],
            text=text("The fact in one to three sentences that stand on their own.", most=2_000, least=1),
            type=text("Left out: what the words speak for.", choices=_TYPES),
            title=text("A few words.", most=150),
            why=text("The reason.", most=2_000),
            tags=many(text(most=100, least=1), most=20),
            quote=_QUOTE,
            everywhere=flag("For all projects, not only this one; needs `quote`.", default=False),
        ),
        _WRITTEN,
        _ADDS,
        "lean.remember",
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Take a memory out of use because it is wrong or no longer holds. It goes to the archive, from where"
        " `reverie restore` brings it back. What a person wrote, edited or pinned goes only if `quote` cites"
        " their words.",
        fields(["name"], name=_NAME, quote=_QUOTE),
        answer(forgotten=text(), scope=text(), back=text("The command that brings it back.")),
        _REMOVES,
        "lean.forget",
    ),
    Tool(
        "why",
        "Where a memory comes from",
        "Show who said what a memory says, in which session and in which words: before you rely on it, or when"
        " the person doubts it.",
        fields(["name"], name=_NAME),
        answer(
            name=text(),
            by=text(),
            origin=text(),
            written=text(),
            changed_by_others=flag(),
            sources=many(answer(speaker=text(), at=text(), session=text(), quote=text())),
            unsourced=many(text("Sentences that no source stands for.")),
            replaces=many(text()),
            note=text(),
        ),  # fmt: skip
        _READS,
        "lean.why",
    ),
    Tool(
        "status",
        "State of the memory",
        "Tell whether memory works here: the folder, how many memories, what waits for the person, the mode,"
        " the model, and what is wrong.",
        fields(),
        answer(
            project=text(),
            store=text(),
            memories=whole(),
            for_all_projects=whole(),
            inbox=whole(),
            mode=text(),
            model=text(),
            worker=text(),
            trouble=many(text()),
        ),  # fmt: skip
        _READS,
        "lean.status",
    ),
)

_ID = text("Id, unique start of it (six characters or more), or name.", most=300, least=1)
_KINDS = many(text(choices=_TYPES), "Only these types.", most=len(_TYPES))
_TAGS = many(text(most=100, least=1), "Only with these tags.", most=50)
_STEPS = many(text(most=2_000, least=1), most=100)
_RELATIONS = ("SOLVES", "CAUSES", "BUILDS_ON", "ALTERNATIVE_TO", "REQUIRES", "FOLLOWS", "RELATED_TO")
_EDGE = answer(
    id=text(), type=text(), from_id=text(), to_id=text(), strength={"type": "number"}, description=text()
)
_MADE = answer(path=text(), text=text())

_COGNITIVE = (
    Tool(
        "memory_store",
        "Store a memory",
        "Store a memory with type, title and content: after a fix, a decision, a working configuration, a"
        " pattern to reuse. Search first, so that nothing is stored twice. It is kept as yours, unconfirmed,"
        " unless `quote` cites the person.",
        fields(
            ["type", "title", "content"],
            type=text(choices=_TYPES),
            title=text(most=150, least=1),
            content=text("Markdown.", most=50_000, least=1),
            tags=many(text(most=100, least=1), most=50),
            importance=share(default=0.5),
            confidence=share(default=0.8),
            quote=_QUOTE,
        ),
        _WRITTEN,
        _ADDS,
        "cognitive.store",
    ),
    Tool(
        "memory_recall",
        "Recall by meaning",
        "Find the memories that a question is about, by words and, where vectors are on, by meaning. For exact"
        " filters take memory_search.",
        fields(["query"], query=text(most=1_000, least=1), types=_KINDS, tags=_TAGS, limit=_LIMIT),
        _HITS,
        _READS,
        "cognitive.recall",
    ),
    Tool(
        "memory_get",
        "Get a memory",
        "Read one memory whole by its id or name. Counts as a use of it.",
        fields(["id"], id=_ID),
        _MEMORY,
        _READS,
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
            offset=_OFFSET,
        ),
        _HITS,
        _READS,
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
        _AGAIN,
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
        answer(related=many(answer(name=text(), id=text(), type=text(), depth=whole(), relation=text()))),
        _READS,
    ),
    Tool(
        "memory_edge_get",
        "Get a relation",
        "Read one relation by its id.",
        fields(["edge_id"], edge_id=_ID),
        _EDGE,
        _READS,
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
        _READS,
    ),
    Tool(
        "memory_reflect",
        "Reflect on the memories",
        "Merge doubles and draw insights over the memories of this project now; it asks a model and may take"
        " minutes. With dry_run it only says what it would do. Only when the person asks for it.",
        fields(dry_run=flag(default=False)),
        answer(
            word=text("done, nothing, closed, partial, dry or failed."),
            reason=text(),
            memories=whole(),
            actions=many(text()),
            refused=whole(),
            run=text(),
        ),  # fmt: skip
        _ASKS_A_MODEL,
        "cognitive.reflect",
        slow=True,
    ),
    Tool(
        "memory_reflection",
        "Write the reflection",
        "Make REFLECTION.md anew and read it.",
        fields(),
        _MADE,
        _AGAIN,
    ),
    Tool(
        "memory_stats",
        "Counts",
        "Count the memories here by type, by who said them and by tag.",
        fields(),
        answer(
            memories=whole(),
            pinned=whole(),
            by_type={"type": "object"},
            by_origin={"type": "object"},
            by_tag={"type": "object"},
        ),  # fmt: skip
        _READS,
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
        _MADE,
        _ADDS,
    ),
    Tool(
        "memory_tags_list",
        "List tags",
        "List the tags in use with their counts.",
        fields(limit=whole(least=1, most=500, default=50)),
        answer(tags=many(answer(tag=text(), count=whole()))),
        _READS,
    ),
    Tool(
        "memory_tags_related",
        "Related tags",
        "List the tags that stand beside one.",
        fields(["tag"], tag=text(most=100, least=1), limit=whole(least=1, most=100, default=20)),
        answer(tags=many(answer(tag=text(), count=whole()))),
        _READS,
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
        _ASKS_A_MODEL,
        "cognitive.embed",
        slow=True,
    ),
    Tool("memory_core", "Make CORE.md", "Make CORE.md anew and read it.", fields(), _MADE, _AGAIN),
    Tool(
        "memory_decay",
        "Count the decay",
        "Work out the decay scores anew.",
        fields(),
        answer(counted=whole()),
        _AGAIN,
    ),
    Tool(
        "memory_config",
        "Settings of the vectors",
        "Choose what makes the vectors. A key is taken, never shown.",
        fields(
            provider=text(choices=("off", "auto", "wordllama", "ollama", "openai")),
            ollama_model=text(most=200),
            openai_model=text(most=200),
            openai_key=text(most=500),
        ),
        answer(provider=text(), model=text()),
        {**_ASKS_A_MODEL, "idempotentHint": True},
    ),
)

TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in (*_LEAN, *_COGNITIVE)}
_OF: Mapping[str, Iterable[Tool]] = {LEAN: _LEAN, COGNITIVE: _COGNITIVE, ALL: (*_LEAN, *_COGNITIVE)}


def of_profile(profile: str) -> dict[str, Tool]:
    """Return the tools of `profile` by name, those that nothing backs yet among them."""
    return {tool.name: tool for tool in _OF[profile]}
