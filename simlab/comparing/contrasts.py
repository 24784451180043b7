"""Compare designs on the same worlds: paired differences, their errors, ties, and where each design stands.

The designs are the values of one axis of a store; they are compared in every cell of the other axes. Call `compare` for
the rows (one for each design in each cell) and `describe` for the `Comparison` that reports take; `records` and
`tabulate_comparison` give rows as mappings and as a dataset. A cluster is the unit of replication, usually a world.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from simlab.comparing.differences import Contrast, Point, bound_difference, compare_paired, lacks_error, mcse
from simlab.comparing.promises import Doubts, bound_by_failures, find_doubts
from simlab.measures.labels import FEW_CLUSTERS, LABELS
from simlab.measures.precision import LEVEL
from simlab.messages import word
from simlab.store.coordinates import restore_axis_values
from simlab.store.intervals import sureness
from simlab.store.measures import LESS_IS_BETTER
from simlab.store.query import place_on
from simlab.store.reservations import HELD_FIXED
from simlab.types import Array, Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

    from simlab.comparing.several_stores import Equal
    from simlab.comparing.world_distribution import WorldStatistic

Standing = Literal["best", "tied", "behind", "unknown", "marked", "unranked", "unreached"]
"""`marked`: not behind the best, and something speaks against it. `unranked`: designs met worlds of their own.

