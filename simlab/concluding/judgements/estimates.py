"""Estimate and compare systems from judgements (human scores of single outputs), with or without a metric's scores.

`conclude_by_plan` takes the judgements of a plan and returns the conclusion by the plan's estimator. Without a plan
call `sum_by_document`, `choose_comparison` and `estimate_way`, which returns means and pairs; their `evidence` has one
entry per output. `places` are two arrays, the first and the second system of each pair, as places among the systems
that humans rated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.analysis.means.document_pairs import (
    MeanInfluence,
    PairDifferences,
    compare_by_flips,
    influence,
    intervals,
    share_intervals,
)
from simlab.analysis.means.documents import Totals
from simlab.analysis.needed_units import ObservedEstimate, count_needed_units
from simlab.answers.conclude import Conclusion, Promise
from simlab.answers.standings import Limit, More, Pair, Rank, System, rank_limits
from simlab.concluding.judgements.gathering import OutputEvidence
from simlab.concluding.options import LEVEL, ConcludeOptions
from simlab.concluding.possible_ranks import bound_ranks, compare_with_margin
from simlab.concluding.ratings.limits import TECHNIQUE
from simlab.messages import clip, pluralise, suggest
from simlab.parts import name_of
from simlab.rng import stream
from simlab.studies.judgements.concluding import conclude
from simlab.studies.judgements.preparing import prepare
from simlab.types import Array, Bools, Collected, Floats, InputError, Ints

ROUNDING = 1e-9
"""Share of a difference below which its standard error is rounding alone."""

LIMIT = 100_000.0
"""Largest number of further documents that is foreseen."""

FLIPS = 9_999
LEAST = 3
"""Least number of documents of each system with human ratings."""


def sum_by_document(evidence: OutputEvidence, metric: str | None) -> tuple[Ints, Totals]:
    """Return the numbers of the systems that humans rated, and their sums by document, `[system, document]`.

    `metric` names the metric whose scores are summed as well (None: no metric). A missing score counts as its system's
    mean: the mean of the correction is 0 for any scores, and no rating is left out.
    """
    rated = evidence.rated
    systems = np.unique(evidence.system[rated])
    ones = np.ones(len(evidence.system))
    n, y = _sums(evidence, systems, ones * rated), _sums(evidence, systems, np.where(rated, evidence.human, 0.0))
    if metric is None:
        return systems, Totals(n, y, np.zeros_like(y), None, None)
    scores = fill_scores(evidence, evidence.metrics[metric])
    return systems, Totals(n, y, _sums(evidence, systems, scores * rated), _sums(evidence, systems, ones),
                           _sums(evidence, systems, scores))  # fmt: skip


def fill_scores(evidence: OutputEvidence, score: Floats) -> Floats:
    """Return `score[output]` with gaps filled by the system's mean score; 0 where the metric scored no output of it.

    Scores are taken about the mean of all, so that no digits are lost.
    """
    known = np.isfinite(score)
    if not known.any():
        return np.zeros(len(score))
    deviation = np.where(known, score - score[known].mean(), 0.0)
    n = np.bincount(evidence.system, known, len(evidence.system_names))
    mean = np.bincount(evidence.system, deviation, len(evidence.system_names)) / np.maximum(n, 1)
    return np.where(known, deviation, mean[evidence.system])


def _sums(evidence: OutputEvidence, systems: Ints, value: Floats) -> Floats:
    width = evidence.n_documents
    flat = np.bincount(evidence.system * width + evidence.document, value, len(evidence.system_names) * width)
    return np.asarray(flat.reshape(-1, width)[systems], float)


def list_systems(
    names: Sequence[str], n: Ints, of: MeanInfluence, level: float, pairs: Sequence[Pair], *, labels: bool
) -> list[System]:
    """Return each system's mean with its interval, and the ranks that no claim rules out.

    `n[system]` counts ratings, `of` are the means, and intervals miss with probability `level`; `labels`: means are
    shares, bounded by 0 and 1.
    """
    low, high = (share_intervals if labels else intervals)(of, level)
    ranks = {name: [1, len(names)] for name in names}
    for pair in pairs:
        if pair.verdict:
            better, worse = (pair.first, pair.second) if pair.verdict > 0 else (pair.second, pair.first)
            ranks[worse][0] += 1
            ranks[better][1] -= 1
    return [
        System.build(name, int(n[k]), float(of.value[k]), float(low[k]), float(high[k]), *ranks[name])
        for k, name in enumerate(names)
    ]


def list_pairs(
    names: Sequence[str],
    places: tuple[Ints, Ints],
    differences: PairDifferences,
    *,
    level: float,
    lower_is_better: bool,
    margin: float | None,
    more: Sequence[More | None],
) -> list[Pair]:
    """Return the record of each pair, claimed if its adjusted p-value is at most `level`.

    `names[k]` is a system, `margin` a difference that does not matter (None: not given), `more[pair]` the documents
    that would settle an open pair. Where a difference does not vary between documents its error is unknown: its bounds
    are then those that the claim allows.
    """
    turn = -1 if lower_is_better else 1
    pairs = []
    for k, (i, j) in enumerate(zip(*(place.tolist() for place in places), strict=True)):
        gap, low, high = (float(part[k]) for part in (differences.difference, differences.low, differences.high))
        direction = int(np.sign(turn * gap))
        claimed = differences.adjusted[k] <= level
        if not (known := is_scattered(differences)[k]):
            low = 0.0 if claimed and gap > 0 else -np.inf
            high = 0.0 if claimed and gap < 0 else np.inf
        oriented = (low, high) if turn > 0 else (-high, -low)
        pairs.append(
            Pair(
                first=names[i],
                second=names[j],
                difference=gap,
                low=low,
                high=high,
                p_value=float(differences.p_value[k]),
                adjusted=float(differences.adjusted[k]),
                direction=direction,
                verdict=direction if claimed else 0,
                within=None if margin is None else compare_with_margin(*oriented, margin),
                more=more[k] if known and not claimed else None,
            )
        )
    return pairs


def is_scattered(differences: PairDifferences) -> Bools:
    """Return which differences vary between documents, beyond rounding, `[pair]`."""
    return np.asarray(differences.se > ROUNDING * np.maximum(1.0, np.abs(differences.difference)))


def more_documents(
    differences: PairDifferences, of: MeanInfluence, places: tuple[Ints, Ints], each: float
) -> list[More]:
    """Return the number of further rated documents, of `each` ratings, that settles each pair with 80 % power.

    The variance from documents with ratings falls with their number; that from documents with a metric's scores alone
    is taken to stay.
    """
    judged: Bools = np.asarray((of.share > 0).any(0))
    part = of.part[places[0]] - of.part[places[1]]
    own, rest = (part[:, judged] ** 2).sum(1), (part[:, ~judged] ** 2).sum(1)
    numbers = [
        count_needed_units(
            ObservedEstimate(float(gap), float(noise), float(lasting), float(reach), int(judged.sum())), LIMIT
        )
        for gap, noise, lasting, reach in zip(differences.difference, own, rest, differences.reach, strict=True)
    ]
    return [
        More.build("documents", *number, limit=LIMIT, per_unit=each, answers="ratings of these two")
        for number in numbers
    ]


@dataclass(frozen=True, slots=True)
class JudgedComparison:
    """Terms of a comparison: systems that humans rated, pairs of them, the level and a margin.

    `names[k]` is a system; `places` are the first and the second of each pair, as places in `names`. `flips` counts the
    random flips of the test; `labels`: ratings are labels 0 and 1, and means are shares.
    """

    names: tuple[str, ...]
    places: tuple[Ints, Ints]
    level: float
    margin: float | None
    seed: int
    lower_is_better: bool
    flips: int = FLIPS
    labels: bool = False

    def stream(self, *words: str) -> np.random.Generator:
        """Return the generator for a purpose."""
        return stream(self.seed, "conclude", *words)


class Way(NamedTuple):
    """Sums by document, and the means, differences and pairs that follow, by humans alone or corrected by a metric."""

    totals: Totals
    means: MeanInfluence
    differences: PairDifferences
    pairs: Sequence[Pair]


def check(of: Totals, names: Sequence[str], table: Path) -> None:
    """Raise InputError, naming the table, where fewer than two systems, or too few documents, can be compared."""
    if len(names) < 2:
        raise InputError(f"{clip(table)}: humans rated outputs of {names[0]} only; rate another system's, too")
    for name, row in zip(names, of.n, strict=True):
        n = int((row > 0).sum())
        if n < LEAST:
            raise InputError(
                f"{clip(table)}: humans rated outputs of {pluralise(n, 'document')} of {clip(name, 40)}, and "
                f"documents are what is drawn; rate outputs of {LEAST} at least"
            )


def choose_comparison(evidence: OutputEvidence, systems: Ints, wanted: ConcludeOptions) -> JudgedComparison:
    """Return the systems and pairs to be compared; raise InputError for a baseline that humans did not rate."""
    names = tuple(evidence.system_names[k] for k in systems)
    first, second = np.triu_indices(len(names), 1)
    if wanted.against is not None:
        if wanted.against not in names:
            raise InputError(
                f"--against {clip(wanted.against, 40)}: is no system that humans rated; "
                f"{suggest(wanted.against, names, 'there are', 200)}"
            )
        at = names.index(wanted.against)
        second = np.array([k for k in range(len(names)) if k != at])
        first = np.full(len(second), at)
    level = LEVEL if wanted.level is None else wanted.level
    return JudgedComparison(
        names, (first, second), level, wanted.margin, wanted.seed, evidence.lower_is_better, labels=evidence.labels
    )


def estimate_way(comparison: JudgedComparison, of: Totals, *, corrected: bool) -> Way:
    """Return means, differences and pairs of systems, from sums `of` documents.

    `corrected`: means are corrected by the metric whose scores are in `of`.
    """
    means = influence(of, corrected=corrected)
    differences = compare_by_flips(
        comparison.stream("flips"), means, comparison.places, level=comparison.level, flips=comparison.flips
    )
    judged = of.n[:, (of.n > 0).any(0)]
    more = more_documents(differences, means, comparison.places, 2 * float(judged.mean()))
    pairs = list_pairs(
        comparison.names, comparison.places, differences,
        level=comparison.level, lower_is_better=comparison.lower_is_better, margin=comparison.margin, more=more,
    )  # fmt: skip
    return Way(of, means, differences, pairs)


def conclude_by_plan(
    config: Mapping[str, Any], collected: Collected, wanted: ConcludeOptions, say: Callable[[str], None]
) -> Conclusion:
    """Conclude from `collected` by the estimator of the plan's `config`, by the code that concludes simulated studies.

    Raises InputError for a promise that is not the plan's, and for a baseline that is not there.
    """
    if wanted.promise == "anytime":
        raise InputError("--promise anytime: is of preferences; judgements are concluded from once, at the end")
    names = collected.frame.system_names
    if wanted.against is not None and wanted.against not in names:
        hint = suggest(wanted.against, names, "it has", 300)
        raise InputError(f"--against {clip(wanted.against, 60)}: no such system; {hint}")
    outcome = {name: values[0] for name, values in conclude(prepare(config), [collected]).items()}
    n = len(collected.seen.value)
    line = f"{pluralise(n, 'judgement')} of {pluralise(len(names), 'system')}"
    why = "studies of a plan's estimator are not carried out again after the fact"
    return Conclusion(
        question="judge",
        read={"rows": n, "used": n, "systems": len(names)},
        line=line + ("" if collected.metric is None else ", with a metric"),
        unit="share adequate" if collected.known["binary"] else "points",
        better="higher",
        promise=_promise(config["decision"], len(names)),
        systems=_systems(outcome, collected),
        pairs=_pairs(outcome, names, wanted),
        about=_describe_analysis(config, outcome),
        notes=("bounds of differences are each pair's own, those of the plan's estimator",),
        warnings=_warnings(outcome, names),
        repetition_missing=why,
        control_missing=why,
    )


def _systems(outcome: Mapping[str, Array], collected: Collected) -> list[System]:
    names = collected.frame.system_names
    low, high = bound_ranks(np.where(outcome["significant"], outcome["direction"], 0), len(names))
    n = np.bincount(collected.seen.unit, minlength=len(names))
    rows = zip(names, n, outcome["estimate"], outcome["low"], outcome["high"], low, high, strict=True)
    return [
        System(system=name, n=int(k), estimate=float(e), low=float(a), high=float(b), rank_low=int(c), rank_high=int(d))
        for name, k, e, a, b, c, d in rows
    ]


def _pairs(outcome: Mapping[str, Array], names: Sequence[str], wanted: ConcludeOptions) -> list[Pair]:
    """Return what the estimator says of pairs; of a margin nothing, since its bounds are each pair's own."""
    first, second = np.triu_indices(len(names), 1)
    adjusted = outcome.get("adjusted_p_value", outcome["p_value"])
    difference = outcome["estimate"][first] - outcome["estimate"][second]
    pairs = [
        Pair(
            first=names[first[k]],
            second=names[second[k]],
            difference=float(difference[k]),
            low=float(outcome["difference_low"][k]),
            high=float(outcome["difference_high"][k]),
            p_value=float(outcome["p_value"][k]),
            adjusted=float(adjusted[k]),
            direction=int(outcome["direction"][k]),
            verdict=int(outcome["direction"][k]) if outcome["significant"][k] else 0,
        )
        for k in range(len(first))
    ]
    return [pair for pair in pairs if wanted.against is None or wanted.against in (pair.first, pair.second)]


