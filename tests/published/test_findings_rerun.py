"""Rerun what the findings of sweeps state: one cell of each at a small size, every cell at its full size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simlab.config import list_sweeps, load_sweep
from simlab.config.claims import Claim
from tests.published.reruns import cells, rerun

FULL = [
    pytest.param(name, claims, id=f"{name}-{k}", marks=pytest.mark.long)
    for name in list_sweeps()
    for k, claims in enumerate(cells(load_sweep(name).claims))
]


def test_every_finding_names_its_numbers() -> None:
    assert [name for name in list_sweeps() if not load_sweep(name).claims] == []


@pytest.mark.parametrize("name", list_sweeps())
def test_a_cell_of_a_finding_holds_at_a_small_size(name: str) -> None:
    claims = next(cells(load_sweep(name).claims))
    for claim, found in zip(claims, rerun(name, claims, full=False), strict=True):
        assert abs(found.value - claim.value) <= claim.within + found.error(claim.value), (claim, found)


@pytest.mark.parametrize(("name", "claims"), FULL)
def test_a_finding_holds_at_its_full_size(name: str, claims: list[Claim]) -> None:
    for claim, found in zip(claims, rerun(name, claims, full=True), strict=True):
        assert abs(found.value - claim.value) <= claim.within, (claim, found)


def test_a_claim_that_is_wrong_fails_at_a_small_size() -> None:
    """Hold the control: a false positive rate of .05 is told from one of .3."""
    claims = [claim for claim in load_sweep("optional_stopping").claims if claim.measure == "false_positive"]
    claim = claims[0]
    (found,) = rerun("optional_stopping", [claim], full=False)
    wrong = replace(claim, value=claim.value + 0.25)
    assert abs(found.value - wrong.value) > wrong.within + found.error(wrong.value)
