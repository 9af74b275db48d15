"""Faults other tools' consolidation had (bug-cases), each tried on a whole dream of ours."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.core.errors import InvalidReplyError
from pipeline.ledger import dreams
from pipeline.store import ConsolidateLock
from tests.support.dreaming import KEEP, NOW, Dreaming, last, note, op, planned, shown, talk
from tests.support.stores import tree

_WORDS = "amber birch cedar delta ember frost grove heath inlet jetty knoll larch maple north oasis"
WORDS = _WORDS.split(" ")


def gate(bench: Dreaming) -> tuple[str, str]:
    """The first gate that is closed, as `status` shows it, and its reason."""
    rows = dreams.last_gates(bench.ledger, str(bench.store.path))
    return next(((row.name, row.reason) for row in rows if not row.open), ("", ""))


STATES = {
    "23 h 59 m and 9 sessions": (lambda b: (last(b, 24 - 1 / 60), talk(b, 9)), "interval", "1 min to wait"),
    "24 h and 5 sessions": (lambda b: (last(b, 24), talk(b, 5)), "", ""),
    "24 h and 4 sessions": (lambda b: (last(b, 24), talk(b, 4)), "sessions", "1 more session needed"),
    "lock held": (lambda b: (last(b, 30), talk(b, 5), held(b)), "lock", "process 1"),
    "no quota": (lambda b: (last(b, 30), talk(b, 5), poor(b)), "spend", "0 calls"),
    "switched off": (lambda b: (last(b, 30), talk(b, 5), b.set(enabled=False)), "enabled", "switched off"),
    "never dreamt, 5 sessions": (lambda b: talk(b, 5), "", ""),
    "never dreamt, 4 sessions": (lambda b: talk(b, 4), "sessions", "1 more session needed"),
}


def held(bench: Dreaming) -> None:
    file = ConsolidateLock(bench.store.path).file
    file.write_text("1")
    os.utime(file, (NOW.timestamp(), NOW.timestamp()))


def poor(bench: Dreaming) -> None:
    none = bench.settings.spend.model_copy(update={"calls_per_hour": 0})
    bench.settings = bench.settings.model_copy(update={"spend": none})


@pytest.mark.parametrize("state", STATES)
def test_bug_095_a_dream_runs_or_its_reason_is_kept(bench, state):
    bench.keep(note("port", "The mailer listens on port 8025."))
    arrange, name, words = STATES[state]
    arrange(bench)
    report = bench.dream(force=False)
    assert (report.word == "closed") == bool(name)
    assert gate(bench)[0] == name and words in gate(bench)[1]
    assert len(bench.provider.history) == (0 if name else 1)
    if name:
        (refusal,) = dreams.refusals(bench.ledger, str(bench.store.path))
        assert (refusal.name, refusal.at) == (name, NOW.timestamp()) and report.reason == refusal.reason


def test_bug_095_a_clock_put_back_delays_by_one_interval_only(bench):
    bench.keep(note("port", "The mailer listens on port 8025."))
    last(bench, -20)
    talk(bench, 9)
    assert "24 h to wait" in bench.dream(force=False).reason
    bench.later(hours=24)
    talk(bench, 9, days_ago=-0.9)
    assert bench.dream(force=False).word == "nothing"


def test_bug_058_the_dream_s_own_writes_wake_no_other(bench):
    bench.keep(*(note(w, f"{w.title()} {w}berg stands by the {w}.") for w in WORDS))
    bench.model(planned(op("relate", "amber", "birch", relation="RELATED_TO")))
    talk(bench, 9)
    assert bench.dream(force=False).word == "done"
    bench.later(days=2)
    assert gate_now(bench) == "changed"
    before = {f: f.stat().st_mtime_ns for f in bench.store.root.rglob("*.md")}
    assert bench.dream().word == bench.dream().word == "nothing"
    assert {f: f.stat().st_mtime_ns for f in bench.store.root.rglob("*.md")} == before
    assert all(f"({w}.md)" in (bench.store.root / "MEMORY.md").read_text("utf-8") for w in WORDS)


def gate_now(bench: Dreaming) -> str:
    bench.dream(force=False)
    return gate(bench)[0]


def forty(bench: Dreaming) -> None:
    texts = [
        f"The {a} {b} holds {n * 7} crates until 2026-05-20." for n, (a, b) in enumerate(pairs(), start=1)
    ]
    bench.keep(*(note(f"m{n:02d}", text, origin="assistant-inferred") for n, text in enumerate(texts)))


def pairs() -> list[tuple[str, str]]:
    return [(a, b) for a in WORDS[:8] for b in WORDS[8:13]]


def everywhere(make):
    """A model that proposes `make` of all it is shown."""
    return lambda request: {"operations": make([h for h in shown(request).values() if h[0] == "m"])}


HUNGRY = {
    "retires 30": lambda ids: [op("retire", *ids)],
    "retires each": lambda ids: [op("retire", one) for one in ids],
    "empties": lambda ids: [
        op("strike", one, covered=[{"sentence": f"{one}.1", "by": f"{ids[0]}.1"}]) for one in ids[1:]
    ],
    "merges all": lambda ids: [op("merge", *ids, into=ids[0])],
}


@pytest.mark.parametrize("plan", HUNGRY)
def test_bug_098_no_plan_takes_more_than_its_share(bench, plan):
    forty(bench)
    bench.model(everywhere(HUNGRY[plan]))
    before = {d.id: d.raw for d in bench.documents().values()}
    report = bench.dream()
    left = {item.id: item for item in bench.store.retired()}
    assert len(left) <= 2 and report.refused
    assert "leave in one dream" in str(report.refused) or plan in ("retires 30", "empties")
    live = {d.id: d.raw for d in bench.documents().values()}
    shelved = {one: (bench.store.root / item.target).read_bytes() for one, item in left.items()}
    assert live | shelved == before, "every byte is live or in the archive"


def test_bug_098_undoing_many_dreams_pushes_none_of_them_out(bench):
    """The 20 of one a day; those older than what `undo` keeps are for `reverie restore` (tests/cli)."""
    forty(bench)
    bench.store.reindex(now=NOW)
    before = tree(bench.store.root)
    bench.model(everywhere(lambda ids: [op("retire", ids[0])]))
    runs = []
    for day in range(20):
        bench.later(days=1)
        bench.keep(
            note(
                f"new{day}",
                f"Ledger {day} of the {WORDS[day % 15]} closes at {day + 100}, until 2026-05-20.",
                origin="assistant-inferred",
            )
        )
        runs.append(bench.dream().run_id)
    gone = bench.store.retired()
    assert len(gone) >= 20 and all(item.reason and item.run in runs and item.at for item in gone)
    for run in reversed(runs[10:]):
        bench.store.undo(run)
    after, shelved = tree(bench.store.root), bench.store.retired()
    assert {item.run for item in shelved} == {*runs[:10]}
    kept = {item.path: (bench.store.root / item.target).read_bytes() for item in shelved}
    assert all((after | kept)[n] == raw for n, raw in before.items() if n[0] == "m")


def test_bug_099_pinned_foreign_and_edited_files_keep_every_byte(bench):
    bench.keep(
        note("a-pinned", "The booth of the fair stands in hall 4."),
        note("c-edited", "The booth of the fair has 2 tables."),
        note("d-ours", "The booth of the fair stands until 2026-05-20."),
        *(note(w, f"{w.title()} {w}berg {w}dorf.") for w in WORDS),
    )
    a = bench.documents()["a-pinned"]
    file = bench.store.root / a.path
    file.write_bytes(file.read_bytes().replace(b"name: a-pinned", b'pinned: "Yes"\nname: a-pinned'))
    (bench.store.root / "b-made.md").write_bytes(
        b"---\nname: b-made\nid: 0b0b0b0b-0000-4000-8000-000000000000\ntype: project\n---\n"
        b"The booth of the fair is blue.\n"
    )
    bench.edit("c-edited")
    before = tree(bench.store.root)
    bench.model(
        planned(
            op("retire", "a-pinned"),
            op("merge", "b-made", "d-ours", into="d-ours"),
            op("strike", "c-edited", covered=[("c-edited.1", "d-ours.1")]),
            op("retire", "d-ours"),
        )
    )
    bench.dream()
    offered = shown(bench.provider.history[0])
    assert {n: h[0] for n, h in offered.items() if n not in WORDS} == {
        "a-pinned": "f",
        "b-made": "f",
        "c-edited": "f",
        "d-ours": "m",
    }
    after = tree(bench.store.root)
    assert all(after[n] == before[n] for n in ("a-pinned.md", "b-made.md", "c-edited.md"))
    assert {*bench.names()} - {*WORDS} == {"a-pinned", "b-made", "c-edited"}
    assert [kind for kind, _ in bench.waiting()] == ["dream:retire", "dream:merge", "dream:strike"]


@pytest.mark.parametrize("winner", ["", "use-npm", "use-pnpm"])
def test_bug_102_what_was_said_last_wins_whenever_it_was_processed(bench, winner):
    npm = note("use-npm", "The package manager of the shop is npm.", "2026-03-01")
    pnpm = note("use-pnpm", "The package manager of the shop is pnpm, not npm.", "2026-03-09")
    late = NOW + timedelta(days=1)
    bench.keep(replace(pnpm, created=NOW, updated=NOW))
    bench.keep(replace(npm, created=late, updated=late))
    os.utime(bench.store.root / "use-pnpm.md", (0, 0))
    bench.model(planned(op("supersede", "use-npm", "use-pnpm", into=winner)))
    assert bench.dream().word == "done"
    assert bench.names() == ["use-pnpm"]
    (gone,) = bench.store.retired()
    assert gone.superseded_by == pnpm.id and gone.path == "use-npm.md"
    index = (bench.store.root / "MEMORY.md").read_text("utf-8")
    assert "use-pnpm.md" in index and "use-npm.md" not in index


def test_bug_102_without_evidence_of_when_a_person_decides(bench):
    bench.keep(
        note("use-npm", "The package manager is npm.", None, created=NOW),
        note("use-pnpm", "The package manager is pnpm.", None, created=NOW + timedelta(days=1)),
    )
    bench.model(planned(op("supersede", "use-npm", "use-pnpm", into="use-pnpm")))
    bench.dream()
    assert bench.names() == ["use-npm", "use-pnpm"]
    assert bench.waiting()[0][0] == "dream:supersede"


def test_bug_103_no_rule_takes_a_memory_for_dead_since_its_path_is_not_here(bench, tmp_path, monkeypatch):
    places = (
        "~/.config/tool/x.toml",
        "/opt/y",
        "other-repo/z.py",
        "src/gone.py",
        "https://x.example/a",
        "src/*.py",
    )
    bench.keep(*(note(f"p{n}", f"{WORDS[n].title()} is set up in {p}.", "2025-01-01", anchors=(p,))
                 for n, p in enumerate(places)))  # fmt: skip
    before = tree(bench.store.root)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert bench.dream(offline=True).actions == []
    after = tree(bench.store.root)
    assert all(after[name] == raw for name, raw in before.items())


def test_bug_105_a_part_that_fails_is_not_done_and_leads_the_next_dream(bench):
    bench.set(max_cluster=2, retire_share=1.0)
    bench.keep(
        *(note(w, f"{w.title()} {w}berg {w}dorf.", f"2026-03-{n + 1:02d}") for n, w in enumerate(WORDS[:6]))
    )
    before = {name: d.raw for name, d in bench.documents().items()}
    asked: list[set[str]] = []

    def answer(request):
        asked.append({*shown(request)})
        if {"cedar", "delta"} & asked[-1]:
            raise InvalidReplyError("no JSON")
        return {"operations": [op("relate", *shown(request).values(), relation="FOLLOWS")]}

    bench.model(answer)
    report = bench.dream()
    assert (report.word, sorted(report.failed)) == ("partial", ["cedar", "delta"])
    assert len(report.actions) == 2 and "invalid" in report.reason
    assert all(bench.documents()[name].raw == before[name] for name in ("cedar", "delta"))
    assert dreams.state(bench.ledger, str(bench.store.path)).last_success is None, "no wait of 24 hours"
    bench.keep(note("older", "Olderberg olderdorf.", "2025-01-01"))
    asked.clear()
    bench.model(lambda request: asked.append({*shown(request)}) or KEEP)
    assert bench.dream().word == "nothing"
    assert {"cedar", "delta"} <= asked[0] and not re.search("amber", str(asked))
