"""What a judge's own differences miss of the humans': bounds hold whatever the judge's noise and scale."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from judge_worlds import World, drawn

from simlab.analysis.means.metric_gain import slope_for_all
from simlab.answers.conclude import Conclusion
from simlab.commands.conclude import format_json, page
from simlab.concluding.judgements.bias import estimate_bias
from simlab.concluding.judgements.concluding import conclude
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.concluding.options import ConcludeOptions
from simlab.drawing.reports.answers.conclude import read as conclusion
from simlab.types import Floats
from tests.shared_data import SHARED
from tests.strangers import Rows, mutations

QUIET = ConcludeOptions(again=False, gate=False)
PAIRS = np.triu_indices(3, 1)
FAVOURS = np.array([0.0, 1.0, 0.0])
WORLDS = {
    "same scale, noisy judge": (1.4, 1.0),
    "other scale": (0.3, 7.0),
    "other scale, noisy judge": (1.0, 7.0),
}


def concluded(path: Path) -> Conclusion:
    return conclude(path, QUIET, lambda words: None)


def judged(rng: np.random.Generator, noise: float, times: float, favours: Floats) -> OutputEvidence:
    """Let a judge score what humans scored, with noise, on a scale of its own, and more for some systems."""
    held = drawn(rng, World(np.array([0.8, 0.3, 0.0]), labels=False, n_documents=25, size=3.0, labelled=1.0))
    judge = held.human + favours[held.system] + noise * rng.standard_normal(len(held.human))
    return replace(held, metrics={"judge": times * judge + (30 if times > 1 else 0)})


def shares(name: str, favours: Floats, n: int) -> tuple[float, float]:
    """Return how often all bounds hold the true errors, and how often one slope for all misses one by .35 or more."""
    rng, held, old = np.random.default_rng(1), 0, 0
    true = favours[PAIRS[0]] - favours[PAIRS[1]]
    for _ in range(n):
        evidence = judged(rng, *WORLDS[name], favours)
        found = estimate_bias(rng, evidence, "judge", None, PAIRS, level=0.05, flips=199)
        held += bool(((found.low <= true) & (true <= found.high)).all())
        score, human = evidence.metrics["judge"], evidence.human
        missed = human - slope_for_all(human, score) * score
        mean = np.array([missed[evidence.system == k].mean() for k in range(3)])
        old += bool(np.abs(mean[PAIRS[0]] - mean[PAIRS[1]] + true).max() > 0.35)
    return held / n, old / n


@pytest.mark.parametrize("favours", [0.0, 1.0])
@pytest.mark.parametrize("name", list(WORLDS))
def test_bounds_hold_the_errors_of_all_pairs(name: str, favours: float) -> None:
    assert shares(name, favours * FAVOURS, 40)[0] >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 40)


@pytest.mark.long
@pytest.mark.parametrize("favours", [0.0, 1.0])
@pytest.mark.parametrize("name", list(WORLDS))
def test_bounds_hold_as_often_as_promised(name: str, favours: float) -> None:
    assert shares(name, favours * FAVOURS, 1000)[0] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1000)


def test_one_slope_for_all_calls_a_noisy_judge_biased() -> None:
    assert shares("same scale, noisy judge", 0 * FAVOURS, 40)[1] > 0.5


def test_a_judge_that_favours_a_system_is_named() -> None:
    rng = np.random.default_rng(2)
    found = [
        estimate_bias(rng, judged(rng, 0.5, 7.0, FAVOURS), "judge", None, PAIRS, level=0.05, flips=199)
        for _ in range(20)
    ]
    assert np.mean([(one.high[0] < 0) & (one.low[2] > 0) for one in found]) >= 0.8


def test_a_metric_that_falls_where_humans_rise_is_turned_round() -> None:
    rng = np.random.default_rng(3)
    evidence = judged(rng, 0.3, 1.0, 0 * FAVOURS)
    evidence = replace(evidence, metrics={"judge": -evidence.metrics["judge"]})
    found = estimate_bias(rng, evidence, "judge", None, PAIRS, level=0.05, flips=199)
    assert -1.3 < found.factor < -0.7
    assert (np.sign(found.human) == np.sign(found.metric)).all()


def reversing(seed: int, *, items: int = 24) -> Rows:
    """Let a judge of ten points put the second of three systems above the first, whose human scores are higher."""
    rng = random.Random(seed)
    rows = []
    for item in range(items):
        easy = rng.uniform(-1, 1)
        for system, human, judge in (("good", 4.0, 6.0), ("loud", 3.0, 8.0), ("poor", 2.2, 4.4)):
            own = easy + rng.uniform(-0.7, 0.7)
            rows.append((system, f"q{item}", str(round(human + own, 1)), str(round(judge + 1.8 * own, 1))))
    return [("system", "item", "human", "judge"), *rows]


def check_reversed(found: Conclusion, first: str, second: str) -> None:
    (metric,) = found.metrics
    (error,) = [one for one in metric.bias_pairs if {one.first, one.second} == {first, second}]
    sign = 1 if error.first == first else -1
    assert sign * error.human > 0 > sign * error.metric
    assert error.low <= error.value <= error.high
    assert max(sign * error.low, sign * error.high) < 0
    assert error.value == pytest.approx(error.metric - error.human)
    assert metric.bias_worst in metric.bias_pairs
    by_system = {one.system: one for one in metric.bias}
    assert sum(one.value for one in metric.bias) == pytest.approx(0, abs=1e-9)
    assert by_system[error.first].value - by_system[error.second].value == pytest.approx(error.value)
    assert all(one.low <= one.value <= one.high for one in metric.bias)
    assert by_system[second].low > 0
    assert "follows humans" not in metric.reason
    assert f"it turns round {error.first} - {error.second}" in metric.reason
    assert "Errors of its own differences, all pairs at once" in " ".join(page(found).split())
    told = json.loads(format_json(found))
    assert [set(row) for row in told["metric"]["bias"]] == 3 * [{"system", "value", "low", "high"}]
    assert told["metric"]["bias_worst"] in told["metric"]["bias_pairs"]
    assert conclusion(told).metrics[0].bias_worst == metric.bias_worst


@pytest.mark.needs_shared("strangers/j05-bias-of-judge-hidden.csv")
def test_the_judge_that_turns_the_two_best_round_is_shown() -> None:
    check_reversed(concluded(SHARED / "strangers/j05-bias-of-judge-hidden.csv"), "m1", "m2")


@pytest.mark.parametrize("seed", [1, 2])
def test_a_judge_that_turns_systems_round_is_shown_however_written(tmp_path: Path, seed: int) -> None:
    read = 0
    for one in mutations(
        reversing(seed), tmp_path, seed, names={"system": ("system",)}, numbers=("human", "judge"), n=24
    ):
        found = concluded(one.path)
        names = {original: new for new, original in one.original.get("system", {}).items()}
        check_reversed(found, names.get("good", "good"), names.get("loud", "loud"))
        read += 1
    assert read >= 10
