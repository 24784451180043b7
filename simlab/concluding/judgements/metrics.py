"""Say what a table tells of a metric: how good it is, whether to mix it in, and what follows if so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.means.document_pairs import intervals, share_intervals
from simlab.concluding.conclusion import Estimated, Interval, Metric, MetricError, Rated
from simlab.concluding.judgements.asking import Asked, Way, way_of
from simlab.concluding.judgements.bias import Bias
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.posteriors import posteriors
from simlab.concluding.judgements.quality import Binary, binary, correlations, youden
from simlab.concluding.judgements.totals import laid
from simlab.concluding.judgements.verdicts import FEWEST, verdict, width_of
from simlab.concluding.wanted import Wanted


def metric_of(
    evidence: Evidence, asked: Asked, alone: Way, name: str, wanted: Wanted
) -> tuple[Metric, Way, Sequence[str]]:
    """Say what a table tells of a metric, and what follows with it."""
    of = laid(evidence, name)[1]
    few = int((of.n > 0).sum(1).min()) < FEWEST
    way = alone if few else way_of(asked, of, corrected=True)
    labels = binary(evidence, name, wanted.threshold) if evidence.labels else None
    says = None if labels is None else labels.says
    found = verdict(asked, evidence, name, says, alone, way._replace(of=of))
    quality, spread, posterior, notes = _quality(evidence, name, labels, asked.level)
    estimates = [*_estimated(asked, "human", alone), *_estimated(asked, "ppi", way), *posterior]
    metric = Metric(
        name, found.verdict, found.reason, found.labels, "correlation" if labels is None else "youden", quality,
        spread, width_of(alone.found, way.found), estimates, way.pairs, *_errors(asked, found.bias),
    )  # fmt: skip
    return metric, way, notes


def _errors(
    asked: Asked, bias: Bias | None
) -> tuple[Sequence[Rated], Sequence[MetricError], MetricError | None, float | None]:
    """Return the errors of systems and of pairs, the worst of these, and the factor to the humans' scale."""
    if bias is None or not np.isfinite(bias.value).all():
        return (), (), None, None
    columns = (bias.human, bias.metric, bias.value, bias.low, bias.high)
    errors = [
        MetricError(asked.names[i], asked.names[j], *(float(one[k]) for one in columns))
        for k, (i, j) in enumerate(zip(*(place.tolist() for place in asked.places), strict=True))
    ]
    return _of_systems(asked, bias), errors, errors[bias.worst_pair], None if bias.factor == 1 else bias.factor


def _of_systems(asked: Asked, bias: Bias) -> list[Rated]:
    """Average each system's errors over its pairs: bounds of all pairs at once stay bounds of all means at once.

    Where all are compared with a baseline, its error is taken for 0.
    """
    n, (first, second) = len(asked.names), asked.places
    every = len(first) == n * (n - 1) // 2
    rows = []
    for k, name in enumerate(asked.names):
        sides = np.where(first == k, 1.0, np.where(second == k, -1.0, 0.0))
        if not every and abs(sides).sum() > 1:
            continue
        over = n if every else 1
        turned = sides < 0
        low, high = np.where(turned, bias.high, bias.low), np.where(turned, bias.low, bias.high)
        rows.append(Rated(name, *(float((sides * one)[sides != 0].sum() / over) for one in (bias.value, low, high))))
    return rows


def _quality(
    evidence: Evidence, name: str, labels: Binary | None, level: float
) -> tuple[Sequence[Rated], Interval, Sequence[Estimated], Sequence[str]]:
    """Return how good a metric is for each system, how far that differs, posteriors of shares, and notes."""
    if labels is not None:
        more, said = posteriors(evidence, labels.says, level)
        return *youden(evidence, labels.says, level), more, (*labels.notes, *said)
    without = f"{name}: human scores are no labels, so that there is no posterior of shares (--adequate-from X)"
    return *correlations(evidence, name, level), (), () if evidence.labels else (without,)


def _estimated(asked: Asked, method: str, way: Way) -> list[Estimated]:
    low, high = (share_intervals if asked.labels else intervals)(way.means, asked.level)
    return [
        Estimated(method, name, float(way.means.value[k]), float(low[k]), float(high[k]))
        for k, name in enumerate(asked.names)
    ]
