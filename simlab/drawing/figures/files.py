"""Write figures to files (.png, .svg or .pdf), all in the current style; `write` draws one and writes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.drawing.figures import captions, page_style
from simlab.files import check_writable, write_whole
from simlab.messages import clip
from simlab.types import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
"""Endings of files that a figure can be written to."""

MAKER = "simlab"
"""Name of the program that is written into files."""
DPI = {"screen": 200, "paper": 300}
"""Dots per inch by style."""


def check_suffix(file: Path | None, option: str = "--out") -> None:
    """Raise InputError for a file that no format belongs to, or that cannot be written.

    None, where no figure is wanted, is well. `option` is the word that names the file in the message.
    """
    if file is not None and file.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"{option} {clip(file)}: a figure is written as {', '.join(SUFFIXES)}; end the name with one of them"
        )
    check_writable(file, option)


def choose_file(out: Path | None, folder: Path, name: str) -> Path:
    """Return the file of a figure: `out`, or if that is None the file `name` in `folder`.

    Raises InputError where it cannot be written, and for a file of that name which simlab did not draw. A folder that
    does not exist is not an error here: the caller opens it and says so.
    """
    check_suffix(out)
    file = out or folder / name
    if out is not None or folder.is_dir():
        check_writable(file, "--out")
    if out is None and file.exists() and MAKER.encode() not in file.read_bytes()[:500]:
        raise InputError(f"{clip(file)} is no figure of simlab, and stays as it is; name a file with --out")
    return file


def write(draw: Callable[[], Figure], file: Path | None) -> Figure:
    """Draw a figure in the current style, write it where a file is named, and return it.

    Raises InputError for an unknown suffix before drawing.
    """
    import matplotlib as mpl

    check_suffix(file)
    with mpl.rc_context(page_style.current_style().rc):
        figure = draw()
        captions.settle(figure)
        if file is not None:
            save(figure, file)
            page_style.leave_to_caption(captions.figure_caption(figure))
    return figure


def save(figure: Figure, file: Path) -> None:
    """Write a figure without the time of day, so that the same store gives the same file."""
    undated: Any = {".png": {"Software": MAKER}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    dpi, metadata = DPI[page_style.current_style().style], undated[file.suffix.lower()]
    write_whole({file: lambda part: figure.savefig(part, dpi=dpi, metadata=metadata)})
