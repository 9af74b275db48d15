"""``reverie graph``: the whole of how memories hang together, in numbers or as one page."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pipeline.app.application import App
from pipeline.app.relation_map import RelationMap, mapped
from pipeline.cli import output
from pipeline.cli.options import GraphOption, JsonOption, StoreOption, UserOption
from pipeline.cli.page_files import HtmlOption, RedactOption, homes, require_fit, write_page
from pipeline.cli.tables import table
from pipeline.core.zone import minute
from pipeline.text.humanize import count


def drawing(
    html: HtmlOption = None,
    redact: RedactOption = False,
    user: UserOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how memories hang together, or write it as one page.

    `reverie open` shows the same with a page for each memory.
    """
    require_fit(html, redact=redact, as_json=as_json)
    app = App(store=store, user=user, graph=graph)
    found = mapped(app)
    if html is not None:
        _write(app, found, html, redact=redact)
        return
    value = {
        "memories": [asdict(spot) for spot in found.spots],
        "relations": [
            {"start": start, "end": end, "type": kind, "strength": strength}
            for start, end, kind, strength in found.bonds
        ],
        "problems": list(found.problems),
    }
    output.data(value, lambda: _tell(found), as_json=as_json)


def _write(app: App, found: RelationMap, html: Path, *, redact: bool) -> None:
    from pipeline.web import alone

    if redact:
        found = alone.without_private(found, homes(Path(app.here), app.store_path))
    write_page(html, alone.graph_file(found, minute(app.clock.now())), redacted=redact)


def _tell(found: RelationMap) -> None:
    output.line(f"{count(len(found.spots), 'memory', 'memories')}, {count(len(found.bonds), 'relation')}")
    rows = [[str(group), name, str(number)] for group, (name, number) in found.groups().items()]
    table(["cluster", "around", "memories"], rows, empty="no two memories are related yet")
    for line in found.problems:
        output.talk(line)
    output.talk("--html FILE draws it; `reverie open` shows it in your browser.")
