"""What other people's repetition shows, predicted from one campaign alone (see docs/trust.md)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from simlab.fitting.scales.outputs import fit_outputs
from simlab.types import Floats
from simlab.world.recorded import make_world
from tests.oracles.other_people import DOCUMENTS, by_others, campaign, observed, repeated

pytestmark = pytest.mark.needs_shared("esa")

DRAWS = 60
FIGURES = {10: (0.20, 0.53, 0.94), 20: (0.37, 0.52, 0.97), 40: (0.49, 0.59, 0.98)}
"""Of ESA-1 against MQM-1: the share of pairs that MQM-1 tells apart, SRP, and the share confirmed, from an audit."""


@pytest.mark.parametrize("n", DOCUMENTS)
def test_campaigns_as_they_are_read_repeat_each_other_as_they_did(n: int) -> None:
    found = repeated(observed("ESA"), observed("MQM"), n, DRAWS)
    figures = float(found.significant[0]), float(found.srp[0]), float(found.confirmed[0])
    # Draws of documents differ: of so many, SRP has an error of .06.
    np.testing.assert_array_less(np.abs(np.subtract(figures, FIGURES[n])), (0.04, 0.15, 0.03))


@cache
def others() -> Floats:
    table = campaign("ESA")
    return by_others(fit_outputs("gaussian", table, draws=100), make_world(table).frame)


@pytest.mark.long
@pytest.mark.parametrize("n", DOCUMENTS)
def test_one_campaign_predicts_what_others_find_of_the_same_outputs(n: int) -> None:
    expected, found = (repeated(observed("ESA"), second, n, DRAWS) for second in (others(), observed("MQM")))
    assert abs(expected.significant.mean() - found.significant[0]) <= 0.07
    assert abs(expected.confirmed.mean() - found.confirmed[0]) <= 0.03
    low, high = np.quantile(expected.srp, (0.05, 0.95))
    assert low <= found.srp[0] <= high


@pytest.mark.long
def test_other_systems_under_the_same_names_are_not_predicted() -> None:
    """Hold the negative control: the repetition's systems are shuffled."""
    shuffled = observed("MQM")[:, :, np.random.default_rng(2).permutation(13)]
    expected, found = repeated(observed("ESA"), others(), 40, DRAWS), repeated(observed("ESA"), shuffled, 40, DRAWS)
    assert abs(expected.confirmed.mean() - found.confirmed[0]) > 0.1
    assert found.srp[0] < np.quantile(expected.srp, 0.05)
