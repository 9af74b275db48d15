"""Choosing the memories for a prompt: `retrieve`.

Reads the search index, the files where they differ, and nothing else; writes nothing.
"""

import os

from pipeline.hooklib import memory_format, ownership, places, times
from pipeline.hooklib.asleep import hidden_in
from pipeline.recall.live import anchors, fence, rank, store_files
from pipeline.recall.live.candidates import Shelf
from pipeline.recall.live.orders import order_in
from pipeline.recall.live.question import parse_question, surface
from pipeline.recall.live.values import Budget, Considered, Recollection, Recollections
from pipeline.search.meaning import WordTable, nearness
from pipeline.text.actions import words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from os import PathLike

    from pipeline.recall.live.question import Question
    from pipeline.recall.live.store_files import Found
    from pipeline.text.stems import Forms

_IN_CONTEXT = "already in the context"
_ENDS_OF_WORDS = ".,;:!?…\"'`“”„‘’«»·。、，；：！？「」『』*_"


class _Fitting:
    """A memory that was weighed: how it fits, with what score, and why it is left out, "" if it is not.

    `team` says that its file lies where others write as well.
    """

    __slots__ = ("fit", "found", "score", "team", "verdict")

    def __init__(self, found: "Found", team: bool, fit: rank.Fit, score: float, verdict: str) -> None:
        self.found = found
        self.team = team
        self.fit = fit
        self.score = score
        self.verdict = verdict


def retrieve(
    prompt: str,
    store: "str | PathLike[str]",
    budget: "Budget | None" = None,
    *,
    home: "str | PathLike[str] | None" = None,
    user_store: "str | PathLike[str] | None" = None,
    session: str = "",
    context: str = "",
    earlier: "Callable[[], Iterable[tuple[float, str]]] | None" = None,
    sent: "Mapping[str, str] | None" = None,
    picks: "Collection[str]" = (),
    now: "float | None" = None,
    root: str = "",
) -> Recollections:
    """Return the memories of `store`, of its team and of `user_store`, that belong before `prompt`.

    `home` is Reverie's own folder, where the search indexes are; `session` the session that asks, to which
    nothing it taught is told again; `context` what was said before the prompt; `earlier` gives what the
    person typed in the session that the worker has not read, as (epoch seconds, text), and is asked only
    where a memory would come; `sent` what the session holds already (id or path to digest); `picks` names of
    memories that something better than words chose; `now` seconds since 1970; `root` the project's folder,
    for paths that memories are about. Never raises for what the stores or the index hold: what can't be
    looked at is told in `problems`.
    """
    limits = budget or Budget()
    moment = times.now() if now is None else now
    question = parse_question(prompt, context, os.fspath(root))
    problems: list[str] = []
    if not question.own or limits.memories < 1:
        return Recollections([], "", 0, [], 0, problems)
    stores = [*([(os.fspath(user_store), True)] if user_store else []), (os.fspath(store), False)]
    team = ownership.team_folder(stores[-1][0])
    if team:
        stores.append((team, False))
    home_path = os.fspath(home) if home else places.home_dir()
    shelves = _shelves(home_path, stores, problems)
    try:
        question.read_in({language for shelf in shelves for language in shelf.languages()})
        fitting = _weighed(home_path, question, shelves, limits, session, sent or {}, picks, moment)
        if any(not item.verdict for item in fitting):
            _drop_overruled(fitting, prompt, earlier() if earlier else (), shelves)
    finally:
        for shelf in shelves:
            shelf.close()
    chosen = _best(fitting, limits.memories)
    best = sorted(chosen, key=lambda item: not item.found.shown.get("pinned"))
    return _answer(best, fitting, question, limits, moment, root, problems)


