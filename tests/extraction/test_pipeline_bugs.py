"""Cases from the field, from the transcript to the files of the store."""

from __future__ import annotations

import json
import re
import stat
from datetime import timedelta
from typing import Any

import frontmatter
import pytest

from pipeline.config import Settings
from pipeline.ledger import calls, jobs, runs, utterances
from pipeline.llm.budget import Usage
from pipeline.llm.fakes import Scripted
from pipeline.llm.request import RawReply, Request
from pipeline.text.slugs import slugify
from tests.support.extraction import NOTHING, Bench, fact, reply
from tests.support.model import borne_out, items_of
from tests.support.transcripts import Transcript

SAID = "keep the retries at 3, the gateway bans us at 5"


def heard(bench: Bench, text: str = SAID) -> str:
    session = Transcript()
    session.user(text)
    return bench.hear(session)


ITEM = fact(1, SAID)
OTHER = fact(1, SAID, name="gateway-bans-at-five", statement="The gateway bans clients at 5 retries.")
BOTH = ["gateway-bans-at-five", "retries-stay-at-three"]


@pytest.mark.parametrize(
    "text",
    [  # Bug 59 is the fences, bug 61 the outer shape.
        f"```json\n{json.dumps(reply(ITEM, OTHER))}\n```",
        f"```\n{json.dumps(reply(ITEM, OTHER))}\n```\nThese two seemed worth keeping.",
        f"```JSON  \r\n{json.dumps(reply(ITEM, OTHER))}\r\n```  ",
        json.dumps([ITEM, OTHER]),
        json.dumps({"Memories": [ITEM, OTHER]}),
    ],
)
def test_bug_059_and_061_every_shape_that_holds_the_items_gives_the_files(bench: Bench, text: str) -> None:
    key = heard(bench)
    bench.script([text])
    bench.run(bench.turns(key))
    assert bench.names() == BOTH


@pytest.mark.parametrize("value", [ITEM, {"memories": ITEM}])
def test_bug_061_a_bare_item_is_a_list_of_one(bench: Bench, value: Any) -> None:
    key = heard(bench)
    bench.script([json.dumps(value)])
    bench.run(bench.turns(key))
    assert bench.names() == ["retries-stay-at-three"]


def raw(text: str, stop: str = "end_turn") -> RawReply:
    return RawReply(text, stop, Usage(10, 1), "scripted", "m")


@pytest.mark.parametrize(
    "answer",
    [
        raw(""),
        raw("I can't help with that."),
        raw("I'm sorry, I can't discuss this.", "refusal"),
        raw('{"result": {"memories": []}}'),
        raw('{"memories": null}'),
    ],
)
def test_bug_063_a_refusal_is_no_memory_and_no_endless_loop(bench: Bench, answer: RawReply) -> None:
    session = Transcript()
    session.user(SAID)
    bench.fire(session)
    provider = bench.script(lambda request: answer)
    for _ in range(6):
        bench.worker().run(now_too=True)
    assert bench.names() == [] and len(provider.history) <= 6
    (last, *_) = [run for run in runs.list_runs(bench.ledger) if run.outcome == "failed:unextractable"]
    assert json.loads(last.summary_json or "")["reason"]
    assert all(job.state == "done" for job in jobs.list_jobs(bench.ledger))


def test_bug_063_no_facts_is_an_answer(bench: Bench) -> None:
    key = heard(bench)
    bench.script([NOTHING])
    assert [o.word for o in bench.run(bench.turns(key))] == ["nothing"]


def test_bug_066_a_bad_item_does_not_cost_the_good_ones(bench: Bench) -> None:
    key = heard(bench)
    kinds: list[Any] = ["PREFERENCE", None, ["user"], 7]
    bad = [fact(1, SAID, name=f"bad-{n}", type=kind, statement=f"Bad {n}.") for n, kind in enumerate(kinds)]
    bench.script([reply(*bad, ITEM)])
    (outcome,) = bench.run(bench.turns(key))
    assert bench.names() == ["retries-stay-at-three"] and len(outcome.rejected) == 4


