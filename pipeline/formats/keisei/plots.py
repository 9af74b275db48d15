"""Pictures of journals and traces as PNG, drawn by matplotlib (extra ``plots``), which is imported late.

The only module that imports it. No window, no global state and no clock: the same values give the same bytes.
"""

from __future__ import annotations

import io
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import InputError
from pipeline.core.extras import how_to_install
from pipeline.safety.invisible import visible
from pipeline.text.humanize import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PNG = b"\x89PNG\r\n\x1a\n"
MOST_BARS = 20
MOST_FILES = 14
_MOST_LABEL = 64
_DPI = 150
_INK, _PALE, _BAR = "#24292f", "#8b949e", "#3d6fa8"
_TOOLS = ("#b5403a", "#e09f3e", "#3d6fa8", "#6a9a58", "#9a8c98")
"""Colours of the first tools and of all others, subtitle apart by those who see few colours, too."""
_TICKS = (
    (1, "1 s"),
    (10, "10 s"),
    (60, "1 min"),
    (600, "10 min"),
    (3_600, "1 h"),
    (36_000, "10 h"),
    (360_000, "4 days"),
)


def durations(seconds: Sequence[float], file: Path, *, what: str = "session") -> None:
    """Draw how long sessions, or whatever else, took: a histogram over a scale by powers of ten."""
    known = [max(1.0, value) for value in seconds]
    figure, axes = _canvas(9, 4.6)
    if known:
        low, high = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known) + 1))
        steps = max(1, (high - low)) * 6
        edges = [10 ** (low + (high - low) * at / steps) for at in range(steps + 1)]
        axes.hist(known, bins=edges, color=_BAR, edgecolor="white", linewidth=1)
        axes.set_xscale("log")
        axes.set_xlim(edges[0], edges[-1])
        marks = [(at, label) for at, label in _TICKS if edges[0] <= at <= edges[-1]]
        axes.set_xticks([at for at, _ in marks], [label for _, label in marks])
        axes.minorticks_off()
        middle = statistics.median(known)
        axes.axvline(middle, color=_TOOLS[0], linewidth=1.5)
        axes.annotate(
            f"median {_length(middle)}",
            (middle, 1),
            xycoords=("data", "axes fraction"),
            xytext=(6, -12),
            textcoords="offset points",
            color=_TOOLS[0],
        )
    _whole_numbers(axes.yaxis)
    axes.set_xlabel(f"length of a {what}, on a logarithmic scale; what took no second stands at 1 s")
    axes.set_ylabel(f"{what}s")
    _title(axes, f"How long a {what} takes", count(len(known), what))
    _save(figure, file)


