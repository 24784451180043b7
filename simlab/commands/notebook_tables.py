"""The verbs of the command line that need no store, for notebooks: pilots, metrics, agreement, what can be detected."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from simlab.commands.notebook_answers import of_grid
from simlab.messages import or_nearest, shown
from simlab.types import InputError

if TYPE_CHECKING:
    import xarray as xr


File: TypeAlias = str | os.PathLike[str]
Rows: TypeAlias = Mapping[str, str | float | Sequence[str | float]]
"""Columns of a table with the values, one or several, of the rows that are read."""
Solve: TypeAlias = Literal["n_human", "n_metric", "n_calibration", "accuracy", "mix"]
SOLVE: tuple[Solve, ...] = ("n_human", "n_metric", "n_calibration", "accuracy", "mix")


def detect(
    *settings: str | Mapping[str, object],
    difference: float | None = None,
    solve: Solve | None = None,
    prices: str | Mapping[str, float] | None = None,
    joint: bool = False,
    points: bool = False,
    **more: object,
) -> xr.Dataset:
    """Tell which difference between two or several systems' shares of adequate outputs is measurable; a calculation.

    Settings, as words, mappings or keywords, are n_human, n_metric, n_calibration, alpha, level, power, and rho and
    eta, or accuracy, or correlation; n_systems, multiplicity and find for several systems; a list is an axis. With
    `solve` and `difference` the inverse is answered; with `points` differences are in hundredths.

    Returns, over the axes, what `simlab detect --format json` lists: `epsilon`, `detectable`, ..., shares, and the
    settings themselves. NaN: out of reach. Raises InputError for settings that do not go together.

    >>> simlab.detect(n_human=100, n_metric=[1000, 10000], rho=.7, eta=.7)["detectable"]  # doctest: +SKIP
    """
    from simlab.commands import detect as detection
    from simlab.commands.detect_words import parsed

    if solve is not None and solve not in SOLVE:
        raise InputError(f"solve={shown(solve)} is unknown; {or_nearest(str(solve), SOLVE)}")
    given = {key: list(dict.fromkeys(values)) for key, values in parsed(_detect_words([*settings, more])).items()}
    costs = prices if prices is None or isinstance(prices, str) else ",".join(f"{k}={v}" for k, v in prices.items())
    return of_grid(detection.detections(given, difference, solve, costs, joint, points), given)


def _detect_words(settings: Sequence[str | Mapping[str, object]]) -> list[str]:
    """Write settings as `simlab detect` reads them: its values are numbers, none and free."""
    written: list[str] = []
    for given in settings:
        if isinstance(given, str):
            written.append(given)
            continue
        for key, value in given.items():
            values = value if isinstance(value, list | tuple) else [value]
            written.append(f"{key}={','.join('none' if one is None else str(one) for one in values)}")
    return written
