"""Decide which design a plan advises: a search proposes one, and worlds of other seeds confirm or reject it.

Call `decide` with designs, the bench of the search, benches of *fresh* worlds and the request; it returns the result of
the search and the *page*: the designs that the answer shows, measured in fresh worlds, which the search did not use.
Each *round* of confirming has worlds of its own; a rejected design sends the search on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from simlab.planning.answer import PageDesigns, compare, order_by_preference, rename_advice
from simlab.planning.bench import difference, first_target, is_within_limits, reaches_nearly
from simlab.planning.search import Search, begin, go_on, list_simpler_designs
from simlab.planning.stages import share_of, worlds_in_time
from simlab.planning.terms import Bench, Design, Ground, MeasuredDesign, PlanRequest, SearchResult
from simlab.types import Estimate, Floats

FIRST, MOST = 32, 1500
"""Worlds of a round's first look, which shows how many more are needed, and the most of a round."""
PRECISION, COARSEST = 0.4, 0.02
"""Largest standard error of a target, as a share of the margin (.008 of .02), and in any case."""
TINY = 1e-12
"""Numbers below this are taken for 0 with a rounding error."""
HOPELESS = 2.5
"""Standard errors by which a first look may fall short of showing the targets; beyond them a round is given up."""

SEARCHING, SEARCHING_ON = 0.35, 0.25
"""Shares of the patience that is left which a search may take before fresh worlds decide, first and in later rounds."""
ROWS = 0.6
"""Share of the patience left then that the rows of the page beside the advice may take."""
ROUNDS = 20
"""Most rounds of fresh worlds."""
FEW, TIED = 8, 64
"""Worlds of a design that has no others, and of each of two designs that are tested for a tie."""

Say = Callable[[str], None]


def level(k: float, wanted: PlanRequest) -> float:
    """Return the level of the test in round k, from 1; m designs in one round are each tested with k + log2(m)."""
    # 1/2 + 1/4 + ... is 1: all rounds together err no more often than one test at that level (Bonferroni).
    return float((1 - wanted.confidence) / 2**k)


def verify_targets(fresh: Bench, design: Design, wanted: PlanRequest, k: float) -> bool | None:
    """Return whether the fresh worlds of round k show all targets of a design; None: patience ends before they tell."""
    error = min(PRECISION * wanted.margin, COARSEST)
    worlds = FIRST
    if worlds_in_time(fresh, worlds) < worlds:
        return None
    looked = fresh.look({design: worlds})[design]
    # A design that stands on a page has met more of them.
    worlds = max([worlds, *(len(estimate.influence) for estimate in looked.values())])
    while True:
        if not _are_there(looked, wanted) or _is_hopeless(looked, wanted, k, error):
            return False
        if (needed := _count_needed_worlds(looked, wanted, worlds, error)) <= worlds or worlds >= MOST:
            return all(
                lower_bound(looked[target.measure], k, wanted) >= target.least - wanted.margin
                for target in wanted.targets
            )
        if worlds_in_time(fresh, needed - worlds) < needed - worlds:
            return None
        worlds = needed
        looked = fresh.look({design: worlds})[design]


def _are_there(looked: MeasuredDesign, wanted: PlanRequest) -> bool:
    return all(target.measure in looked and looked[target.measure].n for target in wanted.targets)


def _count_needed_worlds(looked: Mapping[str, Estimate], wanted: PlanRequest, worlds: int, error: float) -> int:
    """Return how many worlds make all errors small enough; few worlds that all agree have an error, too."""
    worst = max(_error(looked[target.measure]) for target in wanted.targets)
    return worlds if not worst > error else min(math.ceil(1.05 * worlds * (worst / error) ** 2), MOST)


def _error(estimate: Estimate) -> float:
    """Return the standard error of a share, at least that of half a world more in which nothing is found."""
    return max(estimate.mcse, math.sqrt(0.5) * estimate.value / max(len(estimate.influence), 1))


def _is_hopeless(looked: MeasuredDesign, wanted: PlanRequest, k: float, error: float) -> bool:
    """True if a target is so far away that a whole round would hardly show it."""
    ask = _quantile(k, wanted) * error - wanted.margin
    pairs = ((target.least + ask, looked[target.measure]) for target in wanted.targets)
    return any(value.value + HOPELESS * max(value.mcse, error) < least for least, value in pairs)


def lower_bound(estimate: Estimate, k: float, wanted: PlanRequest) -> float:
    """Return the lower confidence bound of a share in round k: the bound of Gaffke (2005) on the mean of its worlds.

    Worlds, and one more of the least value that there can be, are weighted at random (uniform Dirichlet weights); the
    bound is a quantile of the weighted mean. For worlds of 0 and 1 it is that of Clopper and Pearson (1934), so that
    worlds that all agree do not make a share certain; for many worlds it is that of a normal law.
    """
    from scipy.optimize import brentq

    worlds = _telling_values(estimate)
    least = min(0.0, *worlds)
    values = np.array([least, *worlds])
    mean = float(values.mean())
    if mean - least < TINY or not math.isfinite(mean):
        return least if math.isfinite(mean) else -math.inf
    wanted_level = level(k, wanted)
    return float(
        brentq(
            lambda bound: _probability_below_zero(values - bound) - wanted_level, least + TINY * (mean - least), mean
        )
    )


def _telling_values(estimate: Estimate) -> list[float]:
    """Return the value of a measure in each world in which it counts something; the others have no influence."""
    n, influence = len(estimate.influence), np.asarray(estimate.influence, float)
    telling = n if estimate.telling is None else min(estimate.telling, n)
    largest = influence[np.argsort(-np.abs(influence), kind="stable")[:telling]]
    # A mean over `telling` of n worlds has the influence (x - mean) n / telling: this gives x back.
    return [float(value) for value in estimate.value + largest * telling / n]


