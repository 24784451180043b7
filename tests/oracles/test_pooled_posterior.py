"""Pairs that help each other learn about a metric, against the whole hierarchy sampled by NUTS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simlab.analysis.preference import win_posterior
from simlab.analysis.preferences.posterior import priors

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("pooled_posteriors.json").read_text())
APPROXIMATE = {"alike": 0.21, "apart": 0.03}
"""How far theta may be from that of the whole hierarchy: others' columns are summed up by mean and variance, each by
itself, and what the metric says of outputs that nobody annotated teaches nothing of its errors. Both matter most where
pairs are alike and annotations few."""


def thetas(case: dict[str, Any], sharing: Any) -> np.ndarray:
    confusion = np.array(case["confusion"])
    prior = priors(confusion, len(confusion), sharing, two_outcomes=False)
    return np.asarray(win_posterior(confusion.sum(1), confusion, case["metric"], prior=prior).theta)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_pairs_are_pooled_as_the_whole_hierarchy_would(case: dict[str, Any]) -> None:
    reference = case["reference"]
    assert reference["r_hat"] < 1.03
    away = np.abs(thetas(case, "partial") - reference["theta"])
    assert (away <= APPROXIMATE[case["name"]]).all()
    # The control: pairs that learn alone are further away.
    assert np.abs(thetas(case, "own") - reference["theta"]).max() > 2 * away.max()
