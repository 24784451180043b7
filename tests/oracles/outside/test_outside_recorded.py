"""Hold estimators, intervals and tests against what packages of others said of the same samples (recorded.json)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.outside.counterparts import COUNTERPARTS, SEEDS, differs, of_simlab, recorded

CONTROLS = {name: one.unlike for name, one in COUNTERPARTS.items() if one.unlike}


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_simlab_says_what_packages_of_others_said(name: str) -> None:
    said = recorded()[name]
    assert of_simlab(name, 0).keys() == said["0"].keys()
    assert [one for seed in SEEDS for one in differs(name, seed, of_simlab(name, seed), said[str(seed)])] == []


@pytest.mark.parametrize("name", CONTROLS)
def test_another_method_is_told_apart(name: str) -> None:
    """Hold the negative control: what its neighbour says is not what the package said."""
    said, other = recorded()[name], CONTROLS[name]
    assert any(differs(name, seed, of_simlab(other, seed), said[str(seed)]) for seed in SEEDS)


@pytest.mark.parametrize("name", [name for name, one in COUNTERPARTS.items() if not one.error])
def test_numbers_that_are_slightly_off_are_told_apart(name: str) -> None:
    said, off = recorded()[name]["0"], 1 + 30 * COUNTERPARTS[name].within
    bent = {key: (np.array(value) * off + (off - 1)).tolist() for key, value in of_simlab(name, 0).items()}
    assert len(differs(name, 0, bent, said)) == len(said)
