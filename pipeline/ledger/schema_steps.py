"""The steps of the ledger's schema, in the order in which they are applied (`pipeline.ledger.migrations`)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from pipeline.ledger.batch_schema import batches, team_orders

if TYPE_CHECKING:
    import sqlite3


def files(connection: sqlite3.Connection) -> None:
    """Add the files of seed 4 with more columns, their parentUuid links and their bad lines."""
    connection.execute("""
        CREATE TABLE memory_file_states (
          id INTEGER PRIMARY KEY,
          file_path TEXT NOT NULL UNIQUE,
          source TEXT NOT NULL DEFAULT 'claude-code',
          status TEXT NOT NULL DEFAULT 'idle' CHECK (status IN ('idle', 'ingesting')),
          last_modified INTEGER NOT NULL DEFAULT 0,
          file_size INTEGER NOT NULL DEFAULT 0,
          last_processed_offset INTEGER NOT NULL DEFAULT 0,
          last_entry_timestamp TEXT,
          path TEXT NOT NULL DEFAULT '',
          session_id TEXT NOT NULL DEFAULT '',
          cursor_json TEXT NOT NULL DEFAULT '',
          type_counts TEXT NOT NULL DEFAULT '{}',
          restarts INTEGER NOT NULL DEFAULT 0,
          gone_at REAL
        )""")
    connection.execute("""
        CREATE TABLE link_batches (
          id INTEGER PRIMARY KEY,
          file_id INTEGER NOT NULL REFERENCES memory_file_states (id),
          first_offset INTEGER NOT NULL,
          last_offset INTEGER NOT NULL,
          marks BLOB NOT NULL,
          links BLOB NOT NULL
        )""")
    connection.execute("CREATE INDEX link_batches_file ON link_batches (file_id, last_offset)")
    connection.execute("""
        CREATE TABLE bad_lines (
          id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL REFERENCES memory_file_states (id),
          place INTEGER NOT NULL, reason TEXT NOT NULL
        )""")
    connection.execute("CREATE INDEX bad_lines_file ON bad_lines (file_id)")


def entries(connection: sqlite3.Connection) -> None:
    """Add the entries of seed 4, with more columns."""
    connection.execute("""
        CREATE TABLE memory_transcript_entries (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          session_id TEXT NOT NULL,
          source_file TEXT NOT NULL,
          role TEXT NOT NULL,
          content TEXT NOT NULL,
          tool_names TEXT NOT NULL,
          timestamp TEXT,
          cwd TEXT,
          file_id INTEGER NOT NULL REFERENCES memory_file_states (id),
          byte_offset INTEGER NOT NULL,
          byte_length INTEGER NOT NULL,
          block INTEGER NOT NULL,
          uuid TEXT NOT NULL,
          speaker TEXT CHECK (speaker IN ('person', 'assistant')),
          channel TEXT,
          message_id TEXT,
          at_source TEXT NOT NULL,
          entrypoint TEXT,
          memory_writes TEXT NOT NULL,
          note TEXT NOT NULL,
          input_tokens INTEGER NOT NULL,
          output_tokens INTEGER NOT NULL,
          superseded INTEGER NOT NULL DEFAULT 0,
          abandoned INTEGER NOT NULL DEFAULT 0
        )""")


def entry_indexes(connection: sqlite3.Connection) -> None:
    """Add what makes an entry unique, and the ways entries are looked up."""
    connection.execute(
        "CREATE UNIQUE INDEX entries_identity ON memory_transcript_entries (uuid, block, session_id)"
    )
    connection.execute(
        "CREATE UNIQUE INDEX entries_spoken_once ON memory_transcript_entries (uuid, block)"
        " WHERE speaker IS NOT NULL"
    )
    connection.execute(
        "CREATE UNIQUE INDEX entries_place ON memory_transcript_entries (file_id, byte_offset, block)"
        " WHERE superseded = 0"
    )
    connection.execute(
        "CREATE INDEX entries_speech ON memory_transcript_entries (file_id)"
        " WHERE speaker IS NOT NULL AND superseded = 0 AND abandoned = 0"
    )
    connection.execute(
        "CREATE INDEX entries_writes ON memory_transcript_entries (file_id) WHERE memory_writes <> ''"
    )


def conversations(connection: sqlite3.Connection) -> None:
    """Add the conversations of seed 4, with more columns."""
    connection.execute("""
        CREATE TABLE memory_conversations (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          session_id TEXT NOT NULL,
          source_file TEXT NOT NULL,
          first_message_at TEXT,
          last_message_at TEXT,
          entry_count INTEGER NOT NULL,
          status TEXT NOT NULL DEFAULT 'active' CHECK (
            status IN ('active', 'ready', 'queued', 'processing', 'archived', 'skipped', 'review')),
          file_id INTEGER NOT NULL REFERENCES memory_file_states (id),
          first_row INTEGER NOT NULL,
          last_row INTEGER NOT NULL,
          status_at REAL NOT NULL,
          changed_at REAL NOT NULL,
          reason TEXT NOT NULL DEFAULT ''
        )""")
    connection.execute("CREATE INDEX conversations_start ON memory_conversations (file_id, first_row)")
    connection.execute("CREATE INDEX conversations_status ON memory_conversations (status)")


def work(connection: sqlite3.Connection) -> None:
    """Add watermarks, hook events, jobs and runs."""
    connection.execute("""
        CREATE TABLE watermarks (
          key TEXT NOT NULL, store TEXT NOT NULL, strategy TEXT NOT NULL, row INTEGER NOT NULL,
          PRIMARY KEY (key, store, strategy)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE events (
          id TEXT PRIMARY KEY, hook TEXT NOT NULL, session_id TEXT NOT NULL, transcript_path TEXT,
          cwd TEXT, payload_json TEXT NOT NULL, received_at REAL NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX events_received ON events (received_at)")
    connection.execute("""
        CREATE TABLE jobs (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          kind TEXT NOT NULL,
          key TEXT NOT NULL,
          state TEXT NOT NULL CHECK (state IN ('waiting', 'leased', 'done', 'parked')),
          run_after REAL,
          attempts INTEGER NOT NULL DEFAULT 0,
          crashes INTEGER NOT NULL DEFAULT 0,
          again INTEGER NOT NULL DEFAULT 0,
          token TEXT,
          owner TEXT,
          lease_until REAL,
          last_error TEXT NOT NULL DEFAULT '',
          created_at REAL NOT NULL,
          changed_at REAL NOT NULL,
          UNIQUE (kind, key)
        )""")
    connection.execute("CREATE INDEX jobs_due ON jobs (state, run_after)")
    connection.execute("""
        CREATE TABLE runs (
          id TEXT PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, store TEXT NOT NULL,
          strategy TEXT NOT NULL,
          from_row INTEGER NOT NULL, through_row INTEGER NOT NULL, started_at REAL NOT NULL,
          reply_json TEXT, prompt_digest TEXT, model TEXT, provider TEXT, replied_at REAL,
          outcome TEXT, summary_json TEXT, finished_at REAL
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX runs_started ON runs (started_at)")
    connection.execute(
        "CREATE INDEX runs_pending ON runs (key, store, strategy)"
        " WHERE outcome IS NULL AND reply_json IS NOT NULL"
    )


def spending(connection: sqlite3.Connection) -> None:
    """Add model calls and the breaker that pauses them."""
    connection.execute("""
        CREATE TABLE model_calls (
          id INTEGER PRIMARY KEY,
          run_id TEXT NOT NULL,
          purpose TEXT NOT NULL,
          provider TEXT NOT NULL,
          model TEXT NOT NULL,
          prompt_digest TEXT NOT NULL,
          outcome TEXT NOT NULL,
          input_tokens INTEGER NOT NULL,
          output_tokens INTEGER NOT NULL,
          cache_write_tokens INTEGER NOT NULL,
          cache_read_tokens INTEGER NOT NULL,
          estimated INTEGER NOT NULL,
          dollars REAL NOT NULL,
          started_at REAL NOT NULL,
          ended_at REAL
        )""")
    connection.execute("CREATE INDEX calls_started ON model_calls (started_at)")
    connection.execute("CREATE INDEX calls_run ON model_calls (run_id) WHERE run_id <> ''")
    connection.execute("""
        CREATE TABLE breaker (
          one INTEGER PRIMARY KEY CHECK (one = 1),
          remaining REAL NOT NULL, noted_at REAL NOT NULL, resets_at REAL
        )""")


def judgements(connection: sqlite3.Connection) -> None:
    """Add what a person decided or has yet to decide: tombstones and the inbox."""
    connection.execute("""
        CREATE TABLE tombstones (
          store TEXT NOT NULL, name TEXT NOT NULL, memory_id TEXT NOT NULL, at REAL NOT NULL,
          reason TEXT NOT NULL, PRIMARY KEY (store, name)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE inbox (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          store TEXT NOT NULL,
          kind TEXT NOT NULL,
          payload_json TEXT NOT NULL,
          reason TEXT NOT NULL,
          run_id TEXT NOT NULL,
          state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'accepted', 'rejected')),
          created_at REAL NOT NULL,
          decided_at REAL
        )""")
    connection.execute("CREATE INDEX inbox_state ON inbox (state, store)")


def stores(connection: sqlite3.Connection) -> None:
    """Add the memory folder of each file, resolved while its directory still existed."""
    connection.execute("ALTER TABLE memory_file_states ADD COLUMN store TEXT NOT NULL DEFAULT ''")


def dreams(connection: sqlite3.Connection) -> None:
    """Add what is kept of dreams by store: times, what they saw, the gates' answers, the lease."""
    connection.execute("""
        CREATE TABLE dream_states (
          store TEXT PRIMARY KEY, last_success REAL, last_attempt REAL, last_scan REAL
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_seen (
          store TEXT NOT NULL, memory TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (store, memory)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_gates (
          store TEXT NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, open INTEGER NOT NULL,
          reason TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (store, name)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_refusals (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          store TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL
        )""")
    connection.execute("CREATE INDEX dream_refusals_store ON dream_refusals (store, name)")
    connection.execute("""
        CREATE TABLE dream_leases (
          store TEXT PRIMARY KEY, token TEXT NOT NULL, owner TEXT NOT NULL, boot_id TEXT NOT NULL,
          taken_at REAL NOT NULL, beat_at REAL NOT NULL, expires_at REAL NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX files_store ON memory_file_states (store)")


def recall_log(connection: sqlite3.Connection) -> None:
    """Add what recall put before prompts, what was asked for by hand, and how far the hooks' files are read.

    A row of `recall_log` without a `place` is a use: a memory that a person or the assistant asked for.
    """
    connection.execute("""
        CREATE TABLE recall_files (
          session TEXT PRIMARY KEY, taken INTEGER NOT NULL, base INTEGER NOT NULL, head BLOB NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE recall_lines (
          session TEXT NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
          hook TEXT NOT NULL, cwd TEXT NOT NULL, store TEXT NOT NULL, chars INTEGER NOT NULL,
          tokens INTEGER NOT NULL, left_out INTEGER NOT NULL, prompt TEXT NOT NULL,
          PRIMARY KEY (session, place)
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX recall_lines_at ON recall_lines (at)")
    connection.execute("""
        CREATE TABLE recall_log (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          session TEXT NOT NULL, place INTEGER, item INTEGER NOT NULL, at REAL NOT NULL, hook TEXT NOT NULL,
          store TEXT NOT NULL, memory TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
          digest TEXT NOT NULL, score REAL NOT NULL, why TEXT NOT NULL,
          chars INTEGER NOT NULL, tokens INTEGER NOT NULL,
          mark TEXT UNIQUE, counted INTEGER NOT NULL DEFAULT 0,
          UNIQUE (session, place, item)
        )""")
    connection.execute("CREATE INDEX recall_log_uncounted ON recall_log (id) WHERE counted = 0")
    connection.execute("""
        CREATE TABLE recall_bad_lines (
          session TEXT NOT NULL, place INTEGER NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL,
          PRIMARY KEY (session, place, reason)
        ) WITHOUT ROWID""")
    connection.execute("CREATE TABLE identity (id TEXT NOT NULL)")
    connection.execute("INSERT INTO identity SELECT lower(hex(randomblob(8)))")


def run_memories(connection: sqlite3.Connection) -> None:
    """Add which memories each run made or changed, taken for past runs from what they said they did."""
    connection.execute("""
        CREATE TABLE run_memories (
          memory TEXT NOT NULL, run TEXT NOT NULL REFERENCES runs (id), PRIMARY KEY (memory, run)
        ) WITHOUT ROWID""")
    past = connection.execute("SELECT id, summary_json FROM runs WHERE summary_json IS NOT NULL").fetchall()
    rows = {(memory, run) for run, summary in past for memory in _memories_in(summary)}
    connection.executemany("INSERT INTO run_memories (memory, run) VALUES (?, ?)", sorted(rows))


def _memories_in(summary: str) -> list[str]:
    """Return the ids of memories that a run's summary names; none of one that can't be read."""
    try:
        held = json.loads(summary)
    except (ValueError, RecursionError):
        return []
    actions = held.get("actions") if isinstance(held, dict) else None
    listed = actions if isinstance(actions, list) else []
    ids = [action.get("id") for action in listed if isinstance(action, dict)]
    return [memory for memory in ids if isinstance(memory, str) and memory]


def deeds(connection: sqlite3.Connection) -> None:
    """Add the files an entry touched, who sent it, and when work was last seen before what a person typed."""
    connection.execute("ALTER TABLE memory_transcript_entries ADD COLUMN files TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE memory_transcript_entries ADD COLUMN origin TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE memory_transcript_entries ADD COLUMN worked_at TEXT")
    connection.execute(
        "CREATE INDEX entries_tools ON memory_transcript_entries (file_id)"
        " WHERE tool_names <> '' AND speaker IS NULL AND superseded = 0 AND abandoned = 0"
    )
    connection.execute(
        "CREATE INDEX entries_origin ON memory_transcript_entries (file_id) WHERE origin = 'human'"
    )


def branches(connection: sqlite3.Connection) -> None:
    """Add the git branch on which something was said."""
    connection.execute("ALTER TABLE memory_transcript_entries ADD COLUMN branch TEXT NOT NULL DEFAULT ''")


def chores(connection: sqlite3.Connection) -> None:
    """Add when each thing that is done now and then was done last."""
    connection.execute("CREATE TABLE chores (name TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID")


def held_jobs(connection: sqlite3.Connection) -> None:
    """Add to jobs what one waits for that no model could do: the settings and logins there were then."""
    connection.execute("ALTER TABLE jobs ADD COLUMN held_for TEXT NOT NULL DEFAULT ''")
    connection.execute("ALTER TABLE jobs ADD COLUMN held_call INTEGER")


def unsent_calls(connection: sqlite3.Connection) -> None:
    """Add to model calls whether anything was sent; what is not known to have stayed here was."""
    connection.execute("ALTER TABLE model_calls ADD COLUMN sent INTEGER NOT NULL DEFAULT 1")


def outages(connection: sqlite3.Connection) -> None:
    """Add which provider is down, once for all jobs; what was given up may have failed for that alone."""
    _table_of_outages(connection)
    connection.execute("UPDATE jobs SET run_after = 0, last_error = '' WHERE held_for <> ''")
    connection.execute(
        "UPDATE jobs SET state = 'waiting', run_after = 0, attempts = 0 WHERE state = 'parked'"
        " AND last_error NOT LIKE 'the worker died %'"
    )
    connection.execute("ALTER TABLE jobs DROP COLUMN held_for")
    connection.execute("ALTER TABLE jobs RENAME COLUMN held_call TO failed_call")


def _table_of_outages(connection: sqlite3.Connection) -> None:
    connection.execute("""
        CREATE TABLE outages (
          provider TEXT PRIMARY KEY, outcome TEXT NOT NULL, reason TEXT NOT NULL, fix TEXT NOT NULL,
          held_for TEXT NOT NULL, failures INTEGER NOT NULL, began_at REAL NOT NULL,
          noted_at REAL NOT NULL, ends_at REAL NOT NULL) WITHOUT ROWID""")


def _failed_calls(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE jobs ADD COLUMN failed_call INTEGER")


def recognised_secrets(connection: sqlite3.Connection) -> None:
    """Add the digests of secrets that were recognised once, and the salt they are made with."""
    connection.execute("CREATE TABLE secret_salt (salt BLOB NOT NULL)")
    connection.execute("INSERT INTO secret_salt VALUES (randomblob(32))")
    connection.execute("""
        CREATE TABLE secret_marks (
          digest BLOB PRIMARY KEY, length INTEGER NOT NULL, spaced INTEGER NOT NULL, seen_at REAL NOT NULL
        ) WITHOUT ROWID""")


def file_writes(connection: sqlite3.Connection) -> None:
    """Add what the assistant wrote into memory files, by path: which call of which session, and when."""
    connection.execute("""
        CREATE TABLE file_writes (
          path TEXT NOT NULL, uuid TEXT NOT NULL, tool TEXT NOT NULL, session TEXT NOT NULL,
          at TEXT, until TEXT, digest TEXT NOT NULL, before TEXT NOT NULL, changed INTEGER NOT NULL,
          PRIMARY KEY (path, uuid, tool)
        ) WITHOUT ROWID""")


def stamps(connection: sqlite3.Connection) -> None:
    """Add time and size of each file as it was read, which only the cursor told until now."""
    connection.execute("ALTER TABLE memory_file_states ADD COLUMN read_mtime_ns INTEGER NOT NULL DEFAULT 0")
    connection.execute("ALTER TABLE memory_file_states ADD COLUMN read_size INTEGER NOT NULL DEFAULT -1")
    past = connection.execute("SELECT id, cursor_json FROM memory_file_states").fetchall()
    rows = [(*stamp, number) for number, cursor in past if (stamp := _stamp_in(cursor))]
    connection.executemany(
        "UPDATE memory_file_states SET read_mtime_ns = ?, read_size = ? WHERE id = ?", rows
    )


def _stamp_in(cursor_json: str) -> tuple[int, int] | None:
    """Return time and size in a cursor, None for one that can't be read: its file is looked at again."""
    try:
        held = json.loads(cursor_json)
    except (ValueError, RecursionError):
        return None
    mtime_ns, size = (held.get("mtime_ns"), held.get("size")) if isinstance(held, dict) else (None, None)
    if type(mtime_ns) is not int or type(size) is not int:
        return None
    return (mtime_ns, size) if 0 <= mtime_ns < 2**63 and 0 <= size < 2**63 else None


Step = Callable[["sqlite3.Connection"], None]
STEPS: tuple[Step, ...] = (
    files,
    entries,
    entry_indexes,
    conversations,
    work,
    spending,
    judgements,
    stores,
    dreams,
    recall_log,
    run_memories,
    deeds,
    branches,
    chores,
    held_jobs,
    unsent_calls,
    outages,
    recognised_secrets,
    file_writes,
    stamps,
    batches,
    team_orders,
)
LATEST = len(STEPS)
SHORTER: dict[Step, Step] = {held_jobs: _failed_calls, outages: _table_of_outages}
"""What comes to the same where nothing stands yet: dropping and renaming columns is half of a new ledger."""
