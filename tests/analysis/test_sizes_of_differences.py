"""Metrics that tell sizes of differences apart: what each size is worth is learned, and few outputs mislead nobody."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simlab.analysis.decisions import bayes, group_sequential, naive
from simlab.analysis.preferences.posterior import posterior_summary, priors, win_decisions, win_posterior
from simlab.analysis.preferences.sequential import betting_evidence, corrected_statistic
from simlab.concluding.preferences import plan_rule
from simlab.design.protocol import follow, gather, make_places
from simlab.studies.preferences.collecting import _check_test_set
from simlab.studies.preferences.preparing import read_bins
from simlab.types import Evidence, ImpossibleValue, InputError, TestSet

HUMAN = np.array([5, 2, 3])
CONFUSION = np.array([[3, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 1]])
METRIC = np.array([6, 4, 1, 3, 1])
RECORDED = {"_target_": "simlab.world.recorded_metrics.recorded", "bins": 2}
BAYES: dict[str, Any] = {"level": 0.05, "rater": None, "mu": None, "sharing": "own", "posterior": "quadrature"}


def outputs(rows: int, n: int, *, rho: float = 0.0, lead: float = 0.0, bins: int = 2, seed: int = 1) -> TestSet:
    """Draw n outputs that both rate and 500 that the metric does; its differences follow the humans' by `rho`."""
    rng = np.random.default_rng(seed)
    true = lead + rng.normal(size=(rows, n + 500))
    score = rho * true + np.sqrt(1 - rho**2) * rng.normal(size=true.shape)
    human = np.where(np.abs(true) <= 0.4, 1, np.where(true > 0, 0, 2))[:, :n]
    edges = np.quantile(np.abs(score), np.arange(1, bins) / bins)
    size = 1 + np.searchsorted(edges, np.abs(score))
    return TestSet(human, bins - np.sign(score).astype(int) * size)


def evidence(test_set: TestSet, looks: list[int], bins: int) -> Evidence:
    rows, n = test_set.human.shape
    assert test_set.metric is not None
    places = make_places(np.arange(n), None, test_set.metric.shape[1])
    return gather(test_set, np.tile(np.arange(n), (rows, 1)), np.array([0, *looks]), places, bins)


