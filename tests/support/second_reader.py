"""A scripted second reader: it knows what is true of texts, and errs as often as it is told to.

    bench.model(planned(...), second_reader(Truth(covers=..., one_fact=...), error_rate=0.1, seed=7))

`Truth` holds plain functions over bare texts: without labels, days, quotes or blank lines (see `bare`). The
reader parses the questions of a ``consolidate.verify`` request, answers each from the truth, and with
`error_rate` gives instead one of the other answers that the question allows, each as likely as the next. The
dice belong to the reader, so that one seed gives one course of errors over all its calls.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pipeline.consolidation.second_reader.reading import PURPOSE
from pipeline.llm.fakes import Scripted
from pipeline.llm.request import Request

Model = Callable[[Request], Scripted]
_QUESTION = re.compile(r"^\[(q\d+)\] (\w+)\n((?:(?:\w+:\n)(?:    .*\n?)*)+)", re.MULTILINE)
_PART = re.compile(r"^(\w+):\n((?:    .*\n?)*)", re.MULTILINE)
_LABEL = re.compile(r"\*\*(?:why|how to apply|also):\*\*|^(?:why|how to apply):", re.IGNORECASE)
_SAID = re.compile(r"^\(said (\d{4}-\d\d-\d\d)\)$", re.MULTILINE)
_AROUND = re.compile(
    r"^(?:… .*|\(said .*\)|\(nobody knows .*\)|\((?:the user|the assistant), .*\))$", re.MULTILINE
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def bare(text: str) -> str:
    """Return `text` on one line, without labels and what a question shows around it."""
    return " ".join(_LABEL.sub(" ", _AROUND.sub("", text)).split())


def same_text(text: str, other: str) -> bool:
    """Whether two texts are one, also where one of them was cut at its end."""
    mine, theirs = bare(text), bare(other)
    return bool(mine and theirs) and (mine.startswith(theirs) or theirs.startswith(mine))


def never(*_: str) -> bool:
    return False


@dataclass(frozen=True)
class Truth:
    """What is true of texts; by default nothing covers, equals or replaces anything.

    - `covers(sentence, other)`: does `other` say all that `sentence` says?
    - `one_fact(text, other)`: do two whole memories state one fact?
    - `replaces(later, earlier)`: does a text said later take the place of an earlier one?
    - `until(text)`: the day that a memory names as its end, with the words that name it, or None.
    - `everywhere(quotes)`: was it said of all projects?
    """

    covers: Callable[[str, str], bool] = never
    one_fact: Callable[[str, str], bool] = never
    replaces: Callable[[str, str], bool] = never
    until: Callable[[str], tuple[str, str] | None] = lambda _: None
    everywhere: Callable[[str], bool] = never


@dataclass(frozen=True)
class Asked:
    """One question as it stands in a request; `texts` by label, in order."""

    number: str
    kind: str
    texts: Mapping[str, str]

    @property
    def candidates(self) -> list[tuple[str, str]]:
        return [(label, text) for label, text in self.texts.items() if label.isdigit()]


def questions(request: Request) -> list[Asked]:
    """Return the questions of a ``consolidate.verify`` request."""
    found = []
    for number, kind, rest in _QUESTION.findall(request.messages[0].content):
        texts = {
            label: "\n".join(line[4:] for line in text.splitlines()) for label, text in _PART.findall(rest)
        }
        found.append(Asked(number, kind, texts))
    return found


def second_reader(truth: Truth, error_rate: float = 0.0, seed: int = 0) -> Model:
    """Return a model that answers verify requests by `truth`, and wrongly with `error_rate` (0 to 1)."""
    dice = Random(seed)

    def answer(request: Request) -> Scripted:
        assert request.purpose == PURPOSE, request.purpose
        answers = []
        for item in questions(request):
            right, quote = _right(truth, item)
            if dice.random() < error_rate:
                right, quote = dice.choice(
                    [pair for pair in _allowed(item) if pair[0] != right] or [("", "")]
                )
            answers.append({"question": item.number, "answer": right, "quote": quote})
        return {"answers": answers}

    return answer


def scripted(planner: Model, reader: Model | None = None) -> Model:
    """Return one model out of both: the purpose of a request says whom it is for.

    Without a `reader` the second one finds just what the plan said.
    """
    plans: list[tuple[Request, Any]] = []

    def answer(request: Request) -> Scripted:
        if request.purpose == PURPOSE:
            return (reader or second_reader(_as_planned(plans)))(request)
        reply = planner(request)
        plans.append((request, reply))
        return reply

    return answer


# -- the right answers ------------------------------------------------------------------------------------


def _right(truth: Truth, item: Asked) -> tuple[str, str]:
    texts = item.texts
    choices: dict[str, Callable[[], str]] = {
        "covers": lambda: _first(item, lambda text: truth.covers(bare(texts["sentence"]), bare(text)), "0"),
        "which": lambda: _first(item, lambda text: truth.one_fact(bare(texts["note"]), bare(text)), "0"),
        "overtaken": lambda: _first(item, lambda text: _replaces(truth, text, texts["note"]), "0"),
        "compare": lambda: _compared(truth, bare(texts["X"]), bare(texts["Y"])),
        "fact": lambda: "both" if truth.one_fact(bare(texts["X"]), bare(texts["Y"])) else "different",
        "holds": lambda: _standing(truth, texts["A"], texts["B"]),
        "after": lambda: "no" if (truth.until(bare(texts["note"])) or ("", ""))[0] == texts["day"] else "yes",
        "all": lambda: "yes" if truth.everywhere(texts["quotes"]) else "no",
        "reach": lambda: "all" if truth.everywhere(texts["quotes"]) else "unsaid",
    }
    if item.kind == "until":
        return truth.until(bare(texts["note"])) or ("none", "")
    return choices[item.kind](), ""


def _first(item: Asked, fits: Callable[[str], bool], otherwise: str) -> str:
    return next((label for label, text in item.candidates if fits(text)), otherwise)


def _compared(truth: Truth, first: str, second: str) -> str:
    more, less = truth.covers(second, first), truth.covers(first, second)
    return "same" if more and less else "x" if more else "y" if less else "different"


def _standing(truth: Truth, first: str, second: str) -> str:
    return "a" if _replaces(truth, first, second) else "b" if _replaces(truth, second, first) else "both"


def _replaces(truth: Truth, later: str, earlier: str) -> bool:
    days = [(_SAID.findall(text) or [""])[0] for text in (later, earlier)]
    return days[0] >= days[1] and truth.replaces(bare(later), bare(earlier))


def _allowed(item: Asked) -> list[tuple[str, str]]:
    """Return every answer that `item` allows, with a quote where one is needed."""
    words = {
        "compare": "same x y different",
        "fact": "same x y both different",
        "holds": "a b both apart",
        "after": "no yes",
        "all": "yes no",
        "reach": "all here unsaid",
    }
    if item.kind == "until":
        days = dict.fromkeys(_DAY.findall(item.texts["note"]))
        return [*((day, day) for day in days), ("none", "")]
    answers = words.get(item.kind, " ".join([*(label for label, _ in item.candidates), "0"])).split()
    return [(answer, "") for answer in answers]


# -- a reader that finds what the plan said ---------------------------------------------------------------


def shown_texts(request: Request) -> dict[str, str]:
    """Return handle → text, of memories (m1) and of their sentences (m1.2), in a plan's request."""
    found: dict[str, str] = {}
    handle = ""
    for line in request.messages[0].content.splitlines():
        match = re.match(
            r"    \[([mf]\d+\.\d+)\] (?:\((?:why|how to apply|\d{4}-\d\d-\d\d, )[^)]*\) )?(.*)", line
        )
        if match:
            handle = match[1]
            found[handle] = match[2]
        elif line.startswith("        ") and handle:
            found[handle] += " " + line.strip()
    for handle, text in list(found.items()):
        whole = handle.partition(".")[0]
        found[whole] = f"{found.get(whole, '')} {text}".strip()
    return found


