"""Carry out studies of judgements whose truth is known, and count what was promised of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from judge_worlds import World, drawn
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import compared, influence, intervals
from simlab.concluding.judgements.gathering import Evidence
from simlab.concluding.judgements.posteriors import posteriors
from simlab.concluding.judgements.quality import binary
from simlab.concluding.judgements.totals import laid
from simlab.rng import stream
from simlab.types import Floats

LEVEL, FLIPS = 0.05, 499


class Counted(NamedTuple):
    """Hold shares of studies: some wrong claim with `humans` alone and `corrected`, and by two bad controls.

    `segments`: paired tests of single outputs that know of no documents; `plug_in`: the metric's own means, as if they
    were humans'. `together`: all bounds of differences hold, `each`: a mean's own interval holds; both corrected.
    """

    humans: float
    corrected: float
    segments: float
    plug_in: float
    together: float
    each: float


def count(world: World, tables: int, word: str) -> Counted:
    """Draw tables and conclude from each."""
    rng, (i, j) = stream(1, "judge_promises", word), np.triu_indices(len(world.means), 1)
    truth, rows = world.means[i] - world.means[j], []
    for _ in range(tables):
        evidence = drawn(rng, world)
        of = laid(evidence, "judge")[1]
        found = [compared(rng, influence(of, corrected=way), (i, j), level=LEVEL, flips=FLIPS) for way in (False, True)]
        low, high = intervals(influence(of, corrected=True), LEVEL)
        y, g = _by_item(evidence, evidence.human), _by_item(evidence, evidence.metrics["judge"])
        rows.append((
            *(_wrong(one.adjusted <= LEVEL, one.difference, truth) for one in found),
            _wrong(*_paired(y[i] - y[j]), truth),
            _wrong(*_paired((g[i] - g[j]) * np.nanstd(y) / np.nanstd(g)), truth),
            bool(((found[1].low <= truth) & (truth <= found[1].high)).all()),
            float(((low <= world.means) & (world.means <= high)).mean()),
        ))  # fmt: skip
    return Counted(*(float(x) for x in np.mean(rows, axis=0)))


def posterior_coverage(world: World, tables: int, word: str) -> dict[str, float]:
    """Return how often each way of sharing rates holds the share of a system, over tables."""
    rng = stream(1, "judge_posteriors", word)
    held: dict[str, list[bool]] = {}
    for _ in range(tables):
        evidence = drawn(rng, world)
        labels = binary(evidence, "judge", 0.0)
        if labels is None:
            raise ValueError("a world of labels has labels")
        for one in posteriors(evidence, labels.says, LEVEL)[0]:
            truth = world.means[evidence.system_names.index(one.system)]
            held.setdefault(one.method, []).append(bool(one.low <= truth <= one.high))
    return {method: float(np.mean(inside)) for method, inside in held.items()}


def mcse(share: float, tables: int) -> float:
    """Return the Monte-Carlo standard error of a share of tables."""
    return float(np.sqrt(share * (1 - share) / tables))


def _by_item(evidence: Evidence, value: Floats) -> Floats:
    laid_out = np.full((len(evidence.system_names), int(evidence.item.max()) + 1), np.nan)
    laid_out[evidence.system, evidence.item] = value
    return laid_out


def _paired(gap: Floats) -> tuple[Floats, Floats]:
    """Test differences of single outputs, each pair by itself."""
    n = np.isfinite(gap).sum(1)
    mean, error = np.nanmean(gap, 1), np.nanstd(gap, 1, ddof=1) / np.sqrt(n)
    return np.abs(mean) > -ndtri(LEVEL / 2) * error, mean


def _wrong(claimed: Floats, difference: Floats, truth: Floats) -> bool:
    """Say whether some claim is wrong: of equal systems, or the other way round."""
    return bool((claimed & (np.sign(difference) != np.sign(truth))).any())
