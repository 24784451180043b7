"""The posterior of a pair against references that share no idea with it: long NUTS runs and brute-force grids."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.preference import posterior_summary, win_decisions, win_posterior
from simlab.analysis.preferences.refinement import ERROR
from simlab.rng import stream
from simlab.types import InputError

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("win_posteriors.json").read_text())
REGIMES = Counter(case["regime"] for case in CASES)


def options(case: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {"two_outcomes": case.get("two_outcomes", False)}
    chosen |= {"elsewhere": True} if "calibration" in case else {}
    chosen |= {"mu": case["mu_known"]} if "mu_known" in case else {}
    return chosen | ({"rater": case["rater"]} if "rater" in case else {})


def near(theta: float) -> bool:
    return min(abs(theta - 0.025), abs(theta - 0.975)) < 0.02


def test_references_cover_all_regimes_and_are_accurate() -> None:
    assert sum(REGIMES.values()) >= 40
    assert set(REGIMES) == {
        *("paired", "thin ridge", "nearly singular", "draw-free", "two outcomes"),
        *("extra human", "elsewhere", "known mu", "rater noise"),
    }
    for case in CASES:
        reference = case["reference"]
        assert reference["error"] <= (0.0005 if near(reference["theta"]) else 0.002)
        if reference["how"] == "NUTS":
            assert reference["r_hat"] < 1.01
            assert reference["ess"] > 1000


def every_case() -> Iterator[Any]:
    """List the cases; all but the first two of each regime take long together."""
    seen: Counter[str] = Counter()
    for k, case in enumerate(CASES):
        seen[case["regime"]] += 1
        marks = [pytest.mark.long] if seen[case["regime"]] > 2 else []
        yield pytest.param(case, id=f"{k}-{case['regime']}", marks=marks)


@pytest.mark.parametrize("case", list(every_case()))
def test_theta_is_that_of_the_reference(case: dict[str, Any]) -> None:
    found = win_posterior(case["human"], case["confusion"], case["metric"], **options(case))
    reference = case["reference"]
    assert found.error <= (0.0007 if near(found.theta) else 0.003)
    assert abs(found.theta - reference["theta"]) <= 4 * np.hypot(found.error, reference["error"])
    assert found.ess >= 1000
    if "mean" in reference:
        # `ess` is that of theta; the mean is held to a tenth of the posterior's width.
        assert (np.abs(found.mean - reference["mean"]) <= 0.1 * found.sd + 1e-3).all()


def test_a_wrong_model_is_found_out() -> None:
    """Count doubly rated outputs among the metric's ratings, too: what appendix A of the paper warns of."""
    wrong = 0
    for case in CASES:
        if case["regime"] in ("paired", "thin ridge", "nearly singular"):
            metric = np.array(case["metric"]) + 5 * np.array(case["confusion"]).sum(1)
            found = win_posterior(case["human"], case["confusion"], metric)
            wrong += abs(found.theta - case["reference"]["theta"]) > 4 * np.hypot(
                found.error, case["reference"]["error"]
            )
    assert wrong >= 3


