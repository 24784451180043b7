"""Hold the tests that generalise to raters against scipy, matrices written out, loops and enumeration."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from rated_tables import rated, scattered, side_by_side
from scipy import linalg, stats

from simlab.analysis.raters.contributions import lay_out_by_pair, spread
from simlab.analysis.raters.flips import compare_by_flips, rater_flips
from simlab.analysis.raters.t_tests import by_rater, two_way
from simlab.rng import stream
from simlab.types import ScoredRatings

PAIRS = list(zip(*np.triu_indices(4, 1), strict=True))


def of_pair(data: ScoredRatings, i: int, j: int) -> ScoredRatings:
    """Keep two systems, and the documents of which both came."""
    both = ~np.isnan(data.total[:, [i, j]]).any(1)
    kept = np.isin(data.system, [i, j]) & both[data.document]
    flat = {name: getattr(data, name)[kept] for name in ("item", "rater", "value", "share")}
    row = (np.cumsum(both) - 1)[data.document[kept]]
    return ScoredRatings(
        document=row, system=(data.system[kept] == j).astype(int), total=data.total[both][:, [i, j]], **flat
    )


def with_gaps(data: ScoredRatings, lost: np.ndarray) -> ScoredRatings:
    """Lose outputs `(item, system)`: their documents are missing for the system, all other ratings stay."""
    gone = np.zeros(len(data.item), bool)
    total = data.total.copy()
    for item, system in lost:
        gone |= (data.item == item) & (data.system == system)
        total[data.document[data.item == item][0], system] = np.nan
    flat = ("document", "item", "rater", "system", "value", "share")
    return replace(data, total=total, **{name: getattr(data, name)[~gone] for name in flat})


@pytest.mark.parametrize("n_raters", [2, 3, 7, 30])
def test_side_by_side_with_equal_loads_it_is_the_t_test_on_raters_means(n_raters: int) -> None:
    data = side_by_side(stream(n_raters), n_raters, 4, 4)
    apart = data.total.reshape(n_raters, 4, 4).mean(1)
    expected = [stats.ttest_1samp(apart[:, i] - apart[:, j], 0).pvalue for i, j in PAIRS]
    np.testing.assert_allclose(by_rater(stream(1), data), expected, rtol=1e-9)


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = linalg.eigh(matrix)
    root = np.where(values > 1e-9, 1 / np.sqrt(np.maximum(values, 1e-9)), 0.0)
    return vectors @ np.diag(root) @ vectors.T


def cr2(y: np.ndarray, x: np.ndarray, weight: np.ndarray, cluster: np.ndarray, contrast: np.ndarray) -> tuple:
    """Follow Pustejovsky and Tipton 2018, equations 6 to 11, matrix by matrix; working variances are 1 / weight."""
    root = np.sqrt(weight)
    x, y = x * root[:, None], y * root  # whitened: from here on the working model is the identity
    bread = linalg.inv(x.T @ x)
    residual = np.eye(len(y)) - x @ bread @ x.T
    left = []
    for g in np.unique(cluster):
        mine = cluster == g
        adjustment = inverse_root(residual[np.ix_(mine, mine)])
        left.append(contrast @ bread @ x[mine].T @ adjustment @ residual[mine])
    stacked = np.array(left)
    covariance = stacked @ stacked.T
    variance = float(((stacked @ y) ** 2).sum())
    return variance, np.trace(covariance) ** 2 / np.trace(covariance @ covariance)


@pytest.mark.parametrize("per_item", [1, 2])
@pytest.mark.parametrize("by", ["rater", "document"])
def test_variance_and_degrees_of_freedom_are_those_of_the_matrices(per_item: int, by: str) -> None:
    whole = scattered(stream(5), 5, 12, 4, per_item, segments=2)
    for data in (whole, with_gaps(whole, np.array([(3, 0), (8, 2)]))):
        sides = lay_out_by_pair(data, documents=by == "document")
        told = spread(sides, sides.rater if by == "rater" else sides.document)
        for pair, (i, j) in enumerate(PAIRS):
            two = of_pair(data, i, j)
            x = np.stack([two.system == 0, two.system == 1], axis=1).astype(float)
            variance, df = cr2(two.value, x, two.share, getattr(two, by), np.array([1.0, -1.0]))
            assert told.variance[pair] == pytest.approx(variance, rel=1e-9)
            assert told.df[pair] == pytest.approx(df, rel=1e-9)
            t = (two.total[:, 0] - two.total[:, 1]).sum() / (sides.size[0, pair] * np.sqrt(variance))
            if by == "rater":
                assert by_rater(stream(1), data)[pair] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-9)


def crossed(seed: int, n_raters: int = 6, n_documents: int = 10) -> ScoredRatings:
    """Let every rater rate every document for every system."""
    rng = stream(seed, "crossed")
    score = rng.standard_normal((n_documents, 1, n_raters)) + 0.4 * rng.standard_normal((1, 4, n_raters))
    score = score + 0.4 * rng.standard_normal((n_documents, 4, 1)) + rng.standard_normal((n_documents, 4, n_raters))
    return rated(score, np.broadcast_to(np.arange(n_raters), score.shape))


def test_two_way_adds_up_what_raters_and_documents_vary_by_hand() -> None:
    data, n_raters, n_documents = crossed(2), 6, 10
    p = two_way(stream(1), data, rater_alone=3)
    table = data.value.reshape(n_documents, 4, n_raters)
    for pair, (i, j) in enumerate(PAIRS):
        gap = table[:, i] - table[:, j]
        u = (gap - gap.mean()) / gap.size
        v_r, v_x, v_rx = (
            n / (n - 1) * (parts**2).sum() for parts, n in ((u.sum(0), 6), (u.sum(1), 10), (u.ravel(), 60))
        )
        t = gap.mean() / np.sqrt(max(v_r, v_x, v_r + v_x - v_rx))
        assert p[pair] == pytest.approx(2 * stats.t.sf(abs(t), 5), rel=1e-9)


def test_two_way_goes_by_rater_alone_where_these_are_very_few() -> None:
    for seed in range(5):
        once = scattered(stream(seed, "once"), 3, 12, 4)
        np.testing.assert_allclose(two_way(stream(1), once, rater_alone=3), by_rater(stream(1), once))
        # Outputs with several ratings share what their documents are like, and few raters do not hold that.
        several = crossed(seed, n_raters=3)
        p = two_way(stream(1), several, rater_alone=3)
        assert (p >= by_rater(stream(1), several) - 1e-9).all()
        assert (two_way(stream(1), several, rater_alone=2) >= p - 1e-9).all()


def flips_by_hand(data: ScoredRatings, i: int, j: int) -> float:
    """Enumerate the signs of whole raters, one by one; the statistic is Student's t itself."""
    mean = [np.average(data.value[data.system == s], weights=data.share[data.system == s]) for s in range(4)]
    above = data.value - np.array(mean)[data.system]
    two, u = of_pair(data, i, j), []
    sides = [two.system == 0, two.system == 1]
    sizes = [two.share[side].sum() for side in sides]
    middle = sum((two.share * two.value)[side].sum() / n for side, n in zip(sides, sizes, strict=True)) / 2
    for r in np.unique(data.rater):
        everywhere = data.rater == r
        level = np.average(above[everywhere], weights=data.share[everywhere])
        centred = two.share * (two.value - level - middle) * (two.rater == r)
        parts = [centred[side].sum() / n for side, n in zip(sides, sizes, strict=True)]
        u.append(parts[0] - parts[1])

    def t(values: np.ndarray) -> float:
        return abs(stats.ttest_1samp(values, 0).statistic)

    extreme = [t(np.array(signs) * u) >= t(np.array(u)) * (1 - 1e-9) for signs in itertools.product([1, -1], repeat=6)]
    return float(np.mean(extreme))


