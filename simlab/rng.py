"""Random generators by address: a seed and a path of words lead to the same numbers in any process, in any order.

Call `stream(seed, "what", k)`; `recall` is the same for arrays that many cells draw alike, which are kept in memory.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from hashlib import blake2b
from typing import Any, cast

import numpy as np

HELD = 24_000_000
"""Bytes of numbers that a process holds for those who draw them again."""
PLACE = 500
"""Bytes that an address takes by itself."""


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that lives at an address.

    The same address gives the same numbers in any process, order or number of jobs. Each element of the path
    is hashed to a fixed number of words with its type, so that ("a", 11) and ("a1", 1) do not meet.

    >>> bool(stream(1, "world", 0).integers(100) == stream(1, "world", 0).integers(100))
    True
    """
    return _generator(seed, address(*path))


def recall(seed: int, *path: str | int) -> np.random.Generator:
    """Return the generator that lives at an address, for arrays that many cells draw alike: see `Remembered`.

    >>> bool((recall(1, "a").random(3) == stream(1, "a").random(3)).all())
    True
    """
    return cast(np.random.Generator, Remembered(seed, address(*path)))


# Typed, since 1 and True are equal as keys, and different addresses.
@lru_cache(2**12, typed=True)
def address(*path: str | int) -> tuple[int, ...]:
    """Return the words that a path is hashed to."""
    return tuple(word for part in path for word in _words(part))


@lru_cache(maxsize=2**12, typed=True)
def _words(part: str | int) -> tuple[int, int]:
    # Eight bytes make two words of 32 bits, which is what SeedSequence mixes.
    digest = blake2b(f"{type(part).__name__}:{part}".encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def _generator(seed: int, words: tuple[int, ...]) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed, spawn_key=words)))


class _Drawn:
    """Node of a tree of draws: `after[call]` holds the array drawn and the next node, `rng` the generator, if here."""

    __slots__ = ("after", "rng")

    def __init__(self, rng: np.random.Generator | None) -> None:
        self.after: dict[tuple[Any, ...], tuple[np.ndarray[Any, Any], _Drawn]] = {}
        self.rng = rng


class Remembered:
    """Stand-in for the generator at an address that keeps its arrays in memory, so that they are not drawn again.

    Cells that differ in their use of numbers (how noisy raters are, how good a metric is) ask the same addresses for
    the same arrays, and drawing these costs most. Arrays are read-only. A generator is started where something is drawn
    for the first time, so that one of many that are spawned costs nothing by itself. Other methods than those here are
    the generator's own, and are not kept.
    """

    def __init__(self, seed: int, words: tuple[int, ...]) -> None:
        self._seed, self._words = seed, words
        self._calls: list[tuple[Any, ...]] = []
        self._at: _Drawn | None = None
        self._own: np.random.Generator | None = None
        self._spawned = 0

    def spawn(self, n_children: int) -> list[Remembered]:
        """Return generators of addresses below this one, as numpy does."""
        first, self._spawned = self._spawned, self._spawned + n_children
        return [Remembered(self._seed, (*self._words, k)) for k in range(first, self._spawned)]

    def standard_normal(self, size: Any = None) -> np.ndarray[Any, Any]:
        """Draw standard normal deviates."""
        return self._draw("standard_normal", size)

    def random(self, size: Any = None) -> np.ndarray[Any, Any]:
        """Draw uniform numbers from 0 to 1."""
        return self._draw("random", size)

    def permutation(self, x: int) -> np.ndarray[Any, Any]:
        """Draw an order of the first x whole numbers."""
        return self._draw("permutation", x)

    def integers(self, low: int, high: int | None = None, size: Any = None) -> np.ndarray[Any, Any]:
        """Draw whole numbers."""
        return self._draw("integers", low, high, size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._release_generator(), name)

    def _draw(self, *call: Any) -> np.ndarray[Any, Any]:
        """Return the array of a call, a method's name and arguments: the kept one, or one drawn now and kept."""
        if self._at is None:
            if self._own is not None:
                return np.asarray(_call_method(self._own, call))
            self._at = _held.find(self._seed, self._words)
        if call not in self._at.after:
            # The generator moves on with the draw, so that it is not here any more for another call.
            rng, self._at.rng = self._at.rng or self._replay_calls(), None
            drawn = np.asarray(_call_method(rng, call))
            drawn.setflags(write=False)
            self._at.after[call] = drawn, _Drawn(rng)
            _held.grow(self._seed, self._words, drawn.nbytes)
        drawn, self._at = self._at.after[call]
        self._calls.append(call)
        return drawn

    def _release_generator(self) -> np.random.Generator:
        """Return the generator itself, in the state after the draws so far; later draws are not kept."""
        if self._own is None:
            self._own, self._at = self._replay_calls(), None
        return self._own

    def _replay_calls(self) -> np.random.Generator:
        rng = _generator(self._seed, self._words)
        for call in self._calls:
            _call_method(rng, call)
        return rng


def _call_method(rng: np.random.Generator, call: tuple[Any, ...]) -> Any:
    return getattr(rng, call[0])(*call[1:])


class _Held:
    """Keep what was drawn at addresses, the last ones asked for, up to `HELD` bytes."""

    def __init__(self) -> None:
        self._draw_measure: OrderedDict[tuple[int, tuple[int, ...]], _Drawn] = OrderedDict()
        self._bytes: dict[tuple[int, tuple[int, ...]], int] = {}
        self._total = 0

    def find(self, seed: int, words: tuple[int, ...]) -> _Drawn:
        at = seed, words
        if at not in self._draw_measure:
            self._draw_measure[at] = _Drawn(None)
            self.grow(seed, words, PLACE)
        self._draw_measure.move_to_end(at)
        return self._draw_measure[at]

    def grow(self, seed: int, words: tuple[int, ...], n_bytes: int) -> None:
        # What was let go while somebody drew from it is not held any more.
        if (seed, words) in self._draw_measure:
            self._bytes[seed, words] = self._bytes.get((seed, words), 0) + n_bytes
            self._total += n_bytes
        while self._total > HELD:
            oldest, _ = self._draw_measure.popitem(last=False)
            self._total -= self._bytes.pop(oldest, 0)


_held = _Held()
