"""Hold verdicts about pairs against all human ratings, by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import xarray as xr

from simlab.comparing.verdicts import DIFFERENT, EQUAL, INSERTION, INVERSION, OMISSION, matches, matrix
from simlab.types import Array


def test_every_pair_of_verdict_and_reference_has_one_name() -> None:
    expected = {
        (1, 1): DIFFERENT, (-1, -1): DIFFERENT, (0, 0): EQUAL, (1, -1): INVERSION, (-1, 1): INVERSION,
        (0, 1): OMISSION, (0, -1): OMISSION, (1, 0): INSERTION, (-1, 0): INSERTION,
    }  # fmt: skip
    pairs = list(itertools.product((1, 0, -1), repeat=2))
    verdict, reference = np.array(pairs).T
    assert matches(verdict, reference).tolist() == [expected[pair] for pair in pairs]


def cell(verdict: list[list[int]], status: list[int], world: list[int]) -> xr.Dataset:
    """Return campaigns about three systems, of which the last wins and the first loses by all human ratings."""
    n = len(verdict)
    rates = np.array([[0.1, 0.2, 0.7], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    variables: dict[str, tuple[list[str], Array]] = {
        "status": (["replicate"], np.array(status)),
        "world": (["replicate"], np.array(world)),
        "study": (["replicate"], np.arange(n)),
        "verdict": (["replicate", "pair"], np.array(verdict)),
        "reference_verdict": (["replicate", "pair"], np.tile([-1, -1, 0], (n, 1))),
        "reference_p": (["replicate", "pair", "preference"], np.tile(rates, (n, 1, 1))),
    }
    coords = {"system": ["a", "b", "c"], "pair_first": ("pair", [0, 0, 1]), "pair_second": ("pair", [1, 2, 2])}
    return xr.Dataset(variables, {**coords, "n_systems": 3})


def test_a_matrix_is_of_the_first_world_and_in_the_order_of_wins() -> None:
    held = matrix(cell([[0, 0, 0], [-1, 1, 0], [-1, 0, 1], [1, 1, 1]], [1, 0, 0, 0], [0, 1, 1, 2]))
    assert held is not None
    assert held.names == ("c", "b", "a")
    # Pairs (a, b), (a, c), (b, c), by rank.
    assert (held.better.tolist(), held.worse.tolist()) == ([1, 0, 0], [2, 2, 1])
    assert held.match.tolist() == [DIFFERENT, INVERSION, EQUAL]
    assert held.wrong == pytest.approx([0, 1, 0.5])
    assert (held.campaigns, held.world, held.study) == (2, 1, 1)


def test_where_nothing_was_carried_out_there_is_no_matrix() -> None:
    assert matrix(cell([[0, 0, 0]], [1], [0])) is None
