"""YAML in the forms in which people and programs write front matter, by lines, without a YAML library.

What these functions return is what a YAML parser reads. Of anything else they raise `UnsureError`, or, where
no YAML parser would read it, `UnreadableError`. Numbers are those that every generation of YAML reads so.
"""

import re

from pipeline.hooklib.yaml_words import LINE, NULLS, WORDED, easy_value, key_below, plain_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Table = dict[str, Any]

MAX_DEPTH = 64
"""Deepest nesting of front matter that is read; nobody writes so by hand, and parsers give up later."""
# Compiled by `re` when they are first used: most prompts meet no changed file.
_ODD = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]"
_KEY = r"""([^\W\d][\w.-]*(?: [\w.-]+)*|"[^"\\]*"|'[^']*')[ \t]*:(?:[ \t]+(.*))?$"""
_SINGLE = r"'((?:[^']|'')*)'"
_DOUBLE = r'"((?:[^"\\]|\\.)*)"'
_ESCAPE = r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)"
_COMMENT = r"[ \t]#"
_HEADER = r"([|>])(-?)[ \t]*(?:[ \t]#.*)?$"
_FLOW_PLAIN = r"(?:[^\s,\[\]{}:#?]|:(?=[^\s,\[\]{}?])|(?<=[^\s,\[\]{}])#|[ \t]+(?=[^\s,\[\]{}:#?]))+"
_ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0"},
    **{"L": "\u2028", "P": "\u2029"},
}


class UnsureError(ValueError):
    """Front matter in a form that this reader does not know."""


class _DeepError(UnsureError):
    """Front matter that is nested too deep for this reader."""


class UnreadableError(ValueError):
    """Front matter that is no YAML. `line` counts from its first, 1, or is 0 for the whole.

    `final` says that quotes don't help, `fix` what does.
    """

    def __init__(self, message: str, line: int = 0, *, final: bool = False, fix: str = "") -> None:
        super().__init__(message)
        self.line = line
        self.final = final
        self.fix = fix


def parse(text: str) -> "Table | None":
    """Return the table that `text`, with plain line ends, holds; None when it is a list or prose.

    Raises UnreadableError and UnsureError.
    """
    # What is printable is ordinary; the rest is looked at more closely.
    if not text.replace("\n", " ").isprintable() and re.search(_ODD, text):
        raise UnsureError("control characters")
    ended = text.rstrip(" \n")
    if not ended.endswith("\n..."):
        return _Block(text).whole()
    found = _Block(ended[:-3]).whole()  # The mark of a document's end, with nothing behind it.
    if not found:
        raise UnsureError("an end without a beginning")
    return found


def is_list(value: str) -> bool:
    """Whether `value` is a list in brackets, and nothing beside it."""
    try:
        found, end = _Flow(value).value(0, 0)
    except (UnsureError, UnreadableError) as error:
        return isinstance(error, _DeepError)  # Quotes would make a text of it.
    return isinstance(found, list) and end == len(value)


def _keyed(content: str) -> "tuple[str, str] | None":
    """Return the key of a line and what follows it, None where there is none."""
    key, colon, rest = content.partition(":")
    if not colon:
        return None
    if (not rest or rest[0] == " ") and key.isidentifier():
        return key, rest.lstrip(" \t")
    match = re.match(_KEY, content)
    return (match.group(1), match.group(2) or "") if match else None


def _unescaped(found: "re.Match[str]") -> str:
    code = found.group(1)
    if len(code) == 1:
        if code not in _ESCAPES:
            raise UnsureError("no escape")
        return _ESCAPES[code]
    number = int(code[1:], 16)
    if 0xD800 <= number < 0xE000 or number > 0x10FFFF:
        raise UnsureError("half a surrogate pair")
    return chr(number)


