"""Lay judgements out, and hold systems against each other, as one would by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from small_studies import judgement_study

from simlab.studies.judgements import KIND
from simlab.studies.judgements.concluding import conclude, lay_out_judgements
from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.types import Array, Collected, Estimates, Frame, Judged, KnownRates, Place, Seen, Streams

Y = np.array([[1.0, 0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 1.0, 0.0]])
G = np.arange(15.0).reshape(3, 5)


def prepared(*, shared: bool, estimate: Any = None, level: float = 0.05) -> PreparedJudgements:
    config = judgement_study(design={"shared_inputs": shared, "replacement": False, "calibration": "own"})
    whole: PreparedJudgements = KIND.prepare(config | {"decision": {"level": level}})
    return whole if estimate is None else whole._replace(estimate=estimate)


def collected(y: Array = Y, g: Array | None = G, came: Array | None = None) -> Collected:
    """Collect those judgements `[system, n]` that came, in an order that says nothing."""
    n_systems, n = y.shape
    unit, item = np.nonzero(np.ones_like(y, bool) if came is None else came)
    order = np.random.default_rng(1).permutation(len(unit))
    unit, item = unit[order], item[order]
    none = np.full(len(unit), -1)
    names = tuple(f"s{k}" for k in range(n_systems))
    frame = Frame(np.arange(n), np.zeros(n, int), np.zeros((n_systems, n, 1), int), names, (), (), False)
    known = {
        "binary": True,
        "rest": (7, G.mean(1), G.var(1)),
        "calibration": None,
        "nominal": KnownRates(0.8, 0.7),
        "slope": np.arange(3.0),
        "annotator_variance": np.zeros(3),
        "test_set": None,
    }
    paid = {"ratings": y.size, "metric": 6, "cost": 17.5, "human_cost": 15.0}
    streams = Streams(1, Place(0).of_study)
    return Collected(frame, None, None, Seen(unit, item, none, y[unit, item], none), g, known, paid, streams)


def test_judgements_are_laid_out_by_system_and_output_whatever_their_order() -> None:
    judged = lay_out_judgements(prepared(shared=True), collected())
    np.testing.assert_array_equal(judged.y, Y)
    np.testing.assert_array_equal(judged.g, G)
    known = collected().known
    for name in ("binary", "nominal", "calibration", "test_set"):
        assert getattr(judged, name) == known[name]
    for name in ("slope", "annotator_variance"):
        np.testing.assert_array_equal(getattr(judged, name), known[name])


CAME = np.array([[1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 1, 0, 1]], bool)


@pytest.mark.parametrize("g", [G, None], ids=["metric", "none"])
def test_an_output_that_one_judgement_lacks_is_left_out_of_all_systems_that_share_inputs(g: Array | None) -> None:
    judged = lay_out_judgements(prepared(shared=True), collected(g=g, came=CAME))
    np.testing.assert_array_equal(judged.y, Y[:, [0, 2, 4]])
    if g is None:
        assert judged.g is None
    else:
        np.testing.assert_array_equal(judged.g, G[:, [0, 2, 4]])


@pytest.mark.parametrize("g", [G, None], ids=["metric", "none"])
def test_systems_with_inputs_of_their_own_keep_as_many_as_the_one_with_fewest(g: Array | None) -> None:
    came = CAME.copy()
    came[2, 4] = False
    judged = lay_out_judgements(prepared(shared=False), collected(g=g, came=came))
    kept = [[0, 1, 2], [0, 2, 3], [0, 1, 2]]  # the first ones of each that came
    np.testing.assert_array_equal(judged.y, [Y[k, own] for k, own in enumerate(kept)])
    assert not np.isnan(judged.y).any()
    if g is None:
        assert judged.g is None
    else:
        np.testing.assert_array_equal(judged.g, [G[k, own] for k, own in enumerate(kept)])


VALUE = np.array([0.6, 0.5, 0.5 + 1e-14, 0.3])
SD = np.array([0.03, 0.04, 0.05, 0.0])


def telling(estimates: Estimates) -> Any:
    return lambda rng, judged: estimates


def outcomes_of(estimates: Estimates, *, shared: bool, level: float = 0.05) -> dict[str, Array]:
    y = np.random.default_rng(3).integers(0, 2, (len(estimates.value), 5)).astype(float)
    return conclude(prepared(shared=shared, estimate=telling(estimates), level=level), [collected(y, None)])


def by_hand(gap: float, error: float) -> float:
    return float(2 * norm.sf(abs(gap) / error))


def test_systems_judged_apart_are_held_against_each_other_by_a_z_test() -> None:
    outcomes = outcomes_of(Estimates(VALUE, SD, VALUE - 0.1, VALUE + 0.1), shared=False)
    for pair, (i, j) in enumerate(itertools.combinations(range(4), 2)):
        gap, error = VALUE[i] - VALUE[j], np.hypot(SD[i], SD[j])
        if (i, j) == (1, 2):  # only rounding tells them apart
            assert outcomes["direction"][0, pair] == 0
            assert outcomes["p_value"][0, pair] == 1
            assert not outcomes["significant"][0, pair]
            continue
        assert outcomes["direction"][0, pair] == np.sign(gap)
        assert outcomes["p_value"][0, pair] == pytest.approx(by_hand(gap, error), rel=1e-9)
        assert outcomes["difference_se"][0, pair] == pytest.approx(error)
        assert outcomes["significant"][0, pair] == (by_hand(gap, error) <= 0.05)
    assert 0 < outcomes["significant"].sum() < 6
    np.testing.assert_array_equal(outcomes["estimate"], VALUE[None])
    np.testing.assert_array_equal(outcomes["standard_error"], SD[None])


def test_a_difference_without_any_error_is_certain_and_no_difference_is_not() -> None:
    certain = Estimates(np.array([0.5, 0.4, 0.4]), np.zeros(3), np.zeros(3), np.ones(3))
    outcomes = outcomes_of(certain, shared=False)
    assert outcomes["p_value"].tolist() == [[0.0, 0.0, 1.0]]
    assert outcomes["significant"].tolist() == [[True, True, False]]
    assert outcomes["direction"].tolist() == [[1, 1, 0]]


def test_systems_judged_on_the_same_inputs_are_paired() -> None:
    rng = np.random.default_rng(2)
    influence = rng.normal(size=3)[:, None] + rng.normal(size=(1, 40)) + 0.1 * rng.normal(size=(3, 40))
    own, value = np.array([0.01, 0.02, 0.0]), np.array([0.5, 0.45, 0.3])
    sd = np.sqrt(influence.var(1, ddof=1) / 40 + own**2)
    estimates = Estimates(value, sd, value, value, influence, own)
    paired, apart = (outcomes_of(estimates, shared=shared) for shared in (True, False))
    for pair, (i, j) in enumerate(itertools.combinations(range(3), 2)):
        variance = np.var(influence[i] - influence[j], ddof=1) / 40 + own[i] ** 2 + own[j] ** 2
        assert paired["difference_se"][0, pair] == pytest.approx(np.sqrt(variance))
        assert paired["p_value"][0, pair] == pytest.approx(by_hand(value[i] - value[j], np.sqrt(variance)), rel=1e-9)
        assert apart["difference_se"][0, pair] == pytest.approx(np.hypot(sd[i], sd[j]))
    # What inputs have in common cancels only where they are shared, and an estimator must be able to tell.
    assert (paired["difference_se"] < apart["difference_se"] / 2).all()
    cannot_tell = outcomes_of(replace(estimates, influence=None, own=None), shared=True)
    np.testing.assert_array_equal(cannot_tell["difference_se"], apart["difference_se"])


def test_a_p_value_at_the_level_is_significant() -> None:
    value, sd = np.array([0.5, 0.4]), np.array([0.03, 0.04])
    level = by_hand(0.1, 0.05)
    estimates = Estimates(value, sd, value, value)
    assert outcomes_of(estimates, shared=False, level=level)["significant"].all()
    assert not outcomes_of(estimates, shared=False, level=level * 0.999)["significant"].any()


def test_what_was_paid_and_what_humans_alone_say_stand_beside_it() -> None:
    def mean(rng: np.random.Generator, judged: Judged) -> Estimates:
        value, sd = judged.y.mean(1), np.full(len(judged.y), 0.1)
        return Estimates(value, sd, value, value)

    outcomes = conclude(prepared(shared=True, estimate=mean), [collected(), collected(1 - Y)])
    assert outcomes["ratings_used"].tolist() == [15, 15]
    assert outcomes["metric_used"].tolist() == [6, 6]
    assert outcomes["cost"].tolist() == [17.5, 17.5]
    assert outcomes["human_cost"].tolist() == [15.0, 15.0]
    np.testing.assert_allclose(outcomes["baseline"], [Y.mean(1), 1 - Y.mean(1)])
    np.testing.assert_array_equal(outcomes["estimate"], outcomes["baseline"])
    assert (outcomes["baseline_width"] > 0).all()
    short = conclude(prepared(shared=True, estimate=mean), [collected(Y[:, :2], None)])
    assert "baseline" not in short
    assert "baseline_width" not in short
