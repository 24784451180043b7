"""Errors of raters are learned from repeated answers; the shares of a majority hold them."""

from __future__ import annotations

import numpy as np
import pytest
from consensus_worlds import WORLDS, made, majority

from simlab.analysis.preferences.consensus import ConsensusChains, RepeatedAnswers


def draw_easy(seed: int, **size: int) -> tuple[RepeatedAnswers, np.ndarray]:
    return made(np.random.default_rng(seed), "easy", **size)


def test_shares_are_learned_and_those_of_a_majority_are_off() -> None:
    answers, true = draw_easy(1, items=300)
    chains = ConsensusChains(np.random.default_rng(2), answers, 2)
    chains.draw(100)
    drawn = chains.draw(150)
    low, high = np.quantile(drawn.shares, [0.005, 0.995], axis=(0, 1))
    assert ((low <= true) & (true <= high)).all()
    assert (high - low < 0.4).all()
    assert np.abs(drawn.common.mean((0, 1))[0, 0] - 0.82) < 0.1


def test_a_rater_at_random_is_found() -> None:
    answers, _ = made(np.random.default_rng(3), "3 of 10 at random", items=100)
    chains = ConsensusChains(np.random.default_rng(4), answers, 2)
    chains.draw(100)
    agree = chains.draw(150).agree.mean((0, 1))
    assert set(np.argsort(agree)[:3]) == {0, 1, 2}


def test_matrices_and_shares_are_those_of_the_systems_turned_round() -> None:
    answers, _ = draw_easy(5)
    shares = ConsensusChains(np.random.default_rng(6), answers, 2).draw(20)
    assert np.allclose(shares.common, shares.common[..., ::-1, ::-1])
    assert np.allclose(shares.confusion.sum(-1), 1)
    assert (shares.common.argmax(-1) == np.arange(3)).all()
    right, on_hard = (np.diagonal(of, axis1=-2, axis2=-1) for of in (shares.common, shares.guess))
    assert (on_hard[:, 1:] <= right[:, 1:] + 1e-12).all()


def test_answers_that_are_always_alike_are_the_consensus() -> None:
    pair = np.repeat([0, 1], 40)
    true = np.where(np.arange(80) % 4 == 0, 1, 0)
    item = np.repeat(np.arange(80), 3)
    answers = RepeatedAnswers(true[item], item, np.tile([0, 1, 2], 80), pair, 2)
    chains = ConsensusChains(np.random.default_rng(7), answers, 2)
    chains.draw(100)
    shares = chains.draw(200).shares.mean((0, 1))
    # Beta(1 + 30, 1 + 10), whatever the raters' matrices are.
    assert shares[:, 0] == pytest.approx(31 / 42, abs=0.02)


def test_a_majority_is_off_where_ties_are_few_and_raters_err() -> None:
    """Hold the control: the truth lies outside what the majority's shares would have as their interval."""
    answers, true = made(np.random.default_rng(8), "uneven", items=400)
    usual = majority(answers)
    half = 1.96 * np.sqrt(usual * (1 - usual) / 400)
    assert (np.abs(usual - true) > half).mean() > 0.3
    chains = ConsensusChains(np.random.default_rng(9), answers, 2)
    chains.draw(150)
    low, high = np.quantile(chains.draw(200).shares, [0.005, 0.995], axis=(0, 1))
    assert ((low <= true) & (true <= high)).mean() > 0.8


@pytest.mark.parametrize("world", WORLDS)
def test_every_world_is_a_table(world: str) -> None:
    answers, shares = made(np.random.default_rng(0), world, items=20)
    assert answers.label.max() < answers.n_classes == shares.shape[1]
    assert np.isfinite(ConsensusChains(np.random.default_rng(1), answers, 2).draw(3).shares).all()
