"""Measures of preference studies against counting by hand, and their negative controls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from simlab.measures import preferences
from simlab.types import Outcomes

N, PAIRS = 40, 6


def outcomes(seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    world = np.repeat(np.arange(4, dtype=np.int32), N // 4)
    truth = rng.integers(-1, 2, (4, PAIRS)).astype(np.int8)
    p = rng.dirichlet([2, 1, 2], (N, PAIRS))
    return {
        "world": world,
        "study": np.tile(np.arange(N // 4, dtype=np.int32), 4),
        "document_set": np.arange(N, dtype=np.int32),
        "status": np.zeros(N, np.int8),
        "verdict": rng.integers(-1, 2, (N, PAIRS)).astype(np.int8),
        "reference_verdict": rng.integers(-1, 2, (N, PAIRS)).astype(np.int8),
        "reference_p": rng.dirichlet([2, 1, 2], (N, PAIRS)),
        "reference_smoothed": rng.random((N, PAIRS)) < 0.2,
        "p_mean": p,
        "p_low": p - 0.1,
        "p_high": p + 0.1,
        "cyclic": rng.random((N, 4)) < 0.1,
        "ratings_used": rng.integers(0, 300, N),
        "ratings_possible": np.full(N, 300),
        "item_ratings_used": rng.integers(0, 100, N),
        "item_ratings_possible": np.full(N, 100),
        "true_direction": truth,
        "true_p": rng.dirichlet([2, 1, 2], (4, PAIRS)),
    }


@pytest.mark.parametrize(("suffix", "against"), [("", "reference_verdict"), ("_true", "true_direction")])
def test_the_four_kinds_of_error_are_what_their_names_say_and_sum_to_one(suffix: str, against: str) -> None:
    data = outcomes()
    held = data[against] if not suffix else data[against][data["world"]]
    counted = {"correct": 0, "inversion": 0, "omission": 0, "insertion": 0}
    for said, true in zip(data["verdict"].ravel().tolist(), held.ravel().tolist(), strict=True):
        kind = "correct" if said == true else "omission" if said == 0 else "insertion" if true == 0 else "inversion"
        counted[kind] += 1
    found = {kind: getattr(preferences, kind + suffix)(data) for kind in counted}
    for kind, count in counted.items():
        assert found[kind].value == pytest.approx(count / (N * PAIRS))
        assert found[kind].n == N
        assert found[kind].cluster == "world"
    assert sum(estimate.value for estimate in found.values()) == pytest.approx(1)


def test_claims_about_equal_pairs_are_false() -> None:
    data = outcomes()
    truth = data["true_direction"][data["world"]]
    claimed = data["verdict"][truth == 0] != 0
    assert preferences.false_positive(data).value == pytest.approx(claimed.mean())
    false = (data["verdict"] != 0) & (data["verdict"] != truth)
    assert preferences.family_wise_error(data).value == pytest.approx(np.mean([row.any() for row in false]))
    data["verdict"][:] = 0  # whoever claims nothing errs nowhere
    assert preferences.false_positive(data).value == preferences.family_wise_error(data).value == 0


def test_divergence_is_that_of_the_campaign_from_the_human_evaluation_and_not_the_reverse() -> None:
    data = outcomes()
    forth = entropy(data["p_mean"], data["reference_p"], axis=2).mean()
    back = entropy(data["reference_p"], data["p_mean"], axis=2).mean()
    assert preferences.kld(data).value == pytest.approx(forth)
    assert abs(forth - back) > 0.01  # the negative control can tell
    data["reference_p"] = data["p_mean"]
    assert preferences.kld(data).value == pytest.approx(0, abs=1e-12)


def test_an_outcome_that_is_estimated_impossible_adds_nothing() -> None:
    data = outcomes()
    data["p_mean"] = np.tile([0.5, 0.0, 0.5], (N, PAIRS, 1))
    data["reference_p"] = np.tile([0.25, 0.5, 0.25], (N, PAIRS, 1))
    assert preferences.kld(data).value == pytest.approx(np.log(2))


def test_fractions_are_of_the_full_human_evaluation() -> None:
    data = outcomes()
    assert preferences.annotation_fraction(data).value == pytest.approx(data["ratings_used"].sum() / (300 * N))
    assert preferences.item_rating_fraction(data).value == pytest.approx(data["item_ratings_used"].sum() / (100 * N))


def test_coverage_counts_intervals_that_hold_the_truth() -> None:
    data = outcomes()
    truth = data["true_p"][data["world"]]
    held = (data["p_low"] <= truth) & (truth <= data["p_high"])
    assert preferences.coverage(data).value == pytest.approx(held.mean())
    data["p_low"], data["p_high"] = np.zeros_like(truth), np.ones_like(truth)
    assert preferences.coverage(data).value == 1


def test_orders_agree_with_themselves_and_disagree_with_their_reverse() -> None:
    data = outcomes()
    data["verdict"][data["verdict"].astype(bool).sum(1) == 0, 0] = 1
    data["reference_verdict"] = data["verdict"].copy()
    assert preferences.order_agreement(data).value == pytest.approx(1)
    data["reference_verdict"] = -data["verdict"]
    assert preferences.order_agreement(data).value == pytest.approx(-1)
    data["reference_verdict"][:20] = 0  # an empty order agrees or disagrees with nothing
    assert preferences.order_agreement(data).value == pytest.approx(-1)


@pytest.mark.parametrize("measure", [preferences.correct, preferences.kld, preferences.coverage, preferences.cycles])
def test_a_study_of_ratings_has_no_value(measure) -> None:
    ratings: Outcomes = {name: outcomes()[name] for name in ("world", "study", "document_set", "status")}
    estimate = measure(ratings)
    assert np.isnan(estimate.value)
    assert estimate.n == 0
