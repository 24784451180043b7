"""Rerun what README and the pages of docs/ state, as the findings of sweeps are: see `pages.yaml`."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from shipped import content

from simlab.config import load_sweep
from simlab.config.plain_yaml import read_content
from simlab.config.sweepfile import Claim, check_cells, claims
from tests.published.reruns import cells, rerun

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STATED = [
    pytest.param(k, entry["sweep"], id=f"{entry['page']}-{k}") for k, entry in enumerate(content(HERE / "pages.yaml"))
]
BY_SWEEP = list({entry.values[1]: entry for entry in reversed(STATED)}.values())


@functools.cache
def entries() -> list[dict[str, Any]]:
    return list(read_content(HERE / "pages.yaml"))


def stated(k: int) -> tuple[Claim, ...]:
    return claims("claims", entries()[k]["claims"])


@pytest.mark.parametrize(("k", "sweep"), STATED)
def test_a_page_says_so(k: int, sweep: str) -> None:
    says = entries()[k]["says"]
    text = " ".join((ROOT / entries()[k]["page"]).read_text(encoding="utf-8").split())
    assert " ".join(says.split()) in text
    numbers = {float(number) for number in re.findall(r"-?\d*\.?\d+", says.replace(",", ""))}
    assert {claim.value for claim in stated(k)} <= numbers
    check_cells(stated(k), [setting.key for setting in load_sweep(sweep).settings if setting.swept])


@pytest.mark.slow
@pytest.mark.parametrize(("k", "sweep"), BY_SWEEP)
def test_a_cell_of_a_page_holds_at_a_small_size(k: int, sweep: str) -> None:
    first = next(cells(stated(k)))
    for claim, found in zip(first, rerun(sweep, first, full=False), strict=True):
        assert abs(found.value - claim.value) <= claim.within + found.error(claim.value), (claim, found)


@pytest.mark.long
@pytest.mark.parametrize(("k", "sweep"), STATED)
def test_a_page_holds_at_its_full_size(k: int, sweep: str) -> None:
    for about in cells(stated(k)):
        for claim, found in zip(about, rerun(sweep, about, full=True), strict=True):
            assert abs(found.value - claim.value) <= claim.within, (claim, found)
