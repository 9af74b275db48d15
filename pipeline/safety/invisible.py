"""Characters that nobody sees: which there are, where one of them is part of ordinary writing, how they go.

Text can carry words that a model reads and a person does not: zero-width and tag characters, runs of
variation selectors, Hangul fillers, marks that turn the direction round, control characters. Every place
where text comes in, is stored, recalled or printed asks this module: one table, one answer.

Some of these characters belong to ordinary writing, in one place each, and stay there:

- joiners (U+200C, U+200D) after a letter or mark of a script that joins or stacks, and U+200D between emoji;
- a zero-width space after a letter of a script that writes no spaces (Khmer, Thai, Lao, Burmese);
- one emoji selector (U+FE0E, U+FE0F) after a character that has an emoji form, or in a keycap;
- Mongolian selectors after a Mongolian letter;
- a few ideographic selectors in a text, each after a Han character: they spell names;
- the tags of the flags of England, Scotland and Wales.

A second one in a row is hidden text. Hooks import this module: it costs one bisection for each distinct
character of a text beyond ASCII, and compiles nothing before it is needed.
"""

import re
from bisect import bisect_right

_MOST_VARIANTS = 4
"""Ideographic selectors in one text; more could spell a message, at a byte for each Han character."""

_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"
_TEXT_STYLE, _EMOJI_STYLE = "\ufe0e", "\ufe0f"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_KEYCAP, _KEYS = "\u20e3", "#*0123456789"
_VOWEL_SEPARATOR, _MONGOLIAN_SELECTORS = "\u180e", "\u180b\u180c\u180d\u180f"
_LINE_ENDS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u2028\u2029"
_END_OF_TAGS = "\U000e007f"
_FLAGS = tuple(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + _END_OF_TAGS
    for region in ("gbeng", "gbsct", "gbwls")
)
# What may stay in its place; the ideographic selectors and those of no use to emoji are one kind.
_BY_PLACE = "[\u200b-\u200d\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]"

