"""Accounted campaigns, on a clock or held to their money, are exported as they are; the store concludes the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clocks import CROWD, TROUBLE
from exported_designs import Config, option, patched
from test_exported_parity import alike, stored

from simlab.concluding import campaigns
from simlab.concluding.campaigns import locate_sidecar
from simlab.concluding.plans import read_plan
from simlab.config.plain_yaml import CAMPAIGN
from simlab.engine.replays import collect_campaign
from simlab.studies.kinds import identify_kind
from simlab.types import Array, Place

RATED = (
    *("systems.n_systems=3", "systems.n_documents=12", "systems.n_segments=24", "raters=crowd_pool"),
    *("design.documents=12", "design.ratings_per_item=2"),
)
JUDGED = ("question=judge", "systems.n_systems=3", "budget.human_ratings=30", "budget.metric_ratings=60")
ALONE = (*JUDGED[:3], "metric=none", "analysis.estimator=sample_mean")
COMPARED = (
    *("question=compare", "systems.n_systems=4", "systems.n_items=30", "metric.n_outputs=60"),
    *("budget.annotations_per_pair=30", "decision=anytime"),
)
STUDIES: dict[str, tuple[str, ...]] = {
    "rated": RATED,
    "judged": (*JUDGED, "analysis.estimator=ppi"),
    "alone": ALONE,
    "compared": COMPARED,
}
TIGHT = {"rated": 110.0, "judged": 70.0, "alone": 70.0, "compared": 70.0}
"""Money that ends each of these before all has come."""

CREW = TROUBLE | {"arrival_hours": 0.1}
PLACE = Place(0, study=1)


def study(kind: str, clock: Mapping[str, Any] | None, budget: Mapping[str, Any], **design: Any) -> Config:
    money = {f"budget.{key}": value for key, value in budget.items()}
    keys = {f"design.{key}": value for key, value in design.items()}
    held = {} if clock is None else {"design.collection": dict(clock)}
    return patched(STUDIES[kind], money, keys, held)


def held_of(config: Config) -> Mapping[str, Array]:
    held = stored(config, PLACE)
    assert held is not None
    return held


@pytest.mark.parametrize("kind", STUDIES)
@pytest.mark.parametrize(
    ("clock", "limits"),
    [
        (False, {"total": None}),
        (True, {}),
        (True, {"deadline": "2h"}),
        (True, {"total": None}),
        (True, {"total": None, "deadline": "5d"}),
    ],
)
def test_an_accounted_campaign_is_concluded_as_in_the_store(
    kind: str, clock: bool, limits: dict[str, Any], tmp_path: Path
) -> None:
    budget = {key: TIGHT[kind] if key == "total" else value for key, value in limits.items()}
    config = study(kind, CREW if clock else None, budget)
    held = held_of(config)
    assert {"ended_by", "ratings_planned", "work_hours"} <= held.keys()
    assert np.isnan(held["work_hours"][0]) != clock
    if limits:
        assert 0 < held["ratings_used"][0] < held["ratings_planned"][0]
    alike(config, PLACE, held, tmp_path)


@pytest.mark.parametrize("kind", STUDIES)
def test_the_account_is_concluded_from_an_export_too(kind: str, tmp_path: Path) -> None:
    config = study(kind, CREW, {"total": TIGHT[kind]})
    held, out = held_of(config), tmp_path / "came.csv"
    campaigns.export(collect_campaign(config, PLACE), config, {}, PLACE, out, "table")
    plan = read_plan(locate_sidecar(out))
    assert plan.campaign is not None
    ours = identify_kind(config)
    found = ours.conclude(ours.prepare(plan.config), [campaigns.read(out, plan.config, plan.campaign).collected])
    for name in ("ended_by", "ratings_planned", "ratings_lost", "ratings_open", "work_hours", "campaign_days", "cost"):
        np.testing.assert_array_equal(found[name][0], held[name][0], err_msg=name)


@pytest.mark.parametrize(
    "design",
    [
        {"overlap": 0.5, "ratings_per_item": 1},
        {"ratings_per_item": 2, "boost_margin": 0.5},
        {"ratings_per_item": 2, "grouping": option("design/grouping", "ungrouped")},
        {"assignment": option("design/assignment", "one_stream")},
        {"assignment": option("design/assignment", "dynamic"), "grouping": option("design/grouping", "ungrouped")},
    ],
)
def test_what_a_platform_asks_is_concluded_as_in_the_store(design: dict[str, Any], tmp_path: Path) -> None:
    config = study("rated", CREW, {}, **design)
    alike(config, PLACE, held_of(config), tmp_path)


def test_newcomers_keep_their_names_and_the_hours_of_their_ratings(tmp_path: Path) -> None:
    clock = CROWD | {"drop_out": 0.6, "seconds_per_answer": 300.0, "arrival_hours": 0.1, "replacement": "newcomers"}
    config, out = study("rated", clock, {}), tmp_path / "came.csv"
    came = collect_campaign(config, PLACE)
    assert any(name.endswith(" (2)") for name in came.frame.rater_names)
    alike(config, PLACE, held_of(config), tmp_path)
    campaigns.export(came, config, {}, PLACE, out, "table")
    header, first, *_ = out.read_text(encoding="utf-8").splitlines()
    assert header.endswith(",order,at")
    assert came.seen.at is not None
    assert first.endswith(f",{came.seen.at[0]!r}".replace("np.float64(", "").rstrip(")"))


def test_hours_that_nobody_knows_are_written_as_null(tmp_path: Path) -> None:
    config, out = study("rated", None, {"total": TIGHT["rated"]}), tmp_path / "came.csv"
    campaigns.export(collect_campaign(config, PLACE), config, {}, PLACE, out, "table")
    line = next(one for one in locate_sidecar(out).read_text(encoding="utf-8").splitlines() if one.startswith(CAMPAIGN))
    paid = json.loads(line.removeprefix(CAMPAIGN))["told"]["paid"]
    assert (paid["hours"], paid["days"]) == (None, None)
    assert paid["cost"] is not None
