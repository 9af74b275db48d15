"""Agent-memory's files under every fault: nothing that was acknowledged is lost, each with its outcome.

Two writers, kill -9 anywhere, a torn last line, double ids, a line over the limit, a full disk, wrong modes,
a later version.
"""

import itertools
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core import faults
from pipeline.formats.agent_memory import AgentMemory, AgentMemoryError, Options, Query
from pipeline.formats.agent_memory.checking import repair, validate
from pipeline.formats.agent_memory.memory import Change
from pipeline.formats.agent_memory.schema import MOST_LINE, line_of, made
from pipeline.formats.agent_memory.starting import start
from tests.formats.conftest import NOON
from tests.support.stores import die_at

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = Options(max_core=5_000, max_learnings=5_000, lock_seconds=60)
WRITER = """
import sys
from pathlib import Path
from pipeline.formats.agent_memory import AgentMemory, Options
memory = AgentMemory(Path(sys.argv[1]), Options(max_core=5_000, lock_seconds=60))
for number in range(int(sys.argv[3])):
    print(memory.append("core", f"{sys.argv[2]} {number} " + "x" * 200, tags=[sys.argv[2]])["id"], flush=True)
"""
DEEDS = {
    "append": lambda memory, _: memory.append("core", "A new one"),
    "update": lambda memory, ident: memory.update(ident, Change(content="Changed")),
    "archive": lambda memory, ident: memory.archive([ident]),
    "unarchive": lambda memory, ident: memory.update(ident, Change(archived=False)),
    "delete": lambda memory, ident: memory.delete(ident, permanent=True),
}
POINTS = [point for point in faults.POINTS if point.startswith("agent_memory.")]


def started(code, *arguments, **env):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=ROOT, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ids_in(file):
    return [json.loads(line)["id"] for line in file.read_bytes().split(b"\n") if line]


@pytest.mark.parametrize("number", [40, pytest.param(500, marks=pytest.mark.whole)])
def test_two_writers_lose_nothing_and_mix_no_lines(root, number):
    writers = [started(WRITER, root, name, number) for name in ("ann", "ben")]
    ends = [writer.communicate(timeout=300) for writer in writers]
    acknowledged = [ident for out, _ in ends for ident in out.split()]
    assert [writer.returncode for writer in writers] == [0, 0], ends
    assert len(acknowledged) == 2 * number
    assert sorted(ids_in(root / "core_memories.jsonl")) == sorted(acknowledged)
    memory = AgentMemory(root, OPTIONS)
    assert validate(memory) == []
    assert memory.query(Query(tags=["ann"])).total == number


def test_a_writer_that_is_killed_loses_no_acknowledged_write_and_holds_nobody_up(root):
    writer = started(WRITER, root, "ann", 10_000)
    acknowledged = [writer.stdout.readline().strip() for _ in range(30)]
    writer.send_signal(signal.SIGKILL)
    acknowledged += writer.communicate()[0].split("\n")[:-1]
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "After the death")
    known = {record["id"] for record in memory.records("core")}
    assert {ident for ident in acknowledged if len(ident) == 36} <= known
    assert sum(memory.index().by_type.values()) == len(known)


def killed(root, deed, ident, point):
    """Do `deed` in a copy of this process that is killed at `point`; return whether it came there."""
    ended = die_at(point, lambda: DEEDS[deed](AgentMemory(root, OPTIONS), ident))
    assert ended in (0, -signal.SIGKILL)
    return ended != 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no copy of a process can be made here")