def test_theta_is_that_of_weighted_draws_of_the_model() -> None:
    """Draw p and the columns of mu from what humans said, and weigh by what the metric alone said."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet(HUMAN + 1, 150_000)
    mu = np.stack([rng.dirichlet(CONFUSION[:, k] + 1, len(p)) for k in range(3)], axis=2)
    log_w = (METRIC * np.log((mu * p[:, None]).sum(2))).sum(1)
    w = np.exp(log_w - log_w.max())
    theta = (w * (p[:, 0] > p[:, 2])).sum() / w.sum()
    ours = win_posterior(HUMAN, CONFUSION, METRIC)
    assert abs(ours.theta - theta) < 0.01
    np.testing.assert_allclose(ours.mean, w @ p / w.sum(), atol=0.005)
    bounds = posterior_summary(HUMAN[None], CONFUSION[None], METRIC[None])
    np.testing.assert_allclose(bounds.mean[0], ours.mean, atol=0.02)
    swapped = win_posterior(HUMAN, CONFUSION[::-1], METRIC)
    assert abs(swapped.theta - theta) > 0.03  # which size is which does matter


def test_sizes_that_tell_something_narrow_the_posterior_and_those_that_do_not_hardly_move_it() -> None:
    half = np.array([[40, 4, 4], [22, 6, 22], [0, 0, 0], [22, 6, 22], [4, 4, 40]])
    alike = np.array([[31, 5, 13], [31, 5, 13], [0, 0, 0], [13, 5, 31], [13, 5, 31]])
    said = np.array([700, 500, 0, 500, 700])
    for confusion, narrower in ((half, True), (alike, False)):
        merged = np.stack([confusion[:2].sum(0), confusion[2], confusion[3:].sum(0)])
        human = confusion.sum(0)
        by_sign = win_posterior(human, merged, [1200, 0, 1200], two_outcomes=True)
        by_size = win_posterior(human, confusion, said, two_outcomes=True)
        assert (by_size.sd[0] < 0.95 * by_sign.sd[0]) == narrower
        assert abs(by_size.mean[0] - by_sign.mean[0]) < 0.01


def test_few_outputs_that_both_rated_do_not_make_claims() -> None:
    """Humans find two systems equal, and the metric knows nothing: four rows are learned from ten outputs."""
    n = 10
    of = evidence(outputs(50, n), [n], 2)
    *_, verdict = win_decisions(of.human[:, 1], of.confusion[:, 1], of.metric[:, 1], level=0.05, two_outcomes=True)
    assert (verdict != 0).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 50)
    # What is believed without any shrinkage, each row by the shares that were seen in it:
    of = evidence(outputs(1000, n), [n], 2)
    seen = of.confusion[:, 1].sum(2)
    share = of.confusion[:, 1] / np.maximum(seen, 1)[:, :, None]
    weight = (of.metric[:, 1] + seen) / (n + 500)
    d = (weight * (share[..., 0] - share[..., 2])).sum(1)
    left = share[..., 0] + share[..., 2] - (share[..., 0] - share[..., 2]) ** 2
    error = np.sqrt((weight**2 * left / np.maximum(seen, 1)).sum(1))
    assert (np.abs(d) > 1.96 * error).mean() > 0.1


def test_pairs_help_each_other_with_sizes_too() -> None:
    of = evidence(outputs(4, 40, rho=0.8), [40], 2)
    joint = priors(of.confusion[:, 1], 4, "joint", two_outcomes=True)
    assert joint.shape == (4, 5, 3)
    np.testing.assert_array_equal(joint[0, :, 0], joint[0, ::-1, 2])  # mirrored: no system is favoured
    verdicts = bayes(of, two_outcomes=True, **{**BAYES, "sharing": "partial"})
    assert np.isfinite(verdicts.theta[:, 1]).all()


def test_a_correction_counts_sizes_and_keeps_the_level() -> None:
    """A corrected z is surer where sizes follow humans, and claims equal systems no oftener than it should."""
    sure = {}
    for bins in (1, 3):
        ahead = evidence(outputs(800, 40, rho=0.9, lead=0.3, bins=bins), [40], bins)
        sure[bins] = corrected_statistic(ahead)[:, 1].mean()
        for rho in (0.0, 0.9):
            equal = evidence(outputs(800, 40, rho=rho, bins=bins), [20, 40], bins)
            wrong = group_sequential(
                equal, level=0.05, spending="pocock", unit="output", multiplicity="none", metric="correct"
            )
            assert (wrong.verdict[:, -1] != 0).mean() <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 800)
            bets = betting_evidence(equal)[:, -1]
            assert (bets > np.log(20)).mean() <= 0.05
    assert sure[3] > 1.04 * sure[1]


def test_what_is_followed_output_by_output_are_shares_of_a_preference() -> None:
    said = np.array([[0, 1, 2, 3, 4, -1]])
    trail = follow(np.array([[0, 2]]), np.array([[1, 4]]), said, make_places(np.arange(5), None, 6), 2)
    assert trail.metric is not None
    assert trail.rest is not None
    assert (trail.metric.tolist(), trail.rest.tolist(), trail.metric_total.tolist()) == ([[0.5, -1]], [[0]], [0.0])


def test_sizes_are_merged_where_the_metric_is_taken_at_its_word() -> None:
    of = {bins: evidence(outputs(5, 20, rho=0.5, lead=0.2, bins=bins), [20], bins) for bins in (1, 3)}
    by_sign, by_size = (naive(of[bins], level=0.05, form="exact") for bins in (1, 3))
    np.testing.assert_array_equal(by_sign.verdict, by_size.verdict)
    parts = ((one.human[:, 1], one.confusion[:, 1], one.metric[:, 1]) for one in of.values())
    first, second = (one.summarise(*part) for one, part in zip((by_sign, by_size), parts, strict=True))
    np.testing.assert_array_equal(first.mean, second.mean)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"mu": [[0.8, 0.2, 0.1], [0.1, 0.6, 0.1], [0.1, 0.2, 0.8]]}, "decision.mu knows no sizes"),
        ({"posterior": "nuts"}, "decision.posterior=nuts knows no sizes"),
    ],
)
def test_what_knows_no_sizes_is_refused(keys: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        bayes(evidence(outputs(2, 10), [10], 2), two_outcomes=False, **{**BAYES, **keys})


def test_a_table_of_comparisons_has_no_sizes() -> None:
    table: Any = SimpleNamespace(metrics={"judge": None})
    with pytest.raises(InputError, match=r"plan with metric.bins=1"):
        plan_rule._metric(table, 4, {"metric": RECORDED}, "votes.csv")


def test_a_plug_ins_own_key_of_that_name_is_no_number_of_sizes() -> None:
    assert read_bins({"metric": RECORDED}) == 2
    assert read_bins({"metric": {"_target_": "mine.metrics.binned", "bins": 10}}) == 1
    assert read_bins({"metric": {}}) == 1


def test_sizes_that_a_study_does_not_count_are_no_comparisons() -> None:
    """A law of somebody else's may tell sizes apart in a study whose rule counts three outcomes: all would be wins."""
    drawn = outputs(2, 10)
    assert _check_test_set(drawn, 2) is drawn
    with pytest.raises(ImpossibleValue, match="the metric compare outputs otherwise"):
        _check_test_set(drawn, 1)
