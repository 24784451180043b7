"""Raters who compare outputs: the oracle, which makes no errors, raters who confuse its outcomes, a table's scores.

Each option of `raters` takes the systems (`Contest`, or a world of ratings) and returns a `World` of comparisons.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simlab.formulas import read_stochastic
from simlab.types import COMPARE, ComparedWorld, Contest, Floats, InputError, RatedWorld, World
from simlab.types.bounds import Spread
from simlab.world.laws.comparisons import ComparisonLaw, compare, contest_frame
from simlab.world.laws.fixed import fixed_ratings


def oracle(rng: np.random.Generator, contest: Contest) -> ComparedWorld:
    """Let human raters be the oracle, as Deriu et al. 2023 assume.

    Raises InputError for systems whose outputs cannot be compared.
    """
    return compared_world(_contest(contest, "oracle"), None)


def noisy_oracle(rng: np.random.Generator, contest: Contest, *, confusion: list[list[float]]) -> ComparedWorld:
    """Let raters confuse the oracle's outcomes: `confusion[human outcome][oracle outcome]`, columns sum to one.

    Raises InputError for a confusion that is not column-stochastic, and systems whose outputs cannot be compared.
    """
    return compared_world(
        _contest(contest, "noisy_oracle"), read_stochastic(confusion, "raters.confusion", single=True)
    )


def compared_scores(rng: np.random.Generator, ratings: RatedWorld, *, tie_margin: Spread) -> ComparedWorld:
    """Prefer the output of the better score, as the raters of a table gave it; ties within a margin.

    A segment's score is the mean over its raters; segments that either system lacks are gaps. Source: Deriu et al.
    2023, definition 5 and appendix C.3.

    Raises InputError for systems that no table of ratings holds.
    """
    fixed = fixed_ratings(ratings) if isinstance(ratings, World) else None
    if fixed is None:
        raise InputError("raters=compared_scores needs systems=recorded; with systems=preference choose raters=oracle")
    value = fixed.value
    known = ~np.isnan(value)
    total = np.where(known, value, 0.0).sum(2)
    score = np.where(known.any(2), total / np.maximum(known.sum(2), 1), np.nan)
    recorded = compare(-score if ratings.frame.lower_is_better else score, tie_margin)
    contest = Contest(ratings.frame.system_names, recorded.shape[1], None, recorded=recorded, fixed=True)
    world, frame = compared_world(contest, None), ratings.frame
    named = replace(
        world.frame, document=frame.document, document_names=frame.document_names, item_names=frame.item_names
    )
    return replace(world, frame=replace(named, bucket=np.zeros(frame.n_documents, np.int64)))


def compared_world(contest: Contest, rater: Floats | None) -> World:
    """Make the world of a contest whose outputs raters compare; see `ComparisonLaw`."""
    world = World(contest_frame(contest), {COMPARE: ComparisonLaw(contest, rater)})
    # Raters have no names here, and each test set is drawn where it is used: other people and inputs, the same law.
    return world if contest.recorded is not None else replace(world, again=lambda anew: world)


def _contest(contest: Contest, name: str) -> Contest:
    if not isinstance(contest, Contest):
        raise InputError(f"raters={name} compare outputs; with a table of ratings choose raters=compared_scores")
    if contest.latent is not None and contest.p is None:
        raise InputError(
            f"raters={name}: systems with an alpha of 0 or 1, or that agree on every item, cannot be compared; keep "
            "systems.alphas inside (0, 1) and systems.item_agreement below 1"
        )
    return contest
