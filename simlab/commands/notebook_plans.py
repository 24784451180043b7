"""Answer of `simlab.plan` in notebooks: `label_plan` makes a `PlannedStudy` of the command's answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.answers.plan import front_rows
from simlab.commands.flags import File, make_path
from simlab.commands.notebook_answers import lay_out_records
from simlab.commands.plan import WrittenPlan, page

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.plan import StudyPlan


@dataclass(frozen=True, slots=True, repr=False)
class PlannedStudy:
    """Design to buy, with its measures and the other designs of the search.

    `reached`: it reaches all targets within the limits (else it is the best there is). `design` are its settings,
    `measures` its figures in worlds that the search had not seen (value, mcse, low, high). `front`, over `candidate`,
    holds all designs that were looked at: settings, figures, and whether they are on the Pareto front. `record` is the
    answer of `simlab plan --format json`, `text` that for a terminal, `folder` the study's folder.
    """

    reached: bool
    design: Mapping[str, Any]
    measures: Mapping[str, Mapping[str, float]]
    front: xr.Dataset
    record: Mapping[str, Any]
    text: str
    folder: Path
    found: StudyPlan

    def __repr__(self) -> str:
        """Name the folder, and write whether targets are reached."""
        return f"<PlannedStudy: {'reaches' if self.reached else 'does not reach'} its targets; in {self.folder}>"

    def _repr_html_(self) -> str | None:
        """Return the page, for notebooks."""
        from simlab.answers.plan import PlanAnswer
        from simlab.answers.records import read_record

        return read_record(PlanAnswer, [self.record])._repr_html_()

    def plot(self, out: File | None = None, *, style: str = "screen", width: str | None = None) -> Figure:
        """Draw the front; `style` and `width` as for `simlab.plot`.

        Raises InputError for a name that no format of figures has, and for a look that is none.
        """
        from simlab.drawing.figures import files, page_style
        from simlab.drawing.reports.answers.plan import report
        from simlab.drawing.reports.static import plot_report

        with page_style.figure_style(page_style.look(style, width)):
            return files.write(lambda: plot_report(report(self.found)), make_path(out))


def label_plan(planned: WrittenPlan) -> PlannedStudy:
    """Return a plan as notebooks get it, with all designs of the search as a dataset."""
    (record,) = planned.record.serialise()
    return PlannedStudy(
        planned.plan.reached,
        record["design"],
        record["measures"],
        lay_out_records("candidate", front_rows(planned.plan)),
        record,
        page(planned),
        planned.out,
        planned.plan,
    )
