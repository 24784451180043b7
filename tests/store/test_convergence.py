"""Check that the course of a measure is what a run that ended earlier would have said, in stores of every shape."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from simlab.measures.stability import srp, srp_given_any
from simlab.store.convergence import courses
from simlab.types import OK, UNRUN, Estimate, InputError, Outcomes

FAILED = 1


def campaigns(worlds: int = 12, studies: int = 8) -> Outcomes:
    """Return campaigns that find each of three pairs more often in some worlds than in others."""
    rng = np.random.default_rng(7)
    clear = np.repeat(rng.uniform(0.2, 0.9, worlds), studies)[:, None]
    direction = np.where(rng.random((worlds * studies, 3)) < 0.5 + clear / 2, 1, -1)
    return {
        "world": np.repeat(np.arange(worlds), studies),
        "study": np.tile(np.arange(studies), worlds),
        "document_set": np.zeros(worlds * studies, int),
        "status": np.full(worlds * studies, OK),
        "direction": direction,
        "significant": rng.random(direction.shape) < clear,
    }


def first(outcomes: Outcomes, worlds: int) -> Outcomes:
    return {name: held[outcomes["world"] < worlds] for name, held in outcomes.items()}


def store(estimates: list[Estimate], outcomes: list[Outcomes] | None = None, **sweep: Any) -> xr.Dataset:
    """Return a store of cells along an axis, padded to the cell that has most; with the status of campaigns, if any."""
    clusters = max(len(one.influence) for one in estimates)
    influence = np.full((len(estimates), clusters), np.nan)
    for row, one in zip(influence, estimates, strict=True):
        row[: len(one.influence)] = one.influence
    variables: dict[str, Any] = {
        "srp": ("documents", [one.value for one in estimates], {"label": "stable ranking probability"}),
        "srp_mcse": ("documents", [one.mcse for one in estimates]),
        "srp_n": ("documents", [one.n for one in estimates]),
        "srp_influence": (("documents", "cluster"), influence),
    }
    if outcomes:
        longest = max(outcomes, key=lambda held: len(held["world"]))
        status = np.full((len(outcomes), len(longest["world"])), UNRUN)
        for row, held in zip(status, outcomes, strict=True):
            row[: len(held["status"])] = held["status"]
        variables["status"] = (("documents", "replicate"), status)
        variables |= {name: ("replicate", longest[name]) for name in ("world", "study", "document_set")}
    axes = [{"key": "design.documents", "name": "documents", "values": list(range(len(estimates)))}]
    attributes = {"sweep": json.dumps({"axes": axes, "measures": ["srp"], **sweep}), "config": "{}"}
    return xr.Dataset(variables, {"documents": range(len(estimates))}, attributes)


def test_a_course_is_what_a_shorter_run_gives() -> None:
    outcomes = campaigns()
    course = courses(store([srp(outcomes)], [outcomes]), "srp")[(0,)]
    shorter = [srp(first(outcomes, worlds)) for worlds in range(2, 13)]
    # Worlds of as many campaigns weigh the same, so the share of pairs is a mean over worlds: exactly the same.
    np.testing.assert_allclose(course.value, [one.value for one in shorter], rtol=1e-12)
    np.testing.assert_allclose(course.mcse, [one.mcse for one in shorter], rtol=1e-9)
    assert course.campaigns.tolist() == [8 * worlds for worlds in range(2, 13)]
    # In another order worlds tell another course, to the same end.
    turned = {name: held[::-1] if name != "world" else held for name, held in outcomes.items()}
    other = courses(store([srp(turned)], [turned]), "srp")[(0,)]
    assert other.value[-1] == pytest.approx(course.value[-1])
    assert np.abs(other.value - course.value).max() > 0.01


def test_a_course_of_a_ratio_is_near_what_a_shorter_run_gives() -> None:
    outcomes = campaigns(worlds=40)
    course = courses(store([srp_given_any(outcomes)]), "srp")[(0,)]
    shorter = np.array([srp_given_any(first(outcomes, worlds)).value for worlds in range(2, 41)])
    assert np.all(np.abs(course.value - shorter)[8:] < 0.2 * course.mcse[8:])
    assert course.value[-1] == pytest.approx(shorter[-1])


def test_cells_end_where_their_own_campaigns_do() -> None:
    held = [campaigns(worlds) for worlds in (12, 5)]
    held[1]["status"] = np.where(np.arange(40) == 3, FAILED, OK)
    lacking = Estimate(float("nan"), np.full(1, np.nan), "world", 0)
    found = courses(store([*map(srp, held), lacking], [*held, held[1]]), "srp")
    assert list(found) == [(0,), (1,)]
    assert found[(1,)].campaigns.tolist() == [15, 23, 31, 39]
    assert found[(1,)].mcse[-1] == pytest.approx(srp(held[1]).mcse)


def test_without_outcomes_clusters_are_taken_to_have_as_many_campaigns() -> None:
    outcomes = campaigns(worlds=4)
    assert courses(store([srp(outcomes)]), "srp")[(0,)].campaigns.tolist() == [16, 24, 32]


def test_what_has_no_error_has_no_course() -> None:
    alone = store([Estimate(0.5, np.zeros(1), "world", 8)])
    with pytest.raises(InputError, match=r"srp rests on fewer than two clusters in every cell.*worlds=N"):
        courses(alone, "srp")
    calculated = store([Estimate(0.5, np.zeros(2), "", 0)])
    with pytest.raises(InputError, match="srp is calculated, without campaigns"):
        courses(calculated, "srp")
    with pytest.raises(InputError, match="needs srp_influence, which this dataset lacks; give the whole store"):
        courses(alone.drop_vars("srp_influence"), "srp")
