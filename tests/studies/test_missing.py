"""Ratings that never came are missing, not zero: totals, estimates and tests rest on what came."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import yaml
from places import places
from scipy.special import erfc
from small_studies import CONF, study

from simlab.studies.blocks import run_block
from simlab.studies.ratings import KIND
from simlab.studies.ratings.concluding import conclude, document_totals
from simlab.studies.ratings.preparing import PreparedRatings, prepare
from simlab.studies.worlds import draw_world
from simlab.types import Array, Campaign, Collected, Place, Seen

PER_ITEM = 2
NORMALIZATIONS = ("none", "mean", "zscore")


def config(normalization: str = "none", test: str = "permutation", per_item: int = PER_ITEM) -> dict[str, Any]:
    analysis = {
        "normalization": yaml.safe_load((CONF / f"analysis/normalization/{normalization}.yaml").read_text()),
        "test": yaml.safe_load((CONF / f"analysis/test/{test}.yaml").read_text()),
    }
    return study(documents=8, ratings_per_item=per_item) | {"analysis": analysis}


def collected(prepared: PreparedRatings, config: dict[str, Any], k: int = 0) -> Collected:
    world, place = draw_world(config, 0), Place(0, study=k)
    laid = KIND.lay(prepared, world, place)
    (campaign,) = KIND.collect(prepared, world, laid, iter([KIND.draw(prepared, world, laid, place)]), [place])
    assert isinstance(campaign, Campaign)
    return campaign.collected


def only(seen: Seen, came: Array) -> Seen:
    """Keep the ratings that came."""
    held = {field.name: getattr(seen, field.name) for field in fields(seen)}
    return Seen(**{name: None if array is None else array[came] for name, array in held.items()})


def chosen(whole: Collected) -> list[int]:
    assert whole.documents is not None
    return np.flatnonzero(whole.documents).tolist()


def with_losses(whole: Collected) -> Collected:
    """Lose single ratings, all ratings of some segments, a document of a system, and a document of all systems."""
    seen, frame, documents = whole.seen, whole.frame, chosen(whole)
    document = frame.document[seen.item]
    item_of = [int(np.flatnonzero(frame.document == d)[0]) for d in documents]
    lost = (seen.unit == 0) & (seen.item == item_of[0])  # one segment without any rating
    lost |= (seen.unit == 2) & (document == documents[1])  # a whole document of one system
    lost |= document == documents[2]  # a document that nobody rated
    single = np.flatnonzero((seen.unit == 1) & (seen.item == item_of[3]))[0]  # one rating of two
    lost[single] = True
    lost[np.flatnonzero((seen.unit == 3) & (document == documents[4]))[::2]] = True
    return replace(whole, seen=only(seen, ~lost))


def totals_by_hand(seen: Seen, whole: Collected) -> Array:
    """Add up the mean scores of segments, document by document, system by system."""
    frame = whole.frame
    total = np.full((len(chosen(whole)), frame.n_systems), np.nan)
    for row, document in enumerate(chosen(whole)):
        for system in range(frame.n_systems):
            means = []
            for item in np.flatnonzero(frame.document == document):
                values = seen.value[(seen.unit == system) & (seen.item == item)]
                means.append(values.mean() if len(values) else np.nan)
            total[row, system] = np.sum(means)
    return total


def pairs(n: int) -> list[tuple[int, int]]:
    return list(itertools.combinations(range(n), 2))


def exact_p_value(gap: Array) -> float:
    """Flip the sign of every document's difference in all ways."""
    sums = [abs(np.dot(signs, gap)) for signs in itertools.product((1, -1), repeat=len(gap))]
    return float(np.mean(np.array(sums) >= abs(gap.sum()) - 1e-9))


def normal_p_value(gap: Array) -> float:
    return float(erfc(abs(gap.sum()) / np.sqrt(np.sum(gap**2)) / np.sqrt(2)))


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_a_document_total_is_the_sum_of_means_of_what_came(normalization: str) -> None:
    prepared = prepare(config(normalization))
    whole = collected(prepared, config(normalization))
    lossy = with_losses(whole)
    found = document_totals(prepared, lossy)
    wanted = totals_by_hand(prepared.normalise(lossy.seen), whole)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    missing = np.isnan(found)
    assert missing[0].tolist() == [True, False, False, False]
    assert missing[1].tolist() == [False, False, True, False]
    assert missing[2].all()
    assert not missing[3].any()


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_estimates_are_means_over_documents_that_came(normalization: str) -> None:
    prepared = prepare(config(normalization))
    whole = collected(prepared, config(normalization))
    lossy = with_losses(whole)
    outcomes = conclude(prepared, [lossy])
    total = totals_by_hand(prepared.normalise(lossy.seen), whole)
    segments = np.array([np.count_nonzero(whole.frame.document == d) for d in chosen(whole)])
    for system in range(4):
        came = ~np.isnan(total[:, system])
        wanted = total[came, system].sum() / segments[came].sum()
        assert outcomes["estimate"][0, system] == pytest.approx(wanted, rel=1e-12)
    assert outcomes["human_count"][0].tolist() == np.bincount(lossy.seen.unit, minlength=4).tolist()


