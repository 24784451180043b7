"""Estimate the correlation of a metric with human scores within systems, raters' noise removed where there are repeats.

Call `correlation` on a table of outputs; it returns a `Correlation`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri, stdtrit

from simlab.analysis.means.components import VarianceComponents, variance_components
from simlab.rng import stream
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.types import Bools, Floats, InputError, Ints

GROUPS = 50
"""Items are left out in as many groups: the standard error then has 7 % of error of its own."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """Correlation of a metric with the human score within systems.

    `z_error` is the standard error of Fisher's z of it, with `freedom` degrees of freedom; `system_sd` the spread of
    the correlation between systems beyond chance. `components` are those of the human ratings where outputs were rated
    repeatedly, with standard errors: then the correlation is with the human score free of noise (`disattenuated`),
    otherwise with single ratings, which noise draws towards 0.
    """

    value: float
    z_error: float
    freedom: int
    system_sd: float
    n_outputs: int
    disattenuated: bool
    components: VarianceComponents | None
    errors: VarianceComponents | None

    def interval(self, level: float = 0.05) -> tuple[float, float]:
        """Return a t interval on the scale of Fisher's z."""
        reach = float(stdtrit(self.freedom, 1 - level / 2)) * self.z_error
        return math.tanh(_z(self.value) - reach), math.tanh(_z(self.value) + reach)


def correlation(outputs: JudgedOutputs, name: str, *, signs: tuple[int, int]) -> Correlation | None:
    """Correlate the metric `name` with human scores over the outputs of a system, the same for all systems.

    `signs` turn (human, metric) scores so that more is better.
    Both are taken from their system's mean. Errors are by a jackknife that leaves out groups of items, so that outputs
    of the same item (document, where these are named) may go together. None where nothing varies, or fewer than 8
    outputs have both scores.
    """
    metric = outputs.metrics[name]
    both = np.isfinite(metric) & np.isfinite(outputs.human).any(1)
    human, g, system, item = (
        signs[0] * outputs.human[both],
        signs[1] * metric[both],
        outputs.system[both],
        outputs.unit[both],
    )
    if len(g) < 8 or not _varies(g, system) or not _varies(np.nanmean(human, axis=1), system):
        return None
    repeated = bool((np.isfinite(human).sum(1) > 1).any())
    whole = _estimate(human, g, system, repeated=repeated)
    if not math.isfinite(whole.value):
        return None
    left = [_estimate(human[kept], g[kept], system[kept], repeated=repeated) for kept in leave_out_items(item)]
    errors = _errors(np.array([estimate.parts for estimate in left]))
    return Correlation(
        value=float(np.clip(whole.value, -1, 1)),
        # Fisher's z has the derivative 1 / (1 - r^2).
        z_error=errors[0] / (1 - _clip_correlation(whole.value) ** 2),
        freedom=max(len(left) - 1, 1),
        system_sd=_system_sd(human, g, system, whole.value),
        n_outputs=len(g),
        disattenuated=repeated,
        components=whole.components,
        errors=_components(*errors[1:4], errors[0]) if repeated else None,
    )


@dataclass(frozen=True, slots=True)
class _Estimate:
    value: float
    components: VarianceComponents | None

    @property
    def parts(self) -> tuple[float, float, float, float]:
        """Return the correlation, signal variance, annotator variance and gamma; 0 where there are no repeats."""
        if self.components is None:
            return self.value, 0.0, 0.0, 0.0
        signal, annotator, gamma, _ = (float(part) for part in self.components)
        return self.value, signal, annotator, gamma


def _estimate(human: Floats, g: Floats, system: Ints, *, repeated: bool) -> _Estimate:
    ratings, metric = human - _means(np.nanmean(human, axis=1), system)[:, None], g - _means(g, system)
    # Deviations from a system's mean lose a degree of freedom for each system.
    freedom = len(g) / max(len(g) - len(np.unique(system)), 1)
    spread = math.sqrt(float(np.mean(metric**2)) * freedom)
    if spread == 0:
        return _Estimate(math.nan, None)
    if not repeated:
        y = np.nanmean(ratings, axis=1)
        norm = math.sqrt(float((y**2).sum() * (metric**2).sum()))
        return _Estimate(float(y @ metric) / norm if norm > 0 else math.nan, None)
    try:
        components = variance_components(ratings, metric / spread)
    except InputError:
        # A part of the outputs may hold no repeat; what it says of noise is nothing.
        return _Estimate(math.nan, None)
    annotator, signal = float(components.annotator_variance), float(components.signal_variance)
    true = _signal(signal, annotator, human, freedom)
    if true <= 0 or signal <= 0:
        return _Estimate(math.nan, None)
    rho = float(components.correlation) * freedom * math.sqrt(signal / true)
    parts = _components(true, annotator, annotator / true, rho)
    return _Estimate(rho, parts)


