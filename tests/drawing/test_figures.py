"""Check that figures show what a store holds, say what they leave out, and refuse what they cannot draw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from simlab.drawing import view
from simlab.drawing.figures import charts, files, lines, sweep
from simlab.store.intervals import sureness
from simlab.types import InputError

KEYS = {"grouping": "design.grouping", "documents": "design.documents", "load_entropy": "design.load_entropy"}


def store(axes: dict[str, list[Any]], *, worlds: int = 4, target: str = "simlab.world.systems.mqm") -> xr.Dataset:
    """Return a store with two measures, of clusters that share their noise."""
    shape = tuple(map(len, axes.values()))
    rng = np.random.default_rng(1)
    clusters = 0.7 + 0.02 * rng.normal(size=(*shape, worlds)) + 0.05 * rng.normal(size=worlds)
    value = clusters.mean(-1)
    influence = clusters - value[..., None]
    measures: dict[str, Any] = {}
    for name in ("srp", "power"):
        label = {"srp": "stable ranking probability", "power": "power"}[name]
        measures[name] = (list(axes), value, {"label": label, "cluster": "world"})
        measures[f"{name}_mcse"] = (list(axes), influence.std(-1) / np.sqrt(max(worlds - 1, 1)))
        measures[f"{name}_n"] = (list(axes), np.full(shape, 50 * worlds))
        measures[f"{name}_influence"] = ([*axes, "cluster"], influence)
    coordinates = {name: (name, values, {"key": KEYS.get(name, name)}) for name, values in axes.items()}
    figure = {"measure": "srp", "x": "documents", "line": "grouping"}
    attributes = {
        "sweep": json.dumps({"figure": figure, "worlds": worlds, "studies": 50, "axes": [{"name": n} for n in axes]}),
        "config": json.dumps({"systems": {"_target_": target}}),
        "conditional": int(worlds == 1),
    }
    return xr.Dataset(measures, coordinates, attributes)


def figure_of(dataset: xr.Dataset) -> Any:
    """Draw the sweep's figure without writing it."""
    return lines.draw(dataset)


def plot(dataset: xr.Dataset, file: Path) -> None:
    files.write(lambda: sweep.draw(dataset), file)


TWO = {"grouping": ["pseudo_side_by_side", "ungrouped"], "documents": [10, 30, 60]}


def designs(axes: Any) -> list[Any]:
    """Return the lines that the legend names; what was found beside them is dotted and has no name."""
    return [line for line in axes.lines if not line.get_label().startswith("_")]


def test_line_per_design_with_its_interval_as_band() -> None:
    data = store(TWO)
    axes = figure_of(data).axes[0]
    assert [line.get_label() for line in designs(axes)] == ["pseudo side by side", "ungrouped"]
    assert axes.lines[0].get_xdata().tolist() == [10, 30, 60]
    assert axes.lines[1].get_ydata() == pytest.approx(data.srp.sel(grouping="ungrouped").values)
    band = axes.collections[1].get_paths()[0].vertices
    sure = sureness(data, "srp", ["grouping", "documents"])
    # The interval of the tables, and not beyond what a share can be.
    for bound in (sure.low[1, 0], sure.high[1, 0]):
        assert np.isclose(band[:, 1], bound, atol=1e-9).any()
    assert band[:, 1].max() <= 1
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("documents per study", "stable ranking probability")


def test_designs_differ_in_colour_marker_and_dashes() -> None:
    data = store({"grouping": list("abcdefg"), "documents": [10, 30]})
    lines = designs(figure_of(data).axes[0])
    assert len({line.get_color() for line in lines}) == 7
    assert len({(line.get_marker(), line.get_linestyle()) for line in lines}) == 7


def test_axis_of_options_is_drawn_as_points_with_error_bars() -> None:
    data = store({"grouping": ["a", "b"], "load_entropy": [np.nan, 0.6]})
    shown = view.View("srp", "load_entropy", "grouping", ())
    axes = charts.draw(data, shown, lines.panel).axes[0]
    assert len(axes.containers) == 2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["balanced", "0.6"]


def test_further_axes_become_panels() -> None:
    figure = figure_of(store(TWO | {"load_entropy": [np.nan, 0.6, 0.8, 0.9, 1.0]}))
    assert [axes.get_title() for axes in figure.axes][:2] == ["load entropy = balanced", "load entropy = 0.6"]
    assert len(figure.axes) == 5


def test_too_many_panels_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match="13 panels for seed, more than 12; choose values, for example seed=0"):
        figure_of(store(TWO | {"seed": list(range(13))}))


@pytest.mark.parametrize(
    ("worlds", "target", "said"),
    [
        (
            4,
            "simlab.world.systems.mqm",
            "over worlds, inside the range of the measure; 4 worlds × 50 studies per point.",
        ),
        (1, "simlab.world.systems.mqm", "1 world × 50 studies per point; conditional on one world"),
        (1, "simlab.world.recorded.recorded", "conditional on one table of ratings"),
    ],
)
def test_caption_says_what_stands_behind_the_figure(worlds: int, target: str, said: str) -> None:
    assert said in charts.caption(store(TWO, worlds=worlds, target=target), view.View("srp", "documents", None, ()))


def test_one_axis_needs_no_legend_and_one_value_is_a_point() -> None:
    figure = figure_of(store({"documents": [10]}))
    assert figure.legends == []
    assert len(figure.axes[0].containers) == 1


def test_missing_values_and_single_clusters_are_drawn_without_a_warning(tmp_path: Path) -> None:
    data = store(TWO, worlds=1)
    data.srp[0, 0] = np.nan
    plot(data, tmp_path / "figure.png")
    data.srp[:] = np.nan
    plot(data, tmp_path / "figure.png")


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf", ".PNG"])
def test_same_store_gives_the_same_file(tmp_path: Path, suffix: str) -> None:
    first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    plot(store(TWO), first)
    plot(store(TWO), second)
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 1000


def test_measure_can_be_chosen_and_a_misspelt_one_is_named() -> None:
    data = store(TWO)
    assert view.view(data, "power").measure == "power"
    with pytest.raises(InputError, match="did you mean power"):
        view.view(data, "pwer")


def test_without_axes_there_is_no_figure() -> None:
    with pytest.raises(InputError, match="no axis"):
        view.view(store({}))