def test_kill_9_at_every_point_of_every_write_loses_nothing(root):
    reached = set()
    for deed, point in itertools.product(DEEDS, POINTS):
        here = root.with_name(f"{deed}-{point}")
        memory = AgentMemory(here, OPTIONS)
        records = [memory.append("core", f"Memory {n}", tags=["a"]) for n in range(4)]
        ident = records[1]["id"]
        if deed == "unarchive":
            memory.archive([ident])
        before = {record["id"]: record["content"] for record in memory.every()}
        died = killed(here, deed, ident, point)
        reached |= {point} if died else set()
        after = AgentMemory(here, OPTIONS)
        found = {record["id"]: record["content"] for record in after.every()}
        gone = {ident} if deed == "delete" and (not died or point == "agent_memory.renamed") else set()
        assert {*before} - {*found} == gone, (deed, point)
        for known, content in before.items():
            assert found.get(known, content) in (content, "Changed")
        # Whatever was left lying stands in nobody's way: the next write goes on, and repair mends the rest.
        after.append("core", "After the death", tags=["a"])
        repair(after)
        assert [item.message for item in validate(after)] == [], (deed, point)
        every = [record["id"] for record in after.every()]
        assert {*before} - gone <= {*every} and len({*every}) == len(every)
        assert sum(after.index().by_type.values()) == len(after.records("core"))
    assert reached == {*POINTS}  # A point that no write visits would prove nothing.


def test_a_torn_last_line_is_told_ended_by_the_next_write_and_kept(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "First")
    torn = line_of(made("core", "Torn", now=NOON))[:80]
    with (root / "core_memories.jsonl").open("ab") as file:
        file.write(torn)
    fresh = AgentMemory(root, OPTIONS)
    assert [item.kind for item in validate(fresh)][:2] == ["syntax", "unended"]
    assert fresh.query(Query()).total == 1
    assert any("core_memories.jsonl:2: no JSON" in text for text in fresh.warnings)
    fresh.append("core", "Second")
    assert (root / "core_memories.jsonl").read_bytes().split(b"\n")[1] == torn
    done = repair(fresh)
    assert done.rejected == 1
    assert (root / "core_memories.jsonl.rejected").read_bytes() == torn + b"\n"
    assert {record["content"] for record in fresh.records("core")} == {"First", "Second"}
    assert not validate(fresh)


def test_what_a_torn_line_held_comes_back_from_a_backup(root):
    memory = AgentMemory(root, OPTIONS)
    record = memory.append("core", "Precious")
    other = memory.append("core", "Other")
    memory.update(other["id"], Change(content="Other now"))  # Which makes a backup.
    whole = (root / "core_memories.jsonl").read_bytes().split(b"\n")
    (root / "core_memories.jsonl").write_bytes(b"\n".join([whole[0][:100], whole[1], b""]))
    fresh = AgentMemory(root, OPTIONS)
    done = repair(fresh)
    assert (done.rejected, done.restored) == (1, 1)
    assert fresh.get(record["id"])["content"] == "Precious"


@pytest.mark.parametrize("damage", [b"\0" * 500, b"not json at all\n" * 3])
def test_a_file_of_which_nothing_can_be_read_comes_back_from_its_backup(root, damage):
    memory = AgentMemory(root, OPTIONS)
    record = memory.append("learning", "Kept")
    memory.update(record["id"], Change(importance="high"))
    (root / "learnings.jsonl").write_bytes(damage)
    fresh = AgentMemory(root, OPTIONS)
    assert repair(fresh).restored == 1
    assert fresh.get(record["id"])["content"] == "Kept"
    assert (root / "learnings.jsonl.rejected").exists()


def test_without_a_backup_it_comes_back_from_the_archive(root):
    memory = AgentMemory(root, Options(backup=False))
    record = memory.append("learning", "Kept")
    memory.archive([record["id"]])
    (root / "learnings.jsonl").write_bytes(b"{{{{\n")
    fresh = AgentMemory(root, Options(backup=False))
    assert repair(fresh).restored == 1
    assert fresh.get(record["id"])["archived"] is False


