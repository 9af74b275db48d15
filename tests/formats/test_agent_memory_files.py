"""Agent-memory's files as its specification has them: lines, index, limits, backups, archive, migration."""

import json
import logging
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.core import system
from pipeline.formats.agent_memory import AgentMemory, AgentMemoryError, Options, Query, writing
from pipeline.formats.agent_memory import lock as locking
from pipeline.formats.agent_memory.checking import repair, restore, validate
from pipeline.formats.agent_memory.layout import acl_command
from pipeline.formats.agent_memory.memory import Change
from pipeline.formats.agent_memory.migrations import Step, migrate_files
from pipeline.formats.agent_memory.options import load
from pipeline.formats.agent_memory.schema import faults, line_of, made
from pipeline.formats.agent_memory.starting import log_to, start
from pipeline.formats.agent_memory.transfer import export, import_from
from tests.formats.conftest import NOON

SEED = (
    '{"id":"550e8400-e29b-41d4-a716-446655440000","type":"core","content":"User prefers pytest'
    ' over unittest","category":"preference","created_at":"2026-01-01T10:00:00Z",'
    '"updated_at":"2026-01-01T10:00:00Z",'
    '"accessed_at":"2026-01-01T10:00:00Z","access_count":5,"tags":["python","testing"],"importance":"high",'
    '"archived":false}\n'
    '{"id":"550e8400-e29b-41d4-a716-446655440001","type":"core","content":"Project uses black for formatting'
    ' with line length 88","category":"fact","created_at":"2026-01-01T10:05:00Z",'
    '"updated_at":"2026-01-01T10:05:00Z","accessed_at":"2026-01-01T10:05:00Z","access_count":3,'
    '"tags":["python","formatting","black"],"importance":"medium","archived":false}'
)
FIRST, SECOND = "550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440001"


def lines(root, name="core_memories.jsonl"):
    return (root / name).read_bytes().split(b"\n")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def seeded(memory, root):
    """The example file, which ends without a line break as its rule 5 has it."""
    root.mkdir(mode=0o700)
    (root / "core_memories.jsonl").write_text(SEED)
    (root / "core_memories.jsonl").chmod(0o600)
    return memory


# -- layout, lines ------------------------------------------------------------------------------------


def test_the_layout_and_its_modes(memory, root):
    made = memory.append("task", "Ship it", task_metadata={"status": "completed"})
    memory.append("learning", "naïve – 日本 🚀", tags=["a"])
    memory.update(made["id"], Change(content="Ship it now"))
    memory.archive([made["id"]])
    names = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert names == {
        *("core_memories.jsonl", "learnings.jsonl", "tasks.jsonl", "index.json", ".lock"),
        *(".backup/tasks.jsonl.backup", ".backup/tasks.jsonl.backup.20261102_120000"),
        *(".backup/tasks.jsonl.backup.20261102_120000-1", "archive/2026/tasks_2026_Q4.jsonl"),
    }
    assert {mode(path) for path in root.rglob("*") if path.is_dir()} | {mode(root)} == {0o700}
    assert {mode(path) for path in root.rglob("*") if path.is_file()} == {0o600}
    assert acl_command(root, "Ann") == ["icacls", str(root), "/inheritance:r", "/grant:r", "Ann:(OI)(CI)F"]


def test_a_line_is_minified_utf_8_in_the_order_of_the_specification(memory, root):
    record = memory.append("core", "naïve – 日本 🚀\nsecond line", category="c", tags=["a", "a", "b"])
    first, last = lines(root)
    assert last == b""
    assert first == json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    assert [*json.loads(first)] == [*json.loads(SEED.split("\n")[0])]
    assert record["created_at"] == "2026-11-02T12:00:00Z" and record["tags"] == ["a", "b"]


