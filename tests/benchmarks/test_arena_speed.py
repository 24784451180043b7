"""Measure how long a large arena takes: `pytest tests/benchmarks -n 0 -m long`."""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
import pytest

from simlab.concluding.options import ConcludeOptions
from simlab.concluding.preferences.concluding import conclude

SECONDS, GIGABYTES = 60.0, 3.0


def arena(path: Path, n: int, n_systems: int, n_voters: int) -> Path:
    """Write votes of an arena whose voters vote seldom or often."""
    rng = np.random.default_rng(1)
    strength = rng.normal(0, 0.6, n_systems)
    first = rng.integers(n_systems, size=n)
    second = (first + rng.integers(1, n_systems, size=n)) % n_systems
    d = strength[first] - strength[second]
    chance = np.stack([np.exp(d / 2), np.full(n, 0.6), np.exp(-d / 2)], axis=1)
    u = rng.random(n) * chance.sum(1)
    outcome = (u > chance[:, 0]).astype(int) + (u > chance[:, 0] + chance[:, 1])
    load = rng.lognormal(0, 1.5, n_voters)
    voter = rng.choice(n_voters, n, p=load / load.sum())
    word = np.array(["model_a", "tie", "model_b"])[outcome]
    columns = zip(rng.integers(n // 2, size=n), first, second, word, voter, strict=True)
    with path.open("w") as file:
        file.write("item,system_a,system_b,winner,rater\n")
        file.writelines(f"i{x},m{a},m{b},{w},u{r}\n" for x, a, b, w, r in columns)
    return path


def test_an_arena_of_twenty_thousand_votes_is_concluded_in_seconds(tmp_path: Path) -> None:
    table = arena(tmp_path / "arena.csv", 20_000, 20, 3000)
    begun = time.process_time()
    found = conclude(table, ConcludeOptions(), lambda words: None)
    assert time.process_time() - begun < 20
    assert any(one.verdict for one in found.pairs)


@pytest.mark.long
@pytest.mark.parametrize("promise", ["fixed", "anytime"])
def test_a_million_votes_of_sixty_systems_take_less_than_a_minute(tmp_path: Path, promise: str) -> None:
    table = arena(tmp_path / "arena.csv", 1_000_000, 60, 150_000)
    begun = time.process_time()
    found = conclude(table, ConcludeOptions(promise=promise), lambda words: None)  # type: ignore[arg-type]
    assert time.process_time() - begun < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < GIGABYTES * 1e6
    assert sum(one.verdict != 0 for one in found.pairs) > 100
