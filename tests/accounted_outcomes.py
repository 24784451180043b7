"""Outcomes of campaigns that have a clock and a budget, drawn from a plain model of what becomes of their ratings."""

from __future__ import annotations

import numpy as np

from simlab.types.collection import ALL_CAME, DEADLINE, MONEY, NOBODY

PLANNED, PRICE, SECONDS = 200, 0.5, 30.0
Draw = dict[str, np.ndarray]


def accounted(seed: int = 1, worlds: int = 4, studies: int = 12, spread: float = 0.3) -> Draw:
    """Draw campaigns of worlds whose people differ in speed: half of them do not finish in time."""
    rng, n = np.random.default_rng(seed), worlds * studies
    world = np.repeat(np.arange(worlds, dtype=np.int32), studies)
    ended_by = rng.choice([ALL_CAME, DEADLINE, MONEY, NOBODY], n, p=[0.5, 0.3, 0.15, 0.05]).astype(np.int8)
    missing = np.where(ended_by == ALL_CAME, 0, rng.integers(1, PLANNED // 2, n))
    lost = rng.binomial(missing, 0.2).astype(np.int32)
    used = (PLANNED - missing).astype(np.int32)
    seconds = SECONDS * np.exp(spread * rng.normal(size=worlds))[world]
    return {
        "world": world,
        "study": np.tile(np.arange(studies, dtype=np.int32), worlds),
        "document_set": np.zeros(n, np.int32),
        "status": (rng.random(n) < 0.1).astype(np.int8),
        "ended_by": ended_by,
        "ratings_planned": np.full(n, PLANNED, np.int32),
        "ratings_used": used,
        "ratings_lost": lost,
        "ratings_open": (missing - lost).astype(np.int32),
        "cost": PRICE * (used + lost),
        "work_hours": seconds * (used + lost) / 3600,
        "campaign_days": 1.0 + seconds * (used + lost) / 3600 / 4,
        "documents_rated": used // 10,
        "load_entropy_reached": rng.uniform(0.8, 1, n),
    }


def unaccounted(seed: int = 1) -> Draw:
    """Draw the same campaigns as a folder holds them that was filled before there were clocks and budgets."""
    kept = ("world", "study", "document_set", "status", "ratings_used", "cost", "load_entropy_reached")
    return {name: values for name, values in accounted(seed).items() if name in kept}
