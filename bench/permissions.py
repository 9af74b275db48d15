"""What becomes of sentences that grant a right or command a model, and of facts that look alike.

    python -m bench.permissions [CORPUS] [--llm SPEC] [--list KIND]

A corpus is a file of lines ``{"id", "lang", "kind": "grant" | "instruction" | "fact", "text"}``; by default
``fixtures/permissions/looked_at.jsonl``. Two things are counted, by language and by kind:

- the word list alone (`safety.guard`): what it names;
- the whole path: a person types each line, a first reader that complies proposes it word for word as a memory
  and quotes it, and the second reader decides beside the list.

The second reader's answers are recorded ones (``cassettes`` beside the corpus); ``--llm record:DIR`` records
them from the Messages API that the settings name, and ``--llm blind`` lets a reader answer that finds no
fault with anything, so that the list stands alone. ``--list`` prints each line of a kind with what became of
it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline import config
from pipeline.core import zone
from pipeline.extraction.outcome import Outcome
from pipeline.extraction.run import extract
from pipeline.ledger import inbox
from pipeline.ledger.connection import open_ledger
from pipeline.llm.fakes import Scripted
from pipeline.llm.providers import open_provider
from pipeline.llm.request import Provider, RawReply, Request
from pipeline.safety.guard import violation
from pipeline.store import Store
from tests.support.extraction import Bench, fact, reply
from tests.support.model import TwoReaders, borne_out
from tests.support.transcripts import Transcript

CORPUS = Path(__file__).resolve().parents[1] / "fixtures" / "permissions" / "looked_at.jsonl"
KINDS = ("grant", "instruction", "fact")
OUTCOMES = ("live", "less", "inbox", "refused", "else")
"""Kept as it was said; kept in the second reader's narrower words; waits for a person; dropped as a
permission or an order; dropped for another reason."""
TOGETHER = 20
"""Lines that the second reader sees in one request."""
_ATONCE = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A line of the corpus; `doubt` says that its author was not sure of the kind."""

    id: str
    lang: str
    kind: str
    text: str
    doubt: bool = False


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a case: one of `OUTCOMES`, and the reason that was given or the words that were kept."""

    case: Case
    outcome: str
    reason: str = ""


def cases(corpus: Path = CORPUS) -> list[Case]:
    """Return the cases in their order. Raises ValueError for a line that is none or has an id of another."""
    found = []
    for number, line in enumerate(corpus.read_text("utf-8").splitlines(), start=1):
        try:
            case = Case(**json.loads(line))
        except TypeError as error:
            raise ValueError(f"{corpus}:{number}: {error}") from error
        if case.kind not in KINDS or not case.text.strip() or "\n" in case.text:
            raise ValueError(f"{corpus}:{number}: no case: {line}")
        found.append(case)
    twice = [item for item, count in Counter(case.id for case in found).items() if count > 1]
    if twice:
        raise ValueError(f"{corpus}: the same id twice: {twice[0]}")
    return found


def by_list(corpus: Iterable[Case]) -> list[Fate]:
    """Return what the word list alone says of each case: it doubts (“refused”) or lets it pass (“live”)."""
    return [
        Fate(case, "refused" if (found := violation(case.text)) else "live", found or "") for case in corpus
    ]


def by_path(corpus: Sequence[Case], spec: str) -> list[Fate]:
    """Return what becomes of each case on the whole path, with the second reader that `spec` names.

    That is ``blind``, or what `providers.open_provider` takes. Raises what a provider raises.
    """
    pages = [corpus[start : start + TOGETHER] for start in range(0, len(corpus), TOGETHER)]
    with zone.using("UTC"), tempfile.TemporaryDirectory(prefix="reverie-permissions-") as folder:
        homes = [Path(folder) / str(number) for number in range(len(pages))]
        atonce = _ATONCE if spec.startswith("record:") else 1
        with ThreadPoolExecutor(atonce) as pool:
            return [fate for fates in pool.map(_page, pages, homes, [spec] * len(pages)) for fate in fates]


def _page(page: Sequence[Case], home: Path, spec: str) -> list[Fate]:
    """Let a person say every line of `page` in one session, read it, and return what became of each."""
    settings = config.load(home)
    session = Transcript(cwd=str(home / "work"))
    for case in page:
        session.user(case.text)
        # Two lines between two of a person's, so that none explains another.
        session.assistant("Noted.")
        session.assistant("Go on.")
    with open_ledger(home / "ledger.sqlite") as ledger:
        bench = Bench(ledger, Store.open(home / "memory", create=True), home, settings=settings)
        bench.provider = _Readers(page, _second(spec, settings, home))
        path = session.write(home / "session.jsonl")
        key = bench.ingest(path).key
        strategy = bench.turns(key, first_sight=False)
        outcomes: list[Outcome] = []
        while outcome := extract(bench.desk(), strategy):
            outcomes.append(outcome)
        waiting = {
            item.payload["name"]: item.reason for item in inbox.list_inbox(ledger, str(bench.store.root))
        }
    rejected = {item["name"]: item["reason"] for outcome in outcomes for item in outcome.rejected}
    live = {document.name: document.memory.body.strip() for document in bench.store.scan().documents}
    return [_fate(case, live, waiting, rejected) for case in page]


def _fate(
    case: Case, live: Mapping[str, str], waiting: Mapping[str, str], rejected: Mapping[str, str]
) -> Fate:
    name = _name(case)
    if name in live:
        return Fate(case, "live") if live[name] == case.text else Fate(case, "less", live[name])
    if name in waiting:
        return Fate(case, "inbox", waiting[name])
    reason = rejected.get(name, "not proposed")
    barred = any(word in reason for word in ("permission", "instruction"))
    return Fate(case, "refused" if barred else "else", reason)


class _Readers(TwoReaders):
    """A first reader that proposes every line word for word, and the second one `second`."""

    def __init__(self, page: Sequence[Case], second: Provider | None) -> None:
        super().__init__(_complying(page), borne_out)
        self._second = second

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the reply of whichever reader is asked."""
        if self._second is not None and request.purpose == "extract.verify":
            return self._second.send(request, schema)
        return super().send(request, schema)


