"""Hold the law of preferences against its definition, integrals by scipy, and simulation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from simlab.parts import bind
from simlab.rng import stream
from simlab.types import COMPARE, Anew, Davidson, Documents, InputError, RaterPool
from simlab.world.davidson import choosing_raters, drawn_raters
from simlab.world.laws.comparisons import require_contest
from simlab.world.laws.davidson import Spreads, choose, draw_outcomes, places, probabilities

LAW = Davidson(np.array([0.8, 0.2, -1.0]), 1.2, 0.5, 0.7)
RATERS = Spreads(0.4, 0.6, 0.5)


def davidson(distance: float, ties: float) -> np.ndarray:
    weight = np.array([np.exp(distance / 2), ties, np.exp(-distance / 2)])
    return weight / weight.sum()


def shares(outcome: np.ndarray) -> np.ndarray:
    return np.stack([(outcome == code).mean(1) for code in range(3)], axis=1)


def test_equal_items_and_raters_are_the_published_law() -> None:
    p = probabilities(Davidson(LAW.strength, 0.0, 0.0, 0.7))
    expected = [davidson(d, 0.7) for d in (0.6, 1.8, 1.2)]
    np.testing.assert_allclose(p, expected, atol=1e-12)


def test_outputs_are_integrated_as_scipy_does() -> None:
    p = probabilities(replace(LAW, item_sd=0.0))
    spread = np.sqrt(2) * LAW.output_sd
    for code in (0, 2):
        exact, _ = quad(lambda z: norm.pdf(z) * davidson(0.6 + spread * z, 0.7)[code], -9, 9)  # noqa: B023
        assert p[0, code] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("spreads", [Spreads(), RATERS])
def test_what_is_drawn_has_the_probabilities_that_are_true(spreads: Spreads) -> None:
    rng, n = stream(5), 60_000
    place = places(rng, LAW, n, Documents())
    pool = RaterPool(**drawn_raters(rng, spreads, 4000, 3), whole_items=False)
    seen = shares(choose(rng, place, LAW.ties, pool))
    # Items are shared by pairs, and raters by items: the error of a share is hardly above that of single draws.
    error = 4 * np.sqrt(0.25 / n) + 4 * np.sqrt(0.25 / 4000) * 0.1
    assert np.abs(seen - probabilities(LAW, spreads)).max() < error
    assert np.abs(seen - probabilities(replace(LAW, output_sd=0.0), spreads)).max() > error  # the control


def test_many_systems_are_read_from_a_spline_as_exactly() -> None:
    strength = np.linspace(-2, 2, 12)
    many = probabilities(replace(LAW, strength=strength), RATERS)
    few = probabilities(replace(LAW, strength=strength[[0, 7]]), RATERS)
    np.testing.assert_allclose(many[6], few[0], atol=1e-5)


def test_far_apart_outputs_do_not_overflow() -> None:
    outcome = draw_outcomes(stream(1), np.array([1e4, -1e4, 0.0]), 1e-9)
    np.testing.assert_array_equal(outcome[:2], [0, 2])
    p = probabilities(Davidson(np.array([50.0, -50.0]), 50.0, 3.0, 1e6), Spreads(1.0, 0.0, 50.0))
    assert np.isfinite(p).all()


KEYS = {"n_raters": 3, "sharpness_sd": 0.0, "tie_sd": 0.0, "whole_items": True}


def test_other_raters_compare_the_same_outputs_and_differ_by_their_taste() -> None:
    systems = {"n_systems": 3, "n_items": 4000, "strength": None, "system_sd": 0.0, "output_sd": 0.0, "item_sd": 0.0}
    rest = {"ties": 0.0, "test_set": "fixed", "outputs_per_document": 1, "document_agreement": 0.0}
    contest = bind({"_target_": "simlab.world.davidson.davidson"} | systems | rest)(stream(1))
    world = choosing_raters(stream(2), contest, **KEYS, taste_sd=2.0)
    other = world.again(Anew(stream(3), None, stream(4)))
    both = [shares(w.answers[COMPARE].draw(stream(5), None).human) for w in (world, other)]
    assert np.abs(both[0] - both[1]).max() > 0.1
    same = world.again(Anew(None, stream(3), stream(4)))
    assert same.answers[COMPARE].pool is world.answers[COMPARE].pool
    np.testing.assert_allclose(require_contest(world).p[:, 0], 0.5, atol=1e-9)  # raters at large have no taste


def test_raters_who_do_not_differ_are_the_oracle_in_law() -> None:
    pool = RaterPool(np.ones(2), np.ones(2), np.zeros((2, 3)), whole_items=True)
    place = places(stream(1), LAW, 40_000, Documents())
    one, two = shares(choose(stream(2), place, LAW.ties)), shares(choose(stream(3), place, LAW.ties, pool))
    assert np.abs(one - two).max() < 4 * np.sqrt(0.5 / 40_000)


def test_strengths_must_be_one_for_each_system() -> None:
    section = {"_target_": "simlab.world.davidson.davidson", "n_systems": 3, "n_items": 10, "strength": [0.1]}
    rest = {"system_sd": 1.0, "output_sd": 1.0, "item_sd": 0.1, "ties": 0.5, "test_set": "fresh"}
    documents = {"outputs_per_document": 1, "document_agreement": 0.0}
    with pytest.raises(InputError, match=r"systems\.strength has 1 numbers"):
        bind(section | rest | documents)(stream(1))
