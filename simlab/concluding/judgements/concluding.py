"""Conclude from outputs that humans and metrics scored: who is better, and what each metric is worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import Compared, Influence, compared, influence, intervals
from simlab.analysis.means.documents import Totals
from simlab.concluding.conclusion import Conclusion, Estimated, Metric, Pair, Promise
from simlab.concluding.judgements.gathering import Evidence, gather
from simlab.concluding.judgements.posteriors import posteriors
from simlab.concluding.judgements.quality import binary, correlations, youden
from simlab.concluding.judgements.standing import POWER, more_documents, pairs_of, systems_of
from simlab.concluding.judgements.totals import laid
from simlab.concluding.judgements.verdicts import FEWEST, verdict, width_of
from simlab.concluding.wanted import LEVEL, Wanted
from simlab.messages import legible, or_nearest, several
from simlab.rng import stream
from simlab.types import JUDGE, InputError, Ints

FLIPS = 9_999
LEAST = 3
"""Documents that humans rated of each system, below which nothing is estimated."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """Hold what is compared: systems that humans rated, pairs of them, the level and a margin."""

    names: tuple[str, ...]
    places: tuple[Ints, Ints]
    level: float
    margin: float | None
    seed: int
    lower_is_better: bool

    def stream(self, *words: str) -> np.random.Generator:
        """Return the generator for a purpose."""
        return stream(self.seed, "conclude", *words)


@dataclass(frozen=True, slots=True)
class _Way:
    """Hold means and pairs by one way of estimating."""

    of: Totals
    means: Influence
    found: Compared
    pairs: Sequence[Pair]


def conclude(table: Path, wanted: Wanted, say: Callable[[str], None]) -> Conclusion:
    """Conclude from a table of outputs that humans and metrics scored, or from two tables.

    Systems and pairs are those of humans alone, unless one metric is asked about (or there is only one) and it pays:
    then they are corrected by it. Raises InputError for what cannot be read, is asked wrongly or tells nothing.
    """
    if wanted.promise == "anytime":
        raise InputError(
            "--promise anytime: is a promise of preferences; judgements are concluded from once, at the end"
        )
    evidence = gather(table, wanted)
    systems, of = laid(evidence, None)
    _check(of, [evidence.system_names[k] for k in systems], table)
    asked = _asked(evidence, systems, wanted)
    alone = _way(asked, of, corrected=False)
    metrics, used, notes = [], None, list(evidence.notes)
    for name in evidence.metrics:
        say(f"holding {name} against humans")
        metric, way, said = _metric(evidence, asked, alone, name, wanted)
        metrics.append(metric)
        notes += said
        if len(evidence.metrics) == 1 and metric.verdict != "leave_out":
            used = way
    way = alone if used is None else used
    return Conclusion(
        question=JUDGE,
        read=evidence.read,
        line=evidence.line,
        unit="share adequate" if evidence.labels else "points",
        lower_is_better=evidence.lower_is_better,
        promise=_promise(asked, of),
        systems=systems_of(asked.names, of.n.sum(1).astype(np.int64), way.means, asked.level, way.pairs),
        pairs=way.pairs,
        metrics=metrics,
        detectable=_detectable(way.found),
        lines=_lines(metrics, used is not None),
        about=_about(evidence, asked, metrics, used is not None),
        notes=notes,
        warnings=_warnings(evidence, of, asked),
    )


def _check(of: Totals, names: Sequence[str], table: Path) -> None:
    """Raise InputError where nothing can be compared."""
    if len(names) < 2:
        raise InputError(f"{legible(table)}: humans rated outputs of {names[0]} only; rate another system's, too")
    for name, row in zip(names, of.n, strict=True):
        n = int((row > 0).sum())
        if n < LEAST:
            raise InputError(
                f"{legible(table)}: humans rated outputs of {several(n, 'document')} of {legible(name, 40)}, and "
                f"documents are what is drawn; rate outputs of {LEAST} at least"
            )


def _asked(evidence: Evidence, systems: Ints, wanted: Wanted) -> _Asked:
    names = tuple(evidence.system_names[k] for k in systems)
    first, second = np.triu_indices(len(names), 1)
    if wanted.against is not None:
        if wanted.against not in names:
            raise InputError(
                f"--against {legible(wanted.against, 40)}: is no system that humans rated; "
                f"{or_nearest(wanted.against, names, 'there are', 200)}"
            )
        at = names.index(wanted.against)
        second = np.array([k for k in range(len(names)) if k != at])
        first = np.full(len(second), at)
    level = LEVEL if wanted.level is None else wanted.level
    return _Asked(names, (first, second), level, wanted.margin, wanted.seed, evidence.lower_is_better)


def _way(asked: _Asked, of: Totals, *, corrected: bool) -> _Way:
    means = influence(of, corrected=corrected)
    found = compared(asked.stream("flips"), means, asked.places, level=asked.level, flips=FLIPS)
    judged = of.n[:, (of.n > 0).any(0)]
    more = more_documents(found, means, asked.places, 2 * float(judged.mean()))
    pairs = pairs_of(
        asked.names, asked.places, found,
        level=asked.level, lower_is_better=asked.lower_is_better, margin=asked.margin, more=more,
    )  # fmt: skip
    return _Way(of, means, found, pairs)


def _metric(
    evidence: Evidence, asked: _Asked, alone: _Way, name: str, wanted: Wanted
) -> tuple[Metric, _Way, Sequence[str]]:
    """Say what a table tells of a metric, and what follows with it."""
    of = laid(evidence, name)[1]
    few = int((of.n > 0).any(0).sum()) < FEWEST
    way = alone if few else _way(asked, of, corrected=True)
    labels = binary(evidence, name, wanted.threshold) if evidence.labels else None
    found = verdict(
        asked.stream("verdict", name), evidence, name, None if labels is None else labels.says, of, asked.places,
        (alone.found, way.found), level=asked.level, margin=asked.margin, flips=FLIPS,
    )  # fmt: skip
    estimates, notes = _estimated(asked, "human", alone) + _estimated(asked, "ppi", way), []
    if labels is not None:
        quality, spread = youden(evidence, labels.says, asked.level)
        more, said = posteriors(evidence, labels.says, asked.level)
        estimates, notes = estimates + more, [*labels.notes, *said]
    else:
        quality, spread = correlations(evidence, name, asked.level)
        if not evidence.labels:
            notes.append(
                f"{name}: human scores are no labels, so that there is no posterior of shares (--adequate-from X)"
            )
    metric = Metric(
        name, found.verdict, found.reason, found.labels, "correlation" if labels is None else "youden", quality,
        spread, width_of(alone.found, way.found), estimates, way.pairs,
    )  # fmt: skip
    return metric, way, notes


def _estimated(asked: _Asked, method: str, way: _Way) -> list[Estimated]:
    low, high = intervals(way.means, asked.level)
    return [
        Estimated(method, name, float(way.means.value[k]), float(low[k]), float(high[k]))
        for k, name in enumerate(asked.names)
    ]


def _promise(asked: _Asked, of: Totals) -> Promise:
    which = f"all {len(asked.places[0])} pairs at once" if len(asked.places[0]) > 1 else "one pair"
    says = (
        f"with {100 * (1 - asked.level):g} % probability no claim below is wrong: {which}, documents taken as drawn "
        "from more like them, those who rated as given (flips of whole documents, max-T)"
    )
    return Promise("fixed", asked.level, "max_t", True, says)


def _detectable(found: Compared) -> float | None:
    known = found.se[np.isfinite(found.reach)] * (found.reach[np.isfinite(found.reach)] + ndtri(POWER))
    return float(np.median(known)) if len(known) else None


def _lines(metrics: Sequence[Metric], used: bool) -> list[str]:
    if not metrics:
        return []
    if used:
        return [f"Means and pairs are corrected by {metrics[0].name} (PPI++)."]
    if len(metrics) == 1:
        return [f"Means and pairs are those of humans alone: {metrics[0].name} is left out."]
    return ["Means and pairs are those of humans alone; --metric NAME corrects them by one."]


def _about(evidence: Evidence, asked: _Asked, metrics: Sequence[Metric], used: bool) -> dict[str, object]:
    return {
        "estimator": "ppi" if used else "human",
        "test": "document_flips",
        "flips": FLIPS,
        "level": asked.level,
        "raters": "fixed",
        "documents": "drawn",
        "labels": int(evidence.rated.sum()),
        "outputs": len(evidence.system),
        "metrics": [one.name for one in metrics],
    }


def _warnings(evidence: Evidence, of: Totals, asked: _Asked) -> list[str]:
    said = []
    unseen = [name for name in evidence.system_names if name not in asked.names]
    if unseen:
        said.append(
            f"no human rated {', '.join(unseen)}: nothing is claimed about {'it' if len(unseen) == 1 else 'them'}; the "
            "joint posterior extrapolates, taking the metric to be as good there as elsewhere"
        )
    if np.isfinite(evidence.human).any() and np.ptp(evidence.human[evidence.rated]) == 0:
        said.append("humans gave all outputs the same score: nothing can be told apart")
    documents = int((of.n > 0).any(0).sum())
    if documents < 6:
        said.append(f"humans rated {documents} documents: with fewer than 6 no difference can be claimed at .05")
    return said
