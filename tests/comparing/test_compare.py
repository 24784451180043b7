"""Check paired comparisons against closed forms on influence values that are made by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from simlab.comparing.contrasts import compare, rank
from simlab.comparing.differences import Point, compare_paired, mcse
from simlab.measures.precision import margin
from simlab.types import InputError


def point(per_cluster: NDArray[np.float64], pad: int = 0) -> Point:
    """Return the mean over clusters as a measure, whose influence values are the deviations."""
    mean = float(per_cluster.mean())
    return Point(mean, np.pad(per_cluster - mean, (0, pad), constant_values=np.nan), len(per_cluster))


def store(cells: dict[str, list[list[float]]], documents: list[int]) -> xr.Dataset:
    """Return a store of means: `cells[design][k]` are the cluster values at documents[k]."""
    size = max(len(cell) for row in cells.values() for cell in row)
    points = [[point(np.array(cell), size - len(cell)) for cell in row] for row in cells.values()]
    axes = ("grouping", "documents")
    return xr.Dataset(
        {
            "srp": (axes, [[p.value for p in row] for row in points]),
            "srp_n": (axes, [[p.n for p in row] for row in points]),
            "srp_influence": ((*axes, "cluster"), [[p.influence for p in row] for row in points]),
        },
        coords={"grouping": list(cells), "documents": documents},
    )


def test_error_of_a_paired_difference_is_that_of_the_mean_difference() -> None:
    first, second = np.array([0.9, 0.8, 0.7, 0.95]), np.array([0.5, 0.45, 0.2, 0.6])
    contrast = compare_paired(point(first), point(second))
    gap = first - second
    error = gap.std(ddof=1) / np.sqrt(4)
    assert contrast.difference == pytest.approx(gap.mean())
    assert contrast.mcse == pytest.approx(error)
    assert (contrast.low, contrast.high) == pytest.approx((gap.mean() - 3.18245 * error, gap.mean() + 3.18245 * error))
    assert contrast.clusters == 4


def test_margin_is_the_t_quantile() -> None:
    assert margin(2) == pytest.approx(12.7062, abs=1e-4)
    assert margin(10_000) == pytest.approx(1.96, abs=1e-3)
    assert np.isnan(margin(1))


def test_interval_covers_and_an_unpaired_error_would_not() -> None:
    """Designs share most of their noise: the paired interval covers 95 %, the unpaired one nearly always."""
    rng = np.random.default_rng(3)
    runs, k = 4000, 6
    shared = rng.normal(size=(runs, k))
    first, second = (shared + 0.2 * rng.normal(size=(runs, k)) for _ in range(2))
    covered = unpaired = 0
    for a, b in zip(first, second, strict=True):
        contrast = compare_paired(point(a), point(b))
        covered += contrast.low <= 0 <= contrast.high
        alone = margin(k) * np.hypot(mcse(point(a)), mcse(point(b)))
        unpaired += abs(contrast.difference) <= alone
    error = np.sqrt(0.95 * 0.05 / runs)
    assert abs(covered / runs - 0.95) < 5 * error
    assert abs(unpaired / runs - 0.95) > 5 * error


def test_clusters_that_only_one_design_has_enter_alone() -> None:
    rng = np.random.default_rng(4)
    long, short = rng.normal(size=8), rng.normal(size=3)
    contrast = compare_paired(point(long), point(short, pad=5))
    a = (long - long.mean()) / np.sqrt(8 * 7)
    b = np.pad((short - short.mean()) / np.sqrt(3 * 2), (0, 5))
    assert contrast.mcse == pytest.approx(np.sqrt(np.sum((a - b) ** 2)))
    assert contrast.clusters == 3
    assert compare_paired(point(short), point(long)).mcse == pytest.approx(contrast.mcse)


def test_one_cluster_gives_a_difference_and_no_error() -> None:
    contrast = compare_paired(point(np.array([0.5])), point(np.array([0.25])))
    assert contrast.difference == 0.25
    assert np.isnan([contrast.mcse, contrast.low, contrast.high]).all()
    assert rank([point(np.array([0.5])), point(np.array([0.25]))], less_is_better=False) == ["unknown", "unknown"]


def test_ties_are_ties_and_a_missing_value_is_not_a_number() -> None:
    best = point(np.array([0.90, 0.92, 0.91, 0.93]))
    close = point(np.array([0.91, 0.91, 0.90, 0.93]))
    far = point(np.array([0.5, 0.52, 0.51, 0.53]))
    absent = Point(float("nan"), np.full(4, np.nan), 0)
    assert rank([close, far, best, absent], less_is_better=False) == ["tied", "behind", "best", "unknown"]
    assert rank([close, far, best, absent], less_is_better=True) == ["behind", "best", "behind", "unknown"]
    assert rank([absent, absent], less_is_better=False) == ["unknown", "unknown"]


def test_identical_designs_tie_though_sums_differ_in_their_last_bits() -> None:
    values = np.array([0.1, 0.2, 0.7])
    moved = Point(point(values).value + 1e-16, point(values).influence, 3)
    assert rank([point(values), moved], less_is_better=False).count("tied") == 1


def test_comparison_stands_in_every_cell_of_the_other_axes() -> None:
    data = store({"a": [[0.9, 0.8], [0.4, 0.5]], "b": [[0.1, 0.3], [0.7, 0.9]]}, [10, 20])
    rows = compare(data, by="grouping", measure="srp")
    assert [(row.at["documents"], row.design, row.standing) for row in rows] == [
        (10, "a", "best"), (10, "b", "tied"), (20, "a", "tied"), (20, "b", "best"),
    ]  # fmt: skip
    assert rows[0].contrast is None
    assert rows[1].contrast is not None
    assert rows[1].contrast.difference == pytest.approx(-0.65)
    assert [row.baseline for row in rows] == ["a", "a", "b", "b"]


def test_baseline_is_what_differences_are_taken_from() -> None:
    data = store({"a": [[0.9, 0.8]], "b": [[0.1, 0.3]], "c": [[0.2, 0.2]]}, [10])
    rows = compare(data, by="grouping", measure="srp", baseline="b")
    assert [row.contrast and round(row.contrast.difference, 3) for row in rows] == [0.65, None, 0.0]
    numeric = compare(data.isel(grouping=[0]).expand_dims(x=[1, 2]), by="x", measure="srp", baseline=2)
    assert [row.contrast is None for row in numeric] == [False, True]


def test_designs_with_different_numbers_of_worlds_are_compared() -> None:
    rows = compare(store({"a": [[0.9, 0.8, 0.85]], "b": [[0.1, 0.3]]}, [10]), by="grouping", measure="srp")
    assert rows[1].contrast is not None
    assert rows[1].contrast.clusters == 2
    assert np.isfinite(rows[1].contrast.mcse)


def test_what_is_not_in_the_store_is_named() -> None:
    data = store({"a": [[0.9, 0.8]], "b": [[0.1, 0.3]]}, [10])
    with pytest.raises(InputError, match="grouping=zscore is not in the store; choose from a, b"):
        compare(data, by="grouping", measure="srp", baseline="zscore")
    with pytest.raises(InputError, match="no value in these cells"):
        compare(data.assign(srp=data.srp * np.nan), by="grouping", measure="srp")
    with pytest.raises(InputError, match="one value, 10"):
        compare(data, by="documents", measure="srp")
