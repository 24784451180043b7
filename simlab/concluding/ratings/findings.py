"""Conclude from collected ratings by the analysis of a config: systems, pairs, raters, claims and warnings.

`conclude_ratings` returns the conclusion without check and repetition, which `repetitions.add_repetition` adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from simlab.analysis.normalization import spread_within
from simlab.answers.conclude import Conclusion, Promise
from simlab.answers.standings import Family, Pair, Rank, Rater, System, rank_limits
from simlab.concluding.goals import POINTS
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.possible_ranks import list_groups
from simlab.concluding.ratings.families import (
    Answering,
    FamilyQuestion,
    choose_family,
    find_candidates,
    mark_exclusions,
    mark_pairs,
    near_level,
    rank_by_candidates,
)
from simlab.concluding.ratings.judging import check, estimate_uncertainty, mark_family, verdicts
from simlab.concluding.ratings.limits import Basis, blind_pairs, list_warnings, misleading_means, promise
from simlab.concluding.ratings.standings import (
    DOCUMENTS,
    MODELS,
    Spans,
    adjust_false_coverage,
    find_drawn_in_family,
    find_drawn_units,
    list_pairs,
    list_raters,
    list_systems,
)
from simlab.parts import name_of
from simlab.studies.ratings.concluding import conclude, document_totals, make_scored_ratings, score_ratings
from simlab.studies.ratings.preparing import PreparedRatings, prepare
from simlab.types import Array, Collected, FamilyName, ImpossibleValue, InputError, ScoredRatings

INTERVALS: Mapping[FamilyName | None, str] = {
    None: "each by itself",
    "fdr": "so that of those claimed the level's share misses on average",
    "best": "none: of systems behind the best all at once",
}
"""For each family, which intervals of differences hold together; other families: all pairs at once."""


Told = TypeVar("Told", System, Pair, Rater)


class TableReading(NamedTuple):
    """Description of a table: `read` for programs, `line` for people, and whether raters are named.

    `lone_segments`: the table has no documents, so that each segment is one. `anew`: answers of raters without names
    were averaged.
    """

    read: Mapping[str, Any]
    line: str
    raters_named: bool = True
    lone_segments: bool = False
    anew: bool = False


def conclude_ratings(
    config: Mapping[str, Any],
    collected: Collected,
    wanted: ConcludeOptions,
    table: TableReading,
    notes: Sequence[str] = (),
) -> Conclusion:
    """Conclude from a campaign by the analysis of a config, whether it is a plan's or made of a user's table.

    `table` describes the table and `notes` are sentences on it. Estimates, directions, p-values and, without a
    baseline, verdicts are those of the kind of study; where `wanted.unit` is given z-scores become points.

    Raises InputError for a baseline that is not there, and for a family of pairs that the test cannot judge together.
    """
    points = wanted.unit is not None and _unit(config) != POINTS
    # Ratings that are all alike have no standard deviation by which z-scores could be turned into points.
    sd = spread_within(collected.seen) if points else 0.0
    if not sd:
        return _conclude_scores(config, collected, wanted, table, notes)
    options = replace(wanted, margin=None if wanted.margin is None else wanted.margin / sd)
    conclusion = _conclude_scores(config, collected, options, table, notes, sd)
    return _convert_to_points(conclusion, sd, float(collected.seen.value.mean()), wanted)


def _conclude_scores(
    config: Mapping[str, Any],
    collected: Collected,
    wanted: ConcludeOptions,
    table: TableReading,
    notes: Sequence[str],
    sd: float = 1.0,
) -> Conclusion:
    """Conclude on the scale of the analysis; `sd` is how many points one unit of it is, for warnings in points."""
    prepared = prepare(config)
    check(config, prepared, collected)
    frame, test = collected.frame, config["analysis"]["test"]
    question = choose_family(config, wanted)
    family = mark_family(frame.system_names, question.against)
    rated = _score_ratings(prepared, collected)
    outcome = {name: values[0] for name, values in conclude(prepared, [collected]).items()}
    all_spans = estimate_uncertainty(config, prepared, collected, rated, family)
    model = all_spans.uncertainty.comparisons
    drawn = find_drawn_units(test) if model is None else find_drawn_in_family(model, family)
    pair_verdicts = verdicts(prepared, collected, outcome, rated, family, all_spans.uncertainty.centre)
    if question.name == "fdr":
        # Intervals that are picked because they exclude 0 cover less often than unpicked ones.
        all_spans = adjust_false_coverage(
            all_spans, int(np.count_nonzero(pair_verdicts.verdict)), family, prepared.level
        )
    scale = _scale(config, table)
    limits = list_warnings(collected, all_spans, prepared, drawn, pair_verdicts)
    blind = any(blind_pairs(pair_verdicts, prepared))
    marks = mark_pairs(question.name, prepared, collected, rated, pair_verdicts, all_spans)
    of_pairs, spans, candidates = pair_verdicts, all_spans, None
    if question.name == "best":
        # Who may be best is claimed of systems; differences of single pairs have neither verdicts nor bounds.
        candidates = find_candidates(all_spans, pair_verdicts.direction, frame.n_systems, prepared.level)
        nothing = np.full(len(family), np.nan)
        of_pairs = pair_verdicts._replace(verdict=np.zeros_like(pair_verdicts.verdict), adjusted=nothing)
        marks, spans = mark_exclusions(candidates, family), all_spans._replace(bar=np.full(len(family), np.inf))
    systems = list_systems(
        collected, outcome, rated, of_pairs.verdict, drawn != DOCUMENTS, prepared.level, scale, model
    )
    systems = systems if candidates is None else rank_by_candidates(systems, candidates, frame.system_names)
    pairs = list_pairs(
        frame.system_names,
        of_pairs,
        spans,
        wanted if candidates is None else replace(wanted, margin=None),
        lower_is_better=frame.lower_is_better,
        widest=scale[1] - scale[0],
        blind=blind,
        raters_drawn="raters" in drawn,
        marks=marks,
    )
    shown = [_pair_in_points(pair, sd) for pair in pairs]
    promised = _state_promise(prepared, question, table, drawn, pairs, frame.n_raters)
    order = [system.system for system in systems]
    answering = Answering(prepared, collected, rated, outcome, all_spans, order, scale[1] - scale[0], wanted.margin)
    answer = (
        None
        if question.name is None
        else answering.answer(question.name, pair_verdicts.verdict, pair_verdicts.direction, promised.says)
    )
    other = (
        None
        if question.other is None
        else answering.explore(question.other, question.other_against, pair_verdicts.direction)
    )
    return Conclusion(
        question="rate",
        read=table.read,
        line=table.line,
        unit=(wanted.unit or POINTS) if _unit(config) == POINTS else _unit(config),
        better="lower" if frame.lower_is_better else "higher",
        promise=promised,
        systems=systems,
        pairs=pairs,
        raters=list_raters(collected, rated, prepared.level) if table.raters_named else (),
        detectable=_median([pair.detectable for pair in pairs if pair.detectable is not None]),
        confounded=0 if model is None else int((family & (model.lone | model.pools)).sum()),
        about=_describe_analysis(config, wanted, question, drawn, systems, pair_verdicts.verdict, frame.system_names),
        notes=(*notes, *_note_normalization(config)),
        warnings=(
            *rank_limits(Rank.NUMBERS, misleading_means(shown, rated, frame.system_names, frame.rater_names)),
            *rank_limits(Rank.PROMISE, _warn_of_lone_segments(table)),
            *limits,
            *rank_limits(Rank.NUMBERS, _near_level(answer, pairs, all_spans, prepared)),
        ),
        family=answer,
        exploratory=other,
    )


def _near_level(
    answer: Family | None, pairs: Sequence[Pair], spans: Spans, prepared: PreparedRatings
) -> tuple[str, ...]:
    """Name what other draws might decide otherwise; false discovery rates rest on Student's t, without draws."""
    if answer is None or prepared.multiplicity != "max_t":
        return ()
    if answer.name == "best":
        return near_level(
            spans, prepared.level, {candidate.system: candidate.p_value for candidate in answer.candidates}
        )
    return near_level(spans, prepared.level, {f"{pair.first} - {pair.second}": pair.adjusted for pair in pairs})


