"""The board that hooks read, the memory of a long session, and sessions whose end no hook told of."""

import json
import os
from pathlib import Path

import pytest

from pipeline.hooklib.settings import config_fault, config_stamp, hook_settings
from pipeline.ledger.inbox import add_inbox
from pipeline.recall.prepared import session_memory
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop, at

START = "2026-03-02T09:00:00Z"


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(
        tmp_path / "place", {"REVERIE_MODEL__PROVIDER": "offline", "REVERIE_NOW": "2026-03-02T12:00:00Z"}
    )


def talk(shop: Workshop, number: int, *, words: int = 0, text: str = "Always run the linter.") -> Transcript:
    session = shop.session(number, START)
    session.user(text)
    session.assistant("Noted. " + "crane " * words)
    return session


def board(shop: Workshop) -> dict:
    return json.loads((shop.home / "recall" / "board.json").read_text("utf-8"))


def spoken(shop: Workshop) -> list[str]:
    return [row[-1] for row in shop.books()["entries"]]


def memory(shop: Workshop, session: Transcript) -> Path:
    return shop.home / "session-memory" / session.session_id / "memory.md"


def test_a_pass_leaves_a_board(shop: Workshop) -> None:
    shop.fire(talk(shop, 1))
    assert shop.work() == 0
    state = board(shop)["stores"][str(shop.store)]
    ((moment, done, name, session),) = state["changes"]
    assert session == shop.session(1).session_id
    assert (done, name) == ("created", "always-run-the-linter") and moment == at(
        "2026-03-02T12:00:00Z"
    ).timestamp()
    assert (state["inbox"], state["parked"], state["held"]) == (0, [], "")
    assert state["dream"]["enabled"] is False and state["dream"]["since"] == moment
    assert board(shop)["settings"]["store"] == {"mode": "auto"} and board(shop)["config_stamp"] is None


def test_the_board_keeps_the_stamp_of_the_settings(shop: Workshop) -> None:
    shop.home.mkdir()
    (shop.home / "config.toml").write_text(
        '[recall]\nmemories = 3\n[store]\nmode = "observe"\n', encoding="utf-8"
    )
    shop.fire(talk(shop, 1))
    shop.work()
    info = (shop.home / "config.toml").stat()
    assert board(shop)["config_stamp"] == [info.st_size, info.st_mtime_ns, info.st_ctime_ns]
    assert board(shop)["settings"]["recall"]["memories"] == 3
    assert board(shop)["settings"]["store"] == {"mode": "observe"}


def test_the_board_has_the_settings_of_the_file_and_of_no_process(shop: Workshop) -> None:
    shop.home.mkdir()
    (shop.home / "config.toml").write_text("[recall]\nmemories = 3\n", encoding="utf-8")
    shop.fire(talk(shop, 1))
    shop.work(REVERIE_RECALL__ENABLED="false", REVERIE_RECALL__MEMORIES="1")
    recall = board(shop)["settings"]["recall"]
    assert (recall["enabled"], recall["memories"]) == (True, 3)


@pytest.mark.parametrize(("written", "mode"), [('[store]\nmode = "off"\n', "off"), ("[store", "auto")])
def test_settings_changed_while_a_worker_works_hold_for_the_hooks(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, written: str, mode: str
) -> None:
    for name, value in shop.env.items():
        monkeypatch.setenv(name, value)
    with shop.worker("2026-03-02T12:00:00Z") as worker:
        (shop.home / "config.toml").write_text(written, encoding="utf-8")
        worker.run()
    problems: list[str] = []
    assert hook_settings(str(shop.home), problems)["mode"] == mode
    assert len(problems) == (mode == "auto")  # what can't be read is said, not taken from the board


