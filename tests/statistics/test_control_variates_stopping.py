"""Look again and again: intervals that hold at all looks, where the normal interval does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from simlab.analysis.means.stopping import (
    Looks,
    anytime_bernstein_looks,
    betting_looks,
    empirical_bernstein_looks,
    find_first_narrow_look,
    geometric_looks,
    range_with_metric,
)
from simlab.types import InputError

RULES: dict[str, Callable[..., Looks]] = {
    "union": empirical_bernstein_looks,
    "anytime": anytime_bernstein_looks,
    "betting": lambda *arguments, **options: betting_looks(*arguments, **options, grid=200),
}
WORLDS = {
    "rare": (lambda rng, shape: (rng.random(shape) < 0.1).astype(float), 0.1),
    "skewed": (lambda rng, shape: rng.beta(0.2, 1.0, shape), 1 / 6),
}


def ever_missed(looks: Looks, truth: float) -> np.ndarray:
    return np.any((looks.low > truth + 1e-12) | (looks.high < truth - 1e-12), axis=-1)


def normal_looks(x: np.ndarray, first: int = 20) -> Looks:
    n = np.arange(1, x.shape[-1] + 1)
    mean = x.cumsum(-1) / n
    error = np.sqrt(np.maximum((x**2).cumsum(-1) / n - mean**2, 0) / np.maximum(n - 1, 1))
    half = 1.96 * error
    return Looks(n[first:], (mean - half)[..., first:], (mean + half)[..., first:])


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("rule", RULES)
def test_intervals_hold_at_all_looks_at_once(rule: str, world: str) -> None:
    draw, truth = WORLDS[world]
    level, rows = 0.1, 600 if rule == "betting" else 3000
    x = draw(np.random.default_rng(2), (rows, 400))
    missed = ever_missed(RULES[rule](x, 0.0, 1.0, level=level), truth)
    assert missed.mean() < level + 5 * np.sqrt(level * (1 - level) / rows)


@pytest.mark.parametrize("world", WORLDS)
def test_normal_intervals_do_not(world: str) -> None:
    """Hold the negative control: the same criterion finds out the plain interval."""
    draw, truth = WORLDS[world]
    x = draw(np.random.default_rng(2), (3000, 400))
    assert ever_missed(normal_looks(x), truth).mean() > 0.3


def test_bets_do_not_win_more_often_than_the_level_allows_and_nearly_as_often() -> None:
    x = (np.random.default_rng(3).random((2000, 300)) < 0.5).astype(float)
    share = ever_missed(betting_looks(x, 0.0, 1.0, level=0.2, grid=100), 0.5).mean()
    assert 0.05 < share < 0.2 + 5 * np.sqrt(0.2 * 0.8 / 2000)


def test_the_mean_where_judging_stopped_is_covered_too() -> None:
    x = np.random.default_rng(4).beta(8, 2, (2000, 400))
    for rule in (empirical_bernstein_looks, anytime_bernstein_looks):
        looks = rule(x, 0.0, 1.0, level=0.1, looks=geometric_looks(400))
        stop = find_first_narrow_look(looks, 0.25)
        assert (stop > 0).mean() > 0.9
        at = np.maximum(np.searchsorted(looks.n, stop), 0)[:, None]
        low, high = (np.take_along_axis(bound, at, axis=1)[:, 0] for bound in (looks.low, looks.high))
        assert np.mean((low > 0.8) | (high < 0.8)) < 0.1 + 5 * np.sqrt(0.09 / 2000)


def test_a_good_metric_lets_judging_stop_earlier_where_precision_is_wanted() -> None:
    rng = np.random.default_rng(5)
    most, a = np.sqrt(3), 0.25
    g = rng.uniform(-most, most, (100, 3000))
    y = 0.5 + a * g + rng.uniform(-0.05, 0.05, g.shape)
    low, high = range_with_metric(0.0, 1.0, -most, most, a)
    with_metric, without = anytime_bernstein_looks(y - a * g, low, high), anytime_bernstein_looks(y, 0.0, 1.0)
    assert ever_missed(with_metric, 0.5).mean() < 0.05 + 5 * np.sqrt(0.05 * 0.95 / 100)
    early, late = find_first_narrow_look(with_metric, 0.05), find_first_narrow_look(without, 0.05)
    assert np.all(early > 0)
    assert np.all((late < 0) | (late > 1.5 * early))
    # The wider range has its price while little precision is wanted.
    assert find_first_narrow_look(with_metric, 0.2).mean() > find_first_narrow_look(without, 0.2).mean()
    # Negative control: a metric of other outputs adds variance to the wider range.
    blind = find_first_narrow_look(anytime_bernstein_looks(y - a * rng.permuted(g, axis=1), low, high), 0.05)
    assert np.all((blind < 0) | (blind > early))


def test_bounds_scale_with_the_ratings_and_rows_stand_alone() -> None:
    x = np.random.default_rng(6).integers(1, 6, (4, 60)).astype(float)
    for rule in RULES.values():
        five, unit = rule(x, 1.0, 5.0, looks=[10, 60]), rule((x - 1) / 4, 0.0, 1.0, looks=[10, 60])
        np.testing.assert_allclose(five.low, 1 + 4 * unit.low, rtol=1e-10)
        alone = rule(x[2], 1.0, 5.0, looks=[10, 60])
        np.testing.assert_allclose(alone.high, five.high[2], rtol=1e-12)


def test_predictable_bernstein_and_bets_are_the_published_formulas_step_by_step() -> None:
    x, level = np.random.default_rng(7).random(25), 0.1
    means, spreads = [0.5], [0.25]
    for t in range(1, 26):
        means.append((0.5 + x[:t].sum()) / (t + 1))
        spreads.append((0.25 + sum((x[i] - means[i + 1]) ** 2 for i in range(t))) / (t + 1))
    raw = [np.sqrt(2 * np.log(2 / level) / (spreads[t - 1] * t * np.log(t + 1))) for t in range(1, 26)]
    bets = np.minimum(raw, 0.5)
    looks = anytime_bernstein_looks(x, 0.0, 1.0, level=level)
    lows, highs = [0.0], [1.0]
    for t in range(1, 26):
        penalty = sum(4 * (x[i] - means[i]) ** 2 * (-np.log(1 - bets[i]) - bets[i]) / 4 for i in range(t))
        centre, radius = bets[:t] @ x[:t] / bets[:t].sum(), (np.log(2 / level) + penalty) / bets[:t].sum()
        lows.append(max(lows[-1], centre - radius))
        highs.append(min(highs[-1], centre + radius))
    np.testing.assert_allclose(looks.low, lows[2:], rtol=1e-12)
    np.testing.assert_allclose(looks.high, highs[2:], rtol=1e-12)
    assert looks.low[-1] > 0
    bounds = betting_looks(x, 0.0, 1.0, level=level, grid=50)

    def capital(m: float, way: float, t: int) -> float:
        ruin = m if way > 0 else 1 - m
        return float(np.prod([1 + way * min(raw[i], 0.5 / ruin) * (x[i] - m) for i in range(t)]))

    grid = np.arange(1, 50) / 50
    low = max([0.0] + [m for m in grid for t in range(1, 26) if capital(m, 1, t) >= 2 / level])
    high = min([1.0] + [m for m in grid for t in range(1, 26) if capital(m, -1, t) >= 2 / level])
    np.testing.assert_allclose([bounds.low[-1], bounds.high[-1]], [low, high], rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "low", "options"),
    [
        ([0.5, 1.5, 0.2], 0.0, {}),
        ([0.5, 0.5, 0.2], 2.0, {}),
        ([0.5, 0.5, 0.2], 0.0, {"looks": [3, 2]}),
        ([0.5, 0.5, 0.2], 0.0, {"looks": [2, 4]}),
        ([0.5, 0.5, 0.2], 0.0, {"level": 1.0}),
    ],
)
def test_bad_input_is_said_in_one_line(x: list[float], low: float, options: dict[str, Any]) -> None:
    for rule in (empirical_bernstein_looks, anytime_bernstein_looks, betting_looks):
        with pytest.raises(InputError, match=r"^[^\n]+; [^\n]+$"):
            rule(x, low, 1.0, **options)
