"""Whose store a session's memories go to, and that two projects never share one unawares."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.app import memories
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.errors import StoreError
from pipeline.hooklib.places import sanitise
from pipeline.ledger import jobs
from pipeline.store import Store, require_owner
from pipeline.worker import Worker, WorkerContext, store_for
from tests.support.extraction import Bench
from tests.support.repositories import make_repository, make_worktree
from tests.support.transcripts import Transcript

OTHER = "0b7c1a52-91e3-4f0d-8c2b-5a1d7e9f3b02"


def offline(bench: Bench, store: Path | None = None) -> Worker:
    context = WorkerContext(bench.root, bench.settings, bench.clock, bench.ledger, llm="offline", store=store)
    return Worker(context)


def speak(bench: Bench, cwd: str, text: str, session_id: str = OTHER) -> str:
    session = Transcript(session_id, cwd)
    session.user(text)
    bench.fire(session)
    return f"{sanitise(cwd)}/{session_id}.jsonl"


def said_in(place: Path) -> str:
    return "".join(p.read_text("utf-8") for p in place.glob("*.md"))


SAME_NAME = [("/w/山川", "/w/花鳥"), ("/w/a_b", "/w/a-b"), ("/w/a-b", "/w/a.b"), ("/w/a b", "/w/a/b")]


@pytest.mark.parametrize(("first", "second"), SAME_NAME)
def test_bug_093_two_projects_of_one_folder_name_do_not_mix(bench: Bench, first: str, second: str) -> None:
    speak(bench, first, "always use tabs")
    offline(bench).run()
    speak(bench, second, "never use tabs", "second")
    for _ in range(3):
        done = offline(bench).run(now_too=True)
        # What is too short to be read is passed over before anybody asks for the store.
        assert {outcome.word for outcome in done.outcomes} <= {"skipped"} and done.failures
    place = paths.projects_dir() / sanitise(first) / "memory"
    assert (place / ".reverie" / "root").read_text("utf-8") == f"{first}\n"
    assert "always use tabs" in said_in(place) and "never use tabs" not in said_in(place)
    waiting = [job for job in jobs.list_jobs(bench.ledger, state="waiting") if job.last_error]
    assert waiting and {job.kind for job in waiting} <= {"extract_turn", "extract_conversation"}
    for job in waiting:
        assert all(word in job.last_error for word in (first, second, "--store"))


def test_bug_093_the_other_project_can_be_given_a_folder_of_its_own(bench: Bench, tmp_path: Path) -> None:
    speak(bench, "/w/a_b", "always use tabs")
    offline(bench).run()
    speak(bench, "/w/a-b", "never use tabs", "second")
    done = offline(bench, tmp_path / "own").run(now_too=True)
    assert "applied" in [o.word for o in done.outcomes] and done.failures == []
    assert "never use tabs" in said_in(tmp_path / "own")
    assert not (tmp_path / "own" / ".reverie" / "root").exists()


def test_bug_093_a_person_may_name_the_shared_folder_outright(bench: Bench) -> None:
    speak(bench, "/w/a_b", "always use tabs")
    offline(bench).run()
    speak(bench, "/w/a-b", "never use tabs", "second")
    place = paths.projects_dir() / "-w-a-b" / "memory"
    assert offline(bench, place).run(now_too=True).failures == []
    assert "never use tabs" in said_in(place)


def test_bug_093_commands_refuse_the_folder_of_another_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a_b", "a-b"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "a_b")
    memories.add(App(), "Tabs are four wide.", kind="project", name="tabs", description="", why="")
    assert App().open_store().read("tabs").memory.name == "tabs"
    monkeypatch.chdir(tmp_path / "a-b")
    for create in (False, True):
        with pytest.raises(StoreError) as caught:
            App().open_store(create=create)
        assert str(tmp_path / "a_b") in str(caught.value) and "--store" in caught.value.fix
    assert App(store=App().store_path).open_store().read("tabs").memory.name == "tabs"


def test_bug_093_a_backlog_goes_on_past_a_folder_of_another_project(sealed_environment: Path) -> None:
    for number, cwd in enumerate(("/w/a_b", "/w/a-b", "/w/c")):
        session = Transcript(f"session-{number}", cwd, f"2026-03-0{number + 1}T09:00:00Z")
        session.user(f"always use tabs of width {number}")
        folder = paths.projects_dir() / sanitise(cwd)
        folder.mkdir(parents=True, exist_ok=True)
        session.write(folder)
    app = App(llm="offline")
    assert len(list(app.ingest(folder=paths.projects_dir()))) == len(app.backlog(everything=True)) == 3
    with pytest.raises(StoreError, match="/w/a-b has the same folder name"):
        list(app.process(everything=True))
    assert "width 0" in said_in(paths.projects_dir() / "-w-a-b" / "memory")
    assert "width 1" not in said_in(paths.projects_dir() / "-w-a-b" / "memory")
    assert "width 2" in said_in(paths.projects_dir() / "-w-c" / "memory")


def test_bug_093_a_folder_shared_by_choice_is_shared(bench: Bench, sealed_environment: Path) -> None:
    shared = sealed_environment / "notes"
    settings = paths.config_dir() / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(json.dumps({"autoMemoryDirectory": str(shared)}), "utf-8")
    for number, cwd in enumerate(("/w/a_b", "/w/a-b")):
        speak(bench, cwd, f"always use tabs of width {number}", f"session-{number}")
    done = offline(bench).run()
    assert [o.word for o in done.outcomes].count("applied") == 2 and done.failures == []
    assert "width 0" in said_in(shared) and "width 1" in said_in(shared)


def test_a_project_that_moved_takes_its_folder_back(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "memory", create=True)
    require_owner(store.root, Path("/w/a_b"), claim=False)
    assert not (store.root / ".reverie").exists()
    require_owner(store.root, Path("/w/a_b"), claim=True)
    require_owner(store.root, Path("/w/a_b"), claim=True)
    with pytest.raises(StoreError, match=r"/w/a_b.*/w/a-b"):
        require_owner(store.root, Path("/w/a-b"), claim=True)
    (store.root / ".reverie" / "root").unlink()
    require_owner(store.root, Path("/w/a-b"), claim=True)
    assert (store.root / ".reverie" / ".gitignore").read_text("utf-8") == "*\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a linked work tree beside it, made without git."""
    root = make_repository(tmp_path / "repo")
    (root / "pkg" / "deep").mkdir(parents=True)
    (make_worktree(root, tmp_path / "tree") / "sub").mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / ".git").write_text("gitdir: /nowhere/at/all\n", "utf-8")
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    return root


