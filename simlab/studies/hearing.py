"""Hear answers as they are handed in: as they would be, or, where somebody does not look, as another one of theirs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simlab.studies.asking import Asking
from simlab.types import Array, Ints


class Hearing:
    """Hold what was said last, `value[unit, k]`; what nobody has said yet stands there as it would be.

    Who does not look says what they said, or would have said, about another output that they were asked about before,
    drawn at random; the first answer of a person is never such a one, since there is no other. So nothing leaves the
    scale, and what people say on the whole stays what it is. `turned` is what the other answer becomes with a chance of
    one half: who clicks without looking at a comparison does not know which system stands on which side.
    """

    def __init__(
        self, would: Array, asking: Asking, rng: np.random.Generator, turned: Callable[[Array], Array] | None = None
    ) -> None:
        self.value = would.copy()
        self._would, self._asking, self._rng, self._turned = would, asking, rng, turned
        self._asked: dict[int, list[int]] = {}
        self._lapses: dict[tuple[int, int], Array] = {}

    def hear(self, task: int, person: int, lapsed: bool) -> None:
        """Take in the answer to a task by a person."""
        unit, at = self._asking.of(task)
        if unit < 0:
            return
        before = self._asked.setdefault(person, [])
        self.value[unit, at] = self._would[unit, at]
        if lapsed and before:
            self.value[unit, at] = self._lapses[task, person] = self._other(before)
        before.append(task)

    def said(self, task: Ints, person: Ints) -> Array:
        """Return what was said, `[unit, k]`, where these people's answers to these tasks are the ones that count."""
        said = self._would.copy()
        if self._lapses:
            for one in zip(task.tolist(), person.tolist(), strict=True):
                if one in self._lapses:
                    said[self._asking.of(one[0])] = self._lapses[one]
        return said

    def _other(self, before: list[int]) -> Array:
        other = before[int(self._rng.integers(len(before)))]
        value: Array = self._would[self._asking.of(other)]
        if self._turned is None:
            return value
        return self._turned(value) if self._rng.random() < 0.5 else value
