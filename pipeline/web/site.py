"""All addresses of the page, and the one catch-all boundary around each request."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Route

from pipeline.app import scopes
from pipeline.app.kept_stores import ServedApp, Stores
from pipeline.app.retried import retried
from pipeline.core.errors import (
    ConflictError,
    InputError,
    OvertakenError,
    ReverieError,
    UnknownMemoryError,
    cause,
)
from pipeline.store import one_look
from pipeline.web import pages
from pipeline.web.pages import PAGES
from pipeline.web.rendering import STATIC, capitalized, environment, render
from pipeline.web.visit import MOST_FORM, SECTIONS, PageFunction, Setting, Visit

AT_EACH_KEY_SECONDS = 2.0
"""So old a look at the files may be for what is shown while somebody types."""
_FIRST = ("frame.html", "memories.html", "memories_found.html", "memories_parts.html")
"""What the first page is made of."""
LOG = logging.getLogger("reverie.web")
_FILES = {
    "style.css": "text/css",
    "page.js": "text/javascript",
    "graph.js": "text/javascript",
    "search.js": "text/javascript",
    "inbox.js": "text/javascript",
    "live.js": "text/javascript",
    "onward.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}
"""The files a page may ask for, and no others: no path comes from an address."""
_MOST_FIELDS = 5_000


def site(setting: Setting) -> Starlette:
    """Return the whole page as an app."""
    routes = [Route("/static/{name}", _static, methods=["GET"])]
    for path, page, methods in PAGES:
        endpoint = _endpoint(partial(pages.shown, page), setting)
        routes.append(Route(f"/{path}", endpoint, methods=list(methods)))
    made = Starlette(routes=routes, exception_handlers={HTTPException: _no_such_page})
    pages.load(pages.FIRST)
    addresses = {path for path, _, _ in PAGES}
    made.state.sections = [section for section in SECTIONS if section[2] in addresses]
    return made


def warm(setting: Setting) -> None:
    """Begin to read what the first page needs, while the browser is still on its way or a person reads."""

    def app(stores: Stores) -> ServedApp:
        return ServedApp(stores, store=setting.store, folder=setting.folder)

    def opened(stores: Stores) -> None:
        for scope in scopes.all_of(app(stores)):
            if not scope.is_fresh:
                scope.open_store().open_ahead()

    def listed(_: Stores) -> None:
        for template in _FIRST:
            environment().get_template(template)

    setting.stores.warm(opened, listed)


def _endpoint(page: PageFunction, setting: Setting) -> Any:
    async def answer(request: Request) -> Response:
        try:
            form = await _form_of(request)
        except ClientDisconnect:
            return PlainTextResponse("", status_code=400)
        except ReverieError as error:
            return _failure(request, error, 413)
        return await run_in_threadpool(_answered, page, request, setting, form)

    return answer


def _answered(
    page: PageFunction, request: Request, setting: Setting, form: Mapping[str, list[str]]
) -> Response:
    """Return what `page` answers; the boundary at which any error becomes one readable page."""
    try:
        if request.method != "GET":
            return _of_page(page, request, setting, form)
        try:
            return _looked_at(page, request, setting, AT_EACH_KEY_SECONDS if _is_part(request) else 0.0)
        except ConflictError:
            # What changed while it was read is read again; a change is never tried twice here.
            return retried(_looked_at)(page, request, setting, 0.0)
    except ReverieError as error:
        return _framed(request, setting, form, error)
    except OSError as error:
        return _failure(request, ReverieError(cause(error), fix="`reverie doctor` looks at the rest."), 500)
    except Exception as error:
        LOG.exception("a page failed: %s", request.url.path.rpartition("/")[2])
        fix = "This is a fault in Reverie; the log has where."
        return _failure(request, ReverieError(str(error) or "something that nobody foresaw", fix=fix), 500)


def _is_part(request: Request) -> bool:
    return "part" in request.query_params


def _looked_at(page: PageFunction, request: Request, setting: Setting, within: float) -> Response:
    # What only shows looks at the files once for all that it shows.
    with one_look(within):
        return _of_page(page, request, setting, {})


def _of_page(
    page: PageFunction, request: Request, setting: Setting, form: Mapping[str, list[str]]
) -> Response:
    with setting.stores.taken() as stores:
        visit = Visit(request, setting, form, stores)
        if visit.changes and not visit.is_proved:
            raise InputError(
                "this form is not of the page as it runs now",
                fix="Go back, load the page again, and send it anew.",
            )
        return page(visit)


def _framed(
    request: Request, setting: Setting, form: Mapping[str, list[str]], error: ReverieError
) -> Response:
    """Return what went wrong in the frame, or alone where what the frame shows can't be read either."""
    try:
        with setting.stores.taken() as stores:
            return _in_frame(Visit(request, setting, form, stores), error)
    except (ReverieError, OSError):
        return _failure(request, error, _status_of(error))


def _in_frame(visit: Visit, error: ReverieError) -> Response:
    """Return what went wrong in the frame of all pages, with a way back."""
    asked = visit.request.url.path.removeprefix(visit.request.scope["root_path"]).strip("/").split("/")[0]
    sections = {path: (key, label) for key, label, path in visit.request.app.state.sections}
    path = asked if asked in sections else ""
    key, label = sections[path]
    query = {"run": visit.given("dream")} if path == "dreams" else {"item": visit.given("item")}
    back = visit.url(path, **(query if visit.changes else {}))
    if isinstance(error, OvertakenError):
        from pipeline.app import undoing

        name, scope = visit.given("name"), visit.given("scope")
        return visit.page(
            "undo_blocked.html",
            key,
            "That can’t be undone as it stands",
            status=_status_of(error),
            wrong=error,
            way=undoing.in_the_way(visit.app, error),
            fields={"name": name, "scope": scope} if name else {},
            back=visit.memory(name, scope) if name else back,
            back_to=name or label,
        )
    return visit.page(
        "trouble.html",
        key,
        "That did not work",
        status=_status_of(error),
        message=capitalized(str(error.args[0])),
        file=str(error.file or ""),
        fix=error.fix,
        back=back,
        back_to=label,
    )


def _status_of(error: ReverieError) -> int:
    if isinstance(error, UnknownMemoryError):
        return 404
    if isinstance(error, ConflictError):
        return 409
    return 400 if isinstance(error, InputError) else 500


def _failure(request: Request, error: ReverieError, status: int) -> Response:
    file, root = str(error.file or ""), request.scope["root_path"]
    text = render(
        "error.html", title="That did not work", message=str(error), file=file, fix=error.fix, root=root
    )
    return Response(text, status_code=status, media_type="text/html")


async def _form_of(request: Request) -> dict[str, list[str]]:
    """Return the form that was sent, by name. Raises InputError for one that is too long or no form."""
    if request.method != "POST":
        return {}
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise InputError("that is no form of this page", fix="Go back, and send the form again.")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_FORM:
            raise InputError("that is too long", fix=f"Send at most {MOST_FORM:,} characters.")
    try:
        return parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise InputError("that has too many fields", fix=f"Send at most {_MOST_FIELDS:,}.") from error


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _FILES:
        raise HTTPException(404)
    return FileResponse(STATIC / name, media_type=_FILES[name], headers={"cache-control": "no-cache"})


async def _no_such_page(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _failure(request, InputError("there is no such page", fix="Take a link of the page."), status)