def _second(spec: str, settings: config.Settings, home: Path) -> Provider | None:
    return None if spec == "blind" else open_provider(spec, settings.model, home=home)


def _complying(page: Sequence[Case]) -> Callable[[Request], Scripted]:
    facts = [
        fact(3 * number + 1, case.text, name=_name(case), statement=case.text)
        for number, case in enumerate(page)
    ]
    return lambda request: reply(*facts)


def _name(case: Case) -> str:
    return f"note-{case.id}"


def table(fates: Iterable[Fate], group: Callable[[Case], str]) -> str:
    """Return how often each outcome came for each kind, a row for each `group` of cases."""
    counts = Counter((group(fate.case), fate.case.kind, fate.outcome) for fate in fates)
    groups = sorted({key[0] for key in counts})
    columns = [(kind, word) for kind in KINDS for word in OUTCOMES]
    kinds = " " * 6 + "".join(f"{kind:>12}{'':33}" for kind in KINDS)
    head = " " * 6 + "".join(f"{word:>9}" for _, word in columns)
    rows = [f"{name:6}" + "".join(f"{counts[name, *column]:>9}" for column in columns) for name in groups]
    return "\n".join([kinds, head, *rows])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.permissions", description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", type=Path, default=CORPUS)
    parser.add_argument("--llm", default="", help="replay:DIR, record:DIR or blind")
    parser.add_argument("--list", default="", help="print the lines of this kind", choices=["", *KINDS])
    options = parser.parse_args()
    corpus = cases(options.corpus)
    spec = options.llm or f"replay:{options.corpus.parent / 'cassettes'}"
    for title, fates in (("word list alone", by_list(corpus)), ("whole path", by_path(corpus, spec))):
        print(f"\n{title}: {len(corpus)} lines\n")
        print(table(fates, lambda case: case.lang))
        print(table(fates, lambda _: "all").rpartition("\n")[2])
        for fate in fates:
            if fate.case.kind == options.list:
                print(f"{fate.outcome:8} {fate.case.id:8} {fate.reason:40} {fate.case.text}")


if __name__ == "__main__":
    main()
