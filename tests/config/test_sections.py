"""Derive the rules of keys, and say in one line which one a value breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt, MultipleOf

from simlab.config.sections import Bare, Engine, Study, check, checked_value, list_sections, rule, section_keys
from simlab.studies import judgements, preferences, ratings
from simlab.types import InputError

HOUSE_RULES = Path(__file__).parents[2] / "examples" / "house_rules"
KINDS = (ratings.KIND, preferences.KIND, judgements.KIND)
GROUPING = {"_target_": "simlab.design.grouping.ungrouped"}
ONE = {"pools": 1, "document_draws": 1}
MONEY = dict.fromkeys(("total", "per_system", "currency", "deadline", "start"))
PRICES = dict.fromkeys(("price_per_hour", "price_per_rater", "platform_fee"), 0.0)
BUDGET = {
    **{"annotations_per_pair": 30, "annotations": None, "batch_size": 10, "price_per_rating": 1},
    **{"price_per_comparison": None, **MONEY, **PRICES},
}


def test_sections_are_those_of_all_kinds() -> None:
    assert list_sections("") == (Study,)
    assert list_sections("engine") == (Engine,)
    assert list_sections("raters") == (Bare,)
    assert list_sections("design") == tuple(kind.sections["design"] for kind in KINDS)
    assert list_sections("decision") == (ratings.KIND.sections["decision"], judgements.KIND.sections["decision"])
    assert list_sections("design.grouping") == list_sections("nowhere") == ()


def test_a_plug_in_adds_the_sections_of_its_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(HOUSE_RULES))
    more = set(list_sections("design", ["house_rules"])) - set(list_sections("design"))
    assert len(more) == 1


def test_a_section_has_the_keys_of_the_kind_whose_keys_it_has() -> None:
    of_ratings = {"price_per_rating", "price_per_metric_call", *MONEY, *PRICES}
    assert section_keys({"price_per_metric_call": 1.0}, "budget").keys() == of_ratings
    assert section_keys(BUDGET, "budget").keys() == BUDGET.keys()
    assert section_keys({"shared_inputs": True}, "design").keys() == {"shared_inputs", "replacement", "calibration"}
    assert section_keys(GROUPING, "design.grouping") == {}
    with pytest.raises(InputError, match=r"design\.grouping names no part"):
        section_keys({"n": 1}, "design.grouping")


def test_checked_numbers_have_the_type_of_their_rule_at_every_depth() -> None:
    checked = check({"seed": 1, "worlds": 2, **ONE, "studies": 3, "plugins": [], "budget": BUDGET})
    assert checked["budget"] == BUDGET
    assert type(checked["budget"]["price_per_rating"]) is float
    assert type(checked["budget"]["batch_size"]) is int


@pytest.mark.parametrize(
    ("where", "section", "line"),
    [
        (
            "",
            {"seed": 1, "worlds": 0, **ONE, "studies": 3, "plugins": []},
            "worlds=0 must be a whole number >= 1 and <= ",
        ),
        (
            "",
            {"worlds": 1, **ONE, "studies": 3, "plugins": []},
            "seed has no value: the YAML file of the study must give one",
        ),
        ("budget", BUDGET | {"batch_size": 1.5}, "budget.batch_size=1.5 must be a whole number >= 1 and <= 1000000000"),
        ("budget", BUDGET | {"batch_sizes": 1}, "budget.batch_sizes is no key: did you mean batch_size?"),
        ("budget", BUDGET | {"annotations": "all"}, "budget.annotations=all must be a whole number >= 1 and <= "),
        ("design.grouping", GROUPING | {"n": 1}, "design.grouping.n is no key: "),
        (
            "design",
            {"shared_order": True, "pair_order": "anew"},
            "design.pair_order=anew must be random or fixed",
        ),
    ],
)
def test_what_is_wrong_is_said_in_one_line(where: str, section: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as refused:
        check(section, where)
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_a_number_where_a_text_is_wanted_is_shown_in_quotes() -> None:
    with pytest.raises(InputError, match="must be a list, each entry a text"):
        check({"seed": 1, "worlds": 1, **ONE, "studies": 1, "plugins": "house_rules"})
    systems = {"_target_": "simlab.world.recorded.recorded", "path": 7, "names": None, "sha256": None}
    with pytest.raises(
        InputError, match=r"""systems\.path=7 must be .*; as a text it is written 'systems\.path="7"'"""
    ):
        check(systems, "systems")


def whole() -> dict[str, Any]:
    small = {"seed": 1, "worlds": 2, **ONE, "studies": 3, "plugins": []}
    return {**small, "budget": BUDGET, "design": {"grouping": GROUPING}}


def test_a_value_is_checked_for_the_key_of_a_config() -> None:
    config = whole()
    again = checked_value(config, "budget.price_per_rating", 2)
    assert (again, type(again)) == (2.0, float)
    assert checked_value(config, "seed", 7) == 7
    assert config["seed"] == 1
    with pytest.raises(InputError, match=r"budget\.price_per_rating=-1 must be a number >= 0"):
        checked_value(config, "budget.price_per_rating", -1)


@pytest.mark.parametrize("key", ["seeds", "budget.price", "budget", "design.grouping.n", "seed.inner", "no.such.key"])
def test_a_key_that_a_config_lacks_is_no_value_to_check(key: str) -> None:
    with pytest.raises(KeyError):
        checked_value(whole(), key, 1)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "a whole number"),
        (float | None, "a number or null"),
        (Annotated[float, Ge(0), Lt(1)] | None, "a number >= 0 and < 1 or null"),
        (Annotated[int, Gt(0), Le(9), MultipleOf(3)], "a whole number > 0 and <= 9 and a multiple of 3"),
        (Literal["fresh", "potential"], "fresh or potential"),
        (Literal["20", True], "'20' or true"),
        (list[Annotated[float, Ge(0)]], "a list, each entry a number >= 0"),
        (list[list[float]] | None, "a list, each entry a list, each entry a number or null"),
        (tuple[str, ...], "a list, each entry a text"),
        (bool, "true or false"),
    ],
)
def test_a_rule_is_said_in_words(annotation: Any, words: str) -> None:
    assert rule(annotation) == words
