"""Read from a budget how many outputs are judged, and refuse one that pays for none."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from small_studies import CONF, judgement_study

from simlab.studies.judgements import KIND
from simlab.studies.judgements.collecting import plan
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, InputError, Place
from simlab.world.laws.judgements import Needs

PRICES = {"price_per_rating": 2.0, "price_per_metric_call": 0.01}


def option(name: str, **keys: Any) -> dict[str, Any]:
    return {"estimator": yaml.safe_load((CONF / f"analysis/estimator/{name}.yaml").read_text()) | keys}


def config(budget: dict[str, Any], design: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    whole = judgement_study(**keys)
    whole["budget"] = whole["budget"] | PRICES | budget
    whole["design"] = whole["design"] | (design or {})
    return whole


def planned(budget: dict[str, Any], design: dict[str, Any] | None = None, **keys: Any) -> Needs:
    whole = config(budget, design, **keys)
    return plan(KIND.prepare(whole), draw_world(whole, 0))


FIXED = judgement_study()["systems"] | {"test_set": "fixed"}
CALIBRATED = option("binary_calibrated")


def test_numbers_that_are_given_are_taken() -> None:
    needs = planned({"human_ratings": 30, "metric_ratings": 500, "calibration_ratings": 40})
    assert (needs.human, needs.metric, needs.calibration) == (30, 500, 0)  # this estimator calibrates nothing
    assert planned({"calibration_ratings": 40}, analysis=CALIBRATED).calibration == 40
    assert needs.payers == 4
    assert planned({}, {"calibration": "own"}).payers == 1


@pytest.mark.parametrize(
    ("budget", "design", "keys", "human"),
    [
        ({"per_system": 60.0, "metric_ratings": 1000}, {}, {}, 25),  # (60 - 1000 * .01) / 2
        ({"per_system": 61.9, "metric_ratings": 1000}, {}, {}, 25),  # what is left buys no whole judgement
        ({"per_system": 62.0, "metric_ratings": 1000}, {}, {}, 26),
        ({"per_system": 60.0, "metric_ratings": 0}, {}, {}, 30),
        (
            {"per_system": 60.0, "metric_ratings": 1000},
            {},
            {"analysis": option("sample_mean")},
            30,
        ),  # no metric is looked at
        ({"per_system": 60.0, "metric_ratings": 1000}, {}, {"metric": {}}, 30),  # there is none
        # Of 40 outputs that both rate a system pays its own 40, or a quarter: (100 - 10 - 2 * 10) / 2.
        ({"per_system": 100.0, "metric_ratings": 1000, "calibration_ratings": 40}, {}, {"analysis": CALIBRATED}, 35),
        (
            {"per_system": 100.0, "metric_ratings": 1000, "calibration_ratings": 40},
            {"calibration": "own"},
            {"analysis": CALIBRATED},
            5,
        ),
        # Amounts that binary fractions miss by a hair: .3 / .1 is 2.9999999999999996.
        ({"per_system": 0.3, "price_per_rating": 0.1, "metric_ratings": 0}, {}, {}, 3),
    ],
)
def test_a_budget_pays_the_metric_first_and_humans_from_what_is_left(
    budget: dict[str, Any], design: dict[str, Any], keys: dict[str, Any], human: int
) -> None:
    assert planned(budget | {"human_ratings": 7}, design, **keys).human == human


def test_what_a_campaign_is_billed_fits_what_its_systems_may_cost() -> None:
    whole = config({"per_system": 61.9, "metric_ratings": 1000, "calibration_ratings": 40}, analysis=CALIBRATED)
    prepared, world, place = KIND.prepare(whole), draw_world(whole, 0), Place(0)
    laid = KIND.lay(prepared, world, place)
    (campaign,) = KIND.collect(prepared, world, laid, iter([KIND.draw(prepared, world, laid, place)]), [place])
    assert isinstance(campaign, Campaign)
    paid = campaign.collected.paid
    human = planned(whole["budget"], analysis=CALIBRATED).human
    assert len(campaign.collected.seen.value) == 4 * human
    assert paid["ratings"] == 4 * human + 40  # the calibration is shared, and paid once
    assert paid["metric"] == 4 * 1000
    assert paid["human_cost"] == 4 * human * 2.0
    assert paid["cost"] == pytest.approx(paid["ratings"] * 2.0 + 4000 * 0.01)
    assert paid["cost"] <= 4 * 61.9 < paid["cost"] + 4 * 2.0


def test_a_finite_test_set_is_rated_by_the_metric_as_a_whole() -> None:
    analysis = option("control_variates")
    needs = planned({"metric_ratings": None, "human_ratings": 30}, systems=FIXED, analysis=analysis)
    assert (needs.human, needs.metric) == (30, 30)
    assert needs.test_set is None  # drawn where a layout is worked out, not where one counts


@pytest.mark.parametrize(
    ("budget", "design", "keys", "line"),
    [
        ({"metric_ratings": None}, {}, {}, "budget.metric_ratings=null needs systems.test_set=fixed"),
        ({"metric_ratings": 10}, {}, {"systems": FIXED}, "budget.metric_ratings: with systems.test_set=fixed"),
        (
            {"metric_ratings": None, "human_ratings": 31},
            {},
            {"systems": FIXED},
            "budget.human_ratings=31 exceeds the 30 outputs of the test set",
        ),
        (
            {"per_system": 11.9, "metric_ratings": 1000},
            {},
            {},
            "budget.per_system=11.9 does not pay one judgement of each system",
        ),
        (
            {"per_system": 5.0, "metric_ratings": 1000},
            {},
            {},
            "budget.per_system=5 does not pay one judgement of each system",
        ),
        (
            {"per_system": 5.0, "metric_ratings": 0, "price_per_rating": 0.0},
            {},
            {},
            "budget.per_system=5: judgements that cost nothing use up no money",
        ),
    ],
)
def test_budgets_that_cannot_be_are_refused(
    budget: dict[str, Any], design: dict[str, Any], keys: dict[str, Any], line: str
) -> None:
    with pytest.raises(InputError) as refused:
        planned(budget, design, **keys)
    assert str(refused.value).startswith(line)


def test_what_would_be_refused_is_allowed_where_it_does_no_harm() -> None:
    again = planned({"metric_ratings": None, "human_ratings": 31}, {"replacement": True}, systems=FIXED)
    assert again.human == 31
    # Whoever does not look at a metric may say anything of it.
    assert planned({"metric_ratings": 10}, systems=FIXED, analysis=option("sample_mean")).metric == 0
    assert planned({"metric_ratings": None}, analysis=option("sample_mean")).metric == 0
    assert planned({"per_system": 12.0, "metric_ratings": 1000}).human == 1
