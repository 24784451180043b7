"""Carry out the study behind a table again, in a world fitted to it: is it confirmed, what does it find in nothing.

Both are simulated after the fact, in the table's own design, and concluded by the very analysis that concluded the
table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from simlab.analysis.raters.model_comparisons import studies_of
from simlab.analysis.segment_t import segment_t
from simlab.concluding.conclusion import Conclusion, Control, Interval, Rank, Repetition, ranked
from simlab.concluding.consistency import kept_repetition
from simlab.concluding.ratings.judging import claims_something, family_of
from simlab.concluding.simulations import try_to_simulate
from simlab.concluding.wanted import Wanted
from simlab.effort import current_effort
from simlab.fitting.predictions import widen_by_chance
from simlab.fitting.repetitions import TableWorld, table_world
from simlab.fitting.report import INTERVAL
from simlab.parts import name_of
from simlab.rng import stream
from simlab.studies.ratings.concluding import document_totals, lead_of, rated_of, scored
from simlab.studies.ratings.preparing import Prepared, prepare
from simlab.tables.held import Ratings
from simlab.types import Array, Bools, Collected, Floats, Rated, Streams

FLIPS, PER_LEVEL = 299, 15
DRAWS, EACH = 100, 10
"""Draws of what the world may be, and repetitions carried out in each."""


@dataclass(frozen=True, slots=True)
class Study:
    """Hold the study that is repeated: the table, what was collected, the analysis, and the pairs of its family.

    `verdict[pair]` is what was claimed, `family[pair]` marks the pairs that are claimed at all.
    """

    ratings: Ratings
    collected: Collected
    prepared: Prepared
    verdict: Array
    family: Bools
    raters_drawn: bool
    level: float


def with_again(
    found: Conclusion, ratings: Ratings, config: Mapping[str, Any], collected: Collected, wanted: Wanted
) -> Conclusion:
    """Add to a conclusion how a repetition would come out, and what its analysis claims about equal systems.

    Where one of them cannot be simulated the conclusion stands, and says why it is missing.
    """
    if name_of(config["analysis"]["normalization"]) == "error":
        return _unrepeated(found, "analysis.normalization=error weighs errors, and worlds answer with scores alone")
    if collected.metric is not None:
        return _unrepeated(found, "worlds fitted to ratings know no metric that corrects them")
    prepared = prepare(_with_fewer_flips(config))
    family = family_of(collected.frame.system_names, wanted.against)
    # A conclusion holds the pairs of its family alone; a repetition gives the leads of all.
    verdict = np.zeros(len(family), np.int64)
    verdict[family] = [pair.verdict for pair in found.pairs]
    drawn = "raters" in found.about["drawn"]
    study = Study(ratings, collected, prepared, verdict, family, drawn, prepared.level)
    # Arrays are small: threads that share them cost more than they do.
    with threadpool_limits(1):
        world, why = try_to_simulate(lambda: table_world(ratings, wanted.seed, DRAWS))
        if world is None:
            return _unrepeated(found, why)
        with studies_of(_rated(study)):
            repeated, unrepeated = try_to_simulate(lambda: repetition(study, world, wanted.seed))
            checked, unchecked = try_to_simulate(lambda: control(study, world, wanted.seed))
    kept, refused = kept_repetition(repeated)
    return replace(
        found,
        repetition=kept,
        repetition_missing=refused or unrepeated,
        control=checked,
        control_missing=unchecked,
        warnings=(*ranked(Rank.LEFT_OUT, _lies(world)), *found.warnings),
    )


def _rated(study: Study) -> Rated:
    scores = scored(study.prepared, study.collected)
    return rated_of(study.collected, scores, document_totals(study.prepared, study.collected))


def _with_fewer_flips(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let the many studies of the check flip less often, as max-T allows that reaches its level with few flips."""
    analysis, decision = config["analysis"], config["decision"]
    if decision["multiplicity"] != "max_t":
        return config
    enough = max(FLIPS, math.ceil(PER_LEVEL / decision["level"]) - 1)
    fewer = {key: min(analysis["test"][key], enough) for key in ("permutations", "flips") if key in analysis["test"]}
    return {**config, "analysis": {**analysis, "test": {**analysis["test"], **fewer}}}


def _unrepeated(found: Conclusion, why: str) -> Conclusion:
    return replace(found, repetition_missing=why, control_missing=why)