def test_of_double_ids_the_first_counts_and_the_second_is_kept_beside(root):
    memory = AgentMemory(root, OPTIONS)
    record = memory.append("core", "First")
    double = line_of({**record, "content": "Second"})
    with (root / "core_memories.jsonl").open("ab") as file:
        file.write(double + b"\n")
    fresh = AgentMemory(root, OPTIONS)
    assert next((item.kind, item.line) for item in validate(fresh)) == ("duplicate", 2)
    assert fresh.get(record["id"])["content"] == "First"
    fresh.update(record["id"], Change(importance="high"))  # A rewrite carries it over.
    assert (root / "core_memories.jsonl.rejected").read_bytes() == double + b"\n"
    assert not validate(fresh)


def test_a_line_over_the_limit_is_read_where_it_is_sound_and_else_kept_beside(root):
    memory = AgentMemory(root, OPTIONS)
    record = {**made("core", "x", now=NOON), "content": "日" * 4_000}
    escaped = json.dumps(record, separators=(",", ":")).encode()
    too_much = json.dumps({**made("core", "x", now=NOON), "content": "x" * 9_000}).encode()
    assert len(escaped) > MOST_LINE
    memory.append("core", "Short")
    with (root / "core_memories.jsonl").open("ab") as file:
        file.write(escaped + b"\n" + too_much + b"\n")
    fresh = AgentMemory(root, OPTIONS)
    assert [(item.kind, item.is_error) for item in validate(fresh)][:2] == [("long", False), ("schema", True)]
    assert fresh.get(record["id"])["content"] == record["content"]
    repair(fresh)
    held = (root / "core_memories.jsonl").read_bytes()
    assert escaped in held and too_much not in held
    assert too_much in (root / "core_memories.jsonl.rejected").read_bytes()


def test_missing_fields_get_their_defaults_and_wrong_files_are_told(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "Sound")
    task = made("task", "A task", now=NOON)
    with (root / "core_memories.jsonl").open("ab") as file:
        file.write(b'{"content":"Only a text"}\n' + line_of(task) + b"\n")
    fresh = AgentMemory(root, OPTIONS)
    assert [item.kind for item in validate(fresh)][:2] == ["fields", "misplaced"]
    first = fresh.query(Query(search="only a text")).memories[0]
    repair(fresh)
    assert fresh.get(first["id"])["importance"] == "medium"
    assert [record["id"] for record in fresh.records("task")] == [task["id"]]
    assert not validate(fresh)


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.formats.agent_memory import AgentMemory, AgentMemoryError
from pipeline.formats.agent_memory.memory import Change
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
memory = AgentMemory(Path(sys.argv[1]))
ident = memory.records("core")[0]["id"]
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
for deed in (
    lambda: memory.append("core", "x" * 500),
    lambda: memory.update(ident, Change(content="y" * 500)),
    lambda: memory.archive([ident]),
    lambda: memory.delete(ident, permanent=True),
):
    try:
        deed()
    except AgentMemoryError as error:
        print(error.code)
