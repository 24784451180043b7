"""Conclude from outputs that humans and metrics scored: which systems are better, and what each metric is worth.

`conclude` reads the table and returns a `Conclusion`. `used` and `corrected` are True where means and pairs are
corrected by a metric (PPI: prediction-powered inference), and not those of humans alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import PairDifferences
from simlab.analysis.means.intervals import is_too_skewed
from simlab.analysis.needed_units import POWER
from simlab.answers.conclude import Conclusion, Promise
from simlab.answers.standings import Limit, Metric, Rank, rank_limits
from simlab.concluding.far_scores import is_undecided
from simlab.concluding.judgements import repetitions
from simlab.concluding.judgements.estimates import (
    FLIPS,
    JudgedComparison,
    Way,
    check,
    choose_comparison,
    estimate_way,
    is_scattered,
    list_systems,
    sum_by_document,
)
from simlab.concluding.judgements.gathering import OutputEvidence, gather
from simlab.concluding.judgements.metrics import judge_metric, uneven_labels
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.simulations import NOT_ASKED, apply_gate, note_unrepeated, seed_from_rows, try_to_simulate
from simlab.effort import current_effort
from simlab.messages import pluralise
from simlab.types import JUDGE, InputError, Ints

FEWEST_TO_CLAIM = 6

Say = Callable[[str], None]


def promise(comparison: JudgedComparison, *, used: bool) -> Promise:
    """Return the promise of claims on pairs, with the sentence on which units are taken as a sample."""
    which = f"all {len(comparison.places[0])} pairs at once" if len(comparison.places[0]) > 1 else "one pair"
    rated = ", those that humans rated at random from all" if used else ""
    says = (
        f"with {100 * (1 - comparison.level):g} % probability no claim below is wrong: {which}, documents taken as "
        f"drawn from more like them{rated}, those who rated as given (flips of whole documents, max-T)"
    )
    return Promise(name="fixed", level=comparison.level, multiplicity="max_t", holds=True, says=says)


def find_detectable(differences: PairDifferences) -> float | None:
    """Return the median over pairs of the difference found with 80 % power; None where no pair can be claimed."""
    there = np.isfinite(differences.reach) & is_scattered(differences)
    known = differences.se[there] * (differences.reach[there] + ndtri(POWER))
    return float(np.median(known)) if len(known) else None


def lines(metrics: Sequence[Metric], *, used: bool) -> list[str]:
    """Return sentences on the methods by which means and pairs are estimated."""
    if not metrics:
        return []
    if used:
        return [f"Means and pairs are corrected by {metrics[0].name} (PPI++)."]
    if len(metrics) == 1:
        return [f"Means and pairs are those of humans alone: {metrics[0].name} is left out."]
    return ["Means and pairs are those of humans alone; --metric NAME corrects them by one."]


def describe_analysis(
    evidence: OutputEvidence, level: float, metrics: Sequence[Metric], *, used: bool
) -> dict[str, object]:
    """Return the methods and numbers from which the paragraph on the analysis is written."""
    return {
        "estimator": "ppi" if used else "human",
        "test": "document_flips",
        "flips": FLIPS,
        "level": level,
        "raters": "fixed",
        "documents": "drawn",
        "labels": int(evidence.rated.sum()),
        "outputs": len(evidence.system),
        "metrics": [metric.name for metric in metrics],
    }


def warnings(evidence: OutputEvidence, comparison: JudgedComparison, way: Way) -> list[Limit]:
    """Return the limits of the conclusion, as sentences with ranks."""
    documents = int((way.totals.n > 0).any(0).sum())
    limits = [
        *rank_limits(Rank.CLAIMS, [*_name_unrated_systems(evidence, comparison), *_describe_uneven_labels(evidence)]),
        *rank_limits(Rank.NUMBERS, _describe_skewness(comparison, way)),
    ]
    if np.ptp(evidence.human[evidence.rated]) == 0:
        limits.append(Limit("humans gave all outputs the same score: nothing can be told apart", Rank.CLAIMS))
    alike = [name for name, part in zip(comparison.names, way.means.part, strict=True) if not part.any()]
    if alike:
        alone = f"all ratings of {', '.join(alike)} are alike: what they vary by is not known, and bounds are a guess"
        limits.append(Limit(alone, Rank.NUMBERS))
    if len(still := np.flatnonzero(~is_scattered(way.differences))):
        first, second = (comparison.names[place[still[0]]] for place in comparison.places)
        rest = f" and {pluralise(len(still) - 1, 'pair')} more" if len(still) > 1 else ""
        lacks = "how far such a difference is off, and which it would find, is not known"
        limits.append(Limit(f"the table shows no scatter of {first} - {second}{rest}: {lacks}", Rank.NUMBERS))
    if documents < FEWEST_TO_CLAIM:
        few = f"with fewer than {FEWEST_TO_CLAIM} no difference can be claimed at .05"
        limits.append(Limit(f"humans rated {documents} documents: {few}", Rank.CLAIMS))
    return limits


def _name_unrated_systems(evidence: OutputEvidence, comparison: JudgedComparison) -> Iterator[str]:
    names = [name for name in evidence.system_names if name not in comparison.names]
    if names:
        yield (
            f"no human rated {', '.join(names)}: nothing is claimed about {'it' if len(names) == 1 else 'them'}"
            + ("; the joint posterior extrapolates, as if the metric were as good there" if evidence.labels else "")
        )


def _describe_uneven_labels(evidence: OutputEvidence) -> Iterator[str]:
    """State where a metric's scores show that labels were not dealt at random within systems."""
    by_metric = {name: uneven for name in evidence.metrics if (uneven := uneven_labels(evidence, name)) is not None}
    if by_metric:
        name, uneven = min(by_metric.items(), key=lambda item: item[1].p_value)
        whose = f"of {uneven.system} score" if uneven.system else "of a system score on average"
        side = "higher" if uneven.difference > 0 else "lower"
        rest = f", so say {pluralise(len(by_metric) - 1, 'metric')} more" if len(by_metric) > 1 else ""
        yield (
            f"by {name} the labelled outputs {whose} {abs(uneven.difference):.2g} {side} than the others (p = "
            f"{uneven.p_value:.1g}): labels were not dealt at random within systems{rest}; what a metric corrects, and "
            "its errors, hold for labelled outputs only"
        )


