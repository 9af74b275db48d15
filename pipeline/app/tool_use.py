"""What can be learnt from traces: habits of tool use, sessions like one, files used together, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pipeline.app import traces
from pipeline.app.application import App
from pipeline.core.errors import InputError
from pipeline.formats.keisei.classes import classify
from pipeline.formats.keisei.coaccess import Pair, coaccess
from pipeline.formats.keisei.events import Event, Trace
from pipeline.formats.keisei.similar import Sessions, Similar
from pipeline.safety.structured import Cleaner


class Source:
    """The transcripts that a question is about: the newest first, what can't be read named afterwards."""

    def __init__(self, folder: Path | None = None, *, newest: int | None = None) -> None:
        self.skipped: list[InputError] = []
        self.secrets = traces.secrets_known(App())
        self.clean = Cleaner(self.secrets).text
        files, hidden = traces.below(folder)
        self.skipped += hidden
        self.known = len(files)
        self.files: Sequence[Path] = files if newest is None else files[:newest]

    def events(self, session: str = "") -> Iterator[Event]:
        """Yield the events of all transcripts, or those of the sessions whose id begins with `session`."""
        for path in self.files:
            yield from self._of(path, session)

    def class_of(self, event: Event) -> str:
        """Return the class of `event`, without secrets."""
        return self.clean(classify(event).label)

    def _of(self, path: Path, session: str) -> Iterator[Event]:
        try:
            for event in Trace(path, quiet=True).events:
                if event.session.startswith(session):
                    yield event
        except InputError as error:
            self.skipped.append(error)
        except FileNotFoundError:
            # Deleted since it was listed, as the client does with old ones.
            return


def similar_sessions(source: Source, session: str, text: str, *, most: int) -> tuple[str, list[Similar]]:
    """Return the id of the session that `session` names, and those like it; or those like `text`, and "".

    `session` is an id or the beginning of one, or a file.
    """
    held = Sessions(source.secrets)
    if text:
        held.add(source.events())
        return "", held.like_text(text, most=most)
    held.add(source.events())
    named = held.named(session)
    if len(named) > 1:
        raise InputError(
            f"{len(named)} sessions have an id that begins with {session!r}",
            fix=f"Write more of it: {', '.join(named[:3])}.",
        )
    if named:
        return named[0], held.like(named[0], most=most)
    path = traces.find(session)
    held.add(Trace(path, quiet=True).events)
    wanted = _session_of(path, session)
    return wanted, held.like(wanted, most=most)


def _session_of(path: Path, asked: str) -> str:
    """Return the session of the first call or prompt in a file, which may be named otherwise."""
    session = ""
    for event in Trace(path, quiet=True).events:
        if event.role or event.typed:
            session = session or event.session
    if session:
        return session
    raise InputError("nothing was said or done in it", file=str(path), fix=f"{asked} has nothing to compare.")


def used_together(source: Source, *, session: str, file: str, times: int) -> list[Pair]:
    """Return the files that were used together, without secrets in their names."""
    return [
        Pair(source.clean(pair.file_a), source.clean(pair.file_b), pair.count, pair.sessions)
        for pair in coaccess(source.events(session), file=file, times=times)
    ]


def field_of(pairs: Sequence[Pair], most: int) -> tuple[list[str], list[list[int]]]:
    """Return files that belong together, and how often each two of them were used together.

    The most frequent pair is the first, and each further file the one used most with those before.
    """
    beside: dict[str, dict[str, int]] = {}
    for pair in pairs:
        beside.setdefault(pair.file_a, {})[pair.file_b] = pair.count
        beside.setdefault(pair.file_b, {})[pair.file_a] = pair.count
    names = [pairs[0].file_a, pairs[0].file_b] if pairs else []
    ties: dict[str, int] = {}
    for name in names:
        _add_ties(ties, beside[name])
    while len(names) < most and (left := ties.keys() - set(names)):
        name = min(left, key=lambda name: (-ties[name], name))
        names.append(name)
        _add_ties(ties, beside[name])
    return names, [[beside[name].get(other, 0) for other in names] for name in names]


def _add_ties(ties: dict[str, int], more: Mapping[str, int]) -> None:
    for name, number in more.items():
        ties[name] = ties.get(name, 0) + number
