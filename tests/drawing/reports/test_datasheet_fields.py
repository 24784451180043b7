"""Check which questions of the human-evaluation datasheet are answered, and that the rest is left open."""

from __future__ import annotations

from typing import Any

import pytest

from simlab.config import compose
from simlab.drawing.reports import datasheet
from simlab.drawing.reports.datasheet import ANSWERS, UNKNOWN, collect_plan_facts, sections
from simlab.drawing.reports.heds_questions import QUESTIONS
from simlab.drawing.reports.terms import ReportTable


def answers(known: dict[str, Any]) -> dict[str, str]:
    (section,) = sections(known)
    tables = [block for block in section.blocks if isinstance(block, ReportTable) and len(block.columns) == 3]
    return {str(number): str(text) for table in tables for number, _, text in table.rows}


def config(*words: str) -> dict[str, Any]:
    return dict(compose(list(words)))


def test_every_question_stands_once_and_in_the_order_of_its_number() -> None:
    told = answers({"config": config()})
    assert told.keys() == QUESTIONS.keys()
    assert ANSWERS.keys() <= QUESTIONS.keys()
    numbers = [tuple(map(int, number.split("."))) for number in QUESTIONS]
    assert numbers == sorted(numbers)


def test_nothing_is_known_of_nothing() -> None:
    assert set(answers({}).values()) == {UNKNOWN}


def test_a_study_of_ratings_says_what_its_config_holds() -> None:
    told = answers({"config": config("design.documents=33", "raters.pool_size=9", "decision.level=0.01")})
    assert told["3.1.1"].startswith("33 documents")
    assert told["3.2.1"] == "9"
    assert told["4.2.2"].startswith("1. Absolute")
    assert "Level 0.01" in told["4.3.10"]
    for number in ("3.2.2.1", "3.2.3", "3.3.1", "4.3.7", "4.3.11.2", "5.1"):
        assert told[number] == UNKNOWN


def test_a_study_of_preferences_is_relative_and_has_three_answers() -> None:
    told = answers({"config": config("systems=preference")})
    assert (told["4.2.2"], told["4.3.3"]) == ("2. Relative", "3")
    assert told["4.3.8"].startswith("3. Relative quality estimation")


@pytest.mark.parametrize(("law", "size"), [({"floor": 0.0, "ceiling": 100.0, "step": 1.0}, "101"), ({}, UNKNOWN)])
def test_the_size_of_a_scale_is_counted_from_its_ends(law: dict[str, float], size: str) -> None:
    known = {"config": {"design": {"documents": 10}, "systems": law}}
    assert answers(known)["4.3.3"] == size


def test_what_a_sweep_varies_is_said_to_vary() -> None:
    known = {"config": config(), "varied": {"design.documents": [10, 20]}}
    assert answers(known)["3.1.1"].startswith("varied: 10, 20 documents")


def test_power_is_told_of_a_plan_and_of_nothing_else() -> None:
    plan = {"answer": {"measures": {"power": {"value": 0.721, "mcse": 0.0117}}}}
    told = answers(collect_plan_facts(config(), plan))
    assert told["3.1.3.2"].startswith("0.72 (Monte-Carlo standard error 0.012)")
    assert "simulation" in told["3.1.3.1"]
    without = answers(collect_plan_facts(config(), {"answer": {"measures": {}}}))
    assert without["3.1.3.1"] == without["3.1.3.2"] == UNKNOWN


def test_payment_is_said_only_where_a_price_is() -> None:
    assert answers({"config": {"budget": {"price_per_rating": 0.0}}})["3.2.2.2"] == UNKNOWN
    assert (
        "0.5 for a rating (EUR)"
        in answers({"config": {"budget": {"price_per_rating": 0.5, "currency": "EUR"}}})["3.2.2.2"]
    )


def test_controls_are_said_only_where_there_are_some() -> None:
    some = {"config": {"design": {"collection": {"control_share": 0.1, "control_failures": 2}}}}
    assert answers(some)["3.3.3.2"] == "control items, 0.1 of the answers; who fails more than 2 is excluded"
    none = {"config": {"design": {"collection": {"control_share": 0.0}}}}
    assert answers(none)["3.3.3.1"] == UNKNOWN


def test_a_datasheet_of_a_store_reads_its_attributes() -> None:
    attributes = {
        "config": '{"budget": {"human_ratings": 50}}',
        "sweep": '{"axes": [{"key": "raters.n_raters", "values": [3, 5]}]}',
    }
    told = answers(datasheet.collect_sweep_facts(attributes))
    assert (told["3.1.1"], told["3.2.1"]) == ("50 outputs", "varied: 3, 5")
