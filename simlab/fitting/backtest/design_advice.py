"""Choose a design among candidates of equal cost from predictions of a pilot, and compare it with real studies.

Call `advise` for each split of the documents, which returns `JudgedCandidate`s, and `summarize_rules` on all of them.
All candidates ask for the same number of ratings. The chosen one is that of a plan for a given budget: the design that
tells most pairs of systems apart among those whose claims a repetition confirms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from simlab.answers.backtest import ADVICE, BEST, JudgedCandidate, Measure, RuleName, RuleResult
from simlab.fitting.backtest.designs import (
    FEWEST_DOCUMENTS,
    GROUPINGS,
    BacktestDesign,
    list_normalizations,
    repeatable_design,
)
from simlab.fitting.backtest.execution import (
    BacktestRun,
    StudyMeasures,
    fit_effects,
    fitted_worlds,
    run_designs,
    target_world,
)
from simlab.fitting.backtest.planning import PredictionSource, SimulationSize
from simlab.messages import pluralise
from simlab.rng import stream
from simlab.types import InputError, World

CONFIRMED = 0.9
"""Least share of a design's claims that a repetition has to confirm."""
FULL = SimulationSize(60, 6, 8, 12, 40, (3,), (1, 2), own=False)
"""Amount of simulation of an advice."""
QUICK = SimulationSize(30, 4, 6, 6, 20, (3,), (1, 2), own=False)
"""The same for a quick look."""
APART = 2 / 3
"""Studies of other documents ask about this share of a table's, so that two of them can differ."""
THUMBS: Mapping[RuleName, tuple[str, int]] = {
    "all once": ("pseudo_side_by_side", 1),
    "half twice": ("pseudo_side_by_side", 2),
    "ungrouped": ("ungrouped", 1),
}
"""Rules of thumb: all documents once or half of them twice, side by side; all once, ungrouped. Scores as they are."""


class AdviceCandidate(NamedTuple):
    """A design and the normalisation of its scores."""

    design: BacktestDesign
    normalization: str


class Worth(NamedTuple):
    """Worth of a candidate: its mean of the measure to maximise, and the share of its claims that is confirmed.

    NaN where nothing was claimed, so that there was nothing to confirm.
    """

    gain: float
    confirmed: float


def candidates(world: World) -> list[AdviceCandidate]:
    """List the designs that a table (as a `world`) allows at one cost: groupings, one or two ratings, normalisations.

    One rating of each output of N documents costs as much as two of each of N/2. Designs are of one kind of repetition:
    of the same documents or of others. Raises InputError for a table that leaves nothing to choose.
    """
    n = world.frame.n_documents
    # Numbers are even: half of the documents rated twice must cost what all of them rated once cost.
    designs = next((allowed for k in range(n - n % 2, 1, -2) if (allowed := _allowed_designs(world, k))), [])
    both = [AdviceCandidate(design, name) for design in designs for name in list_normalizations(world)]
    if len(both) < 2:
        raise InputError(
            f"--advice: the {pluralise(n, 'document')} held out allow no two designs of equal cost; "
            f"give {FEWEST_DOCUMENTS} documents or more whose outputs were rated by two people or more"
        )
    return both


