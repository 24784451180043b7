"""Check that a sweep's figure is that of its kind, and that contours are drawn where both axes have numbers."""

from __future__ import annotations

import json
from importlib import import_module
from inspect import signature

import numpy as np
import pytest
import xarray as xr

from simlab.config.sweepfile import FIGURES
from simlab.drawing.figures import contours, panels, sweep
from simlab.types import InputError

AXES = ("n_metric", "n_human")


def store(kind: str, across: int = 4) -> xr.Dataset:
    """Return a calculation over two axes of numbers."""
    x, y = np.arange(1.0, across + 1), np.arange(1.0, 6)
    value = x[:, None] * y
    figure = {"kind": kind, "x": "n_metric", "line": "n_human", "measure": "epsilon", "against": "joint"}
    axes = [{"name": name} for name in AXES]
    sweep = {"axes": axes, "figure": figure, "worlds": 0, "studies": 0, "calculation": {}}
    variables = {}
    for name, values in (("epsilon", value), ("joint", value / 2)):
        variables |= {name: (AXES, values), f"{name}_mcse": (AXES, 0 * values), f"{name}_n": (AXES, 0 * values)}
        variables |= {f"{name}_influence": ((*AXES, "cluster"), np.zeros((*values.shape, 2)))}
    return xr.Dataset(variables, {"n_metric": x, "n_human": y}, {"sweep": json.dumps(sweep), "config": "{}"})


def test_every_kind_of_figure_is_a_module_of_its_name() -> None:
    for kind in FIGURES:
        draw = import_module(f"simlab.drawing.figures.{kind}").draw
        assert list(signature(draw).parameters) == ["dataset", "measure"], kind


def test_a_kind_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InputError, match="figure of kind contuors; did you mean contours"):
        sweep.draw(store("contuors"))


def test_contours_are_of_common_heights_and_both_measures() -> None:
    axes = sweep.draw(store("contours")).axes[0]
    solid, dashed = (held for held in axes.collections if not held.get_fill() and len(held.get_edgecolor()))
    assert solid.levels.tolist() == dashed.levels.tolist()
    assert np.all(np.diff(solid.levels) > 0)
    assert axes.get_xlabel() == "metric ratings of each system"


def test_contours_need_two_numbers_each_way() -> None:
    with pytest.raises(InputError, match="at least two numbers along n_metric"):
        contours.draw(store("contours", across=1))


def test_parts_come_in_the_order_of_the_axes_with_their_titles() -> None:
    parts = panels.split(store("lines", across=2), AXES[:1])
    assert [title for title, _ in parts] == ["metric ratings = 1", "metric ratings = 2"]
    assert [float(part["epsilon"].max()) for _, part in parts] == [5.0, 10.0]
    figure, grid = panels.sheet(["a", "b", "c", "d", "e"], 2.0, 2.0)
    assert (len(figure.axes), grid.shape) == (5, (2, 3))
