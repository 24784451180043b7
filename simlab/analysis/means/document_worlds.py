"""Carry out studies like one that was: its documents drawn again whole, in a world whose systems are equal, or not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from simlab.analysis.means.document_pairs import Influence, compared, influence
from simlab.analysis.means.documents import Totals
from simlab.types import Bools, Floats, Ints

WORK = 1.2e10
"""Products that a thousand studies may take; with more pairs and documents fewer studies are carried out."""
FEWEST, FLIPS = 100, 99
BUNDLES = 64


class Segments(NamedTuple):
    """Sum up differences of single outputs of the same item: their number, sums, sums of squares `[document, pair]`."""

    n: Floats
    sums: Floats
    squares: Floats


class Confirmed(NamedTuple):
    """Hold a share of simulated repetitions, or of claims in them, with bounds of 90 %."""

    value: float
    low: float
    high: float


def equal(of: Totals) -> Totals:
    """Move the judgements of each system, so that all have one mean.

    What the metric says of outputs that it alone has seen is moved to what it says of the judged: in a world that draws
    both again, they are drawn from one law.
    """
    n = of.n.sum(1, keepdims=True)
    mean = of.y.sum(1, keepdims=True) / n
    world = of._replace(y=of.y - of.n * (mean - mean.mean()))
    if of.n_all is None or of.g_all is None:
        return world
    more, rest = of.n_all - of.n, of.g_all - of.g
    size = more.sum(1, keepdims=True)
    off = of.g.sum(1, keepdims=True) / n - rest.sum(1, keepdims=True) / np.maximum(size, 1)
    return world._replace(g_all=of.g_all + more * off)


def affordable(of: Totals, n_pairs: int, studies: int) -> int:
    """Return how many studies are carried out of those wanted."""
    judged = int((of.n > 0).any(0).sum())
    documents = judged + min(of.n.shape[1] - judged, BUNDLES)
    return int(max(FEWEST, min(studies, WORK / (8 * FLIPS * documents * max(n_pairs, 1)))))


def bundled(of: Influence) -> Influence:
    """Put documents that only the metric has seen into bundles, which are as independent as they are."""
    judged: Bools = np.asarray(of.share.any(0))
    rest = of.part[:, ~judged]
    if rest.shape[1] <= BUNDLES:
        return of
    sums = np.add.reduceat(rest, np.linspace(0, rest.shape[1], BUNDLES, endpoint=False).astype(int), axis=1)
    share = np.concatenate([of.share[:, judged], np.zeros_like(sums)], axis=1)
    return Influence(of.value, np.concatenate([of.part[:, judged], sums], axis=1), share)


def drawn_again(rng: np.random.Generator, of: Totals) -> tuple[Totals, Ints]:
    """Draw as many documents with judgements again, and as many of the others; return which, too."""
    judged: Bools = np.asarray((of.n > 0).any(0))
    groups = [np.flatnonzero(judged), np.flatnonzero(~judged)]
    at = np.concatenate([rng.choice(group, len(group)) for group in groups if len(group)])
    n_all, g_all = (None if part is None else part[:, at] for part in (of.n_all, of.g_all))
    return Totals(of.n[:, at], of.y[:, at], of.g[:, at], n_all, g_all), at


def some_claims(
    rng: np.random.Generator, of: Totals, pairs: tuple[Ints, Ints], *, corrected: bool, level: float, studies: int
) -> tuple[Bools, list[Ints]]:
    """Say which studies claim something though systems are equal, and which documents each had.

    A study in which a system lost all of its judged documents but one claims nothing.
    """
    world, found, documents = equal(of), np.zeros(studies, bool), []
    for study in range(studies):
        again, at = drawn_again(rng, world)
        documents.append(at)
        if int((again.n > 0).sum(1).min()) > 1:
            means = bundled(influence(again, corrected=corrected))
            found[study] = bool(
                (
                    compared(rng, means, pairs, level=level, flips=max(FLIPS, int(np.ceil(5 / level)) - 1)).adjusted
                    <= level
                ).any()
            )
    return found, documents


def uncorrected(of: Segments, documents: list[Ints], level: float) -> Bools:
    """Say which studies claim something by tests of single outputs, each pair by itself, that know of no documents."""
    counts = np.stack([np.bincount(at, minlength=len(of.n)) for at in documents]).astype(float)
    n, total, square = counts @ of.n, counts @ of.sums, counts @ of.squares
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = (square - total**2 / n) / (n - 1) * n
        z = np.abs(total) / np.sqrt(variance)
    return np.asarray((np.nan_to_num(z) > -ndtri(level / 2)).any(1))


def confirmed(
    rng: np.random.Generator,
    of: Influence,
    claims: tuple[Ints, Ints, Ints],
    bar: Floats,
    noise: Floats | None = None,
    *,
    worlds: int = 400,
    studies: int = 400,
) -> tuple[Confirmed, Confirmed]:
    """Return how likely a repetition finds the direction of all claims `(first, second, direction)`, and claims each.

    `bar[claim]` is the difference from which on a pair is claimed.

    What is true is drawn from its posterior, which draws means together as far as they are noise (systems are normal
    about a common mean); a repetition errs as this study does, or with `noise[system]`, variances, of the same
    documents rated again. Without claims there is nothing that could fail: 1.
    """
    first, second, direction = claims
    if not len(first):
        return Confirmed(1.0, 1.0, 1.0), Confirmed(1.0, 1.0, 1.0)
    if noise is None:
        error = of.part @ of.part.T
        middle, spread = _shrunk(of.value, error)
    else:
        # Of documents that are the same, what these brought is known but for the noise of ratings.
        error = np.diag(noise)
        middle, spread = of.value, error
    truth, chance, anew = middle + _normal(rng, spread, worlds), np.zeros(worlds), np.zeros(worlds)
    for world in range(worlds):
        means = truth[world] + _normal(rng, error, studies)
        lead = direction * (means[:, first] - means[:, second])
        chance[world], anew[world] = (lead > 0).all(1).mean(), (lead > bar).mean()
    return _share(chance), _share(anew)


def _share(of_worlds: Floats) -> Confirmed:
    """Return the mean of a share over worlds, and where the middle nine tenths of it lie."""
    return Confirmed(float(of_worlds.mean()), *(float(x) for x in np.quantile(of_worlds, (0.05, 0.95))))


def _shrunk(value: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of true means that are normal about a common one, given what was found."""
    n, centred = len(value), value - value.mean()
    noise = (np.trace(error) - error.sum() / n) / (n - 1)
    spread = float(centred @ centred) / (n - 1) - noise
    if spread <= 0:
        return np.full(n, value.mean()), np.zeros((n, n))
    weight = spread * np.linalg.inv(spread * np.eye(n) + error)
    return value.mean() + weight @ centred, spread * (np.eye(n) - weight)


def _normal(rng: np.random.Generator, covariance: Floats, size: int) -> Floats:
    """Draw normal numbers, `[size, system]`; a covariance may lack rank."""
    value, vector = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(rng.standard_normal((size, len(value))) @ (vector * np.sqrt(np.maximum(value, 0.0))).T)