def test_bug_067_hundreds_of_items_are_cut_and_counted(bench: Bench) -> None:
    key = heard(bench)
    bench.settings = Settings.model_validate({"extraction": {"max_candidates": 5}})
    words = ["alpha", "bravo", "carrot", "delta", "echo", "fox", "golf", "hotel", "india"]
    many = [fact(1, SAID, name=w, statement=f"Thing {w} is about {w} only.") for w in words]
    many[0] |= {"statement": "x" * 200_000}
    bench.script([reply(*many)])
    (outcome,) = bench.run(bench.turns(key))
    assert bench.names() == sorted(words[1:5])
    assert [r["name"] for r in outcome.rejected] == ["alpha", *words[5:]]
    kept = runs.run(bench.ledger, outcome.run_id)
    assert kept is not None and len(json.loads(kept.summary_json or "")["rejected"]) == 5


def test_who_says_much_may_be_remembered_for_much(bench: Bench) -> None:
    bench.settings = Settings.model_validate({"extraction": {"max_candidates": 1}})
    words = ["alpha", "bravo", "carrot"]
    session = Transcript()
    for word in words:
        session.user(f"the {word} stays at 3")
    key = bench.hear(session)
    facts = [
        fact(line, f"the {word} stays", name=word, statement=f"The {word} is 3.")
        for line, word in enumerate(words, start=1)
    ]
    bench.script([reply(*facts, fact(3, "stays at 3", name="fourth", statement="A fourth is 3."))])
    (outcome,) = bench.run(bench.turns(key))
    assert bench.names() == words and [item["check"] for item in outcome.rejected] == ["number"]


def test_bug_069_a_japanese_fact_stays_japanese(bench: Bench) -> None:
    key = heard(bench, "テストではデータベースをモックしないでください")
    told = fact(
        1, "データベースをモックしないでください", name="データベースのモック禁止", type="feedback",
        statement="テストではデータベースをモックしない。",
    )  # fmt: skip
    bench.script([reply(told)])
    bench.run(bench.turns(key))
    (document,) = bench.store.scan().documents
    assert document.memory.body == "テストではデータベースをモックしない。\n"
    assert document.memory.name == slugify("データベースのモック禁止") and document.memory.name.isascii()
    assert "テストではデータベースをモックしない。" in (bench.store.root / "MEMORY.md").read_text("utf-8")
    rule = [line for line in bench.provider.history[0].system.splitlines() if "language" in line]
    assert len(rule) == 1 and "In the person's language" in rule[0]
    assert max(bench.provider.history[0].system) < "\u3000"


@pytest.mark.parametrize(
    "text",
    [
        'Deploy: use "blue" first', "*star", "@at", "# hash", "- dash", "{a: b}", "C:\\dir\\x", "ending in:",
        "'single", "%p", "[[link]]tail", "!tag", "&anchor", "yes", "2026-03-02", "1e3", "null", "| pipe",
        "? q",
    ],
)  # fmt: skip
def test_bug_074_any_description_is_read_back_as_it_was(bench: Bench, text: str) -> None:
    (bench.store.root / "broken.md").write_text("---\nname: 'unclosed\n---\nbody\n", "utf-8")
    key = heard(bench, f"{SAID} {text}")
    bench.script([reply(fact(1, SAID, statement=text))])
    bench.run(bench.turns(key))
    document = bench.store.read("retries-stay-at-three")
    front = frontmatter.load(str(bench.store.root / document.path))
    assert (front["description"], document.memory.description) == (text, text)
    assert [p.path for p in bench.store.scan().problems] == ["broken.md"]


def test_p18_a_memory_with_both_sides_of_a_merge_is_not_shown_as_known(bench: Bench) -> None:
    key = heard(bench)
    text = "---\nname: gateway-retries\ndescription: port: the retries of the gateway\n---\nRetries at {}.\n"
    (bench.store.root / "gateway-retries.md").write_text(text.format(4), "utf-8")
    both = text.format("5\n<<<<<<< HEAD\nthe retries at 6\n=======\nthe retries at 7\n>>>>>>> theirs")
    (bench.store.root / "gateway-bans.md").write_text(
        both.replace("gateway-retries", "gateway-bans"), "utf-8"
    )
    bench.script([reply()])
    bench.run(bench.turns(key))
    asked = str(bench.provider.history[0])
    assert "gateway-retries" in asked and "Retries at 4." in asked
    assert "gateway-bans" not in asked and "<<<<<<<" not in asked


