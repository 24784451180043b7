"""Measure what rules promise that end judging: the interval where they stop, and what they claim of equal systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from promise_rows import Row, stream
from scipy.special import ndtri

from simlab.analysis import stopping_rules
from simlab.analysis.means.intervals import wilson
from simlab.types import Floats, JudgementSequence, Stops

LEVEL, PLANNED, WIDTH = 0.05, 400, 0.2
ALPHAS = (0.6, 0.9, 0.98)
_OWN = {"level": LEVEL, "width": WIDTH, "batch_size": 10}
_ENDS: dict[str, Any] = {**_OWN, "low": None, "high": None}
RULES: dict[str, Callable[[JudgementSequence], Stops]] = {
    "fixed_width": partial(stopping_rules.fixed_width, **_OWN, form="spread"),
    "betting_width": partial(stopping_rules.betting_width, **_ENDS),
}
NAIVE = partial(stopping_rules.fixed_width, **_OWN, form="naive")
METRICS = {"useless": 0.0, "good": 0.8, "perfect": 1.0}
"""Correlation of what a metric says with what is judged."""


def coverage_where_judging_ends(worlds: int) -> Iterator[Row]:
    """Measure how often the interval holds a share where judging ended; what normal intervals do, looked at naively."""
    for alpha in ALPHAS:
        for name, rule in RULES.items():
            held = [_held(rule(_labels(y)), alpha) for y in _judged(name, alpha, worlds)]
            yield _coverage(f"coverage where judging ends, {name}", f"alpha={alpha:g}", held)
    for alpha in ALPHAS[1:]:
        held = [_held(NAIVE(_labels(y, normal=True)), alpha) for y in _judged("naive", alpha, worlds)]
        name = "coverage where judging ends, normal intervals looked at naively"
        yield _coverage(name, f"alpha={alpha:g}", held)._replace(side="control below")


def coverage_with_a_metric(worlds: int, fresh: tuple[int, ...] = (0, 5)) -> Iterator[Row]:
    """Measure the same of bets with a metric whose mean is known (fresh 0), or that has fresh outputs at each step."""
    rule = partial(stopping_rules.ppi_width, **_ENDS)
    for name, follows in METRICS.items():
        for k in fresh:
            rng = stream(1, "stopping_promises", "ppi", name, k)
            held = [_held(rule(_with_metric(rng, follows, k)), 0.5) for _ in range(worlds)]
            said = "test set" if k == 0 else f"{k} fresh outputs a step"
            yield _coverage("coverage where judging ends, ppi_width", f"{name} metric, {said}", held)


def claims_of_equal_systems(worlds: int) -> Iterator[Row]:
    """Count pairs of equal systems whose intervals for claims do not overlap where each ended."""
    for alpha in ALPHAS[:2]:
        pairs = zip(*(_judged(f"pair {k}", alpha, worlds) for k in range(2)), strict=True)
        apart = [_apart(*(RULES["betting_width"](_labels(y)) for y in pair)) for pair in pairs]
        share, error = float(np.mean(apart)), float(np.sqrt(LEVEL * (1 - LEVEL) / worlds))
        yield Row("claims of equal systems, betting_width", f"alpha={alpha:g}", LEVEL, share, error, worlds)


def _judged(word: str, alpha: float, worlds: int) -> Iterator[Floats]:
    rng = stream(1, "stopping_promises", word, alpha)
    for _ in range(worlds):
        yield (rng.random(PLANNED) < alpha).astype(float)


def _labels(y: Floats, *, normal: bool = False) -> JudgementSequence:
    def interval(n: int, level: float) -> tuple[float, float]:
        mean = y[:n].mean()
        if not normal:
            low, high = wilson(np.array([mean]), np.array([float(n)]), level)
            return float(low[0]), float(high[0])
        reach = -ndtri(level / 2) * y[:n].std(ddof=1) / np.sqrt(n)
        return float(mean - reach), float(mean + reach)

    return JudgementSequence(y, None, None, 0, (0.0, 0.0), (0.0, 1.0), interval, LEVEL, PLANNED)


def _with_metric(rng: np.random.Generator, follows: float, fresh: int) -> JudgementSequence:
    """Judge outputs adequate whose latent score is positive; a metric of mean 0 follows it, cut off at 3."""
    quality = rng.standard_normal(PLANNED)
    own = np.sqrt(1 - follows**2)
    g = np.clip(follows * quality + own * rng.standard_normal(PLANNED), -3, 3)
    others = np.clip(rng.standard_normal((PLANNED, fresh)), -3, 3).mean(1) if fresh else np.zeros(PLANNED)
    y = (quality > 0).astype(float)
    return JudgementSequence(y, g, others, fresh, (-3.0, 3.0), (0.0, 1.0), lambda n, level: (0.0, 1.0), LEVEL, PLANNED)


def _held(ended: Stops, truth: float) -> bool:
    return ended.low <= truth <= ended.high


def _apart(first: Stops, second: Stops) -> bool:
    if first.claim_low is None or first.claim_high is None or second.claim_low is None or second.claim_high is None:
        raise ValueError("this rule claims by intervals")
    return first.claim_low > second.claim_high or second.claim_low > first.claim_high


def _coverage(name: str, setting: str, held: list[bool]) -> Row:
    share, n = float(np.mean(held)), len(held)
    error = float(np.sqrt(max(share * (1 - share), LEVEL * (1 - LEVEL) / 4) / n))
    return Row(name, setting, 1 - LEVEL, share, error, n, "at least")
