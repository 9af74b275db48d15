"""Text that would act where a model reads it: tags, marks of turns. It is made harmless, and stays readable.

What people and programs wrote is put between tags, in requests as before prompts and in the pages that Claude
Code loads. Nothing in it may close such a tag, open another, pass for the host's own markup or start a turn.
Hooks import this module: it compiles nothing before it is needed.
"""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

HOST_TAGS = ("system-reminder", "recollection")
"""Tags in which the host and our hooks put their own words before a model."""
BROKEN = "‹"
"""What stands for the ``<`` of such a tag."""

_TAGS = r"<(?=[^\s\d=<\-\"'(),;:.]|<|\s+/\s*[^\W\d][\w:-]{0,60}\s*>)"
_TURNS = (
    r"(?im)^(?=(?:[^\S\n]|[>*_#+•\-]|\d{1,3}[.)]){0,20}"
    r"(?:human|assistant|system|user|developer|tool|claude)[*_ \t]{0,8}:)"
)
_BRACKETS = r"(?i)\[(/?\s*(?:inst|sys|system|human|user|assistant|system[- ]reminder)\s*)\]"


def without_tags(text: str, names: "Iterable[str] | None" = None) -> str:
    """Return `text` with ``‹`` for the ``<`` of each tag; with `names`, of those called so and `HOST_TAGS`.

    Full-width and small forms count, and so do blanks and slashes before a name, and any case of it. Without
    names all that could be a tag is one, as in ``List<String>``; a ``<`` between numbers or blanks is none.
    """
    plain = _plain(text)
    if "<" not in plain:
        return text
    wanted = f"{_TAGS}|{_named(())}" if names is None else _named(names)
    places = [found.start() for found in re.finditer(f"(?i){wanted}", plain)]
    pieces = [text[start + 1 : end] for start, end in zip([-1, *places], [*places, len(text)], strict=True)]
    return BROKEN.join(pieces)


def without_turns(text: str) -> str:
    """Return `text` with ``· `` before each line that starts like a turn, and no marks of chat formats."""
    if ":" in text or "：" in text or "﹕" in text:
        places = [found.start() for found in re.finditer(_TURNS, _plain(text))]
        pieces = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
        text = "· ".join(pieces)
    return re.sub(_BRACKETS, r"(\1)", text.replace("|>", "|›"))


class _PlainForms(dict[int, int]):
    """The plain form of each character met so far, if that is one character too; else itself."""

    def __missing__(self, code: int) -> int:
        import unicodedata  # Most texts that a hook shows need none.

        folded = unicodedata.normalize("NFKC", chr(code))
        self[code] = ord(folded) if len(folded) == 1 else code
        return self[code]


_PLAIN_FORMS = _PlainForms()


def _plain(text: str) -> str:
    """Return `text` with each character in its plain form, every one where it was."""
    return text if text.isascii() else text.translate(_PLAIN_FORMS)


def _named(names: "Iterable[str]") -> str:
    """Return what finds the start of a tag called by one of `names`."""
    words = [r"[\s_-]*".join(re.split("[_-]", name)) for name in dict.fromkeys([*names, *HOST_TAGS])]
    return rf"<(?=[\s/\\]*(?:{'|'.join(words)})(?![\w-]))"
