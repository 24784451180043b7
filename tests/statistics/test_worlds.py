"""Check that synthetic worlds follow the law that they state, and look like real ratings where they should."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.config import compose
from simlab.rng import stream
from simlab.studies.worlds import draw_world
from simlab.types import InputError, Outputs, World
from simlab.world.laws.error_counts import count_quantile, shared_parts
from simlab.world.laws.fixed import FixedRatings, fixed_ratings
from simlab.world.raters import count_buckets, mqm_raters, seat_raters
from simlab.world.recorded import recorded
from simlab.world.systems import mqm

SYSTEMS = {
    "n_systems": 10,
    "n_documents": 30,
    "n_segments": 104,
    "max_segments": 10,
    "mean_score": 5.5,
    "system_sd": 0.35,
    "document_sd": 0.4,
    "segment_sd": 0.55,
    "segment_skew": 0.0,
    "system_document_sd": 0.3,
}
RATERS: dict[str, Any] = {
    "pool_size": 10,
    "raters_per_bucket": 3,
    "buckets_per_rater": 3,
    "documents_per_bucket": None,
    "leniency_sd": 0.0,
    "severity_sd": 0.0,
    "rater_system_sd": 0.0,
    "rater_document_sd": 0.0,
    "rater_output_sd": 0.0,
    "agree_overall": False,
    "noise": "potential",
    "noise_share": 1.0,
    "minor_noise": 0.0,
    "segment_share": 0.0,
    "kind_document_sd": 0.0,
    "kind_segment_sd": 0.0,
    "rater_segment_sd": 0.0,
    "dispersion": 0.35,
    "major_share": 0.18,
    "minor_weight": 1.0,
    "major_weight": 5.0,
}


def world(seed: int, systems: dict[str, Any] | None = None, **raters: Any) -> World:
    outputs = mqm(stream(seed, "systems"), **(SYSTEMS | (systems or {})))
    return mqm_raters(stream(seed, "raters"), outputs, **(RATERS | raters))


def given(world: World) -> FixedRatings:
    ratings = fixed_ratings(world)
    assert ratings is not None
    return ratings


@pytest.mark.parametrize("dispersion", [0.0, 0.01, 0.35, 2.0])
def test_count_quantile_inverts_scipys_distribution(dispersion: float) -> None:
    rng = stream(1, "q")
    mean = rng.gamma(1.0, 5.0, 4000) + 0.01
    probability = rng.random(4000)
    law = stats.poisson(mean) if dispersion == 0 else stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean))
    np.testing.assert_array_equal(count_quantile(probability, mean, dispersion), law.ppf(probability))


def law_of(mean: Any, dispersion: float) -> Any:
    return stats.poisson(mean) if dispersion == 0 else stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean))


TAILS = np.concatenate([[1e-300, 1e-12], np.linspace(0.001, 0.999, 97), 1 - np.geomspace(1e-4, 1e-9, 40)])
"""Probabilities from end to end."""


def tabled(probability: Any, mean: Any, dispersion: float, thresholds: int) -> Any:
    """Look counts up in a table that ends: what lies beyond is given its last count."""
    covered = law_of(mean[:, None], dispersion).cdf(np.arange(thresholds))
    return (probability[:, None] > covered).sum(1)


@pytest.mark.parametrize("dispersion", [0.0, 0.01, 0.35, 2.0])
def test_counts_follow_their_law_to_the_far_tail(dispersion: float) -> None:
    mean, probability = (grid.ravel() for grid in np.meshgrid(np.geomspace(1e-3, 300, 60), TAILS))
    count = count_quantile(probability, mean, dispersion)
    law = law_of(mean, dispersion)
    # The defining property, whatever the algorithm; at its edges rounding decides.
    assert (law.sf(count) <= (1 - probability) * (1 + 1e-6) + 1e-12).all()
    below = law.sf(count - 1)
    assert ((below >= (1 - probability) * (1 - 1e-6) - 1e-12) | (count == 0)).all()
    np.testing.assert_array_equal(count, law.ppf(probability))
    assert (tabled(probability, mean, dispersion, 24) != count).mean() > 0.05


def test_a_table_of_few_thresholds_moves_the_mean_count_and_the_law_does_not() -> None:
    """Over an even grid of probabilities the mean count is the mean, but for what the grid leaves out."""
    n, mean = 200_000, 30.0
    probability = (np.arange(n) + 0.5) / n
    given = np.full(n, mean)
    error = np.sqrt(mean + 0.35 * mean**2) / np.sqrt(n)
    assert abs(count_quantile(probability, given, 0.35).mean() - mean) < error
    assert abs(tabled(probability, given, 0.35, 24).mean() - mean) > 50 * error


@pytest.mark.parametrize("size", [1, 100, 129, 5000, 40_000])
def test_a_count_is_the_same_in_any_company(size: int) -> None:
    rng = stream(1, "company")
    mean, probability = rng.gamma(0.5, 40.0, size), rng.random(size)
    alone = [int(count_quantile(probability[k : k + 1], mean[k : k + 1], 0.35)[0]) for k in range(0, size, 997)]
    assert count_quantile(probability, mean, 0.35)[::997].tolist() == alone


def test_counts_whose_walk_rounding_keeps_from_its_end_are_counted() -> None:
    """(1 + d mu)^(-1 / d) is off by 1e-13 where d is small, and so is all that is covered."""
    assert count_quantile(np.full(300, 1 - 1e-16), np.full(300, 0.01), 0.001).max() < 20


def test_count_quantile_of_huge_means_is_nearly_normal() -> None:
    probability = np.array([0.01, 0.5, 0.99])
    exact = stats.poisson(5000.0).ppf(probability)
    assert np.abs(count_quantile(probability, np.full(3, 5000.0), 0.0) - exact).max() <= 2


def test_expected_scores_are_the_quality() -> None:
    """Average raters give each output its expected score: the mean residual is 0 within 5 standard errors."""
    worlds = [world(seed) for seed in range(60)]
    quality = [mqm(stream(seed, "systems"), **SYSTEMS).quality for seed in range(60)]
    residual = np.concatenate([(given(w).value - q[:, :, None]).ravel() for w, q in zip(worlds, quality, strict=True)])
    assert abs(residual.mean()) < 5 * residual.std() / np.sqrt(residual.size)
    control = residual + 0.2 * residual.std()  # a bias of a fifth of a standard deviation is seen
    assert abs(control.mean()) > 5 * control.std() / np.sqrt(control.size)


def test_truth_is_the_mean_over_documents_not_drawn() -> None:
    draws = [mqm(stream(seed, "systems"), **SYSTEMS) for seed in range(400)]
    log_ratio = np.array([o.quality.mean(1) / o.truth for o in draws])
    assert abs(log_ratio.mean() - 1) < 5 * log_ratio.mean(1).std() / np.sqrt(400)


def test_segments_are_spread_over_documents() -> None:
    outputs = mqm(stream(1), **SYSTEMS)
    sizes = np.bincount(outputs.document)
    assert sizes.sum() == 104
    assert sizes.min() >= 1
    assert sizes.max() <= 10
    assert (np.diff(outputs.document) >= 0).all()


@pytest.mark.parametrize("n_segments", [29, 301])
def test_segments_that_do_not_fit_are_refused(n_segments: int) -> None:
    with pytest.raises(InputError, match=f"systems.n_segments={n_segments}"):
        mqm(stream(1), **(SYSTEMS | {"n_segments": n_segments}))


def test_identical_raters_answer_alike() -> None:
    value = given(world(3, noise_share=0.0)).value
    np.testing.assert_array_equal(value, np.broadcast_to(value[:, :, :1], value.shape))
    own = given(world(3, noise_share=0.5)).value
    assert (own != own[:, :, :1]).any()


def test_outputs_of_a_segment_have_as_much_in_common_as_is_said() -> None:
    shared = shared_parts(stream(3), (2, 4, 5000), 0.3)
    found = np.array([np.corrcoef(kind) for kind in shared])
    np.testing.assert_allclose(found, np.broadcast_to(0.3 + 0.7 * np.eye(4), found.shape), atol=5 / np.sqrt(5000))
    assert abs(np.corrcoef(shared[:, 0])[0, 1]) < 5 / np.sqrt(5000)
    alike = {"system_sd": 0.0, "system_document_sd": 0.0}
    value = given(world(3, alike, noise_share=0.0, segment_share=1.0)).value
    np.testing.assert_array_equal(value, np.broadcast_to(value[:1], value.shape))
    own = given(world(3, alike, noise_share=0.0, segment_share=0.5)).value
    assert (own != own[:1]).any()


def test_leniency_multiplies_the_number_of_errors_and_severity_the_odds_of_major() -> None:
    many = {"n_documents": 300, "n_segments": 1500}
    pool = {"pool_size": 3, "buckets_per_rater": 1}
    strict = world(4, many, **pool, leniency_sd=0.8)
    errors = given(strict).errors.mean((0, 1))
    plain = given(world(4, many, **pool)).errors.mean((0, 1))
    assert errors.max() / errors.min() > 1.5 * plain.max() / plain.min()
    harsh = given(world(4, many, **pool, severity_sd=1.0))
    points = harsh.value.sum((0, 1)) / harsh.errors.sum((0, 1))  # 1 + 4 x share of major errors
    even = given(world(4, many, **pool))
    plain_points = even.value.sum((0, 1)) / even.errors.sum((0, 1))
    assert np.ptp(points) > 5 * np.ptp(plain_points)
    np.testing.assert_allclose(plain_points, 1 + 4 * 0.18, rtol=0.05)


def test_recorded_and_synthetic_ratings_look_alike() -> None:
    """Compare level, spread, zeros and differences between systems."""
    real = recorded(stream(0), path=None, sha256=None, names=None, better=None, columns=None, people=None, where=None)
    sizes = ["systems.n_systems=10", "systems.n_documents=30", "systems.n_segments=104", "raters.pool_size=10"]
    shipped = compose([*sizes, "raters.noise=potential", "design.documents=20"])  # the pool and spreads as they ship
    synthetic = [draw_world(shipped, index) for index in range(20)]

    def traits(w: World) -> np.ndarray:
        value = given(w).value
        return np.array(
            [
                np.log(value.mean()),
                np.log(value.std()),
                (value == 0).mean(),
                np.log(value.mean((1, 2))).std(),
            ]
        )

    drawn = np.array([traits(w) for w in synthetic])
    # The real table is one draw: it lies within the range that worlds span, 4 of their standard deviations wide.
    assert (np.abs(traits(real) - drawn.mean(0)) < 4 * drawn.std(0)).all()
    value = given(real).value
    gaussian = value.mean() + value.std() * stream(1).normal(size=value.shape)
    assert (gaussian == 0).mean() < drawn[:, 2].mean() - 4 * drawn[:, 2].std()  # the negative control has no zeros


def test_published_pools_are_seated_as_published() -> None:
    seven = seat_raters(7, 7, 3)
    assert len({tuple(row) for row in seven}) == 7
    assert (np.bincount(seven.ravel()) == 3).all()
    assert seat_raters(2, 6, 3).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("pool", "seats", "per_rater"), [(6, 3, 2), (8, 4, 3), (5, 2, 2), (9, 3, 3), (10, 3, 3)])
def test_seats_are_shared_evenly_and_buckets_differ(pool: int, seats: int, per_rater: int) -> None:
    n = count_buckets(1000, pool, seats, per_rater, None)
    seated = seat_raters(n, pool, seats)
    assert (np.bincount(seated.ravel(), minlength=pool) == per_rater).all()
    assert len({tuple(row) for row in seated}) == n
    assert all(len(set(row)) == seats for row in seated.tolist())


def test_documents_per_bucket_sets_the_number_of_buckets() -> None:
    w = world(5, buckets_per_rater=None, documents_per_bucket=7)
    assert np.bincount(w.frame.bucket).tolist() == [7, 7, 7, 7, 2]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"raters_per_bucket": 11}, "raters.raters_per_bucket=11"),
        ({"buckets_per_rater": None}, "raters.buckets_per_rater=None"),
        ({"documents_per_bucket": 5}, "raters.documents_per_bucket=5"),
        ({"pool_size": 7, "buckets_per_rater": 2}, "raters.buckets_per_rater=2"),
    ],
)
def test_pools_that_do_not_fit_are_refused(change: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named):
        world(6, **change)


def test_raters_take_any_quality() -> None:
    outputs = Outputs(np.array([[0.0, 1e-3, 4000.0]] * 2), np.arange(3), np.ones(2), lower_is_better=True)
    w = mqm_raters(stream(1), outputs, **(RATERS | {"pool_size": 3, "buckets_per_rater": 1}))
    assert np.isfinite(given(w).value).all()
    assert (given(w).value[:, 0] == 0).all()
