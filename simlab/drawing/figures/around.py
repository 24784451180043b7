"""Write what stands around panels: the question above, what marks mean beside, what stands behind them below."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.figures import look

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend

QUESTION_POINTS, FOOTNOTE_POINTS = 10, 7
MOST_LINES = 2
"""Lines of a question; of a longer one the rest is left out."""
LEFT, EDGE = 0.01, 0.06
"""Where texts begin, as a share of the width; inches between them and the edge."""


def question(figure: Figure, text: str) -> None:
    """Write the question that a figure answers above it, from the left; in a paper its caption asks it."""
    _add_to_caption(figure, text)
    if look.now().paper:
        return
    wide = look.letters(figure.get_figwidth(), QUESTION_POINTS, bold=True)
    words = textwrap.fill(" ".join(text.split()), wide, max_lines=MOST_LINES, placeholder=" …")
    figure.suptitle(
        words, x=LEFT, y=0.99, ha="left", va="top", fontsize=QUESTION_POINTS, fontweight="bold", parse_math=False
    )


def footnote(figure: Figure, text: str) -> None:
    """Say below a figure what stands behind it; in a paper its caption says it."""
    _add_to_caption(figure, text)
    if look.now().paper:
        return
    words = textwrap.fill(text, look.letters(figure.get_figwidth(), FOOTNOTE_POINTS))
    style: Any = {"fontsize": FOOTNOTE_POINTS, "color": "#555555", "ha": "left", "va": "bottom", "parse_math": False}
    figure.supxlabel(words, x=LEFT, y=0.01, **style)


def caption_of(figure: Figure) -> str:
    """Return what a figure asks and what is said of it, for the caption of a paper or for those who cannot see it."""
    return str(figure.get_label())


def _add_to_caption(figure: Figure, text: str) -> None:
    said = caption_of(figure)
    figure.set_label(f"{said} {text}".strip())


def legend(
    figure: Figure, handles: Sequence[Any], labels: Sequence[str], title: str | None = None, **more: Any
) -> None:
    """Explain marks beside the panels, or where a figure is narrow below them in as many columns as it has room for."""
    if not handles:
        return
    wide = figure.get_figwidth()
    if not look.is_narrow(wide):
        figure.legend(handles, labels, loc="outside right upper", title=title, alignment="left", **more)
        return
    title = " ".join(title.split()) if title else None
    for columns in range(min(len(labels), 4), 0, -1):
        held = figure.legend(
            handles, labels, loc="outside lower left", title=title, alignment="left", ncols=columns,
            columnspacing=1.0, handletextpad=0.5, **more,
        )  # fmt: skip
        if columns == 1 or held.get_window_extent().width <= (0.96 * wide) * figure.dpi:
            return
        held.remove()


def settle(figure: Figure) -> None:
    """Leave room for question and footnote once they are written: panels and legends share what is between them."""
    engine = figure.get_layout_engine()
    if engine is None:
        return
    high = figure.get_figheight()
    above, below = (_inches(figure, text) for text in (figure.get_suptitle(), figure.get_supxlabel()))
    rect = (0.0, below / high, 1.0, 1 - (above + below) / high)
    engine.set(rect=rect)  # type: ignore[call-arg]
    for held in figure.legends:
        _within(held, rect, figure)


def _inches(figure: Figure, words: str) -> float:
    """Return the height of a text of the figure, with the room around it."""
    held = [text for text in (figure._suptitle, figure._supxlabel) if text is not None and words]  # type: ignore[attr-defined]
    heights = [text.get_window_extent().height for text in held if text.get_text() == words]
    return heights[0] / figure.dpi + 2 * EDGE if heights else 0.0


def _within(held: Legend, rect: tuple[float, float, float, float], figure: Figure) -> None:
    held.set_bbox_to_anchor(rect, transform=figure.transFigure)  # type: ignore[arg-type]