"""


def test_on_a_full_disk_the_files_stay_as_they_were(root):
    memory = AgentMemory(root, OPTIONS)
    for number in range(6):
        memory.append("core", f"Memory {number} " + "x" * 100)
    whole = (root / "core_memories.jsonl").read_bytes()
    tried = started(FULL, root, len(whole) - 100)
    out, err = tried.communicate(timeout=60)
    assert out.split() == ["STORAGE_ERROR"] * 4, err
    assert (root / "core_memories.jsonl").read_bytes() == whole
    fresh = AgentMemory(root, OPTIONS)
    fresh.append("core", "Now there is room")
    # Half of a move may be in the archive; the live one counts, and repair takes the copy away.
    assert len(fresh.records("core")) == 7
    repair(fresh)
    assert not validate(fresh)


def test_of_a_line_that_fits_by_half_nothing_stays(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "A memory")
    whole = (root / "core_memories.jsonl").read_bytes()
    append = FULL.partition("    lambda: memory.update")[0] + ")" + FULL.partition("\n)")[2]
    out, err = started(append, root, len(whole) + 100).communicate(timeout=60)
    assert out.split() == ["STORAGE_ERROR"], err
    assert (root / "core_memories.jsonl").read_bytes() == whole


def test_where_only_the_index_does_not_fit_the_memory_is_written(root):
    memory = AgentMemory(root, OPTIONS)
    ids = [memory.append("core", "x", tags=[f"tag {n}" for n in range(10)])["id"] for n in range(9)]
    size = (root / "core_memories.jsonl").stat().st_size
    assert (root / "index.json").stat().st_size > size + 600
    tried = started(
        FULL.partition("\nfor")[0] + '\nmemory.append("core", "y")\nprint(memory.warnings)', root, size + 500
    )
    out, err = tried.communicate(timeout=60)
    assert "the index can't be written" in out, err
    fresh = AgentMemory(root, OPTIONS)
    assert sum(fresh.index().by_type.values()) == len(ids) + 1


@pytest.mark.skipif(os.name == "nt", reason="modes are Unix'")
def test_wrong_modes_are_told_and_a_write_or_repair_sets_them(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "A memory")
    for name, mode in (("core_memories.jsonl", 0o644), ("index.json", 0o666)):
        (root / name).chmod(mode)
    root.chmod(0o755)
    fresh = AgentMemory(root, OPTIONS)
    assert [item.kind for item in validate(fresh)] == ["mode"] * 3
    assert fresh.query(Query(), touch=False).total == 1  # Nothing blocks reading.
    fresh.append("core", "Another")
    assert stat.S_IMODE((root / "core_memories.jsonl").stat().st_mode) == 0o600
    assert not validate(fresh)
    root.chmod(0o750)
    assert any("mode" in text for text in repair(fresh).done) and not validate(fresh)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="who may read all is refused nothing")
def test_a_file_that_may_not_be_read_is_a_permission_error(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "A memory")
    (root / "core_memories.jsonl").chmod(0)
    with pytest.raises(AgentMemoryError) as caught:
        AgentMemory(root, OPTIONS).query(Query())
    assert caught.value.code == "PERMISSION_ERROR"


def test_what_a_later_version_wrote_is_read_and_not_written(root):
    memory = AgentMemory(root, OPTIONS)
    record = memory.append("core", "A memory", tags=["a"])
    later = (root / "index.json").read_text().replace('"1.0.0"', '"2.0.0"')
    (root / "index.json").write_text(later)
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    fresh = AgentMemory(root, OPTIONS)
    start(fresh)
    assert fresh.query(Query(tags=["a"])).total == 1
    deeds = (
        lambda: fresh.append("core", "Another"),
        lambda: fresh.update(record["id"], Change(content="Changed")),
        lambda: fresh.delete(record["id"]),
        lambda: repair(fresh),
    )
    for deed in deeds:
        with pytest.raises(AgentMemoryError, match=r"version 2\.0\.0") as caught:
            deed()
        assert caught.value.code == "STORAGE_ERROR"
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    assert [item.kind for item in validate(fresh)] == ["version"]


def test_where_the_lock_can_t_be_used_reading_goes_on_and_writing_says_so(root):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "A memory", tags=["a"])
    (root / ".lock").unlink()
    (root / ".lock").mkdir()
    fresh = AgentMemory(root, OPTIONS)
    assert fresh.query(Query(tags=["a"])).memories[0]["access_count"] == 1
    assert any("was not counted" in text for text in fresh.warnings)
    with pytest.raises(AgentMemoryError) as caught:
        fresh.append("core", "Another")
    assert caught.value.code == "STORAGE_ERROR" and ".lock" in str(caught.value)


def test_a_link_or_a_pipe_in_the_place_of_a_file_is_refused(root, tmp_path):
    memory = AgentMemory(root, OPTIONS)
    memory.append("core", "A memory")
    target = tmp_path / "elsewhere"
    target.write_text("mine\n")
    (root / "learnings.jsonl").unlink()
    (root / "learnings.jsonl").symlink_to(target)
    with pytest.raises(AgentMemoryError):
        AgentMemory(root, OPTIONS).append("learning", "Another")
    assert target.read_text() == "mine\n"
