"""Measure what is promised of conclusions from tables of ratings: each function yields a row for each promise.

Tables are drawn as people have them (see `made_ratings`) and concluded from by the analysis that their layout gets, as
`simlab conclude` does; each table is one unit. Where the analysis takes raters as given, those have no tastes, so that
what is true of these raters is what is true.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from made_ratings import Plan, made
from promise_rows import Row, Side, stream

from simlab.analysis.raters.leniency import leniency as leniency_of
from simlab.analysis.raters.model_comparisons import ModelComparisons
from simlab.analysis.raters.moderated import moderated_comparisons
from simlab.answers.conclude import Conclusion
from simlab.concluding.options import ConcludeOptions
from simlab.concluding.ratings.collecting import collect, compose_config, keep_ratings, make_comparable, sort_ratings
from simlab.concluding.ratings.findings import TableReading, conclude_ratings
from simlab.tables.rating_table import Ratings
from simlab.types import ScoredRatings
from tests.statistics.null_tables import NULLS, null_table

GIVEN = Plan(raters=3, taste=0.0, leniency=0.0)
TABLES: Mapping[str, Plan] = {
    "7 raters, side by side": Plan(documents=40),
    "15 raters, side by side, skewed": Plan(documents=60, raters=15, skewed=True),
    "7 raters, ungrouped": Plan(documents=60, grouped=False),
    "7 raters, two ratings": Plan(per_output=2),
    "7 raters, two ratings, 10 % missing": Plan(per_output=2, segments=2, came=0.9),
    "7 raters, three ratings, skewed, steps of 1": Plan(per_output=3, skewed=True, step=1.0),
    "15 raters, two ratings, ungrouped, 20 documents, steps of 1": Plan(
        raters=15, documents=20, per_output=2, grouped=False, step=1.0
    ),
    "6 raters, two ratings, uneven loads": Plan(raters=6, per_output=2, even=3.0),
    "7 raters rate all of 12 documents": Plan(documents=12, per_output=7),
    "15 raters rate all of 8 documents, skewed": Plan(raters=15, documents=8, per_output=15, skewed=True),
    "3 raters": GIVEN,
    "3 raters, 8 documents": GIVEN._replace(documents=8),
    "3 raters, 12 documents, skewed": GIVEN._replace(documents=12, skewed=True),
    "3 raters, two ratings, 20 documents": GIVEN._replace(documents=20, per_output=2),
}
FAR: Mapping[str, Plan] = {
    "8 systems, 7 raters, side by side": Plan(systems=8),
    "8 systems, 10 raters, two ratings": Plan(systems=8, raters=10, per_output=2),
    "8 systems, 3 raters, 20 documents": GIVEN._replace(systems=8, documents=20),
}
QUALITY = np.array([0.0, 0.0, 0.5, 1.6])
LENIENT = ("crossed", "by output, half missing", "segments", "side by side, 5 systems")
QUICK = ("7 raters, side by side", "7 raters, two ratings", "3 raters, 12 documents, skewed")


def conclusion(ratings: Ratings, words: tuple[str, ...] = (), **asked: Any) -> Conclusion:
    """Conclude from a table that was made, as from one that was read."""
    whole = sort_ratings(make_comparable(keep_ratings(ratings, np.ones(len(ratings.score), bool))).ratings)
    config = _config(words)
    return conclude_ratings(config, collect(whole, 1), ConcludeOptions(overrides=words, **asked), TableReading({}, ""))


@functools.cache
def _config(words: tuple[str, ...]) -> Mapping[str, Any]:
    return compose_config(ConcludeOptions(overrides=words, seed=1))


def row(name: str, setting: str, bound: float, values: list[float], side: Side = "at most") -> Row:
    share = float(np.mean(values))
    # Where none, or all, are counted, the error is that of one more.
    held = min(max(share, 1 / (len(values) + 2)), 1 - 1 / (len(values) + 2))
    spread = np.std(values, ddof=1) if set(values) - {0.0, 1.0} else np.sqrt(held * (1 - held))
    return Row(name, setting, bound, share, float(spread / len(values) ** 0.5), len(values), side)


def claims_of_equal_systems(n: int, tables: tuple[str, ...] = tuple(TABLES), level: float = 0.05) -> Iterator[Row]:
    """Count tables of equal systems in which any pair is claimed to differ."""
    for name in tables:
        found = [conclusion(table) for table in _tables(name, TABLES[name], n)]
        wrong = [float(any(pair.verdict for pair in one.pairs)) for one in found]
        yield row("some claim, systems equal", f"{name} ({_tests(found)})", level, wrong)


def strangers(
    n: int, nulls: tuple[str, ...] = tuple(NULLS), scales: tuple[str, ...] = ("skewed", "penalties")
) -> Iterator[Row]:
    """Count claims for raters at large in tables whose law is none of simlab's: of equal systems, and of a better one.

    The better one is better by four standard errors, of the kind that the test gives to equal systems.
    """
    for null in nulls:
        for scale in scales:
            setting, rng = f"strangers: {null}, {scale}", stream(17, null, scale)
            found = [compare_by_default(null_table(rng, NULLS[null], scale)) for _ in range(n)]
            wrong = [float((one.family(at_large=True).max_t() <= 0.05).any()) for one in found]
            yield row("some claim, systems equal", setting, 0.05, wrong)
            n_systems = len(found[0].mean)
            error = float(np.median([np.sqrt(one.at_large_variance[0]) for one in found]))
            effect = np.where(np.arange(n_systems) == 0, 4 * error, 0.0)
            apart = np.triu_indices(n_systems, 1)[0] == 0
            better = (compare_by_default(null_table(rng, NULLS[null], scale, effect)) for _ in range(n // 4))
            power = [float((one.family(at_large=True).max_t() <= 0.05)[apart].mean()) for one in better]
            yield row("differences found", setting, 0.1, power, "at least")


def compare_by_default(table: ScoredRatings) -> ModelComparisons:
    """Compare all pairs by the test of every table."""
    return moderated_comparisons(table, "apart", 1999)


def leniency(n: int, nulls: tuple[str, ...] = LENIENT, scales: tuple[str, ...] = ("normal", "skewed")) -> Iterator[Row]:
    """Count raters whose interval of leniency holds 0 where all are alike, and lacks it where they are not."""
    for null in nulls:
        for scale in scales:
            setting, rng = f"raters: {null}, {scale}", stream(18, null, scale)
            alike = NULLS[null]._replace(leniency=0.0, taste=0.0)
            tables = [null_table(rng, alike, scale) for _ in range(n)]
            held = [float(np.mean(_not_lenient(table))) for table in tables]
            yield row("leniency coverage, raters equal", setting, 0.95, held, "at least")
            unlike = alike._replace(leniency=1.0)
            found = [float(np.mean(~_not_lenient(null_table(rng, unlike, scale)))) for _ in range(n // 4)]
            yield row("differences found", setting, 0.1, found, "at least")


def _not_lenient(table: ScoredRatings) -> np.ndarray:
    """True for each rater whose interval holds 0; those of whom there is no interval are left out."""
    of = leniency_of(table, int(table.rater.max()) + 1, 0.05)
    known = np.isfinite(of.above) & np.isfinite(of.width)
    return np.abs(of.above[known]) <= of.width[known]


def segment_t_tests(n: int, tables: tuple[str, ...] = tuple(TABLES)) -> Iterator[Row]:
    """Count what uncorrected t tests over segments find in equal systems: of pairs, and of tables (the control)."""
    from scipy.stats import ttest_rel

    for name in tables:
        of_pairs, some = [], []
        for table in _tables(name, TABLES[name], n):
            score = _of_outputs(table)
            apart = [(i, j) for i in range(score.shape[1]) for j in range(i)]
            p = np.array([ttest_rel(score[:, i], score[:, j], nan_policy="omit").pvalue for i, j in apart])
            of_pairs.append(float(np.mean(p <= 0.05)))
            some.append(float(p.min() <= 0.05))
        yield row("a pair, t over segments, uncorrected", name, 0.05, of_pairs, "control above")
        yield row("some claim, t over segments, uncorrected", name, 0.05, some, "control above")


def errors_and_coverage(n: int, tables: tuple[str, ...] = tuple(TABLES)) -> Iterator[Row]:
    """Count tables with a wrong claim, tables whose intervals hold all differences, intervals of systems, and finds."""
    for name in tables:
        plan = {**TABLES, **FAR}[name]
        quality = QUALITY if plan.systems == len(QUALITY) else 1.5 * np.arange(plan.systems)
        found = [conclusion(table) for table in _tables(name, plan, n, quality)]
        truth = {(f"s{i}", f"s{j}"): quality[i] - quality[j] for i in range(len(quality)) for j in range(len(quality))}
        setting = f"{name} ({_tests(found)})"
        yield row("some wrong claim", setting, 0.05, [float(_wrong(one, truth)) for one in found])
        yield row("all differences in their intervals", setting, 0.95, [_held(one, truth) for one in found], "at least")
        if not plan.skewed:
            systems = [_held_alone(one, quality) for one in found]
            yield row("a system's mean in its interval", setting, 0.95, systems, "at least")
        if any(0 < abs(gap) < 2 for gap in truth.values()):
            power = [
                float(np.mean([p.verdict != 0 for p in one.pairs if 0 < abs(truth[p.first, p.second]) < 2]))
                for one in found
            ]
            yield row("differences found", setting, 0.1, power, "at least")


def many_to_one(n: int, tables: tuple[str, ...] = QUICK) -> Iterator[Row]:
    """Count claims against a baseline among equal systems: a family of its own."""
    for name in tables:
        found = [conclusion(table, against="s0") for table in _tables(name, TABLES[name], n)]
        wrong = [float(any(pair.verdict for pair in one.pairs)) for one in found]
        yield row("some claim against one baseline, systems equal", f"{name} ({_tests(found)})", 0.05, wrong)


def families(n: int, tables: tuple[str, ...] = QUICK) -> Iterator[Row]:
    """Count what families of comparisons promise, where systems are equal, and where s2 and s3 are the best of four.

    A false discovery rate bounds the share of wrong claims; each pair by itself, the control, bounds nothing together.
    """
    for name in tables:
        apart = np.array([0.0, 0.0, 0.8, 0.8]) * (-1 if TABLES[name].skewed else 1)
        truth = {(f"s{i}", f"s{j}"): apart[i] - apart[j] for i in range(4) for j in range(4)}
        equal, differ = (list(_tables(name, TABLES[name], n, quality)) for quality in (None, apart))
        first = [_excludes(conclusion(table, family="best"), "s0") for table in equal]
        yield row("a best system is excluded, systems equal", name, 0.05, first)
        best = [conclusion(table, family="best") for table in differ]
        yield row("a best system is excluded, two are best", name, 0.05, [_excludes(one, "s2") for one in best])
        yield row(
            "power to exclude one that is not best", name, 0.1, [_excludes(one, "s0") for one in best], "at least"
        )
        ranks = [conclusion(table, family="ranks") for table in differ]
        yield row("some wrong claim, ranks", name, 0.05, [float(_wrong(one, truth)) for one in ranks])
        rates = [conclusion(table, ("decision.multiplicity=bh",), family="fdr") for table in differ]
        yield row("share of claims that are wrong, fdr", name, 0.05, [_wrong_share(one, truth) for one in rates])
        power = [np.mean([pair.verdict != 0 for pair in one.pairs if truth[pair.first, pair.second]]) for one in rates]
        yield row("power, fdr", name, 0.1, [float(one) for one in power], "at least")
        alone = [conclusion(table, ("decision.multiplicity=none",)) for table in differ]
        yield row(
            "some wrong claim, each pair", name, 0.05, [float(_wrong(one, truth)) for one in alone], "control above"
        )


def _excludes(found: Conclusion, name: str) -> float:
    assert found.family is not None
    return float(not next(one.may_be_best for one in found.family.candidates if one.system == name))


def _wrong_share(found: Conclusion, truth: Truth) -> float:
    """Return the share of claims that are wrong; 0 where there is none."""
    claims = [found.replace_fields(pairs=[pair]) for pair in found.pairs if pair.verdict]
    return sum(_wrong(one, truth) for one in claims) / max(len(claims), 1)


def within_a_margin(n: int, tables: tuple[str, ...] = QUICK) -> Iterator[Row]:
    """Count tables in which a pair that differs by just the margin is called equivalent, or not inferior."""
    for name in tables:
        plan, quality = TABLES[name], np.array([0.0, 0.0, 0.5, 0.5])
        found = [conclusion(table, margin=0.5) for table in _tables(name, plan, n, quality)]
        wrong = [float(any(_at_margin(pair, one.lower_is_better) for pair in one.pairs)) for one in found]
        yield row("some pair at the margin called inside", f"{name} ({_tests(found)})", 0.05, wrong)


def _at_margin(pair: Any, lower: bool) -> bool:
    """Tell whether a pair that differs by the margin is said not to: s0, s1 have 0, s2, s3 half a point."""
    if (pair.first in ("s0", "s1")) == (pair.second in ("s0", "s1")):
        return False
    worse_first = not lower
    return pair.within in ("equivalent", "not_inferior" if worse_first else "not_superior")


def _tables(name: str, plan: Plan, n: int, quality: np.ndarray | None = None) -> Iterator[Ratings]:
    return (made(stream(31, name, number), plan, quality) for number in range(n))


def _tests(found: list[Conclusion]) -> str:
    names = [str(one.about["test"]) for one in found]
    return max(sorted(set(names)), key=names.count)


def _of_outputs(table: Ratings) -> np.ndarray:
    """Return mean scores of outputs, `[item, system]`."""
    shape = len(table.document), table.n_systems
    output = table.item * table.n_systems + table.system
    count = np.bincount(output, minlength=shape[0] * shape[1])
    total = np.bincount(output, weights=table.score, minlength=shape[0] * shape[1])
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).reshape(shape)


Truth = Mapping[tuple[str, str], float]


def _wrong(found: Conclusion, truth: Truth) -> bool:
    better = -1 if found.lower_is_better else 1
    return any(p.verdict and np.sign(truth[p.first, p.second]) * better != p.verdict for p in found.pairs)


def _held(found: Conclusion, truth: Truth) -> float:
    return float(all(p.low - 1e-9 <= truth[p.first, p.second] <= p.high + 1e-9 for p in found.pairs))


def _held_alone(found: Conclusion, quality: np.ndarray) -> float:
    return float(np.mean([one.low <= quality[int(one.system[1:])] <= one.high for one in found.systems]))