@pytest.mark.parametrize(("state", "key"), [("parked", "parked"), ("waiting", "held")])
@pytest.mark.parametrize("kind", ["extract_turn", "extract_conversation"])
def test_what_stands_still_is_told_in_its_own_project_only(
    shop: Workshop, kind: str, state: str, key: str
) -> None:
    shop.fire(talk(shop, 1))
    shop.work()
    with shop.ledger() as ledger, ledger.transaction():
        ledger.execute(
            "UPDATE jobs SET state = ?, attempts = 3, last_error = 'a reply was odd',"
            " run_after = changed_at + 3600 WHERE kind = ?",
            (state, kind),
        )
        ledger.execute(
            "INSERT INTO memory_file_states (file_path, store) VALUES ('other/s.jsonl', '/elsewhere')"
        )
    shop.work()
    stores = board(shop)["stores"]
    assert "a reply was odd" in str(stores[str(shop.store)][key])
    assert not stores["/elsewhere"][key]


def test_a_decision_about_the_inbox_is_on_the_board_at_once(shop: Workshop) -> None:
    shop.env["REVERIE_STORE__MODE"] = "propose"
    shop.fire(talk(shop, 1))
    shop.work()
    assert board(shop)["stores"][str(shop.store)]["inbox"] == 1
    assert shop.reverie("inbox", "reject", "1").returncode == 0
    assert board(shop)["stores"][str(shop.store)]["inbox"] == 0


def test_a_short_session_has_no_memory_of_its_own(shop: Workshop) -> None:
    session = talk(shop, 1, words=6_000)
    shop.fire(session)
    shop.work()
    assert not memory(shop, session).exists()


def test_a_long_session_has_one_and_it_is_made_again_after_5000_tokens(shop: Workshop) -> None:
    session = talk(shop, 1, words=7_000)
    shop.fire(session)
    shop.work()
    first = memory(shop, session).read_text("utf-8")
    assert "- Always run the linter." in first and "## Where it stood" in first
    session.user("mend the crane next")
    session.assistant("Yes.")
    shop.fire(session)
    shop.work()
    assert memory(shop, session).read_text("utf-8") == first
    session.user("and paint it")
    session.assistant("paint " * 3_400)
    shop.fire(session)
    shop.work()
    third = memory(shop, session).read_text("utf-8")
    assert "- mend the crane next\n- and paint it" in third
    assert "created: always-run-the-linter" in third
    assert len(third) < 12_000 * 4


def test_a_session_memory_has_no_secret(shop: Workshop) -> None:
    session = talk(shop, 1, words=7_000, text="the key is sk-ant-api03-" + "aB3dE5fG7h" * 9)
    shop.fire(session)
    shop.work()
    assert "[redacted" in memory(shop, session).read_text("utf-8")
    assert "aB3dE5fG7h" not in memory(shop, session).read_text("utf-8")


def test_old_session_memories_are_removed(tmp_path: Path) -> None:
    for name, days in (("old", 31), ("new", 29)):
        file = tmp_path / "session-memory" / name / "memory.md"
        file.parent.mkdir(parents=True)
        file.write_text("x", encoding="utf-8")
        moment = at(START).timestamp() - days * 86_400
        os.utime(file, (moment, moment))
    session_memory.sweep(tmp_path, at(START).timestamp())
    assert sorted(place.name for place in (tmp_path / "session-memory").iterdir()) == ["new"]


def test_bug_036_a_session_without_its_end_is_read_when_the_next_one_starts(shop: Workshop) -> None:
    known, unseen = talk(shop, 1), talk(shop, 2, text="Always sign the commits.")
    shop.fire(known)
    shop.work()
    known.user("Always lock the shed.")
    known.assistant("Noted.")
    shop.write(known)
    shop.write(unseen)
    shop.fire(talk(shop, 3, text="hello"), "SessionStart", source="startup")
    shop.work()
    assert [text for text in spoken(shop) if text.startswith("Always")] == [
        "Always run the linter.",
        "Always lock the shed.",
        "Always sign the commits.",
    ]
    assert (shop.store / "always-lock-the-shed.md").exists()
    assert (shop.store / "always-sign-the-commits.md").exists()
    runs = len(shop.books()["runs"])
    shop.fire(talk(shop, 4, text="hello"), "SessionStart", source="startup")
    shop.work()
    assert spoken(shop).count("Always sign the commits.") == 1
    assert len(shop.books()["runs"]) <= runs + 2  # its own turn and conversation


