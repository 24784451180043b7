"""Give every study, and every purpose within it, random numbers of its own."""

from __future__ import annotations

import itertools

import numpy as np

from simlab.rng import stream
from simlab.types import Estimate, Place, Streams


def test_the_first_pool_and_the_first_draw_leave_no_word() -> None:
    assert Place(3).of_world == Place(3, study=9).of_world == ("world", 3)
    assert Place(3, study=9).of_study == ("world", 3, "study", 9)
    assert Place(3, 1, 2, 9).of_study == ("world", 3, "pool", 1, "draw", 2, "study", 9)
    assert Place(3, pool=1).of_world == ("world", 3, "pool", 1)
    assert Place(3, draw=1).of_world == ("world", 3, "draw", 1)


def test_no_two_places_share_an_address() -> None:
    everywhere = [Place(*numbers) for numbers in itertools.product(range(3), repeat=4)]
    assert len({place.of_study for place in everywhere}) == len(everywhere) == 81
    assert len({place.of_world for place in everywhere}) == 27
    assert len({str(place.of_study) for place in everywhere}) == 81


def test_a_word_leads_to_the_same_generator_anew() -> None:
    streams = Streams(7, Place(1, study=2).of_study)
    first = streams("test").random(5)
    np.testing.assert_array_equal(streams("test").random(5), first)  # nothing was used up
    np.testing.assert_array_equal(stream(7, "world", 1, "study", 2, "test").random(5), first)
    generator = streams("test")
    np.testing.assert_array_equal(np.r_[generator.random(2), generator.random(3)], first)


def test_another_word_place_or_seed_leads_elsewhere() -> None:
    here = Streams(7, Place(1, study=2).of_study)
    elsewhere = [
        here("estimator"),
        here("tests"),
        Streams(8, here.path)("test"),
        Streams(7, Place(2, study=1).of_study)("test"),
        Streams(7, Place(1, study=3).of_study)("test"),
        Streams(7, Place(1, 1, study=2).of_study)("test"),
        Streams(7, Place(1, 0, 1, study=2).of_study)("test"),
    ]
    values = [generator.random() for generator in (here("test"), *elsewhere)]
    assert len(set(values)) == len(values)


def test_an_error_needs_two_clusters() -> None:
    influence = np.array([1.0, -2.0, 1.0])
    assert Estimate(0.0, influence, "world", 9).mcse == 1.0  # sqrt(6 / (3 * 2))
    assert np.isnan(Estimate(0.0, influence[:1], "world", 9).mcse)
