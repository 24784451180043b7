"""Fill in what a campaign that could not be carried out concludes."""

from __future__ import annotations

import numpy as np
import pytest

from simlab.studies.kind import Kind
from simlab.studies.kinds import BUILT_IN
from simlab.studies.outcomes import COMMON, IDENTITY, blank
from simlab.types import NO_TWIN, Outcome

SIZES = {"system": 4, "pair": 6, "preference": 3, "round": 5}


def test_a_blank_has_no_dimension_of_campaigns_and_holds_what_fills_gaps() -> None:
    outcomes = {
        "a": Outcome(("replicate", "pair", "look"), "int8", NO_TWIN, "codes"),
        "b": Outcome(("replicate",), "float64", float("nan"), "a number"),
        "c": Outcome(("replicate", "pair"), "bool", False, "yes or no"),
    }
    filled = blank(outcomes, ("a", "b", "c"), {"pair": 2, "look": 3})
    np.testing.assert_array_equal(filled["a"], np.full((2, 3), -128))
    assert filled["a"].dtype == np.int8
    assert filled["b"].shape == ()
    assert np.isnan(filled["b"])
    np.testing.assert_array_equal(filled["c"], [False, False])
    assert filled["c"].dtype == bool


def test_only_the_named_outcomes_are_filled_in() -> None:
    assert blank(COMMON, ("estimate",), {"system": 3}).keys() == {"estimate"}
    assert blank(COMMON, (), {}) == {}
    with pytest.raises(KeyError):
        blank(COMMON, ("estimat",), {"system": 3})


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_what_fills_a_gap_survives_in_the_type_of_its_outcome(kind: Kind) -> None:
    names = tuple(name for name, outcome in kind.outcomes.items() if outcome.dims[0] == "replicate")
    for name, filled in blank(kind.outcomes, names, SIZES).items():
        outcome = kind.outcomes[name]
        assert filled.dtype == np.dtype(outcome.dtype)
        assert filled.shape == tuple(SIZES[dim] for dim in outcome.dims[1:])
        np.testing.assert_array_equal(filled, np.broadcast_to(outcome.fill, filled.shape))


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_truth_has_a_row_for_a_world_and_all_else_one_for_a_campaign(kind: Kind) -> None:
    for name, outcome in kind.outcomes.items():
        assert outcome.dims[0] == ("of_world" if name.startswith("true_") else "replicate")
        assert outcome.label
    assert not kind.outcomes.keys() & set(IDENTITY)
