"""Estimate how many more comparisons settle a pair of systems, and which difference a study of this size detects.

Under repeated looks (`settle_anytime`), or by an exact sign test of few votes (`settle_exactly`): both return the
median and quartiles of the number. The `..detectable..` functions return the difference. The effect of an open pair is
taken to be normal around the estimate: nothing else is known of it. A number of comparisons settles the pair if a claim
comes with 80 % probability. A difference is wins less losses per comparison.
Source: O'Hagan, Stevens and Campbell 2005 (assurance).
"""

from __future__ import annotations

import numpy as np

from simlab.analysis.needed_units import NeededUnits
from simlab.analysis.preferences.sequential import mixture_evidence
from simlab.formulas import SLACK
from simlab.types import Floats, Ints

POWER = 0.8
_Z_POWER = 0.8416212335729143
_PARTS = 400
"""Equally likely effects that stand for all."""

# Neighbouring numbers of comparisons that are tried differ by 2 %.
_STEPS = 1.02
_FARTHEST, _HALVINGS = 50.0, 30
"""Standard errors that a difference is sought within, by halves."""

_ANYTIME_HALVINGS = 14
"""Halvings of a share of wins that is summed up over all votes: it is printed to two decimals."""

_EXACT_PARTS, _EXACT_STEPS = 49, 150
"""Effects and numbers of comparisons at which exact probabilities are asked for: they cost more than normal ones."""


def settle_anytime(
    difference: float, sd: float, n: float, decided: float, log_needed: float, concentration: float, limit: float
) -> NeededUnits:
    """Return how many more comparisons settle a pair of which `n` gave `difference` with a standard error `sd`.

    The pair is claimed once a mixture e-process exceeds e^log_needed; `decided` is the share of votes that are no ties,
    `concentration` the parameter of the Beta mixture, `limit` the most comparisons that are tried.
    """
    effect, root = difference + sd * _quantiles(), sd * np.sqrt(n)
    more = np.unique(np.ceil(np.geomspace(1.0, limit, int(np.log(limit) / np.log(_STEPS)) + 2)))
    # The lead that comes with 80 % probability is the expected one less ndtri(.8) standard deviations.
    lead = np.abs(difference * n + effect[:, None] * more) - _Z_POWER * root * np.sqrt(more)
    enough = lead >= boundary((n + more) * decided, log_needed, concentration)
    return _sum_more(np.where(enough.any(1), more[enough.argmax(1)], np.inf), limit)


def settle_exactly(wins: int, losses: int, ties: int, level: float, limit: float) -> NeededUnits:
    """Return how many more comparisons settle a pair that is claimed where the exact sign test falls below a level.

    `wins` are those of the system ahead, `limit` is the most comparisons tried. The share of wins among votes that are
    no ties has the law Beta(wins + 1/2, losses + 1/2) (Jeffreys' prior); numbers include ties, as often as they came.
    """
    from scipy.special import bdtr, betaincinv

    # One vote more keeps the share of votes that decide above 0 where all were ties.
    n, decided = wins + losses, (wins + losses + 1) / (wins + losses + ties + 1)
    share = betaincinv(wins + 0.5, losses + 0.5, (np.arange(_EXACT_PARTS) + 0.5) / _EXACT_PARTS)[:, None]
    more = np.unique(np.round(np.geomspace(1.0, limit * decided, _EXACT_STEPS))).astype(np.int64)
    most = _most_losses(n + more, level)
    ahead, behind = n + more - most - wins - 1, most - wins
    claims = np.where(ahead >= 0, 1 - bdtr(np.clip(ahead, 0, more).astype(float), more, share), 1.0)
    claims = claims + np.where(behind >= 0, bdtr(np.clip(behind, 0, more).astype(float), more, share), 0.0)
    enough = (claims >= POWER) & (most >= 0)
    return _sum_more(np.where(enough.any(1), more[enough.argmax(1)], np.inf) / decided, limit)


def least_wins(wins: int, losses: int, level: float) -> int:
    """Return how many more wins in a row, of who is ahead, the exact sign test needs at a level.

    >>> least_wins(4, 0, 0.05 / 15), least_wins(0, 0, 0.05)
    (6, 6)
    """
    fewer, n = min(wins, losses), wins + losses
    more = np.arange(int(np.ceil(4 * (fewer + 1) - 4 * np.log2(level))) + n)
    return int(np.argmax(_most_losses(n + more, level) >= fewer))