def _scale(config: Mapping[str, Any], table: TableReading) -> tuple[float, float]:
    """Return the least and the largest mean that scores as they are allow; normalised ones have no such ends."""
    scale = table.read.get("scale")
    if scale is None or name_of(config["analysis"]["normalization"]) != "none":
        return -np.inf, np.inf
    return float(scale[0]), float(scale[1])


def _score_ratings(prepared: PreparedRatings, collected: Collected) -> ScoredRatings:
    """Normalise ratings and add them up; raise InputError where a normalisation makes them what they cannot be."""
    try:
        return make_scored_ratings(collected, score_ratings(prepared, collected), document_totals(prepared, collected))
    except ImpossibleValue as error:
        raise InputError(f"{error}; choose another normalization") from error


def _state_promise(
    prepared: PreparedRatings,
    question: FamilyQuestion,
    table: TableReading,
    drawn: frozenset[str],
    pairs: Sequence[Pair],
    n_raters: int,
) -> Promise:
    level, multiplicity = prepared.level, prepared.multiplicity
    given = sum(pair.scope == "these_raters" for pair in pairs) if "raters" in drawn else 0
    known = table.raters_named, table.anew
    basis = Basis(level, multiplicity, len(pairs), question.against, drawn, n_raters, *known, given, question.name)
    return promise(basis)


