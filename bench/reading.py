"""The floors of work over a store with a graph: reading what it needs, and nothing else.

    python -m bench.reading WHAT STORE

*stamps* are those of all memory files, *memories* the front matter of them all with libyaml's parser, *edges*
that of all edge files, *all* both. It imports nothing of the package, so that a process of it is a floor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

EDGES = os.path.join("graph", "edges")


def files(store: str, *, edges: bool) -> Iterator[os.DirEntry[str]]:
    """Yield the files of edges in `store`, or those of memories."""
    graph = os.path.join(store, "graph")
    if edges:
        yield from os.scandir(os.path.join(store, EDGES))
        return
    folders = [store, *(entry.path for entry in os.scandir(graph) if entry.name != "edges")]
    for folder in folders:
        yield from (entry for entry in os.scandir(folder) if entry.name.endswith(".md"))


def stamps(store: str) -> int:
    """Look at the stamp of each memory file."""
    return sum(entry.stat(follow_symlinks=False).st_size for entry in files(store, edges=False))


def front_matter(store: str, *, edges: bool) -> int:
    """Read each file and load its front matter."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    read = 0
    for entry in files(store, edges=edges):
        with open(entry.path, "rb") as file:
            parts = file.read().split(b"---\n", 2)
        if len(parts) == 3 and not parts[0]:
            yaml.load(parts[1], Loader=loader)
            read += 1
    return read


def read(what: str, store: str) -> int:
    """Read `what` of `store`; return how much that was."""
    if what == "stamps":
        return stamps(store)
    found = front_matter(store, edges=False) if what in ("memories", "all") else 0
    return found + (front_matter(store, edges=True) if what in ("edges", "all") else 0)


if __name__ == "__main__":
    print(read(*sys.argv[1:]))
