"""Measure what the tests that generalise to raters promise: each function yields a row for each promise and setting.

Worlds are the units: of each only one study is held, so that the error of a share comes from worlds alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from promise_rows import Row, numbers, stream
from rated_tables import from_totals, rated

from simlab.analysis.multiplicity import FlipFamily
from simlab.analysis.raters.flips import compare_by_flips
from simlab.analysis.significance import compare_by_permutation
from simlab.config import compose
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Place, ScoredRatings

POOLS = (3, 7, 30)
GROUPINGS = ("pseudo_side_by_side", "system_balanced", "ungrouped")
TASTES = (0.0, 0.1, 0.3)
"""rater_system_sd: none, that of the preset, and the most that the data allow."""

FALSE_POSITIVE, FAMILY_WISE = 0.06, 0.05
POWER = {3: 0.15, 7: 0.50, 30: 0.65}
FOUND = 0.05
"""Share of the default world's differences that is found at least: more than are claimed where there are none."""


class Said(NamedTuple):
    """Hold what a test said of each world's pairs: `share` significant, `wrong`: any of them false, `right`: found."""

    share: np.ndarray
    wrong: np.ndarray
    right: np.ndarray


@functools.cache
def said(tests: tuple[str, ...], n: int, *words: str) -> dict[str, Said]:
    """Let several tests conclude from the same campaigns; a test is `by_rater` or `rater_flips max_t`."""
    configs = [compose(["decision=significance", *words, *_words(test)]) for test in tests]
    kind = identify_kind(configs[0])
    prepared = [kind.prepare(config) for config in configs]
    told: dict[str, list[tuple[float, bool, float]]] = {test: [] for test in tests}
    for number in numbers(n):
        world, place = draw_world(configs[0], number), Place(number)
        laid = kind.lay(prepared[0], world, place)
        noise = kind.draw(prepared[0], world, laid, place)
        (campaign,) = kind.collect(prepared[0], world, laid, iter([noise]), [place])
        assert isinstance(campaign, Campaign)
        true = kind.truth(prepared[0], world, laid)["true_direction"][0]
        for test, ready in zip(tests, prepared, strict=True):
            outcomes = kind.conclude(ready, [campaign.collected])
            found, right = outcomes["significant"][0], outcomes["direction"][0] == true
            told[test].append((found.mean(), bool((found & ~right).any()), (found & right).mean()))
    return {test: Said(*map(np.array, zip(*rows, strict=True))) for test, rows in told.items()}


def _words(test: str) -> list[str]:
    name, _, multiplicity = test.partition(" ")
    return [f"analysis.test={name}", *([f"decision.multiplicity={multiplicity}"] if multiplicity else [])]


def row(name: str, setting: str, bound: float, values: np.ndarray, side: str = "at most") -> Row:
    return Row(name, setting, bound, values.mean(), values.std(ddof=1) / len(values) ** 0.5, len(values), side)


def systems(pool: int, grouping: str, taste: float = 0.1, spread: float = 0.0) -> tuple[str, ...]:
    pools = (f"raters.pool_size={pool}", f"raters.rater_system_sd={taste}")
    return (*pools, f"design.grouping={grouping}", f"systems.system_sd={spread:g}", "design.documents=181")


def tests_for(pool: int) -> tuple[str, ...]:
    return ("by_rater", "two_way", *(("rater_flips",) if pool > 5 else ()))


