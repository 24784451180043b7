"""Say what one judgement covers, and how many outputs a design asks about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.studies.judgements.collecting import beside, plan
from simlab.studies.judgements.preparing import prepare
from simlab.studies.judgements.spending import cut_said
from simlab.types import World
from simlab.world.laws.judgements import judgements_of


def covers(config: Mapping[str, Any], world: World) -> list[str]:
    """Count the outputs of each system that are judged, and those that the metric rates."""
    prepared, systems = prepare(config), world.frame.n_systems
    needs = plan(prepared, world)
    size = int(judgements_of(world).contest.documents.size)
    pieces = f" ({-(-needs.human // size):,} documents)" if size > 1 else ""
    metric = f"; the metric rates {needs.metric:,} more" if needs.metric else ""
    return [
        f"a judgement is of one output by one rater: {needs.human:,} outputs{pieces} of each of {systems} systems"
        f"{metric}",
        *cut_said(prepared, beside(needs, systems)),
    ]