@pytest.mark.parametrize(
    ("cwd", "root"),
    [
        ("repo", "repo"),
        ("repo/pkg/deep", "repo"),
        ("repo/gone", "repo"),
        ("tree", "repo"),
        ("tree/sub", "repo"),
        ("plain", "plain"),
        ("broken", "broken"),
        ("empty", "empty"),
        ("nowhere/x", "nowhere/x"),
    ],
)
def test_bug_094_one_project_has_one_root(repository: Path, cwd: str, root: str) -> None:
    base = repository.parent
    assert paths.project_root(base / cwd) == base / root
    assert paths.project_store(base / cwd) == paths.projects_dir() / sanitise(str(base / root)) / "memory"


def test_bug_094_the_file_system_root_stands_for_itself_only() -> None:
    assert paths.project_root(Path("/")) == Path("/")
    assert paths.project_root(Path("/w/x")) == Path("/w/x")


def test_bug_094_a_work_tree_that_is_gone_keeps_its_store(bench: Bench, repository: Path) -> None:
    tree = repository.parent / "tree"
    key = speak(bench, str(tree), "always use tabs")
    offline(bench).run()
    place = paths.project_store(repository)
    shutil.rmtree(tree)
    session = Transcript(OTHER, str(tree))
    session.user("always use tabs")
    session.user("never use spaces")
    bench.fire(session)
    speak(bench, str(repository / "pkg"), "always name branches by ticket", "third")
    done = offline(bench).run(now_too=True)
    assert done.failures == [] and store_for(bench.ledger, key) == place
    for text in ("always use tabs", "never use spaces", "always name branches"):
        assert text in said_in(place)
    assert (place / ".reverie" / "root").read_text("utf-8") == f"{repository}\n"


def test_where_a_session_began_is_not_guessed_for_good(bench: Bench, repository: Path) -> None:
    tree = repository.parent / "tree"
    key = speak(bench, str(tree), "always use tabs")
    offline(bench).run()
    with bench.ledger.transaction():
        bench.ledger.execute("UPDATE memory_file_states SET store = '' WHERE file_path = ?", (key,))
        bench.ledger.execute("UPDATE memory_transcript_entries SET cwd = ''")
    assert store_for(bench.ledger, key) == paths.projects_dir() / sanitise(str(tree)) / "memory"
    with bench.ledger.transaction():
        bench.ledger.execute("UPDATE memory_transcript_entries SET cwd = ?", (str(tree),))
    assert store_for(bench.ledger, key) == paths.project_store(repository)