def _promise(decision: Mapping[str, Any], n_systems: int) -> Promise:
    level, multiplicity = float(decision["level"]), str(decision.get("multiplicity", "none"))
    pairs, technique = pluralise(n_systems * (n_systems - 1) // 2, "pair"), TECHNIQUE.get(multiplicity, "")
    if multiplicity == "none":
        says = (
            f"a pair of equal systems is claimed to differ with at most {100 * level:g} % probability, each by itself"
        )
    elif multiplicity == "bh":
        says = f"of the claims below at most {100 * level:g} % are wrong on average, among {pairs} ({technique})"
    else:
        says = f"with {100 * (1 - level):g} % probability no claim below is wrong: {pairs} at once ({technique})"
    return Promise(
        name="fixed",
        level=level,
        multiplicity=multiplicity,
        holds=True,
        says=f"{says}; outputs taken as drawn from more like them",
    )


def _describe_analysis(config: Mapping[str, Any], outcome: Mapping[str, Array]) -> dict[str, Any]:
    estimator = config["analysis"]["estimator"]
    youden = [float(value) for value in outcome["youden"]] if "youden" in outcome else None
    return {"estimator": name_of(estimator), "intervals": "each by itself", "youden": youden}


def _warnings(outcome: Mapping[str, Array], names: Sequence[str]) -> list[Limit]:
    skewed = [names[k] for k in np.flatnonzero(outcome["skewed"]).tolist()]
    lines = [f"judgements of {', '.join(skewed)} are too skewed for their intervals"] if skewed else []
    return rank_limits(Rank.NUMBERS, lines)