@pytest.mark.parametrize("kind", ["side by side", "ungrouped", "twice", "gaps"])
def test_flips_are_those_of_an_enumeration(kind: str) -> None:
    make = {
        "side by side": lambda rng: side_by_side(rng, 6, 5, 4),
        "ungrouped": lambda rng: scattered(rng, 6, 40, 4),
        "twice": lambda rng: scattered(rng, 6, 40, 4, 2),
        "gaps": lambda rng: with_gaps(scattered(rng, 6, 40, 4, 1, 2), np.array([(3, 0), (8, 2), (9, 2)])),
    }
    data = make[kind](stream(8))
    p = rater_flips(stream(1), data, flips=2048)
    gap = lay_out_by_pair(data).mean[0] - lay_out_by_pair(data).mean[1]
    for pair, (i, j) in enumerate(PAIRS):
        assert p[pair] == pytest.approx(flips_by_hand(data, i, j)) or (p[pair] == 1 and gap[pair] != 0)
    assert (p < 1).sum() >= 3


def test_many_raters_are_drawn_and_agree_with_all_patterns_within_monte_carlo_error() -> None:
    data = side_by_side(stream(9), 12, 3, 4)
    exact, n = rater_flips(stream(1), data, flips=2**11), 2**11 - 1
    drawn = rater_flips(stream(1), data, flips=n)
    assert (exact != drawn).any()
    assert (np.abs(exact - drawn) < 5 * np.sqrt(exact * (1 - exact) / n) + 1 / n).all()


