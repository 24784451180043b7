"""Measure the agreement of metrics about which trials pass: share of equal verdicts, and their correlation.

Call `metric_agreement` on `ScorePairs`, the scores of metrics; it returns a `MetricAgreement`. Verdicts are 0 and 1, so
that Pearson's correlation is phi. Errors take the trials of an original sentence as one cluster. Source: Boag et al.
2016, table 3 (pairwise correlation between the predictions of metrics), of which only the caption is at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from simlab.answers.mutt import ALL, EqualVerdicts, MetricAgreement
from simlab.metric_tests.pass_rates import near_ties, passes
from simlab.metric_tests.scoring import ScorePairs
from simlab.types import Bools, Floats, InputError, Ints


class TrialVerdicts(NamedTuple):
    """Verdicts of one metric, `[trial]`: passed, scored, near a tie, and the number of the trial's original."""

    passed: Bools
    scored: Bools
    near: Bools
    original: Ints


def metric_agreement(pairs: Sequence[ScorePairs], *, tolerance: float, near_tie: float = 0.0) -> MetricAgreement:
    """Return how far each two metrics agree, by number of references and corruption; `all` pools the corruptions.

    `tolerance` and `near_tie` decide which trials pass (`pass_rates.passes`).
    There is no correlation where a metric's verdict is the same for all trials, and no error where there is nothing
    that it could be estimated from.

    Raises InputError where a corruption has the name of all together.
    """
    if any(scores.trials.corruption == ALL for scores in pairs):
        raise InputError(f"a corruption is called {ALL}, as all of them together are here; call it otherwise")
    rows = []
    for references in sorted({scores.trials.n_references for scores in pairs}):
        of_metric = _metric_verdicts(
            [scores for scores in pairs if scores.trials.n_references == references], tolerance, near_tie
        )
        for first, second in combinations(of_metric, 2):
            for corruption, verdicts in of_metric[first].items():
                names = {"corruption": corruption, "metric": first, "other": second}
                rows.append(_compare(names, references, verdicts, of_metric[second][corruption]))
    return MetricAgreement(tuple(rows))


def _metric_verdicts(
    pairs: Sequence[ScorePairs], tolerance: float, near_tie: float
) -> Mapping[str, Mapping[str, TrialVerdicts]]:
    """Return the verdicts of each metric on each corruption, and on all of them where there are several."""
    names = {
        text: k for k, text in enumerate(dict.fromkeys(text for scores in pairs for text in scores.trials.original))
    }
    of_metric: dict[str, dict[str, TrialVerdicts]] = {}
    for scores in pairs:
        of_metric.setdefault(scores.metric, {})[scores.trials.corruption] = TrialVerdicts(
            passes(scores, tolerance=tolerance, near_tie=near_tie),
            scores.scored,
            near_ties(scores, tolerance=tolerance, near_tie=near_tie),
            np.array([names[text] for text in scores.trials.original]),
        )
    for held_by in of_metric.values():
        if len(held_by) > 1:
            held_by[ALL] = TrialVerdicts(*map(np.concatenate, zip(*held_by.values(), strict=True)))
    return of_metric


def _compare(names: dict[str, str], references: int, first: TrialVerdicts, second: TrialVerdicts) -> EqualVerdicts:
    both = first.scored & second.scored
    x, y = first.passed[both].astype(float), second.passed[both].astype(float)
    _, cluster = np.unique(first.original[both], return_inverse=True)
    agreement, agreement_error = _mean((x == y).astype(float), cluster)
    reason = "; ".join(_constant(((names["metric"], x), (names["other"], y))))
    correlation, correlation_error = (np.nan, np.nan) if reason else phi(x, y, cluster)
    return EqualVerdicts(
        **names,
        references=references,
        agreement=agreement,
        agreement_error=agreement_error,
        correlation=correlation,
        correlation_error=correlation_error,
        n=len(x),
        originals=len(np.unique(cluster)),
        near_ties=int(((first.near | second.near) & both).sum()),
        reason=reason,
    )


def _constant(verdicts: Sequence[tuple[str, Floats]]) -> Iterator[str]:
    """Explain why there is no correlation; nothing where there is one."""
    if not len(verdicts[0][1]):
        yield "no trial has scores of both"
        return
    for name, passed in verdicts:
        if passed.all() or not passed.any():
            yield f"{name} passes {'all' if passed.all() else 'none'}"


def phi(x: Floats, y: Floats, cluster: Ints) -> tuple[float, float]:
    """Return the correlation of two verdicts (0 or 1, both varying) and its error, clustered by `cluster[trial]`.

    >>> phi(np.array([1.0, 1, 0, 0]), np.array([1.0, 0, 0, 1]), np.arange(4))[0]
    0.0
    """
    u, v = ((z - z.mean()) / z.std() for z in (x, y))
    value = float(np.clip((u * v).mean(), -1, 1))
    # Means and spreads of both are estimated, too: the second part is what they add.
    return value, _error(u * v - value * (u**2 + v**2) / 2, cluster)


def _mean(z: Floats, cluster: Ints) -> tuple[float, float]:
    if not len(z):
        return np.nan, np.nan
    return float(z.mean()), _error(z - z.mean(), cluster)


def _error(influence: Floats, cluster: Ints) -> float:
    """Return the standard error of a mean of influences, trials of a cluster together.

    NaN with fewer than two clusters, and where no trial deviates: that nothing was seen to vary is no certainty.
    """
    totals = np.bincount(cluster, influence)
    n = len(totals)
    if n < 2 or np.allclose(totals, 0.0):
        return np.nan
    return float(np.sqrt(n / (n - 1) * (totals**2).sum()) / len(influence))
