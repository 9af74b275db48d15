"""Before Claude uses a tool: the rules that are about what it is about to do.

Precision comes first. A rule counts only where a person said or confirmed it, and only by a moment that the
index has (`search.moments`); words alone lead nowhere here. The index decides which files are looked at: a
rule that is newer than it is known after the worker's next pass.
"""

import os

from pipeline.hooklib import memory_format, ownership
from pipeline.recall.live import store_files
from pipeline.search import index_reader
from pipeline.text import actions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pipeline.recall.live.store_files import Found

FLOOR = 0.5
"""How sure it must be that a rule is meant; `recall.floor` multiplies it."""
MOST = 2
"""Rules shown before one use of a tool."""
_MOST_LOOKED_AT = 20


def doing_of(tool: str, given: object, cwd: str, root: str) -> "actions.Doing | None":
    """Return what the tool called `tool` is about to do with the input `given`, None where it can't be told.

    Files are taken relative to the project at `root`, so that no folder above it counts.
    """
    if not isinstance(given, dict):
        return None
    if tool == "Bash":
        command = given.get("command")
        return actions.of_command(command) if isinstance(command, str) else None
    path = given.get("notebook_path" if tool == "NotebookEdit" else "file_path")
    if not isinstance(path, str) or not path:
        return None
    for folder in (root, cwd):
        if folder and path.startswith(folder.rstrip("/") + "/"):
            path = path[len(folder.rstrip("/")) + 1 :]
            break
    return actions.of_file(path, new=tool == "Write")


def rules_met(
    doing: "actions.Doing",
    keys: "list[str]",
    home: str,
    stores: "list[tuple[str, bool]]",
    problems: "list[str]",
) -> "list[tuple[Found, float, str]]":
    """Return the rules of `stores` that `doing` meets, each with how sure that is (0 to 1) and its moment.

    `keys` are those of `doing`; a store is a folder, and whether it is for all projects. What others write in
    is left out, and so is a store without an index; one that can't be asked is told in `problems`.
    """
    found: list[tuple[Found, float, str]] = []
    for store, everywhere in stores:
        folder = os.path.realpath(store)
        if ownership.is_team(store) or ownership.is_team(folder):
            continue
        file = index_reader.index_path(home, folder)
        if not os.path.exists(file):
            continue
        try:
            with index_reader.Reader(file) as reader:
                found += _of_store(doing, keys, reader, folder, everywhere)
        except index_reader.NoIndexError as error:
            problems.append(f"no rule is looked up, as the index can't be asked: {error}")
    return found


def _of_store(
    doing: "actions.Doing", keys: "list[str]", reader: "index_reader.Reader", store: str, everywhere: bool
) -> "list[tuple[Found, float, str]]":
    met = {path: doing.met(moments) for path, moments in reader.ruled(keys).items()}
    paths = sorted((path for path, (sure, _) in met.items() if sure), key=lambda path: (-met[path][0], path))
    found = []
    for row in reader.rows(paths[:_MOST_LOOKED_AT]):
        sure, moment = met[row.path]
        stamp = store_files.stamp_of(store, row.path)
        if stamp is None:
            continue
        item: Found | None
        if stamp == row.stamp:
            item = store_files.Found(
                store, row.path, row.digest, row.stamp, row.fields, row.shown, False, everywhere
            )
        else:
            item = store_files.read(store, row.path, everywhere, rules=True)
            if item is None:
                continue
            sure, moment = doing.met(item.moments)
            whole = item.stamp[0] <= store_files.MOST_READ
            item.shown["hand"] = ownership.hand(store, item.path, item.digest) if whole else ownership.OTHER
        if sure and _is_persons(item):
            found.append((item, sure, moment))
    return found


def _is_persons(item: "Found") -> bool:
    origin, hand = str(item.shown.get("origin") or ""), str(item.shown.get("hand") or "")
    return memory_format.is_persons(origin, hand)
