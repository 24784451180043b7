"""Studies of judgements: intervals cover under the prior and not where the model fails, efficiency as by formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import places
from scipy import stats

from simlab.analysis.adequacy.measurable_difference import joint_difference, measurable_difference
from simlab.analysis.adequacy.plans import Plan
from simlab.config import compose
from simlab.measures import estimates
from simlab.measures.preferences import coverage
from simlab.studies.blocks import run_block
from simlab.types import Estimate

PRIOR = {
    "systems": "alpha_optimal",
    "systems.n_systems": 2,
    "systems.beta": "[1,1]",
    "metric": "rho_eta",
    "metric.rho": 0.5,
    "metric.eta": 0.5,
    "metric.concentration": 2,
    "budget.metric_ratings": 300,
}


def outcomes(keys: dict[str, Any], worlds: int, studies: int) -> dict[str, Any]:
    config = compose([f"{key}={value}" for key, value in (keys | {"worlds": worlds, "studies": studies}).items()])
    blocks = [run_block(config, places(world, studies)).arrays for world in range(worlds)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def off(found: Estimate, wanted: float) -> float:
    return abs(found.value - wanted) / found.mcse


@pytest.mark.slow
@pytest.mark.parametrize("human", [0, 30])
@pytest.mark.parametrize(
    "keys",
    [
        {"analysis.estimator": "binary"},
        {
            "analysis.estimator": "binary_calibrated",
            "budget.calibration_ratings": 40,
            "design.calibration": "own",
        },
    ],
)
def test_intervals_cover_as_often_as_they_say_under_the_prior(keys: dict[str, Any], human: int) -> None:
    found = coverage(outcomes(PRIOR | keys | {"budget.human_ratings": human}, 300, 1))
    assert off(found, 0.95) < 3


GOOD = {"metric.rho": 0.8, "metric.eta": 0.8, "metric.concentration": "null"}
LOSSES = {
    "alpha at its end": {"systems.beta": "null", "systems.alphas": "[0,0]", "metric": "none"},
    "lenient raters": {"raters.leniency": 0.5, "budget.human_ratings": 100, **GOOD},
    "rho and eta that differ between systems": {
        **GOOD,
        "metric.system_concentration": 20,
        "budget.metric_ratings": 3000,
        "budget.human_ratings": 20,
    },
}


@pytest.mark.parametrize("why", LOSSES)
def test_intervals_fail_where_the_model_does(why: str) -> None:
    keys = PRIOR | {"analysis.estimator": "binary", "budget.human_ratings": 100} | LOSSES[why]
    if keys["metric"] == "none":
        keys = {key: value for key, value in keys.items() if not key.startswith("metric.")}
    found = coverage(outcomes(keys, 100, 1))
    # Of 100 worlds, coverage of .95 is not below .85 but once in ten thousand times.
    assert found.value < 0.85
    assert found.mcse < 0.05


@pytest.mark.slow
def test_items_shared_between_systems_make_independent_posteriors_too_cautious() -> None:
    alike = {"systems": "alpha_optimal", "systems.n_systems": 2, "systems.spacing": 0, "systems.item_agreement": 0.8}
    found = outcomes(alike | {"metric": "none", "analysis.estimator": "binary"}, 1, 1500)
    gap = found["estimate"][:, 0] - found["estimate"][:, 1]
    assert gap.std() < 0.75 * found["difference_se"].mean()
    assert found["significant"].mean() < 0.02  # at a level of .05
    paired = outcomes(alike | {"metric": "none", "analysis.estimator": "sample_mean"}, 1, 1500)
    assert abs(paired["significant"].mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 1500)


SCALAR = {
    "systems": "alpha_optimal",
    "systems.n_systems": 2,
    "systems.test_set": "fixed",
    "raters.scale": "score",
    "metric": "correlated",
    "analysis.estimator": "control_variates",
    "budget.metric_ratings": "null",
}


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("gammas", [(0.2,), pytest.param((0.2, 0.6, 1.5), marks=pytest.mark.long)], ids=str)
def test_data_efficiency_is_that_of_the_formula(replacement: bool, gammas: tuple[float, ...]) -> None:
    grid = [(gamma, rho) for gamma in gammas for rho in (0.3, 0.6, 0.8, 0.95)]
    found, formula = [], []
    for seed, (gamma, rho) in enumerate(grid, start=1):
        keys = {
            "raters.gamma": gamma,
            "metric.correlation": rho,
            "design.replacement": str(replacement).lower(),
            "systems.n_items": 500,
            "budget.human_ratings": 200,
            "analysis.estimator.coefficient": "known",
            "seed": seed,  # points do not share random numbers
        }
        data = outcomes(SCALAR | keys, 20, 15)
        found.append(estimates.data_efficiency(data))
        formula.append(estimates.data_efficiency_formula(data).value)
    mcse = np.array([one.mcse for one in found])
    z = (np.array([one.value for one in found]) - formula) / mcse
    # A standard error from 20 worlds: squares of t variables.
    assert stats.chi2.sf(np.sum(z**2) * 17 / 19, len(z)) > 1e-3
    other = [(1 + g) / (1 - (r - 0.08) ** 2 + g) for g, r in grid]
    assert stats.chi2.sf(np.sum(((np.array([one.value for one in found]) - other) / mcse) ** 2), len(z)) < 1e-3


def test_data_efficiency_shows_in_the_widths_of_bootstrap_intervals() -> None:
    keys = {"raters.gamma": 0.5, "metric.correlation": 0.8, "systems.n_items": 2000, "budget.human_ratings": 200}
    wide = {"analysis.estimator.interval": "bootstrap", "analysis.estimator.level": 0.2, "design.replacement": "true"}
    found = outcomes(SCALAR | keys | wide, 10, 6)
    efficiency = estimates.data_efficiency_width(found)
    assert efficiency.value == pytest.approx(estimates.data_efficiency_formula(found).value, rel=0.08)
    assert abs(coverage(found).value - 0.8) < 4 * coverage(found).mcse


@pytest.mark.parametrize(("scale", "third"), [("skewed_score", 2 * 0.7**2), ("score", 0.0)])
@pytest.mark.parametrize("n", [10, 40])
def test_the_plug_in_coefficient_is_biased_in_a_skewed_world_only(scale: str, third: float, n: int) -> None:
    keys = {"raters.scale": scale, "metric.correlation": 0.7, "budget.human_ratings": n, "systems.n_items": 20_000}
    found = estimates.bias(outcomes(SCALAR | keys | {"design.replacement": "true"}, 4, 500))
    expected = -third * (n - 1) / n**2
    # Test sets of 20,000 outputs have third moments of their own, and so few worlds tell little of the error.
    spread = np.sqrt(1 - 0.7**2) / np.sqrt(n * 4 * 500 * 2)
    assert abs(found.value - expected) < 4 * spread + 0.1 * abs(expected)
    assert (abs(found.value) > 5 * spread) == (scale == "skewed_score")


def test_a_shared_calibration_errs_alike_for_both_systems() -> None:
    alike = {"systems": "alpha_optimal", "systems.n_systems": 2, "systems.spacing": 0, "metric": "rho_eta"}
    size = {"budget.human_ratings": 0, "budget.metric_ratings": 10_000, "budget.calibration_ratings": 100}
    joint = joint_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 100)).epsilon
    published = measurable_difference(Plan(0, 10_000, 0.7, 0.7, 0.6, 100)).epsilon
    assert (joint.round(3), published.round(3)) == (0.072, 0.393)
    apart = []
    for calibration in ("shared", "own"):
        keys = {"analysis.estimator": "binary_calibrated", "design.calibration": calibration}
        found = outcomes(alike | size | keys, 1, 60)
        apart.append(1.96 * (found["estimate"][:, 0] - found["estimate"][:, 1]).std())
    assert apart[0] < 1.2 * joint  # what independent posteriors would take for .393
    assert apart[1] > 3 * apart[0]
