"""Judge a metric by a table: its quality, whether to mix it in, and the conclusions with it.

`judge_metric` returns all three. A label is a human rating of an output. Mixing in (PPI, prediction-powered inference)
adds to a system's mean of labels lambda times the metric's mean over all outputs less that over outputs with labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from simlab.analysis.means.document_pairs import influence, intervals, products_of_differences, share_intervals
from simlab.analysis.means.documents import Totals
from simlab.answers.standings import YOUDEN, Estimated, Interval, Metric, MetricError, MetricQuality
from simlab.concluding.judgements.bias import Bias, estimate_favour
from simlab.concluding.judgements.estimates import JudgedComparison, Way, estimate_way, sum_by_document
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.concluding.judgements.quality import Binary, binarise_metric, correlations, posteriors, youden
from simlab.concluding.judgements.verdicts import FEWEST_DOCUMENTS, compare_widths, verdict
from simlab.concluding.options import ConcludeOptions
from simlab.types import Bools, Floats, Ints

FEWEST = 3
"""Least number of documents of a system with labels, and without, for comparing the two."""
GROUPS = 200
"""Largest number of groups of documents that the jackknife leaves out in turn."""
UNLIKELY = 0.01
"""Level of the test that labels were dealt at random."""


def worth_labels(of: Totals, labels: int, level: float) -> Interval:
    """Return the number of human labels that would narrow differences of systems as much as mixing the metric in does.

    `of` are sums by document, `labels` is the number of labels, and the interval misses with probability `level`. A
    variance `r` times as large without the metric is worth `labels * (r - 1)`. Estimate and interval are a jackknife of
    log r over documents, lambda tuned anew each time: few documents with labels show too little worth (.47 of a true
    .54 with 32; .53 by the jackknife).
    """
    documents = np.flatnonzero((of.n if of.n_all is None else np.maximum(of.n, of.n_all)).any(0))
    group = np.arange(len(documents)) % GROUPS
    n = int(group.max()) + 1
    left = np.array([_log_ratio(_select_documents(of, documents[group != k])) for k in range(n)])
    # The jackknife takes out the bias of order 1/n that a lambda tuned on the same documents brings.
    value = n * _log_ratio(of) - (n - 1) * float(left.mean())
    error = float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))
    reach = float(stdtrit(int(of.n.any(0).sum()) - 1, 1 - level / 2)) * error
    return Interval.build(*(float(labels * np.expm1(value + side * reach)) for side in (0, -1, 1)))


def _select_documents(of: Totals, documents: Ints) -> Totals:
    rest = (None if one is None else one[:, documents] for one in (of.n_all, of.g_all))
    return Totals(of.n[:, documents], of.y[:, documents], of.g[:, documents], *rest)


def _log_ratio(of: Totals) -> float:
    """Return the logarithm of the variance of differences without the metric over that with it, summed over pairs.

    It is NaN where either is 0, or a system has no labels.
    """
    if not of.n.sum(1).all():
        return np.nan
    without, mixed = (
        float(products_of_differences(part, part).sum())
        for part in (influence(of, corrected=corrected).part for corrected in (False, True))
    )
    # The logarithm makes errors of a ratio of variances more even on both sides, and keeps bounds positive.
    return float(np.log(without / mixed)) if without > 0 and mixed > 0 else np.nan


class Uneven(NamedTuple):
    """Difference of a metric's scores between a system's labelled outputs and its others, with its p-value.

    `system` is "" where the difference is the mean over all systems.
    """

    system: str
    difference: float
    p_value: float


def count_unlabelled(evidence: OutputEvidence, name: str) -> int:
    """Return how many outputs only the metric scored."""
    return int((np.isfinite(evidence.metrics[name]) & ~evidence.rated).sum())


def uneven_labels(evidence: OutputEvidence, name: str) -> Uneven | None:
    """Test that labels were dealt at random within systems; return the clearest sign that they were not, or None.

    The metric's scores of labelled outputs are compared with those of other outputs, documents as clusters, for each
    system and for the mean of all: t tests with Bonferroni's correction.
    """
    tests = [
        (k, *test) for k in range(len(evidence.system_names)) if (test := _difference(evidence, name, k)) is not None
    ]
    if not tests:
        return None
    names = [evidence.system_names[k] for k, *_ in tests]
    value, part = np.array([test[1] for test in tests]), np.array([test[2] for test in tests])
    free = np.array([test[3] for test in tests], float)
    if len(tests) > 1:
        names.append("")
        # Many small shifts one way show in the mean of all before any single system shows them.
        value, part, free = np.append(value, value.mean()), np.vstack([part, part.mean(0)]), np.append(free, free.min())
    documents = part.any(0).sum()
    # The factor is the usual small-sample one of variances by clusters.
    error = np.sqrt((part**2).sum(1) * documents / (documents - 1))
    # A difference without any scatter is certain, none at all shows nothing.
    t = np.divide(np.abs(value), error, out=np.where(np.abs(value) > 0, np.inf, 0.0), where=error > 0)
    p_value = np.minimum(2 * stdtr(free, -t) * len(t), 1.0)
    k = int(p_value.argmin())
    return Uneven(names[k], float(value[k]), float(p_value[k])) if p_value[k] <= UNLIKELY else None


def _difference(evidence: OutputEvidence, name: str, system: int) -> tuple[float, Floats, int] | None:
    """Return by how much labelled outputs score higher, each document's part in its error, and degrees of freedom."""
    score = evidence.metrics[name]
    there: Bools = (evidence.system == system) & np.isfinite(score)
    value, part, documents = [], np.zeros(evidence.n_documents), []
    for sign, of in ((1, there & evidence.rated), (-1, there & ~evidence.rated)):
        at = evidence.document[of]
        if (n := len(np.unique(at))) < FEWEST:
            return None
        mean = float(score[of].mean())
        value.append(sign * mean)
        documents.append(n)
        part += sign * np.bincount(at, score[of] - mean, evidence.n_documents) / len(at)
    # Degrees of freedom of the thinner side never overstate what both sides tell.
    return sum(value), part, min(documents) - 1


