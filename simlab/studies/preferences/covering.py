"""Say what one comparison covers, and how many outputs a design asks about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.studies.preferences.preparing import prepare
from simlab.studies.preferences.spending import cut_said
from simlab.types import World
from simlab.world.laws.comparisons import contest_of


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Count the inputs about which each pair of systems is compared at most."""
    prepared, systems, contest = prepare(config), world.frame.n_systems, contest_of(world)
    n = min(int(config["budget"]["annotations_per_pair"]), contest.n_items)
    pairs = systems * (systems - 1) // 2
    size = int(contest.documents.size)
    pieces = f", {-(-n // size):,} documents at least," if size > 1 else ""
    return [
        f"a comparison is of two outputs for one input, by one rater: at most {n:,} outputs{pieces} of each system for "
        f"each of its pairs, {n * pairs:,} comparisons of {pairs:,} pairs",
        *cut_said(prepared, systems, contest.n_items),
    ]