def _in_quotes(text: str, start: int) -> "tuple[str, int]":
    """Return the text in quotes that begins at `start`, and where it ends."""
    quote = text[start]
    end = text.find(quote, start + 1)
    inner = text[start + 1 : end]
    if end > 0 and text[end + 1 : end + 2] != quote and "\\" not in inner:
        return inner, end + 1
    found = re.compile(_SINGLE if quote == "'" else _DOUBLE).match(text, start)
    if not found:
        raise UnsureError("quotes that do not end on their line")
    inner = found.group(1)
    if quote == "'":
        return inner.replace("''", "'"), found.end()
    return (re.sub(_ESCAPE, _unescaped, inner) if "\\" in inner else inner), found.end()


class _Flow:
    """Lists and tables in brackets, on one line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def value(self, at: int, depth: int, key: str = "") -> "tuple[Any, int]":
        """Return the value that begins at `at` and where it ends; `key` as for `plain_value`."""
        first = self.text[at : at + 1]
        if first in ("'", '"'):
            return _in_quotes(self.text, at)
        if first in ("[", "{"):
            if depth >= MAX_DEPTH - 1:
                raise _DeepError("nested deep")
            return self._list(at, depth, key) if first == "[" else self._map(at, depth, key)
        text, end = self._word(at)
        return plain_value(text, key), end

    def _word(self, at: int) -> "tuple[str, int]":
        first = self.text[at : at + 1]
        if (
            not first
            or first in "&*!|>%@`#?:,]}"
            or (first == "-" and not self.text[at + 1 : at + 2].isdigit())
        ):
            raise UnsureError("an item that begins oddly")
        end = self.text.find(",", at)
        word = self.text[at:end] if end > 0 else ""
        if word.replace("-", "").isalnum():
            return word, end
        found = re.compile(_FLOW_PLAIN).match(self.text, at)
        if not found:
            raise UnsureError("an item that begins oddly")
        return found.group().rstrip(" \t"), found.end()

    def _blank(self, at: int) -> int:
        text = self.text
        while at < len(text) and text[at] in " \t":
            at += 1
        return at

    def _next(self, at: int, end: str) -> int:
        """Return where the next item begins, or where `end` stands."""
        if self.text[at : at + 1] in (" ", "\t"):
            at = self._blank(at)
        sign = self.text[at : at + 1]
        if sign == ",":
            return self._blank(at + 1)
        if sign != end:
            raise UnsureError("brackets that do not close on their line")
        return at

    def _list(self, at: int, depth: int, key: str) -> "tuple[list[Any], int]":
        found: list[Any] = []
        item = f"-{key}" if key in WORDED else ""
        at = self._blank(at + 1)
        while self.text[at : at + 1] != "]":
            value, at = self.value(at, depth + 1, item)
            found.append(value)
            at = self._next(at, "]")
        return found, at + 1

    def _map(self, at: int, depth: int, key: str) -> "tuple[Table, int]":
        found: Table = {}
        at = self._blank(at + 1)
        while self.text[at : at + 1] != "}":
            colon = self.text.find(":", at)
            name = self.text[at:colon]
            if name.isidentifier() and self.text[colon + 1 : colon + 2] == " ":
                at = colon
            else:
                quotes = self.text[at : at + 1] in ("'", '"')
                name, at = _in_quotes(self.text, at) if quotes else self._word(at)
                at = self._blank(at)
            if self.text[at : at + 1] != ":" or plain_value(name, "") != name:
                raise UnsureError("a table in brackets of another form")
            at = self._blank(at + 1)
            if self.text[at : at + 1] in (",", "}"):
                found[name] = None
            else:
                found[name], at = self.value(at, depth + 1, key_below(name, key))
            at = self._next(at, "}")
        return found, at + 1


class _Block:
    """Tables, lists and texts that stand by their indentation."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.at = 0

    def whole(self) -> "Table | None":
        """Return the table that the whole text is, {} for one that says nothing, None for none."""
        here = self._here()
        if here is None:
            return {}
        indent, content = here
        if _keyed(content):
            found = self._table(indent, "/", 0)
        elif content.startswith("- "):
            self._list(indent, "", 0)
            found = None
        else:
            self._prose(content)
            return None
        if self._here() is not None:
            raise UnsureError("lines that belong to nothing")
        return found

    def _prose(self, content: str) -> None:
        lines = [line.strip(" ") for line in self.lines[self.at :]]
        joined = "\n".join(lines) + "\n"
        if (
            content in NULLS
            or not (content[0].isalnum() or content[:2] == "--")
            or any(sign in joined for sign in (": ", ":\n", " #", "\n#", "\n...", "\t"))
        ):
            raise UnsureError("no table")

    def _here(self) -> "tuple[int, str] | None":
        """Return indentation and text of the next line that says something, None at the end."""
        lines = self.lines
        if self.at < len(lines) and lines[self.at][:1] not in ("", " ", "\t", "#"):
            return 0, lines[self.at].rstrip(" \t")  # An ordinary line.
        for position in range(self.at, len(lines)):
            line = lines[position]
            content = line.lstrip(" ")
            if not content or content[0] == "#":
                continue
            if content[0] == "\t":
                if content.lstrip("\t ").startswith("#"):
                    raise UnsureError("a comment behind tabs")
                raise UnreadableError("a tab before the line's text", position + 1)
            self.at = position
            return len(line) - len(content), content.rstrip(" \t")
        self.at = len(self.lines)
        return None

    def _table(self, indent: int, parent: str, depth: int) -> "Table":
        if depth >= MAX_DEPTH:
            raise _DeepError("nested deep")
        found: Table = {}
        outermost = parent == "/" and not indent
        while True:
            if outermost:
                self._take_ordinary(found)
            here = self._here()
            if here is None or here[0] < indent:
                return found
            keyed = _keyed(here[1]) if here[0] == indent else None
            if keyed is None:
                raise UnsureError("a line without a key")
            key, rest = keyed
            if key[0] in "'\"":
                key = key[1:-1]
            elif len(key) > 100 or plain_value(key, "") != key:
                raise UnsureError("a key that is no text")
            self.at += 1
            found[key] = self._value(rest, indent, key_below(key, parent), depth, in_table=True)

    def _take_ordinary(self, found: "Table") -> None:
        """Take the next lines with a key and a plain value, as nearly all are, into the outermost table."""
        lines, match = self.lines, re.compile(LINE).match
        while self.at < len(lines):
            line = match(lines[self.at])
            below = lines[self.at + 1][:1] if self.at + 1 < len(lines) else "."
            if line is None or below in ("", " ", "\t", "#"):
                return
            key, value = line.groups()
            if plain_value(key, "") != key:
                return
            self.at += 1
            found[key] = plain_value(value, key)

    def _list(self, indent: int, key: str, depth: int) -> "list[Any]":
        if depth >= MAX_DEPTH:
            raise _DeepError("nested deep")
        found: list[Any] = []
        item = f"-{key}" if key in WORDED else ""
        while (here := self._here()) is not None and here[0] >= indent:
            content = here[1]
            if here[0] > indent:
                raise UnsureError("a line indented otherwise")
            if content != "-" and not content.startswith("- "):
                break
            rest = content[1:].lstrip(" ")
            if rest.startswith(("- ", "\t", "? ")) or rest == "-":
                raise UnsureError("a list in a list")
            if rest[:1] not in ("{", "[") and _keyed(rest):
                inner = indent + len(content) - len(rest)
                self.lines[self.at] = " " * inner + rest
                found.append(self._table(inner, "", depth + 1))
                continue
            self.at += 1
            found.append(self._value(rest, indent, item, depth, in_table=False))
        return found

    def _value(self, rest: str, indent: int, key: str, depth: int, *, in_table: bool) -> "Any":
        """Return the value whose first line goes on with `rest`; what follows is indented beyond `indent`."""
        first = rest[:1]
        if not first or first == "#":
            return self._nested(indent, key, depth, in_table)
        if first in "|>":
            return self._text_block(rest, indent)
        if first in "'\"[{":
            easy = easy_value(rest, key) if first in "[{" else None
            value, end = (easy, len(rest)) if easy is not None else _Flow(rest).value(0, depth, key)
            tail = rest[end:]
            if tail and (tail[0] not in " \t" or tail.strip(" \t")[:1] not in ("", "#")):
                raise self._broken("text behind the value")
            self._ended(indent)
            return value
        if first in "@`%" or (first == "*" and "&" not in self.text):
            raise self._broken(f"a value can't begin with {first}")
        if rest == "-" or rest.startswith("- "):
            raise self._broken("a list that begins on the line of its key")
        if first in "&*!,]}" or rest[:2] in ("? ", ": ") or rest in ("?", ":"):
            raise UnsureError("a value that begins oddly")
        return plain_value(self._plain_lines(rest, indent), key)

    def _broken(self, message: str) -> UnreadableError:
        return UnreadableError(message, self.at)

    def _ended(self, indent: int) -> None:
        """Raise UnsureError if the value of one line goes on below it."""
        if self.at < len(self.lines) and self.lines[self.at][:1] not in ("", " ", "\t", "#"):
            return  # An ordinary line, which is indented by nothing.
        here = self._here()
        if here is not None and here[0] > indent:
            raise UnsureError("lines below a whole value")

    def _nested(self, indent: int, key: str, depth: int, in_table: bool) -> "Any":
        here = self._here()
        if here is None or here[0] < indent:
            return None
        if here[1] == "-" or here[1].startswith("- "):
            if here[0] > indent or in_table:
                return self._list(here[0], key, depth + 1)
            return None
        if here[0] == indent:
            return None
        if not _keyed(here[1]):
            raise UnsureError("a value on the next line")
        return self._table(here[0], key, depth + 1)

    def _plain_lines(self, rest: str, indent: int) -> str:
        """Return the plain text that begins with `rest` and goes on in lines indented beyond `indent`."""
        text, going_on = self._piece(rest)
        blank = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            content = line.strip(" ")
            if not content or (line[0] == " " and not content.strip("\t ")):
                blank += 1
                self.at += 1
                continue
            if len(line) - len(line.lstrip(" ")) <= indent:
                break
            if content[0] in "#\t" or not going_on:
                raise UnsureError("a comment within a text")
            self.at += 1
            more, going_on = self._piece(content)
            text += ("\n" * blank or " ") + more
            blank = 0
        return text

    def _piece(self, line: str) -> "tuple[str, bool]":
        """Return the text of a line without its comment, and whether the text may go on below it."""
        comment = re.search(_COMMENT, line) if "#" in line else None
        text = (line[: comment.start()] if comment else line).rstrip(" \t")
        if ": " in text or ":\t" in text or text.endswith(":"):
            raise self._broken("a colon and a blank within a value")
        return text, comment is None

    def _text_block(self, header: str, indent: int) -> str:
        match = re.match(_HEADER, header)
        if not match:
            raise UnsureError("a block of another form")
        lines: list[str] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.strip(" ") and len(line) - len(line.lstrip(" ")) <= indent:
                break
            lines.append(line)
            self.at += 1
        while lines and not lines[-1].strip(" "):
            lines.pop()
        if not lines:
            return ""
        inner = min(len(line) - len(line.lstrip(" ")) for line in lines if line.strip(" "))
        # Blank lines that are longer than the indentation hold text, and a first line further in sets it.
        if not lines[0].strip(" ") or any(
            line[:1] == "\t" or len(line) > inner > len(line.rstrip()) for line in lines
        ):
            raise UnsureError("a block with odd blanks")
        lines = [line[inner:] for line in lines]
        if lines[0][:1] == " ":
            raise UnsureError("a block that begins further in")
        text = "\n".join(lines) if match.group(1) == "|" else self._folded(lines)
        return text if match.group(2) else text + "\n"

    def _folded(self, lines: "list[str]") -> str:
        text, blank = lines[0], 0
        for line in lines[1:]:
            if line[:1] in (" ", "\t"):
                raise UnsureError("a folded block with lines further in")
            if not line:
                blank += 1
                continue
            text += ("\n" * blank or " ") + line
            blank = 0
        return text
