"""`reverie agent-memory` as a person calls it: each command, each flag, where the files are."""

import json

import pytest


def run(desk, *words, **more):
    return desk.here("agent-memory", *words, **more)


def root_of(desk):
    return desk.project.parent / ".claude" / "agents" / "memories"


@pytest.fixture
def kept(desk):
    """A core memory, a task, and their ids."""
    run(desk, "init")
    core = run(desk, "add", "User prefers pytest", "--type", "core", "--tag", "python", "--json").json["id"]
    options = ("--type", "task", "--status", "blocked", "--blocker", "the review", "--json")
    return core, run(desk, "add", "Ship it", *options).json["id"]


def test_what_was_added_is_found_changed_and_archived(desk, kept):
    core, task = kept
    assert [item["id"] for item in run(desk, "query", "PYTEST", "--json").json["memories"]] == [core]
    assert "task (blocked)" in run(desk, "query", "--type", "task").out
    done = run(desk, "update", task, "--status", "completed", "--outcome", "fine", "--json").json
    assert done["updated_fields"] == ["task_metadata"]
    assert done["memory"]["task_metadata"]["outcome"] == "fine"
    assert "nothing" not in run(desk, "archive", "--days", "0", "--dry-run").out
    assert task in run(desk, "archive", task).out
    assert "Ship it" in run(desk, "query", "--archived").out
    assert "changed archived" in run(desk, "update", task, "--live").out
    assert run(desk, "delete", core).out == f"archived {core}\n"
    assert run(desk, "delete", core, "--permanent").out == f"deleted {core}\n"
    found = run(desk, "stats", "--json").json
    assert (found["total"], found["by_type"]["task"], found["archived_count"]) == (1, 1, 0)


def test_each_flag_does_what_its_command_does(desk, kept):
    run(desk, "--export", "all.jsonl")
    assert len((desk.project / "all.jsonl").read_text().splitlines()) == 2
    assert "total" in run(desk, "--stats").out
    assert run(desk, "--validate").out == "all is well\n"
    assert run(desk, "--repair").out == "nothing to mend\n"
    assert "2 memories" in run(desk, "--rebuild-index").out
    assert "0 memories" in run(desk, "--archive", "--days", "9").out
    assert "1 there already" in run(desk, "--import", "all.jsonl", "--type", "core").out
    assert run(desk, "--version").out == "agent-memory 1.0.0\n"
    assert run(desk, "--test-connection").out.startswith("ok: 5 tools, 5 resources, 2 memories in ")
    assert "exclude each other" in run(desk, "--stats", "--repair", code=2).err
    assert "Usage" in run(desk).out


def test_the_folder_is_the_options_else_the_variables_else_the_settings(desk, tmp_path):
    run(desk, "add", "By default")
    assert (root_of(desk) / "learnings.jsonl").stat().st_size
    desk.here("config", "set", "agent_memory.folder", str(tmp_path / "setting"))
    run(desk, "add", "By variable", MEMORY_DIR=str(tmp_path / "variable"))
    assert "By variable" in (tmp_path / "variable" / "learnings.jsonl").read_text()
    run(desk, "add", "By setting")
    assert "By setting" in (tmp_path / "setting" / "learnings.jsonl").read_text()
    run(desk, "add", "By option", "--dir", str(tmp_path / "option"))
    assert "By option" in (tmp_path / "option" / "learnings.jsonl").read_text()


def test_a_variable_limits_and_a_warning_is_told_once(desk):
    run(desk, "add", "First", "--type", "task")
    err = run(desk, "add", "Second", "--type", "task", MAX_TASKS="1").err
    assert err.count("has reached its limit") == 1
    run(desk, "add", "One", "--type", "core", MAX_CORE_MEMORIES="1")
    assert (
        "limit of 1 memories" in run(desk, "add", "Two", "--type", "core", code=1, MAX_CORE_MEMORIES="1").err
    )
    assert "MAX_TASKS" in run(desk, "stats", code=1, MAX_TASKS="x").err


