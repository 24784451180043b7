"""What a block of campaigns gives: the same bits whatever company a study has, and nothing that was not declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from places import places
from small_studies import grouping, judgement_study, preference_study, study

from simlab.studies import blocks, judgements, preferences, ratings
from simlab.studies.blocks import run_block
from simlab.studies.kind import Kind
from simlab.types import DESIGN_FAILED, OK, Array, Place

FRESH = {"noise": "fresh", "noise_share": 0.5}
STUDIES: dict[str, tuple[Kind, dict[str, Any]]] = {
    "ratings": (ratings.KIND, study()),
    "fresh ratings": (ratings.KIND, study() | {"raters": study()["raters"] | FRESH}),
    "preferences": (preferences.KIND, preference_study(annotations=100)),
    "shared preferences": (
        preferences.KIND,
        preference_study() | {"systems": preference_study()["systems"] | {"test_set": "fixed"}},
    ),
    "judgements": (judgements.KIND, judgement_study()),
}
SPREAD = [places(0, 3), places(1, 2, first=4), places(0, 1, first=5)]
"""Three stretches of studies, the last one back in the first world."""


@pytest.mark.parametrize("name", STUDIES)
def test_a_block_that_spans_worlds_gives_the_same_bits_as_its_parts(name: str) -> None:
    _, config = STUDIES[name]
    whole = run_block(config, [place for part in SPREAD for place in part]).arrays
    alone = [run_block(config, part).arrays for part in SPREAD]
    assert all(whole.keys() == part.keys() for part in alone)
    for outcome, values in whole.items():
        np.testing.assert_array_equal(values, np.concatenate([part[outcome] for part in alone]), err_msg=outcome)
        assert len(values) == (3 if outcome.startswith("true_") else 6), outcome
        assert values.dtype == alone[0][outcome].dtype
    assert whole["world"].tolist() == [0, 0, 0, 1, 1, 0]
    assert whole["study"].tolist() == [0, 1, 2, 4, 5, 5]
    np.testing.assert_array_equal(whole["true_direction"][0], whole["true_direction"][2])
    assert (whole["estimate"][3] != whole["estimate"][0]).any()  # studies of another world are others


def test_designs_that_fail_are_counted_in_the_whole_block() -> None:
    uneven = study(grouping=grouping("ungrouped"), load_entropy=0.9, load_tolerance=0.0004, load_tries=1)
    both = run_block(uneven, [*places(0, 6), *places(1, 6)])
    failed = [k for k, _ in both.failures]
    assert failed == np.flatnonzero(both.arrays["status"] == DESIGN_FAILED).tolist()
    assert 0 < sum(k < 6 for k in failed) < 6
    assert any(k >= 6 for k in failed)
    assert (both.arrays["cost"] == 0).tolist() == [k in failed for k in range(12)]
    second = run_block(uneven, places(1, 6))
    assert [(k - 6, why) for k, why in both.failures if k >= 6] == second.failures


def test_pools_and_draws_of_documents_are_places_of_their_own() -> None:
    fresh = STUDIES["fresh ratings"][1] | {"design": study(documents=7)["design"]}
    spread = [Place(0), Place(0, pool=1), Place(0, draw=1), Place(0)]
    estimate = run_block(fresh, spread).arrays["estimate"]
    assert len({tuple(row) for row in estimate.tolist()}) == 3
    np.testing.assert_array_equal(estimate[0], estimate[3])


def concluding(monkeypatch: pytest.MonkeyPatch, kind: Kind, change: Callable[[dict[str, Array]], Any]) -> None:
    """Let studies of a kind conclude something else."""

    def conclude(prepared: Any, campaigns: Any) -> dict[str, Array]:
        outcomes = kind.conclude(prepared, campaigns)
        return outcomes | change(outcomes)

    monkeypatch.setattr(blocks, "identify_kind", lambda config: replace(kind, conclude=conclude))


@pytest.mark.parametrize("name", ["ratings", "preferences", "judgements"])
def test_an_outcome_that_is_not_declared_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, config = STUDIES[name]
    concluding(monkeypatch, kind, lambda outcomes: {"winner": outcomes["estimate"].argmax(1)})
    with pytest.raises(ValueError, match=f"studies of {kind.name} give the outcome winner, which they do not declare"):
        run_block(config, places(0, 2))


@pytest.mark.parametrize("name", ["ratings", "preferences", "judgements"])
def test_a_share_given_for_a_count_is_named_and_becomes_no_zero(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, config = STUDIES[name]
    concluding(monkeypatch, kind, lambda outcomes: {"ratings_used": np.full(len(outcomes["cost"]), 0.75)})
    message = f"studies of {kind.name} give ratings_used as float64, and declare int32"
    with pytest.raises(ValueError, match=message):
        run_block(config, places(0, 2))


@pytest.mark.parametrize(
    ("outcome", "given", "declared"),
    [("direction", np.int64, "int8"), ("significant", np.int8, "bool"), ("estimate", np.float32, "float64")],
)
def test_an_outcome_of_another_type_is_named(
    outcome: str, given: type, declared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, config = STUDIES["ratings"]
    concluding(monkeypatch, kind, lambda outcomes: {outcome: outcomes[outcome].astype(given)})
    with pytest.raises(ValueError, match=rf"give {outcome} as {np.dtype(given)}, and declare {declared}"):
        run_block(config, places(0, 2))


def test_what_appraisers_and_the_truth_add_is_held_against_the_declaration_too(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, config = STUDIES["ratings"]

    def rounded(*given: Any) -> Mapping[str, Array]:
        return {"true_value": np.array([[1, 2, 3, 4]])}

    def whispered(prepared: Any, world: Any, laid: Any, campaigns: Any, outcomes: Any) -> Mapping[str, Array]:
        return {"hunch": np.zeros(len(campaigns))}

    monkeypatch.setattr(blocks, "identify_kind", lambda config: replace(kind, truth=rounded))
    with pytest.raises(ValueError, match="give true_value as int64, and declare float64"):
        run_block(config, places(0, 2))
    monkeypatch.setattr(blocks, "identify_kind", lambda config: replace(kind, appraise=whispered))
    with pytest.raises(ValueError, match="give the outcome hunch, which they do not declare"):
        run_block(config, places(0, 2))


@pytest.mark.parametrize("name", STUDIES)
def test_outcomes_have_the_types_that_are_declared(name: str) -> None:
    kind, config = STUDIES[name]
    given = run_block(config, places(0, 2)).arrays
    for outcome, values in given.items():
        if outcome not in ("world", "study"):
            assert values.dtype == np.dtype(kind.outcomes[outcome].dtype), outcome
            assert values.ndim == len(kind.outcomes[outcome].dims), outcome
    assert (given["status"] == OK).all()