def test_the_example_is_read_and_an_append_ends_its_last_line_first(seeded, root):
    assert seeded.index().data["tags_index"]["python"] == [FIRST, SECOND]
    seeded.append("core", "A third")
    assert [json.loads(line)["content"][:7] for line in lines(root)[:3]] == ["User pr", "Project", "A third"]
    assert b"\n".join(lines(root)[:2]) == SEED.encode()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "mem-001"),
        ("id", "550e8400-e29b-11d4-a716-446655440000"),
        ("type", "note"),
        ("content", " "),
        ("content", "x" * 5_001),
        ("category", "x" * 51),
        ("created_at", "2026-01-01T10:00:00"),
        ("accessed_at", None),
        ("access_count", -1),
        ("access_count", True),
        ("tags", ["x"] * 11),
        ("tags", ["x" * 31]),
        ("tags", "x"),
        ("importance", "huge"),
        ("archived", 0),
        ("task_metadata", {"status": "completed"}),
        ("task_metadata", {"status": "blocked"}),
        ("task_metadata", {"status": "stuck"}),
        ("task_metadata", {"status": "in-progress", "outcome": 5}),
    ],
)
def test_every_limit_of_a_field_is_held(field, value):
    kind = "task" if field == "task_metadata" else "core"
    record = made(kind, "x" * 5_000, category="c" * 50, tags=[f"{n:030}" for n in range(10)], now=NOON)
    assert not [*faults(record)]
    assert [*faults({**record, field: value})]


def test_a_line_over_the_limit_is_refused_by_characters_and_by_bytes(memory, root):
    for text in ("x" * 5_001, "日" * 3_400):
        with pytest.raises(AgentMemoryError) as caught:
            memory.append("core", text)
        assert caught.value.code == "INVALID_INPUT"
    memory.append("core", "日" * 3_200)
    assert not memory.exists or len(lines(root)) == 2
    assert len(lines(root)[0]) <= 10_240


# -- tasks --------------------------------------------------------------------------------------------


def test_a_task_is_completed_by_its_status_or_by_its_category(memory):
    by_category = memory.append("task", "One", category="completed")
    assert by_category["task_metadata"] == {"status": "completed", "completed_at": "2026-11-02T12:00:00Z"}
    task = memory.append("task", "Two", task_metadata={"status": "blocked"})
    assert task["task_metadata"] == {"status": "blocked", "blockers": []}
    done, names = memory.update(task["id"], Change(task_metadata={"status": "completed", "outcome": "ok"}))
    assert names == ["task_metadata"]
    assert done["task_metadata"] == {
        "status": "completed",
        "outcome": "ok",
        "completed_at": "2026-11-02T12:00:00Z",
    }
    again, _ = memory.update(task["id"], Change(category="in-progress"))
    assert again["task_metadata"] == {"status": "in-progress", "outcome": "ok"}


# -- index --------------------------------------------------------------------------------------------


def test_the_index_has_the_shape_of_the_specification(seeded, root):
    seeded.append("task", "A task", tags=["testing"])
    held = json.loads((root / "index.json").read_text())
    assert [*held][:6] == [
        *("version", "last_updated", "statistics", "tags_index", "category_index", "importance_index")
    ]
    assert held["version"] == "1.0.0" and held["statistics"]["total_memories"] == 3
    assert held["statistics"]["by_type"] == {"core": 2, "learning": 0, "task": 1}
    size = sum((root / name).stat().st_size for name in ("core_memories.jsonl", "tasks.jsonl"))
    assert held["statistics"]["total_storage_bytes"] == size
    assert held["category_index"] == {"preference": [FIRST], "fact": [SECOND]}
    assert held["importance_index"]["low"] == [] and held["importance_index"]["high"] == [FIRST]


def test_an_incremental_index_is_that_of_a_rebuild(memory, root):
    ids = [memory.append("core", f"Memory {n}", tags=[f"t{n % 3}"], category="c")["id"] for n in range(9)]
    memory.archive(ids[:2])
    memory.delete(ids[2], permanent=True)
    memory.update(ids[3], Change(tags=["new"], importance="high"))
    memory.append("learning", "Last", tags=["new"])
    kept = json.loads((root / "index.json").read_text())
    (root / "index.json").unlink()
    assert AgentMemory(root, clock=memory._clock).rebuild().data == kept


@pytest.mark.parametrize("held", [b"", b"{", b'{"version":"1.0.0"}', b"[]"])
def test_a_torn_index_is_made_anew(seeded, root, held):
    seeded.append("core", "A third")
    (root / "index.json").write_bytes(held)
    fresh = AgentMemory(root)
    assert fresh.query(Query(tags=["python"])).total == 2
    assert json.loads((root / "index.json").read_text())["statistics"]["total_memories"] == 3


