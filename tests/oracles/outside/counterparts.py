"""List what has a counterpart in packages of others, and how near both have to be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simlab.analysis.means.bootstrap import bootstrap_interval
from simlab.analysis.means.estimates import IntervalBounds
from simlab.types import Floats
from tests.oracles.outside import ours, samples, theirs
from tests.oracles.outside.theirs import LEVEL, RESAMPLES, Numbers

RECORDED = Path(__file__).with_name("recorded.json")
SEEDS = (0, 1, 2)
ERRORS = 5
"""Monte-Carlo errors by which what is drawn may differ: of ten thousand comparisons less than one does by chance."""


class Counterpart(NamedTuple):
    """Hold whose word it is, how far ours may be from it, and a namesake that is another method (the control).

    `within` is a share of each number (or of 1, the larger): 1e-9 for closed forms, more where a package iterates, or
    rounds. Where both draw, `error` returns the Monte-Carlo error of their difference instead.
    """

    package: str
    within: float
    unlike: str | None = None
    error: Callable[[int], Mapping[str, float]] | None = None


def _error_of_p(seed: int) -> Mapping[str, float]:
    p = float(ours.permutation_drawn(seed)["p_value"][0])
    return {"p_value": float(np.sqrt(2 * max(p * (1 - p), 1 / RESAMPLES) / RESAMPLES))}


def _error_of_quantiles(name: str) -> Callable[[int], Mapping[str, float]]:
    """Return the error of both bounds, from the spacing of quantiles one error of a share to each side.

    A quantile's error is that of the share below it, over the density there, which the distance of bounds of two
    neighbouring levels tells: `(q(p + d) - q(p - d)) / 8` for `d = 4 sqrt(p (1 - p) / B)`; times 2^1/2, as both draw.
    """

    def error(seed: int) -> Mapping[str, float]:
        p = LEVEL / 2
        d = 4 * np.sqrt(p * (1 - p) / RESAMPLES)
        near, far = (_bounds(seed, 2 * (p + sign * d), studentise=name == "bootstrap_t") for sign in (1, -1))
        each = float(near.low - far.low), float(far.high - near.high)
        return {"low": each[0] / 8 * np.sqrt(2), "high": each[1] / 8 * np.sqrt(2)}

    return error


def _bounds(seed: int, level: float, *, studentise: bool) -> IntervalBounds:
    rng, y = np.random.default_rng([seed, 50]), samples.skewed(seed)
    return bootstrap_interval(rng, y, level=level, resamples=RESAMPLES, studentise=studentise)


EXACT = 1e-9
COUNTERPARTS: Mapping[str, Counterpart] = {
    "ppi": Counterpart("ppi-python", EXACT),
    "sample_mean": Counterpart("statsmodels", EXACT),
    "wilson": Counterpart("statsmodels", EXACT, "clopper_pearson"),
    "clopper_pearson": Counterpart("statsmodels", EXACT, "wilson"),
    "sign_test_exact": Counterpart("scipy", EXACT, "sign_test_asymptotic"),
    "sign_test_asymptotic": Counterpart("statsmodels", EXACT, "sign_test_exact"),
    "holm": Counterpart("statsmodels", EXACT, "bh"),
    "bh": Counterpart("statsmodels", EXACT, "holm"),
    "paired_t": Counterpart("scipy", EXACT, "welch_t"),
    "welch_t": Counterpart("scipy", EXACT, "paired_t"),
    "equivalence": Counterpart("statsmodels", EXACT),
    "by_rater": Counterpart("scipy", EXACT, "two_way"),
    "two_way": Counterpart("statsmodels", EXACT, "by_rater"),
    "mean_by_cluster": Counterpart("statsmodels", EXACT, "slope_by_cluster"),
    "slope_by_cluster": Counterpart("statsmodels", EXACT, "mean_by_cluster"),
    "document_mean": Counterpart("statsmodels", EXACT),
    # REML is searched for.
    "one_way": Counterpart("statsmodels", 1e-4),
    "intraclass": Counterpart("generalizit", EXACT),
    "components": Counterpart("generalizit", EXACT),
    # The package rounds to four digits.
    "generalisability": Counterpart("generalizit", 5.1e-5),
    # Strengths of both are searched for.
    "davidson": Counterpart("statsmodels", 1e-6),
    "bradley_terry": Counterpart("statsmodels", 1e-6),
    # The package stops where its equation is off by less than 1e-5.
    "spread_of": Counterpart("statsmodels", 1e-5),
    "kendall": Counterpart("scipy", EXACT),
    "sample_size": Counterpart("statsmodels", EXACT),
    "permutation": Counterpart("scipy", EXACT, "permutation_drawn"),
    "permutation_drawn": Counterpart("scipy", EXACT, None, _error_of_p),
    "percentile": Counterpart("scipy", EXACT, "bootstrap_t", _error_of_quantiles("percentile")),
    "bootstrap_t": Counterpart("scipy", EXACT, "percentile", _error_of_quantiles("bootstrap_t")),
    "zscore": Counterpart("scipy", EXACT),
    # The package has no prior and no hard items; ours are means of draws.
    "consensus": Counterpart("crowd-kit", 0.05, "majority"),
}


def of_simlab(name: str, seed: int) -> Numbers:
    """Return what simlab says."""
    return flat(getattr(ours, name)(seed))


def of_package(name: str, seed: int) -> Numbers:
    """Return what the package says."""
    return flat(getattr(theirs, name)(seed))


def flat(numbers: Numbers) -> Numbers:
    """Make lists of whatever holds numbers."""
    return {name: np.asarray(value, float).ravel().tolist() for name, value in numbers.items()}


def recorded() -> Mapping[str, Mapping[str, Numbers]]:
    """Read what packages said when they were asked: `{counterpart: {seed: {name: numbers}}}`."""
    found: Mapping[str, Mapping[str, Numbers]] = json.loads(RECORDED.read_text(encoding="utf-8"))["said"]
    return found


def differs(name: str, seed: int, mine: Numbers, said: Numbers) -> list[str]:
    """List the numbers in which simlab and a package differ by more than they may; those that only one has are none."""
    how = COUNTERPARTS[name]
    errors = how.error(seed) if how.error else {}
    wrong = []
    for key in said.keys() & mine.keys():
        a, b = np.array(mine[key]), np.array(said[key])
        allowed: Floats = np.full(b.shape, ERRORS * errors[key]) if errors else how.within * np.maximum(np.abs(b), 1.0)
        if a.shape != b.shape or not (np.abs(a - b) <= allowed).all():
            wrong.append(f"{name} (seed {seed}) {key}: simlab {a.tolist()}, {how.package} {b.tolist()}")
    return wrong
