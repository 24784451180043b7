"""Compute the measures of cells, set them out over axes, and bound them where campaigns failed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from simlab.store.measures import Unusable, bounds_if_failed, estimate, failures, n_clusters, set_out
from simlab.types import DESIGN_FAILED, OK, UNRUN, Array, Estimate, Outcomes

OUTCOMES: Mapping[str, Array] = {"status": np.array([OK, DESIGN_FAILED]), "cost": np.array([3.0, np.nan])}


def reading(name: str) -> Callable[[Outcomes], Estimate]:
    def measure(outcomes: Outcomes) -> Estimate:
        return Estimate(float(outcomes[name][0]), np.zeros(2), "world", 1)

    return measure


def test_a_measure_of_a_declared_outcome_that_is_lacking_has_no_value() -> None:
    measures = {"price": reading("cost"), "missing": reading("picked")}
    computed = estimate(measures, OUTCOMES, {"picked"})
    assert computed.keys() == {"price"}
    assert computed["price"].value == 3.0


def unusable(measure: Callable[[Outcomes], Any], declared: set[str] | None = None) -> str:
    """Compute a measure beside a sound one; return why it has no value."""
    computed = estimate({"price": reading("cost"), "odd": measure}, OUTCOMES, declared or set())
    assert isinstance(computed["price"], Estimate)
    assert isinstance(computed["odd"], Unusable)
    return computed["odd"].reason


def test_a_measure_of_an_outcome_that_nobody_declares_is_a_mistake() -> None:
    assert unusable(reading("picekd"), {"picked"}).startswith("KeyError: 'picekd' (test_measures.py, line ")
    assert unusable(reading("picked")).startswith("KeyError: 'picked' (test_measures.py, line ")


def test_a_measure_that_fails_costs_itself_only() -> None:
    def failing(outcomes: Outcomes) -> Estimate:
        raise KeyError("cost")

    def leaving(outcomes: Outcomes) -> Estimate:
        sys.exit(0)

    assert re.fullmatch(r"KeyError: 'cost' \(test_measures.py, line \d+, in failing\)", unusable(failing, {"cost"}))
    assert unusable(leaving).startswith("SystemExit: 0")


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (None, "ValueError: the measure returned NoneType, not an Estimate"),
        (0.5, "ValueError: the measure returned float, not an Estimate"),
        (Estimate(np.inf, np.zeros(2), "world", 1), "ValueError: the value inf with the error 0.0 is no estimate"),
        (Estimate(1.0, np.array([1.0, np.inf]), "world", 1), "ValueError: the influence of a cluster is infinite"),
        (Estimate(1.0, np.array([np.nan, -np.inf]), "world", 1), "ValueError: the influence of a cluster is infinite"),
        (Estimate(np.nan, np.array([np.inf, np.nan]), "world", 1), "ValueError: the influence of a cluster is inf"),
        (
            Estimate(0.5, np.full(3, np.nan), "world", 4),
            "ValueError: the value 0.5 of n=4 campaigns rests on",
        ),
        (Estimate(1e300, np.array([1e300, -1e300]), "world", 4), "ValueError: the value 1e+300 with the error inf"),
        (Estimate(1.0, np.zeros((2, 2)), "world", 1), "ValueError: the influence is an array of shape (2, 2)"),
        (Estimate(1.0, np.zeros(2), "world", -1), "ValueError: n=-1 counts no campaigns"),
        (Estimate(1.0, np.zeros(2), "world", 0.5), "ValueError: n=0.5 counts no campaigns"),
        (Estimate("much", np.zeros(2), "world", 1), "ValueError: could not convert string to float: 'much'"),
    ],
)
def test_what_no_estimate_can_be_is_not_taken_for_one(returned: Any, reason: str) -> None:
    assert unusable(lambda outcomes: returned).startswith(reason)


def test_a_measure_that_failed_says_in_how_many_cells_and_why() -> None:
    sound = Estimate(0.5, np.array([1.0, -1.0]), "world", 7)
    cells = {(0,): {"a": sound, "b": Unusable("ValueError: no")}, (1,): {"a": sound, "b": sound}}
    variables = set_out(("x",), (2,), cells, {"a": {}, "b": {}})
    np.testing.assert_array_equal(variables["b"][1], [np.nan, 0.5])
    assert variables["b_n"][1].tolist() == [0, 7]
    assert "failed" not in variables["a"][2]
    said = list(failures(xr.Dataset(dict(variables))))
    assert said == ["the measure b failed in 1 cell and has no value there: ValueError: no"]


def test_a_cell_of_which_nothing_was_carried_out_has_no_measure() -> None:
    nothing = {"status": np.array([DESIGN_FAILED, UNRUN])}
    assert estimate({"missing": reading("nowhere")}, nothing) == {}
    assert estimate({}, OUTCOMES) == {}


def set_out_by_hand() -> tuple[Any, Any]:
    influence = np.array([1.0, -1.0, 0.0])
    first = {"a": Estimate(0.5, influence, "world", 7), "b": Estimate(2.0, np.array([0.5, -0.5]), "replicate", 4)}
    second = {"a": Estimate(0.25, influence[:2], "document_set", 3)}
    cells = {(0, 1): first, (1, 0): second}
    labels = {"a": {"label": "a share", "units": "1"}, "b": {"label": "a price"}}
    return cells, set_out(("x", "y"), (2, 2), cells, labels)


def test_measures_lie_where_their_cells_do_and_are_nan_elsewhere() -> None:
    cells, variables = set_out_by_hand()
    assert set(variables) == {f"{name}{end}" for name in "ab" for end in ("", "_mcse", "_n", "_influence")}
    dims, value, about = variables["a"]
    assert dims == ("x", "y")
    np.testing.assert_array_equal(value, [[np.nan, 0.5], [0.25, np.nan]])
    assert about == {"cluster": "document_set/world", "label": "a share", "units": "1"}
    # sqrt(sum of squares / (K (K - 1))): sqrt(2 / 6) of three worlds, sqrt(2 / 2) of two sets of documents.
    np.testing.assert_allclose(variables["a_mcse"][1], [[np.nan, np.sqrt(1 / 3)], [1.0, np.nan]])
    assert variables["a_n"][1].tolist() == [[0, 7], [3, 0]]
    assert variables["a_influence"][0] == ("x", "y", "cluster")
    np.testing.assert_array_equal(variables["a_influence"][1][0, 1], [1, -1, 0])
    np.testing.assert_array_equal(variables["a_influence"][1][1, 0], [1, -1, np.nan])
    assert np.isnan(variables["a_influence"][1][0, 0]).all()
    np.testing.assert_array_equal(variables["b"][1], [[np.nan, 2.0], [np.nan, np.nan]])
    assert variables["b"][2]["cluster"] == "replicate"
    assert n_clusters(cells) == 3


def test_a_measure_without_any_value_is_set_out_empty() -> None:
    assert n_clusters({}) == 0
    variables = set_out(("x",), (2,), {}, {"a": {"label": "a"}})
    assert np.isnan(variables["a"][1]).all()
    assert variables["a_influence"][1].shape == (2, 0)
    assert variables["a_n"][1].tolist() == [0, 0]


def test_errors_have_the_unit_of_their_measure() -> None:
    variables = set_out_by_hand()[1]
    assert [variables[name][2].get("units") for name in ("a_mcse", "a_influence", "a_n")] == ["1", "1", None]
    assert "units" not in variables["b_mcse"][2]


SHARES = (("x",), np.array([0.5, 0.9, np.nan]), {"limits": (0, 1)})
PAIRED = (("x",), np.array([0.5, 0.9, np.nan]), {"limits": (-1, 1), "order": 2})
OPEN = (("x",), np.array([0.5, 0.9, np.nan]), {"label": "without bounds"})
FAILED = {(0,): 0.2, (1,): 0.0, (2,): 1.0}


def test_bounds_count_every_failed_campaign_at_the_limit() -> None:
    bounded = bounds_if_failed({"share": SHARES, "price": OPEN}, FAILED)
    assert set(bounded) == {"share_low_if_failed", "share_high_if_failed"}
    # .8 of the campaigns say .5, the others 0 or 1; nothing failed: the value itself; all failed: the limits.
    np.testing.assert_allclose(bounded["share_low_if_failed"][1], [0.8 * 0.5, 0.9, 0.0])
    np.testing.assert_allclose(bounded["share_high_if_failed"][1], [0.8 * 0.5 + 0.2, 0.9, 1.0])
    assert bounded["share_low_if_failed"][2]["label"] == "with every failed campaign counted at 0"


def test_a_comparison_of_two_campaigns_is_spoilt_by_one_that_failed() -> None:
    bounded = bounds_if_failed({"both": PAIRED}, FAILED)
    np.testing.assert_allclose(bounded["both_low_if_failed"][1], [0.64 * 0.5 - 0.36, 0.9, -1.0])
    np.testing.assert_allclose(bounded["both_high_if_failed"][1], [0.64 * 0.5 + 0.36, 0.9, 1.0])


def test_bounds_are_those_of_a_mean_over_campaigns_by_brute_force() -> None:
    rng = np.random.default_rng(1)
    hits, failed = rng.random(50) < 0.3, np.arange(50) < 10
    share = (("x",), np.array([hits[~failed].mean()]), {"limits": (0, 1)})
    bounded = bounds_if_failed({"share": share}, {(0,): failed.mean()})
    for limit, word in ((0, "low"), (1, "high")):
        assert bounded[f"share_{word}_if_failed"][1][0] == pytest.approx(np.where(failed, limit, hits).mean())


def test_where_nothing_failed_nothing_is_said_and_cells_not_run_have_no_bound() -> None:
    assert bounds_if_failed({"share": SHARES}, {(0,): 0.0, (1,): 0.0}) == {}
    bounded = bounds_if_failed({"share": SHARES}, {(0,): 0.2})
    np.testing.assert_array_equal(np.isnan(bounded["share_low_if_failed"][1]), [False, True, True])
