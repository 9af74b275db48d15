"""Commands over agent-memory's JSONL files: add, query, update, archive, delete; their care beside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pipeline.cli import agent_memory_care as care
from pipeline.cli import output
from pipeline.cli.agent_memory_options import DirOption, TypeOption, opened, tell_warnings
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.options import DryRunOption, JsonOption
from pipeline.cli.tables import table
from pipeline.core.errors import UsageError
from pipeline.formats.agent_memory.index import VERSION
from pipeline.formats.agent_memory.keepable import require_keepable, texts_of
from pipeline.formats.agent_memory.layout import prepare
from pipeline.formats.agent_memory.memory import Change, Page
from pipeline.formats.agent_memory.querying import ORDERS, SORTS, Query
from pipeline.formats.agent_memory.schema import IMPORTANCES, STATUSES, TASK, Record
from pipeline.formats.agent_memory.shown import shown, shown_records
from pipeline.hooklib.plain import clipped
from pipeline.text.humanize import count

_SNIPPET = 80
agent_memory = typer.Typer(
    help="Keep memories in agent-memory's JSONL files.",
    invoke_without_command=True,
    context_settings=HELP_OPTIONS,
)
TagOption = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag; several times for several.")
]
ImportanceOption = Annotated[
    str, typer.Option("--importance", metavar="I", help=f"One of {', '.join(IMPORTANCES)}.")
]
CategoryOption = Annotated[str | None, typer.Option("--category", metavar="C", help="At most 50 characters.")]
StatusOption = Annotated[
    str, typer.Option("--status", metavar="S", help=f"Of a task: {', '.join(STATUSES)}.")
]
BlockerOption = Annotated[
    list[str] | None, typer.Option("--blocker", metavar="TEXT", help="What blocks a task; several times.")
]
OutcomeOption = Annotated[str, typer.Option("--outcome", metavar="TEXT", help="What came of a task.")]
IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]


@agent_memory.callback()
def agent_memory_flags(
    context: typer.Context,
    init: Annotated[bool, typer.Option("--init", help="As `init`.", hidden=True)] = False,
    rebuild: Annotated[
        bool, typer.Option("--rebuild-index", help="As `rebuild-index`.", hidden=True)
    ] = False,
    validates: Annotated[bool, typer.Option("--validate", help="As `validate`.", hidden=True)] = False,
    stats: Annotated[bool, typer.Option("--stats", help="As `stats`.", hidden=True)] = False,
    archives: Annotated[bool, typer.Option("--archive", help="As `archive`.", hidden=True)] = False,
    days: Annotated[
        int | None, typer.Option("--days", metavar="N", help="With --archive.", hidden=True)
    ] = None,
    repairs: Annotated[bool, typer.Option("--repair", help="As `repair`.", hidden=True)] = False,
    target: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="As `export`.", hidden=True)
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="As `import`.", hidden=True)
    ] = None,
    kind: TypeOption = "",
    version: Annotated[bool, typer.Option("--version", help="Print the version of the format.")] = False,
    test: Annotated[
        bool, typer.Option("--test-connection", help="Say whether the files and the server's tools answer.")
    ] = False,
    folder: DirOption = None,
) -> None:
    """Keep memories in agent-memory's JSONL files.

    Most commands have a flag of their name as well, as that program has it: --init, --validate, --stats,
    --rebuild-index, --archive --days N, --repair, --export FILE, --import FILE.
    """
    if context.invoked_subcommand is not None:
        return
    deeds: dict[str, tuple[bool, Callable[[], None]]] = {
        "--init": (init, lambda: initialise(folder)),
        "--rebuild-index": (rebuild, lambda: care.rebuild_index(folder)),
        "--validate": (validates, lambda: care.validate(folder)),
        "--stats": (stats, lambda: show_stats(folder)),
        "--archive": (archives, lambda: archive(None, days, False, folder)),
        "--repair": (repairs, lambda: care.repair(folder)),
        "--export": (target is not None, lambda: care.export(target or Path(), False, folder)),
        "--import": (source is not None, lambda: care.import_file(source or Path(), kind, folder=folder)),
        "--version": (version, lambda: output.line(f"agent-memory {VERSION}")),
        "--test-connection": (test, lambda: care.test_connection(folder)),
    }
    chosen = {name: deed for name, (is_given, deed) in deeds.items() if is_given}
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} exclude each other", fix="Name one of them.")
    if not chosen:
        output.line(context.get_help())
        return
    next(iter(chosen.values()))()


@agent_memory.command("init")
def initialise(folder: DirOption = None) -> None:
    """Make the folder with its files.

    They are readable for you alone; what is there stays.
    """
    memory = opened(folder)
    with memory.writer():
        prepare(memory.root)
        memory.rebuild()
    care.restrict(memory.root)
    tell_warnings(memory)
    output.line(f"{memory.root} is ready")


@agent_memory.command("add")
def add(
    text: Annotated[list[str], typer.Argument(metavar="TEXT...", help="What to keep.")],
    kind: TypeOption = "learning",
    category: CategoryOption = None,
    tag: TagOption = None,
    importance: ImportanceOption = "medium",
    status: StatusOption = "",
    blocker: BlockerOption = None,
    outcome: OutcomeOption = "",
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a memory."""
    content, task = " ".join(text), _task(status, blocker, outcome)
    require_keepable(texts_of([content, category, tag, task]), by_person=True)
    memory = opened(folder)
    made = memory.append(
        kind, content, category=category, tags=tag or (), importance=importance, task_metadata=task
    )
    tell_warnings(memory)
    output.data(made, lambda: output.line(f"added {made['id']}"), as_json=as_json)


