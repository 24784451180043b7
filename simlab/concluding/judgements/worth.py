"""Count what a metric is worth in human labels, and test whether its labelled outputs are a fair sample of all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from simlab.analysis.means.document_pairs import influence, of_differences
from simlab.analysis.means.documents import Totals
from simlab.answers.conclude import Interval
from simlab.concluding.judgements.gathering import Evidence
from simlab.types import Bools, Floats, Ints

FEWEST = 3
"""Documents with labels, and with none, of a system, from which both are compared."""
GROUPS = 200
"""At most so many groups of documents are left out in turn: more take long and tell no more of an error."""
UNLIKELY = 0.01
"""Chance of calling labels that were dealt at random dealt otherwise."""


def worth_labels(of: Totals, labels: int, level: float) -> Interval:
    """Count the human labels that would narrow differences of systems as much as mixing the metric in does.

    The variance of a difference falls as labels grow, so that a variance that is `r` times as large without the metric
    is worth `labels * (r - 1)`. Estimate and interval are a jackknife over documents of log r, lambda tuned anew each
    time: what is not known of lambda is most of what is not known of a metric that says little, and few documents with
    labels show too little worth (.47 of a true .54 with 32; .53 by the jackknife).
    """
    documents = np.flatnonzero((of.n if of.n_all is None else np.maximum(of.n, of.n_all)).any(0))
    group = np.arange(len(documents)) % GROUPS
    n = int(group.max()) + 1
    left = np.array([_log_ratio(_only(of, documents[group != k])) for k in range(n)])
    value = n * _log_ratio(of) - (n - 1) * float(left.mean())
    error = float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))
    reach = float(stdtrit(int(of.n.any(0).sum()) - 1, 1 - level / 2)) * error
    return Interval.of(*(float(labels * np.expm1(value + side * reach)) for side in (0, -1, 1)))


def _only(of: Totals, documents: Ints) -> Totals:
    rest = (None if one is None else one[:, documents] for one in (of.n_all, of.g_all))
    return Totals(of.n[:, documents], of.y[:, documents], of.g[:, documents], *rest)


def _log_ratio(of: Totals) -> float:
    """Return the logarithm of the variance of differences without the metric over that with it, summed over pairs.

    It is NaN where either is 0, or a system has no labels.
    """
    if not of.n.sum(1).all():
        return np.nan
    without, mixed = (
        float(of_differences(part, part).sum())
        for part in (influence(of, corrected=corrected).part for corrected in (False, True))
    )
    return float(np.log(without / mixed)) if without > 0 and mixed > 0 else np.nan


class Uneven(NamedTuple):
    """Hold how much higher a metric scores labelled outputs of a system than its others, with the p-value of all.

    `system` is empty where it is the mean of all systems that tells.
    """

    system: str
    difference: float
    p_value: float


def n_unlabelled(evidence: Evidence, name: str) -> int:
    """Return how many outputs only the metric scored."""
    return int((np.isfinite(evidence.metrics[name]) & ~evidence.rated).sum())


def uneven_labels(evidence: Evidence, name: str) -> Uneven | None:
    """Test that labels were dealt at random within systems; return what shows most that they were not, or None.

    Held against each other are the metric's scores of labelled and of other outputs of a system, whole documents as
    clusters; each system, and the mean of all, by t with Bonferroni's correction.
    """
    found = [
        (k, *one) for k in range(len(evidence.system_names)) if (one := _difference(evidence, name, k)) is not None
    ]
    if not found:
        return None
    names = [evidence.system_names[k] for k, *_ in found]
    value, part = np.array([one[1] for one in found]), np.array([one[2] for one in found])
    free = np.array([one[3] for one in found], float)
    if len(found) > 1:
        names.append("")
        value, part, free = np.append(value, value.mean()), np.vstack([part, part.mean(0)]), np.append(free, free.min())
    documents = part.any(0).sum()
    error = np.sqrt((part**2).sum(1) * documents / (documents - 1))
    t = np.divide(np.abs(value), error, out=np.where(np.abs(value) > 0, np.inf, 0.0), where=error > 0)
    p_value = np.minimum(2 * stdtr(free, -t) * len(t), 1.0)
    k = int(p_value.argmin())
    return Uneven(names[k], float(value[k]), float(p_value[k])) if p_value[k] <= UNLIKELY else None


def _difference(evidence: Evidence, name: str, system: int) -> tuple[float, Floats, int] | None:
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
    return sum(value), part, min(documents) - 1
