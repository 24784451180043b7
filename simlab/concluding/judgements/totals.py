"""Sum up outputs by system and document, for humans alone or with a metric."""

from __future__ import annotations

import numpy as np

from simlab.analysis.means.documents import Totals
from simlab.concluding.judgements.gathering import Evidence
from simlab.types import Floats, Ints


def laid(evidence: Evidence, metric: str | None) -> tuple[Ints, Totals]:
    """Return the systems that humans rated, by their places, and their sums over all documents.

    A score that is missing counts as its system's mean: whatever a metric says of an output, the correction has mean
    0, and no rating is left out.
    """
    rated = evidence.rated
    systems = np.unique(evidence.system[rated])
    one = np.ones(len(evidence.system))
    n, y = _sums(evidence, systems, one * rated), _sums(evidence, systems, np.where(rated, evidence.human, 0.0))
    if metric is None:
        return systems, Totals(n, y, np.zeros_like(y), None, None)
    said = filled(evidence, evidence.metrics[metric])
    return systems, Totals(n, y, _sums(evidence, systems, said * rated), _sums(evidence, systems, one),
                           _sums(evidence, systems, said))  # fmt: skip


def filled(evidence: Evidence, score: Floats) -> Floats:
    """Put a system's mean score where an output has none; 0 where the metric has seen nothing of a system.

    Scores are taken about the mean of all, so that no digits are lost.
    """
    known = np.isfinite(score)
    if not known.any():
        return np.zeros(len(score))
    said = np.where(known, score - score[known].mean(), 0.0)
    n = np.bincount(evidence.system, known, len(evidence.system_names))
    mean = np.bincount(evidence.system, said, len(evidence.system_names)) / np.maximum(n, 1)
    return np.where(known, said, mean[evidence.system])


def _sums(evidence: Evidence, systems: Ints, value: Floats) -> Floats:
    width = evidence.n_documents
    flat = np.bincount(evidence.system * width + evidence.document, value, len(evidence.system_names) * width)
    return np.asarray(flat.reshape(-1, width)[systems], float)
