"""Sum up how designs that were named from pilots did, rule by rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt

import numpy as np

from simlab.answers.backtest import ADVICE, BEST, JudgedCandidate, RuleName, RuleResult
from simlab.fitting.backtest.advising import CONFIRMED, THUMBS


def summarize_rules(candidates: Sequence[JudgedCandidate]) -> tuple[RuleResult, ...]:
    """Sum up the advice, the rules of thumb that the table allows, and the best, known afterwards only."""
    rules = (ADVICE, *THUMBS, BEST)
    found = {rule: [one for one in candidates if rule in one.rules] for rule in rules}
    best = {one.split: one.significant_share for one in found[BEST]}
    return tuple(_result(rule, own, best) for rule, own in found.items() if own)


def _result(rule: RuleName, own: Sequence[JudgedCandidate], best: Mapping[int, float]) -> RuleResult:
    share, share_error = _mean([one.significant_share for one in own])
    shortfall, shortfall_error = _mean([max(best[one.split] - one.significant_share, 0.0) for one in own])
    confirmed = np.array([one.confirmed for one in own])
    known = confirmed[np.isfinite(confirmed)]
    return RuleResult(
        rule=rule,
        splits=len(own),
        named=tuple(Counter(one.shape for one in own).most_common()),
        significant_share=share,
        significant_share_mcse=share_error,
        confirmed=float(known.mean()) if len(known) else float("nan"),
        kept=int((known >= CONFIRMED).sum()),
        shortfall=shortfall,
        shortfall_mcse=shortfall_error,
    )


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its standard error; NaN from one value, which has none."""
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(n)) if n > 1 else float("nan")