# begin table
# Made by `python -m tests.safety.unicode_table`. A table says where its runs of code points begin
# and end, in turn: an even index opens a run, an odd one is the first code point behind it.
# Controls, format characters that are not seen, and what a font may show as nothing.
_HIDDEN = (
    0x0000, 0x0009, 0x000B, 0x000D, 0x000E, 0x0020, 0x007F, 0x00A0, 0x00AD, 0x00AE, 0x034F, 0x0350, 0x061C,
    0x061D, 0x115F, 0x1161, 0x17B4, 0x17B6, 0x180B, 0x1810, 0x200B, 0x2010, 0x202A, 0x202F, 0x2060, 0x2070,
    0x3164, 0x3165, 0xFE00, 0xFE10, 0xFEFF, 0xFF00, 0xFFA0, 0xFFA1, 0xFFF0, 0xFFFC, 0x1BCA0, 0x1BCA4, 0x1D173,
    0x1D17B, 0xE0000, 0xE1000,
)  # fmt: skip
# Letters and marks that take a joiner.
_JOINING = (
    0x0610, 0x061B, 0x0620, 0x0660, 0x066E, 0x06D4, 0x06D5, 0x06DD, 0x06DF, 0x06E9, 0x06EA, 0x06F0, 0x06FA,
    0x06FD, 0x06FF, 0x0700, 0x0710, 0x07B2, 0x07CA, 0x07F6, 0x07FA, 0x07FE, 0x0840, 0x085C, 0x0860, 0x0888,
    0x0889, 0x0890, 0x0897, 0x08E2, 0x08E3, 0x0964, 0x0971, 0x09E4, 0x09F0, 0x09F2, 0x09FC, 0x09FD, 0x09FE,
    0x0A5F, 0x0A70, 0x0A76, 0x0A81, 0x0AE4, 0x0AF9, 0x0B64, 0x0B71, 0x0B72, 0x0B82, 0x0BD8, 0x0C00, 0x0C64,
    0x0C80, 0x0C84, 0x0C85, 0x0CE4, 0x0CF1, 0x0D4F, 0x0D54, 0x0D58, 0x0D5F, 0x0D64, 0x0D7A, 0x0DE0, 0x0DF2,
    0x0DF4, 0x0F00, 0x0F01, 0x0F18, 0x0F1A, 0x0F35, 0x0F36, 0x0F37, 0x0F38, 0x0F39, 0x0F3A, 0x0F3E, 0x0F85,
    0x0F86, 0x0FBD, 0x0FC6, 0x0FC7, 0x1000, 0x1040, 0x1050, 0x1090, 0x109A, 0x109E, 0x1780, 0x17B4, 0x17B6,
    0x17D4, 0x17D7, 0x17D8, 0x17DC, 0x17DE, 0x180A, 0x180B, 0x1820, 0x18AB, 0x1B00, 0x1B4D, 0x1B6B, 0x1B74,
    0xA840, 0xA874, 0xA8E0, 0xA8F8, 0xA8FB, 0xA8FC, 0xA8FD, 0xA900, 0xA980, 0xA9C1, 0xA9E0, 0xA9F0, 0xA9FA,
    0xA9FF, 0xAA60, 0xAA77, 0xAA7A, 0xAA80, 0xFB50, 0xFBB2, 0xFBD3, 0xFD3E, 0xFD50, 0xFD90, 0xFD92, 0xFDC8,
    0xFDF0, 0xFDFC, 0xFE70, 0xFEFD, 0x10D00, 0x10D28, 0x10EC2, 0x10EC8, 0x10ECB, 0x10ED0, 0x10ED9, 0x10F00,
    0x11B0A, 0x11B0B, 0x11DF0, 0x11DF2, 0x1E900, 0x1E94C,
)  # fmt: skip
# Letters of scripts that write no spaces between words.
_UNSPACED = (
    0x0E01, 0x0E3B, 0x0E40, 0x0E4F, 0x0E81, 0x0ECF, 0x0EDC, 0x0EE0, 0x1000, 0x1040, 0x1050, 0x1090, 0x109A,
    0x10A0, 0x1780, 0x17D4, 0x17D7, 0x17D8, 0x17DC, 0x17DE, 0x1950, 0x19CA, 0x19DE, 0x19E0, 0x1A20, 0x1A7D,
    0x1AA0, 0x1AAE, 0xA9E0, 0xA9F0, 0xA9FA, 0xA9FF, 0xAA60, 0xAAE0, 0x11700, 0x1172C, 0x1173A, 0x1173C,
    0x1173F, 0x11747,
)  # fmt: skip
# Mongolian letters.
_MONGOLIAN = (
    0x1820, 0x1885, 0x1887, 0x18A9, 0x18AA, 0x18AB,
)  # fmt: skip
# Han characters.
_IDEOGRAPHS = (
    0x3400, 0x4DC0, 0x4E00, 0xA000, 0xFA0E, 0xFA10, 0xFA11, 0xFA12, 0xFA13, 0xFA15, 0xFA1F, 0xFA20, 0xFA21,
    0xFA22, 0xFA23, 0xFA25, 0xFA27, 0xFA2A, 0x20000, 0x2EE5E, 0x30000, 0x3347A,
)  # fmt: skip
# Characters that have or may get an emoji form.
_PICTURES = (
    0x00A9, 0x00AA, 0x00AE, 0x00AF, 0x203C, 0x203D, 0x2049, 0x204A, 0x2122, 0x2123, 0x2139, 0x213A, 0x2194,
    0x219A, 0x21A9, 0x21AB, 0x231A, 0x231C, 0x2328, 0x2329, 0x23CF, 0x23D0, 0x23E9, 0x23F4, 0x23F8, 0x23FB,
    0x24C2, 0x24C3, 0x25AA, 0x25AC, 0x25B6, 0x25B7, 0x25C0, 0x25C1, 0x25FB, 0x25FF, 0x2600, 0x2605, 0x260E,
    0x260F, 0x2611, 0x2612, 0x2614, 0x2616, 0x2618, 0x2619, 0x261D, 0x261E, 0x2620, 0x2621, 0x2622, 0x2624,
    0x2626, 0x2627, 0x262A, 0x262B, 0x262E, 0x2630, 0x2638, 0x263B, 0x2640, 0x2641, 0x2642, 0x2643, 0x2648,
    0x2654, 0x265F, 0x2661, 0x2663, 0x2664, 0x2665, 0x2667, 0x2668, 0x2669, 0x267B, 0x267C, 0x267E, 0x2680,
    0x2692, 0x2698, 0x2699, 0x269A, 0x269B, 0x269D, 0x26A0, 0x26A2, 0x26A7, 0x26A8, 0x26AA, 0x26AC, 0x26B0,
    0x26B2, 0x26BD, 0x26BF, 0x26C4, 0x26C6, 0x26C8, 0x26C9, 0x26CE, 0x26D0, 0x26D1, 0x26D2, 0x26D3, 0x26D5,
    0x26E9, 0x26EB, 0x26F0, 0x26F6, 0x26F7, 0x26FB, 0x26FD, 0x26FE, 0x2702, 0x2703, 0x2705, 0x2706, 0x2708,
    0x270E, 0x270F, 0x2710, 0x2712, 0x2713, 0x2714, 0x2715, 0x2716, 0x2717, 0x271D, 0x271E, 0x2721, 0x2722,
    0x2728, 0x2729, 0x2733, 0x2735, 0x2744, 0x2745, 0x2747, 0x2748, 0x274C, 0x274D, 0x274E, 0x274F, 0x2753,
    0x2756, 0x2757, 0x2758, 0x2763, 0x2765, 0x2795, 0x2798, 0x27A1, 0x27A2, 0x27B0, 0x27B1, 0x27BF, 0x27C0,
    0x2934, 0x2936, 0x2B05, 0x2B08, 0x2B1B, 0x2B1D, 0x2B50, 0x2B51, 0x2B55, 0x2B56, 0x3030, 0x3031, 0x303D,
    0x303E, 0x3297, 0x3298, 0x3299, 0x329A, 0x1F004, 0x1F005, 0x1F02C, 0x1F030, 0x1F094, 0x1F0A0, 0x1F0AF,
    0x1F0B1, 0x1F0C0, 0x1F0C1, 0x1F0CF, 0x1F0D1, 0x1F0F6, 0x1F100, 0x1F170, 0x1F172, 0x1F17E, 0x1F180,
    0x1F18E, 0x1F18F, 0x1F191, 0x1F19B, 0x1F1AF, 0x1F1E6, 0x1F201, 0x1F210, 0x1F21A, 0x1F21B, 0x1F22F,
    0x1F230, 0x1F232, 0x1F23B, 0x1F23C, 0x1F240, 0x1F249, 0x1F260, 0x1F266, 0x1F322, 0x1F324, 0x1F394,
    0x1F396, 0x1F398, 0x1F399, 0x1F39C, 0x1F39E, 0x1F3F1, 0x1F3F3, 0x1F3F6, 0x1F3F7, 0x1F3FB, 0x1F400,
    0x1F4FE, 0x1F4FF, 0x1F53E, 0x1F549, 0x1F54F, 0x1F550, 0x1F568, 0x1F56F, 0x1F571, 0x1F573, 0x1F57B,
    0x1F587, 0x1F588, 0x1F58A, 0x1F58E, 0x1F590, 0x1F591, 0x1F595, 0x1F597, 0x1F5A4, 0x1F5A6, 0x1F5A8,
    0x1F5A9, 0x1F5B1, 0x1F5B3, 0x1F5BC, 0x1F5BD, 0x1F5C2, 0x1F5C5, 0x1F5D1, 0x1F5D4, 0x1F5DC, 0x1F5DF,
    0x1F5E1, 0x1F5E2, 0x1F5E3, 0x1F5E4, 0x1F5E8, 0x1F5E9, 0x1F5EF, 0x1F5F0, 0x1F5F3, 0x1F5F4, 0x1F5FA,
    0x1F650, 0x1F680, 0x1F6C6, 0x1F6CB, 0x1F6D3, 0x1F6D5, 0x1F6E6, 0x1F6E9, 0x1F6EA, 0x1F6EB, 0x1F6F1,
    0x1F6F3, 0x1F700, 0x1F7DC, 0x1F7F1, 0x1F80C, 0x1F810, 0x1F848, 0x1F850, 0x1F85A, 0x1F860, 0x1F888,
    0x1F890, 0x1F8AE, 0x1F8B0, 0x1F8BC, 0x1F8C0, 0x1F8C2, 0x1F8D0, 0x1F8D9, 0x1F900, 0x1F90C, 0x1F93B,
    0x1F93C, 0x1F946, 0x1F947, 0x1FA00, 0x1FA58, 0x1FA60, 0x1FA6E, 0x1FB00, 0x1FC00, 0x1FFFE,
)  # fmt: skip
# end table