def _probability_below_zero(gaps: Floats) -> float:
    """Return the probability that a sum of gaps, each times an exponential variable, is below 0.

    By the saddlepoint approximation of Lugannani and Rice (1980); .5 at the mean, where it has no value.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if gaps.sum() <= TINY * np.abs(gaps).sum():
        return 0.5
    # All moments exist between the two poles; the saddle of a lower tail lies left of 0.
    pole = 1 / float(gaps.min())
    # Exponential variables have the cumulant function -sum(log(1 - s gap)), whose slope is 0 at the saddle.
    saddle = brentq(lambda at: float(np.sum(gaps / (1 - at * gaps))), pole * (1 - TINY), 0.0)
    steps = 1 - saddle * gaps
    # `signed` and `scaled` are r and u of the formula of Lugannani and Rice.
    signed = -math.sqrt(2 * float(np.sum(np.log(steps))))
    scaled = saddle * math.sqrt(float(np.sum((gaps / steps) ** 2)))
    density = math.exp(-(signed**2) / 2) / math.sqrt(2 * math.pi)
    return float(ndtr(signed) + density * (1 / signed - 1 / scaled))


def _quantile(k: float, wanted: PlanRequest) -> float:
    from scipy.special import ndtri

    return float(-ndtri(level(k, wanted)))


class PlanDecision(NamedTuple):
    """Decision of a plan: the search result, the bench of round `k` whose worlds decided, and the page rows there."""

    result: SearchResult
    fresh: Bench
    compared: PageDesigns
    k: int


def decide(
    designs: Sequence[Design],
    first: Bench,
    fresh_of: Callable[[int], Bench],
    ground: Ground,
    wanted: PlanRequest,
    say: Say,
) -> PlanDecision:
    """Search, and test the choice in fresh worlds; a rejected one sends the search on, with new worlds each time.

    `first` is the bench of the search, `fresh_of` returns the bench of a round, counted from 1, whose worlds are its
    own. `say` gets lines on the leading design, and on the result of each round.
    """
    search = begin(designs, wanted)
    for k in range(1, ROUNDS + 1):
        result = go_on(search, share_of(first, SEARCHING if k == 1 else SEARCHING_ON), say)
        fresh = fresh_of(k)
        if result.advice is None:
            if result.probability < wanted.confidence:
                result = _end_undecided(result, search, result.best)
            break
        result = _take_simplest(result, search, first, wanted)
        verdict = verify_targets(fresh, result.chosen, wanted, k)
        if verdict:
            break
        say(f"fresh worlds of round {k} {'do not show the targets' if verdict is False else 'end with patience'}")
        if verdict is None or k == ROUNDS:
            result = _end_undecided(result, search, result.chosen)
            break
        search.exclude_design(result.chosen)
    compared = compare(result, first, share_of(fresh, ROWS), ground, wanted)
    return _name_unbeaten(PlanDecision(result, fresh, compared, k), search, first, wanted, say)


def _take_simplest(search_result: SearchResult, search: Search, first: Bench, wanted: PlanRequest) -> SearchResult:
    """Let a simpler design of the same size take a choice's place where it finds as much, as far as worlds tell."""
    measure, own = first_target(wanted).measure, search_result.chosen
    for simpler in list_simpler_designs(own):
        if not search.holds(simpler) or worlds_in_time(first, 2 * TIED) < 2 * TIED:
            continue
        looked = first.look({own: TIED, simpler: TIED})
        if measure not in looked[simpler] or not is_within_limits(looked[simpler], wanted):
            continue
        gap = difference(measure, looked[simpler][measure], looked[own][measure])
        if gap.value > -max(gap.mcse, wanted.margin / 4) and reaches_nearly(looked[simpler], wanted):
            return replace(search_result, advice=simpler, tried={**search_result.tried, **looked})
    return search_result


def _end_undecided(search_result: SearchResult, search: Search, leading: Design) -> SearchResult:
    """Return the result of a search whose patience ended before its choice was shown to reach the targets."""
    return replace(
        search_result, advice=None, leading=leading, open=search.find_undecided_sizes(leading), why="patience is over"
    )


def _name_unbeaten(proven: PlanDecision, search: Search, first: Bench, wanted: PlanRequest, say: Say) -> PlanDecision:
    """Name the design of a page that no other of its price outdoes; one to be bought is to reach its targets, too.

    The fresh worlds have not chosen which designs stand on a page. So those that were not named share one more round,
    in these worlds, and targets of one that is named instead are shown at its level.
    """
    result, fresh, compared, k = proven
    for design in order_by_preference(compared, wanted):
        if design == result.chosen:
            break
        say("another design of the page is to be named instead: fresh worlds are asked about it")
        if result.advice is None or verify_targets(fresh, design, wanted, k + 1 + math.log2(len(compared.roles) - 1)):
            # What is named must have been looked at in the worlds of the search, too: later parts start from these.
            looked = first.look({design: max(worlds_in_time(first, FEW), FEW)})
            result = replace(result, tried={**result.tried, **looked})
            if result.advice is not None:
                result = replace(result, advice=design)
            elif result.leading is not None:
                result = replace(result, leading=design, open=search.find_undecided_sizes(design))
            else:
                result = replace(result, best=design)
            return PlanDecision(result, fresh, rename_advice(compared, design, fresh), k)
    return proven
