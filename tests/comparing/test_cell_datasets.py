"""Hold answers over the cells of a store against planted worlds and curves."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from simlab.comparing import cell_datasets, contrasts
from simlab.comparing.cell_datasets import read_bound
from simlab.comparing.several_stores import compare_designs
from simlab.drawing.reports.sweeping.comparing import report
from simlab.drawing.reports.text import page
from simlab.rng import stream
from simlab.store.opening import open_results
from simlab.store.selections import Bound
from simlab.types import Floats, InputError
from tests.comparing.test_compare import store

WORLDS, STUDIES = 400, 8
MEANS = {0: 0.3, 1: 0.5, 2: 0.4}
"""Mean power by the place of the grouping; worlds spread by .1, studies by .2."""


def planted(dataset: xr.Dataset, index: Sequence[int], measure: str) -> Floats:
    """Draw `[world, study]`: worlds that all designs share, and studies of their own."""
    worlds = MEANS[index[0]] + 0.1 * stream(1, "worlds").normal(size=(WORLDS, 1))
    return worlds + 0.2 * stream(1, "studies", *index).normal(size=(WORLDS, STUDIES))


@pytest.fixture
def dataset(item_grouping_store: Path, monkeypatch: pytest.MonkeyPatch) -> xr.Dataset:
    monkeypatch.setattr(cell_datasets, "values_by_study", planted)
    return open_results(item_grouping_store)


def test_each_cell_has_the_quantiles_of_its_worlds(dataset: xr.Dataset) -> None:
    found = cell_datasets.world_quantiles(dataset, "power", [0.1, 0.5])
    assert found["value"].dims == ("grouping", "documents", "quantile")
    for k, mean in MEANS.items():
        truth = norm.ppf([0.1, 0.5], mean, 0.1)
        assert (abs(found["value"][k] - truth) < 4 * found["mcse"][k]).all()
    assert (found["worlds"] == WORLDS).all()
    assert (found["studies"] == STUDIES).all()
    assert found["reliability"].mean() == pytest.approx(0.01 / (0.01 + 0.04 / 8), abs=0.05)


def test_shares_above_and_below_a_bound_add_up(dataset: xr.Dataset) -> None:
    above = cell_datasets.world_shares(dataset, read_bound("power>=0.45"))
    below = cell_datasets.world_shares(dataset, read_bound("power<=0.45"))
    assert np.allclose(above["value"] + below["value"], 1.0)
    truth = norm.sf(0.45, list(MEANS.values()), 0.1)
    assert (abs(above["value"].values - truth[:, None]) < 4 * above["mcse"].values).all()
    assert above["value"].attrs["long_name"] == "share of worlds with power >= 0.45"


def test_designs_are_better_than_the_baseline_in_worlds_that_they_share(dataset: xr.Dataset) -> None:
    names = dataset["grouping"].values.tolist()
    found = cell_datasets.estimate_shares_better(dataset, "grouping", "power", 0.15, names[0])
    assert found["grouping"].values.tolist() == names[1:]
    # Means are .2 and .1 apart in all worlds alike.
    assert (found["value"][0] > 0.9).all()
    assert (found["value"][1] < 0.1).all()


def test_what_has_no_answer_is_refused_with_its_cell(item_grouping_store: Path) -> None:
    with open_results(item_grouping_store) as store:
        where = r"^grouping=pseudo_side_by_side, documents=8: 2 worlds have a value here"
        with pytest.raises(InputError, match=where):
            cell_datasets.world_quantiles(store, "power", [0.5])
        with pytest.raises(InputError, match="quantiles lie between 0 and 1"):
            cell_datasets.world_quantiles(store, "power", [1.5])
        with pytest.raises(InputError, match="no axis groupin; did you mean grouping"):
            cell_datasets.estimate_shares_better(store, "groupin", "power", 0.1, "ungrouped")
        with pytest.raises(InputError, match="grouping has values that are no numbers"):
            cell_datasets.solve_axis(store, "grouping", read_bound("power>=0.5"))
        with pytest.raises(InputError, match="2 cells have a value along the axis"):
            cell_datasets.solve_axis(store, "documents", read_bound("power>=0.5"))


@pytest.mark.parametrize("text", ["power", "power>.8", "power>=x", ">=.8", "power>=.8,srp>=.9"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is no bound on a measure; write MEASURE>=VALUE"):
        read_bound(text)


def test_bounds_are_read() -> None:
    assert read_bound("rmse <= 0.05") == Bound("rmse", "<=", 0.05, "rmse <= 0.05")


def curves(noise: float = 0.0) -> xr.Dataset:
    """Return a store of two designs, linear in documents; the second never reaches .8."""
    rng = stream(2, "curves")
    rows = {
        name: [(k / 100 + off + noise * rng.normal(size=12)).tolist() for k in (20, 40, 60, 80)]
        for name, off in (("a", 0.1), ("b", -0.1))
    }
    return asked(store(rows, [20, 40, 60, 80]))


def asked(dataset: xr.Dataset) -> xr.Dataset:
    """Give a dataset what a store says of its sweep."""
    axes = [{"name": "grouping"}, {"name": "documents"}]
    return dataset.assign_attrs(sweep=json.dumps({"axes": axes}), config="{}")


def test_each_design_reaches_the_target_at_its_own_documents() -> None:
    found = cell_datasets.solve_axis(curves(), "documents", read_bound("srp>=0.8"))
    assert found["reach"].values.tolist() == ["crossed", "not_reached"]
    assert found["value"].values.tolist() == pytest.approx([70.0, np.inf])
    noisy = cell_datasets.solve_axis(curves(0.05), "documents", read_bound("srp>=0.8"))
    assert noisy["low"][0] < noisy["value"][0] < noisy["high"][0]


def test_axes_have_the_shares_of_a_sum_of_lines() -> None:
    found = cell_datasets.axis_importance(curves(), "srp")
    documents, grouping = np.var([0.2, 0.4, 0.6, 0.8]), 0.01
    shares = [grouping / (documents + grouping), documents / (documents + grouping)]
    assert found["axis"].values.tolist() == ["grouping", "documents"]
    assert found["main"].values == pytest.approx(shares)
    assert found["total"].values == pytest.approx(shares)


def test_a_difference_of_designs_has_shares_of_its_own() -> None:
    rows = {"a": [[0.1 + k / 100] * 12 for k in (20, 40, 60, 80)], "b": [[0.4] * 12 for _ in range(4)]}
    crossing = asked(store(rows, [20, 40, 60, 80]))
    found = cell_datasets.axis_importance(crossing, "srp", by="grouping")
    assert (found["axis"].values.tolist(), found["main"].values.tolist()) == (["documents"], [1.0])
    assert found.attrs["measure"] == "srp of grouping=a less that of grouping=b"
    assert cell_datasets.axis_importance(crossing, "srp")["main"].sel(axis="documents") < 0.6
    # Documents decide the measure, and nothing decides a difference that is the same everywhere.
    with pytest.raises(InputError, match="differ by no more than their Monte-Carlo errors"):
        cell_datasets.axis_importance(curves(), "srp", by="grouping")
    with pytest.raises(InputError, match=r"--by documents: .* documents has 4 here; name two .* documents=20,40"):
        cell_datasets.axis_importance(crossing, "srp", by="documents")
    with pytest.raises(InputError, match="no axis design"):
        cell_datasets.axis_importance(crossing, "srp", by="design")
    unlike = crossing.copy(deep=True)
    unlike["srp_influence"][{"grouping": 0, "cluster": 0}] = np.nan
    with pytest.raises(InputError, match="met different worlds"):
        cell_datasets.axis_importance(unlike, "srp", by="grouping")


def settings(found: xr.Dataset, name: str) -> dict[str, float]:
    return dict(zip(found["setting"].values.tolist(), found[name].values.tolist(), strict=True))


def test_each_axis_leaves_the_base_alone() -> None:
    found = cell_datasets.measure_axis_sensitivity(curves(), "srp", {"documents": "40"})
    assert settings(found, "value") == pytest.approx({
        **{"documents=20": 0.3, "documents=40": 0.5, "documents=60": 0.7, "documents=80": 0.9},
        **{"grouping=a": 0.5, "grouping=b": 0.3},
    })  # fmt: skip
    difference = {"documents=20": -0.2, "documents=60": 0.2, "documents=80": 0.4, "grouping=b": -0.2}
    base = dict.fromkeys(("documents=40", "grouping=a"), np.nan)
    assert settings(found, "difference") == pytest.approx({**difference, **base}, nan_ok=True)
    assert found["axis"].values.tolist() == 4 * ["documents"] + 2 * ["grouping"], "the largest swing first"
    assert found["swing"].values == pytest.approx(4 * [0.6] + 2 * [0.2])
    # Without a named base it is the first cell, or the one that a sweep went from.
    assert settings(cell_datasets.measure_axis_sensitivity(curves(), "srp", {}), "difference")[
        "documents=80"
    ] == pytest.approx(0.6)
    sweep = json.loads(curves().attrs["sweep"]) | {"around": {"documents": 60, "grouping": "b"}}
    swept = curves().assign_attrs(sweep=json.dumps(sweep))
    assert settings(cell_datasets.measure_axis_sensitivity(swept, "srp", {}), "difference")[
        "grouping=a"
    ] == pytest.approx(0.2)


def test_differences_from_the_base_are_those_of_compare() -> None:
    dataset = curves(0.05)
    found = cell_datasets.measure_axis_sensitivity(dataset, "srp", {"documents": 20}).set_index(setting="setting")
    for row in compare_designs(dataset.isel(grouping=[0]), "documents", "srp", 20).rows:
        if row.contrast is not None:
            told = found.sel(setting=f"documents={row.design}")
            said = [float(told[name]) for name in ("difference", "difference_mcse", "difference_low", "clusters")]
            assert said == [row.contrast.difference, row.contrast.mcse, row.contrast.low, row.contrast.clusters]


def test_an_axis_that_does_nothing_is_not_said_to_move_the_measure() -> None:
    n, held, moved = 40, 0, 0
    for seed in range(n):
        rng = stream(seed, "idle")
        worlds, noise = rng.normal(size=12), 0.1 * rng.normal(size=(2, 2, 12))
        # Documents do something, the grouping nothing; worlds differ far more than either does.
        rows = {name: [(worlds + 0.1 * k + noise[j, k]).tolist() for k in (0, 1)] for j, name in enumerate("ab")}
        found = cell_datasets.measure_axis_sensitivity(asked(store(rows, [10, 20])), "srp", {})
        low, high = settings(found, "difference_low"), settings(found, "difference_high")
        held += low["grouping=b"] <= 0 <= high["grouping=b"]
        moved += low["documents=20"] <= 0.1 <= high["documents=20"] and low["documents=20"] > -0.1
    error = np.sqrt(0.95 * 0.05 / n)
    assert held / n > 0.95 - 3 * error
    assert moved / n > 0.95 - 3 * error


def test_a_base_that_tells_nothing_is_refused() -> None:
    lacking = curves(0.05)
    lacking["srp"][0, 0] = np.nan
    with pytest.raises(InputError, match="grouping=a, documents=20: the base has no value of srp; name one"):
        cell_datasets.measure_axis_sensitivity(lacking, "srp", {})
    alone = curves(0.05)
    alone["srp"][1:, :] = np.nan
    alone["srp"][:, 1:] = np.nan
    with pytest.raises(InputError, match="documents=20: no cell that differs from it in one axis alone has a value"):
        cell_datasets.measure_axis_sensitivity(alone, "srp", {})
    with pytest.raises(InputError, match="one cluster tells no error of a difference; run more of them"):
        cell_datasets.measure_axis_sensitivity(asked(store({"a": [[0.5], [0.6]]}, [10, 20])), "srp", {})
    with pytest.raises(InputError, match="documents=30 is not in the store; choose from 20, 40, 60, 80"):
        cell_datasets.measure_axis_sensitivity(curves(), "srp", {"documents": 30})
    with pytest.raises(InputError, match="no axis of these cells has two values"):
        cell_datasets.measure_axis_sensitivity(curves()[{"grouping": [0], "documents": [1]}], "srp", {})


def test_what_worlds_draw_decides_a_difference_by_what_one_design_feels(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = stream(3, "difference")
    felt, shared = rng.random(200), rng.random(200)
    panel = np.zeros((2, 4, 200, 4)) + 3 * shared[:, None]
    panel[0] += felt[:, None]
    panel += 0.2 * rng.normal(size=panel.shape)
    monkeypatch.setattr(cell_datasets, "panel_of_cells", lambda *_: panel)
    laws = dict.fromkeys(("felt", "shared"), "uniform(0.0,1.0)")
    drawn = {
        f"drawn_{key}": ("of_world", values, {"key": key, "law": laws[key]})
        for key, values in (("felt", felt), ("shared", shared))
    }
    dataset = curves().assign_coords(of_world=range(200)).assign(drawn).assign_attrs(drawn=json.dumps(laws))
    whole = cell_datasets.axis_importance(dataset, "srp")["total"]
    assert whole.sel(axis="drawn_shared") > 0.8
    apart = cell_datasets.axis_importance(dataset, "srp", by="grouping")["total"]
    assert apart.sel(axis="drawn_felt") > 0.95
    assert apart.sel(axis="drawn_shared") < 0.05
    assert apart["axis"].values.tolist() == ["documents", "drawn_felt", "drawn_shared"]


def test_comparisons_say_in_what_share_of_worlds_designs_are_better_or_worse(dataset: xr.Dataset) -> None:
    said = compare_designs(dataset, "grouping", "power", dataset["grouping"].values[0])
    assert cell_datasets.add_world_shares(dataset, said) is said, "five worlds are too few"
    many = replace(said, rows=[replace(row, clusters=WORLDS) for row in said.rows])
    rows = cell_datasets.add_world_shares(dataset, many).rows
    assert [row.better is None for row in rows] == [row.contrast is None for row in rows]
    for row in rows:
        if row.better is None or row.worse is None:
            continue
        # Worlds are shared, so that the true difference is the same in each: +.2 or +.1.
        assert row.better.value > 0.9
        assert row.worse.value < 0.1
    listed = contrasts.records(rows, "grouping", "power")
    assert {"better_share", "better_share_low", "worse_share_mcse"} <= listed[0].keys()
    assert "better_share" not in contrasts.records(said.rows, "grouping", "power")[0]
    text = page(report(replace(many, rows=rows)))
    assert re.search(r"better in ≥ 0?\.[89]\d of worlds", text), (
        "of all worlds there is a bound, and no share without error"
    )
    unlike = replace(many, paired=False)
    assert cell_datasets.add_world_shares(dataset, unlike) is unlike
