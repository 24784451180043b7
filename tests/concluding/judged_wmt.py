"""Read outputs of WMT23 English-German that humans and metrics scored, where they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from shared_data import SHARED

from simlab.analysis.means.document_pairs import influence, intervals
from simlab.analysis.means.documents import Totals
from simlab.concluding.judgements.estimates import sum_by_document
from simlab.concluding.judgements.gathering import OutputEvidence, gather
from simlab.concluding.options import ConcludeOptions
from simlab.rng import stream

WMT23 = SHARED / "wmt23_ende"
METRICS = ("BLEU-refA", "COMET-refA", "CometKiwi-src", "GEMBA-MQM-src", "XCOMET-Ensemble-refA", "Random-sysname-src")


def files(human: str, metric: str) -> tuple[Path, Path]:
    """Name the table of humans (`da-sqm`, `mqm`) and that of a metric."""
    return WMT23 / f"en-de.{human}.seg.score", WMT23 / f"en-de.{metric}.seg.score"


def evidence_of(human: str, metric: str) -> OutputEvidence:
    """Read both tables."""
    table, second = files(human, metric)
    return gather(table, ConcludeOptions(second=second, metrics=(metric,)))


def held(evidence: OutputEvidence, metric: str, draws: int, share: float = 0.1) -> tuple[float, float, float]:
    """Let humans rate so many of the documents again and again.

    Returns the share of PPI++ intervals that hold the mean over all that humans rated, its standard error over draws
    (whose intervals go together), and how wide intervals are beside those of humans alone.
    """
    whole = sum_by_document(evidence, metric)[1]
    truth = whole.y.sum(1) / whole.n.sum(1)
    rated = np.flatnonzero((whole.n > 0).any(0))
    rng = stream(1, "judged_wmt", metric)
    inside, width = [], []
    for _ in range(draws):
        kept = np.zeros(whole.n.shape[1])
        kept[rng.choice(rated, round(share * len(rated)), replace=False)] = 1
        of = Totals(whole.n * kept, whole.y * kept, whole.g * kept, whole.n_all, whole.g_all)
        low, high = intervals(influence(of, corrected=True), 0.05)
        alone = intervals(influence(of, corrected=False), 0.05)
        inside.append(((low <= truth) & (truth <= high)).mean())
        width.append((high - low).mean() / (alone[1] - alone[0]).mean())
    return float(np.mean(inside)), float(np.std(inside, ddof=1) / np.sqrt(draws)), float(np.mean(width))
