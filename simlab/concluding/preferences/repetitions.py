"""Simulate the study behind a table of comparisons again: repeated as it is, and with equal systems.

Both are simulated after the fact, in the table's own design (who voted on which item of which pair), in a world fitted
by moments, and concluded by the very test that concluded the table. `repetition` does the first, `control` the second.
A world holds the systems' strengths, and how far raters' tastes and single outputs go beside them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from simlab.analysis import sign_test
from simlab.analysis.preferences.anytime_votes import highest_evidence
from simlab.analysis.preferences.families import holm_of_e_values
from simlab.analysis.preferences.net_wins import weigh_votes
from simlab.analysis.preferences.strengths import Strengths
from simlab.analysis.preferences.votes import FEWEST, Votes, own_number
from simlab.answers.conclude import Control, RepeatedShares, Repetition
from simlab.answers.standings import Interval
from simlab.concluding.preferences.claims import PreferenceClaims
from simlab.concluding.simulations import share_again
from simlab.effort import current_effort
from simlab.fitting.predictions import prediction_interval, widen_by_chance
from simlab.fitting.preferences.moments import VoteWorld, own_effects
from simlab.rng import stream
from simlab.types import Array, Bools, Floats, Ints

DRAWS, EACH, TESTED = 100, 10, 3
"""Draws of what the world may be, repetitions carried out in each, and how many of these are tested, too."""

LOOKS = 300
"""Number of looks of an analyst who tests each pair again and again while a table grows."""

MOST = 10_000
"""Largest number of votes of a table whose study is simulated again."""

PATTERNS = 199
"""Flips of each simulated study: p-values are then multiples of 1/200, and the test is as valid."""

Way: TypeAlias = Callable[[np.random.Generator, VoteWorld], VoteWorld]
"""Changes a world into the one of a repetition, such as with new raters."""

UNNAMED = "who voted, or on what, is not named, or there are too many of them"

_MOST_EFFECTS = 2_000_000
"""Raters (or items) times systems squared up to which their own effects are drawn given their votes."""


def repetition(
    votes: Votes,
    claims: PreferenceClaims,
    fitted: Strengths,
    covariance: Floats,
    world: VoteWorld,
    seed: int,
    *,
    ordered: bool,
) -> Repetition | None:
    """Simulate repetitions of the study in worlds that the table allows; return how often its claims come again.

    `fitted` are the systems' strengths, `covariance` their covariance given the table, `world` the one fitted to it.
    `ordered`: votes stand in the table one by one as they came, not as counts. None where nothing was claimed.
    """
    claimed = np.flatnonzero(claims.verdict * claims.family)
    if not len(claimed):
        return None
    worlds = _worlds(covariance, world, seed)
    raters, items = (
        _make_effect_sampler(votes, votes.rater, world.taste_sd, fitted),
        _make_effect_sampler(votes, votes.item, world.output_sd, fitted),
    )

    def same_raters(rng: np.random.Generator, world: VoteWorld) -> VoteWorld:
        return replace(world, taste=None if raters is None else raters(rng))

    def keep_everything(rng: np.random.Generator, world: VoteWorld) -> VoteWorld:
        return replace(same_raters(rng, world), output=None if items is None else items(rng))

    def same_items(rng: np.random.Generator, world: VoteWorld) -> VoteWorld:
        return replace(world, output=None if items is None else items(rng))

    ways: dict[str, tuple[Way, bool]] = {
        "same": (keep_everything, raters is not None and items is not None),
        "new_documents": (same_raters, raters is not None),
        "new_raters": (same_items, items is not None),
        "new_study": (lambda rng, one: one, True),
    }
    shares = {
        name: _measure_confirmation(claims, claimed, worlds, way, seed, ordered)
        for name, (way, known) in ways.items()
        if known
    }
    return Repetition(
        same_sign=RepeatedShares(**{name: sign for name, (sign, _) in shares.items()}),
        claimed_again=RepeatedShares(**{name: anew for name, (_, anew) in shares.items()}),
        studies=DRAWS * EACH,
        world=_describe_world(world),
        unknown={name: UNNAMED for name in ways if name not in shares},
    )


def _worlds(covariance: Floats, world: VoteWorld, seed: int) -> list[VoteWorld]:
    """Draw worlds: strengths about those of `world`, with the `covariance` that the table leaves open."""
    value, vector = np.linalg.eigh(covariance[:-1, :-1])
    # Only differences of strengths are known, which leaves their covariance singular: Cholesky would fail.
    root = vector * np.sqrt(np.maximum(value, 0.0))
    z = stream(seed, "conclude", "worlds").standard_normal((DRAWS, len(world.strength)))
    return [replace(world, strength=world.strength + root @ one) for one in z]


def _make_effect_sampler(
    votes: Votes, of: Ints, sd: float, fitted: Strengths
) -> Callable[[np.random.Generator], Floats | None] | None:
    """Return a function that draws the effects of the table's own raters, or items, given their votes.

    `of[vote]` numbers them (-1: not named), `sd` is the standard deviation of effects. None where none is named, or too
    many are.
    """
    if (of < 0).all() or (int(of.max()) + 1) * votes.n_systems**2 > _MOST_EFFECTS:
        return None
    return lambda rng: own_effects(rng, votes, own_number(of), sd, fitted) if sd else None


def _measure_confirmation(
    claims: PreferenceClaims,
    claimed: Array,
    worlds: list[VoteWorld],
    way: Way,
    seed: int,
    ordered: bool,
) -> tuple[Interval, Interval]:
    """Return the chance that all signs come again, and the share of claims that do, with 90 % intervals over worlds.

    `claimed` are numbers of claimed pairs; `way` gives a drawn world the table's own raters, items, both or neither.
    """
    share, anew = np.empty(len(worlds)), np.empty((len(worlds), TESTED, len(claimed)), bool)
    at = np.searchsorted(np.flatnonzero(claims.family), claimed)
    for k, world in enumerate(worlds):
        rng = stream(seed, "conclude", "again", k)
        own = way(rng, world)
        values = [own.vote(rng, claims.votes) for _ in range(EACH)]
        same = [_directions(claims.votes, value)[claimed] == claims.verdict[claimed] for value in values]
        share[k] = np.mean([bool(agrees.all()) for agrees in same])
        rng = stream(seed, "conclude", "claimed again", k)
        for j in range(TESTED):
            anew[k, j] = _claimed_pairs(rng, claims, replace(claims.votes, value=values[j]), ordered)[at] & same[j]
    # Over n - 1 the variance of a share of n is unbiased; it is taken out of how far worlds differ.
    low, high = prediction_interval(share, np.sqrt(share * (1 - share) / (EACH - 1)))
    value = float(share.mean())
    bounds = widen_by_chance(value, max(low, 0.0), min(high, 1.0), len(worlds))
    return Interval.build(value, *bounds), share_again(anew)


def _directions(votes: Votes, value: Array) -> Array:
    return np.sign(np.bincount(votes.pair, value, minlength=votes.n_pairs))


def control(claims: PreferenceClaims, world: VoteWorld, seed: int, *, ordered: bool) -> Control:
    """Simulate studies with equal systems; return the shares that claim some pair, by three analyses."""
    columns = zip(*_nulls(claims, world.equal_systems(), seed, ordered), strict=True)
    some, plain, watched = (np.array(column, bool) for column in columns)
    return Control(
        studies=len(some),
        some_claim=float(some.mean()),
        some_claim_mcse=_mcse(some),
        promised=claims.promise.level,
        uncorrected=float(plain.mean()),
        uncorrected_mcse=_mcse(plain),
        world=_describe_world(world),
        watched=float(watched.mean()) if ordered else None,
        watched_mcse=_mcse(watched) if ordered else None,
    )


def _nulls(claims: PreferenceClaims, equal: VoteWorld, seed: int, ordered: bool) -> Iterator[tuple[bool, bool, bool]]:
    votes, level = claims.votes, claims.promise.level
    given = not claims.raters_drawn and (votes.rater >= 0).any()
    for k in range(current_effort().equal_studies):
        rng = stream(seed, "conclude", "control", k)
        # Raters as given have tastes that are part of the truth, and must cancel for systems to be equal.
        world = _redraw_given_raters(rng, votes, equal) if given else equal
        study = replace(votes, value=world.vote(rng, votes))
        p_value = sign_test.asymptotic(study.counts())[claims.family]
        yield (
            bool(_claimed_pairs(rng, claims, study, ordered).any()),
            bool((p_value <= level).any()),
            is_claimed_at_a_look(study, claims.family, level),
        )


def _redraw_given_raters(rng: np.random.Generator, votes: Votes, equal: VoteWorld) -> VoteWorld:
    """Draw raters who are taken as given: whatever each prefers, all of them together prefer no system."""
    rater = votes.rater
    taste = equal.taste_sd * rng.standard_normal((int(rater.max()) + 1, votes.n_systems))
    load = np.bincount(rater[rater >= 0], minlength=len(taste))
    # Weighted by votes: systems are equal in this table's own means, of which the claims speak.
    return replace(equal, taste=taste - load @ taste / load.sum())


def _claimed_pairs(rng: np.random.Generator, claims: PreferenceClaims, study: Votes, ordered: bool) -> Bools:
    """Return which pairs of the family the table's own analysis claims of a study."""
    level = claims.promise.level
    if claims.promise.name == "anytime":
        log_e, _ = highest_evidence(study, ordered)
        return np.asarray(holm_of_e_values(log_e[claims.family], level), bool)
    # p-values are multiples of one over patterns and one: ten such steps lie within a small level.
    tested = weigh_votes(rng, study, claims.way, claims.family, level, max(PATTERNS, math.ceil(10 / level) - 1))
    return np.asarray(tested.claimed[claims.family], bool)


