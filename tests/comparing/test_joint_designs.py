"""Rank the designs of several axes and stores together, against lines whose values are known."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from simlab.commands.compare import ComparedDesigns, label
from simlab.commands.stores import Remarks, rank_jointly, read_levels
from simlab.comparing.contrasts import Row
from simlab.comparing.joint_designs import compare_jointly
from simlab.comparing.several_stores import EqualLevels
from simlab.types import InputError

AXES = {"raters": ["crowd", "expert"], "grouping": ["beside", "apart"], "documents": [10, 20, 40]}
PRICE = np.array([1.0, 3.0])[:, None, None]
SIZES = np.array([10.0, 20.0, 40.0])
LIFT = np.array([[0.1, 0.0], [0.3, 0.2]])[..., None]
WORLDS = 12


def store(shift: float = 0.0, *, seed: int = 1, key: str = "raters", price: float = 1.0) -> xr.Dataset:
    """Return a store in which power is a line in the cost of each design, with the same worlds behind all cells."""
    rng = np.random.default_rng(seed)
    world = rng.normal(size=WORLDS) * 0.1
    cost = price * PRICE * SIZES + 0 * LIFT
    value = LIFT + shift + 0.002 * cost
    cells = value[..., None] + world - world.mean() + 0.001 * rng.normal(size=(*value.shape, WORLDS))
    declared = [{"name": name, "key": key if name == "raters" else f"design.{name}"} for name in AXES]
    about = {"sweep": json.dumps({"axes": declared, "measures": ["power"]})}
    about |= {"config": json.dumps({"seed": seed, "systems": {"n_systems": 4}})}
    variables: dict[str, Any] = {}
    for name, laid in (("power", cells), ("cost", cost[..., None] + np.zeros(WORLDS))):
        mean = laid.mean(-1)
        deviation = laid - mean[..., None]
        variables[name] = ([*AXES], mean, {"cluster": "world"})
        variables[f"{name}_mcse"] = ([*AXES], deviation.std(-1, ddof=1) / np.sqrt(WORLDS))
        variables[f"{name}_n"] = ([*AXES], np.full(mean.shape, 30))
        variables[f"{name}_influence"] = ([*AXES, "cluster"], deviation)
    dataset = xr.Dataset(variables, AXES, about)
    for axis in declared:
        dataset[axis["name"]].attrs["key"] = axis["key"]
    return dataset


def at(rows: list[Row], cost: float) -> dict[str, Row]:
    return {str(row.design): row for row in rows if row.at["cost"] == cost}


def test_designs_of_two_axes_are_ranked_together_at_equal_cost_and_nothing_is_extrapolated() -> None:
    levels = EqualLevels("cost", (35.0, 100.0), of_two=True)
    said = compare_jointly({"": store()}, ["raters", "grouping"], "power", levels=levels)
    assert said.paired
    assert said.designs["raters=crowd, grouping=apart"] == {"raters": "crowd", "grouping": "apart"}
    rows = at(list(said.rows), 35.0)
    expected = {"crowd, grouping=beside": 0.17, "crowd, grouping=apart": 0.07, "expert, grouping=beside": 0.37}
    for name, value in expected.items():
        assert rows[f"raters={name}"].value == pytest.approx(value, abs=0.002)
    assert rows["raters=expert, grouping=beside"].standing == "best"
    assert {row.standing for name, row in rows.items() if "beside" not in name or "crowd" in name} == {"behind"}
    # What designs owe to the worlds that they share cancels.
    contrast = rows["raters=crowd, grouping=apart"].contrast
    assert contrast is not None
    assert contrast.mcse < 0.001 < 0.015 < rows["raters=crowd, grouping=apart"].mcse
    # Crowds cost 40 at most.
    dear = at(list(said.rows), 100.0)
    assert [row.standing for row in dear.values()] == ["unreached", "unreached", "best", "behind"]
    assert np.isnan(dear["raters=crowd, grouping=beside"].value)
    assert dear["raters=crowd, grouping=beside"].marks == ("cost 10 to 40 only",)


def test_stores_are_ranked_together_paired_where_they_met_the_same_worlds() -> None:
    levels = EqualLevels("cost", (35.0,), of_two=True)
    both = compare_jointly({"a": store(), "b": store(0.05)}, ["raters", "grouping"], "power", levels=levels)
    assert both.paired
    assert len(both.rows) == 8
    best = next(row for row in both.rows if row.standing == "best")
    assert best.design == "b: raters=expert, grouping=beside"
    assert both.designs[best.design] == {"store": "b", "raters": "expert", "grouping": "beside"}
    ours = next(row for row in both.rows if row.design == "a: raters=expert, grouping=beside")
    assert ours.contrast is not None
    assert (ours.contrast.difference, ours.standing) == (pytest.approx(-0.05, abs=0.002), "behind")
    # The negative control: in worlds of their own the same difference is within its error.
    apart = compare_jointly({"a": store(), "b": store(0.05, seed=2)}, ["raters", "grouping"], "power", levels=levels)
    assert not apart.paired
    other = next(row for row in apart.rows if row.design == "a: raters=expert, grouping=beside")
    assert other.standing == "tied"
    assert other.contrast is not None
    assert other.contrast.mcse > 10 * ours.contrast.mcse


def test_stores_of_other_sizes_and_costs_keep_their_own_cells() -> None:
    small = store().isel(documents=[0, 1], grouping=[0])
    said = compare_jointly(
        {"a": store(), "b": small},
        ["raters", "grouping"],
        "power",
        levels=EqualLevels("cost", (15.0, 30.0), of_two=True),
    )
    alone = compare_jointly({"": store()}, ["raters", "grouping"], "power", levels=EqualLevels("cost", (15.0,)))
    cheap = {str(row.design): row.value for row in said.rows if row.at["cost"] == 15.0}
    assert cheap["b: raters=crowd, grouping=beside"] == pytest.approx(alone.rows[0].value, abs=1e-12)
    # A store that lacks an axis has no value on it, and its column is there all the same.
    one = store().isel(raters=0, drop=True)
    one.attrs["sweep"] = json.dumps({"axes": [{"name": n, "key": f"design.{n}"} for n in ("grouping", "documents")]})
    both = compare_jointly(
        {"b": one, "a": store()}, ["raters", "grouping"], "power", levels=EqualLevels("cost", (15.0,))
    )
    assert both.designs["b: grouping=beside"] == {"store": "b", "grouping": "beside", "raters": None}
    labelled = label(ComparedDesigns(both, {}, None, "b", [], Remarks()))
    assert labelled["raters"].values.tolist() == ["", "", "crowd", "crowd", "expert", "expert"]
    assert labelled["store"].values.tolist() == ["b", "b", "a", "a", "a", "a"]
    reached = {(row.design, row.at["cost"]): row.standing != "unreached" for row in said.rows}
    assert reached["b: raters=crowd, grouping=beside", 15.0]
    assert not reached["b: raters=crowd, grouping=beside", 30.0]


def test_designs_with_other_systems_are_not_ranked() -> None:
    said = compare_jointly({"": store(key="systems.quality_sd")}, ["raters", "grouping"], "power")
    assert (said.paired, said.differing) == (False, ("systems.quality_sd",))
    assert {row.standing for row in said.rows} == {"unranked"}
    # Those of the same systems share their worlds.
    same = compare_jointly({"": store()}, ["raters", "grouping"], "power")
    assert {row.standing for row in same.rows} <= {"best", "behind", "tied"}


def test_what_cannot_be_ranked_together_is_refused() -> None:
    one = {"a": store(), "b": store().isel(documents=0, drop=True)}
    one["b"].attrs["sweep"] = json.dumps({"axes": [{"name": n, "key": n} for n in ("raters", "grouping")]})
    with pytest.raises(InputError, match="a alone varies documents; name it in --by, or keep one value"):
        compare_jointly(one, ["raters", "grouping"], "power", levels=EqualLevels("cost"))
    with pytest.raises(InputError, match="--by raters,raters names an axis twice"):
        rank_jointly({"": store()}, [], ["raters", "raters"], "power", None, "cost")
    with pytest.raises(InputError, match="the store does not have the axis rater"):
        rank_jointly({"": store()}, [], ["rater", "grouping"], "power", None, "cost")
    with pytest.raises(InputError, match="cost=999: no design has it, and nothing is extrapolated; choose from 10 to"):
        compare_jointly({"": store()}, ["raters", "grouping"], "power", levels=EqualLevels("cost", (999.0,)))
    with pytest.raises(InputError, match="--by names them all; leave the one that makes studies larger out of --by"):
        compare_jointly({"": store()}, list(AXES), "power", levels=EqualLevels("cost"))
    for text in ("cost=", "cost=a", "cost=nan"):
        with pytest.raises(InputError, match="write cost, or cost=VALUE"):
            read_levels(text)
    with pytest.raises(InputError, match="price cannot be made equal"):
        read_levels("price=3")
