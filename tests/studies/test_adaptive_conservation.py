"""Whatever goes wrong on a clock: what was planned came, is lost or is open, and money and hours add up."""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from clocks import TROUBLE
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.config import compose
from simlab.studies.kind import Kind
from simlab.studies.kinds import identify_kind
from simlab.studies.money import bill, read_prices
from simlab.studies.worlds import draw_world
from simlab.types import (
    ALL_CAME,
    CONTROL,
    DEADLINE,
    DECIDED,
    DROPPED_OUT,
    HANDED_IN,
    MONEY,
    Campaign,
    Collected,
    DesignFailure,
    Log,
    Place,
)

COMPARED = (
    "question=compare",
    "systems.n_systems=4",
    "systems.n_items=30",
    "metric=none",
    "budget.annotations_per_pair=30",
)
JUDGED = (
    "question=judge",
    "systems.n_systems=3",
    "metric=none",
    "analysis.estimator=sample_mean",
    "budget.human_ratings=30",
)
RULES = {
    "compare": ["human_only", "fixed", "anytime", "group_sequential"],
    "judge": ["significance", "fixed_width", "betting_width"],
}


@functools.cache
def composed(question: str, rule: str) -> Mapping[str, Any]:
    base = COMPARED if question == "compare" else JUDGED
    width = ("decision.width=.4", "decision.batch_size=6") if "width" in rule else ()
    return compose((*base, f"decision={rule}", *width))


@st.composite
def studies(draw: st.DrawFn) -> dict[str, Any]:
    question = draw(st.sampled_from(["compare", "judge"]))
    config = copy.deepcopy(dict(composed(question, draw(st.sampled_from(RULES[question])))))
    config["seed"] = draw(st.integers(0, 10**6))
    collection = {
        "crew_size": draw(st.integers(1, 6)),
        "drop_out": draw(st.sampled_from([0.0, 0.2, 1.0])),
        "replacement": draw(st.sampled_from(["none", "colleagues", "newcomers"])),
        "replacement_hours": 3.0,
        "lapse_rate": draw(st.sampled_from([0.0, 0.1, 1.0])),
        "control_share": draw(st.sampled_from([0.0, 0.2])),
        "control_failures": draw(st.sampled_from([None, 0, 3])),
    }
    budget = {
        "total": draw(st.sampled_from([None, 20.0, 80.0, 1000.0])),
        "deadline": draw(st.sampled_from([None, "4h", "30h"])),
        "price_per_hour": draw(st.sampled_from([0.0, 7.3])),
        "price_per_rater": draw(st.sampled_from([0.0, 2.5])),
        "platform_fee": draw(st.sampled_from([0.0, 0.2])),
        "price_per_rating": draw(st.sampled_from([0.1, 1.0])),
    }
    config["design"] = {**config["design"], "collection": TROUBLE | collection}
    if question == "compare":
        config["design"]["wait"] = draw(st.sampled_from(["round", "pair"]))
        budget |= {"batch_size": draw(st.integers(2, 11)), "annotations": draw(st.sampled_from([None, 50]))}
    config["budget"] = {**config["budget"], **budget}
    return config


def campaign(config: Mapping[str, Any]) -> tuple[Kind, Any, Collected | DesignFailure]:
    kind, place = identify_kind(config), Place(0)
    prepared, world = kind.prepare(config), draw_world(config, 0, 0, 0)
    laid = kind.lay(prepared, world, place)
    (one,) = kind.collect(prepared, world, laid, iter([kind.draw(prepared, world, laid, place)]), [place])
    return kind, prepared, one.collected if isinstance(one, Campaign) else one


def add_up(config: Mapping[str, Any], collected: Collected) -> None:
    """Hold the account of a campaign against its log."""
    paid, log, budget = collected.paid, collected.known["log"], config["budget"]
    assert paid["planned"] == paid["ratings"] + paid["lost"] + paid["open"]
    assert min(paid["lost"], paid["open"]) >= 0
    assert paid["ratings"] == len(collected.seen.value)
    handed = log.fate != DROPPED_OUT
    hours = log.seconds[handed].sum() / 3600
    price = read_prices(budget, identify_kind(config).question)
    people = int((log.arrived <= _end(log, paid)).sum())
    wanted = bill(price, answers=int(handed.sum()), hours=hours, raters=people)
    assert paid["cost"] == pytest.approx(wanted, abs=0.005)
    assert paid["hours"] == pytest.approx(log.seconds.sum() / 3600, abs=1 / 3600)
    if budget["total"] is not None:
        assert paid["cost"] <= budget["total"] + 0.005


def _end(log: Log, paid: Mapping[str, float]) -> float:
    return paid["days"] * 24 + 1e-9


def in_order(config: Mapping[str, Any], collected: Collected) -> None:
    """Nothing comes before its rater, twice, after the deadline, or from nobody."""
    seen, log = collected.seen, collected.known["log"]
    person = collected.known["person"]
    assert seen.at is not None
    assert (seen.at >= log.arrived[person]).all()
    assert (seen.at <= collected.paid["days"] * 24 + 1e-9).all()
    both = seen.unit * (seen.item.max(initial=0) + 1) + seen.item
    assert len(np.unique(both)) == len(both)
    came = (log.fate == HANDED_IN) & (log.task != CONTROL)
    told = set(zip(log.person[came].tolist(), log.ended[came].tolist(), strict=True))
    assert set(zip(person.tolist(), seen.at.tolist(), strict=True)) <= told
    lost = int(came.sum()) - len(seen.value)
    assert 0 <= lost <= collected.paid["lost"]


@settings(max_examples=60, deadline=None)
@given(studies())
def test_campaigns_add_up_whatever_goes_wrong(config: dict[str, Any]) -> None:
    kind, prepared, collected = campaign(config)
    if isinstance(collected, DesignFailure):
        assert "the campaign ended" in str(collected) or "left the same seat" in str(collected)
        return
    add_up(config, collected)
    in_order(config, collected)
    outcomes = kind.conclude(prepared, [collected])
    ended, lacking = int(outcomes["ended_by"][0]), outcomes["ratings_open"][0] + outcomes["ratings_lost"][0]
    assert (ended == ALL_CAME) == (lacking == 0)
    assert ended != MONEY or config["budget"]["total"] is not None
    assert ended != DEADLINE or config["budget"]["deadline"] is not None
    if "rounds" in outcomes:
        assert outcomes["used"].sum() == outcomes["ratings_used"][0]
        # Nobody looks at half a batch.
        batch = config["budget"]["batch_size"]
        np.testing.assert_array_equal(outcomes["used"], np.minimum(outcomes["rounds"] * batch, 30))
    if ended == DECIDED:
        assert config["decision"].get("_target_") is not None


def test_an_account_that_does_not_add_up_is_noticed() -> None:
    config = copy.deepcopy(dict(composed("compare", "human_only")))
    config["design"] = {**config["design"], "collection": TROUBLE, "wait": "round"}
    collected = campaign(config)[2]
    assert isinstance(collected, Collected)
    add_up(config, collected)
    for name in ("lost", "cost", "hours"):
        wrong = {**collected.paid, name: collected.paid[name] + 1}
        with pytest.raises(AssertionError):
            add_up(config, replace(collected, paid=wrong))
