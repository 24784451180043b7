"""Rerun what README and the pages of docs/ state, as the findings of sweeps are: see `pages.yaml`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from simlab.config import load_sweep
from simlab.config.claims import Claim, check_cells, claims
from simlab.config.plain_yaml import content_of
from tests.published.reruns import cells, rerun

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATED = [
    pytest.param(
        entry["page"], entry["says"], str(entry["sweep"]), claims("claims", entry["claims"]), id=f"{entry['page']}-{k}"
    )
    for k, entry in enumerate(content_of(HERE / "pages.yaml"))
]
BY_SWEEP = list({entry.values[2]: entry for entry in reversed(STATED)}.values())
LONG = [pytest.param(*entry.values, id=entry.id, marks=pytest.mark.long) for entry in STATED]


@pytest.mark.parametrize(("page", "says", "sweep", "stated"), STATED)
def test_a_page_says_so(page: str, says: str, sweep: str, stated: tuple[Claim, ...]) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert " ".join(says.split()) in text
    numbers = {float(number) for number in re.findall(r"-?\d*\.?\d+", says.replace(",", ""))}
    assert {claim.value for claim in stated} <= numbers
    check_cells(stated, [setting.key for setting in load_sweep(sweep).settings if setting.swept])


@pytest.mark.parametrize(("page", "says", "sweep", "stated"), BY_SWEEP)
def test_a_cell_of_a_page_holds_at_a_small_size(page: str, says: str, sweep: str, stated: tuple[Claim, ...]) -> None:
    first = next(cells(stated))
    for claim, found in zip(first, rerun(sweep, first, full=False), strict=True):
        assert abs(found.value - claim.value) <= claim.within + found.error(claim.value), (claim, found)


@pytest.mark.parametrize(("page", "says", "sweep", "stated"), LONG)
def test_a_page_holds_at_its_full_size(page: str, says: str, sweep: str, stated: tuple[Any, ...]) -> None:
    for about in cells(stated):
        for claim, found in zip(about, rerun(sweep, about, full=True), strict=True):
            assert abs(found.value - claim.value) <= claim.within, (claim, found)
