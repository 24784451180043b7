"""Simulate the study behind a table again, in a world fitted to it: repeated as it is, and with equal systems.

Call `add_repetition`, which returns the conclusion with both results. Simulated studies keep the table's design and
analysis. A lead is by how much the first system of a pair came out better; a repetition takes the same documents and
raters, or new ones of either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from simlab.analysis.raters.model_comparisons import SimulatedStudies
from simlab.analysis.raters.moderated import Judge
from simlab.analysis.raters.t_tests import segment_t
from simlab.answers.conclude import Conclusion, Control, RepeatedShares, Repetition
from simlab.answers.standings import Interval, Rank, rank_limits
from simlab.concluding.consistency import kept_repetition
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.families import choose_family
from simlab.concluding.ratings.judging import calculate_leads, find_exclusions, judge_studies, mark_family
from simlab.concluding.ratings.table_world import check_seed
from simlab.concluding.simulations import (
    NOT_ASKED,
    apply_gate,
    note_unrepeated,
    share_again,
    simulate_parts,
    try_to_simulate,
)
from simlab.effort import current_effort
from simlab.fitting.predictions import widen_by_chance
from simlab.fitting.repetitions import Answer, TableWorld
from simlab.fitting.report import INTERVAL
from simlab.parts import name_of
from simlab.rng import stream
from simlab.studies.ratings.concluding import document_totals, make_scored_ratings, score_ratings
from simlab.studies.ratings.preparing import PreparedRatings, prepare
from simlab.tables.rating_table import Ratings
from simlab.types import Array, Bools, Collected, Floats, ScoredRatings, Streams

FLIPS, PER_LEVEL = 299, 15
EACH, TESTED = 10, 3
"""Repetitions carried out in each draw of the world, and how many of these are tested, too."""

AT_ONCE = 50
"""Number of simulated studies that are judged in one call."""

OTHERS_DRAWS, OTHERS_SHARE = 40, 5
"""Draws of the world in which other raters carry the study out, and how many times fewer such studies there are."""

NOT_SIMULATED = "how often a repetition leaves the same systems as best is not simulated"

STREAMS = {
    "same": "srp",
    "new_documents": "srp_new_documents",
    "new_raters": "srp_new_raters",
    "new_study": "srp_new_study",
}
"""Words that name the random streams of each sort of repetition."""


@dataclass(frozen=True, slots=True)
class RepeatedStudy:
    """Study that is repeated: the table, the campaign, the analysis, and the pairs of its family.

    `verdict[pair]` are the claims, `family[pair]` marks the pairs that may be claimed, `shared` are computations that
    all simulated studies share (None: each is judged by itself). `best`: the family is the candidates for the best.
    """

    ratings: Ratings
    collected: Collected
    prepared: PreparedRatings
    verdict: Array
    family: Bools
    raters_drawn: bool
    level: float
    shared: SimulatedStudies | Judge | None = None
    best: bool = False

    def calculate_leads(self, studies: Sequence[Collected]) -> Floats:
        """Return by how much the first of each two systems came out better, `[study, pair]`."""
        return calculate_leads(self.prepared, self.shared, studies)

    def judge(self, studies: Sequence[Collected]) -> tuple[Floats, Bools]:
        """Return leads, and which pairs are claimed, `[study, pair]`."""
        return judge_studies(self.prepared, self.shared, studies, self.family)

    def claims(self, studies: Sequence[Collected]) -> Bools:
        """Return the studies' claims, `[study, pair or system]`: pairs of the family, or systems that are not best."""
        if self.best and self.shared is not None:
            return find_exclusions(self.prepared, self.shared, studies)
        return self.judge(studies)[1][:, self.family]


