"""Turn a scalar metric into a binary one: it says 'adequate' where its score is above a threshold.

rho and eta are the probabilities that it then calls adequate outputs adequate, and others inadequate.
`rates_at_threshold` and `best_threshold` take scores as normal; `tuned_threshold` chooses from a table of outputs.

The best threshold is the one with the largest rho + eta - 1 (Youden's J): a share alpha of adequate outputs moves what
the metric says by that factor, so the error of alpha is divided by it. What the metric's own spread, q (1 - q), adds is
left out; it moves the threshold little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from simlab import formulas
from simlab.rng import stream
from simlab.types import Bools, Floats, InputError, Ints


class Threshold(NamedTuple):
    """A threshold on a score with the rho and eta of the metric that it makes."""

    threshold: Floats
    rho: Floats
    eta: Floats


class Tuned(NamedTuple):
    """A threshold chosen from a table, and the metric's rates on outputs that did not help to choose it.

    `calibration` holds TP, P, TN and N, as `alpha_posterior` takes them: of P adequate outputs TP were called adequate,
    of N others TN inadequate.
    """

    threshold: float
    rho: float
    eta: float
    calibration: tuple[int, int, int, int]


def rates_at_threshold(threshold: ArrayLike, correlation: ArrayLike, alpha: ArrayLike) -> Threshold:
    """Return rho and eta at a threshold on a standardised score, normal together with the quality of outputs.

    The best share `alpha` of outputs is adequate; `correlation` is that of score and quality. All broadcast.
    Raises InputError for a correlation that is not above 0 and at most 1, and for alpha not between 0 and 1.

    >>> [x.round(3).tolist() for x in rates_at_threshold(0, 0.7, 0.5)]
    [0.0, 0.747, 0.747]
    """
    t, r, share = _check_threshold(threshold, correlation, alpha)
    return Threshold(t, *formulas.threshold_rates(r, share, t))


def best_threshold(correlation: ArrayLike, alpha: ArrayLike) -> Threshold:
    """Return the threshold with the largest rho + eta - 1, `c (1 - sqrt(1 - r^2)) / r` with c the adequate quality.

    Source: Youden 1950.

    There an output is adequate with probability alpha given its score: the score's densities among adequate and
    inadequate outputs are the same, so rho + eta - 1 neither rises nor falls.

    Raises InputError for a correlation that is not above 0 and at most 1, and an alpha that is not inside (0, 1).

    >>> [x.round(3).tolist() for x in best_threshold(0.7, 0.6)]
    [-0.103, 0.74, 0.757]
    """
    _, r, share = _check_threshold(0.0, correlation, alpha)
    return rates_at_threshold(formulas.best_threshold(r, share), r, share)


def _check_threshold(threshold: ArrayLike, correlation: ArrayLike, alpha: ArrayLike) -> tuple[Floats, Floats, Floats]:
    t, r, share = np.broadcast_arrays(*(np.asarray(v, float) for v in (threshold, correlation, alpha)))
    wrong = ~((r > 0) & (r <= 1))
    if wrong.any():
        raise InputError(
            f"correlation={r[wrong][0]:g} is not above 0 and at most 1; turn a score round that falls with quality"
        )
    wrong = ~((share > 0) & (share < 1))
    if wrong.any():
        raise InputError(
            f"alpha={share[wrong][0]:g} leaves no adequate or no inadequate outputs to tell apart by a score;"
            " give an alpha between 0 and 1, or rho and eta"
        )
    return t, r, share


def tuned_threshold(score: ArrayLike, adequate: ArrayLike, *, folds: int = 5, seed: int = 0) -> Tuned:
    """Choose a threshold from a table of outputs `score[output]` and `adequate[output]` (0 or 1).

    The threshold lies between two scores and has the largest rho + eta - 1, the lowest of several. A threshold looks
    better on outputs that chose it: for rho, eta and `calibration` each fold of the outputs is judged by the threshold
    that the others choose. Raises InputError for fewer outputs of a class than folds.
    """
    values, truth = np.asarray(score, float), np.asarray(adequate)
    if values.ndim != 1 or values.shape != truth.shape or not np.isfinite(values).all():
        raise InputError("score and adequate are not lists of numbers of the same length; give one of each per output")
    if not np.isin(truth, (0, 1)).all():
        raise InputError("adequate holds other values than 0 and 1; say of each output whether it is adequate")
    good = truth.astype(bool)
    if folds < 2 or min(good.sum(), (~good).sum()) < folds:
        raise InputError(
            f"there are {good.sum()} adequate and {(~good).sum()} inadequate outputs for {folds} folds; take at least"
            " 2 folds and as many outputs of each class"
        )
    fold = _folds(good, folds, seed)
    calls = np.zeros(len(good), bool)
    for k in range(folds):
        calls[fold == k] = values[fold == k] > _best_cut(values[fold != k], good[fold != k])
    tp, p, tn, n = (int(x) for x in ((calls & good).sum(), good.sum(), (~calls & ~good).sum(), (~good).sum()))
    return Tuned(_best_cut(values, good), tp / p, tn / n, (tp, p, tn, n))


def _folds(good: Bools, folds: int, seed: int) -> Ints:
    """Deal the outputs of each class to folds."""
    fold, rng = np.empty(len(good), int), stream(seed, "tuned_threshold")
    # A deal of both classes together could leave all other folds without one of them, and then no cut can be chosen.
    for some in (good, ~good):
        fold[some] = rng.permutation(np.arange(some.sum()) % folds)
    return fold


def _best_cut(score: Floats, good: Bools) -> float:
    """Return the middle between two scores that tells the classes apart best; minus infinity calls all adequate."""
    values, at = np.unique(score, return_inverse=True)
    right, wrong = (np.bincount(at, weights=some, minlength=len(values)) for some in (good, ~good))
    # Above a cut lie the adequate outputs that are not below or at it; J is what that gains on the inadequate ones.
    gain = np.cumsum(wrong / wrong.sum() - right / right.sum())[:-1]
    if not len(gain) or gain.max() <= 0:
        return float("-inf")
    k = int(gain.argmax())
    return float((values[k] + values[k + 1]) / 2)
