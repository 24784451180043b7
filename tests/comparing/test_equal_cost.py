"""Hold designs at equal cost against lines whose values are known, and their errors against repeated stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from numpy.typing import NDArray

from simlab.comparing.contrasts import Row, compare
from simlab.comparing.promises import Doubts
from simlab.comparing.several_stores import Equal, EqualLevels, interpolate_to_costs
from simlab.types import InputError

Cells = NDArray[np.float64]
DOCUMENTS = [10, 20, 40]
SLOPE = 0.25


def store(measure: Cells, cost: Cells) -> xr.Dataset:
    """Return a store of means over worlds: `measure[grouping, documents, world]`, and what each costs."""
    dims = ("grouping", "documents")
    variables: dict[str, Any] = {}
    for name, cells in (("power", measure), ("cost", cost)):
        mean = cells.mean(-1)
        deviation = cells - mean[..., None]
        k = cells.shape[-1]
        variables[name] = (dims, mean, {"cluster": "world"})
        variables[f"{name}_mcse"] = (dims, np.sqrt((deviation**2).sum(-1) / (k * (k - 1))))
        variables[f"{name}_n"] = (dims, np.full(mean.shape, k))
        variables[f"{name}_influence"] = ((*dims, "cluster"), deviation)
    names = [f"design {k}" for k in range(len(measure))]
    return xr.Dataset(variables, {"grouping": names, "documents": DOCUMENTS[: measure.shape[1]]})


def at_equal_cost(dataset: xr.Dataset) -> Equal:
    shape = tuple(size for name, size in dataset.sizes.items() if name != "cluster")[::-1]
    marks = np.empty(shape, object)
    marks.fill(())
    none = Doubts(marks, np.zeros(shape, int), np.full(shape, 7))
    return interpolate_to_costs(dataset, "grouping", "power", EqualLevels("cost"), none)


def rows(dataset: xr.Dataset, baseline: object = None) -> list[Row]:
    equal = at_equal_cost(dataset)
    return compare(equal.dataset, by="grouping", measure="power", baseline=baseline, against=equal.against)


def drawn(rng: np.random.Generator, worlds: int, *, varied: float = 2.0) -> xr.Dataset:
    """Draw a store: power is linear in cost, with one line for all; design 1 costs twice as much per document.

    In a world that costs more, more is found, so that errors of power and of cost go together.
    """
    price = np.array([[10.0, 20.0, 40.0], [20.0, 40.0, 80.0]])
    cost = price[..., None] + varied * rng.normal(size=worlds)
    noise = 0.2 * rng.normal(size=(2, 3, worlds)) + 0.2 * rng.normal(size=worlds)
    return store(0.5 + SLOPE * cost + noise, cost)


def test_designs_stand_on_the_lines_between_their_cells() -> None:
    power = np.array([[0.2, 0.4, 0.6], [0.1, 0.5, 0.7]])
    cost = np.array([[100.0, 200.0, 400.0], [200.0, 400.0, 800.0]])
    flat = np.repeat(power[..., None], 4, -1) + np.array([-0.01, 0.01, -0.02, 0.02])
    equal = at_equal_cost(store(flat, np.repeat(cost[..., None], 4, -1)))
    assert equal.along == "documents"
    np.testing.assert_allclose(equal.dataset["cost"], [200, 250, 300, 350, 400])
    found = equal.dataset["power"].transpose("grouping", "cost").values
    np.testing.assert_allclose(found, [[0.4, 0.45, 0.5, 0.55, 0.6], [0.1, 0.2, 0.3, 0.4, 0.5]])
    assert equal.weight[:, 1].tolist() == [0, 0.25, 0.5, 0.75, 0]
    assert equal.between[:, 1].tolist() == [[0, 1]] * 4 + [[1, 2]]
    gaps = [row.contrast.difference for row in rows(store(flat, cost[..., None] + 0 * flat)) if row.contrast]
    np.testing.assert_allclose(gaps, [-0.3, -0.25, -0.2, -0.15, -0.1])


@pytest.mark.slow
def test_errors_of_values_and_of_paired_differences_are_those_of_repeated_stores() -> None:
    """Costs vary with the worlds, and their error is part of it: taken as known, they would leave errors too large."""
    rng, seen, said, known = np.random.default_rng(1), [], [], []
    for _ in range(150):
        dataset = drawn(rng, 40)
        row = rows(dataset, baseline="design 0")[5]
        assert row.contrast is not None
        seen.append((row.value - SLOPE * float(str(row.at["cost"])), row.contrast.difference))
        said.append((row.mcse, row.contrast.mcse))
        known.append(rows(dataset.assign(cost_influence=0 * dataset["cost_influence"]), baseline="design 0")[5].mcse)
    sd, error = np.std(seen, axis=0, ddof=1), np.std(seen, axis=0, ddof=1) / np.sqrt(2 * len(seen))
    assert (np.abs(sd - np.sqrt(np.mean(np.square(said), axis=0))) < 4 * error).all()
    assert np.mean(known) - sd[0] > 4 * error[0]


@pytest.mark.slow
def test_equal_designs_are_told_apart_as_often_as_their_intervals_say() -> None:
    rng, wrong, unequal, runs = np.random.default_rng(2), 0, 0, 150
    for _ in range(runs):
        dataset = drawn(rng, 20)
        found = [row.contrast for row in rows(dataset, baseline="design 0") if row.contrast]
        wrong += not found[2].tie
        cell = compare(dataset[[n for n in dataset if not str(n).startswith("cost")]], by="grouping", measure="power")
        unequal += any(row.contrast is not None and not row.contrast.tie for row in cell if row.at["documents"] == 20)
    assert abs(wrong / runs - 0.05) < 4 * np.sqrt(0.05 * 0.95 / runs)
    # The negative control: at equal documents the dearer design finds more.
    assert unequal / runs > 0.9


def test_a_value_at_a_cell_is_that_of_the_cell_and_what_speaks_against_cells_speaks_against_it() -> None:
    rng = np.random.default_rng(3)
    dataset = drawn(rng, 20, varied=0.0)
    marks = np.empty((3, 2), object)
    marks.fill(())
    marks[1, 0] = ("breaks its promise",)
    failed = np.array([[0, 0], [2, 0], [0, 0]])
    equal = interpolate_to_costs(
        dataset, "grouping", "power", EqualLevels("cost"), Doubts(marks, failed, np.full((3, 2), 9))
    )
    np.testing.assert_allclose(equal.dataset["cost"], [20, 25, 30, 35, 40])
    for at, documents in ((0, 20), (4, 40)):
        one, cell = equal.dataset.isel(cost=at, grouping=0), dataset.sel(documents=documents).isel(grouping=0)
        assert float(one["power"]) == pytest.approx(float(cell["power"]))
        np.testing.assert_allclose(one["power_influence"], cell["power_influence"])
    assert [equal.against.marks[k, 0] for k in range(5)] == [("breaks its promise",)] * 4 + [()]
    assert equal.against.failed[:, 0].tolist() == [2, 2, 2, 2, 0]
    assert equal.against.ran[:, 0].tolist() == [9, 18, 18, 18, 9]


def test_what_cannot_be_made_equal_is_refused() -> None:
    rng = np.random.default_rng(4)
    flat = rng.normal(size=(2, 3, 10))
    with pytest.raises(InputError, match="cost does not vary along documents"):
        at_equal_cost(store(flat, np.ones_like(flat)))
    far = np.array([[1.0, 2, 3], [4, 5, 6]])[..., None] + 0 * flat
    with pytest.raises(InputError, match="grouping=design 0 costs 3 at most and grouping=design 1 4 at least"):
        at_equal_cost(store(flat, far))
    near = np.array([[1.0, 2, 3], [1, 1, 3]])[..., None] + 0 * flat
    with pytest.raises(InputError, match="which do not surely differ"):
        at_equal_cost(store(flat, near))
    one = store(flat[:, :1], far[:, :1]).isel(documents=0, drop=True)
    with pytest.raises(InputError, match="needs a second axis along which cost rises"):
        at_equal_cost(one)
