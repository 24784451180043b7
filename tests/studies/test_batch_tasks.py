"""Batches as tasks: all of them are asked for, none twice, and what is asked next waits for the last answer."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simlab.design.protocol import find_last_looks
from simlab.design.waiting import Rounds
from simlab.studies.batch_tasks import Asking, find_complete_looks
from simlab.types import Ints

LOOKS = np.array([0, 4, 8, 10])


def asking(seed: int, wait: str) -> tuple[Asking, Rounds, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    can = rng.random((5, 10)) < 0.8
    stop = rng.random((5, 4)) < 0.2
    cost = np.concatenate([np.zeros((5, 1), int), np.add.reduceat(can, LOOKS[:-1], axis=1, dtype=int)], axis=1)
    order = rng.permutation(5)
    rounds = Rounds(cost, order, None, wait, lambda end: stop[np.arange(5), end])  # type: ignore[arg-type]
    wanted = find_last_looks(stop[None], cost[None], None, order[None])[0]
    return Asking(can, LOOKS, rounds, before=3), rounds, can, cost, wanted


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["round", "pair"]))
def test_whoever_hands_in_whatever_first_each_answer_is_asked_for_once(seed: int, wait: str) -> None:
    ask, rounds, can, _, wanted = asking(seed, wait)
    rng = np.random.default_rng(seed)
    out = list(range(len(ask.begin().size)))
    came: list[int] = []
    while out:
        done = [out.pop(rng.integers(len(out))) for _ in range(min(len(out), rng.integers(1, 4)))]
        came += done
        if rng.random() < 0.2:  # what is dealt anew is handed in again
            done.append(came[0])
        more = ask.find_next_tasks(np.array(done), 1.0)
        out += [] if more is None else list(range(len(ask.unit) - len(more.size), len(ask.unit)))
    np.testing.assert_array_equal(rounds.end, wanted)
    asked = list(zip(ask.unit[3:].tolist(), ask.at[3:].tolist(), strict=True))
    assert len(set(asked)) == len(asked)
    until = np.arange(10) < LOOKS[wanted][:, None]
    assert set(asked) == set(zip(*(part.tolist() for part in np.nonzero(can & until)), strict=True))
    assert (ask.unit[:3] == -1).all()


def test_outputs_of_units_that_are_asked_for_together_take_turns_if_wanted() -> None:
    can = np.ones((2, 4), bool)
    cost = np.array([[0, 4]] * 2)
    rounds = Rounds(cost, np.arange(2), None, "round", lambda end: np.zeros(2, bool))
    ask = Asking(can, np.array([0, 4]), rounds, by_output=True)
    ask.begin()
    assert ask.unit.tolist() == [0, 1] * 4


def test_half_a_batch_is_no_look() -> None:
    can = np.ones((2, 10), bool)
    can[1, 4:8] = False
    came = can.copy()
    came[:, 9] = False
    end: Ints = np.array([3, 2])
    np.testing.assert_array_equal(find_complete_looks(came, can, LOOKS, end), [2, 2])
    came[0, 0] = False
    np.testing.assert_array_equal(find_complete_looks(came, can, LOOKS, end), [0, 2])
    np.testing.assert_array_equal(find_complete_looks(can, can, LOOKS, end), [3, 2])