def test_bug_084_no_name_leads_out_of_the_store(bench: Bench, sealed_environment: Any) -> None:
    names = [
        "../x",
        "..%2Fx",
        "/etc/x",
        "a/../../x",
        "C:\\x",
        "~root/x",
        ".git/hooks/x",
        ".hidden",
        "MEMORY",
        "con",
    ]
    key = heard(bench)
    outside = {p for p in sealed_environment.rglob("*") if bench.store.root not in (p, *p.parents)}
    bench.script(
        [
            reply(
                *(
                    fact(1, SAID, name=n, statement=f"Retries stay {'so ' * i}at 3.")
                    for i, n in enumerate(names)
                )
            )
        ]
    )
    (outcome,) = bench.run(bench.turns(key))
    assert len(outcome.actions) == len(names)
    assert {p for p in sealed_environment.rglob("*") if bench.store.root not in (p, *p.parents)} == outside
    files = [p.name for p in bench.store.root.glob("*.md") if p.name != "MEMORY.md"]
    assert len(files) == len(names) and all(not f.startswith(".") for f in files)


WORDINGS = [
    "The {0} job retries {1} times at most.",
    "At most {1} times the {0} job retries.",
    "The {0} job: retries {1} times, at most.",
]
JOBS = [
    "billing",
    "search",
    "export",
    "mail",
    "import",
    "index",
    "backup",
    "report",
    "sync",
    "cleanup",
    "thumbs",
    "audit",
]


def parrot(request: Request) -> Scripted:
    """Give the fact of every line shown, context too, worded differently each time."""
    prompt = request.messages[0].content
    facts = []
    for line in prompt.splitlines():
        if not line.startswith("[") or "PERSON: the " not in line:
            continue
        number, job = int(line[1 : line.index("]")]), line.split("PERSON: the ")[1].split()[0]
        facts.append(
            fact(
                number, f"the {job} job retries", name=f"{job}-retries",
                statement=WORDINGS[len(prompt) % 3].format(job, JOBS.index(job) + 3),
            )
        )  # fmt: skip
    return reply(*facts)


def knowing(prompt: str) -> Scripted:
    """The second reader who finds each fact that a memory of its name holds."""
    known = {}
    for name, text in items_of(prompt).items():
        job = re.findall(r"^statement: .*?\b(" + "|".join(JOBS) + r")\b", text, re.MULTILINE)[0]
        if f"memory {job}-retries " in text:
            known[name] = {"known": f"{job}-retries"}
    return borne_out(prompt, **known)


def test_bug_088_facts_do_not_pile_up_and_each_line_is_new_once(bench: Bench) -> None:
    session = Transcript()
    provider = bench.script(parrot, knowing)
    for number, job in enumerate(JOBS):
        session.user(f"the {job} job retries {number + 3} times " + "because of the gateway. " * 150)
        session.assistant("Understood. " * 40)
        bench.run(bench.turns(bench.hear(session)))
    again = Transcript("0b7c1a52-91e3-4f0d-8c2b-5a1d7e9f3b02")
    again.user("the billing job retries 3 times " + "as ever. " * 20)
    size = bench.path(session).stat().st_size
    asked = sum(len(request.messages[0].content) for request in provider.history)
    bench.run(bench.turns(bench.hear(again)))
    assert bench.names() == sorted(f"{job}-retries" for job in JOBS)
    fresh = [r.messages[0].content.split("<new_dialogue>")[1] for r in provider.history[:12]]
    assert [text.count("PERSON: the ") for text in fresh] == [1] * 12
    assert asked < 3 * size


