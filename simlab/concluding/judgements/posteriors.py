"""Estimate shares of adequate outputs by their posterior, with what a metric says taken as labels that err.

Outputs of a document are alike: each count is that of as many independent outputs as would tell as much.
"""

from __future__ import annotations

import numpy as np

from simlab.analysis.adequacy.joint import Counts
from simlab.analysis.sharing import FEWEST, with_joint_rates, with_own_rates, with_partial_rates
from simlab.answers.conclude import Estimated
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.quality import calibration
from simlab.types import Bools, Estimates, Floats


def posteriors(evidence: Evidence, says: Floats, level: float) -> tuple[list[Estimated], tuple[str, ...]]:
    """Return each system's share by joint, own and partial rates, and notes on what was left out.

    Outputs that humans rated count as labels and for rho and eta, never among the metric's own.
    """
    counts, counted = _counts(evidence, says), calibration(evidence, says)
    found = {
        "joint": with_joint_rates(counts, counted.sum(0), True, level),
        "own": with_own_rates(counts, counted, True, level),
    }
    notes: tuple[str, ...] = ()
    n = len(evidence.system_names)
    if n >= FEWEST:
        found["partial"] = with_partial_rates(counts, counted, True, level)
    else:
        notes = (f"partial pooling of rho and eta needs {FEWEST} systems, and {n} are here",)
    return [one for method, estimates in found.items() for one in _estimated(method, evidence, estimates)], notes


def _estimated(method: str, evidence: Evidence, found: Estimates) -> list[Estimated]:
    bounds = zip(found.value, found.low, found.high, strict=True)
    return [
        Estimated.of(method, name, *(float(x) for x in row))
        for name, row in zip(evidence.system_names, bounds, strict=True)
    ]


def _counts(evidence: Evidence, says: Floats) -> Counts:
    rated = evidence.rated
    alone: Bools = np.isfinite(says) & ~rated
    human, metric = (_effective(evidence, there, value) for there, value in ((rated, evidence.human), (alone, says)))
    return Counts(*human, *metric)


def _effective(evidence: Evidence, there: Bools, value: Floats) -> tuple[Floats, Floats]:
    """Return positive outputs and outputs `[system]`, divided by the design effect of documents."""
    systems, width = len(evidence.system_names), evidence.n_documents
    at = (evidence.system * width + evidence.document)[there]
    n, total = (np.bincount(at, w, systems * width).reshape(systems, width) for w in (None, value[there]))
    size = n.sum(1)
    share = np.divide(total.sum(1), size, out=np.full(systems, 0.5), where=size > 0)
    clusters = (n > 0).sum(1)
    square = ((total - n * share[:, None]) ** 2).sum(1) * clusters / np.maximum(clusters - 1, 1)
    expected = size * share * (1 - share)
    effect = np.maximum(1.0, np.divide(square, expected, out=np.ones(systems), where=expected > 0))
    return share * size / effect, size / effect
