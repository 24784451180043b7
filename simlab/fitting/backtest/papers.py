"""Test on a table of ratings which designs papers advise, each beside the one it warns of, at as many ratings.

The documents of the table are cut into parts. On each part both designs are simulated with ratings that the table
holds, and their difference in a measure, such as SRP (stable ranking probability), is one value. Its standard error is
that over parts: more studies of the same documents do not lower it. Call `cut_parts`, `find_setting` for an advice,
`measure_arm` for both of its arms (designs) on each part, or in each of `draw_worlds`, and `judge` on the results: it
returns an `AdviceTest`, whose verdict is that the advice holds, is turned round, or that this is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from simlab.analysis import normalization
from simlab.analysis.raters.moderated import moderated, moderated_differences, moderated_family
from simlab.answers.backtest import AdviceName, AdviceSource, AdviceTest, AdviceVerdict, Measure, TestName
from simlab.fitting.backtest.campaigns import Campaigns, measure_worlds
from simlab.fitting.backtest.designs import FEWEST_DOCUMENTS, BacktestDesign, prepare_studies, repeatable_design
from simlab.fitting.backtest.execution import BacktestRun
from simlab.fitting.backtest.planning import flatten_ratings, select_documents
from simlab.fitting.laws import draw_fixed_world
from simlab.rng import stream
from simlab.studies.ratings.collecting import collect, lay
from simlab.studies.ratings.concluding import compare_systems
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.types import Campaign, Floats, Place, World
from simlab.world.segment_metrics import agreed_quality, segment_metric

LEVEL = 0.05
"""Level of the test of an effect; its interval covers 95 %."""
FEWEST_PARTS, MOST_PARTS = 4, 6
"""Into how many parts documents are cut: an error needs several, and a study needs documents."""
SOME = 2 / 3
"""Where studies ask about other documents, they ask about this share of a part's."""
UNEVEN = 0.8
"""Normalised entropy of the loads that an even load is held against."""
NO_METRIC = "no metric is named (--metric COLUMN)"
"""Reason why an advice on metrics is not tried."""
IDLE = "one of the two claims no more than chance does, and then SRP says nothing"
"""Reason why an advice is not judged by SRP: one of the tests claims as often as chance does."""
OF_DEFAULT_TEST = "SRP falls where a metric adds claims of small differences: the default test decides"
ONE_RATER = "an output needs ratings by two people or more"


class Arm(NamedTuple):
    """One of two designs compared: `share` of a part's documents are rated; `metric`: a metric is a control variate."""

    grouping: str = "pseudo_side_by_side"
    share: float = 1.0
    ratings_per_item: int = 1
    load_entropy: float | None = None
    normalization: str = "none"
    metric: bool = False

    def design(self, documents: int) -> BacktestDesign:
        """Return the arm as a `BacktestDesign` of `documents` documents, counted at one rating each."""
        return BacktestDesign(self.grouping, round(self.share * documents), self.ratings_per_item)


ADVICE: Mapping[AdviceName, tuple[Arm, Arm]] = {
    "grouping": (Arm(), Arm(grouping="ungrouped")),
    "load": (Arm(), Arm(load_entropy=UNEVEN)),
    "normalization": (Arm(normalization="zscore"), Arm()),
    "documents": (Arm(), Arm(share=0.5, ratings_per_item=2)),
    "metric": (Arm(metric=True), Arm()),
}
"""What is advised, and what it is held against: side by side, even loads, z-scores, documents before ratings, a metric
as control variate."""
MEASURES: Mapping[TestName, Measure] = {"published": "srp", "default": "significant_share"}
"""What is measured: the paper's SRP; where the test keeps its promise for all pairs at once, the share it finds."""
# Fewer draws than the 1,999 of a single table, since many studies are tested; 25 of 500 is still exactly .05.
MODERATED: Mapping[str, Any] = {"pools": "apart", "draws": 499}


class Amount(NamedTuple):
    """Amount of simulation: draws of the fitted law, and studies of each design in a part, or a world, by a test.

    SRP needs pairs of studies; what the default test finds needs one.
    """

    draws: int
    recorded: Mapping[TestName, int]
    fitted: Mapping[TestName, int]


FULL = Amount(20, {"published": 24, "default": 6}, {"published": 12, "default": 1})
"""Amount of simulation of a test of all advice."""
QUICK = Amount(8, {"published": 12, "default": 2}, {"published": 8, "default": 1})
"""The same for a quick look."""


class AdviceSetting(NamedTuple):
    """Documents at one rating each, and whether studies repeat the same documents."""

    documents: int
    same: bool


class ArmMeasures(NamedTuple):
    """Measures of a design in studies: the measure of its test, and the share of pairs told apart."""

    value: float
    share_separated: float


