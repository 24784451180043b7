"""Measure what studies conclude in many worlds at once; one world's measures are those of `simlab.measures`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from simlab.answers.backtest import Measure
from simlab.fitting.backtest.campaigns import Campaigns
from simlab.types import Floats


class Measured(NamedTuple):
    """Hold a measure of every world, `value[world]`, and the standard error that simulating it leaves, `error[world]`.

    NaN: the measure is not defined, or its error cannot be told.
    """

    value: Floats
    error: Floats


def measured(held: Campaigns) -> dict[Measure, Measured]:
    """Measure each world by itself; errors are jackknifed over sets of documents, or over studies of one set."""
    return {name: _measured(measure(held), pairwise=name in PAIRWISE) for name, measure in MEASURES.items()}


def _measured(ratio: tuple[Floats, Floats], *, pairwise: bool) -> Measured:
    """Divide sums over studies, `[world, set, study]`, or over ordered pairs of them, `[world, set, first, second]`."""
    top, below = (_without_itself(side) if pairwise else side for side in ratio)
    axes = tuple(range(1, top.ndim))
    whole_top, whole_below = top.sum(axes), below.sum(axes)
    lost_top, lost_below = (_lost(side, pairwise=pairwise) for side in (top, below))
    value = _divided(whole_top, whole_below)
    without = _divided(whole_top[:, None] - lost_top, whole_below[:, None] - lost_below)
    n = without.shape[1]
    influence = (n - 1) * np.where(np.isfinite(without), without, value[:, None])
    influence = influence - influence.mean(1, keepdims=True)
    error = np.sqrt((influence**2).sum(1) / max(n * (n - 1), 1)) if n > 1 else np.full(len(value), np.nan)
    return Measured(value, np.where(np.isfinite(value), error, np.nan))


def _lost(side: Floats, *, pairwise: bool) -> Floats:
    """Add up what is lost with each cluster: a set, or a study where there is one set, `[world, cluster]`."""
    if side.shape[1] > 1:
        return np.asarray(side.reshape(*side.shape[:2], -1).sum(2))
    return np.asarray(side[:, 0].sum(2) + side[:, 0].sum(1) if pairwise else side[:, 0])


def _without_itself(matrix: Floats) -> Floats:
    return np.asarray(matrix * (1 - np.eye(matrix.shape[-1])))


def _divided(top: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(top, below, out=np.full(np.shape(top), np.nan), where=below > 0))


def _srp(held: Campaigns) -> tuple[Floats, Floats]:
    agreement = held.claim @ held.direction.swapaxes(2, 3)
    stable = (agreement >= np.abs(held.claim).sum(3)[..., None]).astype(float)
    return stable, np.ones_like(stable)


def _confirmed(held: Campaigns) -> tuple[Floats, Floats]:
    claimed = np.abs(held.claim)
    judged = claimed @ np.abs(held.direction).swapaxes(2, 3)
    balance = held.claim @ held.direction.swapaxes(2, 3)
    each = np.broadcast_to(claimed.sum(3)[..., None], judged.shape)
    return (judged + balance) / 2, each.astype(float)


def _kendall(held: Campaigns) -> tuple[Floats, Floats]:
    untied = np.sqrt(np.abs(held.direction).sum(3).astype(float))
    defined = untied[..., :, None] * untied[..., None, :]
    return _or_zero(held.direction @ held.direction.swapaxes(2, 3), defined), (defined > 0).astype(float)


def _or_zero(top: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(top, below, out=np.zeros(top.shape), where=below > 0), float)


def _significant_share(held: Campaigns) -> tuple[Floats, Floats]:
    claimed = np.abs(held.claim).sum(3).astype(float)
    return claimed, np.full(claimed.shape, float(held.claim.shape[3]))


def _power(held: Campaigns) -> tuple[Floats, Floats]:
    if held.truth is None:
        unknown = np.zeros(held.claim.shape[:3])
        return unknown, unknown
    truth = held.truth[:, None, None]
    right = ((held.claim == truth) & (truth != 0)).sum(3)
    return right.astype(float), np.broadcast_to((truth != 0).sum(3), right.shape).astype(float)


MEASURES: Mapping[Measure, Callable[[Campaigns], tuple[Floats, Floats]]] = {
    "srp": _srp,
    "confirmed": _confirmed,
    "significant_share": _significant_share,
    "power": _power,
    "kendall": _kendall,
}
PAIRWISE = ("srp", "confirmed", "kendall")