@pytest.mark.parametrize(("n_raters", "least"), [(5, 1 / 16), (6, 1 / 32)])
def test_fewer_than_six_raters_cannot_be_significant_at_05(n_raters: int, least: float) -> None:
    data = side_by_side(stream(3), n_raters, 4, 2, taste=0.0)
    sure = replace(data, value=data.value + 50 * (data.system == 0), total=data.total + np.array([50.0, 0.0]))
    assert rater_flips(stream(1), sure, flips=2048)[0] == least


def test_flipping_is_studentised_so_that_scales_of_pairs_do_not_matter() -> None:
    data = side_by_side(stream(4), 7, 5, 4)
    scale = np.array([1.0, 1.0, 100.0, 100.0])
    scaled = replace(data, value=data.value * scale[data.system], total=data.total * scale)
    for pair in (0, 5):  # pairs of systems with one scale
        assert compare_by_flips(stream(1), scaled, flips=2048).observed[pair] == pytest.approx(
            compare_by_flips(stream(1), data, flips=2048).observed[pair]
        )


TESTS = {
    "by_rater": lambda data: by_rater(stream(1), data),
    "two_way": lambda data: two_way(stream(1), data, rater_alone=3),
    "rater_flips": lambda data: rater_flips(stream(1), data, flips=2048),
}


@pytest.mark.parametrize("test", TESTS)
def test_relabelling_and_rescaling_change_nothing(test: str) -> None:
    data = scattered(stream(6), 8, 30, 4)
    order, person = np.array([2, 0, 3, 1]), stream(7).permutation(8)
    new = np.argsort(order)
    shuffled = replace(
        data,
        system=new[data.system],
        rater=person[data.rater],
        value=7 - 3 * data.value,
        total=(7 - 3 * data.total)[:, order],
    )
    square = []
    for p in (TESTS[test](data), TESTS[test](shuffled)):
        matrix = np.zeros((4, 4))
        matrix[np.triu_indices(4, 1)] = p
        square.append(matrix + matrix.T)
    np.testing.assert_allclose(square[1], square[0][np.ix_(order, order)], rtol=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_pairs_that_share_no_document_and_systems_of_one_rater_are_not_found_different(test: str) -> None:
    data = side_by_side(stream(2), 8, 2, 4)
    far = replace(data, value=data.value + 100 * data.system, total=data.total + 100 * np.arange(4))
    assert (TESTS[test](far) < 0.05).all()
    lost = [(item, 0) for item in range(8)] + [(item, 1) for item in range(8, 16)]
    assert TESTS[test](with_gaps(far, np.array(lost)))[0] == 1
    own = rated(far.total[:, :, None], np.broadcast_to(np.arange(4)[:, None], (16, 4, 1)))
    assert TESTS[test](own).min() >= (0.5 if test == "rater_flips" else 1.0)


@pytest.mark.parametrize("test", TESTS)
def test_equal_systems_are_never_different_and_constant_gaps_always(test: str) -> None:
    data = side_by_side(stream(2), 8, 2, 4)
    same = replace(data, value=data.total[data.document, 0], total=np.repeat(data.total[:, :1], 4, axis=1))
    np.testing.assert_array_equal(TESTS[test](same), 1.0)
    apart = replace(same, value=same.value + 0.1 * same.system, total=same.total + 0.1 * np.arange(4))
    assert (TESTS[test](apart) <= 2.0**-7).all()
