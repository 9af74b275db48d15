"""What is a memory file and how its text is cut: the rules that hooks and the store share.

Which files are looked at, which bytes are which text, where front matter ends, and what a memory is called.
What front matter says is read by `front_matter`.
"""

from pipeline.hooklib import times
from pipeline.hooklib.plain import is_well_formed, lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INDEX = "MEMORY.md"
OVERFLOW = "MEMORY-more.md"
CORE = "CORE.md"
INDEX_LINES = 200
INDEX_BYTES = 25_000
"""What Claude Code loads of `INDEX` at the start of a session: so many lines, or so many bytes."""
VAULT = "vault"
GRAPH = "graph"
EDGES = "graph/edges"
ARCHIVE = "archive"
"""Of what left; a folder for each year."""
NOT_MEMORIES = frozenset(
    {"memory.md", "memory-more.md", "core.md", "reflection.md", "readme.md", "claude.md", "agents.md"}
)
"""Files of other use in the store itself, in lower case."""
MAX_FILE = 2_000_000
"""Bytes of the largest file that is taken for a memory."""
PREVIEW = 200
"""Characters of a body that stand for it where the whole would be too long."""

SPEAKERS = {
    "user-stated": "the user",
    "user-confirmed": "Claude, confirmed by the user",
    "assistant-inferred": "Claude, not confirmed",
    "assistant-written": "Claude, not confirmed",
    "imported": "an import",
    "hand-written": "the user",
}
"""Who stands behind a memory of each origin, in words."""
PERSONS = frozenset({"user-stated", "user-confirmed", "hand-written"})
"""Origins of what a person said or confirmed."""
UNVERIFIED = "unverified file"
EDITED_BY_HAND = "edited by hand"
THE_TEAM = "the team"
"""Whoever wrote a file in a folder that others write in too, whatever the file says."""
_TEAMS = f" ({THE_TEAM})"
_LONGEST_AUTHOR = 60
MOST_QUOTE = 200
"""Characters of a quote."""
QUOTED = frozenset({"user", "feedback"})
"""Types of memories beside which the person's own words stand."""
BORNE_OUT = frozenset({"ours", "told"})
"""Whose files are believed about their origin (`hooklib.ownership.hand`)."""

_TRUE = frozenset({"true", "yes", "y", "on", "1"})
_RETIRED = frozenset({"archived", "superseded", "retired", "deleted"})


def is_hidden_file(path: str) -> bool:
    """Whether the file at `path` has a name that begins with a dot."""
    return path.rpartition("/")[2].startswith(".")


def odd_name(name: str) -> str:
    """Return why no memory can lie in a file or folder called `name`, "" when one can."""
    if name.isprintable() and name.isascii() and not ("\\" in name or ":" in name or name[:1] in (".", "~")):
        return ""
    if not is_well_formed(name):
        return "its name is not UTF-8, so nothing can link to it"
    if name.startswith((".", "~")):
        return f"its name begins with a {'dot, so it is hidden' if name[0] == '.' else 'tilde'}"
    for sign, what in (
        ("\\", "a backslash"),
        (":", "a colon"),
        ("\n", "a line break"),
        ("\r", "a line break"),
    ):
        if sign in name:
            return f"its name has {what} in it"
    return "its name has a control character in it" if min(name) < " " else ""


def is_memory(name: str, *, at_root: bool) -> bool:
    """Whether a file called `name` is meant to be a memory; `at_root` is one in the store itself.

    That it can be one says `odd_name`.
    """
    if not name.endswith(".md") or name.startswith("."):
        return False
    return not (at_root and name.lower() in NOT_MEMORIES)


def decoded(raw: bytes) -> str:
    """Return the text of a memory file, without a byte order mark, as the client reads it.

    That is UTF-8, or UTF-16 where its mark says so; what is neither becomes U+FFFD.
    """
    if raw.startswith(b"\xff\xfe"):
        return raw[2:].decode("utf-16-le", "replace")
    return raw.decode("utf-8", "replace").removeprefix("\ufeff")


def split_front_matter(text: str) -> "tuple[str | None, str]":
    """Return the YAML between the fences that `text` begins with, and what comes after; None without fences.

    A fence is a line of three dashes, behind which there may be blanks; its line end may be that of Windows.
    A byte order mark must be off already.
    """
    opening = _fence(text, 0)
    at = opening - 1
    while opening:
        at = text.find("\n---", at)
        if at < 0:
            break
        end = _fence(text, at + 1)
        if end:
            return text[opening : at + 1], text[end:]
        at += 4
    return None, text