def test_lines_of_another_program_are_seen_at_once(seeded, root):
    seeded.index()
    other = made("core", "By another", tags=["python"], now=NOON)
    with (root / "core_memories.jsonl").open("a") as file:
        file.write("\n" + json.dumps(other))
    assert seeded.query(Query(tags=["python"])).total == 3


def test_a_line_of_another_program_in_the_same_moment_is_seen(memory, root):
    memory.append("core", "First")
    index = memory.index()
    other = made("core", "By another", tags=["other"], now=NOON)
    with (root / "core_memories.jsonl").open("a") as file:
        file.write(json.dumps(other) + "\n")
    mine = made("core", "Mine", now=NOON)
    written = writing.append(root / "core_memories.jsonl", [line_of(mine)])
    assert not index.add([mine], root / "core_memories.jsonl", written, NOON)


# -- queries ------------------------------------------------------------------------------------------


def test_filters_are_all_held_and_pages_follow(memory):
    for n in range(25):
        memory.append("core", f"Memory {n} ÄPFEL", tags=["all", f"t{n % 2}"], importance="low")
    memory.append("learning", "Other", tags=["all"], importance="high")
    page = memory.query(Query(tags=["all", "t1"], search="äpfel", importance="low", limit=5, offset=10))
    assert (page.total, len(page.memories), page.has_more) == (12, 2, False)
    assert memory.query(Query(sort_by="importance", limit=1)).memories[0]["content"] == "Other"
    first = memory.query(Query(type="core", sort_by="created_at", sort_order="asc", limit=1), touch=False)
    assert first.memories[0]["content"] == "Memory 0 ÄPFEL"
    for wrong in ({"limit": 101}, {"offset": -1}, {"sort_by": "x"}, {"search": "x" * 201}, {"type": "x"}):
        with pytest.raises(AgentMemoryError):
            memory.query(Query(**wrong))


def test_a_query_counts_a_use_beside_the_file_and_a_rewrite_takes_it_in(memory, root, clock):
    kept = memory.append("core", "Kept", tags=["a"])
    other = memory.append("core", "Other")
    before = lines(root)
    clock.at += timedelta(hours=1)
    assert memory.query(Query(tags=["a"])).memories[0]["access_count"] == 1
    assert lines(root) == before
    fresh = AgentMemory(root, clock=clock)
    assert fresh.get(kept["id"], touch=False)["accessed_at"] == "2026-11-02T13:00:00Z"
    fresh.update(other["id"], Change(content="Other now"))
    assert json.loads(lines(root)[0])["access_count"] == 1
    assert json.loads((root / ".access.json").read_text())["entries"] == {}


# -- update, archive, delete --------------------------------------------------------------------------


def test_an_update_leaves_every_other_line_byte_for_byte(memory, root):
    root.mkdir(mode=0o700)
    odd = SEED.replace('{"id"', '{ "extra":1, "id"', 1) + "\n"
    (root / "core_memories.jsonl").write_text(odd)
    memory.update(SECOND, Change(importance="low"))
    assert lines(root)[0] == odd.encode().split(b"\n")[0]
    assert json.loads(lines(root)[1])["importance"] == "low"
    backup = root / ".backup" / "core_memories.jsonl.backup.20261102_120000"
    assert backup.read_text() == odd and (root / ".backup" / "core_memories.jsonl.backup").samefile(backup)


