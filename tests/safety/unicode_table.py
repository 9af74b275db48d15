"""Makes the table of `pipeline/safety/invisible.py` from the Unicode data of `regex`.

``python -m tests.safety.unicode_table`` writes it anew; a test compares. The version of `regex` is pinned in
`pyproject.toml`, since another one may know more characters.
"""

import sys
from functools import cache
from pathlib import Path
from textwrap import wrap

import regex

FILE = Path(__file__).resolve().parents[2] / "pipeline" / "safety" / "invisible.py"
BEGIN, END, INDENT = "# begin table\n", "# end table\n", 4 * " "
JOINING_SCRIPTS = (
    *("Arabic", "Syriac", "Mandaic", "Mongolian", "Nko", "Phags_Pa", "Adlam", "Hanifi_Rohingya", "Thaana"),
    *("Devanagari", "Bengali", "Gurmukhi", "Gujarati", "Oriya", "Tamil", "Telugu", "Kannada", "Malayalam"),
    *("Sinhala", "Tibetan", "Myanmar", "Khmer", "Balinese", "Javanese"),
)
"""Scripts in which a joiner changes how letters are joined or stacked."""

TABLES = {
    "_HIDDEN": (
        "Controls, format characters that are not seen, and what a font may show as nothing.",
        r"[[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cf}\p{Cc}]"
        r"--[\t\n\r\p{Prepended_Concatenation_Mark}\p{Script=Egyptian_Hieroglyphs}]]",
    ),
    "_JOINING": (
        "Letters and marks that take a joiner.",
        r"[[[\p{L}\p{M}]&&[" + "".join(rf"\p{{Script={name}}}" for name in JOINING_SCRIPTS) + "]]"
        r"[\p{M}&&\p{Script=Inherited}&&[\p{Block=Arabic}\p{Block=Devanagari}]]\p{Joining_Type=C}"
        r"--[\p{Default_Ignorable_Code_Point}\p{Block=Arabic_Mathematical_Alphabetic_Symbols}]]",
    ),
    "_UNSPACED": ("Letters of scripts that write no spaces between words.", r"\p{Line_Break=SA}"),
    "_MONGOLIAN": ("Mongolian letters.", r"[\p{L}&&\p{Script=Mongolian}]"),
    "_IDEOGRAPHS": ("Han characters.", r"\p{Unified_Ideograph}"),
    "_PICTURES": ("Characters that have or may get an emoji form.", r"\p{Extended_Pictographic}"),
}
CODES = [chr(code) for code in range(sys.maxunicode + 1)]
ALL = "".join(CODES)


@cache
def unassigned() -> frozenset[str]:
    """Return the code points that Unicode gave to no character."""
    return characters(r"\p{Cn}")


@cache
def characters(expression: str) -> frozenset[str]:
    """Return every character that `expression` (a set of version 1 of `regex`) matches."""
    return frozenset(regex.compile("(?V1)" + expression).findall(ALL))


def edges(wanted: frozenset[str]) -> list[int]:
    """Return where runs of `wanted` begin and end in turn; a run goes over unassigned code points."""
    found: list[int] = []
    for char in sorted(wanted):
        code = ord(char)
        if found and all(CODES[gap] in unassigned() for gap in range(found[-1], code)):
            found[-1] = code + 1
        else:
            found += [code, code + 1]
    return found


def table() -> str:
    """Return the source of the table."""
    lines = [
        "# Made by `python -m tests.safety.unicode_table`. A table says where its runs of code points begin",
        "# and end, in turn: an even index opens a run, an odd one is the first code point behind it.",
    ]
    for name, (meaning, expression) in TABLES.items():
        numbers = " ".join(f"0x{edge:04X}," for edge in edges(characters(expression)))
        lines += [
            f"# {meaning}",
            f"{name} = (",
            *wrap(numbers, 110, initial_indent=INDENT, subsequent_indent=INDENT),
        ]
        lines += [")  # fmt: skip"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into the module."""
    before, _, rest = FILE.read_text("utf-8").partition(BEGIN)
    FILE.write_text(before + BEGIN + table() + END + rest.partition(END)[2], "utf-8")


if __name__ == "__main__":
    main()