def test_bug_120_cost_follows_what_is_new(bench: Bench) -> None:
    session = Transcript(start="2026-03-02T10:50:00Z", step_seconds=2)
    for number in range(1_000):
        session.user(f"row {number} " + "about the export job " * 3)
        session.assistant("Done with it. " * 4)
    path = bench.fire(session)
    provider = bench.script([NOTHING] * 40)
    bench.worker().run()
    before, size = len(provider.history), path.stat().st_size
    read = 0
    for number in range(50):
        session.user("thanks" if number % 2 else f"and rename column {number}")
        bench.clock.at += timedelta(seconds=6)
        bench.fire(session)
        read += bench.ingest(path).bytes_read
        bench.worker().run()
    bench.worker().run(now_too=True)
    texts = [request.messages[0].content for request in provider.history[before:]]
    # A conversation that became full meanwhile is read as a whole once; the rest is turns.
    new = [text.split("<new_dialogue>")[1] for text in texts if "<new_dialogue>" in text]
    assert len(texts) - len(new) <= 1
    assert len(new) <= 3 and read < size / 20
    assert sum(len(r.messages[0].content) for r in provider.history[before:]) < size / 10
    assert all(f"rename column {number}" in "".join(new) for number in range(0, 50, 2))


def test_bug_024_what_was_read_before_the_file_went_is_still_extracted(bench: Bench) -> None:
    session = Transcript()
    session.user(SAID)
    path = bench.fire(session)
    key = bench.ingest(path).key
    path.unlink()
    bench.script([reply(ITEM)])
    jobs.enqueue(bench.ledger, "extract_turn", key, now=bench.clock.at.timestamp(), run_after=0.0)
    done = bench.worker().run()
    assert done.failures == [] and bench.names() == ["retries-stay-at-three"]
    assert [job.state for job in jobs.list_jobs(bench.ledger) if job.kind == "extract_turn"] == ["done"]
    assert [call.purpose for call in calls.list_calls(bench.ledger)] == [
        "extract.verify",
        "extract.turn",
    ] and len(utterances.utterances(bench.ledger, key, after_row=0)) == 1


def test_bug_052_the_worker_calls_no_model_for_what_it_cannot_write_and_parks_nothing(bench: Bench) -> None:
    session = Transcript()
    session.user(SAID)
    bench.fire(session)
    (bench.store.root / ".reverie").write_text("in the way", "utf-8")
    provider = bench.script([reply(ITEM)])
    failures = [bench.worker().run(now_too=True).failures for _ in range(5)]
    assert provider.history == [] and all(failures)
    (waits,) = [job for job in jobs.list_jobs(bench.ledger, state="waiting") if job.kind == "extract_turn"]
    assert str(bench.store.root / ".reverie") in waits.last_error and "Remove it" in waits.last_error


def test_bug_052_an_index_that_may_not_be_written_is_replaced_and_keeps_its_mode(bench: Bench) -> None:
    index = bench.store.root / "MEMORY.md"
    index.write_text("# My notes\n", "utf-8")
    index.chmod(0o444)
    key = heard(bench)
    bench.script([reply(ITEM)])
    bench.run(bench.turns(key))
    written = index.read_text("utf-8")
    assert written.startswith("# My notes\n") and ITEM["statement"] in written
    assert stat.S_IMODE(index.stat().st_mode) == 0o444


def test_a_short_conversation_that_is_noticed_late_is_not_lost(bench: Bench) -> None:
    session = Transcript()
    session.user(SAID)
    bench.fire(session)
    bench.script([reply(ITEM)])
    done = bench.worker().run()
    assert sorted(o.word for o in done.outcomes) == ["applied", "skipped"]
    assert bench.names() == ["retries-stay-at-three"]


def test_a_long_conversation_that_is_noticed_late_is_read_once_as_a_whole(bench: Bench) -> None:
    session = Transcript()
    for text in (SAID, "and log them", "in json", "with the order id", "nothing else"):
        session.user(text)
    bench.fire(session)
    provider = bench.script([reply(ITEM, episode={"title": "Retries", "summary": []})])
    bench.worker().run()
    assert bench.names() == ["retries-stay-at-three"]
    assert [request.purpose for request in provider.history] == ["extract.conversation"]