def false_positives(
    n: int,
    pools: tuple[int, ...] = POOLS,
    groupings: tuple[str, ...] = GROUPINGS,
    tastes: tuple[float, ...] = (0.1,),
) -> Iterator[Row]:
    """Count pairs of equal systems that are called different, with new raters in each world; the published test, too.

    Systems are equal in truth, and other raters would disagree about which is better: the published test is wrong about
    that far more often than its level (the control, where raters are few and have tastes).
    """
    for pool in pools:
        for grouping in groupings:
            for taste in tastes:
                control = pool < 30 and taste > 0 and grouping == "pseudo_side_by_side"
                tests = (*tests_for(pool), *(("permutation",) if control else ()))
                found = said(tests, n, *systems(pool, grouping, taste))
                apart = said(tests_for(pool), max(n // 8, 2), *systems(pool, grouping, taste, 0.3))
                where = f"{pool} raters, {grouping}, taste {taste:g}"
                for test in tests_for(pool):
                    yield row("false positives", f"{test}, {where}", FALSE_POSITIVE, found[test].share)
                    yield row("differences found", f"{test}, {where}", FOUND, apart[test].right, "at least")
                if control:
                    shares = found["permutation"].share
                    yield row("false positives", f"permutation, {where}", FALSE_POSITIVE, shares, "control above")


def power(n: int, pools: tuple[int, ...] = POOLS) -> Iterator[Row]:
    """Count pairs found, side by side, of systems that do differ (the default world's)."""
    for pool in pools:
        words = (f"raters.pool_size={pool}", "systems.system_sd=0.3", "design.documents=181")
        found = said(("by_rater",), n, *words)["by_rater"]
        yield row("power", f"by_rater, {pool} raters", POWER[pool], found.right, "at least")


def family_in_worlds(n: int, pools: tuple[int, ...] = (7,)) -> Iterator[Row]:
    """Count worlds of equal systems with any pair called different, by max-T over rater flips; and uncorrected."""
    for pool in pools:
        for grouping in ("pseudo_side_by_side", "ungrouped"):
            found = said(("rater_flips max_t", "rater_flips"), n, *systems(pool, grouping))
            where = f"{pool} raters, {grouping}, all equal"
            yield row("family-wise", f"rater_flips max_t, {where}", FAMILY_WISE, found["rater_flips max_t"].wrong)
            yield row(
                "family-wise", f"rater_flips none, {where}", FAMILY_WISE, found["rater_flips"].wrong, "control above"
            )


LAWS: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 1.5, shape),
    "ties": lambda rng, shape: np.floor(rng.exponential(1.0, shape)),
}


def ratings(rng: np.random.Generator, law: str, n_raters: int, different: int, n_systems: int = 8) -> ScoredRatings:
    """Draw side-by-side ratings, 10 documents a rater; the last systems differ much, the others not at all."""
    by = np.repeat(np.arange(n_raters), 10)
    liking = LAWS[law](rng, (n_raters, n_systems))
    score = LAWS[law](rng, (len(by), n_systems)) + 0.3 * liking[by]
    score[:, n_systems - different :] += 3 * np.arange(1, different + 1)
    return rated(score[:, :, None], np.broadcast_to(by[:, None, None], (*score.shape, 1)))


def documents(
    rng: np.random.Generator, law: str, n_documents: int, different: int, n_systems: int = 8
) -> ScoredRatings:
    """Draw documents' scores by raters who are not in question."""
    total = LAWS[law](rng, (n_documents, n_systems))
    total[:, n_systems - different :] += 3 * np.arange(1, different + 1)
    return from_totals(total, 4)


def families(n: int, laws: tuple[str, ...] = tuple(LAWS), sizes: tuple[int, ...] = (0, 4)) -> Iterator[Row]:
    """Count data sets with any false claim among the pairs of equal systems: whole and partial nulls, skew, ties."""
    for law in laws:
        for different in sizes:
            for n_raters in (7, 10, 30):
                make = functools.partial(ratings, law=law, n_raters=n_raters, different=different)
                yield from _family(f"rater_flips max_t, {n_raters} raters", law, different, n, make, _flips)
            for n_documents in (8, 20, 60):
                make = functools.partial(documents, law=law, n_documents=n_documents, different=different)
                yield from _family(f"permutation max_t, {n_documents} documents", law, different, n, make, _swaps)


def _flips(rng: np.random.Generator, data: ScoredRatings) -> FlipFamily:
    return compare_by_flips(rng, data, flips=512)


def _swaps(rng: np.random.Generator, data: ScoredRatings) -> FlipFamily:
    return compare_by_permutation(rng, data, permutations=500, p_value="add_one")


def _family(
    what: str,
    law: str,
    different: int,
    n: int,
    make: Callable[[np.random.Generator], ScoredRatings],
    test: Callable[[np.random.Generator, ScoredRatings], FlipFamily],
) -> Iterator[Row]:
    equal = np.triu_indices(8, 1)[1] < 8 - different
    wrong, right = [], []
    for number in range(n):
        rng = stream(21, what, law, different, number)
        claimed = test(rng, make(rng)).max_t() <= FAMILY_WISE + 1e-12
        wrong.append(claimed[equal].any())
        right.append(claimed[~equal].mean() if different else 0.0)
    null = f"{different} of 8 systems differ" if different else "all equal"
    yield row("family-wise", f"{what}, {law}, {null}", FAMILY_WISE, np.array(wrong, float))
    if different:
        yield row("differences found", f"{what}, {law}, {null}", FOUND, np.array(right, float), "at least")
