"""Simulate what stands beside a conclusion, so that one that cannot be simulated leaves the conclusion alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from simlab.messages import shortened
from simlab.types import InputError

Result = TypeVar("Result")

LONGEST = 200


def try_to_simulate(simulate: Callable[[], Result]) -> tuple[Result | None, str]:
    """Return the result of a simulation and "", or None and why there is none.

    A world that is fitted to a stranger's table may fail in its arithmetic; what is concluded from the table itself
    does not rest on it.
    """
    try:
        return simulate(), ""
    except InputError as error:
        return None, str(error)
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, ValueError) as error:
        return None, shortened(
            f"a study like this one could not be simulated ({type(error).__name__}: {error})", LONGEST
        )
