"""A folder of memories in one screen: what is in it, what is wrong with it, what Reverie will do with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pipeline.diagnostics.audit.run import Audit
from pipeline.diagnostics.audit.writers import Writers
from pipeline.domain.finding import Finding
from pipeline.store.soundness import INDEX_ENCODING
from pipeline.text.humanize import count


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of fault: how often it is there, in words that follow `number`, and in which files.

    Where it is between two files, both are among `paths`.
    """

    kind: str
    number: int
    about: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstSight:
    """A folder at a glance: its memory files, what is wrong, worst first, and who may change what.

    `more` counts what the audit found beside `rows`, and `kinds` how often each code is among it; `plan` is a
    sentence for each kind of writer, of whom `writers` has the numbers.
    """

    folder: str
    memories: int
    rows: tuple[Row, ...]
    more: int
    plan: tuple[str, ...]
    writers: Writers
    kinds: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Kind:
    """Which codes of the audit are one kind of fault, and what follows on one and on several.

    Where one file may have it more than once, `each` is true and all are counted, not the files. What is
    wrong between two files, with `both` true, names the other one too.
    """

    name: str
    codes: frozenset[str]
    one: str
    several: str
    each: bool = False
    both: bool = False


_KINDS = (
    _Kind("unreadable", frozenset({"unreadable", "front-matter"}), "can't be read", "can't be read"),
    _Kind(
        "conflicts", frozenset({"merge-conflict"}), "has both sides of a merge", "have both sides of a merge"
    ),
    _Kind(
        "secrets",
        frozenset({"secret"}),
        "has what looks like a password or a key",
        "have what looks like a password or a key",
    ),
    _Kind(
        "unloaded",
        frozenset({"overflow"}),
        "is longer than what Claude Code loads",
        "are longer than what Claude Code loads",
    ),
    _Kind(
        "dangling",
        frozenset({"dangling"}),
        "line leads to a file that is not there",
        "lines lead to files that are not there",
        each=True,
    ),
    _Kind(
        "unlisted",
        frozenset({"orphan"}),
        "is not in MEMORY.md, so no session is told of it",
        "are not in MEMORY.md, so no session is told of them",
    ),
    _Kind("unlisted", frozenset({"no-index"}), "index is missing", "indexes are missing"),
    _Kind(
        "encoding",
        frozenset({INDEX_ENCODING}),
        "index is not UTF-8: save it as UTF-8, until then Reverie leaves it as it is",
        "indexes are not UTF-8: save them as UTF-8, until then Reverie leaves them as they are",
    ),
    _Kind(
        "doubles",
        frozenset({"duplicate", "duplicate-name", "duplicate-id"}),
        "says what another one says, or has its name",
        "say what others say, or have their names",
        both=True,
    ),
    # Words are compared and not understood, so this is told as what may be.
    _Kind(
        "contradictions",
        frozenset({"contradiction", "perhaps-contradiction"}),
        "may contradict another one",
        "may contradict others",
        both=True,
    ),
    _Kind(
        "dead_paths",
        frozenset({"dead-path"}),
        "path that is named is gone",
        "paths that are named are gone",
        each=True,
    ),
    _Kind(
        "over",
        frozenset({"deadline-over"}),
        "names a day that is long over",
        "name days that are long over",
    ),
)


def first_sight(found: Audit) -> FirstSight:
    """Return what a person should see first of the audited folder."""
    rows = [_row(kind, found.findings) for kind in _KINDS]
    known = frozenset[str]().union(*(kind.codes for kind in _KINDS))
    more = Counter(finding.code for finding in found.findings if finding.code not in known)
    shown = tuple(row for row in rows if row.number)
    return FirstSight(
        str(found.folder),
        found.memories,
        shown,
        more.total(),
        tuple(_plan(found)),
        found.writers,
        tuple(more.most_common()),
    )


def _row(kind: _Kind, findings: Sequence[Finding]) -> Row:
    those = [finding for finding in findings if finding.code in kind.codes]
    paths = tuple(dict.fromkeys(finding.path for finding in those))
    number = len(those) if kind.each else len(paths)
    if kind.both:
        # A file and what it says otherwise stand beside each other.
        paths = tuple(dict.fromkeys(path for item in those for path in (item.path, item.other) if path))
    return Row(kind.name, number, kind.one if number == 1 else kind.several, paths)


def _plan(found: Audit) -> Iterator[str]:
    """Yield what Reverie does with the files of each writer, and what could not be looked at."""
    by = found.writers
    if by.reverie:
        yield f"{count(by.reverie, 'file is', 'files are')} Reverie's own."
    if by.claude:
        yield (
            f"{count(by.claude, 'file')} Claude wrote would take part: recalled, and merged or retired"
            " in a dream. `reverie undo` takes that back."
        )
    if by.person:
        stays = "stays" if by.person == 1 else "stay"
        yield (
            f"{count(by.person, 'file')} you wrote {stays} yours: recalled, and changed only at your yes:"
            " `reverie adopt`."
        )
    if by.mixed:
        waits = "waits" if by.mixed == 1 else "wait"
        yield (
            f"{count(by.mixed, 'file')} with words of Claude and of others {waits} for your yes too:"
            " `reverie adopt`."
        )
    if by.unknown:
        waits = "waits" if by.unknown == 1 else "wait"
        yield (
            f"{count(by.unknown, 'file')} nobody knows who wrote {waits} for your yes: `reverie adopt`."
            " Until then recalled, and never changed."
        )
    if by.held:
        stays = (
            "is pinned, not UTF-8, or was changed since Reverie wrote it: it stays as it is"
            if by.held == 1
            else "are pinned, not UTF-8, or were changed since Reverie wrote them: they stay as they are"
        )
        yield f"{count(by.held, 'file')} {stays}."
    if by.apart:
        lies = "lies" if by.apart == 1 else "lie"
        yield (
            f"{count(by.apart, 'file')} {lies} where Reverie changes nothing by itself,"
            " as in a team's folder."
        )
    if by.misnamed:
        have = "has a name" if by.misnamed == 1 else "have names"
        stay = "stays as it is" if by.misnamed == 1 else "stay as they are"
        yield f"{count(by.misnamed, 'file')} {have} that no memory can have, and {stay}."
    if by.note:
        yield by.note
