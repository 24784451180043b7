"""Style of figures: for a screen, or as wide as the column of a paper.

`look` reads the style and the width that were typed, `figure_style` applies them to all figures drawn within it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from simlab.messages import clip, suggest
from simlab.types import InputError

Style: TypeAlias = Literal["screen", "paper"]
STYLES: tuple[Style, ...] = ("screen", "paper")
INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
"""Inches of each unit that a width may have."""
LEAST, MOST = 2.0, 12.0
"""Inches between which the width of a figure lies."""
NARROW = 5.0
"""Of fewer inches none are left for a legend beside the panels: it goes below them."""
COLUMN = 3.3
"""Inches of a column of a paper of two columns."""
ROOM = 0.65
"""Of the width of a figure, the share that a panel has between the names of its rows and the edge."""
_WIDTH = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(in|cm|mm)\s*")

_SCREEN: Mapping[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    # What is drawn must not hang on the fonts of its reader: outlines in .svg, fonts of one kind within .pdf.
    "font.family": "DejaVu Sans",
    "svg.fonttype": "path",
    "svg.hashsalt": "simlab",
    "pdf.fonttype": 42,
}
_PAPER: Mapping[str, Any] = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.title_fontsize": 6.5,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.2,
}


@dataclass(frozen=True, slots=True)
class FigureLook:
    """Style of a figure and its width in inches; None leaves the width to what is drawn.

    In the style `paper` texts are small, and title and footnote are left out: a paper's caption says what they say.
    """

    style: Style = "screen"
    width: float | None = None

    @property
    def paper(self) -> bool:
        """True if the figure is for a paper."""
        return self.style == "paper"

    @property
    def rc(self) -> Any:
        """Return matplotlib's settings of fonts, lines and files."""
        return {**_SCREEN, **(_PAPER if self.paper else {})}


SCREEN = FigureLook()
_WORN: ContextVar[tuple[FigureLook, list[str]]] = ContextVar("look", default=(SCREEN, []))
"""The look of figures, and what those drawn in it leave to their captions."""


def current_style() -> FigureLook:
    """Return the look in which figures are being drawn."""
    return _WORN.get()[0]


def leave_to_caption(text: str) -> None:
    """Keep the caption of a figure for a paper in the list that `figure_style` yields; nothing on a screen."""
    if current_style().paper:
        _WORN.get()[1].append(text)


@contextmanager
def figure_style(look: FigureLook) -> Iterator[list[str]]:
    """Draw all figures within this context in a look; the list that it yields gathers their captions for a paper."""
    captions: list[str] = []
    token = _WORN.set((look, captions))
    try:
        yield captions
    finally:
        _WORN.reset(token)


def size(width: float, height: float) -> tuple[float, float]:
    """Return the width and the height of a figure [inches]: the width is that of the look, if it has one."""
    return (current_style().width or width), height


def is_narrow(width: float) -> bool:
    """True if a figure of so many inches has no room for a legend beside its panels."""
    return width < NARROW


def points(usual: float) -> float:
    """Return the size of a text in points: on paper none is larger than the rest, none smaller than can be read."""
    return max(min(usual, 7.0) - 0.5, 5.0) if current_style().paper else usual


def letters(inches: float, size: float, *, bold: bool = False) -> int:
    """Return about how many letters of `size` points stand on so many inches; at least 12."""
    return max(12, int(72 * inches / ((0.68 if bold else 0.6) * size)))


def fold_label(text: str, usual: int) -> str:
    """Return a label in lines of at most `usual` letters, or of as many as a figure of a given width has room for."""
    wide = current_style().width
    room = usual if wide is None else min(usual, letters(ROOM * wide, points(9)))
    return textwrap.fill(text, room)


def look(style: str = "screen", width: str | None = None) -> FigureLook:
    """Return the look of a style and a width such as 3.3in, 84mm or 8.4cm; on paper a column wide if none is named.

    Raises InputError for another style, for a width without a unit, and for one that no page has.
    """
    for known in STYLES:
        if known == style:
            return FigureLook(
                known, _parse_inches(width) if width is not None else COLUMN if known == "paper" else None
            )
    raise InputError(f"--style {clip(style, 60)} is not known; {suggest(style, STYLES)}")


def _parse_inches(text: str) -> float:
    option, unit = f"--width {clip(text, 60)}", "write a number with in, cm or mm, for example 3.3in"
    if not (match := _WIDTH.fullmatch(text)):
        raise InputError(f"{option} is not a width; {unit}")
    wide = float(match[1]) * INCHES[match[2]]
    if not LEAST <= wide <= MOST:
        raise InputError(f"{option} is not between {LEAST:g}in and {MOST:g}in; {unit}")
    return wide
