"""Make what both simlab and packages of others are asked about; each seed gives other numbers, always the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.analysis.preferences.consensus import RepeatedAnswers
from simlab.analysis.preferences.votes import Votes
from simlab.types import Floats, Ints


class Metric(NamedTuple):
    """Hold judgements `y[n]`, a metric `g[n]` of the same outputs, and of `more[N]` that nobody judged."""

    y: Floats
    g: Floats
    more: Floats


def judged(seed: int, n: int = 40, rest: int = 160) -> Metric:
    """Draw outputs whose metric helps, but is no copy: the tuned coefficient lies well within 0 and 1."""
    rng = np.random.default_rng([seed, 1])
    quality = rng.normal(3.0, 1.0, n + rest)
    g = quality + rng.normal(0.0, 0.8, n + rest)
    return Metric(quality[:n] + rng.normal(0.0, 0.6, n), g[:n], g[n:])


def skewed(seed: int, n: int = 30) -> Floats:
    """Draw scores most of which are small: percentiles and bootstrap-t differ."""
    return np.random.default_rng([seed, 2]).gamma(0.8, 2.0, n)


def paired(seed: int, n: int = 25) -> Floats:
    """Draw scores `[system, output]` of two systems on the same inputs."""
    rng = np.random.default_rng([seed, 3])
    return rng.normal(2.0, 1.0, n) + rng.normal([[0.0], [0.3]], [[0.5], [0.9]], (2, n))


def shares(seed: int) -> tuple[Ints, Ints]:
    """Draw counts and sizes; among them none, all, and one of one."""
    rng = np.random.default_rng([seed, 4])
    n = np.concatenate([rng.integers(2, 300, 20), [20, 20, 1]])
    return np.concatenate([rng.binomial(n[:20], rng.random(20)), [0, 20, 1]]), n


def outcomes(seed: int) -> Ints:
    """Draw wins, ties and losses of pairs, `[pair, 3]`; one pair was never decided."""
    rng = np.random.default_rng([seed, 5])
    return np.concatenate([rng.integers(0, 40, (15, 3)), [[0, 7, 0], [5, 0, 0]]])


def p_values(seed: int) -> Floats:
    """Draw p-values, some of them equal and some at 1."""
    rng = np.random.default_rng([seed, 6])
    return np.concatenate([rng.random(12) ** 3, [0.02, 0.02, 1.0, 1.0]])


def clustered(seed: int) -> tuple[Floats, Floats, Ints]:
    """Draw x, y and their clusters, which are of unequal sizes and alike within."""
    rng = np.random.default_rng([seed, 7])
    cluster = np.repeat(np.arange(12), rng.integers(1, 9, 12))
    x = rng.normal(size=len(cluster)) + rng.normal(size=12)[cluster]
    return x, 0.7 * x + rng.normal(size=len(cluster)) + rng.normal(size=12)[cluster], cluster


def documents(seed: int, n: int = 9, size: int = 4) -> Floats:
    """Draw scores `[document, segment]` that are alike within documents."""
    rng = np.random.default_rng([seed, 8])
    return rng.normal(size=(n, 1)) + rng.normal(size=(n, size))


def repeated(seed: int, n: int = 30, k: int = 3) -> Floats:
    """Draw ratings `[output, rater]` by raters who differ in leniency."""
    rng = np.random.default_rng([seed, 9])
    return 2 * rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=k) + rng.normal(size=(n, k))


def crossed(seed: int, shape: tuple[int, int, int] = (6, 12, 5)) -> Floats:
    """Draw scores `[system, document, rater]` in which every effect is at work."""
    rng = np.random.default_rng([seed, 10])
    a, b, c = shape
    alone = [(2.0, (a, 1, 1)), (1.5, (1, b, 1)), (1.0, (1, 1, c))]
    together = [(1.0, (a, b, 1)), (0.9, (a, 1, c)), (0.9, (1, b, c)), (0.7, shape)]
    return np.asarray(sum(sd * rng.normal(size=size) for sd, size in alone + together))


def side_by_side(seed: int, raters: int = 6, each: int = 5) -> Floats:
    """Draw scores `[rater, document, system]` of two systems; each rater has documents of their own."""
    rng = np.random.default_rng([seed, 11])
    liking = 0.4 * rng.normal(size=(raters, 1, 2))
    return liking + rng.normal(size=(raters, each, 1)) + rng.normal(size=(raters, each, 2)) + np.array([0.0, 0.5])


def totals(seed: int, n: int = 9) -> Floats:
    """Draw scores `[document, system]` of three systems on documents few enough that all swaps can be listed."""
    rng = np.random.default_rng([seed, 12])
    return rng.normal(size=(n, 1)) + rng.normal([0.0, 0.4, 1.0], 1.0, (n, 3))


def studies(seed: int) -> tuple[Floats, Floats]:
    """Draw values and their standard errors; values differ beyond chance."""
    rng = np.random.default_rng([seed, 13])
    error = rng.uniform(0.1, 0.5, 9)
    return rng.normal(0.0, 0.6, 9) + error * rng.normal(size=9), error


def votes(seed: int, *, ties: bool, n: int = 600, systems: int = 5) -> Votes:
    """Draw votes of 20 raters on pairs of systems, with unequal loads, or without ties."""
    rng = np.random.default_rng([seed, 14])
    first, second = np.triu_indices(systems, 1)
    strength, pair = rng.normal(0.0, 0.8, systems), rng.integers(0, len(first), n)
    apart = strength[first] - strength[second]
    won = rng.random(n) < 1 / (1 + np.exp(-apart[pair]))
    value = np.where(won, 1, -1)
    value[rng.random(n) < (0.2 if ties else 0.0)] = 0
    rater = np.minimum(rng.geometric(0.15, n) - 1, 19)
    return Votes(pair, value, rater, np.arange(n), systems)


def scored(seed: int) -> tuple[Floats, Floats]:
    """Draw two lists of scores in steps, so that many are tied."""
    rng = np.random.default_rng([seed, 15])
    x = rng.normal(size=40)
    return np.round(2 * x), np.round(2 * (x + rng.normal(size=40)))


def repeated_answers(seed: int, n: int = 400) -> RepeatedAnswers:
    """Draw five answers about each item of a pair, by ten raters of whom three answer at random."""
    rng = np.random.default_rng([seed, 16])
    true = rng.choice(3, n, p=[0.6, 0.1, 0.3])
    matrix = np.array([[0.8, 0.12, 0.08], [0.15, 0.7, 0.15], [0.08, 0.12, 0.8]])
    own = np.stack([np.full((3, 3), 1 / 3) if rater < 3 else matrix for rater in range(10)])
    item = np.repeat(np.arange(n), 5)
    rater = np.concatenate([rng.permutation(10)[:5] for _ in range(n)])
    said = (own[rater, true[item]].cumsum(1) < rng.random((len(item), 1))).sum(1).clip(0, 2)
    return RepeatedAnswers(said, item, rater, np.zeros(n, int), 3)
