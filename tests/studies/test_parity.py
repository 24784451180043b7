"""Conclusions rest on what was collected: no world, and nothing that was noted while collecting, is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import yaml
from places import places
from small_studies import CONF, judgement_study, preference_study, study

from simlab.studies.blocks import run_block
from simlab.studies.kind import Kind
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Collected, Place, World
from simlab.world.laws.comparisons import ComparisonLaw
from simlab.world.laws.error_counts import ErrorCounts
from simlab.world.laws.fixed import FixedRatings
from simlab.world.laws.judgements import Judgements

TRUE = (World, ErrorCounts, FixedRatings, ComparisonLaw, Judgements)
STATED = ("verdict", "decided", "theta", "used", "p_mean")


def option(group: str, name: str, **keys: Any) -> dict[str, Any]:
    return yaml.safe_load((CONF / group / f"{name}.yaml").read_text()) | keys


def fresh(config: dict[str, Any]) -> dict[str, Any]:
    return config | {"raters": config["raters"] | {"noise": "fresh"}}


SEGMENT_METRIC = option("metric", "segment_metric")
STUDIES = {
    "ratings": study(),
    "fresh ratings": fresh(study(ratings_per_item=2)),
    "corrected ratings": study() | {"metric": SEGMENT_METRIC},
    "preferences": preference_study(),
    "preferences under a budget": preference_study(annotations=100),
    "judgements": judgement_study(),
    "calibrated judgements": judgement_study(analysis={"estimator": option("analysis/estimator", "binary_calibrated")}),
}


def campaigns_of(config: dict[str, Any], at: list[Place]) -> tuple[Kind, Any, list[Campaign]]:
    """Collect all campaigns of a world, and conclude nothing."""
    kind, world = identify_kind(config), draw_world(config, at[0].world)
    prepared = kind.prepare(config)
    laid = kind.lay(prepared, world, at[0])
    noise = (kind.draw(prepared, world, laid, place) for place in at)
    gathered = kind.collect(prepared, world, laid, noise, at)
    assert all(isinstance(one, Campaign) for one in gathered)
    return kind, prepared, gathered


@pytest.mark.parametrize("name", STUDIES)
def test_conclusions_from_what_was_collected_are_those_of_the_block(name: str) -> None:
    config, at = STUDIES[name], places(1, 5)
    kind, prepared, campaigns = campaigns_of(config, at)
    block = run_block(config, at).arrays
    for k, campaign in enumerate(campaigns):
        concluded = kind.conclude(prepared, [campaign.collected])
        assert {"estimate", "direction", "significant"} <= concluded.keys() <= block.keys()
        for outcome, values in concluded.items():
            np.testing.assert_array_equal(values[0], block[outcome][k], err_msg=outcome)
            assert values.dtype == block[outcome].dtype
    apart = kind.conclude(prepared, [campaigns[0].collected])["estimate"]
    assert (apart != kind.conclude(prepared, [campaigns[1].collected])["estimate"]).any()


@pytest.mark.parametrize("name", STUDIES)
def test_an_analyst_holds_no_world(name: str) -> None:
    _, prepared, campaigns = campaigns_of(STUDIES[name], places(0, 2))
    for part in (prepared, *(campaign.collected for campaign in campaigns)):
        assert not [held for held in within(part) if isinstance(held, TRUE)]
    assert [held for held in within({"a": (draw_world(STUDIES[name], 0),)}) if isinstance(held, TRUE)]


def within(value: Any, deep: int = 0) -> Iterator[Any]:
    """Go through all that can be reached from a value: fields, entries, and what functions hold."""
    yield value
    inner: list[Any] = []
    if is_dataclass(value) and not isinstance(value, type):
        inner = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Mapping):
        inner = list(value.values())
    elif isinstance(value, tuple | list):
        inner = list(value)
    elif isinstance(value, partial):
        inner = [value.func, *value.args, *value.keywords.values()]
    elif getattr(value, "__closure__", None):
        inner = [cell.cell_contents for cell in value.__closure__]
    if deep < 12:
        for held in inner:
            yield from within(held, deep + 1)


RULES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in ("fixed", "human_only", "anytime", "group_sequential", "equivalence", "naive")},
    "betting": ("betting", {}),
    "betting on documents": ("betting", {"unit": "document"}),
    "betting on a test set": ("betting", {"estimand": "test_set", "multiplicity": "closed"}),
    "anytime closed": ("anytime", {"multiplicity": "closed"}),
    "anytime e_bh": ("anytime", {"multiplicity": "e_bh"}),
    "anytime holm": ("anytime", {"multiplicity": "holm"}),
    "fixed holm on documents": ("fixed", {"unit": "document", "multiplicity": "holm"}),
    "group_sequential holm": ("group_sequential", {"multiplicity": "holm"}),
    "documents in sequence": ("group_sequential", {"unit": "document", "multiplicity": "holm"}),
    "equivalence at any look": ("equivalence", {"holds": "at_any_look"}),
    "equivalence within the plan": ("equivalence", {"holds": "within_the_plan"}),
}


def forgotten(collected: Collected) -> Collected:
    """Forget what was noted while collecting, and nothing that an analyst would be told."""
    told = {name: value for name, value in collected.known.items() if name not in ("rounds", "said")}
    return replace(collected, known=told)


@pytest.mark.parametrize("budget", [{}, {"annotations": 100}, {"batch_size": 7}], ids=["ample", "short", "odd"])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_the_same_of_what_came_as_while_collecting(rule: str, budget: dict[str, Any]) -> None:
    name, keys = RULES[rule]
    config = preference_study(**budget) | {"decision": option("decision", name, **keys)}
    config["systems"] |= {"quality": [1.5, 0.5, 0.0, 0.0]}  # for something to be found
    if keys.get("unit") == "document":
        config["systems"] |= {"outputs_per_document": 3, "document_agreement": 0.3}
        config["design"] |= {"whole_documents": True}
    kind, prepared, campaigns = campaigns_of(config, places(0, 4))
    collected = [campaign.collected for campaign in campaigns]
    noted = kind.conclude(prepared, collected)
    afresh = kind.conclude(prepared, [forgotten(one) for one in collected])
    assert set(STATED) <= noted.keys() == afresh.keys()
    for outcome in noted:  # no output lacks a comparison, so that even the last look can be told from what came
        np.testing.assert_array_equal(afresh[outcome], noted[outcome], err_msg=outcome)
        assert afresh[outcome].dtype == noted[outcome].dtype
    # Control: another campaign's comparisons lead elsewhere.
    other = kind.conclude(prepared, [forgotten(one) for one in collected[::-1]])
    assert (other["p_mean"] != noted["p_mean"]).any()


@pytest.mark.parametrize("budget", [{}, {"annotations": 100}])
def test_the_comparisons_that_an_analyst_sees_are_those_paid_for(budget: dict[str, Any]) -> None:
    config = preference_study(**budget) | {"decision": option("decision", "human_only")}
    kind, prepared, campaigns = campaigns_of(config, places(0, 4))
    concluded = kind.conclude(prepared, [campaign.collected for campaign in campaigns])
    for k, campaign in enumerate(campaigns):
        seen, (test_set, order) = campaign.collected.seen, campaign.backstage
        assert campaign.collected.paid["ratings"] == len(seen.value) == concluded["ratings_used"][k]
        assert campaign.collected.paid["cost"] == len(seen.value) == concluded["cost"][k]
        count = np.bincount(seen.unit, minlength=6)
        np.testing.assert_array_equal(count, concluded["used"][k])
        for pair in range(6):
            of_pair = seen.unit == pair
            np.testing.assert_array_equal(seen.order[of_pair], np.arange(count[pair]))
            np.testing.assert_array_equal(seen.item[of_pair], order[pair, : count[pair]])
        np.testing.assert_array_equal(seen.value, test_set.human[seen.unit, seen.item])
    used = concluded["used"]
    assert used.sum(1).max() <= budget.get("annotations", 6 * 30)
    assert used.min() < used.max()  # some pair ended before others, so there is something not to see
