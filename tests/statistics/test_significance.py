"""Hold the significance tests against scipy, against enumeration and against what a level promises."""

import numpy as np
import pytest
from scipy import stats

from simlab.analysis.significance import normal, permutation
from simlab.rng import stream


def totals(seed: int, n_documents: int, n_systems: int, shift: float = 0.0) -> np.ndarray:
    rng = stream(seed, "totals")
    values = rng.gamma(1.0, 2.0, size=(n_documents, n_systems)) + rng.gamma(2.0, 1.0, size=(n_documents, 1))
    values[:, 0] += shift
    return np.round(values, 1)


def scipy_p_value(first: np.ndarray, second: np.ndarray, n: float) -> float:
    return float(
        stats.permutation_test(
            (first, second),
            lambda x, y, axis: np.sum(x - y, axis=axis),
            permutation_type="samples",
            n_resamples=n,
            vectorized=True,
            rng=np.random.default_rng(7),
        ).pvalue
    )


def test_enumeration_equals_scipy_exact() -> None:
    total = totals(3, 8, 4, shift=1.0)
    mine = permutation(stream(1), total, permutations=500, p_value="add_one")
    first, second = np.triu_indices(4, 1)
    scipys = [scipy_p_value(total[:, i], total[:, j], np.inf) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(mine, scipys, rtol=1e-12)


def test_random_permutations_agree_with_scipy_within_monte_carlo_error() -> None:
    total, n = totals(4, 25, 3, shift=0.8), 20_000
    mine = permutation(stream(1), total, permutations=n, p_value="add_one")
    first, second = np.triu_indices(3, 1)
    for p, i, j in zip(mine, first, second, strict=True):
        other = scipy_p_value(total[:, i], total[:, j], n)
        assert abs(p - other) < 5 * np.sqrt(2 * max(p, 1 / n) * (1 - p) / n)


def test_equal_statistics_count_as_equal() -> None:
    # With differences that are multiples of .1 many sign patterns tie exactly, up to rounding.
    tenths = np.array([1, 2, 3, 4, 5, 6, 7, 8])
    whole = np.stack([tenths, np.zeros(8)], axis=1)
    args = {"permutations": 500, "p_value": "add_one"}
    exact = permutation(stream(1), whole, **args)
    np.testing.assert_array_equal(permutation(stream(1), whole / 10, **args), exact)
    np.testing.assert_array_equal(permutation(stream(1), whole / 10 + 1 / 3, **args), exact)


def test_published_rule_leaves_out_the_one() -> None:
    total = totals(5, 30, 5, shift=2.0)
    add_one = permutation(stream(1), total, permutations=500, p_value="add_one")
    published = permutation(stream(1), total, permutations=500, p_value="published")
    np.testing.assert_allclose(add_one * 501, published * 500 + 1)


def test_fewer_than_six_documents_cannot_be_significant_at_05() -> None:
    total = np.stack([np.arange(1.0, 6.0), np.zeros(5)], axis=1)
    assert permutation(stream(1), total, permutations=500, p_value="add_one").min() == 2 / 2**5
    six = np.stack([np.arange(1.0, 7.0), np.zeros(6)], axis=1)
    assert permutation(stream(1), six, permutations=500, p_value="add_one").min() == 2 / 2**6


def rejections(n_studies: int, clustered: bool) -> np.ndarray:
    """Reject or not at .05 when systems do not differ; `clustered` ignores that segments come in documents."""
    hits = []
    for study in range(n_studies):
        rng = stream(11, "null", study)
        by_document = rng.normal(size=(20, 1, 2))
        segments = by_document + 0.3 * rng.normal(size=(20, 5, 2))
        total = segments.sum(1) if not clustered else segments.reshape(100, 2)
        hits.append(permutation(rng, total, permutations=500, p_value="add_one")[0] <= 0.05)
    return np.array(hits)


def test_level_is_kept_when_documents_are_permuted_and_lost_when_segments_are() -> None:
    n = 800
    mcse = np.sqrt(0.05 * 0.95 / n)
    assert rejections(n, clustered=False).mean() < 0.05 + 5 * mcse
    assert rejections(n, clustered=True).mean() > 0.05 + 5 * mcse  # the negative control


def test_normal_approximation_is_close_for_many_documents_and_not_for_few() -> None:
    def disagreement(n_documents: int) -> float:
        gaps = []
        for seed in range(20):
            total = totals(seed, n_documents, 6, shift=0.5)
            exact = permutation(stream(seed, "p"), total, permutations=20_000, p_value="add_one")
            gaps.append(np.abs(normal(stream(0), total) - exact))
        return float(np.mean(gaps))

    monte_carlo = np.sqrt(0.25 / 20_000)
    assert disagreement(100) < 2 * monte_carlo
    assert disagreement(8) > 5 * monte_carlo  # the negative control: few, skewed documents


@pytest.mark.parametrize("test", ["permutation", "normal"])
def test_relabelling_systems_relabels_the_answer(test: str) -> None:
    total = totals(9, 12, 3)
    order = np.array([2, 0, 1])

    def p_matrix(values: np.ndarray) -> np.ndarray:
        p = (
            permutation(stream(2), values, permutations=500, p_value="add_one")
            if test == "permutation"
            else normal(stream(2), values)
        )
        matrix = np.zeros((3, 3))
        matrix[np.triu_indices(3, 1)] = p
        return matrix + matrix.T

    np.testing.assert_allclose(p_matrix(total[:, order]), p_matrix(total)[np.ix_(order, order)], atol=1e-12)
