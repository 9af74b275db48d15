"""The six tools that every client gets, as they are listed."""

from pipeline.server.shapes import answer, fields, flag, many, text, whole
from pipeline.server.tool import (
    ADDS,
    HITS,
    LIMIT,
    MEMORY,
    NAME,
    OFFSET,
    QUOTE,
    READS,
    REMOVES,
    TYPES,
    WRITTEN,
    Tool,
)

LEAN_TOOLS: tuple[Tool, ...] = (
    Tool(
        "recall",
        "Recall memories",
        "Find what is remembered about a question: decisions, preferences, fixes, settings of this project"
        " and of all projects. Ask before you decide, or search the code for, what may have been settled"
        " before. Gives names and one line each, best first; `get` has the whole text.",
        fields(
            ["query"],
            query=text("Words of the question; names, paths and errors as they stand.", most=1_000, least=1),
            limit=LIMIT,
            offset=OFFSET,
        ),
        HITS,
        READS,
        "lean.recall",
    ),
    Tool(
        "get",
        "Get a memory",
        "Read one memory whole, with who said it and when.",
        fields(["name"], name=NAME),
        MEMORY,
        READS,
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
            type=text("Left out: what the words speak for.", choices=TYPES),
            title=text("A few words.", most=150),
            why=text("The reason.", most=2_000),
            tags=many(text(most=100, least=1), most=20),
            quote=QUOTE,
            everywhere=flag("For all projects, not only this one; needs `quote`.", default=False),
        ),
        WRITTEN,
        ADDS,
        "lean.remember",
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Take a memory out of use because it is wrong or no longer holds. It goes to the archive, from where"
        " `reverie restore` brings it back. What a person wrote, edited or pinned goes only if `quote` cites"
        " their words.",
        fields(["name"], name=NAME, quote=QUOTE),
        answer(forgotten=text(), scope=text(), back=text("The command that brings it back.")),
        REMOVES,
        "lean.forget",
    ),
    Tool(
        "why",
        "Where a memory comes from",
        "Show who said what a memory says, in which session and in which words: before you rely on it, or"
        " when the person doubts it.",
        fields(["name"], name=NAME),
        answer(
            name=text(),
            by=text(),
            origin=text(),
            written=text(),
            changed_by_others=flag(),
            decided=text("Of a team's memory, the day since which it holds."),
            machine=text("The machine that told it, where it is kept in step with others."),
            revision=text(),
            sources=many(answer(speaker=text(), at=text(), session=text(), quote=text())),
            quotes=many(answer(said=text(), day=text(), quote=text())),
            unsourced=many(text("Sentences that no source stands for.")),
            replaces=many(text()),
            note=text(),
        ),
        READS,
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
        ),
        READS,
        "lean.status",
    ),
)
