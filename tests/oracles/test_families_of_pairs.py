"""Judging all pairs of a campaign together, against the definitions written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from simlab.analysis.preferences.families import (
    e_bh,
    holm,
    holm_of_e_values,
    reject_closed,
    was_ever_crossed,
    was_ever_rejected,
)
from simlab.rng import stream

LEVEL = 0.05


def some_e_values(rows: int = 300, n: int = 5) -> np.ndarray:
    """Draw e-values about as large as decides, ties and zeros among them."""
    rng = stream(1, "e-values")
    e = np.round(np.exp(rng.normal(2.5, 1.5, (rows, n))), rng.integers(-1, 2))
    e[::7, 1] = e[::7, 0]
    return e


def test_closed_testing_rejects_what_every_set_rejects() -> None:
    e = some_e_values()
    n = e.shape[1]
    sets = [np.array(members) for size in range(1, n + 1) for members in combinations(range(n), size)]
    wanted = np.array(
        [[all(row[members].mean() >= 1 / LEVEL for members in sets if k in members) for k in range(n)] for row in e]
    )
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(reject_closed(np.log(e), LEVEL), wanted)
    assert 0.05 < wanted.mean() < 0.6


def test_e_bh_rejects_the_largest_that_are_enough() -> None:
    e = some_e_values()
    n = e.shape[1]
    for row in e:
        ranked = np.sort(row)[::-1]
        enough = [k for k in range(1, n + 1) if ranked[k - 1] >= n / (LEVEL * k)]
        wanted = row >= ranked[max(enough) - 1] if enough else np.zeros(n, bool)
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(e_bh(np.log(row), LEVEL), wanted)


def test_holm_steps_down() -> None:
    p = stream(2).beta(0.3, 3, (300, 4))
    for row in p:
        wanted, left = np.zeros(4, bool), 4
        for k in np.argsort(row):
            if row[k] > LEVEL / left:
                break
            wanted[k], left = True, left - 1
        np.testing.assert_array_equal(holm(row, LEVEL), wanted)


@pytest.mark.parametrize("multiplicity", ["holm", "closed", "e_bh"])
def test_one_pair_is_judged_as_if_alone(multiplicity: str) -> None:
    log_e = np.cumsum(stream(3).normal(0.1, 1, (200, 12)), axis=1)
    alone = was_ever_rejected(log_e, 200, LEVEL, "none")
    np.testing.assert_array_equal(was_ever_rejected(log_e, 200, LEVEL, multiplicity), alone)  # type: ignore[arg-type]
    assert 0.05 < alone[:, -1].mean() < 0.9


@pytest.mark.parametrize("multiplicity", ["holm", "closed", "e_bh"])
def test_campaigns_know_nothing_of_each_other(multiplicity: str) -> None:
    log_e = np.cumsum(stream(4).normal(0.3, 1, (60, 12)), axis=1)
    whole = was_ever_rejected(log_e, 10, LEVEL, multiplicity)  # type: ignore[arg-type]
    for k in range(10):
        rows = slice(6 * k, 6 * k + 6)
        np.testing.assert_array_equal(was_ever_rejected(log_e[rows], 1, LEVEL, multiplicity), whole[rows])  # type: ignore[arg-type]
    assert (whole[:, 1:] >= whole[:, :-1]).all()
    assert (whole <= was_ever_rejected(log_e, 10, LEVEL, "none")).all()
    assert whole.any()


def test_closed_testing_and_e_bh_find_what_holm_finds() -> None:
    log_e = np.cumsum(stream(5).normal(0.25, 1, (600, 15)), axis=1)
    by = {name: was_ever_rejected(log_e, 100, LEVEL, name) for name in ("holm", "closed", "e_bh")}  # type: ignore[arg-type]
    assert by["holm"][:, 1].mean() <= by["closed"][:, 1].mean()
    assert (holm_of_e_values(log_e, LEVEL) <= reject_closed(log_e, LEVEL) & e_bh(log_e, LEVEL)).all()


def test_boundaries_step_down_as_p_values_do() -> None:
    p = stream(6).beta(0.3, 3, (40, 1)).repeat(3, axis=1)
    crossed = was_ever_crossed(lambda level: p <= level, 10, LEVEL)
    wanted = holm(p[:, 0].reshape(10, 4), LEVEL).ravel()
    np.testing.assert_array_equal(crossed[:, -1], wanted)
    assert wanted.any()
