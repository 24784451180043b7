"""What a design takes, money or hours, as the axis across every kind of figure."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from simlab.commands.plot import make_drawing
from simlab.drawing import view
from simlab.drawing.figures import sweep
from simlab.types import InputError

AXES = {"grouping": ["side", "alone"], "documents": [10, 20, 40]}
PRICES = np.array([[100.0, 180.0, 390.0], [110.0, 210.0, 420.0]])


def store(kind: str = "lines", **figure: str) -> xr.Dataset:
    """Return a store of two groupings at three sizes, with what they find and what they cost."""
    rng = np.random.default_rng(1)
    wanted = {"kind": kind, "x": "documents", "line": "grouping", "measure": "power"} | figure
    declared = {"axes": [{"name": name} for name in AXES], "figure": wanted, "worlds": 5, "studies": 4, "measures": []}
    variables = {}
    values = {"power": 0.5 + 0 * PRICES, "srp": 0.8 + 0 * PRICES, "srp_new_raters": 0.6 + 0 * PRICES, "money": PRICES}
    for name, value in values.items():
        influence = rng.normal(size=(2, 3, 5)) * (20 if name == "money" else 0.1)
        influence -= influence.mean(-1, keepdims=True)
        variables |= {name: (tuple(AXES), value, {"label": name, "units": "currency" if name == "money" else "1"})}
        variables |= {f"{name}_mcse": (tuple(AXES), np.sqrt((influence**2).sum(-1) / 20))}
        variables |= {f"{name}_n": (tuple(AXES), np.full((2, 3), 20))}
        variables |= {f"{name}_influence": ((*AXES, "cluster"), influence)}
    config = json.dumps({"budget": {"currency": "EUR"}})
    coords = {name: xr.Variable((name,), values, {"key": name}) for name, values in AXES.items()}
    return xr.Dataset(variables, coords, {"sweep": json.dumps(declared), "config": config})


def drawn(dataset: xr.Dataset, x: str, measure: str | None = None):
    return make_drawing(dataset, measure, x=x)()


@pytest.mark.parametrize("kind", ["lines", "pairs"])
def test_points_stand_at_the_mean_of_their_cell(kind: str) -> None:
    axes = drawn(store(kind), "money", "power").axes[0]
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    np.testing.assert_allclose([line.get_xdata() for line in lines], PRICES)
    assert axes.get_xlabel() == "money, EUR"


def test_errors_of_what_goes_across_are_bars() -> None:
    axes = drawn(store(), "money").axes[0]
    reaches = [np.ptp(np.array(path)[:, 0]) for held in axes.collections for path in held.get_segments()]
    assert max(reaches) > 10


def test_a_figure_of_one_measure_against_another_takes_another() -> None:
    axes = drawn(store("tradeoff", against="srp"), "money").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("money, EUR", "power")


def test_repetitions_are_lines_over_money_in_each_panel() -> None:
    figure = drawn(store("repetitions", measure="srp"), "money")
    for axes, prices in zip(figure.axes, PRICES, strict=True):
        np.testing.assert_allclose(axes.lines[0].get_xdata(), prices)


def test_contours_lean_to_where_their_cells_are() -> None:
    dataset = store("contours", x="documents", line="load")
    dataset = dataset.rename(grouping="load").assign_coords(load=("load", [0.5, 1.0], {"key": "load"}))
    declared = json.loads(dataset.attrs["sweep"]) | {"axes": [{"name": "load"}, {"name": "documents"}]}
    dataset = dataset.assign_attrs(sweep=json.dumps(declared))
    dataset["power"] = dataset["power"] * 0 + dataset["documents"] / 50
    axes = drawn(dataset, "money").axes[0]
    assert axes.get_xlabel() == "money, EUR"
    assert axes.get_xlim() == pytest.approx((PRICES.min(), PRICES.max()))


def test_an_axis_of_the_store_may_go_across_too() -> None:
    shown = view.view(view.set_axis_across(store(), "grouping"))
    assert (shown.x, shown.line) == ("grouping", "documents")
    assert sweep.draw(view.set_axis_across(store(), "grouping")).axes[0].get_xlabel() == "item grouping"


def test_what_is_neither_axis_nor_measure_is_refused() -> None:
    with pytest.raises(InputError, match="an axis or a measure monney; did you mean money"):
        view.set_axis_across(store(), "monney")


def test_what_has_no_value_is_refused_with_its_reason(tmp_path: Path) -> None:
    dataset = store()
    dataset["hours"], dataset["hours_mcse"] = dataset["power"] * np.nan, dataset["power"] * np.nan
    with pytest.raises(InputError, match="--x hours has no value in these cells: no clock"):
        make_drawing(dataset, None, x="hours")


def test_money_without_a_name_has_none_on_the_axis() -> None:
    assert drawn(store().assign_attrs(config="{}"), "money").axes[0].get_xlabel() == "money"