def _allowed_designs(world: World, n: int) -> list[BacktestDesign]:
    """Return designs of n documents once or n/2 twice; none where a grouping cannot ask about n documents."""
    shapes = [(grouping, documents, r) for documents, r in ((n, 1), (n // 2, 2)) for grouping in GROUPINGS]
    every = [repeatable_design(world, BacktestDesign(*design)) for design in shapes if design[1] >= FEWEST_DOCUMENTS]
    once = [design for design in every if design is not None and design.ratings_per_item == 1]
    if len(once) < len(GROUPINGS):
        return []
    same = [design for design in every if design is not None and design.repetition == "same documents"]
    return same or (once if n <= APART * world.frame.n_documents else [])


def choose_candidate(expected: Mapping[AdviceCandidate, Worth], least: float = CONFIRMED) -> AdviceCandidate:
    """Return the candidate of the largest gain among those whose confirmed share is `least` or more; of ties the first.

    `expected` is the predicted worth of each. Where no share is that large, it is the candidate with the largest one.
    """
    sure = [candidate for candidate, worth in expected.items() if worth.confirmed >= least]
    if sure:
        return max(sure, key=lambda candidate: expected[candidate].gain)
    # A candidate that claims nothing has no confirmed share, and comes last.
    return max(expected, key=lambda candidate: np.nan_to_num(expected[candidate].confirmed, nan=-1.0))


def shortfall(observed: Mapping[AdviceCandidate, Worth], chosen: AdviceCandidate, least: float = CONFIRMED) -> float:
    """Return how much less a chosen candidate gains than the best whose claims are confirmed; never below 0.

    A candidate that gains more because its claims are not confirmed makes up for nothing.
    """
    return max(observed[choose_candidate(observed, least)].gain - observed[chosen].gain, 0.0)


def worth_by_candidate(
    result: StudyMeasures, of: Sequence[AdviceCandidate], gain: Measure
) -> dict[AdviceCandidate, Worth]:
    """Average over worlds the measure `gain` and the confirmed share of the candidates `of`, from measured studies."""
    return {
        candidate: Worth(*(_mean_over_worlds(result, candidate, measure) for measure in (gain, "confirmed")))
        for candidate in of
    }


def _mean_over_worlds(result: StudyMeasures, candidate: AdviceCandidate, measure: Measure) -> float:
    value = result[candidate.design, candidate.normalization, measure].value
    known = value[np.isfinite(value)]
    return float(known.mean()) if len(known) else float("nan")


def candidate_by_rule(of: Sequence[AdviceCandidate], rule: RuleName) -> AdviceCandidate | None:
    """Return the candidate that a rule of thumb names; None where the table does not allow it."""
    return next((candidate for candidate in of if _key(candidate) == (*THUMBS[rule], "none")), None)


def _key(candidate: AdviceCandidate) -> tuple[str, int, str]:
    return candidate.design.grouping, candidate.design.ratings_per_item, candidate.normalization


def advise(plan: BacktestRun, split: int) -> list[JudgedCandidate]:
    """Choose a design from the pilot of split number `split`; return all candidates with real studies.

    The real studies are of the documents that the pilot does not have.
    """
    target = target_world(plan, split, "held_out")
    of, size = candidates(target), plan.size
    effects = fit_effects(plan, PredictionSource(split, "fit"))
    rng = stream(plan.seed, "backtest", "worlds", split, "held_out", "fit")
    worlds = list(fitted_worlds(rng, plan.law, effects, target.frame, size.worlds))
    designs = list(dict.fromkeys(candidate.design for candidate in of))
    # Another seed than that of the real studies: the two share no draws of documents, raters or signs.
    expected = run_designs(worlds, target, designs, plan.seed + 2, size.sets, size.per_set)
    real = run_designs([target], target, designs, plan.seed + 1, size.observed_sets, size.observed_per_set)
    expected_worths, real_worths = (
        worth_by_candidate(measures, of, "significant_share") for measures in (expected, real)
    )
    return list(_judge_candidates(split, expected_worths, real_worths))


def _judge_candidates(
    split: int, expected: Mapping[AdviceCandidate, Worth], real: Mapping[AdviceCandidate, Worth]
) -> Iterator[JudgedCandidate]:
    of = list(expected)
    chosen: dict[RuleName, AdviceCandidate | None] = {ADVICE: choose_candidate(expected)}
    chosen |= {rule: candidate_by_rule(of, rule) for rule in THUMBS} | {BEST: choose_candidate(real)}
    for candidate in of:
        yield JudgedCandidate(
            split=split,
            grouping=candidate.design.grouping,
            normalization=candidate.normalization,
            documents=candidate.design.documents,
            ratings_per_item=candidate.design.ratings_per_item,
            repetition=candidate.design.repetition,
            predicted_significant_share=expected[candidate].gain,
            predicted_confirmed=expected[candidate].confirmed,
            significant_share=real[candidate].gain,
            confirmed=real[candidate].confirmed,
            rules=" ".join(rule for rule, own in chosen.items() if own == candidate),
        )


def summarize_rules(candidates: Sequence[JudgedCandidate]) -> tuple[RuleResult, ...]:
    """Average over splits, for each rule, the worth of its choice: the advice, the rules of thumb, and the best design.

    The best is known only afterwards. Rules of thumb that the table does not allow are left out.
    """
    rules = (ADVICE, *THUMBS, BEST)
    by_rule = {rule: [candidate for candidate in candidates if rule in candidate.rules] for rule in rules}
    best = {candidate.split: candidate.significant_share for candidate in by_rule[BEST]}
    return tuple(_result(rule, own, best) for rule, own in by_rule.items() if own)


def _result(rule: RuleName, own: Sequence[JudgedCandidate], best: Mapping[int, float]) -> RuleResult:
    share, share_error = _mean_and_error([candidate.significant_share for candidate in own])
    shortfall, shortfall_error = _mean_and_error(
        [max(best[candidate.split] - candidate.significant_share, 0.0) for candidate in own]
    )
    confirmed = np.array([candidate.confirmed for candidate in own])
    known = confirmed[np.isfinite(confirmed)]
    return RuleResult(
        rule=rule,
        splits=len(own),
        named=tuple(Counter(candidate.shape for candidate in own).most_common()),
        significant_share=share,
        significant_share_mcse=share_error,
        confirmed=float(known.mean()) if len(known) else float("nan"),
        kept=int((known >= CONFIRMED).sum()),
        shortfall=shortfall,
        shortfall_mcse=shortfall_error,
    )


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its standard error; NaN from one value, which has none."""
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(n)) if n > 1 else float("nan")
