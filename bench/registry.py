"""All rows of the bench: each names its work, its floor, its target, and where the target is from.

Here is what is measured of speed, memory and tokens. How well things are done (recall, audit, secrets,
permissions and others) is measured by modules of their own.
"""

from __future__ import annotations

from functools import partial

from bench import (
    agent_memory,
    behind,
    dialogue,
    dream,
    formats,
    graph,
    growth,
    hooks,
    ingest,
    search,
    starts,
    store,
    tool_use,
    traces,
)
from bench.row import GIVEN, OWN, Group, Row, Target, single

IN_PROCESS = "in process, after one untimed round"
INTAKE = "Reading transcripts"
STORE = "The store and its indexes"


def groups() -> list[Group]:
    """Return all rows, those measured together in one group. Raises ValueError if two have one name."""
    made = [
        *hooks.groups(),
        *starts.groups(),
        *behind.groups(),
        *_intake(),
        *_store(),
        *graph.groups(),
        *agent_memory.groups(),
        *formats.groups(),
        *growth.groups(),
    ]
    names = [row.name for group in made for row in group.rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two rows of the bench have one name: {', '.join(twice)}")
    return made


def _intake() -> list[Group]:
    given = Target(GIVEN, cpu=2.5, wall=2)
    return [
        single(
            INTAKE,
            Row(
                "ingest 105 MB",
                "`reverie ingest` of 30 transcripts, 105 MB",
                "orjson.loads of their lines",
                given,
            ),
            ingest.transcripts,
        ),
        single(
            INTAKE,
            Row(
                "3 entries more",
                "3 entries more of a transcript of 180,000",
                "of one of 1,800",
                Target(OWN, cpu=2),
                how=IN_PROCESS,
            ),
            ingest.one_more_turn,
        ),
        single(
            INTAKE,
            Row(
                "re-scan 5,000",
                "5,000 transcripts that have not changed",
                "scandir and stat of them",
                Target(GIVEN, cpu=1.8),
                how=IN_PROCESS,
            ),
            ingest.rescan,
        ),
        _memory(100, Target(OWN, other=1.15)),
        _memory(1_000, Target(GIVEN, other=1.3), full=True),
        _export(10),
        _export(100, full=True),
        single(
            INTAKE,
            Row(
                "memory of an export",
                "peak memory of exporting a trace of 100 MB",
                "of 10 MB",
                Target(OWN, other=1.3),
                unit="MB",
            ),
            lambda folder, _: traces.memory(folder),
        ),
        _asked("patterns", "the sequences of steps that come again in", Target(OWN, cpu=25)),
        _asked("similar", "what sessions are compared by, of", Target(OWN, cpu=25)),
        _asked("coaccess", "files used together in", Target(OWN, cpu=13), full=True),
        _asked("errors", "failed calls of tools in", Target(OWN, cpu=13), full=True),
        single(
            INTAKE,
            Row(
                "a line of a journal",
                "50 lines added to a journal one by one",
                "flock, write and fsync",
                Target(OWN, cpu=6),
                how=IN_PROCESS,
            ),
            tool_use.appended,
        ),
    ]


def _asked(question: str, work: str, target: Target, *, full: bool = False) -> Group:
    row = Row(
        question, f"{work} a trace of 10 MB", "orjson.loads of its lines", target, how=IN_PROCESS, full=full
    )
    return single(INTAKE, row, partial(tool_use.asked, question))


def _export(megabytes: int, *, full: bool = False) -> Group:
    row = Row(
        f"export {megabytes} MB",
        f"an annotated trace of {megabytes} MB, without its secrets",
        "orjson.loads of its lines",
        Target(OWN, cpu=150),
        how=IN_PROCESS,
        full=full,
    )
    return single(INTAKE, row, lambda folder, rounds: traces.exported(folder, rounds, megabytes))


def _memory(megabytes: int, target: Target, *, full: bool = False) -> Group:
    row = Row(
        f"memory of {megabytes:,} MB",
        f"peak memory of ingesting {megabytes:,} MB",
        "of 10 MB",
        target,
        unit="MB",
        full=full,
    )
    return single(INTAKE, row, lambda folder, _: ingest.memory(folder, megabytes))


def _dialogue() -> list[Group]:
    return [
        single(
            STORE,
            Row(
                "20 searches in dialogue",
                "20 searches of two words in 100,000 utterances",
                "bare FTS5 queries",
                Target(OWN, cpu=1.5),
                how=IN_PROCESS,
            ),
            dialogue.asking,
        ),
        single(
            STORE,
            Row(
                "index of dialogue",
                "the index of 100,000 utterances, anew",
                "inserting them into a bare FTS5 table",
                Target(OWN, cpu=1.8),
                how=IN_PROCESS,
            ),
            dialogue.indexing,
        ),
        single(
            STORE,
            Row(
                "one more utterance",
                "one utterance more, into the index of 100,000",
                "into that of 100",
                Target(OWN, cpu=8),
                how=IN_PROCESS,
            ),
            dialogue.one_more,
        ),
    ]


def _store() -> list[Group]:
    front_matter = "reading them and CSafeLoader of their front matter"
    return [
        single(
            STORE,
            Row(
                "rebuild 10,000",
                "all that is derived of 10,000 memories, anew",
                front_matter,
                Target(GIVEN, cpu=1.3),
                how=IN_PROCESS,
            ),
            store.rebuild,
        ),
        single(
            STORE,
            Row(
                "rebuild 10,000 again",
                "the same with nothing changed",
                front_matter,
                Target(GIVEN, cpu=0.3),
                how=IN_PROCESS,
            ),
            store.rebuild_again,
        ),
        single(
            STORE,
            Row(
                "search index of 10,000",
                "the search index of 10,000 memories, anew",
                front_matter,
                Target(OWN, cpu=2),
                how=IN_PROCESS,
            ),
            store.index_anew,
        ),
        single(
            STORE,
            Row(
                "one memory into 10,000",
                "one memory written into 10,000",
                "one into 100",
                Target(GIVEN, cpu=2),
                how=IN_PROCESS,
            ),
            store.one_more,
        ),
        single(
            STORE,
            Row(
                "one memory, to its pass's end",
                "the same with what a pass writes once at its end",
                "into 100",
                Target(OWN, cpu=20),
                how=IN_PROCESS,
            ),
            partial(store.one_more, to_the_end=True),
        ),
        single(
            STORE,
            Row(
                "20 searches in 10,000",
                "20 questions to the search index of 10,000",
                "to that of 100",
                Target(OWN, cpu=5),
                how=IN_PROCESS,
            ),
            search.growth,
        ),
        *_dialogue(),
        single(
            STORE,
            Row(
                "tokens of a dream",
                "tokens of a dream, 10 of 10,000 changed",
                "10 of 100 changed",
                Target(GIVEN, other=1.2),
                unit="tokens",
                how=IN_PROCESS,
            ),
            dream.tokens,
        ),
        single(
            STORE,
            Row(
                "CPU of a dream",
                "a dream, 10 of 10,000 changed",
                "10 of 100 changed",
                Target(GIVEN, cpu=1.5),
                how="processes, without their start",
            ),
            dream.cost,
        ),
    ]