def _as_planned(plans: Sequence[tuple[Request, Any]]) -> Truth:
    covers, facts, replaced, ends = [], [], [], []
    everywhere = False
    for request, reply in plans:
        texts = shown_texts(request)
        for item in _operations(reply):
            ids = [*item["ids"], *([item["into"]] if item.get("into") else [])]
            pairs = [(texts.get(a, ""), texts.get(b, "")) for a in ids for b in ids if a != b]
            listed = [(texts.get(c["sentence"], ""), texts.get(c["by"], "")) for c in item.get("covered", ())]
            facts += pairs if item["op"] == "merge" else []
            covers += listed if item["op"] == "merge" else []
            replaced += pairs if item["op"] == "supersede" else listed if item["op"] == "strike" else []
            if item["op"] == "retire" and item.get("until"):
                ends += [(texts.get(one, ""), item["until"]) for one in item["ids"]]
            everywhere |= item["op"] == "promote"
    return Truth(
        covers=lambda text, other: _listed(covers, text, other),
        one_fact=lambda text, other: _listed(facts, text, other),
        replaces=lambda later, earlier: _listed(replaced, earlier, later),
        until=lambda text: next(((day, day) for known, day in ends if same_text(known, text)), None),
        everywhere=lambda _: everywhere,
    )


def _operations(reply: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(reply, Mapping):
        yield from (item for item in reply.get("operations", ()) if isinstance(item.get("ids"), list))


def _listed(pairs: Sequence[tuple[str, str]], text: str, other: str) -> bool:
    return any(same_text(text, known) and same_text(other, by) for known, by in pairs)
