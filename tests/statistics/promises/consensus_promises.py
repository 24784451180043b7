"""Measure how often intervals of consensus shares hold the truth, in worlds of raters who err, and items that are hard.

Coverage counts tables that are answered; those whose chains do not agree are withdrawn. The majority's shares, with
errors of their own number of items, are the control: it does not get better with more items.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from consensus_worlds import WORLDS, made, majority
from promise_rows import Row, numbers

from simlab.concluding.preferences.consensus import CLOSE, draw_consensus
from simlab.effort import ChainEffort

EFFORT = ChainEffort(2, 200, 400, 3)
MANY = 200
"""Items of a pair where what a majority gets wrong is no longer hidden by its errors."""
LEAST, WIDEST, WITHDRAWN = 0.9, 0.5, 0.1


def consensus_shares(n: int, worlds: tuple[str, ...] = WORLDS, items: int = 40) -> Iterator[Row]:
    """Compare intervals of shares, and those around a majority's, with the truth of n tables of each world."""
    for world in worlds:
        setting = f"{world}: 2 pairs, {items} items each"
        of_table = np.array([_compare(seed, world, items) for seed in numbers(n)])
        answered = of_table[:, 3] == 0
        covered, by_majority, width = of_table[answered, :3].T
        mcse = of_table[answered, :3].std(0, ddof=1) / np.sqrt(answered.sum())
        count = int(answered.sum())
        yield Row("coverage of consensus shares", setting, LEAST, covered.mean(), mcse[0], count, "at least")
        yield Row("width with confusions learned", setting, WIDEST, width.mean(), mcse[2], count)
        withdrawn = 1 - answered.mean()
        error = float(np.sqrt(withdrawn * (1 - withdrawn) / n))
        yield Row("withdrawn, chains do not agree", setting, WITHDRAWN, float(withdrawn), error, n)
        if items >= MANY:
            yield Row(
                "coverage of majority's shares", setting, LEAST, by_majority.mean(), mcse[1], count, "control below"
            )


def _compare(seed: int, world: str, items: int) -> tuple[float, float, float, bool]:
    """Return shares covered by the consensus and by the majority, the mean width, and if chains do not agree."""
    rng = np.random.default_rng([seed, WORLDS.index(world)])
    answers, true = made(rng, world, items=items)
    drawn, r_hat = draw_consensus(rng, answers, EFFORT)
    low, high = np.quantile(drawn.shares, [0.025, 0.975], axis=(0, 1))
    usual = majority(answers)
    half = 1.96 * np.sqrt(usual * (1 - usual) / np.bincount(answers.pair)[:, None])
    covered, by_majority = (low <= true) & (true <= high), np.abs(usual - true) <= half
    return float(covered.mean()), float(by_majority.mean()), float((high - low).mean()), r_hat > CLOSE
