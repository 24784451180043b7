"""Carry out studies on tables of comparisons that share a design, all tables at once: verdicts, and what is repeated.

A study asks about some items; of comparisons of the same two outputs it has one. Two studies of a pair of studies share
no item: the one is repeated by the same raters on other items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from simlab.analysis.decisions import win_probability
from simlab.answers.backtest import Measure
from simlab.fitting.preferences.pilot import Pilot
from simlab.types import Array, Floats, Ints

LEVEL = 0.05


class Said(NamedTuple):
    """Hold what two studies say of pairs of systems: `verdict[table, study, pair]` and `direction`, +1, 0 or -1."""

    verdict: Floats
    direction: Floats


class Measured(NamedTuple):
    """Hold a measure of each table, and the error that so few pairs of studies leave in it; NaN is not known."""

    value: Floats
    error: Floats


def measured(
    rng: np.random.Generator, design: Pilot, outcome: Ints, n_items: int, repetitions: int
) -> Mapping[Measure, Measured]:
    """Carry out `repetitions` pairs of studies of `n_items` items each on `outcome[table, comparison]`; measure them.

    All tables are asked alike. Verdicts are those of `decision=human_only` with one look at level .05.
    """
    said = [_two_studies(rng, design, outcome, n_items) for _ in range(repetitions)]
    return {name: _ratio([measure(one) for one in said]) for name, measure in MEASURES.items()}


def _two_studies(rng: np.random.Generator, design: Pilot, outcome: Ints, n_items: int) -> Said:
    order = rng.permutation(design.n_items)
    once = _one_each(rng, design)
    tables = [_counts(design, outcome, once, items) for items in (order[:n_items], order[n_items : 2 * n_items])]
    counts = np.stack(tables, axis=1)
    theta = win_probability(counts)
    verdict = (theta > 1 - LEVEL / 2).astype(float) - (theta < LEVEL / 2)
    return Said(verdict, np.sign(counts[..., 0] - counts[..., 2]))


def _one_each(rng: np.random.Generator, design: Pilot) -> Ints:
    """Choose one comparison of each two outputs, at random."""
    order = rng.permutation(len(design.item))
    outputs = design.item * (design.n_systems**2) + design.pair
    return np.asarray(order[np.unique(outputs[order], return_index=True)[1]])


def _counts(design: Pilot, outcome: Ints, once: Ints, items: Ints) -> Array:
    """Count outcomes `[table, pair, outcome]` of the comparisons of some items."""
    wanted = np.zeros(design.n_items, bool)
    wanted[items] = True
    rows = once[wanted[design.item[once]]]
    n_pairs = design.n_systems * (design.n_systems - 1) // 2
    pairs = csr_matrix((np.ones(len(rows)), (design.pair[rows], np.arange(len(rows)))), shape=(n_pairs, len(rows)))
    said = outcome[:, rows].T
    return np.stack([(pairs @ (said == code).astype(float)).T for code in range(3)], axis=-1)


Ratio = tuple[Floats, Floats]
"""Numerator and denominator of a measure, `[table]`, of one pair of studies."""


def _significant_share(said: Said) -> Ratio:
    share = np.abs(said.verdict).mean((1, 2))
    return share, np.ones_like(share)


def _confirmed(said: Said) -> Ratio:
    again = said.verdict * said.direction[:, ::-1]
    return (again > 0).sum((1, 2)).astype(float), np.abs(said.verdict).sum((1, 2))


def _srp(said: Said) -> Ratio:
    again = said.verdict * said.direction[:, ::-1]
    stable = ((again > 0) | (said.verdict == 0)).all(2).mean(1)
    return stable, np.ones_like(stable)


def _kendall(said: Said) -> Ratio:
    untied = np.sqrt(np.abs(said.direction).sum(2).prod(1))
    tau = said.direction.prod(1).sum(1)
    return np.divide(tau, untied, out=np.zeros_like(tau), where=untied > 0), (untied > 0).astype(float)


MEASURES: Mapping[Measure, Callable[[Said], Ratio]] = {
    "significant_share": _significant_share,
    "confirmed": _confirmed,
    "srp": _srp,
    "kendall": _kendall,
}
"""As `simlab.measures.stability` defines them, between studies of the same raters on other items."""


def _ratio(parts: list[Ratio]) -> Measured:
    """Sum up pairs of studies: a ratio of means, and its standard error by influence values."""
    above, below = (np.array(of) for of in zip(*parts, strict=True))
    mean = below.mean(0)
    known = mean > 0
    value = np.divide(above.mean(0), mean, out=np.full(len(mean), np.nan), where=known)
    influence = np.divide(above - value * below, mean, out=np.full(above.shape, np.nan), where=known)
    return Measured(value, influence.std(0, ddof=1) / np.sqrt(len(parts)))


def sizes(n_items: int, fewest: int) -> Iterator[int]:
    """List how many items studies ask about: a sixth, a third and a half of those that there are."""
    seen = {max(fewest, n_items * part // 6) for part in (1, 2, 3)}
    yield from sorted(size for size in seen if 2 * size <= n_items)
