"""Which values an outcome can have, and what is said of those that it cannot."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_studies import preference_study, study

from simlab.studies import kinds
from simlab.studies.outcomes import COMMON, LARGEST, are_codes, find_impossible, find_worst, is_in_bounds, probabilities
from simlab.studies.read_only import notice_writing, seal
from simlab.studies.worlds import draw_world, numbers
from simlab.types import IMPOSSIBLE, OK, ImpossibleValue, InputError, Outcome

NAN = float("nan")
PAIR = ("replicate", "pair")


def reasons(outcome: Outcome, values: Any, status: tuple[int, ...] = (OK, OK)) -> list[tuple[int, str]]:
    array = np.asarray(values, outcome.dtype)
    return list(find_impossible({"x": outcome}, {"status": np.array(status, np.int8), "x": array}))


@pytest.mark.parametrize(
    ("outcome", "values", "said"),
    [
        (Outcome(PAIR, "float64", NAN, "p", low=0, high=1), [[0, 1], [0.5, -0.2]], "x is -0.2 for pair 2; it lies"),
        (Outcome(PAIR, "float64", NAN, "p", low=0, high=1), [[0, 1], [NAN, 0.2]], "x is nan for pair 1; a part of"),
        (Outcome(PAIR, "float64", NAN, "se", low=0), [[0, 1e9], [-1, 0.2]], "x is -1 for pair 1; it cannot be below 0"),
        (Outcome(PAIR, "float64", NAN, "any"), [[-5, LARGEST], [np.inf, 0.2]], "x is inf for pair 1; a part of"),
        (Outcome(PAIR, "float64", NAN, "any"), [[0, 1], [2, -1e16]], "x is -1e+16 for pair 2; numbers beyond 1e+15"),
        (Outcome(PAIR, "int8", -128, "code", low=-1, high=1, gap=True), [[-128, 1], [-1, 2]], "x is 2 for pair 2; it"),
        (Outcome(PAIR, "int8", 0, "code", low=-1, high=1), [[0, 1], [-1, -128]], "x is -128 for pair 2; it lies"),
        (Outcome(("replicate",), "int32", 0, "count", low=0), [0, -1], "x is -1; it cannot be below 0"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_rule(outcome: Outcome, values: Any, said: str) -> None:
    ((row, reason),) = reasons(outcome, values)
    assert row == 1
    assert reason.startswith(said)
    # What a campaign that failed already holds is not looked at.
    assert reasons(outcome, values, (OK, IMPOSSIBLE)) == []


def test_what_may_be_unknown_is_no_fault_and_rounding_none() -> None:
    assert (
        reasons(Outcome(PAIR, "float64", NAN, "theta", low=0, high=1, gap=True), [[NAN, 1 + 1e-12], [0, -1e-12]]) == []
    )
    true = Outcome(("of_world", "system"), "float64", NAN, "truth")
    arrays = {"status": np.zeros(2, np.int8), "true_x": np.array([[1, NAN]])}
    with pytest.raises(ImpossibleValue, match="true_x is nan for system 2"):
        list(find_impossible({"true_x": true}, arrays))


def test_bounds_are_no_part_of_a_declaration() -> None:
    """Plug-ins that declare an outcome of all kinds as it was before go on."""
    before = Outcome(("replicate",), "float64", COMMON["cost"].fill, "price of the ratings, of all systems together")
    assert before == COMMON["cost"]
    assert before != replace(before, label="price")
    assert all(outcome.low is not None or outcome.dtype in ("float64", "bool") for outcome in kinds.outcomes().values())


def test_probabilities_codes_and_numbers() -> None:
    assert probabilities(np.array([0.0, 1 + 1e-12]), "a test").size == 2
    for value in (NAN, -0.1, 1.1, np.inf):
        with pytest.raises(ImpossibleValue, match="a test gives the p-value"):
            probabilities(np.array([0.5, value]), "a test")
    assert are_codes(np.array([], np.int8), -1, 1)
    assert are_codes(np.array([-1.0, 1.0]), -1, 1)
    assert not are_codes(np.array([0.5]), -1, 1)
    assert not are_codes(np.array([0, 2]), -1, 1)
    assert not are_codes(np.array([0, NAN]), -1, 1)
    assert is_in_bounds(np.array([1, -(10**18)]))  # whole numbers are exact
    assert np.isnan(find_worst(np.array([1.0, NAN, np.inf])))
    assert find_worst(np.array([1.0, -1e300])) == -1e300


def test_the_numbers_of_a_world_are_all_gone_through() -> None:
    named = {name for name, _ in numbers(draw_world(preference_study(), 0))}
    assert {"p", "mu", "quality", "output_sd"} <= named
    assert {name for name, _ in numbers(draw_world(study(), 0))} == {"ratings", "truth"}


def test_a_world_is_read_only_and_who_writes_is_named() -> None:
    world = draw_world(study(), 0)

    def a_part_that_writes() -> None:
        world.frame.bucket[0] = 7

    said = r"handed \(.*a_part_that_writes: assignment destination is read-only\)"
    with pytest.raises(InputError, match=said), notice_writing():
        a_part_that_writes()
    with pytest.raises(ValueError, match="another"), notice_writing():
        raise ValueError("another")
    held = seal({"a": [np.zeros(2), (np.zeros(1), "word")], "b": None, "c": ("x", "y")})
    assert not held["a"][0].flags.writeable
    assert not held["a"][1][0].flags.writeable
