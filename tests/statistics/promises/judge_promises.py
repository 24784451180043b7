"""Carry out studies of judgements whose truth is known, and count what was promised of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from judge_worlds import World, drawn
from promise_rows import Row, Side, stream
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import compare_by_flips, influence, intervals
from simlab.analysis.means.metric_gain import gain
from simlab.concluding.judgements.estimates import sum_by_document
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.concluding.judgements.quality import binarise_metric, posteriors
from simlab.concluding.judgements.verdicts import compare_widths
from simlab.types import Floats

LEVEL, FLIPS = 0.05, 499
EQUAL = {True: np.full(6, 0.7), False: np.zeros(6)}
PARTLY = {True: np.repeat([0.8, 0.6], 3), False: np.repeat([0.0, 0.5], 3)}
HARD: Mapping[str, Mapping[str, Any]] = {
    "few documents": {"n_documents": 24, "labelled": 0.5},
    "a tenth": {"n_documents": 200, "labelled": 0.1},
    "unequal": {"n_documents": 80, "labelled": 0.5, "unequal": True},
    "useless metric": {"n_documents": 80, "labelled": 0.5, "follows": 0.0},
    "biased metric": {"n_documents": 80, "labelled": 0.5, "follows": 0.9, "bias": np.linspace(0.0, 0.6, 6)},
    "skewed": {"n_documents": 80, "labelled": 0.5, "skew": 1.5},
}
WORDS = {
    "few documents": "12 of 24 documents rated",
    "a tenth": "20 of 200 documents rated",
    "unequal": "40 of 80 documents rated, fewer for some systems",
    "useless metric": "a metric that follows nothing",
    "biased metric": "a metric that favours systems",
    "skewed": "lognormal scores (1.5)",
}


def world_of(name: str, *, equal: bool, labels: bool) -> World:
    """Return a hard case: six systems, equal or in two groups; documents bring a third of the variance, and tastes."""
    return World((EQUAL if equal else PARTLY)[labels], labels, document=0.3, taste=0.2, **HARD[name])


def claims_of_equal_systems(tables: int) -> Iterator[Row]:
    """Count tables of equal systems of which something is claimed; tests of single outputs beside it."""
    for name, labels in product(HARD, (True, False)):
        if name == "skewed" and labels:
            continue
        found = count(world_of(name, equal=True, labels=labels), tables, name)
        setting = f"{WORDS[name]}, {'labels' if labels else 'scores'}"
        for way in ("humans", "corrected", "chosen"):
            yield _row(f"some claim, {SAID[way]}", setting, getattr(found, way), tables)
        yield _row("some claim, t tests of outputs", setting, found.segments, tables, "control above")
        if name == "biased metric":
            yield _row("some claim, the metric's own means", setting, found.plug_in, tables, "control above")


SPREAD: Mapping[str, World] = {
    "8 documents": World(np.linspace(-0.9, 0.9, 6), False, 16, document=0.3, taste=0.2),
    "12 documents": World(np.linspace(-0.65, 0.65, 6), False, 24, document=0.3, taste=0.2),
    "20 documents": World(np.linspace(-0.5, 0.5, 6), False, 40, document=0.3, taste=0.2),
    "40 documents": World(np.linspace(-0.35, 0.35, 6), False, 80, document=0.3, taste=0.2),
    "20 documents, 12 systems": World(np.linspace(-0.5, 0.5, 12), False, 40, document=0.3, taste=0.2),
    "20 documents, labels": World(np.linspace(0.5, 0.85, 6), True, 40, document=0.3, taste=0.2),
    "20 documents, one far away": World(np.array([0, 0.2, 0.4, 0.6, 0.8, 3]), False, 40, document=0.3, taste=0.2),
}
"""Systems that differ; half of the documents are rated."""
SHARE, SHARE_OF_FEW = 0.7, 0.4
"""What is claimed at least, of what is claimed where all errors are known; of fewer than twelve documents."""


def differences_found(tables: int, names: Sequence[str] = tuple(SPREAD)) -> Iterator[Row]:
    """Count claims where systems differ, beside those by known errors, and tables whose bounds all hold."""
    for name in names:
        world = SPREAD[name]
        i, j = np.triu_indices(len(world.means), 1)
        truth = world.means[i] - world.means[j]
        for corrected in (False, True):
            rng, rows = stream(1, "judge_found", name), []
            for _ in range(tables):
                of = sum_by_document(drawn(rng, world), "judge")[1]
                rows.append(compare_by_flips(rng, influence(of, corrected=corrected), (i, j), level=LEVEL, flips=FLIPS))
            gap = np.array([one.difference for one in rows])
            error = gap.std(0, ddof=1)
            bar = np.quantile(np.abs((gap - gap.mean(0)) / error).max(1), 1 - LEVEL)
            known = float((np.abs(gap) > bar * error).mean())
            found = np.array([(one.adjusted <= LEVEL).mean() for one in rows])
            held = float(np.mean([((one.low <= truth) & (truth <= one.high)).all() for one in rows]))
            way = SAID["corrected" if corrected else "humans"]
            share = SHARE_OF_FEW if name == "8 documents" else SHARE
            yield Row(
                f"differences found, {way}",
                f"{name} (errors known: {known:.2f})",
                round(share * known, 2),
                float(found.mean()),
                float(found.std(ddof=1) / tables**0.5),
                tables,
                "at least",
            )
            error_of = max(mcse(held, tables), mcse(LEVEL, tables) / 2)
            yield Row(f"all differences in their intervals, {way}", name, 1 - LEVEL, held, error_of, tables, "at least")


SAID = {"humans": "humans alone", "corrected": "PPI++", "chosen": "as the metric's verdict has it"}


def _row(name: str, setting: str, value: float, tables: int, side: Side = "at most") -> Row:
    return Row(name, setting, LEVEL, value, max(mcse(value, tables), mcse(LEVEL, tables) / 2), tables, side)


class Counted(NamedTuple):
    """Hold shares of studies: some wrong claim with `humans` alone, `corrected`, `chosen`, and by two bad controls.

    `chosen`: humans alone unless the metric is shown to pay on the same table, as conclusions do.

    `segments`: paired tests of single outputs that know of no documents; `plug_in`: the metric's own means, as if they
    were humans'. `together`: all bounds of differences hold, `each`: a mean's own interval holds; both corrected.
    """

    humans: float
    corrected: float
    chosen: float
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
        of = sum_by_document(evidence, "judge")[1]
        found = [
            compare_by_flips(rng, influence(of, corrected=way), (i, j), level=LEVEL, flips=FLIPS)
            for way in (False, True)
        ]
        low, high = intervals(influence(of, corrected=True), LEVEL)
        y, g = _by_item(evidence, evidence.human), _by_item(evidence, evidence.metrics["judge"])
        pays = gain(rng, of, flips=FLIPS).p_value <= LEVEL / 2 and compare_widths(*found) < 1
        rows.append((
            *(_wrong(one.adjusted <= LEVEL, one.difference, truth) for one in (*found, found[int(pays)])),
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
        labels = binarise_metric(evidence, "judge", 0.0)
        if labels is None:
            raise ValueError("a world of labels has labels")
        for one in posteriors(evidence, labels.says, LEVEL)[0]:
            truth = world.means[evidence.system_names.index(one.system)]
            held.setdefault(one.method, []).append(bool(one.low <= truth <= one.high))
    return {method: float(np.mean(inside)) for method, inside in held.items()}


def mcse(share: float, tables: int) -> float:
    """Return the Monte-Carlo standard error of a share of tables."""
    return float(np.sqrt(share * (1 - share) / tables))


def _by_item(evidence: OutputEvidence, value: Floats) -> Floats:
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
