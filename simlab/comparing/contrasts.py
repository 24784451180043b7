"""Hold designs against each other on the same worlds: paired differences, their errors, ties that are ties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from simlab.measures.labels import LABELS
from simlab.store.means import LESS_IS_BETTER
from simlab.types import Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

LEVEL = 0.95

Standing = Literal["best", "tied", "behind", "unknown"]


@dataclass(frozen=True, slots=True)
class Point:
    """Hold a measure of one design: its value, `influence[cluster]` (NaN where a cluster is absent) and n."""

    value: float
    influence: Floats
    n: int

    @property
    def clusters(self) -> int:
        """Count the clusters that the value rests on."""
        return int(np.isfinite(self.influence).sum())


@dataclass(frozen=True, slots=True)
class Contrast:
    """Hold a paired difference, its standard error and its t interval at 95 %; NaN where no error can be given."""

    difference: float
    mcse: float
    low: float
    high: float
    clusters: int

    @property
    def tie(self) -> bool:
        """Tell whether the interval includes no difference (with room for the last bits of a sum)."""
        return self.low <= 1e-12 and self.high >= -1e-12


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one design of a comparison: where it stands, and its difference from the baseline.

    `at` holds the values of the axes that are not compared; `n` campaigns in so many `clusters` give the value.
    `contrast` is None for the baseline itself.
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


def margin(clusters: int) -> float:
    """Return the factor from a standard error to the half-width of a 95 % t interval; NaN below two clusters.

    >>> round(margin(5), 3)
    2.776
    """
    from scipy.special import stdtrit

    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2)) if clusters > 1 else float("nan")


def mcse(point: Point) -> float:
    """Return the Monte-Carlo standard error of one design's measure; NaN below two clusters."""
    return float(np.sqrt(np.sum(_scaled(point) ** 2))) if point.clusters > 1 else float("nan")


def paired(first: Point, second: Point) -> Contrast:
    """Return first minus second, deleting the same cluster from both designs.

    With equal clusters the error is `sqrt(sum d^2 / (K (K - 1)))` with d the difference of the influence values
    per cluster: what both designs owe to the same world cancels. A cluster that only one of them has enters
    alone, so that designs with different numbers of clusters are compared honestly too; the degrees of freedom
    are those of the smaller number.
    """
    clusters = min(first.clusters, second.clusters)
    size = max(len(first.influence), len(second.influence))
    difference = first.value - second.value
    gap = _padded(_scaled(first), size) - _padded(_scaled(second), size)
    error = float(np.sqrt(np.sum(gap**2))) if clusters > 1 else float("nan")
    half = margin(clusters) * error
    return Contrast(difference, error, difference - half, difference + half, clusters)


def rank(points: Sequence[Point], *, less_is_better: bool) -> list[Standing]:
    """Say of each design whether it is best, tied with the best (the interval includes 0), or behind.

    Unknown: the measure has no value, or too few clusters to give an error.
    """
    best = leader(points, less_is_better=less_is_better)
    return [_standing(point, points[best], is_best=k == best) for k, point in enumerate(points)]


def leader(points: Sequence[Point], *, less_is_better: bool) -> int:
    """Return the index of the design with the best value (the first, where no design has one)."""
    values = np.array([point.value for point in points])
    if not np.isfinite(values).any():
        return 0
    return int(np.nanargmin(values) if less_is_better else np.nanargmax(values))


def less_is_better(measure: str) -> bool:
    """Tell whether the best design has the least of a measure, or of the mean of an outcome."""
    return measure in LESS_IS_BETTER or bool(LABELS.get(measure, {}).get("less_is_better"))


def compare(dataset: xr.Dataset, *, by: str, measure: str, baseline: object = None) -> list[Row]:
    """Compare the designs along an axis of a store, separately in every cell of the other axes.

    Differences are taken from `baseline`, a value of the axis, or from the best design if it is None.
    Raises InputError where the axis, the measure or the baseline is not in the store.
    """
    designs = dataset[by].values.tolist()
    if baseline is not None and baseline not in designs:
        raise InputError(f"--baseline {baseline} is not on the axis {by}; its values: {', '.join(map(str, designs))}")
    if len(designs) < 2:
        raise InputError(f"the axis {by} of this store has one value, {designs[0]}: there is nothing to compare")
    if not np.isfinite(dataset[measure].values).any():
        raise InputError(f"{measure} has no value in these cells; name another --measure")
    reference = None if baseline is None else designs.index(baseline)
    less = less_is_better(measure)
    rows = (_rows(at, designs, points, reference, less) for at, points in groups(dataset, by, measure))
    return [row for group in rows for row in group]


def groups(dataset: xr.Dataset, by: str, measure: str) -> Iterator[tuple[dict[str, object], list[Point]]]:
    """Yield, per combination of the axes not compared, its coordinates and the points along the axis."""
    others = [str(dim) for dim in dataset[measure].dims if dim != by]
    coordinates = {name: dataset[name].values.tolist() for name in others}
    values, counts = (dataset[name].transpose(*others, by).values for name in (measure, f"{measure}_n"))
    influence = dataset[f"{measure}_influence"].transpose(*others, by, "cluster").values
    for index in np.ndindex(*values.shape[:-1]):
        at = {name: coordinates[name][k] for name, k in zip(others, index, strict=True)}
        yield at, [_point(*of) for of in zip(values[index], influence[index], counts[index], strict=True)]


def _point(value: Any, influence: Floats, n: Any) -> Point:
    return Point(float(value), influence, int(n) if np.isfinite(n) else 0)


def _rows(
    at: Mapping[str, object], designs: Sequence[object], points: Sequence[Point], reference: int | None, less: bool
) -> list[Row]:
    standing = rank(points, less_is_better=less)
    held = leader(points, less_is_better=less) if reference is None else reference
    return [
        Row(
            at,
            design,
            point.value,
            mcse(point),
            point.n,
            point.clusters,
            designs[held],
            None if k == held else paired(point, points[held]),
            standing[k],
        )
        for k, (design, point) in enumerate(zip(designs, points, strict=True))
    ]


def _standing(point: Point, best: Point, *, is_best: bool) -> Standing:
    if is_best and np.isfinite(mcse(point)):
        return "best"
    contrast = paired(point, best)
    if not np.isfinite(contrast.low):
        return "unknown"
    return "tied" if contrast.tie else "behind"


def _scaled(point: Point) -> Floats:
    """Return the influence values such that the root of their sum of squares is the standard error."""
    k = point.clusters
    scale = np.sqrt(k * (k - 1)) if k > 1 else np.nan
    return np.where(np.isfinite(point.influence), point.influence / scale, 0.0)


def _padded(values: Floats, size: int) -> Floats:
    return np.pad(values, (0, size - len(values)))