def is_hidden(char: str) -> bool:
    """Whether the character `char` is one that nobody sees, wherever it stands."""
    return _holds(_HIDDEN, char)


def has_hidden(text: str) -> bool:
    """Whether `text` holds a character that nobody sees where no ordinary writing has it."""
    return visible(text) != text


def visible(text: str, instead: str = "") -> str:
    """Return `text` with each character that nobody sees replaced by `instead`; with none, `text` itself.

    Tabs and line ends (LF, CR) stay. Doing it twice changes nothing.
    """
    found = _suspects(text)
    if not found:
        return text
    if _END_OF_TAGS in found:
        for flag in _FLAGS:
            if flag in text:
                return flag.join([visible(part, instead) for part in text.split(flag)])
    always = {ord(char): instead for char in found if not re.match(_BY_PLACE, char)}
    if always:
        text = text.translate(always)
    return text if len(always) == len(found) else _judged_by_place(text, instead)


def visible_line(text: str) -> str:
    """Return `text` on one line, without characters that nobody sees and the blanks around them.

    Doing it twice changes nothing.
    """
    # Lines first: some ends of a line are characters that nobody sees, and their words must stay apart.
    return " ".join(visible(" ".join(text.split())).split())


def visible_name(path: str) -> str:
    """Return the name or path of a file on one line, on which all can be seen, for a person to read.

    What is no UTF-8, ends a line or is seen by nobody stands as its escape: ``\\n``, ``\\xe9``, ``\\u200b``.
    """
    shown = visible(path)
    if shown == path and path.isprintable():
        return path
    kept = {char for char in shown if char.isprintable() or (char.isspace() and char not in _LINE_ENDS)}
    return "".join([char if char in kept else _escaped(char) for char in path])


