"""Say what a table tells of a metric: how good it is, whether to mix it in, and what follows if so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.means.document_pairs import intervals, share_intervals
from simlab.answers.conclude import YOUDEN, Estimated, Interval, Metric, MetricError, Rated
from simlab.concluding.judgements.asking import Asked, Way, way_of
from simlab.concluding.judgements.bias import Bias
from simlab.concluding.judgements.favour import favour_of
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.posteriors import posteriors
from simlab.concluding.judgements.quality import Binary, binary, correlations, youden
from simlab.concluding.judgements.totals import laid
from simlab.concluding.judgements.verdicts import FEWEST, verdict, width_of
from simlab.concluding.judgements.worth import n_unlabelled, uneven_labels, worth_labels
from simlab.concluding.wanted import Wanted
from simlab.types import Floats


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
    width, favoured = width_of(alone.found, way.found), _favour(asked, evidence, name, says)
    says_nothing = found.bias is None
    worth = None if few or says_nothing else worth_labels(of, int(evidence.rated.sum()), asked.level)
    bias, bias_pairs, bias_worst, bias_factor = _errors(asked, found.bias)
    metric = Metric(
        name=name,
        verdict=found.verdict,
        reason=found.reason,
        labels=found.labels,
        quality_of="correlation" if labels is None else YOUDEN,
        quality=quality,
        spread=spread,
        width=width,
        estimates=estimates,
        pairs=way.pairs,
        bias=bias,
        bias_pairs=bias_pairs,
        bias_worst=bias_worst,
        bias_factor=bias_factor,
        favour=favoured[0],
        favour_slope=favoured[1],
        worth_labels=worth if worth is not None and worth.is_finite() else None,
        labels_at_random=uneven_labels(evidence, name) is None if n_unlabelled(evidence, name) else None,
    )
    return metric, way, notes


def _favour(
    asked: Asked, evidence: Evidence, name: str, says: Floats | None
) -> tuple[Sequence[Rated], Interval | None]:
    """Return how far each system lies off the line of the metric's means on the humans', and its slope."""
    score = evidence.metrics[name] if says is None else says
    found = favour_of(asked.stream("favour", name), evidence, score, level=asked.level, flips=asked.flips)
    if found is None:
        return (), None
    columns = found.value, found.low, found.high
    return [Rated.of(one, *(float(column[k]) for column in columns)) for k, one in enumerate(asked.names)], found.slope


def _errors(
    asked: Asked, bias: Bias | None
) -> tuple[Sequence[Rated], Sequence[MetricError], MetricError | None, float | None]:
    """Return the errors of systems and of pairs, the worst of these, and the factor to the humans' scale."""
    if bias is None or not np.isfinite(bias.value).all():
        return (), (), None, None
    columns = (bias.human, bias.metric, bias.value, bias.low, bias.high)
    errors = [
        MetricError.of(asked.names[i], asked.names[j], *(float(one[k]) for one in columns))
        for k, (i, j) in enumerate(zip(*(place.tolist() for place in asked.places), strict=True))
    ]
    return _of_systems(asked, bias), errors, errors[bias.worst_pair], None if bias.factor == 1 else bias.factor


def _of_systems(asked: Asked, bias: Bias) -> list[Rated]:
    """Return each system's error about the mean of all, or about the baseline, where all are compared with one."""
    n, (first, second) = len(asked.names), asked.places
    if len(first) == n * (n - 1) // 2:
        columns = bias.systems, bias.systems_low, bias.systems_high
        return [Rated.of(name, *(float(one[k]) for one in columns)) for k, name in enumerate(asked.names)]
    # Pairs are the baseline's less each other system's.
    columns = -bias.value, -bias.high, -bias.low
    return [Rated.of(asked.names[j], *(float(one[k]) for one in columns)) for k, j in enumerate(second.tolist())]


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
        Estimated(method=method, system=name, value=float(way.means.value[k]), low=float(low[k]), high=float(high[k]))
        for k, name in enumerate(asked.names)
    ]
