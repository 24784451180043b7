"""Decide whether to trust a metric, to correct it or to leave it out: call `verdict`, which returns a `Verdict`.

leave_out: mixing it in is not shown to pay. Its differences between systems are not shown to go with the humans' (flips
of whole documents, two-sided, at half the level, so that a metric without information is nearly always left out), or
its intervals of differences are no narrower. trust: its own means would do. For all pairs at once, the error of its own
differences is shown to lie within the margin. correct: all between; it pays, and its own means are biased or may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import PairDifferences
from simlab.analysis.means.metric_gain import Gain, gain
from simlab.analysis.needed_units import POWER
from simlab.answers.standings import MetricVerdict, More
from simlab.concluding.judgements.bias import Bias, estimate_bias
from simlab.concluding.judgements.estimates import LIMIT, JudgedComparison, Way
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.messages import pluralise
from simlab.types import Floats

FEWEST_DOCUMENTS = 10
"""Least number of rated documents for correcting by a metric: with fewer its slope is a guess."""
ENOUGH = 20
"""Least number of rated documents for trusting a metric."""
SHARE_MARGIN = 0.05
MOST_TURNED = 3

QUARTERS = (0.25, 0.5, 0.75)
"""Quantiles of the number of further labels: the middle half, and the median."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Verdict on a metric and its reason; `labels` is the number of further human labels that would change it.

    `margin` is the error up to which a metric is trusted, `bias` the error of its own differences (None: not
    estimated).
    """

    verdict: MetricVerdict
    reason: str
    labels: More | None
    margin: float
    bias: Bias | None = None


def verdict(
    comparison: JudgedComparison, evidence: OutputEvidence, name: str, says: Floats | None, alone: Way, corrected: Way
) -> Verdict:
    """Judge metric `name`: `alone` are means and pairs by humans alone, `corrected` those corrected by the metric.

    `says[output]` are its labels 0 and 1 (None: it has scores only).
    """
    rng, of, labels = comparison.stream("verdict", name), corrected.totals, int(evidence.rated.sum())
    n_documents, bound = int((of.n > 0).sum(1).min()), _margin(evidence, alone.differences, comparison.margin)
    informative = _says_something(evidence, name)
    if n_documents < FEWEST_DOCUMENTS:
        few = f"humans rated {n_documents} documents of a system; fewer than {FEWEST_DOCUMENTS} do not show its worth"
        more = _labels([labels / n_documents * (FEWEST_DOCUMENTS - n_documents)] * 3)
        return Verdict(
            "leave_out", few, more, bound, _bias(rng, comparison, evidence, name, says) if informative else None
        )
    if not informative:
        seen = bool((np.isfinite(evidence.metrics[name]) & evidence.rated).any())
        why = "it says the same of all outputs" if seen else "it scored no output that humans rated"
        return Verdict("leave_out", why, None, bound)
    gain_test, width = gain(rng, of, flips=comparison.flips), compare_widths(alone.differences, corrected.differences)
    bias = _bias(rng, comparison, evidence, name, says)
    off = f"{_name_reversed_pairs(alone, bias)}{_describe_bias(comparison, bias, bound)}"
    if gain_test.p_value > comparison.level / 2:
        reason = f"that it follows humans from system to system is not shown (p = {gain_test.p_value:.2g}); {off}"
        return Verdict("leave_out", reason, _count_labels_to_show(gain_test, labels, comparison.level), bound, bias)
    if not width < 1:
        return Verdict("leave_out", f"{_explain_width(evidence, name, width)}; {off}", None, bound, bias)
    narrower = f"intervals of differences are {width:.2f} times as wide with it"
    if bias.worst < bound and n_documents >= ENOUGH:
        reason = f"{narrower}, and its own differences are within {bound:.2g} of the humans'"
        return Verdict("trust", reason, None, bound, bias)
    if bias.worst < bound:
        off = f"fewer than {ENOUGH} documents do not show that its own differences are as close as they look"
    return Verdict(
        "correct", f"{narrower}; {off}", _count_labels_to_trust(bias, bound, labels, n_documents), bound, bias
    )


def _bias(
    rng: np.random.Generator, comparison: JudgedComparison, evidence: OutputEvidence, name: str, says: Floats | None
) -> Bias:
    return estimate_bias(rng, evidence, name, says, comparison.places, level=comparison.level, flips=comparison.flips)


def _name_reversed_pairs(alone: Way, bias: Bias) -> str:
    """Name the pairs that humans claim and that a metric's own difference turns round."""
    turned = [
        f"{pair.first} - {pair.second} (humans {_format_value(bias.human[k])}, it {_format_value(bias.metric[k])})"
        for k, pair in enumerate(alone.pairs)
        if pair.verdict and bias.human[k] * bias.metric[k] < 0
    ]
    if not turned:
        return ""
    more = f" and {pluralise(len(turned) - MOST_TURNED, 'pair')} more" if len(turned) > MOST_TURNED else ""
    return f"by its own means it turns round {', '.join(turned[:MOST_TURNED])}{more}; "


