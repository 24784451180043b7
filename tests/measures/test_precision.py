"""An error that is small tells nothing where nobody could have seen what is counted."""

from __future__ import annotations

import numpy as np

from simlab.config.until import Target
from simlab.engine.allocation import Goal, onwards, questions
from simlab.engine.ledger import Entry
from simlab.measures.jackknife import ratio_over_campaigns
from simlab.measures.precision import standing, unseen
from simlab.types import Estimate

WORLDS = 60


def of_worlds(with_claims: int, measure: str = "false_positive") -> tuple[Estimate, Goal | None]:
    """Measure a share that is 0 in worlds of which only some have something to count, and what is asked for then."""
    world = np.arange(WORLDS)
    outcomes = {"world": world, "study": 0 * world, "document_set": 0 * world, "status": 0 * world}
    found = ratio_over_campaigns(outcomes, np.zeros(WORLDS), (world < with_claims) * 1.0)
    asked = questions([Target(measure, 0.03)], [Entry((), "cell", {}, ())])
    return found, onwards(Goal({"cell": WORLDS}, 4, chosen=True), asked, {"cell": {measure: found}})


def test_worlds_in_which_nothing_could_be_counted_do_not_tell_that_it_never_occurs() -> None:
    found, more = of_worlds(1)
    assert (found.value, found.mcse, found.telling) == (0.0, 0.0, 1)
    at = standing(found.influence, 0.03, share=True, telling=found.telling)
    assert (at.reached, at.needed) == (False, WORLDS * unseen(0.03))
    assert more is not None
    assert more.along["cell"] == 4 * WORLDS
    # The control: where all worlds tell, 60 are more than the 49 that are needed.
    found, more = of_worlds(WORLDS)
    assert found.telling == WORLDS
    assert more is None
    assert of_worlds(1, "srp")[1] is None


def test_where_nobody_kept_who_tells_nothing_is_said() -> None:
    assert standing(np.zeros(WORLDS), 0.03, share=True, telling=0).reached is None
