"""Say how well chains mixed (Gelman et al., Bayesian Data Analysis, 3rd edition, 11.4 and 11.5)."""

from __future__ import annotations

import numpy as np

from simlab.types import Floats


def r_hat(draws: Floats) -> float:
    """Return the split R-hat of `draws[draw, chain]`."""
    half = len(draws) // 2
    parts = np.concatenate([draws[:half], draws[half : 2 * half]], axis=1)
    within = parts.var(0, ddof=1).mean()
    if within == 0:
        return 1.0
    between = parts.mean(0).var(ddof=1)
    return float(np.sqrt((half - 1) / half + between / within))


def nested_r_hat(draws: Floats, per_start: int) -> float:
    """Return the nested R-hat of `draws[draw, chain]`, so many neighbouring chains of which began at one place.

    Unlike that of few long chains it asks whether starts are forgotten, and not how long each chain is (Margossian and
    others, Bayesian Analysis 2024, "Nested R-hat").
    """
    means = draws.mean(0).reshape(-1, per_start)
    within = draws.var(0, ddof=1).mean() + (means.var(1, ddof=1).mean() if per_start > 1 else 0.0)
    if within == 0:
        return 1.0
    return float(np.sqrt(1 + means.mean(1).var(ddof=1) / within))


def effective_draws(draws: Floats) -> float:
    """Return the number of independent draws that tell a mean as well as `draws[draw, chain]` do (Geyer 1992)."""
    n, chains = draws.shape
    centred = draws - draws.mean(0)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=0)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=0)[:n].mean(1) / n
    within = covariance[0] * n / (n - 1)
    total = covariance[0] + (draws.mean(0).var(ddof=1) if chains > 1 else 0.0)
    if total == 0:
        return float(n * chains)
    rho = 1 - (within - covariance * n / (n - 1)) / total
    pairs = rho[: n // 2 * 2].reshape(-1, 2).sum(1)
    negative = np.flatnonzero(pairs < 0)
    pairs = np.minimum.accumulate(pairs[: negative[0]] if len(negative) else pairs)
    return float(min(n * chains / max(2 * pairs.sum() - 1, 1e-12), n * chains * np.log10(n * chains)))
