"""The verb of the command line that names the design to buy, for notebooks, and what it answers with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from simlab.commands.flags import File, Rows, path_of, told_of
from simlab.commands.notebook import Setting, mendable
from simlab.commands.notebook_answers import listed
from simlab.commands.words import words

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.answers.plan import StudyPlan
    from simlab.tables.held import Alike
    from simlab.types import FamilyName

Wanted: TypeAlias = Mapping[str, float] | str


@dataclass(frozen=True, slots=True, repr=False)
class PlannedStudy:
    """Hold the design to buy and what it rests on.

    `reached`: it reaches all targets within the limits (else it is the best there is). `design` are its settings,
    `measures` its figures in worlds that the search had not seen (value, mcse, low, high). `front`, over `candidate`,
    holds all designs that were looked at: settings, figures, and whether they are on the Pareto front. `record` is what
    `simlab plan --format json` says, `text` its page, `folder` where the study stands.
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
        """Say whether the targets are reached, and where the study stands."""
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
        from simlab.drawing.figures import files, look
        from simlab.drawing.reports.answers.plan import report
        from simlab.drawing.reports.static import figure_of

        with look.worn(look.look(style, width)):
            return files.write(lambda: figure_of(report(self.found)), path_of(out))


def plan(
    subject: File | None = None,
    *settings: Setting,
    target: Wanted | None = None,
    floor: Wanted | None = None,
    smallest_difference: float | None = None,
    over: str | None = None,
    candidates: File | None = None,
    scenarios: Sequence[File] = (),
    margin: float = 0.02,
    confidence: float = 0.95,
    at_most: str | int = 5000,
    systems: int | None = None,
    raters: int | None = None,
    price: float | None = None,
    budget: float | None = None,
    by: str | None = None,
    law: Literal["auto", "mqm", "gaussian", "normal_scores", "ordinal", "binary"] = "auto",
    columns: Mapping[str, str] | None = None,
    better: Literal["higher", "lower"] | None = None,
    scale: tuple[float, float] | None = None,
    people: File | None = None,
    where: Rows | None = None,
    alike: Alike = "refuse",
    wide: Sequence[str] = (),
    decimal: Literal[",", "."] | None = None,
    out: File | None = None,
    jobs: int | None = None,
    seed: int = 1,
    family: FamilyName | None = None,
    against: str | None = None,
    force: bool = False,
    progress: bool = False,
) -> PlannedStudy:
    """Name the design to buy: the cheapest that finds what must be found, and the best that the budget buys.

    `subject` is the table of a pilot, a world that `fit` wrote, or a study file; None: the presets' world. Options are
    those of `simlab plan`; `target` and `floor` may be mappings (`{"power": 0.8}`). The study's folder is `out`, by
    default one in `outputs/`. Raises InputError, before anything is carried out, for what is asked wrongly.

    >>> planned = simlab.plan("pilot.csv", "budget.total=2000", price=0.5, out="my")  # doctest: +SKIP
    >>> planned.design["design.documents"], planned.measures["power"]["value"]  # doctest: +SKIP
    """
    from simlab.answers.plan import front_rows
    from simlab.commands import plan as plans
    from simlab.commands.notes import note
    from simlab.fitting.report import silent

    asked = plans.Asked(
        words=(*([] if subject is None else [os.fspath(subject)]), *words(settings, axes=False)),
        target=_typed(target),
        floor=_typed(floor),
        smallest=smallest_difference,
        over=over,
        candidates=path_of(candidates),
        scenarios=",".join(os.fspath(one) for one in scenarios) or None,
        margin=margin,
        confidence=confidence,
        at_most=str(at_most),
        systems=systems,
        raters=raters,
        price=price,
        budget=budget,
        by=by,
        law=law,
        out=path_of(out),
        jobs=jobs,
        seed=seed,
        told=told_of(columns, better, scale, people, where, alike, wide, decimal),
        force=force,
        family=family,
        against=against,
    )
    with mendable():
        planned = plans.carried_out(asked, say=note if progress else silent)
    (record,) = planned.record.plain()
    return PlannedStudy(
        planned.plan.reached,
        record["design"],
        record["measures"],
        listed("candidate", front_rows(planned.plan)),
        record,
        plans.page(planned, asked),
        planned.out,
        planned.plan,
    )


def _typed(wanted: Wanted | None) -> str | None:
    """Write targets as they are typed."""
    return wanted if wanted is None or isinstance(wanted, str) else ",".join(f"{k}={x!r}" for k, x in wanted.items())
