"""Check the law of normal scores: scores that crowd at an end of the scale and scatter the more the farther from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, norm

from simlab.fitting import report
from simlab.fitting.checks import checks
from simlab.fitting.law_comparison import choose_simplest_law, compare
from simlab.fitting.scales import GAUSSIAN, NORMAL_SCORES, ORDINAL
from simlab.fitting.scales.chain import ranked_scale, seen_ranks
from simlab.tables.rating_table import Ratings
from simlab.types import Floats
from simlab.world.files.fitted_world import read_world
from simlab.world.laws.scales import draw_flat_answers, truth
from tests.pilots import Truth, law_of, pilot
from tests.statistics.scale_calibration import Size, design

THINKING = Truth(residual=5.0, low=-np.inf, high=np.inf)


def bent(latent: Floats) -> Floats:
    """Turn what raters think into scores from 0 to 100 that crowd at the top."""
    return np.clip(np.rint(100 - 4 * np.exp((75 - latent) / 6)), 0, 100)


def skewed(seed: int, n_documents: int = 40) -> tuple[Ratings, Floats]:
    """Return a pilot, and what its systems truly score on average: over all documents and raters at large."""
    made = pilot(np.random.default_rng(seed), THINKING, n_documents=n_documents)
    empty = design(Size(8, n_documents))
    table = replace(empty, system=made.system, item=made.document, rater=made.rater, score=bent(made.score))
    law = law_of(made, THINKING)
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(
        law.leniency_sd**2
        + law.rater_system_sd**2
        + law.rater_document_sd**2
        + law.document_sd**2
        + law.system_document_sd**2
        + law.residual_sd**2
    )
    return table, bent(made.quality[:, None] + spread * z) @ weight / weight.sum()


def test_a_latent_is_cut_where_as_many_scores_lie_below() -> None:
    table, _ = skewed(1)
    scale = ranked_scale(table)
    below = [(table.score <= value).mean() for value in scale.values[:-1]]
    np.testing.assert_allclose(norm.cdf(scale.thresholds), below)
    seen = seen_ranks(np.searchsorted(scale.values, table.score), scale.thresholds)
    assert (seen.low < seen.high).all()
    assert np.isinf(seen.high[table.score == 100]).all()


@pytest.mark.slow
def test_the_law_is_chosen_where_scores_crowd_and_passes_where_points_fail() -> None:
    table, _ = skewed(2, 80)
    assert choose_simplest_law(compare((GAUSSIAN, NORMAL_SCORES), table, 1)) == "normal_scores"
    right = checks(NORMAL_SCORES, NORMAL_SCORES.fit(table, draws=60), n_tables=100)
    wrong = checks(GAUSSIAN, GAUSSIAN.fit(table, draws=60), n_tables=100)
    assert not right.failed
    assert wrong.failed


def test_points_that_add_up_stay_points() -> None:
    made = pilot(np.random.default_rng(5))
    table = replace(design(Size(8, 40)), system=made.system, item=made.document, rater=made.rater, score=made.score)
    assert choose_simplest_law(compare((GAUSSIAN, NORMAL_SCORES), table, 1)) == "gaussian"


@pytest.mark.slow
def test_intervals_hold_what_systems_truly_score() -> None:
    """Differences from the mean of all systems, over eight pilots; intervals of half the width hold too few."""
    held, halves = [], []
    for seed in range(8):
        table, wanted = skewed(100 + seed, 24)
        found = NORMAL_SCORES.fit(table, draws=150, seed=seed)
        draws = np.array([truth(one) for one in found.effects])
        apart, true = draws - draws.mean(1, keepdims=True), wanted - wanted.mean()
        low, middle, high = np.quantile(apart, (0.05, 0.5, 0.95), axis=0)
        held += ((low <= true) & (true <= high)).tolist()
        halves += (np.abs(true - middle) <= (high - low) / 4).tolist()
    # Differences of one pilot go together: seven of eight count.
    n = len(held) * 7 // 8
    assert np.mean(held) >= binom(n, 0.9).ppf(1e-3) / n
    assert np.mean(halves) < binom(n, 0.9).ppf(1e-3) / n


@pytest.mark.slow
def test_the_file_is_a_world_of_categories_with_the_scores_of_the_pilot(tmp_path: Path) -> None:
    table, _ = skewed(3)
    found = NORMAL_SCORES.fit(table, draws=20)
    told = report.content(NORMAL_SCORES, found, about={}, checks={"passed": 1, "failed": []}, components=[], speeds={})
    report.write(tmp_path / "bent.yaml", told)
    again = read_world(str(tmp_path / "bent.yaml"), None)
    law = again.effects[3]
    np.testing.assert_allclose(law.scale.thresholds, found.effects[3].scale.thresholds, rtol=1e-5)
    answers = [
        draw_flat_answers(
            np.random.default_rng(k), again.effects[k % 20], table.system, table.item, table.rater, table.document
        )
        for k in range(60)
    ]
    means = np.mean(answers, axis=1)
    assert set(np.unique(answers)) <= set(np.unique(table.score))
    assert abs(means.mean() - table.score.mean()) < 5 * means.std()


def test_sums_of_errors_are_left_to_their_own_law() -> None:
    table, _ = skewed(1)
    assert NORMAL_SCORES.refused(table) is None
    assert "mqm" in str(NORMAL_SCORES.refused(replace(table, lower_is_better=True)))
    assert NORMAL_SCORES.refused(replace(table, lower_is_better=True, scale=(0.0, 100.0))) is None


@pytest.mark.parametrize(("n", "said"), [(15, "need more than 20 different scores"), (2000, "too many ranks")])
def test_few_and_very_many_scores_are_refused(n: int, said: str) -> None:
    empty = design(Size(10, 110))
    table = replace(empty, score=np.arange(len(empty.system)) % n * 1.0)
    assert said in str(NORMAL_SCORES.refused(table))
    assert (ORDINAL.refused(table) is None) == (n == 15)