def _most_losses(n: Ints, level: float) -> Floats:
    """Return how many of n the one who is behind may have won where the exact sign test claims; -1: it never does."""
    from scipy.special import bdtr
    from scipy.stats import binom

    most = binom.ppf(level / 2, n, 0.5)
    # ppf returns the first number whose tail reaches the level, one too many unless it meets the level exactly.
    most = np.where(2 * bdtr(np.maximum(most, 0), n, 0.5) > level + SLACK, most - 1, most)
    return np.asarray(np.maximum(most, -1))


def boundary(decided: Floats | float, log_needed: float, concentration: float) -> Floats:
    """Return the lead in wins that claims a pair after `decided` votes that are no ties (normal mixture, not Beta)."""
    # Wins less losses per vote vary by 1 / (2 c + 1) under Beta(c, c), as under a normal mixture worth 2 c + 1 votes.
    k = 2 * concentration + 1
    return np.asarray(np.sqrt(2 * (decided + k) * (log_needed + np.log((decided + k) / k) / 2)))


def least_detectable_difference(sd: float, critical: float) -> float:
    """Return the smallest difference that is claimed with 80 % probability at an error `sd`."""
    return float((critical + _Z_POWER) * sd)


def find_detectable_lead_by_sign_test(decided: int, level: float) -> float | None:
    """Return the least wins less losses, per vote that is no tie, that the exact sign test claims with 80 %.

    >>> round(find_detectable_lead_by_sign_test(60, 0.05), 3), find_detectable_lead_by_sign_test(5, 0.05)
    (0.383, None)
    """
    from scipy.special import bdtri

    most = float(_most_losses(np.array([decided]), level)[0])
    return None if most < 0 else 1 - 2 * float(bdtri(most, decided, POWER))


def find_detectable_lead_by_mixture(decided: int, log_needed: float, concentration: float) -> float | None:
    """Return the least wins less losses, per vote that is no tie, that a mixture e-process has claimed with 80 %.

    It is claimed once it exceeds e^log_needed at any of so many votes: a walk that ends there, summed up exactly.

    >>> find_detectable_lead_by_mixture(6, 3.0, 10.0), round(find_detectable_lead_by_mixture(200, 3.0, 10.0), 2)
    (None, 0.25)
    """
    wins = np.arange(decided + 1)
    open_ = [
        mixture_evidence(np.stack([wins[: n + 1], 0 * wins[: n + 1], n - wins[: n + 1]], axis=1), concentration)
        < log_needed
        for n in range(1, decided + 1)
    ]
    if open_[-1].all():
        return None
    low, high = 0.5, 1.0
    for _ in range(_ANYTIME_HALVINGS):
        share, left = (low + high) / 2, np.ones(1)
        for inside in open_:
            left = np.where(inside, np.append(left * (1 - share), 0.0) + np.append(0.0, left * share), 0.0)
        low, high = (low, share) if 1 - left.sum() >= POWER else (share, high)
    return 2 * high - 1


def detectable_difference_by_flips(freedom: float, critical: float) -> float | None:
    """Return the difference, in standard errors, that flips whose error has such degrees of freedom claim with 80 %.

    In another study, that is: both this table's error and the next one's are uncertain, so that the power, a tail of
    the noncentral t law, is averaged over what this error may be. None where so few clusters reach no 80 %.

    >>> round(detectable_difference_by_flips(1000, 1.96), 2)
    2.8
    >>> round(detectable_difference_by_flips(9, 2.26), 2)
    3.46
    >>> detectable_difference_by_flips(0, 1.96)
    """
    from scipy.special import chdtri, nctdtr

    if freedom <= 0 or critical > _FARTHEST:
        return None
    seen = np.sqrt(chdtri(freedom, (np.arange(_EXACT_PARTS) + 0.5) / _EXACT_PARTS) / freedom)
    low, high = 0.0, _FARTHEST
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Far beyond the critical value scipy gives NaN where the chance of falling short is nothing.
        short = np.nan_to_num(nctdtr(freedom, middle * seen, critical), nan=0.0)
        low, high = (low, middle) if (1 - short).mean() >= POWER else (middle, high)
    return None if high == _FARTHEST else high


def _quantiles() -> Floats:
    from scipy.special import ndtri

    return np.asarray(ndtri((np.arange(_PARTS) + 0.5) / _PARTS))


def _sum_more(more: Floats, limit: float) -> NeededUnits:
    more = np.ceil(np.maximum(more, 1.0))
    more = np.where(more > limit, np.inf, more)
    low, median, high = (float(np.quantile(more, q, method="higher")) for q in (0.25, 0.5, 0.75))
    return NeededUnits(median, low, high)
