"""Return the question that a figure of a store answers, which is its title."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simlab.drawing import view
from simlab.drawing.view import View
from simlab.drawing.wording import measure_label

if TYPE_CHECKING:
    import xarray as xr

EQUAL = {"money": "For the same money: ", "hours": "For the same hours of work: ", "days": "In the same time: "}
"""How a question begins where designs are compared at what they take."""


def sweep_question(dataset: xr.Dataset, shown: View, measure: str | None = None) -> str:
    """Return the question of a sweep's figure: the first line of the aim, or for another measure what changes that.

    `measure` is the one that was named for the figure; the aim is about None and about the sweep's own measure. Where
    designs are compared at equal money or time, the question begins with that.
    """
    aim = str(view.read_declaration(dataset).get("aim") or "").strip().partition("\n")[0]
    own = (view.read_declaration(dataset).get("figure") or {}).get("measure")
    question = aim if aim and measure in (None, own) else _measure_question(dataset, shown)
    begins = EQUAL.get(shown.against or shown.across or "", "")
    return begins + (question[:1].lower() + question[1:] if begins else question)


def precision_question(dataset: xr.Dataset, measure: str) -> str:
    """Return the question of a figure of errors: if there are enough campaigns to know a measure."""
    return f"Are there enough campaigns to know {measure_label(dataset, measure)}?"


def _measure_question(dataset: xr.Dataset, shown: View) -> str:
    return f"What changes {measure_label(dataset, shown.measure)}?"