def test_what_is_wrong_is_told_by_file_and_line_and_mended(desk, kept):
    with (root_of(desk) / "tasks.jsonl").open("a") as file:
        file.write("{torn\n")
    found = run(desk, "validate", code=1).out
    assert "error: tasks.jsonl:2: no JSON" in found
    assert run(desk, "validate", "--json", code=1).json[0]["line"] == 2
    assert "tasks.jsonl.rejected" in run(desk, "repair").out
    assert run(desk, "validate").out == "all is well\n"
    run(desk, "update", kept[1], "--content", "Ship it today")
    assert "has 1 memory again" in run(desk, "restore", "tasks.jsonl").out
    assert "Ship it today" not in run(desk, "query").out
    assert "is the newest" in run(desk, "migrate").out


def test_a_secret_is_refused_and_taken_out_of_an_import(desk, tmp_path):
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    assert "holds a secret" in run(desk, "add", f"The token is {secret}", code=1).err
    (tmp_path / "in.jsonl").write_text(json.dumps({"type": "core", "content": f"token {secret}"}) + "\nbad\n")
    out = run(desk, "import", str(tmp_path / "in.jsonl")).out
    assert "secrets taken out: 1" in out and "in.jsonl:2: no JSON" in out
    assert secret not in (root_of(desk) / "core_memories.jsonl").read_text()


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def leaky(desk):
    """A memory with a secret in each of its texts, as another program wrote it."""
    run(desk, "init")
    words = f"the token is {SECRET}"
    line = {"id": ID, "type": "task", "content": words, "category": SECRET, "access_count": 0}
    line |= dict.fromkeys(("created_at", "updated_at", "accessed_at"), "2026-01-01T10:00:00Z")
    line |= {"tags": ["a"], "importance": "high", "archived": False, "note": {"password": "pudding-42"}}
    line |= {
        "task_metadata": {"status": "completed", "completed_at": "2026-01-01T10:00:00Z", "outcome": words}
    }
    (root_of(desk) / "tasks.jsonl").write_text(json.dumps(line) + "\n")
    run(desk, "rebuild-index")
    return line


ID = "550e8400-e29b-41d4-a716-446655440000"


def test_secrets_in_the_files_are_not_shown_and_stay_there(desk, leaky):
    shown = [run(desk, "query"), run(desk, "query", "token", "--json"), run(desk, "stats", "--json")]
    shown += [
        run(desk, "archive", "--days", "1", "--dry-run"),
        run(desk, "update", ID, "--tag", "b", "--json"),
    ]
    shown += [run(desk, "archive", ID, "--json"), run(desk, "query", "--archived", "--json")]
    for said in shown:
        assert SECRET not in said.out and "pudding" not in said.out
    memory = shown[1].json["memories"][0]
    assert memory["content"] == "the token is [redacted:token]" and memory["id"] == ID
    assert {*memory} == {*leaky}
    assert SECRET in next((root_of(desk) / "archive").rglob("*.jsonl")).read_text()


def test_what_the_mirror_holds_back_is_told_by_status_and_doctor_until_it_is_well(desk):
    run(desk, "add", "User prefers pytest", "--type", "core")
    desk.here("config", "set", "agent_memory.mirror", "user")
    assert "1 imported" in run(desk, "sync", "--user").out
    file = root_of(desk) / "core_memories.jsonl"
    held = file.read_bytes()
    file.unlink()
    run(desk, "sync", "--user")
    assert "mirror of agent-memory: core_memories.jsonl" in " ".join(desk.here("status").out.split())
    doctor = json.loads(desk.here("doctor", "--json").out)
    found = [item for item in doctor if item["what"] == "mirror"]
    assert [item["level"] for item in found] == ["warning"] and "is gone" in found[0]["message"]
    file.write_bytes(held)
    run(desk, "sync", "--user")
    assert "mirror of" not in desk.here("status").out and desk.here("status", "--json").json["mirror"] == []
