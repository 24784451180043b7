"""Measures of what is found and what is wrong, in all kinds of studies, against counting by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from places import places
from small_studies import judgement_study, preference_study, small_contest, small_systems, study

from simlab.measures import errors, preferences
from simlab.measures.errors import claims
from simlab.measures.labels import CONDITIONAL, measure_range
from simlab.measures.precision import interval
from simlab.studies.blocks import run_block
from simlab.types import Estimate, Outcomes

WORLDS, STUDIES, PAIRS = 4, 12, 6
Draw = dict[str, np.ndarray]
Measure = Callable[[Outcomes], Estimate]


def ratings(seed: int = 1) -> Draw:
    """Draw outcomes of a study of ratings, or of judgements: significance and direction."""
    rng = np.random.default_rng(seed)
    n = WORLDS * STUDIES
    direction = rng.integers(-1, 2, (n, PAIRS)).astype(np.int8)
    return {
        "world": np.repeat(np.arange(WORLDS, dtype=np.int32), STUDIES),
        "study": np.tile(np.arange(STUDIES, dtype=np.int32), WORLDS),
        "document_set": np.zeros(n, np.int32),
        "status": (rng.random(n) < 0.1).astype(np.int8),
        "direction": direction,
        "significant": (rng.random((n, PAIRS)) < 0.4) & (direction != 0),
        "true_direction": rng.integers(-1, 2, (WORLDS, PAIRS)).astype(np.int8),
    }


def compared(seed: int = 1) -> Draw:
    """Draw the same as a study of preferences says it: by verdicts."""
    data = ratings(seed)
    verdict = np.where(data["significant"], data["direction"], 0).astype(np.int8)
    return {name: values for name, values in data.items() if name != "significant"} | {"verdict": verdict}


def said(data: Draw) -> Iterator[tuple[int, int]]:
    """List `(claim, truth)` of every pair of every campaign that was carried out."""
    for campaign in np.flatnonzero(data["status"] == 0):
        for pair in range(PAIRS):
            claimed = (
                data["verdict"][campaign, pair]
                if "verdict" in data
                else (data["direction"][campaign, pair] if data["significant"][campaign, pair] else 0)
            )
            yield int(claimed), int(data["true_direction"][data["world"][campaign], pair])


def by_hand(data: Draw) -> dict[str, float]:
    pairs = list(said(data))
    campaigns = [pairs[k : k + PAIRS] for k in range(0, len(pairs), PAIRS)]
    wrong = [any(claim and claim != truth for claim, truth in one) for one in campaigns]
    return {
        "significant_share": float(np.mean([claim != 0 for claim, _ in pairs])),
        "power": float(np.mean([claim == truth for claim, truth in pairs if truth])),
        "type_s": float(np.mean([claim == -truth for claim, truth in pairs if truth and claim])),
        "false_positive": float(np.mean([claim != 0 for claim, truth in pairs if not truth])),
        "family_wise_error": float(np.mean(wrong)),
        "no_wrong_claim": 1 - float(np.mean(wrong)),
    }


NAMES = tuple(by_hand(ratings()))


def measure(name: str) -> Measure:
    found: Measure = getattr(errors, name)
    return found


@pytest.mark.parametrize("kind", [ratings, compared])
@pytest.mark.parametrize("name", NAMES)
def test_a_measure_counts_what_it_says(name: str, kind: Callable[[int], Draw]) -> None:
    data = kind(3)
    estimate = measure(name)(data)
    assert estimate.value == pytest.approx(by_hand(data)[name])
    assert estimate.n == (data["status"] == 0).sum()
    assert estimate.cluster == "world"


def test_old_names_are_the_same_measures() -> None:
    for name in ("false_positive", "family_wise_error"):
        assert getattr(preferences, name)(compared()).value == measure(name)(compared()).value


def test_claims_are_the_same_by_verdict_and_by_significance() -> None:
    np.testing.assert_array_equal(claims(ratings(5)), claims(compared(5)))


@pytest.mark.parametrize("kind", [ratings, compared])
def test_without_an_equal_pair_there_is_no_false_positive_rate(kind: Callable[[int], Draw]) -> None:
    data = kind(6)
    data["true_direction"] = np.where(data["true_direction"] == 0, 1, data["true_direction"]).astype(np.int8)
    estimate = errors.false_positive(data)
    assert np.isnan(estimate.value)
    assert estimate.n == 0
    # The negative control: what counts campaigns has a value all the same.
    assert errors.family_wise_error(data).n > 0


def test_equal_pairs_of_worlds_that_failed_are_no_equal_pairs() -> None:
    data = ratings(7)
    data["true_direction"][0] = 0
    data["true_direction"][1:] = 1
    data["status"] = (data["world"] == 0).astype(np.int8)
    assert errors.false_positive(data).n == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name != "significant_share"])
def test_without_a_truth_nothing_is_right_or_wrong(name: str) -> None:
    data = {key: values for key, values in ratings().items() if key != "true_direction"}
    assert np.isnan(measure(name)(data).value)
    assert measure(name)(data).n == 0


def test_who_claims_nothing_claims_nothing_wrong() -> None:
    data = ratings(8)
    data["significant"][:] = False
    assert errors.no_wrong_claim(data).value == 1.0
    assert errors.power(data).value == 0.0
    assert errors.family_wise_error(data).value == 0.0


def test_ranges_and_what_varies_in_its_denominator() -> None:
    for name in NAMES:
        assert (measure_range(name).least, measure_range(name).greatest) == (0.0, 1.0)
    assert {"false_positive", "type_s", "confirmed", "confirmed_new_raters"} <= CONDITIONAL
    assert not {"family_wise_error", "no_wrong_claim"} & CONDITIONAL


def alike(kind: str) -> dict[str, object]:
    """Declare a small study of each kind whose systems are exactly equal."""
    if kind == "ratings":
        return study() | {"systems": small_systems() | {"system_sd": 0.0}}
    if kind == "preferences":
        return preference_study() | {"systems": small_contest() | {"system_sd": 0.0}}
    contest = small_contest("alpha_optimal") | {"item_agreement": 0.3, "spacing": 0.0}
    return judgement_study(systems=contest)


@pytest.mark.parametrize("kind", ["ratings", "preferences", "judgements"])
def test_equal_systems_are_equal_in_truth(kind: str) -> None:
    blocks = [run_block(alike(kind), places(world, 6)).arrays for world in range(2)]
    data = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    assert not data["true_direction"].any()
    assert errors.false_positive(data).n == 12
    assert errors.false_positive(data).value == errors.significant_share(data).value
    assert np.isnan(errors.power(data).value)


def test_the_test_set_of_equal_systems_has_a_truth_of_its_own() -> None:
    """Where a fixed test set is what is judged, equal systems differ on it: that is the estimand there."""
    config = alike("judgements")
    config |= {"systems": config["systems"] | {"test_set": "fixed"}, "metric": {}}  # type: ignore[operator]
    config["analysis"] = {
        "estimator": {"_target_": "simlab.analysis.estimators.sample_mean", "interval": "normal", "level": 0.05}
    }
    found = run_block(config, places(0, 6)).arrays
    assert found["true_direction"].any()


def test_the_interval_of_a_share_of_campaigns_stays_inside_its_range() -> None:
    estimate = errors.no_wrong_claim(ratings(9))
    given = interval(np.array(estimate.value), estimate.influence, measure_range("no_wrong_claim"))
    assert 0 <= given.low <= estimate.value <= given.high <= 1
