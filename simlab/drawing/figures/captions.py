"""Put the texts around the panels of a matplotlib figure: the question above, the legend, and the footnote below.

`question`, `legend` and `footnote` change the figure that they are given; `settle` is called last and adds the room
that they take. In a paper question and footnote are not drawn; `figure_caption` returns both.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from simlab.drawing.figures import page_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text

QUESTION_POINTS, FOOTNOTE_POINTS = 10, 7
"""Sizes of texts [points]."""
MOST_LINES = 2
"""Lines of a question; of a longer one the rest is left out."""
Place: TypeAlias = Literal["right", "below", "above"]
"""Where a legend stands from the panels."""
Corner: TypeAlias = Literal["upper right", "upper left", "lower left"]
_CORNERS: Mapping[Place, Corner] = {"below": "lower left", "above": "upper left"}
MOST_COLUMNS = 6
"""Columns of a legend at most."""
SETTLED = "settled"
"""Mark (gid) of a figure that has its room."""
LEFT, EDGE = 0.01, 0.06
"""Where texts begin, as a share of the width; inches between them and the edge."""


def question(figure: Figure, text: str) -> None:
    """Write the question that a figure answers above it, from the left; in a paper its caption asks it."""
    _add_to_caption(figure, text)
    if page_style.current_style().paper:
        return
    wide = page_style.letters(figure.get_figwidth(), QUESTION_POINTS, bold=True)
    words = textwrap.fill(" ".join(text.split()), wide, max_lines=MOST_LINES, placeholder=" …")
    figure.suptitle(
        words, x=LEFT, y=0.99, ha="left", va="top", fontsize=QUESTION_POINTS, fontweight="bold", parse_math=False
    )


def footnote(figure: Figure, text: str) -> None:
    """Write a footnote below a figure: what its numbers rest on; in a paper its caption says it."""
    _add_to_caption(figure, text)
    if page_style.current_style().paper:
        return
    words = textwrap.fill(text, page_style.letters(figure.get_figwidth(), FOOTNOTE_POINTS))
    style: Any = {"fontsize": FOOTNOTE_POINTS, "color": "#555555", "ha": "left", "va": "bottom", "parse_math": False}
    figure.supxlabel(words, x=LEFT, y=0.01, **style)


def figure_caption(figure: Figure) -> str:
    """Return the question and the footnote of a figure, for the caption of a paper or for those who cannot see it."""
    return str(figure.get_label())


def _add_to_caption(figure: Figure, text: str) -> None:
    """Add a text to the figure's label, which is not drawn and keeps the caption."""
    caption = figure_caption(figure)
    figure.set_label(f"{caption} {text}".strip())


def legend(
    figure: Figure,
    handles: Sequence[Any],
    labels: Sequence[str],
    title: str | None = None,
    place: Place = "right",
    **more: Any,
) -> None:
    """Explain marks beside the panels; where a figure is narrow below them, in as many columns as it has room for.

    `handles` are matplotlib's marks, one for each label; `title` stands above them, `place` is the wanted side of the
    panels; `more` are further arguments of `Figure.legend`.
    """
    if not handles:
        return
    wide = figure.get_figwidth()
    if place == "right" and not page_style.is_narrow(wide):
        _legend(figure, handles, labels, "upper right", title=title, **more).set_gid(place)
        return
    place = "below" if place == "right" else place
    title = " ".join(title.split()) if title else None
    for columns in range(min(len(labels), MOST_COLUMNS), 0, -1):
        style: Any = {"ncols": columns, "columnspacing": 1.0, "handletextpad": 0.5} | more
        drawn = _legend(figure, handles, labels, _CORNERS[place], title=title, **style)
        drawn.set_gid(place)
        if columns == 1 or drawn.get_window_extent().width <= (wide - EDGE) * figure.dpi:
            return
        drawn.remove()


def _legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], corner: Corner, **more: Any) -> Legend:
    style: Any = {"alignment": "left", "borderaxespad": 0.3}
    return figure.legend(handles, labels, loc=corner, **style | more)


def settle(figure: Figure) -> None:
    """Add room for question, footnote and legends once they are written: the height so far is that of the panels.

    matplotlib itself gives a legend outside the panels the room of a title, which then stands upon it.
    """
    engine = figure.get_layout_engine()
    if engine is None or figure.get_gid() == SETTLED:
        return
    titles, captions = (_texts(figure, words) for words in (figure.get_suptitle(), figure.get_supxlabel()))
    above, below = (sum(_measure_text_height(figure, text) for text in texts) for texts in (titles, captions))
    left = {"right": 0.0, "above": above, "below": below}
    for drawn in figure.legends:
        place, extent = str(drawn.get_gid()), drawn.get_window_extent()
        if place not in left:
            continue
        left[place] += (extent.width if place == "right" else extent.height) / figure.dpi + EDGE
    figure.set_figheight(figure.get_figheight() + left["above"] + left["below"])
    wide, high = figure.get_size_inches()
    for text, y in [(text, 1 - EDGE / high) for text in titles] + [(text, EDGE / high) for text in captions]:
        text.set_y(y)
    for drawn in figure.legends:
        anchor = (0, below / high, 1, 1 - (above + below) / high)
        drawn.set_bbox_to_anchor(anchor, transform=figure.transFigure)
    figure.set_gid(SETTLED)
    rect = (0.0, left["below"] / high, 1 - left["right"] / wide, 1 - (left["above"] + left["below"]) / high)
    engine.set(rect=rect)  # type: ignore[call-arg]


def _texts(figure: Figure, words: str) -> list[Text]:
    """Return the text of the figure that says these words, if any does."""
    from matplotlib.text import Text

    texts: Any = figure.findobj(Text)
    return [text for text in texts if words and text.get_text() == words][:1]


def _measure_text_height(figure: Figure, text: Text) -> float:
    """Return the height of a text of the figure, with the room around it."""
    return float(text.get_window_extent().height / figure.dpi) + 2 * EDGE