def is_claimed_at_a_look(study: Votes, family: Bools, level: float, looks: int = LOOKS) -> bool:
    """True if a sign test of any pair of the family, at any of `looks` looks while votes come, is below the level."""
    from scipy.special import ndtri

    look = np.arange(len(study.pair)) * looks // len(study.pair)
    wins, decided = np.zeros((2, looks, study.n_pairs))
    np.add.at(wins, (look, study.pair), study.value)
    np.add.at(decided, (look, study.pair), study.value != 0)
    lead, n = np.cumsum(wins, axis=0)[:, family], np.cumsum(decided, axis=0)[:, family]
    # The asymptotic sign test without continuity correction, (w - l)/sqrt(w + l) (Coakley and Heise 1996).
    return bool((np.abs(lead) >= -float(ndtri(level / 2)) * np.sqrt(np.maximum(n, FEWEST - 2))).any())


def _describe_world(world: VoteWorld) -> str:
    return (
        "one strength for each system, fitted by moments: what raters prefer beyond it has a standard deviation of "
        f"{world.taste_sd:.2f} logits, outputs one of {world.output_sd:.2f}"
    ) + (f", the first place is worth {world.first:.2f}" if world.first else "")


def _mcse(some: Bools) -> float:
    """Return the error of a share; where none, or all, are counted that of a share of one more."""
    n = len(some)
    share = min(max(float(some.mean()), 1 / (n + 2)), 1 - 1 / (n + 2))
    return float(np.sqrt(share * (1 - share) / n))