@pytest.mark.parametrize(("test", "p_value_by_hand"), [("permutation", exact_p_value), ("normal", normal_p_value)])
def test_a_pair_is_held_on_the_documents_where_both_came(test: str, p_value_by_hand: Any) -> None:
    for k in range(4):
        prepared = prepare(config(test=test))
        whole = collected(prepared, config(test=test), k)
        outcomes = conclude(prepared, [with_losses(whole)])
        total = totals_by_hand(with_losses(whole).seen, whole)
        for pair, (i, j) in enumerate(pairs(4)):
            both = ~np.isnan(total[:, i] + total[:, j])
            gap = total[both, i] - total[both, j]
            assert 5 <= len(gap) <= 7
            assert outcomes["direction"][0, pair] == np.sign(-gap.sum())  # the lower score is the better one
            assert outcomes["p_value"][0, pair] == pytest.approx(p_value_by_hand(gap), rel=1e-9)
            assert outcomes["significant"][0, pair] == (p_value_by_hand(gap) <= 0.05)


@pytest.mark.parametrize("per_item", [1, 2])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_nothing_missing_gives_the_same_bits_as_ever(normalization: str, per_item: int) -> None:
    keys = config(normalization, per_item=per_item)
    prepared = prepare(keys)
    whole = collected(prepared, keys)
    everything = replace(whole, seen=only(whole.seen, np.ones(len(whole.seen.value), bool)))
    seen, frame = prepared.normalise(everything.seen), whole.frame
    cell = frame.document[seen.item] * 4 + seen.unit
    ever = (np.bincount(cell, weights=seen.value, minlength=frame.n_documents * 4) / per_item).reshape(-1, 4)
    np.testing.assert_array_equal(document_totals(prepared, everything), ever[chosen(whole)])
    np.testing.assert_array_equal(document_totals(prepared, replace(everything, asked=None)), ever[chosen(whole)])
    np.testing.assert_allclose(ever[chosen(whole)], totals_by_hand(seen, whole), rtol=1e-12, atol=1e-12)
    block = run_block(keys, places(0, 1)).arrays
    for outcome, values in conclude(prepared, [everything]).items():
        np.testing.assert_array_equal(values, block[outcome], err_msg=outcome)


def test_dividing_by_the_planned_number_would_say_something_else() -> None:
    prepared = prepare(config())
    whole = collected(prepared, config())
    lossy = with_losses(whole)
    seen, frame = lossy.seen, whole.frame
    cell = frame.document[seen.item] * 4 + seen.unit
    naive = np.bincount(cell, weights=seen.value, minlength=frame.n_documents * 4).reshape(-1, 4)[chosen(whole)]
    found = document_totals(prepared, lossy)
    came = ~np.isnan(found)
    # What is missing would count as a score of 0.
    assert (naive / PER_ITEM)[came].sum() < found[came].sum() - 0.1
    estimate = conclude(prepared, [lossy])["estimate"][0]
    segments = sum(np.count_nonzero(frame.document == d) for d in chosen(whole))
    assert (np.abs(naive.sum(0) / PER_ITEM / segments - estimate) > 0.01).all()
    # Single ratings that are lost move a total a little only.
    full = document_totals(prepared, whole)
    np.testing.assert_array_equal(found[5:], full[5:])
    assert found[4, 3] != full[4, 3]


def test_what_was_asked_without_an_answer_is_paid_for() -> None:
    prepared = prepare(config())
    whole = collected(prepared, config())
    outcomes = conclude(prepared, [with_losses(whole)])
    assert outcomes["ratings_used"][0] == whole.paid["ratings"] == len(whole.seen.value)
    assert outcomes["cost"][0] == whole.paid["cost"]
    assert outcomes["human_count"].sum() < outcomes["ratings_used"][0]
