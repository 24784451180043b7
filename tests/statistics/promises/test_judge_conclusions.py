"""Claims from judgements are wrong as rarely as promised, whatever documents, labels and metrics are like."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from judge_promises import HARD, LEVEL, count, differences_found, mcse, posterior_coverage, world_of
from judge_worlds import World
from slowness import slow_except

QUICK, LONG = 60, 2000


def _check(name: str, equal: bool, labels: bool, tables: int) -> None:
    found = count(world_of(name, equal=equal, labels=labels), tables, name)
    bound = LEVEL + 3 * mcse(LEVEL, tables)
    assert found.humans <= bound
    assert found.corrected <= bound
    assert found.chosen <= bound
    assert found.together >= 1 - bound - (0.02 if name == "skewed" else 0)
    if equal:
        assert found.segments > 2 * LEVEL
        if name == "biased metric":
            assert found.plug_in > 0.5


@pytest.mark.parametrize("name", slow_except([name for name in HARD if name != "a tenth"], HARD))
def test_wrong_claims_are_rare(name: str) -> None:
    _check(name, True, name != "skewed", QUICK)


@pytest.mark.long
@pytest.mark.parametrize(("name", "equal", "labels"), list(product(HARD, (True, False), (True, False))))
def test_wrong_claims_are_rare_at_length(name: str, equal: bool, labels: bool) -> None:
    if name == "skewed" and labels:
        pytest.skip("labels have no skew of their own")
    _check(name, equal, labels, LONG)


@pytest.mark.parametrize("name", ["12 documents"])
def test_nearly_as_much_is_found_as_by_known_errors(name: str) -> None:
    for row in differences_found(QUICK, (name,)):
        assert row.value >= row.bound - 3 * row.mcse, row


@pytest.mark.slow
@pytest.mark.parametrize("tables", [20, pytest.param(400, marks=pytest.mark.long)])
def test_posteriors_hold_shares_where_rates_are_shared(tables: int) -> None:
    """The metric's rates are those of one law only where alphas are alike; then all ways hold."""
    found = posterior_coverage(World(np.full(6, 0.7), n_documents=80, document=0.2, taste=0.1), tables, "shared")
    assert set(found) == {"joint", "own", "partial"}
    for share in found.values():
        # Systems of a table share its documents: a table counts once.
        assert share >= 0.93 - 3 * mcse(0.95, tables)