def add_repetition(
    conclusion: Conclusion,
    ratings: Ratings,
    config: Mapping[str, Any],
    collected: Collected,
    wanted: ConcludeOptions,
    fitted: Callable[[], TableWorld],
) -> Conclusion:
    """Check a conclusion in studies with equal systems, then add how a repetition would come out.

    `fitted()` waits for the world that is fitted to `ratings`. Where check or repetition cannot be simulated the
    conclusion stands, and says why it is missing. World and check follow the table alone; the repetition follows the
    seed, too.
    """
    if not current_effort().equal_studies:
        return note_unrepeated(conclusion, NOT_ASKED)
    if name_of(config["analysis"]["normalization"]) == "error":
        return note_unrepeated(
            conclusion, "analysis.normalization=error weighs errors, and worlds answer with scores alone"
        )
    if collected.metric is not None:
        return note_unrepeated(conclusion, "worlds fitted to ratings know no metric that corrects them")
    prepared = prepare(_reduce_flips(config))
    question = choose_family(config, wanted)
    family = mark_family(collected.frame.system_names, question.against)
    # A conclusion holds the pairs of its family alone; a repetition gives the leads of all.
    verdict = np.zeros(len(family), np.int64)
    verdict[family] = [pair.verdict for pair in conclusion.pairs]
    drawn = "raters" in conclusion.about["drawn"]
    study = RepeatedStudy(
        ratings, collected, prepared, verdict, family, drawn, prepared.level, best=question.name == "best"
    )
    with threadpool_limits(1):
        world, why = try_to_simulate(fitted)
        if world is None:
            return note_unrepeated(conclusion, why)
        if prepared.studies is not None:
            study = replace(study, shared=prepared.studies(_score_study(study)))
        checked, unchecked = try_to_simulate(lambda: control(study, world, check_seed(ratings)))
        rough = rank_limits(Rank.LEFT_OUT, _lies(world))
        conclusion = apply_gate(
            conclusion.replace_fields(
                control=checked, control_missing=unchecked, warnings=(*rough, *conclusion.warnings)
            )
        )
        if conclusion.withdrawn:
            return conclusion
        if not wanted.again or study.best:
            return conclusion.replace_fields(repetition_missing=NOT_SIMULATED if wanted.again else NOT_ASKED)
        repeated, unknown = try_to_simulate(lambda: repetition(study, world, wanted.seed))
    kept, refused = kept_repetition(repeated)
    return conclusion.replace_fields(repetition=kept, repetition_missing=refused or unknown)


def _score_study(study: RepeatedStudy) -> ScoredRatings:
    scores = score_ratings(study.prepared, study.collected)
    return make_scored_ratings(study.collected, scores, document_totals(study.prepared, study.collected))


