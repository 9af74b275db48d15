"""Which files a pattern in prose means: a folder, a name, an ending, or tests. Pure functions."""

TESTS = "@tests"
"""The pattern of files that hold tests."""


def lies_in(path: str, pattern: str) -> bool:
    """Whether the file at `path` is one that `pattern` means: ``legacy/``, ``*.go``, ``src/api/**``, a file.

    A relative pattern may begin at any folder of the path.
    """
    if pattern == TESTS:
        return is_test(path)
    parts = parts_of(path)
    wanted = parts_of(pattern)
    while wanted and wanted[-1] in ("**", "*"):
        wanted = wanted[:-1]
    if not wanted or not parts:
        return False
    folder = pattern.rstrip("*").endswith("/") or "." not in wanted[-1]
    if "**" in wanted:
        cut = wanted.index("**")
        head, tail = wanted[:cut], wanted[cut + 1 :]
        return _ends(parts, tail) and any(_fit(parts[at:], head) for at in range(len(parts) - len(tail) + 1))
    if folder:
        last = len(parts) - len(wanted)
        return any(_fit(parts[at:], wanted) for at in range(last)) or (
            path.endswith("/") and _ends(parts, wanted)
        )
    return _ends(parts, wanted)


def _ends(parts: "list[str]", wanted: "list[str]") -> bool:
    return not wanted or (len(parts) >= len(wanted) and _fit(parts[-len(wanted) :], wanted))


def _fit(parts: "list[str]", wanted: "list[str]") -> bool:
    return len(parts) >= len(wanted) and all(
        _globbed(part, pattern) for part, pattern in zip(parts, wanted, strict=False)
    )


def _globbed(part: str, pattern: str) -> bool:
    if "*" not in pattern:
        return part == pattern
    pieces = pattern.split("*")
    if not part.startswith(pieces[0]) or not part.endswith(pieces[-1]):
        return False
    at = len(pieces[0])
    for piece in pieces[1:-1]:
        found = part.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return at <= len(part) - len(pieces[-1])


def is_test(path: str) -> bool:
    """Whether the file at `path` holds tests, by its name or its folder."""
    parts = parts_of(path)
    if not parts:
        return False
    stem = parts[-1].lower().partition(".")
    marks = (stem[0].startswith("test_"), stem[0].endswith(("_test", "_spec")))
    return any(marks) or ".test." in parts[-1] or ".spec." in parts[-1] or not _TESTS.isdisjoint(parts[:-1])


_TESTS = frozenset({"tests", "test", "__tests__", "spec", "specs"})


def path_keys(path: str) -> "list[str]":
    """Return the keys that moments about `path` may have: its folders, its name, its kind."""
    parts = parts_of(path)
    found = parts[-20:]
    if parts and "." in parts[-1][1:]:
        found.append("." + parts[-1].rsplit(".", 1)[1])
    if is_test(path):
        found.append(TESTS)
    return found


def parts_of(path: str) -> "list[str]":
    """Return the folders and the name in `path`, whichever way it leans."""
    return [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")]
