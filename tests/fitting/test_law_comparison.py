"""Laws are compared by what they say of documents held out; ties go to the simpler one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pilots import Truth
from plain_law import TRUTH, drawn, law

from simlab.fitting.law_comparison import (
    MOST_VALUES,
    choose_simplest_law,
    compare,
    grid,
    predictive_probabilities,
    rank_laws,
)
from simlab.fitting.laws import FittableLaw, laws
from simlab.fitting.parts import folds, keep_documents, thin_documents
from simlab.tables.rating_table import Ratings

LATENT = Truth(
    mean=0,
    system=50,
    document=30,
    system_document=30,
    leniency=30,
    rater_system=10,
    rater_document=10,
    residual=100,
    low=-9999,
    high=9999,
)


def cut(seed: int, cuts: list[float], **size: int) -> Ratings:
    """Draw ratings in categories: where a latent value falls between cuts."""
    held = drawn(seed, LATENT, **size)
    return replace(held, score=1.0 + np.searchsorted(cuts, held.score), scale=(1.0, len(cuts) + 1.0))


def test_the_law_that_knows_the_spreads_wins_over_one_that_does_not() -> None:
    right, wrong = law(TRUTH, "right"), law(replace(TRUTH, residual=12.0), "wrong")
    found = compare([wrong, right], drawn(1), seed=0)
    assert [one.law for one in found] == ["right", "wrong"]
    assert found[1].behind > 5 * found[1].se
    assert choose_simplest_law(found) == "right"
    # A law that says the same is no worse.
    twins = compare([right, law(TRUTH, "twin")], drawn(1), seed=0)
    assert abs(twins[1].behind) < 0.05


def test_log_scores_are_those_of_the_normal_law() -> None:
    from scipy.stats import norm

    pilot = drawn(2, n_documents=60)
    found = compare([law(TRUTH)], pilot, seed=0)[0]
    mean = np.bincount(pilot.system, weights=pilot.score) / np.bincount(pilot.system)
    left = pilot.score - mean[pilot.system]
    lenient = np.bincount(pilot.rater, weights=left) / np.bincount(pilot.rater)
    sd = np.sqrt(9 + 4 + 1 + 4.2**2 + 1 / 12)
    edges = np.array([-np.inf, *grid(pilot.score, pilot.scale), np.inf])
    share = np.diff(norm.cdf(edges, (mean[pilot.system] + lenient[pilot.rater])[:, None], sd), axis=1)
    bins = np.searchsorted(edges, pilot.score) - 1
    exact = np.log(share[np.arange(len(bins)), bins]).mean()
    # Held-out means are those of fewer documents, and predictions are simulated: a few hundredths.
    assert found.log_score == pytest.approx(exact, abs=0.08)


def test_ties_go_to_the_simpler_law() -> None:
    rng = np.random.default_rng(1)
    base = rng.standard_normal(40)
    close, far = base + 0.01 + 0.2 * rng.standard_normal(40), base - 1
    assert choose_simplest_law(rank_laws({"ordinal": close, "gaussian": base, "mqm": far})) == "gaussian"
    assert choose_simplest_law(rank_laws({"ordinal": base + 1, "gaussian": base})) == "ordinal"


def test_the_grid_gives_floor_ceiling_and_zero_bins_of_their_own() -> None:
    rng = np.random.default_rng(1)
    score = np.clip(rng.normal(20, 30, 3000).round(1), 0, 100)
    edges = grid(score, (0.0, 100.0))
    assert len(np.unique(score)) > MOST_VALUES > len(edges)
    bins = np.searchsorted(edges, score)
    assert set(score[bins == bins[score == 0][0]]) == {0.0}
    assert set(score[bins == bins[score == 100][0]]) == {100.0} or 100.0 not in score


def test_no_probability_is_zero_and_all_add_up() -> None:
    share = predictive_probabilities(np.array([[4.0, 0.0, 0.0], [0.0, 6.0, 0.0]]))
    assert (share > 0).all()
    assert share.sum(1) == pytest.approx([1, 1])


def test_documents_are_held_out_once_and_only_known_raters_are_asked() -> None:
    pilot = drawn(1, n_documents=7, n_raters=3, ratings=1)
    seen = np.concatenate([fold.document for fold in folds(np.random.default_rng(1), pilot)])
    assert set(seen) <= set(range(7))
    for fold in folds(np.random.default_rng(1), pilot):
        assert fold.train.system_names == fold.held_out.system_names
        assert fold.train.rater_names == fold.held_out.rater_names
        assert not set(fold.train.document_names) & set(fold.held_out.document_names)
        assert set(np.unique(fold.held_out.rater)) <= set(np.unique(fold.train.rater))
    assert keep_documents(pilot, np.arange(7) < 2).n_documents == 2
    assert len(thin_documents(np.random.default_rng(1), pilot, 20).score) <= 24


CASES = {
    "gaussian": lambda seed: drawn(seed, n_documents=30),
    "ordinal": lambda seed: cut(seed, [-180, -150, -60, 160], n_documents=30),
    "binary": lambda seed: cut(seed, [20.0], n_documents=30),
}


def allowed(pilot: Ratings) -> list[FittableLaw]:
    return [one for one in laws() if one.refused(pilot) is None]


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_tables_of_a_law_choose_it(name: str) -> None:
    for seed in (1, 2):
        pilot = CASES[name](seed)
        found = compare(allowed(pilot), pilot, seed=seed)
        assert choose_simplest_law(found) == name
        assert len(found) > 1 or name != "ordinal"