def _reduce_flips(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let the many studies of the check flip less often, as max-T allows that reaches its level with few flips."""
    analysis, decision = config["analysis"], config["decision"]
    if decision["multiplicity"] != "max_t":
        return config
    enough = max(FLIPS, math.ceil(PER_LEVEL / decision["level"]) - 1)
    fewer = {
        key: min(analysis["test"][key], enough) for key in ("permutations", "flips", "draws") if key in analysis["test"]
    }
    return {**config, "analysis": {**analysis, "test": {**analysis["test"], **fewer}}}


def _lies(world: TableWorld) -> Iterator[str]:
    if world.failed:
        yield f"the world of repetition and check is rough: {world.name}"


def repetition(study: RepeatedStudy, world: TableWorld, seed: int) -> Repetition | None:
    """Repeat a study in each world that its table allows; return how often all signs, and claims, come again.

    None where nothing was claimed.
    """
    claimed = np.flatnonzero(study.verdict)
    if not len(claimed):
        return None
    ways: dict[str, Answer] = {
        "new_documents": world.new_documents,
        "new_study": world.new_raters_and_documents,
    }
    on_the_same = {"same": world.same_raters, "new_raters": world.new_raters}
    if world.own is not None:
        ways |= on_the_same
    leads, claims = _repeat(study, ways, world.n_draws, claimed, seed)
    shares = {name: _confirm(study.verdict[claimed], *one) for name, *one in zip(ways, leads, claims, strict=True)}
    why = f"the law {world.law.name} keeps nothing of single outputs, which would be rated again"
    return Repetition(
        same_sign=RepeatedShares(**{name: sign for name, (sign, _) in shares.items()}),
        claimed_again=RepeatedShares(**{name: anew for name, (_, anew) in shares.items()}),
        studies=world.n_draws * EACH,
        world=world.name,
        unknown={name: why for name in on_the_same if name not in shares},
    )


def _repeat(
    study: RepeatedStudy, ways: Mapping[str, Answer], n_draws: int, claimed: Array, seed: int
) -> tuple[Floats, Bools]:
    """Repeat a study in each way and draw of the world.

    Returns leads in all repetitions, `[way, draw, repetition, claim]`, and what is claimed in those that are tested.
    """
    names = list(ways)

    def repeat(some: range) -> tuple[Floats, Bools]:
        tested, others = [], []
        for way, draw in (divmod(index, n_draws) for index in some):
            name, word = names[way], STREAMS[names[way]]
            rng = stream(seed, "conclude", word, draw)
            for k in range(EACH):
                repeated = replace_scores(study, ways[name](rng, draw))
                if k < TESTED:
                    tested.append(_reseed_study(repeated, seed, draw * TESTED + k, word))
                else:
                    others.append(repeated)
        leads, claims = study.judge(tested)
        by_draw = [
            values[:, claimed].reshape(len(some), -1, len(claimed)) for values in (leads, study.calculate_leads(others))
        ]
        return np.concatenate(by_draw, axis=1), claims[:, claimed].reshape(len(some), -1, len(claimed))

    # All ways at once: each time that work is shared out costs a process.
    parts = simulate_parts(repeat, len(ways) * n_draws, AT_ONCE // EACH)
    leads, claims = (np.concatenate(one) for one in zip(*parts, strict=True))
    shape = len(ways), n_draws
    return leads.reshape(*shape, *leads.shape[1:]), claims.reshape(*shape, *claims.shape[1:])


def _confirm(verdict: Array, lead: Floats, anew: Bools) -> tuple[Interval, Interval]:
    """Return the chance that all signs come again, and the share of claims that do, with 90 % intervals over worlds.

    `lead[draw, repetition, claim]`, `anew[draw, repetition that is tested, claim]`. In each world leads scatter about
    what they are there on average. How they scatter is learned from all worlds together, so that a few repetitions in
    each are enough; their error in the averages is taken out of how far worlds differ.
    """
    lead = lead * verdict
    average = lead.mean(1)
    # Deviations from a mean of the same EACH values scatter too little by this factor.
    scatter = (lead - average[:, None]).reshape(-1, len(verdict)) * np.sqrt(EACH / (EACH - 1))
    noise, spread = scatter.var(0) / EACH, average.var(0, ddof=1)
    # Shrinks averages until they spread as what they estimate does.
    keep = np.sqrt(np.clip(1 - np.divide(noise, spread, out=np.ones_like(spread), where=spread > 0), 0, 1))
    centre = average.mean(0) + keep * (average - average.mean(0))
    share = np.array([(at + scatter > 0).all(1).mean() for at in centre])
    value, (low, high) = float(share.mean()), map(float, np.quantile(share, INTERVAL))
    # A mean may lie beyond the middle nine tenths of what it is the mean of; bounds by chance hold it.
    sign = Interval.build(value, *widen_by_chance(value, low, high, len(lead)))
    return sign, share_again(anew & (lead[:, :TESTED] > 0))


def control(study: RepeatedStudy, world: TableWorld, seed: int, studies: int | None = None) -> Control:
    """Simulate studies with equal systems; return the shares that claim some pair.

    They are judged by the study's own analysis, and by uncorrected t tests of segments. `studies` is their number
    (None: that of the current effort).
    """
    studies = studies or current_effort().equal_studies
    ratings, each = study.ratings, study.prepared.multiplicity == "none"

    def simulate(some: range) -> tuple[Bools, Bools]:
        drawn, scores = [], []
        for k in some:
            rng = stream(seed, "conclude", "control", k)
            # Every draw of the world is met equally often, so that what is not known of it is averaged.
            score = world.equal_systems(rng, k % world.n_draws, raters_drawn=study.raters_drawn)
            scores.append(score)
            drawn.append(_reseed_study(replace_scores(study, score), seed, k))
        claims = study.claims(drawn)
        p_value = segment_t(np.stack(scores), ratings.system, ratings.item, ratings.n_systems)
        return claims, np.asarray((p_value[:, study.family] <= study.level).any(1))

    claims, plain = (np.concatenate(one) for one in zip(*simulate_parts(simulate, studies, AT_ONCE), strict=True))
    # Where each pair is promised something by itself it matters how many are claimed; of best systems, each one.
    some, claimed = np.asarray(claims.any(1)), claims.mean(1)
    most: Bools = np.asarray(claims[:, int(claims.sum(0).argmax())], bool)
    # Nothing is known of how raters differ where there is one.
    known = not study.raters_drawn and study.ratings.n_raters > 1 and not study.best
    others, others_mcse = _simulate_other_raters(study, world, seed, studies // OTHERS_SHARE) if known else (None, None)
    return Control(
        studies=studies,
        some_claim=float(some.mean()),
        some_claim_mcse=_mcse(some),
        promised=study.level,
        uncorrected=float(plain.mean()),
        uncorrected_mcse=_mcse(plain),
        world=world.name,
        pair_claim=float(claimed.mean()) if each else None,
        # A check that found nothing in no study has an error all the same.
        pair_claim_mcse=max(float(claimed.std()), 1 / studies) / np.sqrt(studies) if each else None,
        at_large=others,
        at_large_mcse=others_mcse,
        best_excluded=float(most.mean()) if study.best else None,
        best_excluded_mcse=_mcse(most) if study.best else None,
    )


def _simulate_other_raters(study: RepeatedStudy, world: TableWorld, seed: int, studies: int) -> tuple[Interval, float]:
    """Return how often studies by other raters claim something for theirs, over what the world may be, and its mcse.

    Systems are equal for raters at large alone, so that tastes of those who rate are taken for systems.
    """
    draws = min(OTHERS_DRAWS, world.n_draws)
    # The variance within a draw of the world takes two studies.
    each = max(studies // draws, 2)
    at = np.repeat(np.linspace(0, world.n_draws - 1, draws).astype(int), each)

    def simulate(some: range) -> Bools:
        tested = []
        for k in some:
            score = world.equal_systems(stream(seed, "conclude", "at_large", k), int(at[k]), raters_drawn=True)
            tested.append(_reseed_study(replace_scores(study, score), seed, k, "at_large"))
        return np.asarray(study.judge(tested)[1].any(1))

    claimed = np.concatenate(simulate_parts(simulate, len(at), AT_ONCE)).reshape(draws, each)
    # Studies of one world go together, so that worlds are the units; with few studies each, chance may be larger.
    by_world = float(claimed.mean(1).std(ddof=1)) / math.sqrt(draws) if draws > 1 else 0.0
    return share_again(claimed[:, :, None]), max(by_world, _mcse(claimed.ravel()))


def replace_scores(study: RepeatedStudy, score: Floats) -> Collected:
    """Return the campaign with other scores, `score[rating]`."""
    return replace(study.collected, seen=replace(study.collected.seen, value=score))


def _reseed_study(collected: Collected, seed: int, k: int, word: str = "control") -> Collected:
    """Let each study have a test of its own."""
    return replace(collected, streams=Streams(seed, ("conclude", word, k)))


def _mcse(some: Bools) -> float:
    """Return the error of a share; where none, or all, are counted that of a share of one more."""
    n = len(some)
    share = min(max(float(some.mean()), 1 / (n + 2)), 1 - 1 / (n + 2))
    return float(np.sqrt(share * (1 - share) / n))
