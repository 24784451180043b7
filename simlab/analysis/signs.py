"""List or draw patterns of signs (+1, -1) for tests that flip contributions."""

from __future__ import annotations

import numpy as np

from simlab.types import Floats

_OF_BYTE: Floats = np.where(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1), -1.0, 1.0)
"""The eight signs of each byte."""


def list_sign_patterns(n: int) -> Floats:
    """List all patterns of n signs, `[2^n, n]`; the first flips nothing."""
    patterns = np.arange(2**n)[:, None] >> np.arange(n)
    return np.asarray(1.0 - 2.0 * (patterns & 1), float)


def list_half_patterns(n: int) -> Floats:
    """List the patterns that leave the first sign, `[2^(n - 1), n]`: a pattern and its opposite are equivalent."""
    rest = list_sign_patterns(n - 1)
    return np.concatenate([np.ones((len(rest), 1)), rest], axis=1)


def draw_sign_patterns(rng: np.random.Generator, n_patterns: int, n: int) -> Floats:
    """Draw patterns of n signs, `[pattern, n]`."""
    # A random byte makes eight signs; a uniform number for each would take 64 times as many bytes.
    drawn = np.frombuffer(rng.bytes((n_patterns * n + 7) // 8), np.uint8)
    signs: Floats = _OF_BYTE.take(drawn, axis=0).ravel()[: n_patterns * n]
    return signs.reshape(n_patterns, n)
