"""What detect says of power is what campaigns find, whichever way a metric's rho and eta are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import places

from simlab.analysis.adequacy.inverse import compute_detections
from simlab.analysis.adequacy.measurable_difference import Among
from simlab.config import compose
from simlab.studies.blocks import run_block

LEVEL_POWER = {"level": 0.05, "power": 0.8}
CALIBRATED = {"analysis.estimator": "binary_calibrated"}
JOINT = CALIBRATED | {"analysis.estimator.sharing": "joint", "design.calibration": "shared"}
OWN = CALIBRATED | {"analysis.estimator.sharing": "own", "design.calibration": "own"}

SETTINGS: dict[str, tuple[dict[str, Any], float, dict[str, Any], str]] = {
    "known rates": (
        {"n_human": 94, "n_metric": 5000, "n_calibration": None, "rho": 0.8, "eta": 0.8, "alpha": 0.62},
        0.04,
        {"analysis.estimator": "binary"},
        "power_published",
    ),
    "a calibration of each": (
        {"n_human": 94, "n_metric": 5000, "n_calibration": 400, "rho": 0.8, "eta": 0.8, "alpha": 0.65},
        0.1,
        OWN,
        "power_published",
    ),
    "one calibration": (
        {"n_human": 94, "n_metric": 5000, "n_calibration": 50, "rho": 0.8, "eta": 0.8, "alpha": 0.63},
        0.06,
        JOINT,
        "power_joint",
    ),
    "one calibration of a poorer metric, few metric ratings": (
        {"n_human": 50, "n_metric": 1000, "n_calibration": 100, "rho": 0.9, "eta": 0.7, "alpha": 0.7},
        0.08,
        JOINT,
        "power_joint",
    ),
}


def foretold(setting: str) -> float:
    plan, difference, _, name = SETTINGS[setting]
    return float(compute_detections([plan | LEVEL_POWER], difference)[0][name])


def found(setting: str, n: int, **more: Any) -> tuple[float, float]:
    """Return the share of campaigns that find the difference, and its error, no smaller than that of a rare miss."""
    plan, difference, keys, _ = SETTINGS[setting]
    outcomes = campaigns(plan, [plan["alpha"], plan["alpha"] - difference], n, keys | more)
    right = outcomes["significant"][:, 0] & (outcomes["direction"][:, 0] == 1)
    share = (right.sum() + 1) / (n + 2)
    return float(right.mean()), float(np.sqrt(share * (1 - share) / n))


def campaigns(plan: dict[str, Any], alphas: list[float], n: int, more: dict[str, Any]) -> dict[str, Any]:
    words = {
        "systems": "alpha_optimal",
        "systems.n_systems": len(alphas),
        "systems.alphas": f"[{','.join(f'{alpha:.6g}' for alpha in alphas)}]",
        "metric": "rho_eta",
        "metric.rho": plan["rho"],
        "metric.eta": plan["eta"],
        "budget.human_ratings": plan["n_human"],
        "budget.metric_ratings": plan["n_metric"],
        "budget.calibration_ratings": plan["n_calibration"] or 0,
    }
    config = compose([f"{key}={value}" for key, value in (words | more | {"worlds": 1, "studies": n}).items()])
    return run_block(config, places(1, n)).arrays


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS)
def test_detect_and_campaigns_agree(setting: str) -> None:
    power, mcse = found(setting, 200)
    assert abs(power - foretold(setting)) < 4 * mcse


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
def test_detect_and_many_campaigns_agree(setting: str) -> None:
    power, mcse = found(setting, 1500)
    assert abs(power - foretold(setting)) < 3 * mcse


def test_campaigns_that_take_one_calibration_for_two_do_not_find_what_detect_says() -> None:
    power, mcse = found("one calibration", 200, **{"analysis.estimator.sharing": "own"})
    assert power < foretold("one calibration") - 20 * mcse


SEVERAL = {"n_human": 94, "n_metric": 5000, "n_calibration": 100, "rho": 0.8, "eta": 0.8, "alpha": 0.6} | LEVEL_POWER


@pytest.mark.long
def test_campaigns_of_several_equal_systems_with_one_calibration_keep_the_level() -> None:
    least = campaigns(SEVERAL, [0.6] * 6, 600, JOINT)["p_value"].min(1)
    max_t, holm, none = ((least < Among(6, rule).level(0.05)).mean() for rule in ("max_t", "holm", "none"))  # type: ignore[arg-type]
    error = np.sqrt(0.05 * 0.95 / 600)
    assert abs(max_t - 0.05) < 4 * error
    assert holm <= max_t
    # The control: pair by pair the level does not hold.
    assert none > 0.2


@pytest.mark.long
def test_campaigns_tell_the_best_of_several_systems_as_often_as_foretold() -> None:
    asked = SEVERAL | {"n_systems": 6, "find": "best"}
    difference = float(compute_detections([asked])[0]["detectable_joint"])
    p_value = campaigns(SEVERAL, [0.6] + [0.6 - difference] * 5, 600, JOINT)["p_value"]
    share = (p_value[:, :5] < Among(6).level(0.05)).all(1).mean()
    assert abs(share - 0.8) < 4 * np.sqrt(0.16 / 600)