def cut_parts(plan: BacktestRun, metric: Floats | None = None) -> list[World]:
    """Cut the documents into 4 to 6 parts at random, spread over buckets; [] where there are too few documents.

    Each part is a world of its documents' ratings. `metric[system, item]` has the scores of all outputs (None: no
    metric); each part keeps its own.
    """
    n = plan.world.frame.n_documents
    number = min(MOST_PARTS, n // FEWEST_DOCUMENTS)
    if number < FEWEST_PARTS:
        return []
    order = stream(plan.seed, "backtest", "papers", "parts").permutation(n)
    # Shuffled within buckets and dealt in turn, so that each part gets its share of every bucket.
    order = order[np.argsort(plan.world.frame.bucket[order], kind="stable")]
    kept = [np.isin(np.arange(n), order[k::number]) for k in range(number)]
    parts = [select_documents(plan.world, documents) for documents in kept]
    if metric is None:
        return parts
    items = [documents[plan.world.frame.document] for documents in kept]
    return [replace(part, metric=metric[:, own]) for part, own in zip(parts, items, strict=True)]


def find_setting(parts: Sequence[World], name: AdviceName) -> AdviceSetting | str:
    """Return the number of documents and the kind of repetition by which parts can test an advice, or why none can."""
    if not parts:
        return f"fewer than {FEWEST_PARTS * FEWEST_DOCUMENTS} documents, of which no error can be told"
    if not parts[0].frame.n_raters > 1:
        return "one person rated everything"
    if min(int((part.frame.rater >= 0).any(axis=0).sum(1).min()) for part in parts) < 2 and name == "documents":
        return ONE_RATER
    least = min(part.frame.n_documents for part in parts)
    some, fewest = round(SOME * least), FEWEST_DOCUMENTS / min(arm.share for arm in ADVICE[name])
    if least - least % 2 < fewest:
        each = f" in each of {len(parts)} parts" if len(parts) > 1 else ""
        return f"studies of {least} documents are too small for it, which takes {fewest:.0f}{each}"
    # Of documents that are rated again and again a metric tells nothing more: what it tells is of the others.
    tried = ((some, False),) if name == "metric" else ((least, True), (some, True), (some, False))
    for documents, same in tried:
        even = documents - documents % 2
        if even >= fewest and all(_allows_arm(part, arm, even, same) for part in parts for arm in ADVICE[name]):
            return AdviceSetting(even, same)
    return "too few documents were rated, for all systems, by raters who could stand in for each other"


def _allows_arm(part: World, arm: Arm, documents: int, same: bool) -> bool:
    design = repeatable_design(part, arm.design(documents))
    return design is not None and (not same or design.repetition == "same documents")


def measure_arm(
    world: World, arm: Arm, setting: AdviceSetting, test: TestName, seed: int, studies: int
) -> ArmMeasures | str:
    """Carry out `studies` studies of an arm on a part or world; return its measures, or why this is impossible."""
    design = arm.design(setting.documents)
    world = world if arm.metric else replace(world, metric=None)
    # All documents, or all but one where their number is odd: all studies then share one set.
    whole = setting.documents >= world.frame.n_documents - 1
    # SRP compares studies of one set, so that a set needs two.
    per_set = 1 if not setting.same else studies if whole else max(studies // 3, 2)
    asking = _bind_arm(prepare_studies(design, seed, per_set), arm, test)
    places = [Place(0, study=k) for k in range(studies - studies % per_set)]
    table = lay(asking, world, places[0])
    collected = collect(asking, world, table, iter([None] * len(places)), places)
    claims, directions = [], []
    for campaign in collected:
        if not isinstance(campaign, Campaign):
            return str(campaign)
        outcome = compare_systems(asking, campaign.collected, campaign.collected.streams("test"))
        claims.append(np.where(outcome["significant"], outcome["direction"], 0).astype(float))
        directions.append(outcome["direction"].astype(float))
    shape = (1, 1, len(places), -1) if per_set == 1 else (1, len(places) // per_set, per_set, -1)
    campaigns = Campaigns(np.reshape(claims, shape), np.reshape(directions, shape), None)
    values = measure_worlds(campaigns)
    return ArmMeasures(float(values[MEASURES[test]].value[0]), float(values["significant_share"].value[0]))


def _bind_arm(studies: PreparedRatings, arm: Arm, test: TestName) -> PreparedRatings:
    """Set the loads, normalisation and test of an arm."""
    normalise = partial(normalization.zscore, ddof=1) if arm.normalization == "zscore" else normalization.none
    design = studies.design._replace(load_entropy=arm.load_entropy, load_tolerance=0.05, load_tries=1000)
    studies = studies._replace(design=design, normalise=normalise)
    if test == "published":
        return studies
    return studies._replace(
        test=partial(moderated, **MODERATED),
        reads_ratings=True,
        family=partial(moderated_family, **MODERATED),
        differences=partial(moderated_differences, **MODERATED),
        multiplicity="max_t",
    )


def draw_worlds(plan: BacktestRun, draws: int, metric: Floats | None = None) -> list[World]:
    """Fit the law to the table; draw 2 * `draws` worlds like it, two of each draw of the law, side by side.

    With a `metric[system, item]` of the table each world has a metric that follows its outputs as closely.
    """
    effects = plan.law.fit(flatten_ratings(plan.world, plan.ratings), seed=plan.seed, draws=draws).effects
    rng = stream(plan.seed, "backtest", "papers", "worlds")
    worlds = [
        draw_fixed_world(plan.law, rng, effects[k % len(effects)], plan.world.frame)
        for k in range(draws)
        for _ in (0, 1)
    ]
    if metric is None:
        return worlds
    rng, closeness = stream(plan.seed, "backtest", "papers", "metric"), correlate_within_systems(plan.world, metric)
    return [segment_metric(rng, world, correlation=closeness, correlation_sd=0.0) for world in worlds]


def correlate_within_systems(world: World, metric: Floats) -> float:
    """Correlate `metric[system, item]` with mean ratings of the same outputs, within systems; 0 if either is constant.

    Higher scores of the metric are taken to be better.
    """
    quality = -agreed_quality(world) if world.frame.lower_is_better else agreed_quality(world)
    y, g = (values - values.mean(axis=1, keepdims=True) for values in (quality, metric))
    spread = sqrt(float((y**2).sum() * (g**2).sum()))
    return float((y * g).sum()) / spread if spread > 0 else 0.0


def judge(
    name: AdviceName,
    source: AdviceSource,
    test: TestName,
    setting: AdviceSetting,
    results: Sequence[tuple[ArmMeasures | str, ArmMeasures | str]],
    per_answer: float,
    answers: int,
    price: float = float("nan"),
) -> AdviceTest:
    """Judge an advice by `results`, the measures of its own arm and of the other, for each part or world.

    `source` is "recorded" (parts of the table) or "fitted" (worlds, two of each draw of the law).
    `answers` are those of one study; an answer takes `per_answer` seconds and costs `price`, NaN where that is not
    known.
    """
    failed = next((side for pair in results for side in pair if isinstance(side, str)), "")
    if failed:
        return report_untried(name, source, test, failed)
    values = np.array([[*side, *other] for side, other in results])
    effects = values[:, 0] - values[:, 2]
    error, freedom = _error(effects, paired=source == "fitted")
    half = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    advised, advised_found, other, other_found = values.mean(0)
    effect = float(effects.mean())
    # What claims no more than chance does is confirmed, or contradicted, by chance.
    idle = MEASURES[test] == "srp" and min(advised_found, other_found) <= LEVEL
    # Nor do the pairs that it tells apart say more: even a metric that knows nothing adds some (.107 for .089 in
    # tests/statistics/advised_papers.py, 60 documents), since a permutation test of pairs errs less than it may.
    undecided = IDLE if idle else OF_DEFAULT_TEST if name == "metric" and test == "published" else ""
    first, second = (arm.design(setting.documents) for arm in ADVICE[name])
    return AdviceTest(
        advice=name,
        source=source,
        test=test,
        measure=MEASURES[test],
        advised=float(advised),
        other=float(other),
        effect=effect,
        error=error,
        low=effect - half,
        high=effect + half,
        n=len(effects),
        advised_found=float(advised_found),
        other_found=float(other_found),
        documents=first.documents,
        other_documents=second.documents,
        answers=answers,
        hours=per_answer * answers / 3600,
        money=price * answers,
        repetition="same documents" if setting.same else "other documents",
        verdict="not known here" if undecided else _verdict(effect - half, effect + half),
        reason=undecided,
    )


def _verdict(low: float, high: float) -> AdviceVerdict:
    if low > 0:
        return "holds"
    return "turned round" if high < 0 else "not known here"


def _error(effects: Floats, *, paired: bool) -> tuple[float, int]:
    """Return the standard error of a mean effect, and its degrees of freedom.

    Two worlds of each draw of a law tell what is not known of the law (they share it) from what worlds scatter, which
    their number makes small.
    """
    if not paired:
        return float(effects.std(ddof=1)) / sqrt(len(effects)), len(effects) - 1
    away = (effects - effects.mean()).reshape(-1, 2)
    # The mean product of both worlds' deviations estimates the variance that they share; by chance it is negative.
    shared = max(float(away.prod(1).sum()) / (len(away) - 1), 0.0)
    return sqrt(shared + float(effects.var(ddof=1)) / len(effects)), len(away) - 1


def report_untried(name: AdviceName, source: AdviceSource, test: TestName, reason: str) -> AdviceTest:
    """Return the test of an advice that cannot be tried, with the reason."""
    nan = float("nan")
    numbers = ("advised", "other", "effect", "error", "low", "high", "advised_found", "other_found", "hours", "money")
    return AdviceTest(
        advice=name,
        source=source,
        test=test,
        measure=MEASURES[test],
        **dict.fromkeys(numbers, nan),
        n=0,
        documents=0,
        other_documents=0,
        answers=0,
        repetition="",
        verdict="cannot be tried",
        reason=reason,
    )


def count_answers(part: World, setting: AdviceSetting) -> int:
    """Return about how many answers a study of `part` asks for."""
    frame = part.frame
    return round(setting.documents / frame.n_documents * len(frame.document)) * frame.n_systems


def median_seconds(plan: BacktestRun) -> float:
    """Return the median seconds of an answer; NaN where the table has no times."""
    known = plan.ratings.seconds[np.isfinite(plan.ratings.seconds)]
    return float(np.median(known)) if len(known) else float("nan")