def judge_metric(
    evidence: OutputEvidence, comparison: JudgedComparison, alone: Way, name: str, wanted: ConcludeOptions
) -> tuple[Metric, Way, Sequence[str]]:
    """Return the record of metric `name`, means and pairs corrected by it, and notes.

    `alone` are means and pairs by humans alone; they also come back if too few documents are rated to correct them.
    """
    of = sum_by_document(evidence, name)[1]
    few = int((of.n > 0).sum(1).min()) < FEWEST_DOCUMENTS
    way = alone if few else estimate_way(comparison, of, corrected=True)
    labels = binarise_metric(evidence, name, wanted.threshold) if evidence.labels else None
    says = None if labels is None else labels.says
    judgement = verdict(comparison, evidence, name, says, alone, way._replace(totals=of))
    quality, spread, posterior, notes = _quality(evidence, name, labels, comparison.level)
    estimates = [*_list_estimates(comparison, "human", alone), *_list_estimates(comparison, "ppi", way), *posterior]
    width, favoured = compare_widths(alone.differences, way.differences), _favour(comparison, evidence, name, says)
    says_nothing = judgement.bias is None
    worth = None if few or says_nothing else worth_labels(of, int(evidence.rated.sum()), comparison.level)
    bias, bias_pairs, bias_worst, bias_factor = _errors(comparison, judgement.bias)
    metric = Metric(
        name=name,
        verdict=judgement.verdict,
        reason=judgement.reason,
        labels=judgement.labels,
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
        labels_at_random=uneven_labels(evidence, name) is None if count_unlabelled(evidence, name) else None,
    )
    return metric, way, notes


def _favour(
    comparison: JudgedComparison, evidence: OutputEvidence, name: str, says: Floats | None
) -> tuple[Sequence[MetricQuality], Interval | None]:
    """Return how far each system lies off the line of the metric's means on the humans', and its slope."""
    score = evidence.metrics[name] if says is None else says
    favour = estimate_favour(
        comparison.stream("favour", name), evidence, score, level=comparison.level, flips=comparison.flips
    )
    if favour is None:
        return (), None
    columns = favour.value, favour.low, favour.high
    return [
        MetricQuality.build(system, *(float(column[k]) for column in columns))
        for k, system in enumerate(comparison.names)
    ], favour.slope


def _errors(
    comparison: JudgedComparison, bias: Bias | None
) -> tuple[Sequence[MetricQuality], Sequence[MetricError], MetricError | None, float | None]:
    """Return the errors of systems and of pairs, the worst of these, and the factor to the humans' scale."""
    if bias is None or not np.isfinite(bias.value).all():
        return (), (), None, None
    columns = (bias.human, bias.metric, bias.value, bias.low, bias.high)
    errors = [
        MetricError.build(comparison.names[i], comparison.names[j], *(float(column[k]) for column in columns))
        for k, (i, j) in enumerate(zip(*(place.tolist() for place in comparison.places), strict=True))
    ]
    return (
        _list_system_errors(comparison, bias),
        errors,
        errors[bias.worst_pair],
        None if bias.factor == 1 else bias.factor,
    )


def _list_system_errors(comparison: JudgedComparison, bias: Bias) -> list[MetricQuality]:
    """Return each system's error about the mean of all, or about the baseline, where all are compared with one."""
    n, (first, second) = len(comparison.names), comparison.places
    if len(first) == n * (n - 1) // 2:
        columns = bias.systems, bias.systems_low, bias.systems_high
        return [
            MetricQuality.build(name, *(float(column[k]) for column in columns))
            for k, name in enumerate(comparison.names)
        ]
    # Pairs are the baseline's less each other system's.
    columns = -bias.value, -bias.high, -bias.low
    return [
        MetricQuality.build(comparison.names[j], *(float(column[k]) for column in columns))
        for k, j in enumerate(second.tolist())
    ]


def _quality(
    evidence: OutputEvidence, name: str, labels: Binary | None, level: float
) -> tuple[Sequence[MetricQuality], Interval, Sequence[Estimated], Sequence[str]]:
    """Return how good a metric is for each system, how far that differs, posteriors of shares, and notes."""
    if labels is not None:
        more, remarks = posteriors(evidence, labels.says, level)
        return *youden(evidence, labels.says, level), more, (*labels.notes, *remarks)
    without = f"{name}: human scores are no labels, so that there is no posterior of shares (--adequate-from X)"
    return *correlations(evidence, name, level), (), () if evidence.labels else (without,)


def _list_estimates(comparison: JudgedComparison, method: str, way: Way) -> list[Estimated]:
    low, high = (share_intervals if comparison.labels else intervals)(way.means, comparison.level)
    return [
        Estimated(method=method, system=name, value=float(way.means.value[k]), low=float(low[k]), high=float(high[k]))
        for k, name in enumerate(comparison.names)
    ]