`unreached`: at this cost the design has no cells on both sides."""
BETTER_BY = 0.02
"""Least difference of a measure that is a share by which a design counts as better, or worse, in a world."""
DIFFERENCES = {
    "difference": "difference from the baseline",
    "difference_mcse": "Monte-Carlo standard error of the difference",
    "difference_low": f"lower bound of the {LEVEL:.0%} t interval of the difference",
    "difference_high": f"upper bound of the {LEVEL:.0%} t interval of the difference",
}
"""Labels of the variables of a difference, in the dataset of a comparison."""


@dataclass(frozen=True, slots=True)
class Row:
    """One design of a comparison in one cell: its value, its difference from the baseline, and its standing.

    `at` holds the values of the axes that are not compared, `design` and `baseline` are values of the compared axis;
    `value` rests on `n` campaigns in `clusters` clusters; `mcse` is its standard error, `low` and `high` its 95 %
    interval. `contrast` is None for the baseline itself. `failed` of `ran` campaigns failed; `marks` are objections to
    calling the design the best, or to its few clusters. `better` and `worse` are the shares of worlds in which it is
    better, or worse, than the baseline by `BETTER_BY` or more (None: not estimated).
    """

    at: Mapping[str, object]
    design: object
    value: float
    mcse: float
    n: int
    clusters: int
    baseline: object
    contrast: Contrast | None
    standing: Standing
    low: float = float("nan")
    high: float = float("nan")
    failed: int = 0
    ran: int = 0
    marks: tuple[str, ...] = ()
    better: WorldStatistic | None = None
    worse: WorldStatistic | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Comparison of designs: its rows, the compared axis (`by`), the measure, and the unit of replication (`cluster`).

    `label` is the measure's name for people, `unit` its unit, if it has one, and `equal` the interpolation where
    designs are compared at equal cost. `paired` is False where some designs did not meet the same worlds; `differing`
    names the keys in which their systems differ, so that none is called best. `held_fixed` names what the studies of a
    cell share. `designs` gives, by name, the axis values (and the store) of a design that consists of several.
    """

    rows: Sequence[Row]
    by: str
    measure: str
    cluster: str
    paired: bool
    differing: tuple[str, ...]
    label: str
    unit: str | None
    held_fixed: str
    equal: Equal | None = None
    designs: Mapping[object, Mapping[str, object]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Question:
    """Terms of a comparison, for the functions that make its rows.

    `less`: the least value is the best. A value lies between `bounds` (None: not known), for which `order` campaigns
    are compared at a time. `unlike`: each design met systems of its own. `reference` is the index of the baseline
    (None: the best design).
    """

    less: bool
    bounds: tuple[float, float] | None
    order: int
    unlike: bool
    reference: int | None


def is_lower_better(measure: str) -> bool:
    """True if the best design has the least of a measure, or of the mean of an outcome."""
    return measure in LESS_IS_BETTER or bool(LABELS.get(measure, {}).get("less_is_better"))


def compare(
    dataset: xr.Dataset,
    *,
    by: str,
    measure: str,
    baseline: object = None,
    against: Doubts | None = None,
    unlike: bool = False,
) -> list[Row]:
    """Compare the designs along an axis of a store, separately in every cell of the other axes.

    Differences are taken from `baseline`, a value of the axis as it is typed ("null"), or from the best design if it is
    None. `against` are the objections to each cell, over the other axes and `by` (None: `find_doubts` of the store).
    Where designs are `unlike`, each in worlds of its own, none is called best. Raises InputError where the axis, the
    measure or the baseline is not in the store.
    """
    reference = None if baseline is None else place_on(dataset, by, baseline)
    designs = restore_axis_values(dataset[by].values)
    if len(designs) < 2:
        raise InputError(f"the axis {by} of this store has one value, {word(designs[0])}: there is nothing to compare")
    if not np.isfinite(dataset[measure].values).any():
        raise InputError(f"{measure} has no value in these cells; name another --measure")
    about = {**dataset[measure].attrs, **LABELS.get(measure, {})}
    question = Question(is_lower_better(measure), _bounds(about), int(about.get("order", 1)), unlike, reference)
    others = [str(dim) for dim in dataset[measure].dims if dim != by]
    doubts = against or find_doubts(dataset, measure, [*others, by])
    cells = zip(groups(dataset, by, measure), np.ndindex(*doubts.failed.shape[:-1]), strict=True)
    rows = (
        _rows(at, designs, points, question, Doubts(doubts.marks[index], doubts.failed[index], doubts.ran[index]))
        for (at, points), index in cells
    )
    return _mark_few_clusters([row for group in rows for row in group], str(about.get("cluster", "cluster")))


def has_few_clusters(row: Row) -> bool:
    """True if a simulated value rests on so few clusters that another one might change what leads."""
    return row.n > 0 and row.clusters < FEW_CLUSTERS and bool(np.isfinite(row.value))


def _mark_few_clusters(rows: Sequence[Row], cluster: str) -> list[Row]:
    """Mark values that rest on a few clusters where others rest on more; a design may be the best all the same."""
    few = [has_few_clusters(row) for row in rows]
    if all(few[k] or not np.isfinite(row.value) for k, row in enumerate(rows)):
        return list(rows)
    word = "campaign" if cluster == "replicate" else cluster.replace("_", " ")
    return [
        replace(row, marks=(*row.marks, _describe_few_clusters(row.clusters, word))) if k else row
        for row, k in zip(rows, few, strict=True)
    ]


def _describe_few_clusters(clusters: int, word: str) -> str:
    return f"rests on {clusters} {word}{'' if clusters == 1 else 's'}"


def _bounds(about: Mapping[str, Any]) -> tuple[float, float] | None:
    return (float(about["limits"][0]), float(about["limits"][1])) if "limits" in about else None


def groups(dataset: xr.Dataset, by: str, measure: str) -> Iterator[tuple[dict[str, object], list[Point]]]:
    """Yield, per combination of the axes not compared, its coordinates and the `Point`s of the designs along `by`."""
    others = [str(dim) for dim in dataset[measure].dims if dim != by]
    coordinates = {name: restore_axis_values(dataset[name].values) for name in others}
    values, counts = (dataset[name].transpose(*others, by).values for name in (measure, f"{measure}_n"))
    influence = dataset[f"{measure}_influence"].transpose(*others, by, "cluster").values
    sure = sureness(dataset, measure, [*others, by])
    for index in np.ndindex(*values.shape[:-1]):
        at = {name: coordinates[name][k] for name, k in zip(others, index, strict=True)}
        columns = (values, influence, counts, sure.low, sure.high)
        yield at, [_point(*of) for of in zip(*(column[index] for column in columns), strict=True)]


def _point(value: Any, influence: Floats, n: Any, low: Any, high: Any) -> Point:
    return Point(float(value), influence, int(n) if np.isfinite(n) else 0, float(low), float(high))


def _rows(
    at: Mapping[str, object], designs: Sequence[object], points: Sequence[Point], question: Question, against: Doubts
) -> list[Row]:
    """Compare the designs of one cell of the other axes, whose values are `at`; return a row for each design.

    `points` and `against` are over the designs, in their order.
    """
    marks, barred = _weigh_doubts(points, question, against)
    standing: Sequence[Standing] = rank(points, less_is_better=question.less, barred=barred)
    if question.unlike:
        standing = ["unranked"] * len(points)
    reference = question.reference
    if reference is None:
        reference = leader(points, less_is_better=question.less, barred=barred)
    return [
        Row(
            at,
            design,
            point.value,
            mcse(point),
            point.n,
            point.clusters,
            designs[reference],
            None
            if k == reference
            else bound_difference(compare_paired(point, points[reference]), point, points[reference], question.bounds),
            standing[k],
            point.low,
            point.high,
            int(against.failed[k]),
            int(against.ran[k]),
            marks[k],
        )
        for k, (design, point) in enumerate(zip(designs, points, strict=True))
    ]


def _weigh_doubts(
    points: Sequence[Point], question: Question, against: Doubts
) -> tuple[list[tuple[str, ...]], list[bool]]:
    """Return the marks of each design, and for each design whether they bar it from being called the best.

    A design of which campaigns failed is best only if it were so with each of them as bad as can be, and those of the
    others as good.
    """
    reach = [
        bound_by_failures(point.value, int(failed), int(ran), question.bounds, question.order, less=question.less)
        for point, failed, ran in zip(points, against.failed, against.ran, strict=True)
    ]
    marks, barred = [], []
    for k, failed in enumerate(against.failed):
        others = [best for j, (_, best) in enumerate(reach) if j != k and not np.isnan(points[j].value)]
        sure = all(reach[k][0] < best if question.less else reach[k][0] > best for best in others)
        failures = (f"{failed} of {against.ran[k]} campaigns failed",) if failed else ()
        marks.append((*against.marks[k], *failures))
        barred.append(bool(against.marks[k]) or bool(failed and not sure))
    return marks, barred


def rank(points: Sequence[Point], *, less_is_better: bool, barred: Sequence[bool] = ()) -> list[Standing]:
    """Rank each design as best, tied with the best (the interval of their difference includes 0), or behind.

    `points` are the designs' values. One that is `barred` (by index) is not called best or tied: it is marked, unless
    it is behind anyway. Unknown: the measure has no value, or too few clusters to give an error.
    """
    barred = barred or [False] * len(points)
    best = leader(points, less_is_better=less_is_better, barred=barred)
    if barred[best]:
        return ["marked" if np.isfinite(point.value) else "unknown" for point in points]
    return [
        _standing(point, points[best], is_best=k == best, barred=barred[k], less=less_is_better)
        for k, point in enumerate(points)
    ]


def leader(points: Sequence[Point], *, less_is_better: bool, barred: Sequence[bool] = ()) -> int:
    """Return the index of the design with the best value, among those that are not barred if there are any.

    The first, where no design has a value.
    """
    values = np.array([point.value for point in points])
    kept = np.where(np.array(barred or [False] * len(points), bool), np.nan, values)
    values = kept if np.isfinite(kept).any() else values
    if not np.isfinite(values).any():
        return 0
    return int(np.nanargmin(values) if less_is_better else np.nanargmax(values))


def _standing(point: Point, best: Point, *, is_best: bool, barred: bool, less: bool) -> Standing:
    if not np.isfinite(point.value):
        return "unknown"
    if is_best and np.isfinite(mcse(point)) and not lacks_error(point):
        return "best"
    contrast = bound_difference(compare_paired(point, best), point, best, None)
    if not np.isfinite(contrast.low):
        return "unknown"
    if not barred:
        return "tied" if contrast.tie else "behind"
    # A design that is surely worse needs no other reason not to be the best.
    return "behind" if (contrast.low > 0 if less else contrast.high < 0) else "marked"


def describe(
    rows: Sequence[Row],
    by: str,
    measure: xr.DataArray,
    *,
    paired: bool,
    differing: tuple[str, ...],
    equal: Equal | None = None,
) -> Comparison:
    """Return the comparison that consists of `rows`, with the label and unit of their measure from its attributes.

    `measure` is the variable of the store; the other arguments are fields of `Comparison`.
    """
    about = measure.attrs
    label = str(about.get("long_name", about.get("label", measure.name)))
    cluster = str(about.get("cluster", "cluster"))
    unit, fixed = about.get("units"), str(about.get(HELD_FIXED, ""))
    return Comparison(rows, by, str(measure.name), cluster, paired, differing, label, unit, fixed, equal)


def group_by_cell(rows: Sequence[Row]) -> list[list[Row]]:
    """Group the rows of a comparison by cell: by their values on the axes that are not compared."""
    cells: dict[str, list[Row]] = {}
    for row in rows:
        cells.setdefault(repr(row.at), []).append(row)
    return list(cells.values())


def records(rows: Sequence[Row], by: str, measure: str) -> list[dict[str, Any]]:
    """List the rows of a comparison as flat mappings, in full precision; the baseline's difference is None.

    The fields of the measure bear its name: `m`, `m_mcse`, `m_n`, `m_clusters`, `m_low`, `m_high`, `m_failed`.
    """
    return [
        {
            **row.at,
            by: row.design,
            measure: row.value,
            f"{measure}_mcse": row.mcse,
            f"{measure}_n": row.n,
            f"{measure}_clusters": row.clusters,
            f"{measure}_low": row.low,
            f"{measure}_high": row.high,
            f"{measure}_failed": row.failed,
            "baseline": row.baseline,
            "difference": row.contrast.difference if row.contrast else None,
            "difference_mcse": row.contrast.mcse if row.contrast else None,
            "difference_low": row.contrast.low if row.contrast else None,
            "difference_high": row.contrast.high if row.contrast else None,
            "clusters": row.contrast.clusters if row.contrast else None,
            "standing": row.standing,
            "marked": list(row.marks),
            **(_shares(row) if any(other.better for other in rows) else {}),
        }
        for row in rows
    ]


def _shares(row: Row) -> dict[str, float | None]:
    shares: dict[str, float | None] = {}
    for name, share in (("better_share", row.better), ("worse_share", row.worse)):
        for end in ("value", "mcse", "low", "high"):
            shares[name if end == "value" else f"{name}_{end}"] = None if share is None else getattr(share, end)
    return shares


def flatten_marks(listed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records with the phrases of `marked` joined to one text, for tables of values."""
    return [{**record, "marked": "; ".join(record["marked"])} for record in listed]


def tabulate_comparison(rows: Sequence[Row], by: str, measure: str) -> xr.Dataset:
    """Return a comparison as a dataset: each field of its records over the axes; what the baseline lacks is NaN."""
    listed = flatten_marks(records(rows, by, measure))
    dataset = label_records(
        listed, {name: list(dict.fromkeys(row[name] for row in listed)) for name in (*rows[0].at, by)}
    )
    for name, label in DIFFERENCES.items():
        dataset[name].attrs["long_name"] = label
    dataset["standing"].attrs["long_name"] = (
        "best, tied with the best, behind it, marked, unranked, unreached or unknown"
    )
    dataset["marked"].attrs["long_name"] = "what speaks against calling the design the best"
    for which in ("better", "worse"):
        for name in [str(variable) for variable in dataset if str(variable).startswith(f"{which}_share")]:
            dataset[name].attrs["long_name"] = f"share of worlds in which it is {which} by {BETTER_BY} or more"
    dataset["clusters"].attrs["long_name"] = "clusters over which the difference is paired"
    return dataset


def label_records(listed: Sequence[Mapping[str, Any]], axes: Mapping[str, Sequence[Any]]) -> xr.Dataset:
    """Return records as a dataset; they go through all combinations of the values of `axes`, the last axis fastest.

    The values on an axis are its coordinate; every other field is a variable over all axes.
    """
    import xarray as xr

    shape = tuple(len(values) for values in axes.values())
    fields = [name for name in listed[0] if name not in axes]
    variables = {name: (tuple(axes), column([record[name] for record in listed]).reshape(shape)) for name in fields}
    return xr.Dataset(variables, {name: column(values) for name, values in axes.items()})


def column(values: Sequence[Any]) -> Array:
    """Put values into an array; where numbers are missing they are NaN.

    >>> column([1, None]).tolist(), column(["a", "b"]).dtype.kind, column([1, 2]).dtype.kind
    ([1.0, nan], 'U', 'i')
    """
    if any(isinstance(value, str) for value in values):
        return np.array([str(value) for value in values])
    return np.array([np.nan if value is None else value for value in values])
