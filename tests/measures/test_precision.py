"""An error that is small tells nothing where nobody could have seen what is counted."""

from __future__ import annotations

import numpy as np

from simlab.config.precision_targets import PrecisionTarget
from simlab.engine.allocation import Goal, enlarge_goal, questions
from simlab.engine.ledger import LedgerEntry
from simlab.measures.jackknife import ratio_over_campaigns
from simlab.measures.labels import ANY, CORRELATION, COUNT, DESIGNED, SHARE, ValueRange
from simlab.measures.precision import clusters_to_bound_unseen, gap, standing
from simlab.types import Estimate

WORLDS = 60


def of_worlds(with_claims: int, measure: str = "false_positive") -> tuple[Estimate, Goal | None]:
    """Measure a share that is 0 in worlds of which only some have something to count, and what is asked for then."""
    world = np.arange(WORLDS)
    outcomes = {"world": world, "study": 0 * world, "document_set": 0 * world, "status": 0 * world}
    found = ratio_over_campaigns(outcomes, np.zeros(WORLDS), (world < with_claims) * 1.0)
    asked = questions([PrecisionTarget(measure, 0.03)], [LedgerEntry((), "cell", {}, ())])
    return found, enlarge_goal(Goal({"cell": WORLDS}, 4, chosen=True), asked, {"cell": {measure: found}})


def test_worlds_in_which_nothing_could_be_counted_do_not_tell_that_it_never_occurs() -> None:
    found, more = of_worlds(1)
    assert (found.value, found.mcse, found.telling) == (0.0, 0.0, 1)
    at = standing(found.influence, 0.03, within=SHARE, telling=found.telling)
    assert (at.reached, at.needed) == (False, WORLDS * clusters_to_bound_unseen(0.03))
    assert more is not None
    assert more.along["cell"] == 4 * WORLDS
    # The control: where all worlds tell, 60 are more than the 49 that are needed.
    found, more = of_worlds(WORLDS)
    assert found.telling == WORLDS
    assert more is None
    assert of_worlds(1, "srp")[1] is None


def test_where_nobody_kept_who_tells_nothing_is_said() -> None:
    assert standing(np.zeros(WORLDS), 0.03, within=SHARE, telling=0).reached is None


def test_an_error_of_nothing_is_believed_only_after_as_many_worlds_as_bound_what_none_has_seen() -> None:
    flat = np.zeros(WORLDS)
    for within, target in ((CORRELATION, 0.06), (ValueRange(0.0, 100.0), 3.0)):
        width = (within.greatest or 0.0) - (within.least or 0.0)
        few = standing(flat[:30], target, within=within)
        assert (few.reached, few.needed) == (False, clusters_to_bound_unseen(target / width))
        assert standing(flat, target, within=within).reached
        # A difference between two cells that are alike says as little.
        same, clusters = gap(flat[:30], flat[:30])
        assert standing(same, target, within=within, clusters=clusters).reached is False
    for within in (ANY, COUNT):
        assert standing(flat, 1.0, within=within).reached is None
    # What was designed is the same everywhere; and the control: what varies is told of by its error.
    assert standing(flat[:30], 0.01, within=DESIGNED).reached
    spread = np.tile([-1.0, 1.0], 15)
    assert all(standing(spread, 0.5, within=within).reached for within in (ANY, COUNT, CORRELATION))


def test_a_measure_that_never_varies_does_not_go_on_for_ever() -> None:
    flat = {"cell": {"rmse": Estimate(0.0, np.zeros(30), "world", 30)}}
    asked = questions([PrecisionTarget("rmse", 0.1)], [LedgerEntry((), "cell", {}, ())])
    assert enlarge_goal(Goal({"cell": 30}, 4, chosen=True), asked, flat) is None