def variance_within_systems(human: Floats, system: Ints) -> tuple[float, float] | None:
    """Return the variance of human scores within systems, free of noise, and that of the noise of a rating.

    `human[output, repeat]`; every output has a rating. None where repeats do not tell.
    """
    try:
        components = variance_components(human - _means(np.nanmean(human, axis=1), system)[:, None])
    except InputError:
        return None
    annotator = float(components.annotator_variance)
    freedom = len(human) / max(len(human) - len(np.unique(system)), 1)
    true = _signal(float(components.signal_variance), annotator, human, freedom)
    return (true, annotator) if true > 0 else None


def _signal(signal: float, annotator: float, human: Floats, freedom: float) -> float:
    """Enlarge a variance: deviations from the means of systems are smaller than those from what is true of them."""
    repeats = float(np.mean(np.isfinite(human).sum(1)))
    return (signal + annotator / repeats) * freedom - annotator / repeats


def _components(*values: float) -> VarianceComponents:
    return VarianceComponents(*(np.asarray(value) for value in values))


def leave_out_items(item: Ints) -> list[Bools]:
    """Return which outputs are kept when each group of items is left out in turn."""
    index = np.unique(item, return_inverse=True)[1]
    n_items = int(index.max()) + 1
    groups = min(GROUPS, n_items)
    # The seed is fixed, so that a table has one standard error.
    part = stream(0, "fit_metric", "groups").permutation(n_items)[index] % groups
    return [part != group for group in range(groups)]


def _errors(left: Floats) -> tuple[float, ...]:
    """Return jackknife standard errors of columns; infinite where a part of the data gives no estimate."""
    n = len(left)
    known = np.isfinite(left).all(0)
    centred = np.where(known, left, 0.0) - np.where(known, left, 0.0).mean(0)
    spread = np.sqrt((n - 1) / n * (centred**2).sum(0))
    return tuple(np.where(known, spread, math.inf).tolist())


def _system_sd(human: Floats, g: Floats, system: Ints, value: float) -> float:
    """Return how far the correlations of systems differ beyond chance, by moments; 0 with fewer than 3 systems.

    0 as well where they differ no more than 95 % of those of systems that follow the same.
    """
    own, error = [], []
    y = np.nanmean(human, axis=1)
    pooled = _estimate(y[:, None], g, system, repeated=False).value
    for k in np.unique(system):
        of = system == k
        if of.sum() >= 8 and np.ptp(y[of]) > 0 and np.ptp(g[of]) > 0:
            r = float(np.corrcoef(y[of], g[of])[0, 1])
            own.append(r)
            # The variance of a correlation in large samples.
            error.append((1 - r**2) ** 2 / (int(of.sum()) - 1))
    if len(own) < 3:
        return 0.0
    beyond = float(np.var(own, ddof=1)) - float(np.mean(error))
    if ((np.array(own) - np.mean(own)) ** 2 / np.maximum(error, 1e-12)).sum() <= chdtri(len(own) - 1, 0.05):
        return 0.0
    # Noise of the ratings draws the correlations of all systems towards 0 alike.
    return math.sqrt(max(beyond, 0.0)) * (abs(value / pooled) if pooled else 1.0)


def _means(value: Floats, system: Ints) -> Floats:
    """Return the mean of its system for each output."""
    index = np.unique(system, return_inverse=True)[1]
    return np.asarray((np.bincount(index, value) / np.bincount(index))[index])


def _varies(value: Floats, system: Ints) -> bool:
    apart = value - _means(value, system)
    # Where all scores of a system are one number, taking off their mean leaves a rounding error.
    return bool(np.abs(apart).max() > 1e-12 * max(1.0, float(np.abs(value).max())))


def _clip_correlation(value: float) -> float:
    # Fisher's z is infinite at -1 and 1.
    return min(max(value, -0.999), 0.999)


def _z(value: float) -> float:
    return math.atanh(_clip_correlation(value))
