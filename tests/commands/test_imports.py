"""What commands import before they are asked for anything that needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HEAVY = [
    *("jax", "numpyro", "scipy.stats", "scipy.optimize", "scipy.interpolate"),
    *("pandas", "xarray", "zarr", "matplotlib"),
]
"""Each takes longer to import than what these commands do."""

LIGHT = (
    ["show"],
    ["show", "item_grouping"],
    ["detect", "n_human=100"],
    ["agreement", "examples/ratings.csv"],
    ["sweep", "item_grouping", "--dry-run"],
)


def test_listing_what_there_is_imports_no_numpy() -> None:
    code = "import sys; from simlab.cli import answer; print(answer(['show']), 'numpy' in sys.modules); "
    code += "print(answer(['show', 'item_grouping']), 'numpy' in sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    ).stdout
    # What does need it is found, too.
    assert [line for line in out.splitlines() if line.startswith("0 ")] == ["0 False", "0 True"]


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [["numpy"], HEAVY])
def test_commands_import_nothing_that_takes_longer_than_they_do(heavy: list[str]) -> None:
    code = f"import sys; from simlab.cli import answer; [answer(one) for one in {LIGHT}]; "
    code += f"print(sorted({set(heavy)} & set(sys.modules)))"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY
    ).stdout
    # What they do import is found, too.
    assert out.splitlines()[-1] == str(["numpy"] if heavy == ["numpy"] else [])
