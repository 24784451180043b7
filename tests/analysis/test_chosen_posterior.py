"""The posterior integrated or sampled, as `posterior` says: in a decision, a calculation and `simlab detect`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simlab.analysis import chains
from simlab.analysis.calculations import measurable_difference
from simlab.analysis.decisions import bayes
from simlab.effort import ChainEffort
from simlab.types import Evidence, InputError

WAYS: dict[str, Any] = {"level": 0.05, "two_outcomes": False, "rater": None, "mu": None, "sharing": "own"}
SETTING: dict[str, Any] = {
    "n_human": 50,
    "n_metric": 400,
    "rho": 0.8,
    "eta": 0.7,
    "accuracy": None,
    "alpha": 0.6,
    "n_calibration": 60,
    "level": 0.05,
    "constrain": False,
    "power": 0.8,
}
THERE = ("measurable_difference",)


def _evidence() -> Evidence:
    """Hold two pairs at two looks: one with a clear winner, one without."""
    confusion = np.array([[[12, 1, 2], [1, 2, 1], [1, 1, 9]], [[6, 1, 3], [1, 1, 1], [3, 1, 6]]])
    both = np.stack([np.zeros_like(confusion), confusion], axis=1)
    human = np.stack([np.zeros((2, 3), int), np.array([[40, 4, 12], [12, 3, 11]])], axis=1)
    metric = np.stack([np.array([[250, 30, 120], [180, 40, 180]])] * 2, axis=1)
    return Evidence(np.array([0, 60]), human, both, metric, 1)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"sharing": "joint"}, "decision.sharing=joint; take decision.posterior=quadrature"),
        ({"rater": [[0.9, 0.1, 0.05], [0.05, 0.8, 0.05], [0.05, 0.1, 0.9]]}, "does not know decision.rater"),
    ],
)
def test_what_the_published_model_does_not_know_is_refused(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        bayes(_evidence(), **WAYS | keys, posterior="nuts")


@pytest.mark.parametrize(
    ("wanted", "keys"),
    [(("joint_difference",), {}), (THERE, {"counts": "drawn"}), ((*THERE, "measurable_difference_q05"), {})],
)
def test_other_calculations_are_not_sampled(wanted: tuple[str, ...], keys: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="posterior=nuts samples the measurable_difference of expected counts only"):
        measurable_difference({}, wanted, **SETTING | keys, posterior="nuts")


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "SHORT", ChainEffort(2, 200, 400))


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_a_decision_by_sampling_is_that_by_integration() -> None:
    sampled, exact = (bayes(_evidence(), **WAYS, posterior=way) for way in ("nuts", "quadrature"))
    assert sampled.verdict[:, 1].tolist() == exact.verdict[:, 1].tolist() == [1, 0]
    counts = [array[:, 1] for array in (_evidence().human, _evidence().confusion, _evidence().metric)]
    said, known = sampled.summarise(*counts), exact.summarise(*counts)
    assert said.r_hat is not None
    assert said.ess is not None
    assert known.r_hat is None
    assert (said.r_hat < chains.AGREE).all()
    assert (said.ess > 50).all()
    off = np.abs(sampled.theta[:, 1] - exact.theta[:, 1])
    spread = np.sqrt(np.maximum(exact.theta[:, 1] * (1 - exact.theta[:, 1]), 1 / said.ess) / said.ess)
    assert (off < 4 * spread + 0.003).all()
    sd = (known.high - known.low) / 3.92
    assert (np.abs(said.mean - known.mean) < 5 * sd / np.sqrt(said.ess)[:, None]).all()
    # Draws of a row do not depend on the rows beside it.
    assert np.array_equal(sampled.summarise(*(one[1:] for one in counts)).mean[0], said.mean[1])


@pytest.mark.slow
@pytest.mark.usefixtures("few_draws")
def test_of_chains_that_disagree_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "AGREE", 0.5)
    verdicts = bayes(_evidence(), **WAYS, posterior="nuts")
    assert not verdicts.verdict.any()
    assert np.isnan(verdicts.theta).all()


@pytest.mark.slow
def test_a_sampled_difference_is_the_integrated_one() -> None:
    axes = {"n_human": [20, 200]}
    sampled, exact = (
        measurable_difference(axes, THERE, **SETTING, posterior=way)["measurable_difference"]
        for way in ("nuts", "quadrature")
    )
    # Of 4,000 draws, some 1,500 effective: an error of a standard deviation of 1 / sqrt(2 n), .018.
    assert (np.abs(sampled / exact - 1) < 5 * 0.018).all()
    assert not np.array_equal(sampled, exact)


@pytest.mark.slow
def test_chains_that_disagree_give_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    from simlab.analysis.adequacy import nuts

    monkeypatch.setattr(nuts, "AGREE", 0.5)
    with pytest.raises(InputError, match=r"the chains disagree about n_human=50, n_metric=400 \(R-hat 1"):
        measurable_difference({}, THERE, **SETTING, posterior="nuts")