def _explain_width(evidence: OutputEvidence, name: str, width: float) -> str:
    alone = 1 - int(evidence.rated.sum()) / max(int(np.isfinite(evidence.metrics[name]).sum()), 1)
    return (
        f"intervals of differences with it are {width:.2f} times as wide, since humans rated all but "
        f"{100 * max(alone, 0):.0f} % of the outputs that it scored"
    )


def _describe_bias(comparison: JudgedComparison, bias: Bias, bound: float) -> str:
    """State of which pair a metric's own difference is shown to miss most, or may miss most where none is shown."""
    if not np.isfinite(bias.value).all():
        return "what its own means miss is not known of every system"
    shown = (bias.low > 0) | (bias.high < 0)
    # Bounds that hold 0 do not show the bias that the sentence is about, however far they reach.
    k = int(np.where(shown, np.abs(bias.value), -1.0).argmax()) if shown.any() else bias.worst_pair
    first, second = (comparison.names[place[k]] for place in comparison.places)
    value, low, high = (_format_value(float(values[k])) for values in (bias.value, bias.low, bias.high))
    off = f"that of {first} and {second} is off by {value} ({low} to {high})"
    if shown.any():
        return f"its own differences are biased: {off}"
    return f"that its own differences are within {bound:.2g} of the humans' is not shown, at worst {off}"


def _format_value(value: float) -> str:
    """Write a number with two digits, without a 0 before the point.

    >>> _format_value(-0.29), _format_value(2.08)
    ('-.29', '2.1')
    """
    text = f"{value:.2g}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def compare_widths(alone: PairDifferences, corrected: PairDifferences) -> float:
    """Return the mean ratio of the widths of differences' intervals, corrected by the metric to humans alone."""
    wide, narrow = alone.high - alone.low, corrected.high - corrected.low
    known = np.isfinite(wide) & np.isfinite(narrow) & (wide > 0)
    if not known.any():
        # Too few documents for flips leave bounds infinite; standard errors can still be compared.
        known = alone.se > 0
        wide, narrow = alone.se, corrected.se
    # Ratios are averaged as logarithms: half and twice as wide cancel.
    return float(np.exp(np.log(np.maximum(narrow[known], 1e-300) / wide[known]).mean())) if known.any() else 1.0


def _says_something(evidence: OutputEvidence, name: str) -> bool:
    score = evidence.metrics[name]
    finite = score[np.isfinite(score) & evidence.rated]
    return len(finite) > 1 and float(np.ptp(finite)) > 0


def _margin(evidence: OutputEvidence, alone: PairDifferences, margin: float | None) -> float:
    """Return what trust is held against: as asked, .05 of shares, else half the usual interval of humans alone."""
    if margin is not None:
        return margin
    half = (alone.high - alone.low) / 2
    usual = float(np.median(half[np.isfinite(half)])) if np.isfinite(half).any() else np.inf
    return SHARE_MARGIN if evidence.labels else usual


def _count_labels_to_show(gain: Gain, labels: int, level: float) -> More:
    """Count further labels that show with 80 % that the metric follows humans: its t grows as their root."""
    # The true t lies about the one seen with an error of 1; evenly spaced quantiles stand for random draws.
    draws = np.abs(gain.t + ndtri((np.arange(2000) + 0.5) / 2000))
    t = np.quantile(draws, QUARTERS)
    # Two-sided at half the level, as the verdict tests it: hence a quarter in each tail.
    needed = labels * (((ndtri(1 - level / 4) + ndtri(POWER)) / t) ** 2 - 1)
    return _labels(np.maximum(needed, 1.0).tolist())


def _count_labels_to_trust(bias: Bias, margin: float, labels: int, n_documents: int) -> More | None:
    """Count further labels that bring every bound within the margin; None where a bound is beyond it on both sides."""
    if np.any((bias.low >= margin) | (bias.high <= -margin)):
        return None
    reach, rest = (bias.high - bias.low) / 2, margin - np.abs(bias.value)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Bounds narrow with the root of the labels; where the estimate is beyond the margin no number is enough.
        factor = float(np.max(np.where(rest > 0, (reach / rest) ** 2, np.inf)))
    least = labels / n_documents * (ENOUGH - n_documents)
    needed = max(labels * (factor - 1), least, 1.0) if np.isfinite(factor) else np.inf
    return _labels([needed] * 3)


def _labels(needed: Sequence[float]) -> More:
    """Put quarters in order: a small effect needs most."""
    low, middle, high = (float(np.ceil(x)) if x <= LIMIT else np.inf for x in sorted(needed))
    return More(unit="human labels", median=middle, low=low, high=high, limit=LIMIT)
