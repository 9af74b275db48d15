"""What a page needs of one request: the memories it is about, what was asked for, and the answer.

A page is a function from a `Visit` to a response. It reads and changes through `pipeline.app` alone, as the
commands do, and runs in a thread of its own.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pipeline.app import in_step
from pipeline.app.application import App
from pipeline.app.kept_stores import KeptStores, ServedApp, Stores
from pipeline.app.waiting import number_waiting
from pipeline.context import known_stores
from pipeline.core.errors import InputError, ReverieError, UsageError
from pipeline.core.home import Home
from pipeline.core.ids import digest
from pipeline.web.rendering import render

MOST_FORM = 400_000
"""Characters of a form; a memory's file has far less."""
_DIGITS = 18
SECTIONS = (
    ("memories", "Memories", ""),
    ("today", "Today", "today"),
    ("timeline", "Timeline", "timeline"),
    ("dreams", "Dreams", "dreams"),
    ("inbox", "Inbox", "inbox"),
    ("graph", "Graph", "graph"),
    ("runs", "Runs", "runs"),
    ("tools", "Tools", "tools"),
    ("cost", "Cost", "cost"),
    ("shared", "Sharing", "shared"),
    ("health", "Health", "health"),
)
"""The pages in the navigation: key, title, address."""
_WHERE_KEPT_IN_STEP = "shared"
"""The page that is named only where there is something to tell."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A memory folder to choose: `key` stands in addresses, "" for the project here."""

    key: str
    label: str
    path: Path


@dataclass(frozen=True, slots=True)
class Setting:
    """What all requests share: the folder `reverie open` was typed in, and what proves a form to be ours."""

    folder: Path
    secret: bytes
    store: Path | None = None
    stores: KeptStores = field(default_factory=KeptStores)

    @property
    def proof(self) -> str:
        """Return what each form carries (CSRF)."""
        return hmac.new(self.secret, b"form", sha256).hexdigest()