@agent_memory.command("query")
def query(
    text: Annotated[list[str] | None, typer.Argument(metavar="WORDS", help="Part of the text.")] = None,
    kind: TypeOption = "",
    category: CategoryOption = None,
    tag: TagOption = None,
    importance: ImportanceOption = "",
    archived: Annotated[bool, typer.Option("--archived", help="In the archive instead.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="From 1 to 100.")] = 10,
    offset: Annotated[int, typer.Option("--offset", metavar="N", help="How many to pass over.")] = 0,
    sort_by: Annotated[
        str, typer.Option("--sort-by", metavar="FIELD", help=f"One of {', '.join(SORTS)}.")
    ] = "accessed_at",
    order: Annotated[str, typer.Option("--sort-order", metavar="O", help=f"{' or '.join(ORDERS)}.")] = "desc",
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories that all filters let through.

    It counts as a use of those shown.
    """
    memory = opened(folder)
    wanted = Query(
        type=kind,
        tags=tuple(tag or ()),
        search=" ".join(text or ()),
        importance=importance,
        category=category or "",
        archived=archived,
        limit=limit,
        offset=offset,
        sort_by=sort_by,
        sort_order=order,
    )
    page = memory.query(wanted)
    tell_warnings(memory)
    output.data(care.page_of(page), lambda: _tell_page(page), as_json=as_json)


@agent_memory.command("update")
def update(
    ident: IdArgument,
    content: Annotated[str | None, typer.Option("--content", metavar="TEXT", help="The new text.")] = None,
    category: CategoryOption = None,
    tag: TagOption = None,
    importance: ImportanceOption = "",
    archived: Annotated[
        bool | None, typer.Option("--archived/--live", help="Move it to the archive, or back.")
    ] = None,
    status: StatusOption = "",
    blocker: BlockerOption = None,
    outcome: OutcomeOption = "",
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what you name of a memory."""
    change = Change(
        content=content,
        category=category,
        tags=tag,
        importance=importance or None,
        archived=archived,
        task_metadata=_task(status, blocker, outcome),
    )
    require_keepable(texts_of([content, category, tag, change.task_metadata]), by_person=True)
    memory = opened(folder)
    record, names = memory.update(ident, change)
    tell_warnings(memory)
    value = {"memory": shown(record), "updated_fields": names}
    words = f"changed {', '.join(names)} of {ident}" if names else f"{ident} is so already"
    output.data(value, lambda: output.line(words), as_json=as_json)


@agent_memory.command("archive")
def archive(
    idents: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Left out: what is due.")
    ] = None,
    days: Annotated[
        int | None, typer.Option("--days", metavar="N", help="Due after so many; default: 90 and 30.")
    ] = None,
    dry_run: DryRunOption = False,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Archive unused learnings and tasks long done.

    Or the memories you name. Core memories go there by name only.
    """
    memory = opened(folder)
    if idents:
        gone = [memory.get(ident, touch=False) for ident in idents] if dry_run else memory.archive(idents)
    else:
        gone = memory.archive_due(days=days, apply=not dry_run)
    gone = shown_records(gone)
    tell_warnings(memory)
    word = "would be archived" if dry_run else "archived"
    output.data(gone, lambda: _tell_archived(gone, word), as_json=as_json)


@agent_memory.command("delete")
def delete(
    ident: IdArgument,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="Take it out for good, not into the archive.")
    ] = False,
    folder: DirOption = None,
    as_json: JsonOption = False,
) -> None:
    """Archive a memory, or take it out for good.

    A backup of its file is made before.
    """
    memory = opened(folder)
    action = memory.delete(ident, permanent=permanent)
    tell_warnings(memory)
    value = {"success": True, "action": action, "id": ident}
    output.data(value, lambda: output.line(f"{action} {ident}"), as_json=as_json)


@agent_memory.command("stats")
def show_stats(folder: DirOption = None, as_json: JsonOption = False) -> None:
    """Count the memories by type and importance.

    It says what room they take, too.
    """
    memory = opened(folder)
    found = shown(memory.stats())
    tell_warnings(memory)
    output.data(found, lambda: _tell_stats(found), as_json=as_json)


def _task(status: str, blockers: Sequence[str] | None, outcome: str) -> dict[str, Any] | None:
    given: dict[str, Any] = {"status": status} if status else {}
    given |= {"blockers": [*blockers]} if blockers else {}
    given |= {"outcome": outcome} if outcome else {}
    return given or None


def _tell_page(page: Page) -> None:
    rows = [_row(record) for record in shown_records(page.memories)]
    table(["id", "type", "importance", "tags", "content"], rows, empty="no memory is like that")
    if page.has_more:
        output.talk(f"{page.total} in all; --offset {page.offset + page.limit} shows the next.")


def _row(record: Record) -> list[str]:
    kind = record["type"]
    if kind == TASK and record.get("task_metadata"):
        kind = f"{kind} ({record['task_metadata']['status']})"
    text = clipped(" ".join(record["content"].split()), _SNIPPET)
    return [record["id"], kind, record["importance"], " ".join(record["tags"]), text]


def _tell_archived(gone: Sequence[Record], word: str) -> None:
    output.line(f"{word}: {count(len(gone), 'memory', 'memories')}")
    for record in gone:
        output.hanging("- ", f"{record['id']} {clipped(' '.join(record['content'].split()), _SNIPPET)}")


def _tell_stats(found: dict[str, Any]) -> None:
    tags = ", ".join(f"{item['tag']} ({item['count']})" for item in found["top_tags"])
    output.fields(
        {
            "total": found["total"],
            **found["by_type"],
            **{f"importance {word}": number for word, number in found["by_importance"].items()},
            "archived": found["archived_count"],
            "kilobytes": found["total_storage_kb"],
            "oldest": found["oldest"] or "none",
            "newest": found["newest"] or "none",
            "most used": found["most_accessed"] or "none",
            "tags": tags or "none",
        }
    )


care.add_to(agent_memory)
