"""A part that calls another one and spoils the numbers that it returns: named by `_target_` like any other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from simlab.parts import resolve
from simlab.types import World

MODES: dict[str, Callable[[Any], Any]] = {}


def poisoned(*given: Any, original: str, mode: str, **keys: Any) -> Any:
    """Call the original and spoil what it returns."""
    said = resolve(original)(*given, **keys)
    if mode.startswith("answers "):
        return spoiled_answers(said, MODES[mode.removeprefix("answers ")])
    return spoiled(said, MODES[mode])


def spoiled(value: Any, spoil: Callable[[Any], Any]) -> Any:
    """Spoil every number in a tree of records, leaving whole numbers and names as they are."""
    if isinstance(value, np.ndarray):
        return spoil(value.copy()) if value.dtype.kind == "f" else value
    if isinstance(value, float):
        return float(spoil(np.array([value]))[0])
    if isinstance(value, dict):
        return {key: spoiled(held, spoil) for key, held in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value._replace(**{name: spoiled(getattr(value, name), spoil) for name in value._fields})
    if isinstance(value, tuple):
        return tuple(spoiled(held, spoil) for held in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: spoiled(getattr(value, f.name), spoil) for f in fields(value) if f.init})
    return partial(_after, value, spoil) if callable(value) else value


def _after(function: Callable[..., Any], spoil: Callable[[Any], Any], *given: Any) -> Any:
    return spoiled(function(*given), spoil)


def spoiled_answers(world: Any, spoil: Callable[[Any], Any]) -> Any:
    """Leave a world as it is, and let its law spoil what it draws and what it answers."""
    if not isinstance(world, World):
        return world
    return replace(world, answers={question: _lying(law, spoil) for question, law in world.answers.items()})


def _lying(law: Any, spoil: Callable[[Any], Any]) -> Any:
    kind = type(law)

    class Lying(kind):
        def answer(self, *given: Any) -> Any:
            said = kind.answer(self, *given)
            return said._replace(value=spoil(np.array(said.value, float)))

    return Lying(**{field.name: getattr(law, field.name) for field in fields(law)})


def _one(number: float, at: int) -> Callable[[Any], Any]:
    def spoil(array: Any) -> Any:
        if array.size:
            array.reshape(-1)[at] = number
        return array

    return spoil


def _all(number: float) -> Callable[[Any], Any]:
    return lambda array: np.full_like(array, number)


MODES |= {f"all {number}": _all(float(number)) for number in ("nan", "inf", "-inf", "1e300")}
MODES |= {f"first {number}": _one(float(number), 0) for number in ("nan", "inf", "-1e300")}
MODES |= {"last nan": _one(float("nan"), -1)}
