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


SORTS = {"srp": "raters, documents", "srp_new_raters": "documents", "srp_new_study": "nothing but the law"}


def repeated(measures: dict[str, str] = SORTS) -> xr.Dataset:
    """Return a store of two designs with measures of several sorts of repetitions, and the power beside them."""
    rng = np.random.default_rng(1)
    variables = {}
    for name, fixed in {**measures, "power": "nothing but the law"}.items():
        clusters = 0.5 + 0.1 * rng.normal(size=(2, 3, 8))
        value = clusters.mean(-1)
        variables[name] = (("grouping", "documents"), value, {"cluster": "world", "held_fixed": fixed})
        variables |= {f"{name}_mcse": (("grouping", "documents"), 0 * value + 0.03)}
        variables |= {f"{name}_n": (("grouping", "documents"), np.full((2, 3), 64))}
        variables |= {f"{name}_influence": (("grouping", "documents", "cluster"), clusters - value[..., None])}
    figure = {"kind": "repetitions", "x": "documents", "line": "grouping", "measure": "srp", "x_scale": "log"}
    declared = {"axes": [{"name": "grouping"}, {"name": "documents"}], "figure": figure}
    declared |= {"worlds": 8, "pools": 2, "document_draws": 1, "studies": 4}
    axes = {"grouping": ["pseudo_side_by_side", "ungrouped"], "documents": [20, 60, 181]}
    return xr.Dataset(variables, axes, {"sweep": json.dumps(declared), "config": "{}"})


def test_repetitions_have_a_panel_for_each_design_and_say_what_is_held_fixed() -> None:
    dataset = repeated()
    figure = sweep.draw(dataset)
    assert [axes.get_title() for axes in figure.axes] == ["grouping = pseudo side by side", "grouping = ungrouped"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [*SORTS.values(), "(power)"]
    drawn = figure.axes[1].lines[1].get_ydata()
    np.testing.assert_array_equal(drawn, dataset["srp_new_raters"].sel(grouping="ungrouped"))
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "8 worlds × 2 pools × 4 studies" in caption
    assert "where nothing is found, the measure is 1" in caption


def test_without_repetitions_by_others_a_figure_of_repetitions_is_one_of_lines() -> None:
    figure = sweep.draw(repeated({"srp": "raters, documents"}))
    assert len(figure.axes) == 1
    assert "held fixed: raters, documents" in figure.get_supxlabel().replace("\n", " ")


def normalised() -> xr.Dataset:
    """Return a store of two groupings, two normalisations and two kinds of systems, with a line to compare with."""
    axes = {
        "normalization": ["none", "zscore"],
        "documents": [20, 60],
        "grouping": ["ungrouped", "pseudo_side_by_side"],
        "systems": ["english_german", "english_chinese"],
    }
    names, shape = tuple(axes), (2, 2, 2, 2)
    clusters = np.random.default_rng(1).uniform(size=(*shape, 8))
    value = clusters.mean(-1)
    variables = {"srp": (names, value, {"cluster": "world"}), "srp_mcse": (names, 0 * value + 0.03)}
    variables |= {"srp_n": (names, np.full(shape, 64))}
    variables |= {"srp_influence": ((*names, "cluster"), clusters - value[..., None])}
    reference = {"grouping": "pseudo_side_by_side", "normalization": "none"}
    figure = {"x": "documents", "line": "normalization", "measure": "srp", "reference": reference}
    declared = {"axes": [{"name": name} for name in names], "figure": figure}
    declared |= {"worlds": 8, "pools": 1, "document_draws": 1, "studies": 8}
    return xr.Dataset(variables, axes, {"sweep": json.dumps(declared), "config": "{}"})


def test_each_panel_shows_the_line_to_compare_with() -> None:
    dataset = normalised()
    figure = sweep.draw(dataset)
    titles = [" ".join(axes.get_title().split()) for axes in figure.axes]
    assert titles == [
        "grouping = ungrouped, systems = English-German",
        "grouping = ungrouped, systems = English-Chinese",
    ]
    wanted = dataset["srp"].sel(grouping="pseudo_side_by_side", normalization="none")
    for axes, language in zip(figure.axes, dataset["systems"].values, strict=True):
        (line,) = (line for line in axes.lines if str(line.get_label()).endswith("(reference)"))
        np.testing.assert_array_equal(line.get_ydata(), wanted.sel(systems=language))
    (legend,) = figure.legends
    assert legend.get_texts()[-1].get_text() == "pseudo side by side,\nunnormalised (reference)"


@pytest.mark.parametrize("left_out", [{"normalization": [1]}, {"grouping": [0]}])
def test_a_store_without_the_line_to_compare_with_shows_the_others(left_out: dict[str, list[int]]) -> None:
    figure = sweep.draw(normalised().isel(left_out))
    assert not [line for axes in figure.axes for line in axes.lines if "reference" in str(line.get_label())]


def test_a_store_of_nothing_else_shows_the_line_to_compare_with() -> None:
    figure = sweep.draw(normalised().isel(grouping=[1]))
    assert [" ".join(axes.get_title().split()).partition(",")[0] for axes in figure.axes] == [
        "grouping = pseudo side by side"
    ] * 2
