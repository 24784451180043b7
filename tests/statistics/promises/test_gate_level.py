"""The gate takes back promises of tests that do not hold their level, and no others; what is promised is both together.

All systems are equal; each table has a world of its own. Chains are short: what is checked is the gate, not the fit.
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from simlab.concluding.concluding import conclude
from simlab.concluding.wanted import Wanted
from simlab.effort import use_effort
from tests.concluding.nested_tables import write_nested
from tests.pilots import Truth, pilot, write
from tests.slowness import SHORT

BY_DOCUMENT = ("analysis.test=permutation",)
"""Flips of documents know nothing of how lenient the raters of each system are."""


class Row(NamedTuple):
    """Hold, for each table, whether the promise was withdrawn, something claimed, and claimed without the gate."""

    withdrawn: np.ndarray
    claims: np.ndarray
    ungated: np.ndarray


@functools.cache
def _row(name: str, n: int, folder: Path, studies: int) -> Row:
    found = []
    with use_effort(SHORT._replace(equal_studies=studies)):
        for seed in range(n):
            one = conclude(_table(name, seed, folder), Wanted(overrides=_words(name), again=False), lambda line: None)
            found.append((one.withdrawn, *(any(map(bool, each)) for each in _claims(one))))
    withdrawn, claims, unpromised = np.array(found).T
    return Row(withdrawn, claims, claims | unpromised)


def _claims(one):
    return [pair.verdict for pair in one.pairs], [pair.unpromised for pair in one.pairs]


def _words(name):
    return BY_DOCUMENT if name in ERR else ()


def _table(name, seed, folder):
    path = folder / "t.csv"
    if name == "nested, flips of documents":
        return write_nested(path, seed=seed)
    if name == "a rater for each system":
        return write_nested(path, seed=seed, n_raters=2)
    if name == "nested, by default":
        return write_nested(path, seed=seed)
    alike = Truth(system=0.0, rater_system=0.0 if name == "three raters" else 0.7)
    raters = 3 if name == "three raters" else 8
    held = pilot(np.random.default_rng(seed), alike, n_systems=4, n_documents=30, n_raters=raters)
    write(held, path)
    return path


ERR = "nested, flips of documents", "a rater for each system"
HOLD = "nested, by default", "three raters", "eight raters"


def _check(name, row):
    mcse = np.sqrt(0.05 * 0.95 / len(row.claims))
    assert row.claims.mean() <= 0.05 + 3 * mcse
    assert not (row.claims & row.withdrawn).any()
    if name in ERR:
        assert row.ungated.mean() >= 0.15
        assert row.withdrawn.mean() >= 0.9
    else:
        fires = np.sqrt(0.03 * 0.97 / len(row.claims))
        assert row.withdrawn.mean() <= 0.03 + 3 * fires


@pytest.mark.slow
@pytest.mark.parametrize("name", [ERR[0], HOLD[1]])
def test_some_tables_are_held_back_as_promised(name, tmp_path):
    _check(name, _row(name, 12, tmp_path, 400))


@pytest.mark.long
@pytest.mark.parametrize("name", [*ERR, *HOLD])
def test_many_tables_are_held_back_as_promised(name, tmp_path):
    _check(name, _row(name, 400, tmp_path, 1_000))
