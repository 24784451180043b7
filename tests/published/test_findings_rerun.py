"""Rerun what the findings of sweeps state: one cell of each at a small size, every cell at its full size."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shipped import SHIPPED, SWEEPS, content
from slowness import slow_except

from simlab.config import load_sweep
from tests.published.reruns import cells, rerun

CELLS = [
    pytest.param(name, k, id=f"{name}-{k}")
    for name in SWEEPS
    for k in range(len({repr(claim["at"]) for claim in content(SHIPPED / f"{name}.yaml")["claims"]}))
]


def test_every_finding_names_its_numbers() -> None:
    """A finding names its cells, and each of them is rerun."""
    counted = {name: len(list(cells(load_sweep(name).claims))) for name in SWEEPS}
    assert min(counted.values()) > 0
    assert sum(counted.values()) == len(CELLS)


@pytest.mark.parametrize("name", slow_except(["optional_stopping", "metric_accuracy"], SWEEPS))
def test_a_cell_of_a_finding_holds_at_a_small_size(name: str) -> None:
    claims = next(cells(load_sweep(name).claims))
    for claim, found in zip(claims, rerun(name, claims, full=False), strict=True):
        assert abs(found.value - claim.value) <= claim.within + found.error(claim.value), (claim, found)


@pytest.mark.long
@pytest.mark.parametrize(("name", "k"), CELLS)
def test_a_finding_holds_at_its_full_size(name: str, k: int) -> None:
    claims = list(cells(load_sweep(name).claims))[k]
    for claim, found in zip(claims, rerun(name, claims, full=True), strict=True):
        assert abs(found.value - claim.value) <= claim.within, (claim, found)


def test_a_claim_that_is_wrong_fails_at_a_small_size() -> None:
    """Hold the control: a false positive rate of .05 is told from one of .3."""
    claims = [claim for claim in load_sweep("optional_stopping").claims if claim.measure == "false_positive"]
    claim = claims[0]
    (found,) = rerun("optional_stopping", [claim], full=False)
    wrong = replace(claim, value=claim.value + 0.25)
    assert abs(found.value - wrong.value) > wrong.within + found.error(wrong.value)
