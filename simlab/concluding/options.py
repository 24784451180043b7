"""Options of a conclusion, `ConcludeOptions`, which a user gives beside the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.messages import clip
from simlab.tables.rating_table import NOTHING, ColumnOverrides
from simlab.types import FamilyName, InputError

if TYPE_CHECKING:
    from simlab.answers.conclude import PromiseName
    from simlab.concluding.plans import LoadedPlan

LEVEL = 0.05


def refuse_half(family: FamilyName | None, against: str | None) -> None:
    """Raise InputError for the family `against` without a baseline, and for a baseline with another family."""
    if family == "against" and against is None:
        raise InputError("--family against: names no baseline; add --against SYSTEM")
    if against is not None and family not in (None, "against"):
        raise InputError(
            f"--against {clip(against, 60)}: is of the family of pairs with one system, and --family {family} of "
            "all systems; leave one of them out"
        )


@dataclass(frozen=True, slots=True)
class ConcludeOptions:
    """Options of a conclusion: everything has a default, so that a table alone is enough.

    `level` is the error rate of the promise (None: the plan's, else .05). `promise` None: the plan's, else `fixed`.
    `metrics` are columns (or metrics of the second table); empty: those of the table. `family` None: the plan's, else
    `against` with a baseline and `all` without. `against` names the baseline, `margin` is a difference that does not
    matter, `exclude` are raters whose answers are also left out. `again` is False where no repetition is wanted. `gate`
    is False where nobody reads claims as promised (in a simulation, or where two conclusions are compared first): no
    user says so. `as_planned`: the analysis is that of a plan, whose family keeps the claims. `unit` is that of
    differences, as a plan names it (None: that of the scores as they are analysed). `second` is a second table, about
    the same systems. `overrides` are settings KEY=VALUE of the analysis. Outputs with a human score of `adequate_from`
    or better are adequate, and a metric says adequate above `threshold`. `consensus`: the answers that most raters
    would give to items are estimated, too. `look`: a table with too few planned answers is concluded from all the same,
    which withdraws the promise. `far_checked`: scores far outside are known to decide nothing, so that long simulations
    may start.
    """

    column_overrides: ColumnOverrides = NOTHING
    plan: LoadedPlan | None = None
    promise: PromiseName | None = None
    level: float | None = None
    metrics: tuple[str, ...] = ()
    second: Path | None = None
    family: FamilyName | None = None
    against: str | None = None
    margin: float | None = None
    exclude: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    seed: int = 0
    again: bool = True
    gate: bool = True
    adequate_from: float | None = None
    threshold: float | None = None
    look: bool = False
    far_checked: bool = False
    as_planned: bool = False
    unit: str | None = None
    consensus: bool = False
