"""Write the page of `simlab compare` for rows of designs."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.comparing.contrasts import Comparison, Row
from simlab.drawing.reports.sweeping.comparing import report
from simlab.drawing.reports.text import page


def compared_page(rows: Sequence[Row], by: str, measure: str, cluster: str = "world", *, paired: bool = True) -> str:
    """Write designs along `by`, which met the same worlds where they are `paired`."""
    return page(report(Comparison(rows, by, measure, cluster, paired, (), measure, None, "")))