def weigh(
    prompt: str, shelves: "list[Shelf]", limits: Budget, *, home: str, now: float
) -> "list[Considered]":
    """Return what `retrieve` would weigh of open `shelves` for a first `prompt`, the best first.

    How long the chosen ones are is not looked at.
    """
    question = parse_question(prompt)
    if not question.own or limits.memories < 1:
        return []
    fitting = _weighed(home, question, shelves, limits, "", {}, (), now)
    for item in _best(fitting, limits.memories):
        item.verdict = "chosen"
    return [_considered(item, lambda terms: surface(question.text, terms)) for item in fitting]


def _shelves(home: str, stores: "list[tuple[str, bool]]", problems: "list[str]") -> "list[Shelf]":
    found: list[Shelf] = []
    for store, everywhere in stores:
        if os.path.realpath(store) not in [shelf.root for shelf in found]:
            found.append(Shelf(home, store, everywhere, problems))
    return found


def _weighed(
    home: str,
    question: "Question",
    shelves: "list[Shelf]",
    limits: Budget,
    session: str,
    sent: "Mapping[str, str]",
    picks: "Collection[str]",
    now: float,
) -> "list[_Fitting]":
    asked = [*question.own, *question.context]
    order = order_in(question.text)
    keys = order.lookup_keys() if order else ()
    forms = question.forms
    found = [(item, shelf.team) for shelf in shelves for item in shelf.find(asked, keys, forms)]
    weights = _weights(asked, shelves, [item for item, _ in found], forms)
    floor = rank.floor_of(limits.floor)
    known = set(sent.values())
    meant = b""
    if any(item.vector for item, _ in found):
        table = WordTable(home)
        meant = table.vector(question.text)
        table.close()
    weighed = []
    asleep = {shelf.root: hidden_in(shelf.root, dormant=limits.dormant) for shelf in shelves}
    for item, team in found:
        haystack = _haystack(item) if question.exact else ""
        near = nearness(meant, item.vector) if item.vector else 0.0
        sure, moment = order.met(item.moments) if order and item.moments else (0.0, "")
        fit = rank.relevance(
            question, weights, _fields(item, forms), haystack, near, sure, _is_borne_out(item, team)
        )
        if not (fit.words or fit.score):
            continue
        fit.moment = moment
        fit.score *= _standing(item, now)
        verdict = rank.verdict(fit, weights, floor, str(item.shown.get("name")) in picks)
        verdict = verdict or _barred(item, session, known) or asleep[item.store].get(item.path, "")
        weighed.append(_Fitting(item, team, fit, fit.score, verdict))
    return weighed


def _drop_overruled(
    fitting: "list[_Fitting]",
    prompt: str,
    earlier: "Iterable[tuple[float, str]]",
    shelves: "list[Shelf]",
) -> None:
    """Leave out what the person's own words speak against, as long as no worker has read them."""
    from pipeline.recall.live import overruled  # Most prompts meet no memory, and need none of it.

    found = overruled.overrulings(prompt, earlier)
    if not found:
        return
    terms = list(dict.fromkeys(term for overruling in found for term in overruling.terms()))
    forms = overruled.forms_of(found, {language for shelf in shelves for language in shelf.languages()})
    weights = _weights(terms, shelves, [item.found for item in fitting], forms)
    for item in fitting:
        if item.verdict:
            continue
        shown = item.found.shown
        said_at = times.parse(shown.get("said"))
        against = [o for o in found if o.overrules(_fields(item.found, forms), weights, said_at)]
        text = f"{shown.get('description') or ''}\n{shown.get('body') or ''}" if against else ""
        if any(not o.is_said_by(text) for o in against):
            item.verdict = overruled.VERDICT


def _weights(
    terms: "list[str]", shelves: "list[Shelf]", found: "list[Found]", forms: "Forms"
) -> "dict[str, float]":
    total = sum(shelf.total for shelf in shelves)
    fresh = [set(" ".join(_fields(item, forms)).split()) for item in found if item.fresh]
    weights = {}
    for term in terms:
        documents = sum(shelf.documents(term, forms.get(term, ())) for shelf in shelves)
        weights[term] = rank.weight(term, documents + sum(term in held for held in fresh), total)
    return weights