def _note_normalization(config: Mapping[str, Any]) -> tuple[str, ...]:
    name = name_of(config["analysis"]["normalization"])
    note = f"raters' leniency is what the normalization {name} leaves of it"
    return () if name == "none" else (note,)


def _warn_of_lone_segments(table: TableReading) -> tuple[str, ...]:
    note = "the table does not say which segments belong to one document; where these are alike, claims are too many"
    return (note,) if table.lone_segments else ()


def _median(values: Sequence[float]) -> float | None:
    return float(np.median(values)) if values else None


def _convert_to_points(conclusion: Conclusion, sd: float, mean: float, wanted: ConcludeOptions) -> Conclusion:
    """Convert a conclusion from z-scores to points: `sd` is their standard deviation, `mean` their mean."""
    families = [
        None
        if family is None
        else family.replace_fields(
            candidates=[each.replace_fields(behind=each.behind * sd) for each in family.candidates]
        )
        for family in (conclusion.family, conclusion.exploratory)
    ]
    return conclusion.replace_fields(
        unit=POINTS,
        systems=[_times(each, sd, mean, "estimate", "low", "high", "plain_mean") for each in conclusion.systems],
        pairs=[_pair_in_points(each, sd) for each in conclusion.pairs],
        raters=[_times(each, sd, 0.0, "leniency", "low", "high") for each in conclusion.raters],
        detectable=None if conclusion.detectable is None else conclusion.detectable * sd,
        family=families[0],
        exploratory=families[1],
        about={**conclusion.about, **({} if wanted.margin is None else {"margin": wanted.margin})},
        notes=(
            *conclusion.notes,
            f"z-scores are told in {POINTS}, as planned: one standard deviation is {sd:.3g} points",
        ),
    )


def _pair_in_points(pair: Pair, sd: float) -> Pair:
    return _times(pair, sd, 0.0, "difference", "low", "high", "plain_mean", "detectable")


def _times(told_draws: Told, sd: float, mean: float, *names: str) -> Told:
    """Return a record with these numbers so many times as large, about another mean; None stays."""
    numbers = {name: getattr(told_draws, name) for name in names}
    values = {name: mean + sd * value for name, value in numbers.items() if value is not None}
    return told_draws.replace_fields(**cast(Any, values))


def _unit(config: Mapping[str, Any]) -> str:
    return "standard deviations" if name_of(config["analysis"]["normalization"]) == "zscore" else POINTS


def _describe_analysis(
    config: Mapping[str, Any],
    wanted: ConcludeOptions,
    question: FamilyQuestion,
    drawn: frozenset[str],
    systems: Sequence[System],
    verdict: Array,
    names: Sequence[str],
) -> dict[str, Any]:
    """Gather words and numbers for the paragraph on methods."""
    analysis = config["analysis"]
    test, normalization = analysis["test"], name_of(analysis["normalization"])
    order = [list(names).index(system.system) for system in systems]
    return {
        "methods": [*([normalization] if normalization != "none" else []), name_of(test)],
        "test": name_of(test),
        "normalization": normalization,
        "flips": test.get("flips", test.get("permutations")),
        "drawn": sorted(drawn),
        "raters": "drawn" if "raters" in drawn else "given",
        "groups": [[names[k] for k in group] for group in list_groups(verdict, order) if question.name != "best"],
        **({"estimate": "mixed model"} if name_of(test) in MODELS else {}),
        "intervals": f"of systems each by itself; of differences {INTERVALS.get(question.name, 'all at once')}",
        **({"margin": wanted.margin} if wanted.margin is not None else {}),
        **({"against": question.against} if question.against is not None else {}),
    }
