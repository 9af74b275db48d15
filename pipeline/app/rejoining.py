"""What lies in a team's folder when its project joins a team: taken up again, or moved out of the way."""

from __future__ import annotations

import shutil
from pathlib import Path

from pipeline.app.application import App
from pipeline.core import zone
from pipeline.core.atomic import ensure_dir
from pipeline.core.ids import new_id
from pipeline.sharing.authors import AUTHOR
from pipeline.sharing.state import Share, State


def put_aside(shared: App, kept: Share) -> str:
    """Move what another team had in the folder of `shared` out of it; return where to, "" for none.

    It is for that team alone: in this one it would go out, in this person's name.
    """
    store = shared.open_store(create=True)
    if not any(document.memory.extra.get(AUTHOR) for document in store.scan().documents):
        return ""
    target = _target(shared, kept)
    shutil.move(store.root, target)
    ensure_dir(shared.store_path)
    shared.follow(shared.open_store(create=True))
    return str(target)


def take_up(shared: App, kept: Share, left: State) -> str:
    """Let `left`, what was known as this person left the team, go on with the files of `shared`.

    What was written there since was for nobody else, so it is moved out; return where to, "" for none. That,
    and what was taken away, comes in again as the team has it.
    """
    store = shared.open_store(create=True)
    documents = store.scan().documents
    there = {(item.path, item.digest) for item in documents}
    left.here = {
        ident: was for ident, was in left.here.items() if not was.digest or (was.path, was.digest) in there
    }
    known = {(was.path, was.digest) for was in left.here.values()}
    changed = [item.path for item in documents if (item.path, item.digest) not in known]
    if not changed:
        return ""
    target = _target(shared, kept)
    for path in changed:
        ensure_dir((target / path).parent)
        shutil.move(Path(store.root) / path, target / path)
    shared.follow(shared.open_store(create=True))
    return str(target)


def _target(shared: App, kept: Share) -> Path:
    ensure_dir(kept.folder)
    return kept.folder / f"left-{zone.day(shared.clock.now())}-{new_id()[:8]}"
