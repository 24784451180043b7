"""Judge pairs of systems by the analysis of a config: mark the family, decide claims, estimate their uncertainty.

`verdicts` returns the `PairVerdicts` of the study itself, `estimate_uncertainty` its `Spans`; `calculate_leads`,
`judge_studies` and `find_exclusions` judge many simulated studies. `prepared` holds the parts of the analysis, `rated`
the normalised ratings, and `family[pair]` marks the pairs of which claims are promised together; pairs are i < j in the
order of the systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.analysis import best
from simlab.analysis.multiplicity import adjust_p_values
from simlab.analysis.normalization import error, mean, refuse_separate_raters, zscore
from simlab.analysis.raters.contributions import differs_beyond_rounding
from simlab.analysis.raters.model_comparisons import SimulatedStudies
from simlab.analysis.raters.moderated import Judge
from simlab.analysis.studentized_range import StudentFamily
from simlab.concluding.ratings.standings import PairVerdicts, Spans, spans
from simlab.formulas import passes
from simlab.messages import clip, suggest
from simlab.parts import is_chosen, name_of
from simlab.studies.ratings.concluding import (
    conclude,
    document_totals,
    make_scored_ratings,
    measure_leads,
    score_ratings,
)
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import Array, Bools, Collected, Floats, InputError, ScoredRatings


def check(config: Mapping[str, Any], prepared: PreparedRatings, collected: Collected) -> None:
    """Raise InputError for a decision rule, test or normalisation by which a table cannot be concluded."""
    if prepared.claim is not None:
        raise InputError(
            f"decision={name_of(config['decision'])} draws lines as ratings come, and promises nothing of them; "
            "conclude with decision.multiplicity=max_t or holm of decision=significance"
        )
    if prepared.multiplicity == "max_t" and prepared.family is None:
        raise InputError(
            "decision.multiplicity=max_t needs a test of all pairs at once, and "
            f"analysis.test={name_of(config['analysis']['test'])} has none; choose "
            "decision.multiplicity=holm, or analysis.test=mixed_model, moderated, "
            "rater_flips, crossed_flips or permutation"
        )
    section, plugins, seen = config["analysis"]["normalization"], config.get("plugins", ()), collected.seen
    by_errors = is_chosen(section, error, plugins)
    if by_errors and int(seen.errors.min(initial=0)) < 0:
        raise InputError(
            "analysis.normalization=error needs the number of errors of each rating, which this table lacks; "
            "choose zscore, mean or none"
        )
    if (by_errors or is_chosen(section, mean, plugins)) and seen.value.min() < 0 < seen.value.max():
        raise InputError(
            f"analysis.normalization={name_of(section)} multiplies the scores of each rater by a factor, and these lie "
            "on both sides of 0, where no factor makes means agree; choose zscore or none"
        )
    if by_errors or is_chosen(section, mean, plugins) or is_chosen(section, zscore, plugins):
        counts = np.zeros((int(seen.rater.max(initial=0)) + 1, collected.frame.n_systems), np.int64)
        np.add.at(counts, (seen.rater, seen.unit), 1)
        refuse_separate_raters(name_of(section), counts, collected.frame.system_names)


def mark_family(names: Sequence[str], against: str | None) -> Bools:
    """Return `[pair]`, True for pairs with the baseline `against` (None: all pairs).

    Raises InputError, naming the nearest, for a system that is not in the table.
    """
    first, second = np.triu_indices(len(names), 1)
    if against is None:
        return np.ones(len(first), bool)
    if against not in names:
        raise InputError(
            f"--against {clip(against, 60)}: no such system was rated; {suggest(against, names, 'there are', 300)}"
        )
    baseline = list(names).index(against)
    return np.asarray((first == baseline) | (second == baseline))


def verdicts(
    prepared: PreparedRatings,
    collected: Collected,
    outcome: Mapping[str, Array],
    rated: ScoredRatings,
    family: Bools,
    centre: Floats | None = None,
) -> PairVerdicts:
    """Return p-values, directions and verdicts of all pairs; p-values are adjusted for those of the family alone.

    `outcome[name]` are results of the study's analysis, `[pair]`. `centre` are the differences that are tested, whose
    sign is the direction (None: that of the plain means).
    """
    p_value, direction = outcome["p_value"], outcome["direction"]
    if centre is not None:
        sign = -1 if collected.frame.lower_is_better else 1
        direction = np.where(
            differs_beyond_rounding(rated, np.nan_to_num(centre)), sign * np.sign(np.nan_to_num(centre)), 0
        ).astype(np.int8)
    if prepared.multiplicity == "none" or (family.all() and "adjusted_p_value" in outcome):
        changed = outcome.get("adjusted_p_value", p_value)
        significant = passes(changed, prepared.level) & (direction != 0) & family
        return PairVerdicts(p_value, changed, direction, np.where(significant, direction, 0), family)
    changed = np.full(len(p_value), np.nan)
    if prepared.multiplicity == "max_t" and prepared.family is not None:
        of = prepared.family(collected.streams("test"), rated).keep(family)
        changed[family] = np.maximum(of.max_t(), p_value[family])
    else:
        changed[family] = adjust_p_values(p_value[family], "bh" if prepared.multiplicity == "bh" else "holm")
    # Outside the family nothing is adjusted (NaN), and a comparison with NaN would warn.
    significant = passes(np.where(family, changed, 1.0), prepared.level) & (direction != 0) & family
    return PairVerdicts(p_value, changed, direction, np.where(significant, direction, 0), family)


def estimate_uncertainty(
    config: Mapping[str, Any], prepared: PreparedRatings, collected: Collected, rated: ScoredRatings, family: Bools
) -> Spans:
    """Return the uncertainty of differences: of all pairs at once, if claims are promised so, else of each."""
    at_once = prepared.multiplicity not in ("none", "bh")
    rng = collected.streams("intervals") if at_once else None
    # Holm multiplies the least p-value by the number of pairs.
    times = int(family.sum()) if prepared.multiplicity == "holm" else 1
    return spans(config["analysis"]["test"], rated, family, prepared.level, rng, times)


def claimed_pairs(prepared: PreparedRatings, collected: Collected, family: Bools) -> Bools:
    """Return which pairs are claimed, `[pair]`; none is outside of the family."""
    rated = make_scored_ratings(collected, score_ratings(prepared, collected), document_totals(prepared, collected))
    if prepared.multiplicity == "max_t" and prepared.family is not None:
        claimed = np.zeros(len(family), bool)
        of = prepared.family(collected.streams("test"), rated).keep(family)
        claimed[family] = passes(of.max_t(), prepared.level)
        return claimed
    outcome = {name: values[0] for name, values in conclude(prepared, [collected]).items()}
    return np.asarray(verdicts(prepared, collected, outcome, rated, family).verdict != 0)


def calculate_leads(
    prepared: PreparedRatings, shared: SimulatedStudies | Judge | None, studies: Sequence[Collected]
) -> Floats:
    """Return by how much the first system of each pair came out better, `[study, pair]`.

    `shared` are computations that all studies of one design share; None: each is judged by itself.
    """
    if shared is None:
        return np.stack([measure_leads(prepared, study) for study in studies])
    return _orient_differences(shared.differences(_values(prepared, studies)), studies)


def judge_studies(
    prepared: PreparedRatings, shared: SimulatedStudies | Judge | None, studies: Sequence[Collected], family: Bools
) -> tuple[Floats, Bools]:
    """Return the leads of studies, as `calculate_leads` does, and which pairs are claimed, `[study, pair]`."""
    if shared is None:
        claims = np.stack([claimed_pairs(prepared, study, family) for study in studies])
        return calculate_leads(prepared, None, studies), claims
    differences, families = shared.families(_values(prepared, studies))
    claims = np.zeros(differences.shape, bool)
    for claimed, each in zip(claims, families, strict=True):
        kept = each.keep(family)
        if prepared.multiplicity == "max_t":
            claimed[family] = kept.claims(prepared.level)
            continue
        at_once = kept.p_values()
        if prepared.multiplicity in ("holm", "bh"):
            at_once = adjust_p_values(at_once, prepared.multiplicity)
        claimed[family] = passes(at_once, prepared.level)
    return _orient_differences(differences, studies), claims


def find_exclusions(prepared: PreparedRatings, shared: SimulatedStudies | Judge, studies: Sequence[Collected]) -> Bools:
    """Return which systems each study excludes from those that may be the best, `[study, system]`."""
    n_systems = studies[0].frame.n_systems
    differences, families = shared.families(_values(prepared, studies))
    leads = np.sign(_orient_differences(differences, studies))
    # Degrees of freedom differ from study to study; simulated statistics are those of all.
    own = isinstance(families[0], StudentFamily)
    bar = [best.bars(each, n_systems, prepared.level) for each in (families if own else families[:1])]
    size = np.stack([each.size for each in families])
    # A system is excluded as soon as one other leads it by more than the bar (Hsu).
    return np.asarray((best.lay_out_leads(size * leads, n_systems) > np.stack(bar)).any(-1))


def _values(prepared: PreparedRatings, studies: Sequence[Collected]) -> Floats:
    """Return normalised scores, `[rating, study]`."""
    return np.stack([np.asarray(score_ratings(prepared, study).value, float) for study in studies], axis=1)


def _orient_differences(differences: Floats, studies: Sequence[Collected]) -> Floats:
    return -differences if studies[0].frame.lower_is_better else differences