def failures(
    labels: Sequence[str],
    by_tool: Sequence[tuple[str, Sequence[int]]],
    calls: Sequence[int],
    file: Path,
) -> None:
    """Draw failed calls of each session, stacked by tool, with their share of all calls above each bar."""
    figure, axes = _canvas(max(7.0, 0.42 * len(labels) + 2.5), 5)
    floor = [0] * len(labels)
    for (tool, numbers), colour in zip(by_tool, _TOOLS, strict=False):
        axes.bar(range(len(labels)), numbers, bottom=floor, color=colour, width=0.72, label=_short(tool, 28))
        floor = [below + number for below, number in zip(floor, numbers, strict=True)]
    for at, (failed, all_calls) in enumerate(zip(floor, calls, strict=True)):
        if failed and all_calls:
            share = f"{100 * failed / all_calls:.0f} %"
            axes.annotate(share, (at, failed), xytext=(0, 3), textcoords="offset points", ha="center",
                          fontsize=8, color=_INK)  # fmt: skip
    axes.set_xticks(range(len(labels)), labels, rotation=55, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_xlim(-0.6, max(0, len(labels) - 1) + 0.6)
    axes.set_ylim(0, max([*floor, 1]) * 1.12)
    _whole_numbers(axes.yaxis)
    axes.set_xlabel("session, by the day on which it began")
    axes.set_ylabel("failed calls of tools")
    if by_tool:
        axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    subtitle = (
        f"{count(sum(floor), 'failed call')} of {sum(calls):,}; above each bar their share of the session's"
    )
    _title(axes, "Failed calls in each session", subtitle)
    _save(figure, file)


def bars(rows: Sequence[tuple[str, int, str]], file: Path, *, title: str, subtitle: str, unit: str) -> None:
    """Draw one bar for each row (label, length, words behind the bar), the first on top."""
    shown = rows[:MOST_BARS]
    figure, axes = _canvas(10, max(2.4, 0.36 * len(shown) + 1.6))
    places = range(len(shown))
    axes.barh(places, [number for _, number, _ in shown], color=_BAR, height=0.66)
    axes.set_yticks(places, [_short(label, _MOST_LABEL) for label, _, _ in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    for at, (_, number, words) in enumerate(shown):
        axes.annotate(words, (number, at), xytext=(5, 0), textcoords="offset points", va="center",
                      fontsize=9, color=_INK)  # fmt: skip
    axes.set_xlim(0, max([number for _, number, _ in shown], default=1) * 1.3)
    axes.grid(visible=True, axis="x", color="#e6e8eb", linewidth=0.8)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    _whole_numbers(axes.xaxis)
    axes.set_xlabel(unit)
    _title(axes, title, subtitle)
    _save(figure, file)


def together(names: Sequence[str], counts: Sequence[Sequence[int]], file: Path, *, folder: str = "") -> None:
    """Draw how often each two of some files were used together: a field for each pair, darker for more."""
    size = 0.55 * max(1, len(names) - 1)
    figure, axes = _canvas(size + 4.6, size + 3.2)
    most = max((number for row in counts for number in row), default=0) or 1
    shown = [
        [float(row[at]) if at < below and row[at] else math.nan for at in range(len(names) - 1)]
        for below, row in enumerate(counts)
    ][1:]
    if shown:
        axes.pcolormesh(
            shown, cmap="Blues", vmin=-0.3 * most, vmax=most * 1.1, edgecolors="white", linewidth=3
        )
    for below, row in enumerate(shown):
        for at, number in enumerate(row):
            if not math.isnan(number):
                colour = "white" if number > 0.55 * most else _INK
                axes.text(
                    at + 0.5, below + 0.5, f"{number:.0f}", ha="center", va="center", fontsize=9, color=colour
                )
    labels = [_short(name, 44, keep_end=True) for name in names]
    middles = [at + 0.5 for at in range(len(shown))]
    axes.set_xticks(middles, labels[:-1], rotation=55, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(middles, labels[1:], fontsize=8)
    axes.set_aspect("equal")
    axes.invert_yaxis()
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    where = f", below {_short(folder, 60, keep_end=True)}" if folder else ""
    _title(axes, "Files used together", f"how often within five minutes of one another{where}")
    _save(figure, file)


def _canvas(width: float, height: float) -> tuple[Figure, Axes]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError(
            "pictures need matplotlib, which is not installed",
            fix=how_to_install("plots"),
        ) from error
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", w_pad=0.15, h_pad=0.15)
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(_PALE)
    axes.tick_params(colors=_INK, labelsize=9)
    axes.grid(visible=True, axis="y", color="#e6e8eb", linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _title(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", fontsize=14, fontweight="bold", color=_INK, pad=26)
    axes.annotate(subtitle, (0, 1), xycoords="axes fraction", xytext=(0, 9), textcoords="offset points",
                  fontsize=10, color="#57606a")  # fmt: skip


def _whole_numbers(axis: Axis) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True))


def _short(text: str, most: int, *, keep_end: bool = False) -> str:
    """Return a label that a picture has room for; what would be a formula or hidden is plain text."""
    plain = visible(" ".join(text.split()), instead="\N{REPLACEMENT CHARACTER}").replace("$", r"\$")
    if len(plain) <= most:
        return plain
    return f"…{plain[-most:]}" if keep_end else f"{plain[:most]}…"


def _length(seconds: float) -> str:
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size * 1.5:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _save(figure: Any, file: Path) -> None:
    if file.exists() and not _is_picture(file):
        raise InputError("is there and is no picture", file=str(file), fix="Name a new file, say plot.png.")
    held = io.BytesIO()
    figure.savefig(held, format="png", metadata={"Software": "reverie"})
    write_atomic(file, held.getvalue())


def _is_picture(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as source:
        return source.read(len(PNG)) == PNG
