"""Pool the metric's errors over pairs of systems: who is told what, and by how much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.analysis import decisions
from simlab.analysis.preference import posterior_summary, win_decisions, win_posterior
from simlab.analysis.preferences.posterior import priors
from simlab.rng import stream
from simlab.types import Evidence, InputError

HERE = Path(__file__).parents[1]
REFERENCES: list[dict[str, Any]] = json.loads((HERE / "oracles/win_posteriors.json").read_text())
IDEAL = np.array([[0.80, 0.25, 0.10], [0.10, 0.50, 0.10], [0.10, 0.25, 0.80]])
BAYES: dict[str, Any] = {
    "level": 0.05,
    "two_outcomes": False,
    "rater": None,
    "mu": None,
    "sharing": "own",
    "posterior": "quadrature",
}


def confusions(pairs: int, human: int, concentration: float | None = None, name: str = "pooled") -> np.ndarray:
    """Draw confusion counts of pairs whose matrices are the ideal one, or spread about it."""
    rng = stream(3, name, pairs, human)
    found = np.zeros((pairs, 3, 3), int)
    for k in range(pairs):
        mu = IDEAL
        if concentration is not None:
            mu = np.stack([rng.dirichlet(concentration * IDEAL[:, c]) for c in range(3)], axis=1)
        found[k] = rng.multinomial(human, (mu * rng.dirichlet([8, 4, 8])).ravel()).reshape(3, 3)
    return found


def test_pairs_alone_and_matrices_of_their_own_are_told_nothing() -> None:
    counts = confusions(6, 20)
    np.testing.assert_array_equal(priors(counts, 6, "own", two_outcomes=False), 1)
    for sharing in ("joint", "partial"):
        np.testing.assert_array_equal(priors(counts, 1, sharing, two_outcomes=False), 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("sharing", ["joint", "partial"])
def test_who_comes_first_is_a_matter_of_names(sharing: Any) -> None:
    counts = confusions(6, 20)
    plain = priors(counts, 6, sharing, two_outcomes=False)
    turned = counts.copy()
    turned[[1, 4]] = turned[[1, 4], ::-1, ::-1]
    np.testing.assert_allclose(priors(turned, 6, sharing, two_outcomes=False), plain)
    np.testing.assert_allclose(plain, plain[:, ::-1, ::-1])
    others = [k for k in range(6) if k != 2]
    more = counts.copy()
    more[2] *= 2
    again = priors(more, 6, sharing, two_outcomes=False)
    np.testing.assert_allclose(again[2], plain[2], rtol=0.3)  # a pair tells itself nothing new of the others
    assert (np.abs(again[others] - plain[others]) > 1e-6).any()


def test_pairs_that_are_alike_say_more_about_each_other() -> None:
    worth = {}
    for concentration in (None, 30.0, 3.0):
        found = [
            priors(confusions(15, 100, concentration, f"{at}"), 15, "partial", two_outcomes=False) for at in range(4)
        ]
        worth[concentration] = float(np.median(np.stack(found).sum(2)[..., [0, 2]]))
    assert worth[None] > 100
    assert 15 < worth[30.0] < 60
    assert 1.5 < worth[3.0] < 6
    found = priors(confusions(15, 100), 15, "partial", two_outcomes=False)
    np.testing.assert_allclose((found / found.sum(1, keepdims=True)).mean(0), IDEAL, atol=0.05)


def test_a_campaign_is_told_nothing_of_another() -> None:
    one, other = confusions(6, 20), confusions(6, 30, 10.0, "other")
    both = priors(np.concatenate([one, other]), 6, "partial", two_outcomes=False)
    np.testing.assert_allclose(both[:6], priors(one, 6, "partial", two_outcomes=False))
    np.testing.assert_allclose(both[6:], priors(other, 6, "partial", two_outcomes=False))


def test_a_metric_that_cannot_draw_has_no_row_for_it() -> None:
    counts = confusions(6, 40)
    counts[:, 1] = 0
    found = priors(counts, 6, "partial", two_outcomes=True)
    np.testing.assert_array_equal(found[:, 1], 1)
    assert (found[:, [0, 2]] != 1).all()


@pytest.mark.parametrize("regime", ["elsewhere", "paired", "draw-free", "rater noise"])
def test_pseudo_counts_are_counts_from_elsewhere(regime: str) -> None:
    """References are long NUTS runs and grids of another model with the same posterior."""
    cases = [case for case in REFERENCES if case["regime"] == regime][:3]
    for case in cases:
        elsewhere = "calibration" in case
        confusion = np.zeros((3, 3)) if elsewhere else np.array(case["confusion"])
        prior = np.array(case["confusion"]) + 1.0 if elsewhere else np.ones((3, 3))
        found = win_posterior(case["human"], confusion, case["metric"], prior=prior, rater=case.get("rater"))
        reference = case["reference"]
        assert abs(found.theta - reference["theta"]) <= 4 * np.hypot(found.error, reference["error"])
        assert found.ess >= 1000
    wrong = win_posterior(
        case["human"], confusion, case["metric"], prior=1 + 300 * IDEAL[::-1], rater=case.get("rater")
    )
    assert abs(wrong.theta - reference["theta"]) > 0.05


def test_a_pair_has_the_same_bits_in_any_company() -> None:
    counts = confusions(40, 30)
    metric = 10 * counts.sum(2)
    prior = priors(counts, 40, "partial", two_outcomes=False)
    for known in ({"prior": prior}, {"mu": np.broadcast_to(IDEAL, (40, 3, 3))}, {"prior": prior, "rater": IDEAL}):
        together = win_decisions(counts.sum(1), counts, metric, level=0.05, **known)  # type: ignore[arg-type]
        alone = {name: array[7:8] if array.ndim == 3 else array for name, array in known.items()}
        one = win_decisions(counts[7:8].sum(1), counts[7:8], metric[7:8], level=0.05, **alone)  # type: ignore[arg-type]
        for mine, theirs in zip(one, together, strict=True):
            np.testing.assert_array_equal(mine[0], theirs[7])


def test_known_errors_of_raters_and_metric_are_used_together() -> None:
    """With a perfect metric that is known, what raters say of the same outputs adds nothing."""
    confusion = np.array([[9, 1, 2], [1, 6, 2], [1, 1, 8]])
    sure = win_posterior(confusion.sum(0), confusion, [0, 0, 0], mu=np.eye(3), rater=IDEAL)
    assert sure.theta == pytest.approx(float(win_posterior(confusion.sum(1)).theta), abs=1e-6)
    unsure = win_posterior(confusion.sum(0), confusion, [0, 0, 0], rater=IDEAL)
    assert abs(unsure.theta - sure.theta) > 0.005


def evidence(pairs: int, campaigns: int) -> Evidence:
    """Follow pairs through three looks of 15 ratings each."""
    steps = np.stack([confusions(pairs * campaigns, 15, None, f"step {k}") for k in range(3)], axis=1)
    confusion = np.concatenate([np.zeros_like(steps[:, :1]), np.cumsum(steps, axis=1)], axis=1)
    metric = 40 * steps.sum((1, 3))[:, None] + np.zeros((1, 4, 1), int)
    return Evidence(np.array([0, 15, 30, 45]), confusion.sum(2), confusion, metric, campaigns)


def test_campaigns_are_decided_each_by_itself_and_what_was_decided_stands() -> None:
    both = evidence(6, 2)
    said = decisions.bayes(both, **{**BAYES, "sharing": "partial"})
    assert said.joint
    first = Evidence(both.annotations, both.human[:6], both.confusion[:6], both.metric[:6])
    alone = decisions.bayes(first, **{**BAYES, "sharing": "partial"})
    np.testing.assert_array_equal(alone.verdict, said.verdict[:6])
    np.testing.assert_array_equal(alone.theta, said.theta[:6])
    decided = said.verdict[:, :-1] != 0
    assert decided.any()
    np.testing.assert_array_equal(said.verdict[:, 1:][decided], said.verdict[:, :-1][decided])
    summary = said.summarise(both.human[:, -1], both.confusion[:, -1], both.metric[:, -1])
    np.testing.assert_allclose(summary.mean.sum(1), 1, atol=1e-6)
    assert ((summary.low < summary.mean) & (summary.mean < summary.high)).all()
    alone = posterior_summary(both.human[:, -1], both.confusion[:, -1], 0 * both.metric[:, -1])
    assert ((summary.high - summary.low) < (alone.high - alone.low)).mean() > 0.9


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"mu": IDEAL.T.tolist()}, "decision.mu: column 2"),
        ({"mu": IDEAL.tolist(), "sharing": "joint"}, "choose one"),
        ({"mu": IDEAL.tolist(), "two_outcomes": True}, "this metric draws"),
        ({"mu": [[0.6, 0.5, 0.4], [0, 0, 0], [0.4, 0.5, 0.6]]}, "row = is 0, and the metric says ="),
        ({"sharing": "partial", "rater": IDEAL.tolist()}, "from raters who do not"),
    ],
)
def test_what_cannot_be_is_one_line(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        decisions.bayes(evidence(3, 1), **{**BAYES, **keys})
    assert "\n" not in str(caught.value)


def test_a_metric_that_corrects_knows_no_documents() -> None:
    with pytest.raises(InputError, match="choose one"):
        decisions.group_sequential(
            evidence(3, 1), level=0.05, spending="pocock", unit="document", multiplicity="none", metric="correct"
        )
