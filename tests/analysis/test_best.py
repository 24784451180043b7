"""Which systems may be the best: bars, p-values and bounds against a plain computation, and the level by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from simlab.analysis import best
from simlab.analysis.best import Candidates
from simlab.analysis.studentized_range import SimulatedFamily, StudentFamily, TFamily
from simlab.rng import stream
from simlab.types import Bools, Floats

LEVEL, ERROR, FREEDOM = 0.05, 0.5, 40.0


def t_of(means: Floats) -> Floats:
    first, second = np.triu_indices(means.shape[-1], 1)
    return np.asarray((means[..., first] - means[..., second]) / (ERROR * np.sqrt(2)))


def simulated(draws: int, n_systems: int, rng: np.random.Generator) -> Floats:
    return np.abs(t_of(ERROR * rng.standard_normal((draws, n_systems))))


def candidates(means: Floats, null: Floats | None = None) -> Candidates:
    t = t_of(means)
    freedom = np.full(len(t), FREEDOM)
    family: TFamily = StudentFamily(np.abs(t), freedom, len(means))
    if null is not None:
        family = SimulatedFamily(np.abs(t), freedom, null)
    return best.candidates(family, np.sign(t), len(means), LEVEL)


def test_simulated_candidates_are_held_against_their_own_comparisons() -> None:
    rng = stream(1)
    null, means = simulated(199, 4, rng), np.array([0.0, 1.4, 0.2, -1.0])
    found = candidates(means, null)
    first, second = np.triu_indices(4, 1)
    for k in range(4):
        largest = null[:, (first == k) | (second == k)].max(1)
        lead = max((means[j] - means[k]) / (ERROR * np.sqrt(2)) for j in range(4) if j != k)
        assert found.p_value[k] == (1 + np.count_nonzero(largest >= lead)) / 200
    assert (found.excluded == (found.p_value <= LEVEL)).all()
    assert not found.excluded[1]


def test_students_candidates_have_sidaks_level_among_their_rivals() -> None:
    found = candidates(np.array([0.0, 1.2, 0.3]))
    own = 2 * stats.t.sf(1.2 / (ERROR * np.sqrt(2)), FREEDOM)
    assert found.p_value[0] == pytest.approx(1 - (1 - own) ** 2)
    assert found.p_value[1] == 1
    assert (found.excluded == (found.p_value <= LEVEL)).all()


def test_the_only_one_that_may_be_best_is_not_behind() -> None:
    found = candidates(np.array([0.0, 9.0, 1.0]))
    assert found.excluded.tolist() == [True, False, True]
    gap = best.lay_out_leads(np.array([-9.0, -1.0, 8.0]), 3)
    behind = found.bound_gaps_to_best(gap, np.full((3, 3), ERROR * np.sqrt(2)))
    assert behind[1] == 0
    assert behind[0] == pytest.approx(9 + found.bar[1, 0] * ERROR * np.sqrt(2))


def test_what_cannot_be_compared_bounds_nothing() -> None:
    found = candidates(np.array([0.0, 0.1, 0.2]))
    error = np.full((3, 3), ERROR)
    error[0, 1] = error[1, 0] = np.inf
    behind = found.bound_gaps_to_best(best.lay_out_leads(np.zeros(3), 3), error)
    assert np.isinf(behind[:2]).all()
    assert np.isfinite(behind[2])


def excluded(truth: Floats, tables: int, null: Floats, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Return which systems are excluded, `[table, system]`, and whether all distances from the best are bounded."""
    out, held = [], []
    for _ in range(tables):
        means = truth + ERROR * rng.standard_normal(len(truth))
        found = candidates(means, null)
        first, second = np.triu_indices(len(truth), 1)
        behind = found.bound_gaps_to_best(
            best.lay_out_leads(means[first] - means[second], len(truth)), np.full((len(truth),) * 2, ERROR * np.sqrt(2))
        )
        out.append(found.excluded)
        held.append(bool((truth.max() - truth <= behind + 1e-12).all()))
    return np.array(out), np.array(held)


@pytest.mark.parametrize(
    "truth", [np.zeros(6), np.array([0.0, 0, 0, -3, -3, -3]), np.array([0.2, 0, -0.2, -1, -2, -3])]
)
def test_the_best_is_excluded_at_the_level(truth: Floats) -> None:
    rng, tables = stream(7, str(truth)), 1000
    out, held = excluded(truth, tables, simulated(1999, len(truth), rng), rng)
    slack = 3 * np.sqrt(LEVEL * (1 - LEVEL) / tables)
    assert out[:, truth == truth.max()].mean(0).max() <= LEVEL + slack
    assert held.mean() >= 1 - LEVEL - slack


def test_bars_of_single_pairs_exclude_the_best_too_often() -> None:
    """The negative control: each rival by itself at the level."""
    rng, tables, n = stream(8), 1000, 6
    bar = stats.norm.ppf(1 - LEVEL)
    t = np.array([t_of(ERROR * rng.standard_normal(n)) for _ in range(tables)])
    share = (best.lay_out_leads(t, n) > bar).any(2).mean(0)
    assert share.min() > LEVEL + 5 * np.sqrt(LEVEL * (1 - LEVEL) / tables)


def test_stepping_down_adds_to_a_single_step() -> None:
    null = simulated(999, 5, stream(3))
    t = np.abs(t_of(np.array([9.0, 1.05, 0.0, -0.05, -0.1])))
    family = SimulatedFamily(t, np.full(10, FREEDOM), null)
    single, down = family.single_step(), family.step_down()
    assert (down <= single).all()
    assert (down < single).any()
    assert (single == family.max_t()).all()