def test_bug_036_a_session_that_told_of_its_start_is_read_from_any_project(shop: Workshop) -> None:
    orphan = talk(shop, 2, text="Always sign the commits.")
    elsewhere = shop.projects / "-elsewhere"
    path = str(elsewhere / f"{orphan.session_id}.jsonl")
    shop.fire(orphan, "SessionStart", transcript_path=path, source="startup").rename(shop.place / "event")
    (shop.folder / f"{orphan.session_id}.jsonl").unlink()
    (shop.place / "event").rename(shop.home / "spool" / "1772445600000-1-00000a-SessionStart.json")
    shop.work()  # takes the event while nothing was said yet
    elsewhere.mkdir()
    orphan.write(elsewhere)
    for number in (3, 4):
        shop.fire(talk(shop, number, text="hello"), "SessionStart", source="startup")
        shop.work()
    assert spoken(shop).count("Always sign the commits.") == 1


def test_history_from_before_the_first_event_is_not_read_unasked(shop: Workshop) -> None:
    old = shop.write(talk(shop, 2, text="Always sign the commits."))
    os.utime(old, (1_000_000_000, 1_000_000_000))
    shop.fire(talk(shop, 1), "SessionStart", source="startup")
    shop.work()
    assert "Always sign the commits." not in spoken(shop)


def test_bug_012_a_key_that_is_wrong_is_left_for_the_hooks_to_tell(shop: Workshop) -> None:
    shop.fire(talk(shop, 1))
    assert shop.work() == 0
    known = board(shop)["stores"]
    (shop.home / "config.toml").write_text("[recall]\nfloors = 2\n", encoding="utf-8")
    shop.fire(talk(shop, 2))
    shop.work()
    state = board(shop)
    assert "recall.floors: there is no such key" in state["config_problem"]
    assert state["config_problem_stamp"] == config_stamp(str(shop.home))
    assert set(state["stores"]) == set(known)


def test_the_board_counts_what_waits_for_all_projects_as_status_does(shop: Workshop) -> None:
    shop.fire(talk(shop, 1))
    shop.work()
    everyone = shop.home / "memory"
    everyone.mkdir()
    with shop.ledger() as ledger:
        for store in (everyone, shop.store):
            add_inbox(ledger, str(store), kind="memory", payload_json="{}", reason="low", run_id="r", now=1)
    shop.fire(talk(shop, 2))
    shop.work()
    state = board(shop)["stores"][str(shop.store)]
    assert (state["inbox"], state["shared"]) == (2, 1)
    assert json.loads(shop.reverie("status", "--json").stdout)["inbox"] == 2


def test_what_a_variable_says_wrong_is_not_said_of_the_file(shop: Workshop) -> None:
    shop.fire(talk(shop, 1))
    shop.work()
    (shop.home / "config.toml").write_text("[recall]\nmemories = 2\n", encoding="utf-8")
    shop.fire(talk(shop, 2))
    shop.work(REVERIE_RECALL__FLOORS="2")
    assert config_fault(str(shop.home)) == "" and "config_problem" not in board(shop)
    assert hook_settings(str(shop.home))["memories"] == 2


def test_a_fault_is_over_when_the_file_is_mended(shop: Workshop) -> None:
    config = shop.home / "config.toml"
    for text, fault in (("floors = 2", "there is no such key"), ("floor = 2", "")):
        shop.fire(talk(shop, 1))
        config.write_text(f"[recall]\n{text}\n", encoding="utf-8")
        shop.work()
        found = config_fault(str(shop.home))
        assert fault in found and bool(fault) == bool(found)
        assert not fault or found.startswith("config.toml:2: ")
