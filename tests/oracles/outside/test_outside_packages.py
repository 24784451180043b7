"""Hold estimators, intervals and tests against packages of others, asked anew (`uv sync --group oracles`)."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.outside.counterparts import COUNTERPARTS, SEEDS, differs, of_package, of_simlab, recorded

MODULES = {
    "crowd-kit": "crowdkit",
    "ppi-python": "ppi_py",
    "generalizit": "generalizit",
    "statsmodels": "statsmodels",
    "scipy": "scipy",
}
MORE = range(100, 120)
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("default")]


def needed(name: str) -> None:
    module = MODULES[COUNTERPARTS[name].package]
    pytest.importorskip(module, reason=f"{COUNTERPARTS[name].package} is not installed; uv sync --group oracles")


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_packages_still_say_what_was_recorded(name: str) -> None:
    needed(name)
    for seed in SEEDS:
        for key, said in recorded()[name][str(seed)].items():
            # Searches and seeded draws end in the same place; other versions of numpy may differ in last digits.
            np.testing.assert_allclose(of_package(name, seed)[key], said, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", COUNTERPARTS)
def test_simlab_says_what_packages_say_of_other_samples(name: str) -> None:
    needed(name)
    assert [one for seed in MORE for one in differs(name, seed, of_simlab(name, seed), of_package(name, seed))] == []
