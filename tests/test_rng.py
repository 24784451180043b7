"""What was drawn at an address is not drawn again, and is what its generator draws."""

from __future__ import annotations

import numpy as np
import pytest

from simlab import rng as addresses
from simlab.rng import recall, stream


def drawn(rng: np.random.Generator) -> list[np.ndarray]:
    """Draw as laws of judgements do: children first, each of them several arrays."""
    first, second, _ = rng.spawn(3)
    return [
        first.permutation(20),
        first.integers(7, size=5),
        first.standard_normal((2, 3)),
        second.random(4),
        first.standard_normal(3),
        rng.spawn(1)[0].random(2),
    ]


@pytest.mark.parametrize("times", [1, 3])
def test_remembered_numbers_are_those_of_the_stream(times: int) -> None:
    for _ in range(times):
        for one, other in zip(drawn(recall(5, "a", times)), drawn(stream(5, "a", times)), strict=True):
            assert np.array_equal(one, other)


def test_cells_that_ask_for_other_arrays_branch_off() -> None:
    asked = [("random", 3), ("random", 4), ("standard_normal", 3), ("random", 3)]
    for name, size in asked:
        here, there = recall(6, "b"), stream(6, "b")
        for rng_calls in (("random", 2), (name, size), ("permutation", 9), ("random", 1)):
            one, other = (getattr(rng, rng_calls[0])(rng_calls[1]) for rng in (here, there))
            assert np.array_equal(one, other)


def test_methods_that_are_not_held_go_on_where_others_stopped() -> None:
    here, there = recall(7, "c"), stream(7, "c")
    for rng in (here, there):
        rng.random(3)
    assert np.array_equal(here.beta(2, 3, 4), there.beta(2, 3, 4))
    assert np.array_equal(here.random(3), there.random(3))
    # Whoever comes next finds what was held, and no more.
    again, there = recall(7, "c"), stream(7, "c")
    assert np.array_equal(again.random(3), there.random(3))
    assert np.array_equal(again.random(3), there.random(3))


def test_numbers_that_others_draw_again_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        recall(8, "d").random(3)[0] = 1.0


def test_what_is_let_go_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "HELD", 3_000)
    monkeypatch.setattr(addresses, "_held", addresses._Held())
    for _ in range(2):
        for k in range(5):
            here, there = recall(9, "e", k), stream(9, "e", k)
            for _ in range(3):
                assert np.array_equal(here.random(100), there.random(100))
    assert addresses._held._total <= 3_000
    assert addresses._held._total == sum(addresses._held._bytes.values())
    assert set(addresses._held._bytes) == set(addresses._held._draw_measure)


def test_another_address_has_other_numbers() -> None:
    assert not np.array_equal(recall(1, "a").random(3), recall(1, "b").random(3))
    assert not np.array_equal(recall(1, "a").random(3), recall(2, "a").random(3))
