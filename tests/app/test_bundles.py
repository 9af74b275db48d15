"""A run handed on as a bundle, run again from it, and asked anew: what each holds and leaves alone."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import bundle_archive as archive
from pipeline.app import bundles, replaying, rerunning
from pipeline.app.application import App
from pipeline.config import Settings
from pipeline.core.errors import InputError, SpendError
from pipeline.core.ids import digest
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.strategies import ConversationStrategy
from pipeline.ledger import calls, conversations, runs
from tests.support.extraction import NOTHING, NOW, Bench, fact, reply
from tests.support.model import TwoReaders, borne_out
from tests.support.stores import tree
from tests.support.transcripts import Transcript

SAID = "keep the retries at 3, the gateway bans us at 5"
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
FAR = "by the way, the Zanzibar office is closed on Fridays"


def turn(bench: Bench, session: Transcript, *answers: dict[str, Any], **more: Any) -> Outcome:
    key = bench.hear(session)
    bench.script(answers, **more)
    (outcome,) = bench.run(bench.turns(key, first_sight=False))
    return outcome


def spoken(*lines: str, session: str = "5e55") -> Transcript:
    talk = Transcript(session_id=session)
    for line in lines:
        (talk.assistant if line.startswith("A: ") else talk.user)(line.removeprefix("A: "))
    return talk


def created(bench: Bench, app: App) -> Outcome:
    return turn(bench, spoken(FAR, "A: Good.", "hm", "A: And?", "well", SAID), reply(fact(6, SAID)))


def changed(bench: Bench, app: App) -> Outcome:
    talk = spoken(SAID)
    turn(bench, talk, reply(fact(1, SAID)))
    talk.user("make it 4 retries at most from now on")
    update = fact(
        2,
        "make it 4 retries at most from now on",
        update_of="retries-stay-at-three",
        replaces=[{"number": 1, "text": "The payment gateway is retried 4 times at most."}],
        statement="",
    )
    return turn(bench, talk, reply(update))


def withdrawn(bench: Bench, app: App) -> Outcome:
    talk = spoken(SAID)
    turn(bench, talk, reply(fact(1, SAID)))
    talk.user("forget that about the retries, the gateway is gone")
    back = {
        "name": "retries-stay-at-three",
        "reason": "The gateway is gone.",
        "evidence": [{"line": 2, "quote": "forget that about the retries, the gateway is gone"}],
    }
    return turn(bench, talk, {"memories": [], "withdrawals": [back]})


def met_again(bench: Bench, app: App) -> Outcome:
    turn(bench, spoken(SAID), reply(fact(1, SAID)))
    return turn(bench, spoken(SAID, session="5e56"), reply(fact(1, SAID)))


def turned_down(bench: Bench, app: App) -> Outcome:
    doubtful = fact(2, "The cache may be stale now", confidence=0.5, name="stale-cache")
    return turn(bench, spoken(SAID, "A: The cache may be stale now."), reply(fact(1, "never said"), doubtful))


def reworded(bench: Bench, app: App) -> Outcome:
    narrower = {
        "name": "retries-at-three",
        "statement": "The retries stay at 3.",
        "why": "",
        "how_to_apply": "",
    }
    opinion = {"verdict": "stretched", "how": "at most", "narrower": [narrower]}
    return turn(bench, spoken(SAID), reply(fact(1, SAID)), reader=lambda page: borne_out(page, c1=opinion))


def proposed(bench: Bench, app: App) -> Outcome:
    bench.settings = app.settings = Settings.model_validate({"store": {"mode": "propose"}})
    return turn(bench, spoken(SAID), reply(fact(1, SAID)))


def heard_elsewhere(bench: Bench, app: App) -> Outcome:
    statement = "The payment gateway is retried 3 times at most, for Zanzibar too."
    talk = spoken(FAR, "A: Good.", "hm", "A: And?", "well", SAID)
    return turn(bench, talk, reply(fact(6, SAID, statement=statement)))


def waits_already(bench: Bench, app: App) -> Outcome:
    proposed(bench, app)
    return turn(bench, spoken(SAID, session="5e56"), reply(fact(1, SAID)))


def forgotten(bench: Bench, app: App) -> Outcome:
    talk = spoken(SAID, "a", "b", "c", "d")
    turn(bench, talk, reply(fact(1, SAID)))
    memory = bench.store.read("retries-stay-at-three")
    bench.store.note_forgotten(memory.memory.sources, name=memory.name, reason="asked", now=NOW)
    (bench.store.root / memory.path).unlink()
    return whole(bench, "5e55", reply(fact(1, SAID, name="under-another-name")))


def as_a_whole(bench: Bench, app: App) -> Outcome:
    bench.hear(spoken(SAID, "A: Done.", "fine"))
    episode = {"title": "Retries of the gateway", "summary": ["They stay at 3."]}
    return whole(bench, "5e55", reply(fact(1, SAID), episode=episode))


def by_rules(bench: Bench, app: App) -> Outcome:
    from pipeline.extraction.run import extract

    key = bench.hear(spoken("never mock the database"))
    outcome = extract(bench.desk(offline=True), bench.turns(key))
    assert outcome is not None
    return outcome


def whole(bench: Bench, session: str, *answers: dict[str, Any]) -> Outcome:
    found = next(
        item for item in conversations.list_conversations(bench.ledger) if session in item.source_file
    )
    bench.script(answers)
    (outcome,) = bench.run(ConversationStrategy(found, bench.settings.extraction, minimum=1))
    return outcome


CASES: dict[str, tuple[Callable[[Bench, App], Outcome], str]] = {
    "created": (created, "applied"),
    "changed": (changed, "applied"),
    "withdrawn": (withdrawn, "applied"),
    "met again": (met_again, "known"),
    "turned down": (turned_down, "proposed"),
    "reworded": (reworded, "applied"),
    "proposed": (proposed, "proposed"),
    "heard elsewhere": (heard_elsewhere, "applied"),
    "waits already": (waits_already, "known"),
    "forgotten": (forgotten, "nothing"),
    "as a whole": (as_a_whole, "applied"),
    "by rules": (by_rules, "applied"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_bundle_run_again_comes_to_the_same_and_touches_nothing(bench, app, case, tmp_path):
    make, word = CASES[case]
    outcome = make(bench, app)
    assert outcome.word == word
    before, asked = tree(bench.store.root), len(calls.list_calls(bench.ledger))
    target = tmp_path / "out.zip"
    bundles.write(bundles.collect(app, outcome.run_id), target)
    found = replaying.replay(target)
    assert (found.differences, found.notes, found.now["outcome"]) == ((), (), word)
    assert len(found.now["actions"]) == len(outcome.actions)
    assert tree(bench.store.root) == before and len(calls.list_calls(bench.ledger)) == asked


def forged(bundle: bundles.Bundle, name: str, change: Callable[[Any], object], target: Path) -> Path:
    """Write `bundle` with one text changed and its digest with it, as another Reverie would have made it."""
    value = json.loads(bundle.texts[name])
    change(value)
    texts = {**bundle.texts, name: json.dumps(value)}
    about = json.loads(texts[archive.ABOUT])
    about["texts"][name] = digest(texts[name])
    target.write_bytes(archive.pack({**texts, archive.ABOUT: json.dumps(about)}))
    return target


def test_what_comes_out_otherwise_is_named(bench, app, tmp_path):
    made = bundles.collect(app, created(bench, app).run_id)
    otherwise = forged(
        made,
        archive.REPLY,
        lambda value: value["verified"]["items"][0].update(verdict="not_said"),
        tmp_path / "x.zip",
    )
    found = replaying.replay(otherwise)
    assert not found.is_same
    assert [(item.about, item.then, item.now) for item in found.differences] == [
        ("outcome", "applied", "nothing"),
        ("actions", "created retries-stay-at-three", ""),
        ("rejected", "", "retries-stay-at-three: its lines do not say it"),
    ]


def test_it_holds_the_lines_that_were_cited_and_no_secret_path_or_name(bench, app, tmp_path):
    home = str(Path.home())
    line = f"{SAID}; the log is {home}/shop/app.log, of /home/alice/x too"
    talk = spoken(FAR, "A: Good.", "hm", "A: And?", "well", line)
    outcome = turn(bench, talk, reply(fact(6, SAID, why=f"It stands in {home}/shop/app.log.")))
    with bench.ledger.transaction():
        known = runs.run(bench.ledger, outcome.run_id)
        packed = json.loads((known and known.reply_json) or "{}")
        packed["reply"]["memories"][0]["why"] = f"The token is {TOKEN}."
        bench.ledger.execute(
            "UPDATE runs SET reply_json = ? WHERE id = ?", (json.dumps(packed), outcome.run_id)
        )
    made = bundles.collect(app, outcome.run_id)
    text = "\n".join(made.texts.values())
    assert SAID in text and "~/shop/app.log" in text and "/home/user/x" in text
    assert "Zanzibar" not in text and home not in text and "alice" not in text and TOKEN not in text
    assert made.redacted >= 1 and made.kinds
    about = json.loads(made.texts[archive.ABOUT])
    assert about["provider"] == "scripted" and about["prompts"].keys() >= {"extract.turn", "extract.verify"}
    called = json.loads(made.texts[archive.CALLS])
    assert {call["purpose"] for call in called} == {"extract.turn", "extract.verify"}


def test_a_file_that_is_there_stays(bench, app, tmp_path):
    made = bundles.collect(app, created(bench, app).run_id)
    target = tmp_path / "mine.zip"
    target.write_bytes(b"mine")
    with pytest.raises(InputError, match="such a file"):
        bundles.write(made, target)
    assert target.read_bytes() == b"mine"


def test_a_run_is_found_by_the_beginning_of_its_id(bench, app):
    outcome = created(bench, app)
    assert bundles.collect(app, outcome.run_id[:8]).run_id == outcome.run_id
    for text in ("", outcome.run_id[:3], "zzzz", "%%%%"):
        with pytest.raises(InputError, match="no run"):
            bundles.collect(app, text)


def test_a_run_without_a_reply_can_be_handed_on_but_not_run_again(bench, app, tmp_path):
    key = bench.hear(spoken("ok", "thanks"))
    (outcome,) = bench.run(bench.turns(key))
    bundles.write(bundles.collect(app, outcome.run_id), tmp_path / "x.zip")
    with pytest.raises(InputError, match="no reply"):
        replaying.replay(tmp_path / "x.zip")


# -- what is no bundle ------------------------------------------------------------------------------


def zipped(**texts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in texts.items():
            out.writestr(name, text)
    return file.getvalue()


def with_more(data: bytes, name: str, text: str = "{}") -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as out:
        out.writestr(name, text)
    return file.getvalue()


def with_about(made: bundles.Bundle, **values: Any) -> bytes:
    about = {**json.loads(made.texts[archive.ABOUT]), **values}
    return archive.pack({**made.texts, archive.ABOUT: json.dumps(about)})


def bomb(made: bundles.Bundle) -> bytes:
    return archive.pack({**made.texts, archive.DONE: " " * (archive.MOST_OF_ONE + 1)})


def cut(made: bundles.Bundle) -> bytes:
    data = bytearray(archive.pack(made.texts))
    at = data.find(b"reply.json") + 60
    data[at : at + 40] = bytes(40)
    return bytes(data)


ODD: dict[str, tuple[Callable[[bundles.Bundle], bytes], str]] = {
    "empty": (lambda made: b"", "no zip archive"),
    "no zip": (lambda made: b"PK\x03\x04 but no more", "no zip archive"),
    "half": (lambda made: archive.pack(made.texts)[:900], "no zip archive"),
    "damaged": (cut, "damaged"),
    "foreign": (lambda made: zipped(**{"readme.txt": "hello"}), "no bundle of Reverie's"),
    "of others": (lambda made: with_about(made, format="else"), "no bundle of Reverie's"),
    "old": (lambda made: with_about(made, version=0), "version 0"),
    "new": (lambda made: with_about(made, version=99), "version 99"),
    "a path": (lambda made: with_more(archive.pack(made.texts), "../../evil.json"), "no bundle has"),
    "absolute": (lambda made: with_more(archive.pack(made.texts), "/etc/passwd"), "no bundle has"),
    "lacking": (lambda made: zipped(**{"about.json": made.texts["about.json"]}), "lacks"),
    "bomb": (bomb, "unpacks to more"),
    "changed": (lambda made: archive.pack({**made.texts, archive.RUN: "{}"}), "was changed"),
    "no JSON": (lambda made: archive.pack({**made.texts, archive.ABOUT: "["}), "no JSON"),
    "nested": (lambda made: archive.pack({**made.texts, archive.ABOUT: "[" * 200_000}), "no JSON"),
}


@pytest.mark.parametrize("case", ODD)
def test_what_is_no_bundle_is_refused_by_name(bench, app, case, tmp_path):
    made = bundles.collect(app, created(bench, app).run_id)
    make, why = ODD[case]
    file = tmp_path / "odd.zip"
    file.write_bytes(make(made))
    beside = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(InputError, match=why) as refused:
        replaying.replay(file)
    assert str(file) in str(refused.value) and refused.value.fix
    assert sorted(path.name for path in tmp_path.iterdir()) == beside


def test_values_of_another_shape_are_refused(bench, app, tmp_path):
    made = bundles.collect(app, created(bench, app).run_id)
    shapes: dict[str, Callable[[Any], object]] = {
        archive.REPLY: lambda value: value.update(lines=[1]),
        archive.RUN: lambda value: value.update(from_row="x", started_at="y", replied_at=None),
        archive.MEMORIES: lambda value: value.update(known=3),
    }
    for name, change in shapes.items():
        with pytest.raises(InputError, match="something else"):
            replaying.replay(forged(made, name, change, tmp_path / "x.zip"))


# -- asked anew -------------------------------------------------------------------------------------


def test_another_model_is_asked_about_the_same_lines_and_nothing_is_written(bench, app):
    outcome = created(bench, app)
    first = bench.prompt()
    kept, counted = tree(bench.store.root), len(runs.list_runs(bench.ledger))
    asked = len(calls.list_calls(bench.ledger))
    other = TwoReaders(
        [reply(fact(6, SAID, name="gateway-bans-at-five", statement="The gateway bans at 5."))]
    )
    found = rerunning.rerun(app, outcome.run_id, model="claude-haiku-4-5", provider=other)
    (request,) = other.history
    # The store is as it was before that run, so that it is the same question.
    assert request.messages[0].content == first and request.model == "claude-haiku-4-5"
    assert found.then.done["actions"][0]["name"] == "retries-stay-at-three"
    assert found.now.done["actions"][0]["name"] == "gateway-bans-at-five"
    assert found.now.texts == {"gateway-bans-at-five": "The gateway bans at 5."}
    assert found.now.calls == 2 and len(calls.list_calls(bench.ledger)) == asked + 2
    assert tree(bench.store.root) == kept and len(runs.list_runs(bench.ledger)) == counted


def test_a_cap_holds_for_it_too(bench, app):
    outcome = created(bench, app)
    app.settings = Settings.model_validate({"spend": {"calls_per_hour": 2}})
    with pytest.raises(SpendError):
        rerunning.rerun(app, outcome.run_id, provider=TwoReaders([NOTHING]))
    app.settings = Settings.model_validate({"spend": {"calls_per_hour": 3}})
    found = rerunning.rerun(app, outcome.run_id, provider=TwoReaders([NOTHING]))
    assert (found.now.done["outcome"], found.now.calls) == ("nothing", 1)


def test_a_conversation_is_read_again_as_a_whole(bench, app):
    outcome = as_a_whole(bench, app)
    first = bench.prompt()
    other = TwoReaders([reply(episode={"title": "", "summary": []})])
    found = rerunning.rerun(app, outcome.run_id, provider=other)
    assert other.history[0].messages[0].content == first
    assert found.now.done["outcome"] == "nothing" and found.then.done["outcome"] == "applied"


def test_without_its_dialogue_a_run_is_not_asked_again(bench, app):
    outcome = created(bench, app)
    run = runs.run(bench.ledger, outcome.run_id)
    bench.ledger.execute("DELETE FROM memory_transcript_entries")
    provider = TwoReaders([NOTHING])
    with pytest.raises(InputError, match="not kept any more"):
        rerunning.rerun(app, outcome.run_id, provider=provider)
    assert run is not None and provider.history == []