class Visit:
    """One request; `stores` are kept open, and nobody else's while it lasts."""

    def __init__(
        self, request: Request, setting: Setting, form: Mapping[str, list[str]], stores: Stores
    ) -> None:
        self._stores = stores
        self.request = request
        self.setting = setting
        self._form = form
        self.choice = self._chosen()

    # -- which memories -----------------------------------------------------------------------------

    @property
    def app(self) -> App:
        """Return Reverie over the chosen memories: those that count in the project here, or of one folder."""
        if self.choice.key:
            return ServedApp(self._stores, store=self.choice.path)
        return ServedApp(self._stores, store=self.setting.store, folder=self.setting.folder)

    @property
    def apart(self) -> App:
        """Return the same as `app` with stores of its own, for what takes seconds: nobody waits for it."""
        if self.choice.key:
            return App(store=self.choice.path)
        return App(store=self.setting.store, folder=self.setting.folder)

    @cached_property
    def choices(self) -> list[Choice]:
        """The folders one may choose: the project here first, then every other that is known."""
        here = App(store=self.setting.store, folder=self.setting.folder)
        found = [_here(here)]
        if Home(here.home).ledger.exists():
            with here.ledger(to_look=True) as ledger:
                others = [path for path in known_stores(ledger) if path != here.store_path and path.is_dir()]
            found += [Choice(key_of(path), _label(path), path) for path in others]
        return found

    def _chosen(self) -> Choice:
        wanted = self.asked("in")
        if not wanted:
            # The others are looked up only where they are shown.
            return _here(App(store=self.setting.store, folder=self.setting.folder))
        for choice in self.choices:
            if choice.key == wanted:
                return choice
        raise InputError("there is no such memory folder", fix="Choose one of the list.")

    # -- what was asked for -------------------------------------------------------------------------

    def asked(self, name: str, default: str = "") -> str:
        """Return the value of `name` in the address."""
        return self.request.query_params.get(name, default)

    def all_asked(self, name: str) -> list[str]:
        """Return every value of `name` in the address."""
        return self.request.query_params.getlist(name)

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return the whole number `name` in the address, from 0 to `most`; UsageError for anything else."""
        text = self.asked(name) or str(default)
        if not is_number(text) or int(text) > most:
            raise UsageError(f"{name} is no number from 0 to {most:,}", fix="Take a link on the page.")
        return int(text)

    def given(self, name: str, default: str = "") -> str:
        """Return the value of `name` in the form that was sent, line ends as files have them."""
        return self._form.get(name, [default])[-1].replace("\r\n", "\n")

    def all_given(self, name: str) -> list[str]:
        """Return every value of `name` in the form that was sent."""
        return self._form.get(name, [])

    @property
    def changes(self) -> bool:
        """Whether the request changes something."""
        return self.request.method == "POST"

    @property
    def is_proved(self) -> bool:
        """Whether the form that was sent is one of ours."""
        return hmac.compare_digest(self.given("proof").encode(), self.setting.proof.encode())

    # -- the answer ---------------------------------------------------------------------------------

    def url(self, path: str = "", **query: Any) -> str:
        """Return the address of a page of the chosen memories."""
        kept = {"in": self.choice.key, **query}
        asked = urlencode(
            {name: value for name, value in kept.items() if value not in ("", None)}, doseq=True
        )
        return f"{self.request.scope['root_path']}/{path}{'?' if asked else ''}{asked}"

    def memory(self, ref: str, scope: str = "", **query: Any) -> str:
        """Return the address of the memory that `ref` means in `scope`, whatever letters its name has."""
        return self.url(self.memory_path(ref), scope=scope, **query)

    def run(self, run: str, kind: str) -> str:
        """Return the address of a run, "" for what no page shows: a change that a program asked for."""
        pages = {"extract": (f"runs/{run}", {}), "dream": ("dreams", {"run": run})}
        path, query = pages.get(kind, ("", {}))
        return self.url(path, **query) if path else ""

    @staticmethod
    def memory_path(ref: str) -> str:
        """Return what leads to a memory below the page's own address."""
        return f"memory/{quote(ref, safe='')}"

    def page(self, template: str, section: str, title: str, *, status: int = 200, **values: Any) -> Response:
        """Return the page `template` with `values`, in the frame that all pages share."""
        text = render(
            template,
            visit=self,
            url=self.url,
            section=section,
            title=title,
            sections=self._sections(section),
            to_decide=self._to_decide(),
            done=self.asked("done"),
            proof=self.setting.proof,
            **values,
        )
        return HTMLResponse(text, status_code=status)

    def _sections(self, here: str) -> list[tuple[str, str, str]]:
        """Return the pages that are named: that of a team and of other machines where there are such."""
        named: list[tuple[str, str, str]] = self.request.app.state.sections
        if here == _WHERE_KEPT_IN_STEP or in_step.kept_here(self.app):
            return named
        return [section for section in named if section[0] != _WHERE_KEPT_IN_STEP]

    def _to_decide(self) -> int:
        try:
            return number_waiting(self.app)
        except ReverieError:
            # The menu is no place to say so; the page itself does, and Health.
            return 0

    def part(self, template: str, **values: Any) -> Response:
        """Return a piece of a page, for a script to put in place."""
        return HTMLResponse(render(template, visit=self, url=self.url, proof=self.setting.proof, **values))

    def go(self, path: str, done: str = "", **query: Any) -> Response:
        """Send the browser to a page after a change, which says what was `done`."""
        return RedirectResponse(self.url(path, done=done, **query), status_code=303)


PageFunction = Callable[[Visit], Response]


def is_number(text: str) -> bool:
    """Whether `text` is a whole number that the ledger can hold."""
    return text.isdecimal() and len(text) <= _DIGITS


def key_of(path: Path) -> str:
    """Return what stands for a memory folder in addresses: no path is shown there, and none is taken."""
    return digest(str(path))[:12]


def _here(app: App) -> Choice:
    return Choice("", _label(app.store_path), app.store_path)


def _label(path: Path) -> str:
    """Return how a folder is called: by its project as Claude Code spells it, else by its own name."""
    return path.parent.name if path.name == "memory" else path.name
