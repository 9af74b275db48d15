"""Makes ``docs/picture.svg``, the README's picture: ``make picture``.

The real client plays the scene of ``tests/realclient/scene.py`` in a box without network, where a script
is the model. What its terminal shows is drawn as it stands; only the client's frame around it is left
out. A test with the real client plays the scene again and says when the picture is out of date.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from rich.ansi import AnsiDecoder
from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

FILE = Path(__file__).with_name("picture.svg")
PLACE = Path("/tmp/tide")
"""Where the box is made: the picture shows it, so it is the same on every machine."""

# Pixels: a cell of the terminal, the margin, a title's line, the space between frames.
CELL, LINE, MARGIN, TITLE, GAP = 8.4, 19, 20, 30, 14
CORNER = "⎿"  # stands before what a command or a hook says; few fonts have it
PAPER, INK, HEADING, FRAME = "#16181d", "#d7dae0", "#8fb8f0", "#4b5160"

_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" \
role="img">
<title>Reverie in Claude Code</title>
<desc>{told}</desc>
<style>
text {{ font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.title {{ font: 600 15px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }}
</style>
<rect x="0.5" y="0.5" width="{inner}" height="{tall}" rx="10" fill="{paper}" stroke="{frame}"/>
<g fill="{ink}">
"""


def draw(frames: Sequence[tuple[str, str]], columns: int) -> str:
    """Return an SVG of `frames`, each a title and a screen with escape codes, of at most `columns` cells."""
    parts: list[str] = []
    top = float(MARGIN)
    for title, screen in frames:
        parts.append(
            f'<text class="title" fill="{HEADING}" x="{MARGIN}" y="{top + 15:g}">{escape(title)}</text>'
        )
        top += TITLE
        for line in AnsiDecoder().decode(screen):
            parts += _line(line, top)
            top += LINE
        top += GAP
    width, height = round(columns * CELL) + 2 * MARGIN, round(top - GAP) + MARGIN
    head = _HEAD.format(
        width=width, height=height, inner=width - 1, tall=height - 1, paper=PAPER, ink=INK,
        frame=FRAME, told=escape(" ".join(title for title, _screen in frames)),
    )  # fmt: skip
    return head + "\n".join([*parts, "</g>\n</svg>"]) + "\n"


def _line(line: Text, top: float) -> Iterable[str]:
    """Yield one line of the terminal: the backgrounds that are set, then the words on them."""
    column, papers, letters = 0, list[tuple[str, int, int]](), list[str]()
    for text, style in _runs(line):
        cells = cell_len(text)
        if paper := _hex(style.bgcolor):
            begin = papers.pop()[1] if papers and papers[-1][::2] == (paper, column) else column
            papers.append((paper, begin, column + cells))
        # Two blanks end a piece, and each piece has its place and width: no font may shift what follows.
        for piece in re.finditer(r"\S+(?: \S+)*", text):
            left = MARGIN + (column + cell_len(text[: piece.start()])) * CELL
            letters.append(_piece(piece[0], left, top, _look(style)))
        column += cells
    for paper, begin, end in papers:
        left, wide = MARGIN + begin * CELL, (end - begin) * CELL
        yield f'<rect x="{left:.1f}" y="{top:g}" width="{wide:.1f}" height="{LINE}" fill="{paper}"/>'
    yield from letters


def _piece(text: str, left: float, top: float, look: str) -> str:
    if text == CORNER:
        stroke = look.replace("fill", "stroke") or f' stroke="{INK}"'
        return f'<path d="M{left + 3:.1f} {top:g}v10h{CELL - 3:.1f}" fill="none"{stroke}/>'
    wide = f'textLength="{cell_len(text) * CELL:.1f}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{left:.1f}" y="{top + 14:g}" {wide}{look}>{escape(text)}</text>'


def _runs(line: Text) -> Iterable[tuple[str, Style]]:
    """Yield the pieces of `line` that look alike."""
    styles = [Style.null()] * len(line.plain)
    for span in line.spans:
        for at in range(span.start, min(span.end, len(styles))):
            styles[at] += span.style if isinstance(span.style, Style) else Style.parse(span.style)
    letters = (Segment(letter, style) for letter, style in zip(line.plain, styles, strict=True))
    for text, style, _control in Segment.simplify(letters):
        yield text, style or Style.null()


def _look(style: Style) -> str:
    """Return the attributes for letters of `style`."""
    fill = f' fill="{colour}"' if (colour := _hex(style.color)) else ""
    return fill + (' font-weight="bold"' if style.bold else "") + (' opacity="0.6"' if style.dim else "")


def _hex(colour: Color | None) -> str:
    return "" if colour is None or colour.is_default else colour.get_truecolor().hex


def words(svg: str) -> list[str]:
    """Return the texts of `svg`, one for each title and each line, in order."""
    lines: dict[str, str] = {}
    for node in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        lines[node.attrib["y"]] = lines.get(node.attrib["y"], "") + (node.text or "")
    return list(lines.values())


def same(one: str, other: str) -> bool:
    """Whether two pictures tell the same: day, ids, folders, and where a line breaks, do not count."""
    return _told(one) == _told(other)


def _told(svg: str) -> str:
    text = re.sub(r"\s", "", "".join(words(svg)))
    text = re.sub(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(?:\d\d:\d\d)?", "…", text)
    return re.sub(r"(?<=file)/.*?(?=/memory/)|(?<=learnedsince)\w+", "…", text)


def play() -> str:
    """Return the picture as it is now; needs the box, and the client that REVERIE_CLAUDE names."""
    # Imported here: a system without terminals can draw and compare, but not play.
    from tests.realclient import scene
    from tests.realclient.box import opened
    from tests.realclient.scripted_api import Script

    client = Path(os.environ["REVERIE_CLAUDE"])
    PLACE.mkdir()
    try:
        with opened(PLACE, client, Script(list(scene.RULES)), project=scene.PROJECT) as machine:
            return draw(scene.play(machine), scene.COLUMNS)
    finally:
        shutil.rmtree(PLACE)


def main() -> int:
    """Write the picture, unless it still tells what the client shows."""
    now = play()
    if not FILE.exists() or not same(FILE.read_text("utf-8"), now) or "--anyway" in sys.argv[1:]:
        FILE.write_text(now, "utf-8")
        sys.stdout.write(f"{FILE.name} is new\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