def _fence(text: str, start: int) -> int:
    """Return where the line after the fence at `start` begins, 0 when there is no fence."""
    if not text.startswith("---", start):
        return 0
    end = text.find("\n", start)
    rest = text[start + 3 : end if end >= 0 else len(text)]
    if rest and rest.strip(" \t\r"):
        return 0
    return end + 1 if end >= 0 else len(text)


def conflicts(lines: "list[str]") -> "list[list[int]]":
    """Return where the marks of each conflict that a merge could not settle stand, counted from 0.

    Of each: where it begins, where the common text does if that is there, where the other side does, and
    where it ends. Marks that stand alone are somebody's text.
    """
    found: list[list[int]] = []
    marks: list[int] = []
    for position, line in enumerate(lines):
        start = line.rstrip("\r\n")
        if start.startswith("<<<<<<< "):
            marks = [position]
        elif marks and (start == "=======" or start.startswith("||||||| ")):
            marks.append(position)
        elif len(marks) > 1 and start.startswith(">>>>>>> "):
            found.append([*marks, position])
            marks = []
    return found


def name_and_title(path: str, given: str, title: str, memory_id: str, body: str) -> "tuple[str, str]":
    """Return what the memory in the file at `path` is called, and its title, "" for none.

    `given`, `title` and `memory_id` are what its front matter has under ``name``, ``title`` and ``id``. A
    name is a slug; what is none is a title. A file that gives neither has the title of its first heading.
    """
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    name = given if _is_slug(given) else stem.removesuffix(f"-{memory_id[:6]}" if memory_id else "")
    if title or not given:
        return name, title or _heading(body)
    return name, given if given != name else ""


def speaker(origin: str, hand: str, author: str = "") -> str:
    """Return who says a memory, in words. `hand` is whose its file is, by `hooklib.ownership`.

    A file's own word for its origin counts only where Reverie wrote these very bytes, or the ledger has what
    they cite. The `author` that a team's file names is told as one of the team, never as more than that.
    """
    if hand == "team":
        name = " ".join("".join([sign for sign in author if sign.isprintable()]).split())
        return f"{name[:_LONGEST_AUTHOR]}{_TEAMS}" if name else THE_TEAM
    if hand in BORNE_OUT:
        return SPEAKERS.get(origin, "unknown")
    return EDITED_BY_HAND if hand == "edited" else UNVERIFIED


def author_of(front: "Mapping[str, object]") -> str:
    """Return the author that front matter names, "" for none."""
    author = front.get("author")
    return author if isinstance(author, str) else ""


def is_teams(by: str) -> bool:
    """Whether `by`, as `speaker` has it, is somebody of the team."""
    return by == THE_TEAM or by.endswith(_TEAMS)


def is_persons(origin: str, hand: str) -> bool:
    """Whether a person said or confirmed a memory, as far as that is borne out; arguments as `speaker`."""
    return hand in BORNE_OUT and origin in PERSONS


def own_words(type_name: str, sources: "Iterable[tuple[str, str, str]]") -> "list[str]":
    """Return what a person said for a memory of that type and when, the newest of it; [] for nothing.

    `sources` are (speaker, when as ISO 8601 or "", quote). What was only pasted is not theirs.
    """
    if type_name not in QUOTED:
        return []
    dated = [
        (times.parse(at) or 0.0, quote[:MOST_QUOTE].strip(), at)
        for speaker, at, quote in sources
        if speaker == "person" and quote.strip()
    ]
    newest = max(dated, default=None, key=_moment)
    return [newest[1], newest[2]] if newest else []


def _moment(dated: "tuple[float, str, str]") -> float:
    return dated[0]


def is_true(value: object) -> bool:
    """Whether `value` is one of the ways people write yes: true, "Yes", 1, "on"."""
    return value is True or str(value).strip().lower() in _TRUE


def is_retired(archived: object, status: object) -> bool:
    """Whether what front matter has under ``archived`` and ``status`` says that a memory is out of use."""
    return is_true(archived) or str(status or "").strip().lower() in _RETIRED


def _is_slug(text: str) -> bool:
    words = text.replace("_", "-").split("-")
    return all(word.isascii() and word.isalnum() and word == word.lower() for word in words)


def _heading(body: str) -> str:
    for line in lines_of(body):
        if line.startswith("# "):
            return line[2:].strip()
        if line.strip():
            return ""
    return ""