def _describe_skewness(comparison: JudgedComparison, way: Way) -> Iterator[str]:
    skewed = is_too_skewed(way.means.part, way.totals.n > 0)
    if skewed.any():
        names = ", ".join(name for name, bent in zip(comparison.names, skewed, strict=True) if bent)
        yield f"ratings of {names} are too skewed for so few documents: intervals of means hold less than they say"


def conclude(table: Path, wanted: ConcludeOptions, say: Say) -> Conclusion:
    """Conclude from a table of outputs that humans and metrics scored, or from two tables.

    Systems and pairs are those of humans alone, unless one metric is asked about (or there is only one) and it pays:
    then they are corrected by it. Raises InputError for tables and options that cannot be used.
    """
    if wanted.promise == "anytime":
        raise InputError("--promise anytime: is of preferences; judgements are concluded from once, at the end")
    evidence = gather(table, wanted)
    if is_undecided(evidence.read, wanted):
        wanted, say = replace(wanted, gate=False), lambda words: None
    systems, of = sum_by_document(evidence, None)
    check(of, [evidence.system_names[k] for k in systems], table)
    comparison = choose_comparison(evidence, systems, wanted)
    alone = estimate_way(comparison, of, corrected=False)
    metrics, used, notes = _metrics(evidence, comparison, alone, wanted, say)
    way = alone if used is None else used
    conclusion = Conclusion(
        question=JUDGE,
        read=evidence.read,
        line=evidence.line,
        unit="share adequate" if evidence.labels else "points",
        better="lower" if evidence.lower_is_better else "higher",
        promise=promise(comparison, used=used is not None),
        systems=list_systems(
            comparison.names,
            of.n.sum(1).astype(np.int64),
            way.means,
            comparison.level,
            way.pairs,
            labels=comparison.labels,
        ),
        pairs=way.pairs,
        metrics=metrics,
        detectable=find_detectable(way.differences),
        lines=lines(metrics, used=used is not None),
        about=describe_analysis(evidence, comparison.level, metrics, used=used is not None),
        notes=(*evidence.notes, *notes),
        warnings=warnings(evidence, comparison, way),
    )
    return _repeat_study(conclusion, evidence, systems, comparison, way, used is not None, wanted, say)


def _metrics(
    evidence: OutputEvidence, comparison: JudgedComparison, alone: Way, wanted: ConcludeOptions, say: Say
) -> tuple[list[Metric], Way | None, list[str]]:
    """Return each metric's verdict, means and pairs by the only metric if it is not left out (else None), and notes."""
    metrics, used, notes = [], None, list[str]()
    for name in evidence.metrics:
        say(f"holding {name} against humans")
        metric, way, remarks = judge_metric(evidence, comparison, alone, name, wanted)
        metrics.append(metric)
        notes += remarks
        if len(evidence.metrics) == 1 and metric.verdict != "leave_out":
            used = way
    return metrics, used, notes


def _repeat_study(
    conclusion: Conclusion,
    evidence: OutputEvidence,
    systems: Ints,
    comparison: JudgedComparison,
    way: Way,
    corrected: bool,
    wanted: ConcludeOptions,
    say: Say,
) -> Conclusion:
    """Check a conclusion in studies with equal systems, then add how a repetition would come out."""
    if not wanted.gate or not current_effort().equal_studies:
        return note_unrepeated(conclusion, NOT_ASKED)
    say("carrying the study out again, with its documents drawn anew")
    rows = (evidence.system, evidence.item, evidence.human, *evidence.metrics.values())
    seed = seed_from_rows((*evidence.system_names, *evidence.metrics), *rows)
    checked, unchecked = try_to_simulate(
        lambda: repetitions.control(
            evidence, systems, way.totals, comparison.places, corrected=corrected, level=comparison.level, seed=seed
        )
    )
    conclusion = apply_gate(conclusion.replace_fields(control=checked, control_missing=unchecked))
    if conclusion.withdrawn:
        return conclusion
    if not wanted.again:
        return conclusion.replace_fields(repetition_missing=NOT_ASKED)
    repeated, unknown = try_to_simulate(
        lambda: repetitions.repetition(evidence, systems, way.means, comparison.places, way.pairs, comparison.seed)
    )
    return conclusion.replace_fields(repetition=repeated, repetition_missing=unknown)
