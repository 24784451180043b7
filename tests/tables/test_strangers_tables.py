"""What a table says does not change with how it is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from simlab.tables import preferences
from simlab.tables.reading import read
from tests.strangers import Rows, answer_or_line, comparisons_of, mutations, ratings_of


def _ratings(seed: int) -> Rows:
    """Make ratings up: systems, documents and raters by the dozen, a score with a fraction, in no order."""
    rng = random.Random(seed)
    systems = [f"sys{k}" for k in range(rng.randint(2, 5))]
    rows = [
        (system, str(document), f"r{rater}", f"{rng.randint(4, 20) / 4:g}")
        for system in systems
        for document in range(rng.randint(4, 9))
        for rater in range(2)
    ]
    return [("system", "document", "rater", "score"), *rng.sample(rows, len(rows))]


def _votes(seed: int) -> Rows:
    rng = random.Random(seed)
    rows = []
    for item in range(12):
        first, second = rng.sample(["alpha", "beta", "gamma"], 2)
        rows.append((f"q{item}", first, second, rng.choice((first, second, "tie")), f"w{item % 3}"))
    return [("item", "system_a", "system_b", "winner", "rater"), *rows]


@pytest.mark.parametrize("seed", [1, 2])
def test_ratings_are_read_alike_however_they_are_written(tmp_path: Path, seed: int) -> None:
    table = _ratings(seed)
    expected = {(system, document, document, rater, float(score)) for system, document, rater, score in table[1:]}
    kinds = {"system": ("system",), "rater": ("rater",)}
    read_alike = 0
    for one in mutations(table, tmp_path, seed, names=kinds, numbers=("score",)):
        found = answer_or_line(read, one.path)
        assert not isinstance(found, str), (one, found)
        assert set(ratings_of(found, one)) == expected, one
        read_alike += 1
    assert read_alike == 40


@pytest.mark.parametrize("seed", [1, 2])
def test_comparisons_are_read_alike_however_they_are_written(tmp_path: Path, seed: int) -> None:
    table = _votes(seed)
    (plain,) = mutations(table, tmp_path / "plain", seed, 1, names={}, leave=[])
    expected = comparisons_of(preferences.read(plain.path))
    kinds = {"system": ("system_a", "system_b"), "rater": ("rater",)}
    read_alike = 0
    for one in mutations(table, tmp_path, seed, names=kinds, refers={"winner": "system"}):
        found = answer_or_line(preferences.read, one.path)
        assert not isinstance(found, str), (one, found)
        assert comparisons_of(found, one) == expected, one
        read_alike += 1
    assert read_alike == 40
