"""Check what each normalisation promises."""

import numpy as np
import pytest

from simlab.analysis.normalization import error, mean, none, zscore
from simlab.rng import stream
from simlab.types import Seen


@pytest.fixture
def seen() -> Seen:
    rng = stream(1, "seen")
    n = 300
    rater = rng.integers(0, 4, n)
    rater[rater == 2] = 3  # rater 2 is idle
    value = rng.gamma(1.0, 1.0 + rater)
    return Seen(rng.integers(0, 5, n), rng.integers(0, 20, n), rater, value, rng.poisson(1.0 + rater))


def per_rater(seen: Seen, statistic: str) -> list[float]:
    return [float(getattr(seen.value[seen.rater == r], statistic)()) for r in np.unique(seen.rater)]


def test_none_changes_nothing(seen: Seen) -> None:
    assert none(seen) is seen


def test_mean_gives_every_rater_the_mean_of_the_study(seen: Seen) -> None:
    np.testing.assert_allclose(per_rater(mean(seen), "mean"), seen.value.mean())


def test_mean_keeps_a_rater_whose_mean_is_zero(seen: Seen) -> None:
    seen.value[seen.rater == 1] = 0.0
    np.testing.assert_array_equal(mean(seen).value[seen.rater == 1], 0.0)


@pytest.mark.parametrize("errors", ["total", "per_segment"])
def test_error_keeps_the_mean_of_the_study_and_weighs_raters_by_their_errors(seen: Seen, errors: str) -> None:
    normalised = error(seen, errors=errors)
    assert normalised.value.mean() == pytest.approx(seen.value.mean())
    means = np.array(per_rater(normalised, "mean"))
    marked = np.array([seen.errors[seen.rater == r].sum() for r in np.unique(seen.rater)], float)
    if errors == "per_segment":
        marked /= np.array([(seen.rater == r).sum() for r in np.unique(seen.rater)])
    np.testing.assert_allclose(means / means.sum(), marked / marked.sum())


def test_zscore_centres_and_scales_each_rater(seen: Seen) -> None:
    normalised = zscore(seen, ddof=1)
    np.testing.assert_allclose(per_rater(normalised, "mean"), 0, atol=1e-12)
    spread = [normalised.value[seen.rater == r].std(ddof=1) for r in np.unique(seen.rater)]
    np.testing.assert_allclose(spread, 1)


@pytest.mark.parametrize("ddof", [0, 1])
def test_zscore_gives_zeros_without_spread_or_with_one_rating(seen: Seen, ddof: int) -> None:
    seen.value[seen.rater == 1] = 0.1
    seen.rater[0] = 2  # the only rating of rater 2
    normalised = zscore(seen, ddof=ddof).value
    assert not normalised[seen.rater == 1].any()
    assert normalised[0] == 0
    assert np.isfinite(normalised).all()
