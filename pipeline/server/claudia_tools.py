"""The five tools by the names of Claudia's memory, as they are listed."""

from pipeline.formats.claudia.categories import CATEGORIES, TYPES_OF
from pipeline.server.shapes import answer, fields, many, or_none, text, whole
from pipeline.server.tool import ADDS, LIMIT, QUOTE, READS, WRITTEN, Tool

_CATEGORY = text("Left out: all of them.", choices=CATEGORIES)
_FROM = text("First day: 2026-11-20, yesterday, 7d.", most=40)
_TO = text("Day up to which it counts, that day left out.", most=40)
_FILE = text("A name, or category/name.md, as memory_list gives it; never a path.", most=300, least=1)
_SECTION = text("A heading; one whose words are about the same is taken for it.", most=150)
_ITEM = answer(filepath=text(), category=text(), type=text(), description=text(), changed=text(), by=text())

CLAUDIA_TOOLS: tuple[Tool, ...] = (
    Tool(
        "memory_recall",
        "Recall from memory",
        "Find what is remembered about a question: people, projects, insights, milestones, and the episodes"
        " of the diary. Gives excerpts, best first; memory_read has the whole text.",
        fields(
            ["query"],
            query=text(most=1_000, least=1),
            limit=LIMIT,
            category=_CATEGORY,
            dateFrom=_FROM,
            dateTo=_TO,
        ),
        answer(
            results=many(
                answer(
                    filepath=text(),
                    category=text(),
                    type=text(),
                    excerpt=text(),
                    date=text(),
                    by=text(),
                    score={"type": "number"},
                )
            ),
            notes=many(text()),
        ),
        READS,
        "claudia.recall",
    ),
    Tool(
        "memory_remember",
        "Remember",
        "Keep something for later sessions: a new memory, or more of one that is there, in a section of it."
        " Kept as yours, unconfirmed, unless `quote` cites the person. No secrets.",
        fields(
            ["content"],
            content=text("Markdown.", most=50_000, least=1),
            filename=text("Its name; one that is there is added to.", most=150),
            section=_SECTION,
            category=text("Left out: what the words speak for.", choices=tuple(TYPES_OF)),
            quote=QUOTE,
        ),
        answer(**WRITTEN["properties"], filepath=text(), outcome=text("created, updated or unchanged")),
        ADDS,
        "claudia.remember",
    ),
    Tool(
        "memory_read",
        "Read a memory",
        "Read one memory whole, or one section of it; or a day of the diary as episodes/2026-11-20.md.",
        fields(["filepath"], filepath=_FILE, section=_SECTION),
        answer(filepath=text(), category=text(), text=text(), sections=many(text()), by=text(), said=text()),
        READS,
        "claudia.read",
    ),
    Tool(
        "memory_list",
        "List memories",
        "List memories by category, those changed last first, and how many each category has.",
        fields(category=_CATEGORY, recent=whole("So many, the last changed.", least=1, most=200, default=20)),
        answer(items=many(_ITEM), counts={"type": "object"}, more=whole()),
        READS,
        "claudia.list_memories",
    ),
    Tool(
        "memory_transcript",
        "Read or search transcripts",
        "Search what was said in this project's sessions by words, or read a conversation or a session as it"
        " was. A hit says which conversation it is in.",
        fields(
            conversationId=whole("A conversation, as a hit gives it.", least=1),
            sourceId=text("A session id or a start of it.", most=300, least=1),
            query=text('Words that were said; "in quotes" they stand together, wor* begins one.', most=1_000),
            limit=whole("How many lines or hits at most.", least=1, most=500, default=500),
            offset=whole("How many lines to pass over: next_offset of the former answer.", default=0),
        ),
        answer(
            session=text(),
            conversation=or_none(whole()),
            status=text(),
            lines=many(answer(at=text(), speaker=text(), text=text())),
            hits=many(
                answer(
                    session=text(),
                    conversation=or_none(whole()),
                    at=text(),
                    speaker=text(),
                    excerpt=text("The words that were asked for stand between « and »."),
                )
            ),
            next_offset=or_none(whole("Ask again with this offset for more; null: no more.")),
            notes=many(text()),
        ),
        READS,
        "claudia.transcript",
    ),
)
