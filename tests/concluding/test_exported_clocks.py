"""Campaigns that ended before their time are exported as they are, and concluded as the store has it."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from clocks import TROUBLE
from test_exported_parity import alike, stored

from simlab.config import compose
from simlab.types import Place

JUDGED = ("question=judge", "systems.n_systems=3", "budget.human_ratings=30", "budget.metric_ratings=60")
COMPARED = ("question=compare", "systems.n_systems=4", "systems.n_items=30", "metric.n_outputs=60")


@pytest.mark.parametrize("budget", [{"deadline": "2h"}, {"total": 70.0}])
@pytest.mark.parametrize(
    "words",
    [
        (*JUDGED, "analysis.estimator=ppi"),
        (*JUDGED[:3], "metric=none", "analysis.estimator=sample_mean"),
        (*COMPARED, "budget.annotations_per_pair=30", "decision=anytime"),
    ],
)
def test_an_unfinished_campaign_is_concluded_as_in_the_store(
    words: tuple[str, ...], budget: dict[str, Any], tmp_path: Path
) -> None:
    config: Any = copy.deepcopy(dict(compose((*words, "design.collection=crowd"))))
    config["design"]["collection"] = TROUBLE | {"arrival_hours": 0.1}
    config["budget"] |= budget
    place = Place(0, study=1)
    held = stored(config, place)
    assert held is not None
    assert 0 < held["ratings_used"][0] < held["ratings_planned"][0]
    alike(config, place, held, tmp_path)
