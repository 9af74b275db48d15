"""All commands of ``reverie`` by their headings: where each is written, and what ``--help`` says of it.

``reverie --help`` is made of this alone, and a command's module is imported when the command is called. A
test holds the words here and those of the functions together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """A command: the function or group `name` in ``pipeline.cli.<module>``, and its line in ``--help``."""

    module: str
    name: str
    help: str


ABOUT = "Background memory for Claude Code: finished turns become typed, sourced markdown memories."
USAGE = "[OPTIONS] COMMAND [ARGS]..."
OPTIONS = {
    "--version": "Print the version.",
    "--install-completion": "Install completion for the current shell.",
    "--show-completion": "Show completion for the current shell, to copy it or customize the installation.",
    "-h, --help": "Show this message and exit.",
}
ALIASES: Mapping[str, str] = {"health_check": "health-check"}
"""Other names of commands, under which other programs know them."""
COMMANDS: Mapping[str, Mapping[str, Entry]] = {
    "Setting up": {
        "init": Entry("install", "init", "Install hooks and show what will happen."),
        "install": Entry("install", "install", "Add the hooks to Claude Code's settings.json."),
        "uninstall": Entry("leaving", "uninstall", "Remove the hooks; the file becomes as it was."),
        "mode": Entry("install", "mode", "Show or set what background work may do."),
        "adopt": Entry("adopt", "adopt", "Let Reverie tend files that others wrote: one yes."),
        "allow": Entry("install", "allow", "Let this project's settings name its memory folder."),
        "config": Entry("settings", "config", "Show every setting, its value and what it means; set one."),
        "hooks": Entry(
            "install", "hooks_snippet", "Print the hooks to merge into Claude Code's settings.json."
        ),
        "statusline": Entry("status", "statusline", "Print one line for Claude Code's status line."),
        "schedule": Entry("schedule", "schedule", "Run dreams from the system scheduler."),
    },
    "State and health": {
        "status": Entry("status", "status", "Show queue, last runs, spend against caps, inbox."),
        "doctor": Entry("diagnostics", "examine", "Examine the installation and the store."),
        "health-check": Entry(
            "watching",
            "health_check",
            "Show how the reading of transcripts is.",
        ),
        "audit": Entry("diagnostics", "audit", "Check any folder of memories; nothing is written."),
        "bundle": Entry("bundles", "bundle", "Write what a run was judged by into one redacted archive."),
        "replay": Entry("bundles", "replay", "Run a bundle again without a model, and say what differs."),
        "rerun": Entry("bundles", "rerun", "Ask another model about a run's dialogue, to compare."),
    },
    "Memories": {
        "list": Entry("live", "list_memories", "List memories: here, the team's, and for all projects."),
        "show": Entry("memories", "show", "Print one memory as it stands in its file."),
        "why": Entry("memories", "why", "Show who said it, where, and which run and model kept it."),
        "search": Entry("search", "search", "Find memories by their words, here and in the user scope."),
        "add": Entry("writing", "add", "Write a memory yourself."),
        "procedure": Entry(
            "writing",
            "procedure",
            "Write a procedure, step by step.",
        ),
        "update": Entry("writing", "update", "Change what you name of a memory, nothing else."),
        "edit": Entry("writing", "edit", "Change a memory's file in your editor."),
        "forget": Entry("memories", "forget", "Retire memories so that old words never bring them back."),
        "restore": Entry("changes", "restore", "Bring a retired memory back from the archive."),
        "pin": Entry("memories", "pin", "Protect a memory from dreams."),
        "unpin": Entry("memories", "unpin", "End the protection of a pinned memory."),
        "reindex": Entry("memories", "reindex", "Rebuild MEMORY.md, all derived files and the search index."),
        "tags": Entry("views", "tags", "List the tags in use, the most frequent first."),
        "core": Entry(
            "views",
            "core",
            "Make CORE.md anew, and print it.",
        ),
        "reflection": Entry(
            "views",
            "reflection",
            "Make REFLECTION.md anew, and print it.",
        ),
        "relate": Entry("graph", "relate", "Relate two memories, or change how they are related."),
        "related": Entry("graph", "related", "List the memories that one is related to."),
        "edges": Entry("graph", "edges", "List, show, remove or propose edges between memories."),
        "graph": Entry("drawing", "drawing", "Show how memories hang together, or write it as one page."),
        "decay": Entry("graph", "decay", "Compute what memories are worth by now, and which sleep."),
        "embed": Entry("search", "embed", "Make the vectors that [embeddings] asks for."),
        "graphs": Entry("graphs", "graphs", "List memory folders by name, and name more of them."),
    },
    "Changes and decisions": {
        "inbox": Entry("inbox", "inbox", "Review changes waiting for your decision."),
        "history": Entry("changes", "history", "List the changes of memories, newest first."),
        "diff": Entry("changes", "diff", "Show what one change did, old beside new."),
        "undo": Entry("changes", "undo", "Undo a change: a dream's, an extraction's, or yours."),
    },
    "Recall": {
        "recall": Entry("recall", "recall", "Show what recall would put before a prompt."),
        "injected": Entry("recall", "injected", "Show what recall put into a session, when and why."),
    },
    "Other programs": {
        "open": Entry("page", "open_page", "Show memories, dreams, inbox and cost in a browser."),
        "import": Entry("carrying", "import_memories", "Take in memories of another program."),
        "export": Entry("carrying", "export", "Write memories in the format of another program."),
        "sync": Entry("carrying", "sync", "Keep memories in step, on machines or in formats."),
        "team": Entry("team", "team", "Share memories with a team, in a PostgreSQL database."),
        "share": Entry("team", "share", "Give the team a copy of a memory in your name."),
        "unshare": Entry("team", "unshare", "Take a memory back that you shared with the team."),
        "mcp": Entry("mcp", "mcp", "Serve the memories to an MCP client over stdio."),
        "agent-memory": Entry("agent_memory", "agent_memory", "Keep memories in agent-memory's JSONL files."),
    },
    "What happened when": {
        "timeline": Entry("diary", "timeline", "List what conversations were about, day by day."),
        "episodes": Entry("views", "episodes", "List the entries of the diary, the newest first."),
        "episode": Entry("views", "episode", "Add an entry to today's page of the diary."),
        "day": Entry("diary", "day", "Show one day whole: the diary, conversations, memories."),
        "calendar": Entry("diary", "calendar", "List the days of a month on which anything happened."),
    },
    "Reading sessions": {
        "work": Entry("extract", "work", "Run the background worker's jobs now."),
        "worker": Entry("team_work", "worker", "Read a team's backlog until it is stopped."),
        "process": Entry("extract", "process", "Extract from finished conversations left for later."),
        "extract": Entry("extract", "extract", "Extract memories from one transcript."),
        "ingest": Entry("ingest", "ingest", "Read transcripts into the ledger; no model is asked."),
        "conversations": Entry(
            "extract", "conversations", "List conversations: dialogue between two silences."
        ),
        "dialogue": Entry("dialogue", "dialogue", "Search, show or delete the dialogue in the ledger."),
        "transition": Entry(
            "watching", "transition", "End a conversation now, have it read, or pass it over."
        ),
        "watch": Entry(
            "watching",
            "watch",
            "Read transcripts into the ledger as they grow.",
        ),
        "traces": Entry("traces", "traces", "Show what tools did in each session; write it out."),
    },
    "Time and tools": {
        "task": Entry("task", "task", "Note how long something takes, or time a command."),
        "journal": Entry("journal", "journal", "Show the journals of sessions and claims, or update them."),
        "agents": Entry("agents", "agents", "List sub-agents: what for, how long, how many tokens."),
        "patterns": Entry(
            "tool_use",
            "patterns",
            "List steps or classes of events that come again.",
        ),
        "similar": Entry("tool_use", "similar", "List the sessions most like one."),
        "coaccess": Entry("tool_use", "coaccess", "List files used together."),
        "errors": Entry("tool_use", "errors", "List for each session how many calls of tools failed."),
    },
    "Dreams": {
        "dream": Entry("dream", "dream", "Consolidate the stores whose gates are open."),
        "consolidate": Entry("dream", "consolidate", "Merge and prune one store, checked and undoable."),
        "reflect": Entry(
            "dream",
            "reflect",
            "Dream over the store here; no gate is asked.",
        ),
        "report": Entry("dream", "report", "Show what a dream did, and what it held back."),
    },
    "Trying it out": {
        "demo": Entry("demo", "demo", "Show the main job on a sample session."),
        "eval": Entry("evaluation", "evaluate", "Score extraction against gold lists."),
    },
}
"""Each heading and each command in the order shown, which is that in which a person meets them."""