def _lies(world: TableWorld) -> Iterator[str]:
    if world.failed:
        yield f"the world of repetition and check is rough: {world.name}"


def repetition(study: Study, world: TableWorld, seed: int) -> Repetition | None:
    """Repeat a study in each world that its table allows, and count where every claim comes out the same way."""
    claimed = np.flatnonzero(study.verdict)
    if not len(claimed):
        return None
    ways: dict[str, Callable[[np.random.Generator, int], Floats]] = {
        "srp_new_documents": world.new_documents,
        "srp_new_study": world.all_new,
    }
    if world.own is not None:
        ways["srp"] = world.same
    found = {name: _confirmed(study, answer, world.n_draws, claimed, seed, name) for name, answer in ways.items()}
    unknown = Interval(np.nan, np.nan, np.nan)
    return Repetition(
        srp=found.get("srp", unknown),
        srp_new_study=found["srp_new_study"],
        studies=world.n_draws * EACH,
        world=world.name,
        srp_new_documents=found["srp_new_documents"],
    )


def _confirmed(
    study: Study,
    answer: Callable[[np.random.Generator, int], Floats],
    n_draws: int,
    claimed: Array,
    seed: int,
    word: str,
) -> Interval:
    """Return the chance of a confirmed study, and the 90 % interval of it over what the world may be.

    In each world leads scatter about what they are there on average. How they scatter is learned from all worlds
    together, so that a few repetitions in each are enough; their error in the averages is taken out of how far worlds
    differ.
    """
    lead = np.empty((n_draws, EACH, len(claimed)))
    for draw in range(n_draws):
        rng = stream(seed, "conclude", word, draw)
        for k in range(EACH):
            lead[draw, k] = lead_of(study.prepared, with_scores(study, answer(rng, draw)))[claimed]
    lead *= study.verdict[claimed]
    average = lead.mean(1)
    scatter = (lead - average[:, None]).reshape(-1, len(claimed)) * np.sqrt(EACH / (EACH - 1))
    noise, spread = scatter.var(0) / EACH, average.var(0, ddof=1)
    keep = np.sqrt(np.clip(1 - np.divide(noise, spread, out=np.ones_like(spread), where=spread > 0), 0, 1))
    centre = average.mean(0) + keep * (average - average.mean(0))
    share = np.array([(at + scatter > 0).all(1).mean() for at in centre])
    value, (low, high) = float(share.mean()), map(float, np.quantile(share, INTERVAL))
    # A mean may lie beyond the middle nine tenths of what it is the mean of; bounds by chance hold it.
    return Interval(value, *widen_by_chance(value, low, high, n_draws))


def control(study: Study, world: TableWorld, seed: int, studies: int | None = None) -> Control:
    """Carry out studies like this one with equal systems; count those that claim something, by two analyses."""
    studies = studies or current_effort().equal_studies
    some, plain = (np.array(column, bool) for column in zip(*_nulls(study, world, seed, studies), strict=True))
    return Control(
        studies=studies,
        some_claim=float(some.mean()),
        some_claim_mcse=_mcse(some),
        promised=study.level,
        uncorrected=float(plain.mean()),
        uncorrected_mcse=_mcse(plain),
        world=world.name,
    )


def _nulls(study: Study, world: TableWorld, seed: int, studies: int) -> Iterator[tuple[bool, bool]]:
    for k in range(studies):
        rng = stream(seed, "conclude", "control", k)
        score = world.equal(rng, k % world.n_draws, raters_drawn=study.raters_drawn)
        some = claims_something(study.prepared, _drawn(with_scores(study, score), seed, k), study.family)
        p_value = segment_t(score, study.ratings.system, study.ratings.item, study.ratings.n_systems)
        yield (
            some,
            bool((p_value[study.family] <= study.level).any()),
        )


def with_scores(study: Study, score: Floats) -> Collected:
    """Put other scores into what was collected."""
    return replace(study.collected, seen=replace(study.collected.seen, value=score))


def _drawn(collected: Collected, seed: int, k: int) -> Collected:
    """Let each study have a test of its own."""
    return replace(collected, streams=Streams(seed, ("conclude", "control", k)))


def _mcse(some: Bools) -> float:
    """Return the error of a share; where none, or all, are counted that of a share of one more."""
    n = len(some)
    share = min(max(float(some.mean()), 1 / (n + 2)), 1 - 1 / (n + 2))
    return float(np.sqrt(share * (1 - share) / n))
