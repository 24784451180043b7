"""Sum up how designs that were named from pilots did, rule by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from simlab.fitting.backtest.advising import ADVICE, BEST, CONFIRMED, THUMBS, Advised


class Rule(NamedTuple):
    """Hold how a rule did: means over splits of what it named, `mcse` their standard errors, splits being the units.

    `named` counts the designs that it named, most frequent first, as (grouping, normalisation, documents, ratings per
    output). `kept` counts the splits in which enough of the claims of its design were confirmed.
    """

    rule: str
    splits: int
    named: tuple[tuple[tuple[str, str, int, int], int], ...]
    significant_share: float
    significant_share_mcse: float
    confirmed: float
    kept: int
    shortfall: float
    shortfall_mcse: float


def rules(rows: Sequence[Advised]) -> list[Rule]:
    """Sum up the advice, the rules of thumb that the table allows, and the best, known afterwards only."""
    found = {rule: [row for row in rows if rule in row.rules] for rule in (ADVICE, *THUMBS, BEST)}
    best = {row.split: row.significant_share for row in found[BEST]}
    return [_summed(rule, own, best) for rule, own in found.items() if own]


def _summed(rule: str, own: Sequence[Advised], best: dict[int, float]) -> Rule:
    named = Counter((row.grouping, row.normalization, row.documents, row.ratings_per_item) for row in own)
    share = _mean([row.significant_share for row in own])
    short = _mean([max(best[row.split] - row.significant_share, 0.0) for row in own])
    confirmed = np.array([row.confirmed for row in own])
    known = confirmed[np.isfinite(confirmed)]
    mean = float(known.mean()) if len(known) else float("nan")
    return Rule(rule, len(own), tuple(named.most_common()), *share, mean, int((known >= CONFIRMED).sum()), *short)


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its standard error; NaN from one value, which has none."""
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(n)) if n > 1 else float("nan")
