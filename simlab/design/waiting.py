"""Decide which batches of answers are asked for next, as batches arrive on a clock, and which pairs wait for others.

Call `Rounds.begin` for the first batches (pair, look), then `record_arrival` with each pair whose batch is complete,
which returns the next ones. Without a clock see `protocol.find_last_looks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

import numpy as np

from simlab.types import Bools, Ints

Wait: TypeAlias = Literal["round", "pair"]
"""What the next batch of a pair waits for: the batches of all open pairs, or the pair's own."""

Batch: TypeAlias = tuple[int, int]
"""A pair, and the look that its batch leads to."""


class Rounds:
    """Follow the protocol of a campaign: `end[pair]` is the last look whose batch came.

    Source: Deriu et al. 2023, algorithm 2, where all open pairs wait for each other (`wait` is `round`); with `pair`,
    the next batch of a pair is asked for as soon as its own last one came.

    `cost[pair, look]` answers lead from one look to the next, and `stops(end)` says of each pair whether the decision
    rule ends it at its look. Open pairs are served in the `order[pair]` as long as the budget (a number of answers)
    pays for whole batches; with the first one that it cannot pay it has `ran_out`, and nothing more is asked for.
    Batches of no answers, of outputs that nobody can compare, come at once.
    """

    def __init__(self, cost: Ints, order: Ints, budget: int | None, wait: Wait, stops: Callable[[Ints], Bools]) -> None:
        n_pairs = len(cost)
        self._cost, self._order, self._stops = cost.tolist(), order.tolist(), stops
        self._left = float("inf") if budget is None else float(budget)
        self._wait, self._out = wait, set[int]()
        self._open = np.ones(n_pairs, bool)
        self.ran_out = False
        self.end: Ints = np.zeros(n_pairs, np.int64)

    def begin(self) -> list[Batch]:
        """Return the first batches, (pair, look)."""
        if self._wait == "round":
            return self._request_batches(self._order)
        return [batch for pair in self._order for batch in self._request_batches([pair])]

    def record_arrival(self, pair: int) -> list[Batch]:
        """Return the batches, (pair, look), that are asked for once that of a pair came."""
        self._out.remove(pair)
        self.end[pair] += 1
        if self._wait == "pair":
            return self._request_batches([pair])
        return [] if self._out else self._request_batches(self._order)

    def _request_batches(self, pairs: Iterable[int]) -> list[Batch]:
        """Ask for the next batches of those of the pairs that are open; empty ones lead on at once."""
        batches: list[Batch] = []
        while not batches:
            self._close()
            going = [pair for pair in pairs if self._open[pair] and pair not in self._out]
            if not going:
                break
            batches = self._ask(going)
        return batches

    def _close(self) -> None:
        waiting = np.zeros(len(self._open), bool)
        waiting[list(self._out)] = True
        last = self.end == len(self._cost[0]) - 1
        self._open &= waiting | ~(last | self._stops(self.end))

    def _ask(self, pairs: list[int]) -> list[Batch]:
        batches: list[Batch] = []
        for pair in pairs:
            look = int(self.end[pair]) + 1
            if self._cost[pair][look] > self._left:
                # Less than any cost, that of an empty batch included.
                self._left, self.ran_out = -1.0, True
                # What was asked for comes yet, and then it is over.
                self._open[:] = False
                break
            self._left -= self._cost[pair][look]
            if self._cost[pair][look]:
                self._out.add(pair)
                batches.append((pair, look))
            else:
                self.end[pair] = look
        return batches
