"""Declare the outcomes of studies of ratings; add those that only the world knows: the truth, and twin campaigns.

A twin is a campaign repeated with other raters for every output. `appraise` returns conclusions from twins, `truth` the
true values of a world, `blank` empty outcomes, all by outcome name. `prepared` is the bound study, `table` (from `lay`)
says which raters can be asked about which outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from simlab.design.balance import DealTable, bar_asked_raters, deal_twin
from simlab.formulas import differences, sign
from simlab.studies.outcomes import (
    ACCOUNT,
    ADJUSTED,
    COMMON,
    LOAD,
    P_VALUE,
    RATED,
    of_campaigns,
    omit_account,
    refuse_impossible,
)
from simlab.studies.outcomes import blank as filled
from simlab.studies.ratings.clock_collection import is_as_dealt
from simlab.studies.ratings.collecting import deal, reveal_ratings
from simlab.studies.ratings.concluding import compare_systems
from simlab.studies.ratings.preparing import PreparedRatings
from simlab.studies.read_only import seal
from simlab.types import (
    NO_TWIN,
    Array,
    Campaign,
    Collected,
    DesignFailure,
    Outcome,
    Outcomes,
    Place,
    SlotAssignment,
    World,
)
from simlab.world.laws.fixed import fixed_ratings

THESE_RATERS = "these_raters"
"""Value of `design.estimand`: the true value is the mean score by the raters of the pool alone."""
_PAIR, _TWIN = ("replicate", "pair"), "direction with other raters; -128: not possible"
OUTCOMES: Mapping[str, Outcome] = {
    **COMMON,
    **P_VALUE,
    **ADJUSTED,
    **LOAD,
    **ACCOUNT,
    **RATED,
    "human_count": Outcome(("replicate", "system"), "int32", 0, "ratings of the system", low=0),
    "twin_direction": Outcome(_PAIR, "int8", NO_TWIN, _TWIN, low=-1, high=1, gap=True),
    "twin_significant": Outcome(_PAIR, "bool", False, "whether it is significant with other raters"),
}


def appraise(
    prepared: PreparedRatings, world: World, table: DealTable, campaigns: Sequence[Campaign], outcomes: Outcomes
) -> dict[str, Array]:
    """Return the conclusions of twins of the campaigns, by outcome, `[campaign, pair]`.

    Empty unless ratings are fixed and every output can be rated by somebody else.
    """
    if not allows_twins(world, table):
        return {}
    twins = [_twin(prepared, world, table, campaign) for campaign in campaigns]
    return {name: np.stack([twin[name] for twin in twins]) for name in twins[0]}


def allows_twins(world: World, table: DealTable) -> bool:
    """True if every output can be rated by somebody else."""
    enough = bool((table.n_choices > 1).all()) and table.slots.shape[2] == 1
    complete = enough and bool(table.possible.sum(1).min() == table.n_choices.min())
    return complete and fixed_ratings(world) is not None


def _twin(prepared: PreparedRatings, world: World, table: DealTable, campaign: Campaign) -> dict[str, Array]:
    first, rng = campaign.collected, campaign.backstage.deal
    if not is_as_dealt(first):
        # What somebody else rated, or nobody, is no repetition of what was dealt.
        return _no_twin(world)
    try:
        assignment = _other_deal(rng, prepared, table, first)
    except DesignFailure:
        return _no_twin(world)
    if first.documents is None:
        raise ValueError("a campaign that was dealt has documents")
    repeated = seal(reveal_ratings(prepared, world, first.documents, assignment, None, Place(0)))
    refuse_impossible(repeated)
    concluded = compare_systems(prepared, repeated, rng)
    return {"twin_direction": concluded["direction"], "twin_significant": concluded["significant"]}


def _other_deal(
    rng: np.random.Generator, prepared: PreparedRatings, table: DealTable, first: Collected
) -> SlotAssignment:
    if first.asked is None or first.documents is None:
        raise ValueError("a campaign that was dealt says whom it asked")
    if prepared.design.load_entropy is None:
        return deal_twin(rng, table, first.documents, first.asked)
    return deal(rng, prepared, bar_asked_raters(table, first.asked), first.documents)


def _no_twin(world: World) -> dict[str, Array]:
    n_pairs = world.frame.n_systems * (world.frame.n_systems - 1) // 2
    return {"twin_direction": np.full(n_pairs, NO_TWIN, np.int8), "twin_significant": np.zeros(n_pairs, bool)}


def truth(prepared: PreparedRatings, world: World, table: DealTable) -> dict[str, Array]:
    """Return true values `[1, system]` and directions `[1, pair]`, by outcome; none where they are not known.

    The true value is the mean score by raters at large, or by those of the world's pool alone (`design.estimand`).
    """
    worth = world.truth
    if prepared.design.estimand == THESE_RATERS:
        worth = None if world.of_pool is None else world.of_pool()
    if worth is None:
        return {}
    better = -1 if world.frame.lower_is_better else 1
    return {"true_value": worth[None], "true_direction": sign(better * differences(worth))[None]}


def blank(prepared: PreparedRatings, world: World, table: DealTable) -> dict[str, Array]:
    """Return empty outcomes, by name, for a campaign that failed, or met a value that cannot be; it cost nothing."""
    n = world.frame.n_systems
    names = of_campaigns(OUTCOMES)
    if not allows_twins(world, table):
        names = tuple(name for name in names if not name.startswith("twin_"))
    if prepared.multiplicity == "none":
        names = tuple(name for name in names if name not in ADJUSTED)
    names = omit_account(names, accounted=prepared.accounted)
    sizes = {"system": n, "pair": n * (n - 1) // 2}
    return filled(OUTCOMES, names, sizes) | {"cost": np.array(0.0)}
