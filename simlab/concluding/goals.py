"""Read the goals of a plan, and compare them with a conclusion.

`read_expected` returns the systems and raters that a plan counts on, `read_goals` its targets and sizes, and `figures`
a `PlannedFigure` for each: the number planned, and the one found.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from simlab.answers.conclude import Conclusion, PlannedFigure
from simlab.concluding.assigning.planned_study import PLAN
from simlab.measures.labels import RANGES, SHARE
from simlab.messages import clip, pluralise, show
from simlab.studies.footprint import read_extent
from simlab.studies.worlds import draw_world
from simlab.types import Array, InputError

POINTS, YES = "points", "(share of yes)"
"""Units in which a plan counts differences."""
SHARE_OF_YES = "share of yes"
SIZES = ("documents", "ratings", "raters", "hours", "money")
NO_TIMES = "no times are told"
LARGEST = 1e15
"""Largest number that a plan may hold."""
TRUTH = ("power", "power_from", "power_at")
"""Measures that need the true differences, which no table shows."""
REPEATED = {
    "srp": "same",
    "srp_new_documents": "new_documents",
    "srp_new_raters": "new_raters",
    "srp_new_study": "new_study",
}
"""Measures that a conclusion simulates as a repetition, by what is new there."""
ALL_PAIRS = (None, "all", "ranks")
"""Families of comparisons whose claims are those of all pairs, which plans simulate."""


class Expected(NamedTuple):
    """Numbers of systems and raters in a plan (None: it does not say), and their names where it knows them."""

    n_systems: int | None
    n_raters: int | None
    system_names: tuple[str, ...] = ()
    rater_names: tuple[str, ...] = ()


def read_expected(config: Mapping[str, Any]) -> Expected:
    """Read the systems and raters that a plan expects; raise InputError where a file that it names is missing."""
    if config["systems"].get("path") is not None:
        frame = draw_world(config, 0).frame
        return Expected(frame.n_systems, frame.n_raters or None, frame.system_names, frame.rater_names)
    size = read_extent(config)
    n_systems, n_raters = int(size.systems.n), int(size.pool.n)
    return Expected(n_systems if n_systems > 1 else None, n_raters if n_raters > 1 else None)


def describe_other_systems(names: Sequence[str], plan: Expected, where: str) -> list[str]:
    """Return sentences on systems that only the table (`names`) has, or only the plan.

    Raises InputError, beginning with `where`, where the two have none in common: it is the plan of another study.
    """
    if not plan.system_names:
        if plan.n_systems is not None and plan.n_systems != len(names):
            return [f"{pluralise(len(names), 'system')}, planned are {plan.n_systems}"]
        return []
    further = [name for name in names if name not in plan.system_names]
    if len(further) == len(names):
        raise InputError(
            f"{where}: this is the plan of another study: it has {clip(', '.join(plan.system_names), 60)} and the "
            f"table {clip(', '.join(names), 60)}; name the plan of this table"
        )
    lacking = [name for name in plan.system_names if name not in names]
    deviations = [f"systems that are not in the plan: {clip(', '.join(further), 80)}"] if further else []
    return deviations + ([f"no answers about {clip(', '.join(lacking), 80)}"] if lacking else [])


class PlannedMeasure(NamedTuple):
    """A figure of a plan, with its Monte-Carlo standard error (NaN: it was given by the user, or counted)."""

    value: float
    mcse: float = math.nan


class Goals(NamedTuple):
    """Goals of a planned study: the findings that it promises, and its costs.

    `targets[measure]` is the least share to reach; `claims` is the share of all pairs that the design claimed in
    simulations, `smallest` the smallest difference that matters, in `unit`. `sizes` holds documents, ratings, raters,
    hours and money, those that the plan has; `currency` may be "".
    """

    targets: Mapping[str, float]
    claims: PlannedMeasure | None
    smallest: float
    unit: str
    sizes: Mapping[str, PlannedMeasure]
    currency: str

    def choose_unit(self, scores: Array) -> str:
        """Return the unit of differences of scores: a share of yes only where all scores are 0 or 1."""
        # A plan of yes and no may meet a table of points; a share of yes would then be a wrong unit.
        return SHARE_OF_YES if self.unit == YES and bool(np.isin(scores, (0, 1)).all()) else POINTS


def read_goals(answer: Mapping[str, Any], where: str) -> Goals | None:
    """Read goals from the `answer` of `plan.json`; None where it has no targets, as for a second batch.

    Raises InputError, beginning with `where`, for entries that no plan has.
    """
    if "targets" not in answer:
        return None
    rows = answer["targets"]
    if not isinstance(rows, list) or not all(isinstance(one, Mapping) for one in rows):
        _refuse(where, "targets", rows, "must be a list of targets")
    smallest, sizes, measures = (_object(answer, name, where) for name in ("smallest", "sizes", "measures"))
    unit, currency = smallest.get("unit"), sizes.get("currency")
    if unit not in (POINTS, YES):
        _refuse(where, "smallest.unit", unit, f"must be {POINTS} or {YES}")
    if not (currency is None or isinstance(currency, str)):
        _refuse(where, "sizes.currency", currency, "must be a name or null")
    claims = "significant_share"
    return Goals(
        targets=dict(_target(one, f"targets[{k}]", where) for k, one in enumerate(rows)),
        claims=_read_measure(measures, claims, where, most=1.0) if claims in measures else None,
        smallest=_number(smallest.get("value"), "smallest.value", where),
        unit=unit,
        sizes={
            name: PlannedMeasure(_number(n, f"sizes.{name}", where), _read_measure(measures, name, where).mcse)
            for name in SIZES
            if (n := sizes.get(name)) is not None
        },
        currency=clip(currency or "", 20),
    )


def figures(goals: Goals, conclusion: Conclusion, paid: float, hours: float = math.nan) -> list[PlannedFigure]:
    """Return each planned target and size beside the figure that the conclusion found.

    `paid` is the cost of the collected answers, `hours` the working time of all raters together (NaN: not known).
    """
    came = {"documents": conclusion.read.get("documents"), "ratings": conclusion.read.get("used")}
    came |= {"raters": conclusion.read.get("raters"), "hours": hours, "money": paid}
    figured = [_compare_target(name, least, conclusion) for name, least in goals.targets.items()]
    if goals.claims is not None and "significant_share" not in goals.targets:
        figured.append(_compare_claims(goals.claims, conclusion))
    detectable = math.nan if conclusion.detectable is None else conclusion.detectable
    unknown = "such a table finds none with 80 %" if conclusion.detectable is None else ""
    figured.append(
        PlannedFigure(
            measure="smallest_difference",
            unit=conclusion.unit,
            planned=goals.smallest,
            found=detectable,
            missing=unknown,
        )
    )
    return [*figured, *(_compare_size(name, size, goals, came.get(name)) for name, size in goals.sizes.items())]


def _compare_target(name: str, least: float, conclusion: Conclusion) -> PlannedFigure:
    figure = PlannedFigure(measure=name, unit="share", planned=least, found=math.nan)
    # A table shows no true differences, and power is a share of those.
    if name in TRUTH:
        return figure.replace_fields(missing="true differences are not")
    if name == "significant_share":
        return _compare_claims(PlannedMeasure(least), conclusion)
    if name == "no_wrong_claim":
        if conclusion.control is None:
            return figure.replace_fields(missing=conclusion.control_missing or "equal systems were not simulated")
        wrong, mcse = conclusion.control.some_claim, conclusion.control.some_claim_mcse
        if conclusion.control.best_excluded is not None:
            # In the family of best systems a wrong claim is to rule out the true best one.
            wrong, mcse = conclusion.control.best_excluded, conclusion.control.best_excluded_mcse or math.nan
        return figure.replace_fields(found=1 - wrong, found_mcse=mcse)
    if name in REPEATED and conclusion.repetition is not None:
        same_sign = getattr(conclusion.repetition.same_sign, REPEATED[name]).value
        why = (
            "" if math.isfinite(same_sign) else conclusion.repetition.unknown.get(REPEATED[name], "no claim to repeat")
        )
        return figure.replace_fields(found=same_sign, missing=why)
    if name in REPEATED:
        return figure.replace_fields(missing=conclusion.repetition_missing or "no claim to repeat")
    return figure.replace_fields(missing="one table does not tell it")


def _compare_claims(planned: PlannedMeasure, conclusion: Conclusion) -> PlannedFigure:
    figure = PlannedFigure(
        measure="significant_share", unit="share", planned=planned.value, found=math.nan, planned_mcse=planned.mcse
    )
    family = None if conclusion.family is None else conclusion.family.name
    if family not in ALL_PAIRS or not conclusion.pairs:
        # Fewer comparisons have a lower bar, so that the share of another family is no measure of this plan.
        return figure.replace_fields(missing="planned of all pairs at once")
    return figure.replace_fields(found=sum(pair.verdict != 0 for pair in conclusion.pairs) / len(conclusion.pairs))


def _compare_size(name: str, planned: PlannedMeasure, goals: Goals, counted: float | None) -> PlannedFigure:
    came = float(counted or math.nan)
    unit = (goals.currency or "money") if name == "money" else name
    why = "" if math.isfinite(came) else NO_TIMES if name == "hours" else "the table does not tell"
    return PlannedFigure(
        measure=name, unit=unit, planned=planned.value, found=came, planned_mcse=planned.mcse, missing=why
    )


def _target(content: Mapping[str, Any], name: str, where: str) -> tuple[str, float]:
    measure = content.get("measure")
    if not isinstance(measure, str) or RANGES.get(measure) != SHARE:
        _refuse(where, f"{name}.measure", measure, "must be a measure that is a share")
    return measure, _number(content.get("least"), f"{name}.least", where, most=1.0)


def _read_measure(measures: Mapping[str, Any], name: str, where: str, most: float = LARGEST) -> PlannedMeasure:
    """Return a measure of the design with its error; NaN where it was not simulated."""
    if name not in measures:
        return PlannedMeasure(math.nan)
    measure = _object(measures, name, where)
    value, mcse = (
        math.nan if (n := measure.get(part)) is None else _number(n, f"measures.{name}.{part}", where, most=most)
        for part in ("value", "mcse")
    )
    return PlannedMeasure(value, mcse)


def _object(content: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    value = content.get(name)
    if not isinstance(value, Mapping):
        _refuse(where, name, value, "must be an object")
    return value


def _number(value: Any, name: str, where: str, *, most: float = LARGEST) -> float:
    # True passes for the int 1 in Python; NaN fails both comparisons.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        _refuse(where, name, value, f"must be a number from 0 to {most:g}")
    return float(value)


def _refuse(where: str, name: str, value: Any, rule: str) -> NoReturn:
    text = clip(show(value) if isinstance(value, int | float | str | None) else type(value).__name__, 60)
    raise InputError(f"{where}: {PLAN}: {name} {text}: {rule}; plan again, in a folder of its own")
