"""Claims from judgements are wrong as rarely as promised, whatever documents, labels and metrics are like."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from judge_promises import LEVEL, count, mcse, posterior_coverage
from judge_worlds import World

EQUAL = {True: np.full(6, 0.7), False: np.zeros(6)}
PARTLY = {True: np.repeat([0.8, 0.6], 3), False: np.repeat([0.0, 0.5], 3)}
QUICK, LONG = 60, 2000


def _world(equal: bool, labels: bool, **rest: float | bool) -> World:
    return World((EQUAL if equal else PARTLY)[labels], labels, document=0.3, taste=0.2, **rest)  # type: ignore[arg-type]


HARD = [
    ("few documents", {"n_documents": 24, "labelled": 0.5}),
    ("a tenth", {"n_documents": 200, "labelled": 0.1}),
    ("unequal", {"n_documents": 80, "labelled": 0.5, "unequal": True}),
    ("useless metric", {"n_documents": 80, "labelled": 0.5, "follows": 0.0}),
    ("biased metric", {"n_documents": 80, "labelled": 0.5, "follows": 0.9, "bias": 0.4}),
    ("skewed", {"n_documents": 80, "labelled": 0.5, "skew": 1.5}),
]


def _check(name: str, rest: dict[str, float | bool], equal: bool, labels: bool, tables: int) -> None:
    world = _world(equal, labels, **rest)
    if name == "biased metric":
        world = World(**{**world.__dict__, "bias": np.linspace(0.0, 0.6, 6)})
    found = count(world, tables, name)
    bound = LEVEL + 3 * mcse(LEVEL, tables)
    assert found.humans <= bound
    assert found.corrected <= bound
    assert found.together >= 1 - bound - (0.02 if name == "skewed" else 0)
    if equal:
        assert found.segments > 2 * LEVEL
        if name == "biased metric":
            assert found.plug_in > 0.5


@pytest.mark.parametrize(("name", "rest"), HARD)
def test_wrong_claims_are_rare(name: str, rest: dict[str, float | bool]) -> None:
    _check(name, rest, True, name != "skewed", QUICK)


@pytest.mark.long
@pytest.mark.parametrize(("case", "equal", "labels"), list(product(HARD, (True, False), (True, False))))
def test_wrong_claims_are_rare_at_length(case: tuple[str, dict[str, float | bool]], equal: bool, labels: bool) -> None:
    name, rest = case
    if name == "skewed" and labels:
        pytest.skip("labels have no skew of their own")
    _check(name, rest, equal, labels, LONG)


@pytest.mark.parametrize("tables", [20, pytest.param(400, marks=pytest.mark.long)])
def test_posteriors_hold_shares_where_rates_are_shared(tables: int) -> None:
    """The metric's rates are those of one law only where alphas are alike; then all ways hold."""
    found = posterior_coverage(World(np.full(6, 0.7), n_documents=80, document=0.2, taste=0.1), tables, "shared")
    assert set(found) == {"joint", "own", "partial"}
    for share in found.values():
        # Systems of a table share its documents: a table counts once.
        assert share >= 0.93 - 3 * mcse(0.95, tables)