def _fields(item: "Found", forms: "Forms") -> "Sequence[str]":
    """Return the columns of `item` with the terms of `forms` that it holds by their stems."""
    if not forms:
        return item.fields
    from pipeline.text import stems  # A question in English has no use for it.

    return stems.met(item.fields, item.stems, forms)


def _haystack(item: "Found") -> str:
    shown = item.shown
    parts = (shown.get("name"), shown.get("title"), shown.get("description"), shown.get("body"))
    texts = [str(part) for part in parts if part] + [str(anchor) for anchor in shown.get("anchors") or ()]
    return "\n".join(texts).casefold()


def _standing(item: "Found", now: float) -> float:
    shown = item.shown
    said_at = times.parse(shown.get("said"))
    return rank.standing(
        None if said_at is None else (now - said_at) / 86_400,
        _number(shown.get("weight"), 1.0),
        _number(shown.get("importance"), 0.5),
        bool(shown.get("pinned")),
        item.everywhere,
    )


def _number(value: object, default: float) -> float:
    return float(value) if isinstance(value, int | float) else default


def _is_borne_out(item: "Found", team: bool) -> bool:
    """Whether a person stands behind a rule as the index knows it."""
    origin, hand = str(item.shown.get("origin") or ""), str(item.shown.get("hand") or "")
    return not team and memory_format.is_persons(origin, hand)


def of_rules(
    met: "list[tuple[Found, float, str]]",
    limits: Budget,
    session: str,
    sent: "Mapping[str, str]",
    now: float,
    root: str,
    *,
    home: str = "",
    earlier: "Callable[[], Iterable[tuple[float, str]]] | None" = None,
) -> Recollections:
    """Return those of the rules `met` (with how sure, and the moment) that the session does not have.

    What the person overruled in words that `earlier` gives (see `retrieve`) is left out; how telling those
    are is counted by the indexes in `home`.
    """
    known = set(sent.values())
    fitting: list[_Fitting] = []
    for found, sure, moment in met:
        fit = rank.Fit(sure * _standing(found, now), [], [], "")
        fit.moment = moment
        fitting.append(_Fitting(found, False, fit, fit.score, _barred(found, session, known)))
    problems: list[str] = []
    unread = list(earlier()) if earlier and any(not item.verdict for item in fitting) else []
    if unread:
        stores = {item.found.store: item.found.everywhere for item in fitting}
        shelves = _shelves(home, list(stores.items()), problems)
        try:
            _drop_overruled(fitting, "", unread, shelves)
        finally:
            for shelf in shelves:
                shelf.close()
    best = _best(fitting, limits.memories)
    return _answer(best, fitting, parse_question(""), limits, now, root, problems, header=fence.RULES_HEADER)


def _barred(item: "Found", session: str, known: "set[str]") -> str:
    """Return why a memory that fits is not told all the same, or ""."""
    if item.shown.get("archived"):
        return "retired"
    if session and session in (item.shown.get("sessions") or ()):
        return "learned in this very session"
    return _IN_CONTEXT if item.digest in known else ""


def _best(fitting: "list[_Fitting]", most: int) -> "list[_Fitting]":
    """Put `fitting` in order and return those to tell, at most `most`, each memory once."""
    fitting.sort(key=lambda item: (-item.score, item.found.store, item.found.path))
    _drop_doubles(fitting)
    chosen = [item for item in fitting if not item.verdict]
    for item in chosen[most:]:
        item.verdict = f"relevant, but not among the best {most}"
    return chosen[:most]


def _text(item: _Fitting) -> str:
    """Return what tells that a memory of another scope says the same as `item`, or "".

    Case, spacing and the marks around words play no part; signs within them, as in ``-f`` or ``a.b``, do.
    """
    shown = item.found.shown
    if not shown.get("body") or shown.get("cut"):
        # Of a text that was cut nobody knows how it goes on.
        return ""
    whole = fence.with_description(shown, str(shown["body"]))
    return " ".join([word for piece in whole.casefold().split() if (word := piece.strip(_ENDS_OF_WORDS))])


