"""Put together what a fit tells of its pilot: estimates, systems, checks, and what it cannot tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from simlab.fitting import document, identification
from simlab.fitting import speeds as timing
from simlab.fitting.checks import Checks, checks
from simlab.fitting.mqm.fast import Fit, fit
from simlab.fitting.mqm.pilot import read
from simlab.messages import or_nearest, shown
from simlab.types import InputError
from simlab.world.laws.fitted import mean_scores

INTERVAL = (0.05, 0.95)


class SystemScore(NamedTuple):
    """Hold a system's mean score over raters, and the 90 % interval of its ratio to the average system."""

    system: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Report:
    """Hold what is said of a fit; `estimates` are of single numbers, `not_identified` are sentences."""

    table: Path | None
    fit: Fit
    estimates: Mapping[str, Mapping[str, float]]
    systems: Sequence[SystemScore]
    checks: Checks
    speeds: Mapping[str, Mapping[str, float]]
    not_identified: Sequence[str]

    def content(self) -> dict[str, Any]:
        """Return what the file of the world says."""
        return document.content(self.fit, table=self.table, not_identified=self.not_identified, speeds=self.speeds)


METHODS = ("fast",)


def fitted(table: Path | None, method: str, seed: int) -> Report:
    """Fit a world to a table of ratings (None: the built-in one), by moments in seconds; report on it.

    Raises InputError for a table that cannot be read, and for another method.
    """
    if method == "nuts":
        raise InputError("method=nuts is withdrawn: chains took minutes and did not mix on real ratings; leave it out")
    if method not in METHODS:
        raise InputError(f"method={shown(method)} is unknown; {or_nearest(method, METHODS)}")
    return report(fit(read(table), seed), table, seed)


def report(one: Fit, table: Path | None, seed: int) -> Report:
    """Look at a fit and at the table that it was fitted to, the built-in one if None."""
    return Report(
        table,
        one,
        document.estimates(one),
        systems(one),
        checks(one, seed),
        timing.speeds(table),
        identification.not_identified(one.pilot),
    )


def systems(fit: Fit) -> list[SystemScore]:
    """List the systems by their mean score over raters, the least first."""
    draws = np.array([mean_scores(one) for one in fit.effects])
    relative = draws / draws.mean(1, keepdims=True)
    return [
        SystemScore(fit.pilot.system_names[k], draws[:, k].mean(), *np.quantile(relative[:, k], INTERVAL))
        for k in np.argsort(draws.mean(0))
    ]
