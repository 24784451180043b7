"""Check that a figure of convergence shows each cell up to where it ended, its error, what is wanted, and the guide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from simlab.drawing import view
from simlab.drawing.figures import convergence, files
from simlab.types import InputError

TWO = {"grouping": ["pseudo_side_by_side", "ungrouped"], "documents": [10, 30]}


def store(axes: dict[str, list[Any]], *, worlds: int = 25, studies: int = 10, **sweep: Any) -> xr.Dataset:
    """Return a store in which the last cell ended after 9 worlds."""
    shape = tuple(map(len, axes.values()))
    clusters = 0.7 + 0.1 * np.random.default_rng(1).normal(size=(*shape, worlds))
    clusters[(*(size - 1 for size in shape), slice(9, None))] = np.nan
    value, k = np.nanmean(clusters, -1), np.isfinite(clusters).sum(-1)
    measures: dict[str, Any] = {
        "srp": (list(axes), value, {"label": "stable ranking probability", "cluster": "world"}),
        "srp_mcse": (list(axes), np.nanstd(clusters, -1, ddof=1) / np.sqrt(k)),
        "srp_n": (list(axes), studies * k),
        "srp_influence": ([*axes, "cluster"], clusters - value[..., None]),
    }
    declared = {"axes": [{"name": name} for name in axes], "figure": {"x": "documents"}, "worlds": worlds} | sweep
    return xr.Dataset(measures, dict(axes), {"sweep": json.dumps(declared), "conditional": 0})


def test_values_stand_above_errors_and_each_cell_ends_where_it_ended() -> None:
    data = store(TWO, precision={"measure": "srp", "mcse": 0.03})
    figure = convergence.draw(data)
    assert [axes.get_title() for axes in figure.axes] == [
        "grouping = pseudo side by side", "grouping = ungrouped", "", "",
    ]  # fmt: skip
    _, top, _, below = figure.axes
    values, errors = ({str(line.get_label()): line for line in axes.lines} for axes in (top, below))
    assert [values[name].get_xdata()[-1] for name in ("10", "30")] == [250, 90]
    assert values["30"].get_ydata()[-1] == pytest.approx(float(data["srp"][1, 1]))
    assert errors["30"].get_ydata()[-1] == pytest.approx(float(data["srp_mcse"][1, 1]))
    across, guide = errors["as 1/√campaigns"].get_data()
    assert guide * np.sqrt(across) == pytest.approx(guide[0] * np.sqrt(across[0]))
    assert errors["wanted: 0.03"].get_ydata()[0] == 0.03
    assert (below.get_xscale(), below.get_yscale(), top.get_yscale()) == ("log", "log", "linear")
    assert below.get_xlabel() == "campaigns carried out, log scale"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["10", "30", "as 1/√campaigns", "wanted: 0.03"]


def test_a_band_is_one_error_either_way() -> None:
    data = store({"documents": [10, 30]})
    axes = convergence.draw(data).axes[0]
    band = axes.collections[0].get_paths()[0].vertices
    end = band[band[:, 0] == 250, 1]
    value, error = float(data["srp"][0]), float(data["srp_mcse"][0])
    assert [end.min(), end.max()] == pytest.approx([value - error, value + error])


def test_another_measure_has_no_line_of_what_is_wanted_of_the_sweeps_own() -> None:
    figure = convergence.draw(store(TWO, precision={"measure": "power", "mcse": 0.03}))
    assert not any("wanted" in str(line.get_label()) for axes in figure.axes for line in axes.lines)


def test_the_target_of_the_last_run_goes_before_what_the_sweep_notes() -> None:
    both = store(TWO, precision={"measure": "srp", "mcse": 0.03}, until={"precision": {"srp": 0.01, "power": 0.02}})
    assert view.wanted_error(both, "srp") == 0.01
    of_differences = store(
        TWO, precision={"measure": "srp", "mcse": 0.03}, until={"precision": {"srp:difference": 0.01}}
    )
    assert view.wanted_error(of_differences, "srp") == 0.03


def test_a_store_of_one_cell_and_one_without_any_error_are_drawn(tmp_path: Path) -> None:
    one = store({"documents": [10]}).isel(documents=0, drop=True)
    assert len(convergence.draw(one).axes) == 2
    same = store(TWO)
    same["srp_influence"] = same["srp_influence"] * 0
    files.write(lambda: convergence.draw(same), tmp_path / "same.svg")


def test_more_lines_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(
        InputError, match="22 lines for documents, more than 21; choose values, for example documents=0"
    ):
        convergence.draw(store({"documents": list(range(22))}))
    with pytest.raises(InputError, match="13 panels for seed"):
        convergence.draw(store({"seed": list(range(13)), "documents": [10, 30]}))