def _drop_doubles(fitting: "list[_Fitting]") -> None:
    """Keep the best of several files that are one memory: the same bytes, for an id may be a copy's too.

    So are two of the same words in two scopes, such as one for all projects, which a dream copied from the
    project's. Where one of those is in the context already, so is the other.
    """
    seen: set[str] = set()
    texts: dict[str, set[str]] = {}
    for item in fitting:
        if item.verdict == _IN_CONTEXT:
            texts.setdefault(_text(item), set()).add(item.found.store)
    for item in fitting:
        text = _text(item)
        elsewhere = texts.get(text, set()) - {item.found.store} if text else ()
        if not item.verdict and (item.found.digest in seen or elsewhere):
            item.verdict = "the same as a better one"
        if not item.verdict:
            seen.add(item.found.digest)
            texts.setdefault(text, set()).add(item.found.store)


def _answer(
    best: "list[_Fitting]",
    fitting: "list[_Fitting]",
    question: "Question",
    limits: Budget,
    now: float,
    root: str,
    problems: "list[str]",
    header: str = fence.HEADER,
) -> Recollections:
    room = min(limits.chars, limits.session_chars_left)
    # Room for the header and the longest notice is set aside, so that no later piece decides over an earlier.
    left = room - fence.size(fence.brief([""], len(fitting), header))
    items: list[Recollection] = []
    for item in best:
        made = _recollection(item, question, limits, now, root)
        left -= fence.size(made.text) + 1
        if left < 0:
            left += fence.size(made.text) + 1
            item.verdict = "relevant, but there is no room left"
            continue
        item.verdict = "chosen"
        items.append(made)
    left_out = sum(item.verdict.startswith("relevant") for item in fitting)
    text = fence.brief([item.text for item in items], left_out, header)

    def as_typed(terms: "list[str]") -> "list[str]":
        return surface(question.text, terms)

    considered = [_considered(item, as_typed) for item in fitting]
    return Recollections(items, text, left_out, considered, fence.size(text), problems)


def _considered(item: _Fitting, as_typed: "Callable[[list[str]], list[str]]") -> Considered:
    return Considered(
        f"{item.found.store}/{item.found.path}",
        item.score,
        item.verdict,
        as_typed=as_typed,
        words=item.fit.words,
        exact=item.fit.exact,
        cue=item.fit.cue,
        near=item.fit.near,
        everywhere=item.found.everywhere,
    )


def _before(moment: str) -> "list[str]":
    return [f"before: {words_of(moment)}"] if moment else []


def _recollection(
    item: _Fitting, question: "Question", limits: Budget, now: float, root: str
) -> Recollection:
    found, shown = item.found, item.found.shown
    files = (
        ""
        if found.everywhere
        else anchors.freshness([str(item) for item in shown.get("anchors") or ()], root)
    )
    if item.team:
        shown["hand"] = ownership.TEAMS
    elif found.fresh:
        # The index does not know this file as it is now.
        whole = found.stamp[0] <= store_files.MOST_READ
        shown["hand"] = ownership.hand(found.store, found.path, found.digest) if whole else ownership.OTHER
    scope = "team" if item.team else "all projects" if found.everywhere else ""
    return Recollection(
        id=str(shown.get("id") or ""),
        name=str(shown.get("name") or ""),
        path=found.path,
        store=found.store,
        type=str(shown.get("type") or ""),
        digest=found.digest,
        score=item.score,
        why=surface(question.text, item.fit.words) + item.fit.exact + _before(item.fit.moment),
        text=fence.piece(
            shown,
            now=now,
            files=files,
            scope=scope,
            file=f"{found.store}/{found.path}",
            longest=limits.body,
        ),
        freshness=files,
        said_at=str(shown.get("said") or ""),
        origin=str(shown.get("origin") or ""),
        by=memory_format.speaker(
            str(shown.get("origin") or ""), str(shown.get("hand") or ""), str(shown.get("author") or "")
        ),
    )
