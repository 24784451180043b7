"""Appraise comparisons by data that no analyst has: the true win rates, and the answers of all raters together.

Call `appraise` with the bound study (`prepared`), its world and campaigns, `truth` with the bound study and a world:
both return arrays by outcome name. `shared` is the test set from `lay` (None: each study has its own).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.formulas import passes
from simlab.studies.outcomes import blank as filled
from simlab.studies.outcomes import of_campaigns, omit_account, probabilities
from simlab.studies.preferences.collecting import PreferenceBackstage
from simlab.studies.preferences.concluding import count_outputs
from simlab.studies.preferences.preparing import OUTCOMES, PreparedPreferences
from simlab.studies.read_only import seal
from simlab.types import Array, Campaign, Outcomes, TestSet, World
from simlab.world.laws.comparisons import preference_direction, require_contest

SMOOTHING = 0.5
"""Added to each count of a pair whose human evaluation never has some outcome, so that a KLD is finite."""


def appraise(
    prepared: PreparedPreferences,
    world: World,
    shared: TestSet | None,
    campaigns: Sequence[Campaign],
    outcomes: Outcomes,
) -> dict[str, Array]:
    """Return the verdict on each pair by all human ratings of its test set, and how many these are, by outcome."""
    backstage: list[PreferenceBackstage] = [campaign.backstage for campaign in campaigns]
    human = [one.test_set.human for one in backstage]
    possible = [np.nonzero(ratings >= 0) for ratings in human]
    n = world.frame.n_systems
    return {
        "item_ratings_possible": np.array([count_outputs(pair, item, n) for pair, item in possible], np.int32),
        "ratings_possible": np.array([len(pair) for pair, _ in possible], np.int32),
        **_reference(prepared, human),
    }


def _reference(prepared: PreparedPreferences, human: Sequence[Array]) -> dict[str, Array]:
    """Return verdict of the sign test on all human ratings, and the share of each outcome."""
    counts = np.stack([(np.concatenate(human) == outcome).sum(1) for outcome in range(3)], axis=1)
    p_value = probabilities(prepared.judge_reference(seal(counts)), "analysis.reference")
    significant = passes(p_value, prepared.reference_level)
    smoothed = counts.min(axis=1) == 0
    share = counts + SMOOTHING * smoothed[:, None]
    reference = {
        "reference_verdict": (significant * np.sign(counts[:, 0] - counts[:, 2])).astype(np.int8),
        "reference_p": share / share.sum(1, keepdims=True),
        "reference_smoothed": smoothed,
    }
    return {name: array.reshape(len(human), -1, *array.shape[1:]) for name, array in reference.items()}


def truth(prepared: PreparedPreferences, world: World, shared: TestSet | None) -> dict[str, Array]:
    """Return true rates `[1, pair, outcome]` and directions `[1, pair]` by outcome; nothing where they are not known.

    A rule that decides about its test set is not held against the population: `reference_verdict` is the truth there.
    """
    contest = require_contest(world)
    direction = preference_direction(contest)
    if direction is None or contest.p is None or prepared.on_test_set:
        return {}
    return {"true_p": contest.p[None], "true_direction": direction[None]}


def blank(prepared: PreparedPreferences, world: World, shared: TestSet | None) -> dict[str, Array]:
    """Return empty outcomes, by name, for a campaign that failed, or met a value that cannot be."""
    n = world.frame.n_systems
    sizes = {"system": n, "pair": n * (n - 1) // 2, "preference": 3, "round": prepared.rounds}
    names = omit_account(of_campaigns(OUTCOMES), accounted=prepared.accounted, load=prepared.clock is not None)
    names = tuple(name for name in names if prepared.sampled or name not in ("r_hat", "ess"))
    return filled(OUTCOMES, names, sizes)
