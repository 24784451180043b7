"""Turn a planned evaluation into the counts that it gives: expected ones, or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from simlab.analysis.adequacy import posterior
from simlab.analysis.adequacy.joint import Counts
from simlab.types import Bools, Floats, InputError


class Settings(NamedTuple):
    """Hold a planned evaluation of a system, arrays that broadcast; `n_calibration` None: rho and eta are known."""

    n_human: Floats
    n_metric: Floats
    rho: Floats
    eta: Floats
    alpha: Floats
    n_calibration: Floats | None

    def ravel(self) -> Settings:
        """Broadcast and flatten."""
        return settings([x.ravel() for x in np.broadcast_arrays(*(x for x in self if x is not None))])

    def repeat(self, n: int) -> Settings:
        """Repeat each row n times."""
        return settings([np.repeat(x, n) for x in self if x is not None])

    @property
    def q(self) -> Floats:
        """Give the probability that the metric says adequate."""
        return self.alpha * (self.rho + self.eta - 1) + 1 - self.eta


def settings(values: Sequence[Floats]) -> Settings:
    """Put five or six arrays in their places."""
    return Settings(values[0], values[1], values[2], values[3], values[4], values[5] if len(values) > 5 else None)


class Planned(NamedTuple):
    """Hold the counts of an evaluation `[row]`; `calibration` (TP, P, TN, N) is None where rho and eta are known."""

    counts: Counts
    quality: tuple[Floats, Floats]
    calibration: tuple[Floats, Floats, Floats, Floats] | None

    @property
    def rated(self) -> Bools:
        """Say where there is any rating of alpha."""
        return np.asarray(self.counts.n + self.counts.m > 0)

    def measurable(self, sd: Floats, level: float) -> Floats:
        """Return the published measurable difference: 1 by convention where there is no rating of alpha at all."""
        return np.where(self.rated, critical(level) * np.sqrt(2) * sd, 1.0)

    def epsilon(self, level: float, constrain: bool) -> Floats:
        """Return the published measurable difference of these counts."""
        return self.measurable(self.sd(constrain)[1], level)

    def sd(self, constrain: bool) -> tuple[Floats, Floats]:
        """Return the posterior's mean and standard deviation."""
        found = posterior.posterior_rows([*self.counts, *(self.calibration or self.quality)], constrain)
        return found.mean, found.sd


def expected(
    rows: Settings, calibration_counts: bool = False, *, metric: tuple[Floats, Floats] | None = None, whole: bool = True
) -> Planned:
    """Set each count to its expectation, rounded half to even as the published calculator does, or not (`whole`).

    `metric`: the rho and eta that the metric ratings follow, where these are not those that the calibration finds.
    """
    near = np.round if whole else np.asarray
    calibration, q = None, rows.q if metric is None else rows._replace(rho=metric[0], eta=metric[1]).q
    if rows.n_calibration is not None:
        p = near(rows.alpha * rows.n_calibration)
        n = rows.n_calibration - p
        calibration = near(rows.rho * p), p, near(rows.eta * n), n
    return _planned(rows, near(rows.alpha * rows.n_human), near(q * rows.n_metric), calibration, calibration_counts)


def drawn(rng: np.random.Generator, rows: Settings, calibration_counts: bool = False) -> Planned:
    """Draw each count."""
    calibration = None
    if rows.n_calibration is not None:
        p = rng.binomial(rows.n_calibration.astype(int), rows.alpha)
        n = rows.n_calibration.astype(int) - p
        calibration = tuple(x.astype(float) for x in (rng.binomial(p, rows.rho), p, rng.binomial(n, rows.eta), n))
    n_plus = rng.binomial(rows.n_human.astype(int), rows.alpha).astype(float)
    m_plus = rng.binomial(rows.n_metric.astype(int), np.clip(rows.q, 0, 1)).astype(float)
    return _planned(rows, n_plus, m_plus, calibration, calibration_counts)  # type: ignore[arg-type]


def _planned(
    rows: Settings,
    n_plus: Floats,
    m_plus: Floats,
    calibration: tuple[Floats, Floats, Floats, Floats] | None,
    calibration_counts: bool,
) -> Planned:
    n = rows.n_human
    if calibration is not None and calibration_counts:
        n_plus, n = n_plus + calibration[1], n + calibration[1] + calibration[3]
    return Planned(Counts(n_plus, n, m_plus, rows.n_metric), (rows.rho, rows.eta), calibration)


def critical(level: float) -> float:
    """Return the normal quantile of a two-sided test at a level."""
    return float(ndtri(1 - level / 2))


def check(
    n_human: ArrayLike,
    n_metric: ArrayLike,
    rho: ArrayLike,
    eta: ArrayLike,
    alpha: ArrayLike,
    n_calibration: ArrayLike | None,
    level: float,
) -> tuple[Settings, Bools]:
    """Broadcast settings and turn metrics with rho + eta < 1 round; return them and where that was done.

    Raises InputError for counts, shares or levels that cannot be, and where metric ratings carry no information.
    """
    given = [n_human, n_metric, rho, eta, alpha] + ([] if n_calibration is None else [n_calibration])
    arrays = np.broadcast_arrays(*(np.asarray(x, float) for x in given))
    for name, value in zip(("n_human", "n_metric", "n_calibration"), (*arrays[:2], *arrays[5:]), strict=False):
        count(name, value)
    fraction("alpha", arrays[4])
    if not 0 < level < 1:
        raise InputError(f"level={level:g} is not between 0 and 1")
    used = arrays[1] > 0
    posterior.check_metric(np.where(used, arrays[2], 1.0), np.where(used, arrays[3], 1.0))
    fraction("rho", arrays[2])
    fraction("eta", arrays[3])
    flipped = arrays[2] + arrays[3] < 1
    turned = [*arrays[:2], *(np.where(flipped, 1 - x, x) for x in arrays[2:4]), *arrays[4:]]
    return settings(turned), np.asarray(flipped)


def count(name: str, value: Floats) -> None:
    """Raise InputError unless all are whole numbers from 0 on."""
    wrong = ~((value >= 0) & (value == np.round(value)) & (value <= 1e12))
    if wrong.any():
        raise InputError(f"{name}={value[wrong][0]:g} is not a number of ratings; give a whole number from 0 to 1e12")


def fraction(name: str, value: Floats) -> None:
    """Raise InputError unless all are from 0 to 1."""
    wrong = ~((value >= 0) & (value <= 1))
    if wrong.any():
        raise InputError(f"{name}={value[wrong][0]:g} is not a share; give a number from 0 to 1")