def test_five_backups_of_a_file_are_kept_and_one_can_be_restored(memory, root, clock):
    record = memory.append("core", "Text 0")
    for n in range(1, 8):
        clock.at += timedelta(seconds=n // 4)
        memory.update(record["id"], Change(content=f"Text {n}"))
    kept = sorted(path.name for path in (root / ".backup").glob("*.backup.*"))
    assert len(kept) == 5
    assert restore(memory, "core_memories.jsonl") == 1
    assert memory.get(record["id"])["content"] == "Text 6"
    with pytest.raises(AgentMemoryError) as caught:
        restore(memory, "tasks.jsonl")
    assert caught.value.code == "NOT_FOUND"


def test_archived_memories_are_moved_and_come_back(memory, root):
    record = memory.append("core", "Leaves", tags=["a"])
    assert memory.delete(record["id"]) == "archived"
    assert lines(root) == [b""]
    assert memory.query(Query()).total == 0
    found = memory.query(Query(archived=True)).memories
    assert [item["id"] for item in found] == [record["id"]] and found[0]["archived"] is True
    assert memory.index().archived == 1
    back, names = memory.update(record["id"], Change(archived=False, tags=["b"]))
    assert names == ["tags", "archived"] and back["archived"] is False
    assert memory.query(Query(tags=["b"])).total == 1 and memory.index().archived == 0
    assert memory.delete(record["id"], permanent=True) == "deleted"
    with pytest.raises(AgentMemoryError) as caught:
        memory.get(record["id"])
    assert caught.value.code == "NOT_FOUND"


def test_what_is_due_is_archived_and_core_never(memory, clock):
    core = memory.append("core", "Stays")
    old = memory.append("learning", "Old")
    done = memory.append("task", "Done", category="completed")
    clock.at += timedelta(days=31)
    new = memory.append("learning", "New")
    running = memory.append("task", "Runs")
    assert [record["id"] for record in memory.archive_due(apply=False)] == [done["id"]]
    clock.at += timedelta(days=60)
    start(memory)
    live = {record["id"] for kind in ("core", "learning", "task") for record in memory.records(kind)}
    assert live == {core["id"], new["id"], running["id"]}
    assert {record["id"] for record in memory.archived()} == {old["id"], done["id"]}


# -- limits -------------------------------------------------------------------------------------------


def test_a_hard_limit_blocks_and_names_the_least_used(root, clock):
    memory = AgentMemory(root, Options(max_core=3), clock=clock)
    ids = [memory.append("core", f"Memory {n}")["id"] for n in range(3)]
    memory.get(ids[0])
    with pytest.raises(AgentMemoryError) as caught:
        memory.append("core", "One too many")
    assert caught.value.code == "LIMIT_EXCEEDED" and caught.value.suggestions == (*ids[1:], ids[0])
    memory.archive([ids[1]])
    memory.append("core", "Now there is room")


def test_a_soft_limit_archives_what_is_done_and_else_warns(root, clock):
    memory = AgentMemory(root, Options(max_tasks=2, max_learnings=2), clock=clock)
    memory.append("task", "Done", category="completed")
    memory.append("task", "Runs")
    memory.append("task", "Runs too")
    assert [item["content"] for item in memory.archived("task")] == ["Done"]
    memory.append("task", "One more")
    assert len(memory.records("task")) == 3 and any("limit" in text for text in memory.warnings)
    memory.append("learning", "Old")
    clock.at += timedelta(days=91)
    memory.append("learning", "New")
    memory.append("learning", "Newer")
    assert [item["content"] for item in memory.archived("learning")] == ["Old"]


def test_a_limit_of_bytes_comes_first_where_it_is_reached_first(root, clock):
    memory = AgentMemory(root, Options(max_core=5_000), clock=clock)
    memory.add([made("core", "é" * 4_900, now=NOON) for _ in range(980)])
    with pytest.raises(AgentMemoryError) as caught:
        memory.add([made("core", "é" * 4_900, now=NOON) for _ in range(20)])
    assert caught.value.code == "LIMIT_EXCEEDED"
    assert memory.index().by_type["core"] == 980


# -- options ------------------------------------------------------------------------------------------


def test_the_callers_word_stands_above_variables_file_and_defaults(root, monkeypatch):
    root.mkdir()
    (root / ".memory-config.json").write_text(
        '{"limits":{"max_core_memories":7,"max_tasks":8},"archival":{"enabled":false,"learnings_days":5},'
        '"backup":{"max_backups":2}}'
    )
    monkeypatch.setenv("MAX_CORE_MEMORIES", "9")
    monkeypatch.setenv("ENABLE_AUTO_ARCHIVAL", "yes")
    found = load(root, max_backups=3)
    assert (found.max_core, found.max_tasks, found.max_learnings) == (9, 8, 500)
    assert (found.auto_archive, found.learning_days, found.max_backups) == (True, 5, 3)
    monkeypatch.setenv("MAX_TASKS", "many")
    with pytest.raises(AgentMemoryError, match="MAX_TASKS"):
        load(root)
    monkeypatch.setenv("CLAUDECODE", "1")
    assert load(root).max_core == 7  # A project's variables don't count.


def test_the_log_goes_to_its_file(root, tmp_path, clock):
    log_to(str(tmp_path / "log" / "memory.log"), "WARNING")
    log = logging.getLogger("reverie.agent_memory")
    try:
        memory = AgentMemory(root, Options(max_tasks=0), clock=clock)
        memory.append("task", "Runs")
        assert "limit" in (tmp_path / "log" / "memory.log").read_text()
    finally:
        for handler in [*log.handlers]:
            handler.close()
            log.removeHandler(handler)


# -- the lock -----------------------------------------------------------------------------------------


def test_the_lock_stays_and_names_its_owner_while_it_is_held(memory, root):
    with memory.writer():
        pid, at = (root / ".lock").read_text().split()
        assert int(pid) == os.getpid() and at.endswith("Z")
    assert (root / ".lock").read_text() == ""


def test_without_locks_a_file_stands_for_one_and_a_dead_owners_is_taken_over(root):
    root.mkdir()
    with locking.held(root, timeout=1, advisory=False), pytest.raises(AgentMemoryError) as caught:
        locking.held(root, timeout=0, advisory=False).__enter__()
    assert caught.value.code == "STORAGE_ERROR"
    dead = next(pid for pid in range(4_000_000, 5_000_000) if not system.running(pid))
    file = root / ".lock.exclusive"
    file.write_text(f"{dead} 2026-01-01T00:00:00Z\n")
    made_at = file.stat().st_mtime
    assert not locking.is_stale(file, made_at + 29) and locking.is_stale(file, made_at + 31)
    os.utime(file, (made_at - 60, made_at - 60))
    with locking.held(root, timeout=1, advisory=False):
        assert file.read_text().split()[0] == str(os.getpid())
    assert not file.exists()


# -- export, import, migration ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["all.jsonl", "all.json"])
def test_an_export_comes_in_elsewhere_as_it_was(memory, tmp_path, clock, name):
    memory.append("core", "Core", category="c", tags=["a"], importance="high")
    task = memory.append("task", "Task", task_metadata={"status": "completed", "outcome": "fine"})
    memory.archive([task["id"]])
    memory.query(Query())
    assert export(memory, tmp_path / name) == 2
    other = AgentMemory(tmp_path / "other", clock=clock)
    assert import_from(other, tmp_path / name).number("new") == 2
    assert {json.dumps(item) for item in other.every()} == {json.dumps(item) for item in memory.every()}
    assert import_from(other, tmp_path / name).number("there") == 2


def test_an_import_names_each_bad_line_redacts_and_overwrites_nothing(memory, tmp_path):
    known = memory.append("core", "Known")
    rows = [
        json.dumps({**known, "content": "Other text"}),
        "{torn",
        json.dumps({"type": "core", "content": "the token is ghp_" + "a1B2c3D4e5F6" * 3}),
        json.dumps({"type": "note", "content": "x"}),
        json.dumps({"id": "mem-001", "type": "task", "content": "By the old design"}),
    ]
    file = tmp_path / "in.jsonl"
    file.write_text("\n".join(rows) + "\n")
    tried = import_from(memory, file, dry_run=True)
    assert len(memory.every()) == 1
    done = import_from(memory, file)
    assert [row.deed for row in done.rows] == [row.deed for row in tried.rows]
    assert [(row.line, row.deed) for row in done.rows] == [
        *((1, "differs"), (2, "refused"), (3, "new"), (4, "refused"), (5, "new"))
    ]
    assert done.secrets == 1 and "ghp_" not in (memory.root / "core_memories.jsonl").read_text()
    assert memory.get(known["id"])["content"] == "Known"
    assert import_from(memory, file, kind="core", force=True).number("replaced") == 1
    assert memory.get(known["id"])["content"] == "Other text"


def written(file: Path, kind: str, number: int) -> Path:
    """Write an export of so many memories of one type."""
    rows = [json.dumps({"type": kind, "content": f"{kind} {index}"}) for index in range(number)]
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return file


def test_an_import_fills_a_hard_limit_and_names_what_has_no_room(tmp_path, clock):
    memory = AgentMemory(tmp_path / "memories", Options(max_core=3), clock=clock)
    memory.append("core", "Known")
    done = import_from(memory, written(tmp_path / "in.jsonl", "core", 5))
    assert [row.deed for row in done.rows] == ["new", "new", "refused", "refused", "refused"]
    assert all("reached its limit" in row.why for row in done.rows[2:])
    assert [record["content"] for record in memory.records("core")] == ["Known", "core 0", "core 1"]


def test_an_import_over_a_soft_limit_archives_what_is_done_and_takes_all(tmp_path, clock):
    memory = AgentMemory(tmp_path / "memories", Options(max_tasks=3), clock=clock)
    ended = memory.append("task", "Ended", task_metadata={"status": "completed"})
    done = import_from(memory, written(tmp_path / "in.jsonl", "task", 9))
    assert done.number("new") == 9 and len(memory.records("task")) == 9
    assert [record["id"] for record in memory.archived()] == [ended["id"]]
    assert len([text for text in memory.warnings if "has reached its limit" in text]) == 1


def test_one_memory_that_cant_be_taken_keeps_no_other_out(memory, tmp_path):
    """Without its secret, for which a longer mark stands, the second one is too long."""
    secret = "password: Tr0ub4dor"
    long = f"{secret} {'x' * 5_000}"[:5_000]
    texts = ["First", long, "Third"]
    file = tmp_path / "in.jsonl"
    file.write_text("".join(json.dumps({"type": "core", "content": text}) + "\n" for text in texts))
    done = import_from(memory, file)
    assert [row.deed for row in done.rows] == ["new", "refused", "new"]
    assert "5,000" in done.rows[1].why
    assert [record["content"] for record in memory.records("core")] == ["First", "Third"]


def test_what_an_import_replaces_is_backed_up_once(memory, tmp_path):
    import_from(memory, written(tmp_path / "in.jsonl", "core", 4))
    changed = [{**record, "content": f"{record['content']}, changed"} for record in memory.records("core")]
    file = tmp_path / "changed.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in changed))
    assert import_from(memory, file, force=True).number("replaced") == 4
    assert [record["content"] for record in memory.records("core")] == [item["content"] for item in changed]
    assert len(list((memory.root / ".backup").glob("core_memories.jsonl.backup.*"))) == 1


def test_a_file_of_the_first_server_comes_in(memory, tmp_path):
    file = tmp_path / "default.json"
    held = {
        "core_memories": [{"content": "Core", "created_at": "2025-12-30T10:00:00"}],
        "learnings": [{"content": "Learning", "tags": ["a"]}],
        "tasks": [{"content": "Task", "importance": "high"}],
        "metadata": {"version": "1.0.0"},
    }
    file.write_text(json.dumps(held))
    assert import_from(memory, file).number("new") == 3
    assert memory.records("core")[0]["created_at"] == "2025-12-30T10:00:00Z"


def test_an_older_version_is_migrated_step_by_step_after_a_backup(memory, root):
    memory.append("core", "A memory")
    memory.append("learning", "Another")
    (root / "index.json").write_text('{"version": "0.8.0"}')
    before = lines(root)
    steps = (
        Step("0.8.0", "0.9.0", lambda record: {**record, "new_field": "default_value"}),
        Step("0.9.0", "1.0.0", lambda record: {**record, "tags": [*record["tags"], "migrated"][:1]}),
    )
    assert migrate_files(root, backups=5, now=NOON, steps=steps) == ["0.8.0", "0.9.0", "1.0.0"]
    record = json.loads(lines(root)[0])
    assert (record["new_field"], record["tags"]) == ("default_value", ["migrated"])
    assert (root / ".backup" / "core_memories.jsonl.backup").read_bytes().split(b"\n") == before


def test_a_start_brings_an_older_folder_up_to_date(memory, root):
    memory.append("core", "A memory")
    (root / "index.json").write_text('{"version": "0.1.0"}')
    assert [item.kind for item in validate(memory)] == ["version"]
    fresh = AgentMemory(root)
    start(fresh)
    assert json.loads((root / "index.json").read_text())["version"] == "1.0.0"
    assert (root / ".backup" / "core_memories.jsonl.backup").exists() and not validate(fresh)


def test_repair_of_a_sound_folder_does_nothing(memory):
    memory.append("core", "A memory")
    assert repair(memory).done == []
