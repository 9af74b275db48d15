"""Runs: what the model was asked, what it proposed and what became of it; its bundle, and it anew."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from starlette.responses import RedirectResponse, Response

from pipeline.app import bundle_archive, rerunning, run_views
from pipeline.app.rerunning import Rerun
from pipeline.app.run_views import KINDS, Look
from pipeline.app.spending import PURPOSES
from pipeline.core.errors import ReverieError, UsageError
from pipeline.text.humanize import room
from pipeline.web.listed import MOST_FROM, ROWS
from pipeline.web.visit import Visit

_KINDS = {"": "All", "extract": "Extractions", "dream": "Dreams"}
_STRATEGIES = {"turn": "Reading turns", "conversation": "Reading a conversation whole", "dream": "Dream"}
_FATES = {
    "created": ("good", "kept"),
    "updated": ("good", "changed a memory"),
    "withdrawn": ("good", "taken back"),
    "known": ("", "known already"),
    "inbox": ("warn", "put in the inbox"),
    "refused": ("bad", "turned down"),
    "": ("", "not noted"),
}
"""The look of what became of a candidate, and its words."""
_MOST_MODEL = 100
_MOST_ASKED = 20
_asked: dict[str, list[Rerun]] = {}
"""What runs gave that were asked anew on this page, the last first: nothing of it is stored elsewhere."""
_ASKING = Lock()


def shelf(visit: Visit) -> Response:
    """Return the runs, the newest first."""
    kind, everywhere = visit.asked("kind"), bool(visit.asked("all"))
    if kind not in _KINDS:
        raise UsageError(f"there are no runs of the kind {kind!r}", fix=f"Kinds: {', '.join(KINDS)}.")
    start = visit.number("from", 0, most=MOST_FROM)
    rows, total = run_views.newest(visit.app, start, ROWS, kind=kind, everywhere=everywhere)
    return visit.page(
        "runs.html",
        "runs",
        "Runs",
        rows=rows,
        total=total,
        start=start,
        size=ROWS,
        kind=kind,
        kinds=_KINDS,
        strategies=_STRATEGIES,
        everywhere=everywhere,
        next_step="" if total else visit.app.next_step(),
    )


def whole(visit: Visit) -> Response:
    """Return one run of extraction as a whole; a dream has a page of its own."""
    return _page(visit, visit.request.path_params["id"])


def download(visit: Visit) -> Response:
    """Return the bundle of a run as a file."""
    made = run_views.look(visit.app, visit.request.path_params["id"]).bundle
    return Response(
        bundle_archive.pack(made.texts),
        media_type="application/zip",
        headers={"content-disposition": f'attachment; filename="{made.file_name}"'},
    )


def rerun(visit: Visit) -> Response:
    """Ask a run anew, of the model that the form names; what it gave stands on the run's page."""
    run, model = visit.given("run"), visit.given("model").strip()
    if len(model) > _MOST_MODEL or not model.isprintable():
        raise UsageError("that is no name of a model", fix="Write one as `model.model` has it.")
    if not _ASKING.acquire(blocking=False):
        raise UsageError("a run is being asked anew just now", fix="Wait for its answer.")
    try:
        found = rerunning.rerun(visit.app, run, model=model)
    except ReverieError as error:
        return _page(visit, run, wrong=error, model=model)
    finally:
        _ASKING.release()
    _asked[found.run_id] = [found, *_asked.pop(found.run_id, [])][:_MOST_ASKED]
    for old in list(_asked)[:-_MOST_ASKED]:
        del _asked[old]
    address = visit.url(f"runs/{found.run_id}", done="Asked anew. Nothing was changed.")
    return RedirectResponse(f"{address}#anew", status_code=303)


def _page(visit: Visit, run: str, *, wrong: ReverieError | None = None, model: str = "") -> Response:
    app = visit.app
    found = run_views.look(app, run)
    return visit.page(
        "run.html",
        "runs",
        "Run",
        status=400 if wrong else 200,
        found=found,
        strategy=_STRATEGIES.get(str(found.run["strategy"]), found.run["strategy"]),
        purposes=PURPOSES,
        fates=_FATES,
        tally=_tally(found),
        sizes={name: room(len(text.encode())) for name, text in found.bundle.texts.items()},
        expected=run_views.expected(app, found, model),
        anew=_asked.get(found.id, []),
        most_read=run_views.MOST_READ,
        wrong=wrong,
        model=model,
    )


def _tally(found: Look) -> list[tuple[str, str, int]]:
    """Return how many of the candidates came to what: look, words, number."""
    every: Iterable[Any] = (*found.candidates, *found.others)
    numbers: dict[str, int] = {}
    for item in every:
        numbers[item.fate] = numbers.get(item.fate, 0) + 1
    return [(*_FATES.get(fate, ("", fate)), number) for fate, number in numbers.items()]
