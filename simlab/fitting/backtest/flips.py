"""Tell which pairs of systems are significant, as `analysis.significance.permutation` does, in many worlds at once."""

from __future__ import annotations

import numpy as np

from simlab.analysis.significance import RELATIVE_TOLERANCE
from simlab.formulas import passes
from simlab.types import Array, Bools, Floats

SURELY_NOT, SURELY = 1.0, 2.7
"""Ratios of a pair's difference to the root of its sum of squares that need no test at level .05.

Randomly signed sums exceed their standard deviation with probability .1 at least (Oleszkiewicz 1996), and 2.7 of them
with at most 3.18 times the normal probability, .022 (Bentkus and Dzindzalieta 2015): of 500 patterns 25 or more, or
fewer than 25, with probabilities of .9999 and above.
"""

SINGLE = 4e-6
"""Rounding of a sum in single precision, beside the sum of absolute values: a few tens of times its precision."""


def significant(total: Floats, patterns: Floats, level: float) -> tuple[Bools, Floats]:
    """Return what is significant and the difference of both systems' sums, each `[world, pair]`.

    `total[world, document, system]` is complete; `patterns[pattern, document]` are the signs of the test.
    """
    first, second = np.triu_indices(total.shape[2], 1)
    sums = total.sum(1)
    tolerance = RELATIVE_TOLERANCE * np.abs(total).sum(1).max(1)
    difference = sums[:, first] - sums[:, second]
    difference[np.abs(difference) <= tolerance[:, None]] = 0.0
    ratio = _ratios(total, difference)
    found = ratio >= SURELY
    world, pair = np.nonzero((ratio > SURELY_NOT) & ~found)
    gap = total[world, :, first[pair]] - total[world, :, second[pair]]
    least = np.abs(difference[world, pair]) - tolerance[world]
    found[world, pair] = _passes(gap, least, patterns, level)
    return found & (difference != 0), difference


def _ratios(total: Floats, difference: Floats) -> Floats:
    """Divide each pair's difference by the root of the sum of squared differences of its documents."""
    first, second = np.triu_indices(total.shape[2], 1)
    product = total.transpose(0, 2, 1) @ total
    own = np.diagonal(product, axis1=1, axis2=2)
    squares = own[:, first] + own[:, second] - 2 * product[:, first, second]
    return np.asarray(np.abs(difference) / np.sqrt(np.maximum(squares, 1e-300)))


def _passes(gap: Floats, least: Floats, patterns: Floats, level: float) -> Bools:
    """Test the pairs that need it, `gap[pair, document]`.

    Single precision decides, unless a sum so close to the difference that it may be rounded matters.
    """
    band = SINGLE * np.abs(gap).sum(1)
    sums = gap.astype(np.float32) @ patterns.T.astype(np.float32)
    np.abs(sums, out=sums)
    loose, strict = (_enough(sums, (least + side).astype(np.float32), patterns, level) for side in (-band, band))
    unsure = np.flatnonzero(loose != strict)
    loose[unsure] = _enough(np.abs(gap[unsure] @ patterns.T), least[unsure], patterns, level)
    return loose


def _enough(sums: Array, least: Array, patterns: Floats, level: float) -> Bools:
    n_patterns, n_documents = patterns.shape
    # A sum of bytes is several times as fast as count_nonzero along an axis.
    extreme = (sums >= least[:, None]).view(np.int8).sum(1, dtype=np.int16)
    every = n_documents < 63 and 2**n_documents == n_patterns
    return passes(extreme / n_patterns if every else (1 + extreme) / (1 + n_patterns), level)
