"""Simulate how often intervals of consensus shares hold the truth.

`PYTHONPATH=. python -m tests.statistics.promises.consensus_promises TABLES [WORLD ...]` prints a line for each world:
coverage of 95 % intervals of shares (with its error over tables) and of differences, the same of intervals around the
majority's shares, the mean width, and the share of tables that are refused since chains do not agree.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.consensus import ConsensusChains
from simlab.effort import ChainEffort
from simlab.fitting.preferences.fitting import rhat
from tests.consensus_worlds import WORLDS, made, majority

EFFORT = ChainEffort(2, 200, 400, 3)


class Coverage(NamedTuple):
    covered: float
    mcse: float
    difference: float
    by_majority: float
    width: float
    refused: float


def coverage(world: str, tables: int, effort: ChainEffort = EFFORT, **size: int) -> Coverage:
    rows = []
    for table in range(tables):
        rng = np.random.default_rng([table, WORLDS.index(world)])
        answers, true = made(rng, world, **size)
        chains = ConsensusChains(rng, answers, effort.chains)
        chains.draw(effort.warmup)
        for repetition in range(effort.rounds):
            shares = chains.draw(effort.kept * 2**repetition).shares
            ends = [shares[..., pair, of].T for pair in range(answers.n_pairs) for of in (0, -1)]
            r_hat = max(map(rhat, ends))
            if r_hat < 1.1:
                break
        low, high = np.quantile(shares, [0.025, 0.975], axis=(0, 1))
        of = shares[..., 0] - shares[..., -1]
        least, most = np.quantile(of, [0.025, 0.975], axis=(0, 1))
        step = true[:, 0] - true[:, -1]
        usual = majority(answers)
        half = 1.96 * np.sqrt(usual * (1 - usual) / np.bincount(answers.pair)[:, None])
        rows.append(
            (
                ((low <= true) & (true <= high)).mean(),
                ((least <= step) & (step <= most)).mean(),
                (np.abs(usual - true) <= half).mean(),
                (high - low).mean(),
                float(r_hat >= 1.1),
            )
        )
    of_table = np.array(rows)
    covered, difference, by_majority, width, refused = of_table.mean(0)
    mcse = of_table[:, 0].std(ddof=1) / np.sqrt(tables)
    return Coverage(covered, mcse, difference, by_majority, width, refused)


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for world in sys.argv[2:] or WORLDS:
        found = coverage(world, n)
        print(world, n, *(f"{name} {value:.3f}" for name, value in found._asdict().items()), sep=" | ", flush=True)