def typical(n: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw what a campaign may know of n pairs, ridges included."""
    rng = stream(seed, "typical")
    human, confusion, metric = np.zeros((n, 3), int), np.zeros((n, 3, 3), int), np.zeros((n, 3), int)
    for k in range(n):
        p = rng.dirichlet([4, 2, 4])
        mu = rng.dirichlet([2, 1, 2], 3).T * 0.5 + 0.5 * np.eye(3)
        confusion[k] = rng.multinomial(rng.integers(5, 200), (mu * p).ravel()).reshape(3, 3)
        human[k] = confusion[k].sum(0)
        metric[k] = rng.multinomial(rng.choice([100, 1000, 11000]), mu @ p)
    return human, confusion, metric


def test_coarse_decisions_are_those_of_the_fine_path() -> None:
    counts = typical(500)
    fine = win_posterior(*counts)
    theta, error, verdict = win_decisions(*counts, level=0.05)
    wanted = (fine.theta > 0.975).astype(int) - (fine.theta < 0.025).astype(int)
    # Where theta is so close to a threshold that no error allowed tells the side, either verdict is right.
    sure = np.minimum(np.abs(fine.theta - 0.025), np.abs(fine.theta - 0.975)) > 4 * fine.error
    assert sure.mean() > 0.95
    np.testing.assert_array_equal(verdict[sure], wanted[sure])
    assert (verdict != 0).mean() > 0.1
    assert (np.abs(theta - fine.theta) <= 5 * np.hypot(error, fine.error)).mean() > 0.995


def test_a_pair_has_the_same_bits_in_any_company() -> None:
    counts = typical(70)
    together = win_posterior(*counts)
    for k in (0, 33, 69):
        alone = win_posterior(*(array[k] for array in counts))
        for mine, theirs in zip(alone, together, strict=True):
            np.testing.assert_array_equal(mine, theirs[k])
    again = win_posterior(*counts)
    np.testing.assert_array_equal(again.theta, together.theta)
    other = win_posterior(*counts, seed=1)
    assert (other.theta != together.theta).any()
    assert (np.abs(other.theta - together.theta) <= 5 * np.hypot(other.error, together.error)).all()


def test_exchanging_the_systems_turns_theta_round() -> None:
    human, confusion, metric = typical(60, seed=2)
    forth = win_posterior(human, confusion, metric)
    back = win_posterior(human[:, ::-1], confusion[:, ::-1, ::-1], metric[:, ::-1])
    assert (np.abs(forth.theta + back.theta - 1) <= 5 * np.hypot(forth.error, back.error)).all()
    np.testing.assert_allclose(forth.mean, back.mean[:, ::-1], atol=0.02)


def test_without_a_metric_the_answer_is_exact() -> None:
    human = np.array([[3, 1, 3], [30, 5, 10], [0, 0, 0]])
    found = win_posterior(human)
    wanted = [stats.beta.sf(0.5, w + 1, l + 1) for w, _, l in human]  # noqa: E741
    np.testing.assert_allclose(found.theta, wanted)
    np.testing.assert_array_equal(found.error, 0)
    np.testing.assert_allclose(found.mean, (human + 1) / (human.sum(1, keepdims=True) + 3))
    confusion = np.array([[1, 0, 1], [1, 1, 1], [1, 0, 1]])
    np.testing.assert_array_equal(win_posterior(human[0], confusion).theta, found.theta[0])  # says nothing about p


def test_a_metric_that_never_errs_is_as_good_as_humans() -> None:
    known = win_posterior([5, 2, 3], None, [50, 20, 30], mu=np.eye(3))
    human = win_posterior([55, 22, 33])
    assert known.theta == pytest.approx(human.theta, abs=1e-6)
    np.testing.assert_allclose(known.mean, human.mean, atol=1e-6)
    np.testing.assert_allclose(known.sd, human.sd, atol=1e-6)
    assert known.error < 1e-6


def test_large_counts_and_singular_matrices_can_be_integrated() -> None:
    blind = np.full((3, 3), 1 / 3)
    assert win_posterior([9, 2, 3], None, [10**6] * 3, mu=blind).theta == pytest.approx(
        float(win_posterior([9, 2, 3]).theta), abs=1e-5
    )
    many = win_posterior([0, 0, 0], None, [400_500, 200_000, 399_500], mu=np.eye(3))
    assert many.theta == pytest.approx(stats.beta.sf(0.5, 400_501, 399_501), abs=1e-5)


@pytest.mark.slow
def test_importance_sampling_and_tempering_agree() -> None:
    counts = typical(2, seed=3)
    human, confusion, metric = counts
    fast = win_posterior(human, confusion, metric)
    slow = win_posterior(human, confusion, metric, method="tempering")
    assert (np.abs(fast.theta - slow.theta) <= 4 * np.hypot(fast.error, slow.error)).all()
    np.testing.assert_allclose(fast.mean, slow.mean, atol=0.01)
    np.testing.assert_allclose(fast.sd, slow.sd, atol=0.01)


def test_intervals_are_those_of_the_draws() -> None:
    human, confusion, metric = (array[:5] for array in typical(5, seed=4))
    summary = posterior_summary(human, confusion, metric)
    full = win_posterior(human, confusion, metric)
    np.testing.assert_allclose(summary.mean, full.mean, atol=0.02)
    np.testing.assert_allclose(summary.high - summary.low, 3.92 * full.sd, rtol=0.35)
    alone = posterior_summary(human, confusion, np.zeros_like(metric))
    a = human + 1
    np.testing.assert_allclose(alone.low, stats.beta.ppf(0.025, a, a.sum(1, keepdims=True) - a))


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        (([1, -1, 0],), {}, "human holds -1; counts are whole numbers"),
        (([1, 0.5, 0],), {}, "human holds 0.5"),
        (([1, np.nan, 0],), {}, "human holds nan"),
        (([1, 2],), {}, "human has shape"),
        (([1, 1, 1], np.eye(3) * 2, [5, 5, 5]), {}, "confusion counts 2 outputs that humans found >, human only 1"),
        (([1, 1, 1], None, [5, 5, 5]), {"mu": np.eye(3) * 0.9}, "sums to 0.9, not 1"),
        (([1, 1, 1], None, [5, 5, 5]), {"mu": [[2, 0, 0], [-1, 1, 0], [0, 0, 1]]}, "no probability"),
        (([1, 1, 1], None, [5, 5, 5]), {"two_outcomes": True}, "cannot draw, but it did"),
        (([[1, 1, 1]] * 2, np.zeros((3, 3, 3)), [5, 5, 5]), {}, "do not fit together"),
    ],
)
def test_what_cannot_be_is_one_clear_line(arguments: Any, more: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says.replace(">", ">")) as caught:
        win_posterior(*arguments, **more)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_published_model_is_at_hand() -> None:
    pytest.importorskip("numpyro")
    from simlab.analysis.preferences.nuts import sample_posterior
    from simlab.effort import ChainEffort

    human, confusion, metric = (array[:1].astype(float) for array in typical(1, seed=5))
    found = sample_posterior(human, confusion, metric, size=ChainEffort(2, 300, 1500))
    fast = win_posterior(human, confusion, metric)
    assert found.r_hat[0] < 1.05
    assert abs(found.theta[0] - fast.theta[0]) <= 4 * np.hypot(found.error[0], fast.error[0]) + 0.01
    assert ERROR == 0.003
