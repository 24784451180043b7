"""Write figures to files, all in one style."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.files import check_writable
from simlab.messages import legible
from simlab.types import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")

STYLE: Any = {
    "font.size": 9,
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
    "svg.hashsalt": "simlab",
    "pdf.fonttype": 42,
}


def check_suffix(file: Path | None, option: str = "--out") -> None:
    """Raise InputError for a file that no format belongs to, or that cannot be written.

    None, where no figure is wanted, is well.
    """
    if file is not None and file.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{option} {legible(file)}: a figure is written as {', '.join(SUFFIXES)}; end the name with one of them"
        )
    check_writable(file, option)


def write(draw: Callable[[], Figure], file: Path | None) -> Figure:
    """Draw a figure in the common style, and write it where a file is named.

    Raises InputError for an unknown suffix before drawing.
    """
    import matplotlib as mpl

    check_suffix(file)
    with mpl.rc_context(STYLE):
        figure = draw()
        if file is not None:
            save(figure, file)
    return figure


def save(figure: Figure, file: Path) -> None:
    """Write a figure without the time of day, so that the same store gives the same file."""
    undated = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    figure.savefig(file, dpi=200, metadata=undated[file.suffix.lower()])
