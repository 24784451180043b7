"""Put campaigns one on top of the other, so that an estimator of single systems is called once for many of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from simlab.types import Array, Estimates, Judged

MOST = 2**16
"""Judgements in a stack: few enough to stay in the processor's cache."""


def stacks(judged: Sequence[Judged], *, together: bool) -> Iterator[Judged]:
    """Stack campaigns that follow each other, `[campaign times system, ...]`; each alone unless `together`.

    Only campaigns that are laid out alike share a stack; what comes in documents is not stacked.
    """
    for _, alike in groupby(judged, key=_layout):
        group = list(alike)
        one = group[0]
        size = max(MOST // max(one.y.size, 1), 1) if together and one.document is None else 1
        for start in range(0, len(group), size):
            some = group[start : start + size]
            yield one_on_top(some) if len(some) > 1 else some[0]


def _layout(judged: Judged) -> tuple[Any, ...]:
    """Say what is the same for all rows of a stack."""
    rest = None if judged.rest is None else judged.rest[0]
    present = tuple(part is None for part in (judged.g, judged.calibration, judged.document))
    return judged.y.shape, present, judged.binary, rest, judged.nominal, judged.test_set


def one_on_top(some: Sequence[Judged]) -> Judged:
    """Stack campaigns of independent outputs that are laid out alike."""
    rest = [one.rest for one in some if one.rest is not None]
    return replace(
        some[0],
        y=np.concatenate([one.y for one in some]),
        g=_rows([one.g for one in some]),
        rest=(rest[0][0], np.concatenate([one[1] for one in rest]), np.concatenate([one[2] for one in rest]))
        if rest
        else None,
        calibration=_rows([one.calibration for one in some]),
        calibration_parts=_rows([one.calibration_parts for one in some]),
        slope=np.concatenate([one.slope for one in some]),
        annotator_variance=np.concatenate([one.annotator_variance for one in some]),
    )


def _rows(parts: Sequence[Array | None]) -> Array | None:
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if there else None


def split(estimates: Estimates, n_campaigns: int) -> Estimates:
    """Give what is estimated of rows a first axis of campaigns, as what an estimator itself says of pairs has it."""

    def of_campaigns(held: Any) -> Any:
        if is_dataclass(held) and not isinstance(held, type):
            return replace(held, **{field.name: of_campaigns(getattr(held, field.name)) for field in fields(held)})
        return None if held is None else np.reshape(held, (n_campaigns, -1, *np.shape(held)[1:]))

    found: Estimates = of_campaigns(estimates)
    return found
