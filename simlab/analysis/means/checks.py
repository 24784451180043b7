"""Check what the estimators of means are given; each complaint is one line."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from simlab.types import Array, Floats, InputError


def checked(name: str, values: ArrayLike, least: int) -> Floats:
    """Return finite judgements `[..., n]`, n at least `least`, or raise InputError."""
    array = np.asarray(values, float)
    n = array.shape[-1] if array.ndim else 0
    reject(n < least, f"{name}: {n} judgements in a row are fewer than the {least} needed; judge more outputs")
    reject(not np.isfinite(array).all(), f"{name}: holds values that are not finite; leave out what was not judged")
    return array


def paired(y: ArrayLike, g: ArrayLike, least: int) -> tuple[Floats, Floats]:
    """Return judgements and metric of one shape, or raise InputError."""
    judged, metric = checked("y", y, least), checked("g", g, least)
    reject(
        judged.shape != metric.shape,
        f"g: shape {metric.shape} is not that of y, {judged.shape}; give the metric of every judged output",
    )
    return judged, metric


def check_level(level: float) -> None:
    """Raise InputError unless 0 < level < 1."""
    reject(not 0 < level < 1, f"level={level} is not between 0 and 1; .05 gives 95 % intervals")


def reject(wrong: bool, message: str) -> None:
    """Raise InputError with the message if something is wrong."""
    if wrong:
        raise InputError(message)


def check_correlation(rho: Array) -> None:
    """Raise InputError unless -1 <= rho <= 1."""
    reject(bool(np.any(~(np.abs(rho) <= 1))), "correlation: must lie between -1 and 1; correct it")


def at_least(name: str, value: Array, least: float) -> None:
    """Raise InputError where a value is less than allowed, or NaN."""
    reject(bool(np.any(~(value >= least))), f"{name}={np.min(value):g} is below {least:g}; raise it")