def _escaped(char: str) -> str:
    # The odd byte of a name, as Python has it.
    byte = ord(char) - 0xDC00
    return f"\\x{byte:02x}" if 0x80 <= byte <= 0xFF else char.encode("unicode_escape").decode("ascii")


def _suspects(text: str) -> list[str]:
    # In ASCII, and there only, all that `isprintable` lets through can be seen.
    if text.isascii() and text.replace("\n", "").replace("\t", "").replace("\r", "").isprintable():
        return []
    return [char for char in set(text) if bisect_right(_HIDDEN, ord(char)) & 1]


def _judged_by_place(text: str, instead: str) -> str:
    """Return `text`, of whose hidden characters only such are left as may belong where they stand."""
    pieces: list[str] = []
    variants: list[int] = []
    end, before = 0, ""
    for found in re.finditer(_BY_PLACE, text):
        start, char = found.start(), found[0]
        if start > end:
            pieces.append(text[end:start])
            before = text[start - 1]
        end = start + 1
        if _belongs(char, before, text[end : end + 1]):
            if _is_variant(char):
                variants.append(len(pieces))
            pieces.append(char)
            before = char
        elif instead:
            pieces.append(instead)
            before = instead[-1]
    for at in variants if len(variants) > _MOST_VARIANTS else ():
        pieces[at] = instead
    return "".join(pieces) + text[end:]


def _belongs(char: str, before: str, after: str) -> bool:
    """Whether ordinary writing has `char` between `before` (what was left of it) and `after`; "" is none."""
    if not before:
        return False
    if char == _ZWJ and (before in _SKIN_TONES or before == _EMOJI_STYLE or _holds(_PICTURES, before)):
        return after != "" and _holds(_PICTURES, after)
    if char in (_ZWJ, _ZWNJ):
        return _holds(_JOINING, before)
    if char == _ZWSP:
        return _holds(_UNSPACED, before)
    if char in (_TEXT_STYLE, _EMOJI_STYLE):
        return _holds(_PICTURES, before) or (before in _KEYS and after == _KEYCAP)
    if char == _VOWEL_SEPARATOR and before in _MONGOLIAN_SELECTORS:
        return True
    return _holds(_IDEOGRAPHS if _is_variant(char) else _MONGOLIAN, before)


def _is_variant(char: str) -> bool:
    return char >= "\ufe00" and char not in (_TEXT_STYLE, _EMOJI_STYLE)


def _holds(table: tuple[int, ...], char: str) -> bool:
    return bisect_right(table, ord(char)) & 1 == 1
