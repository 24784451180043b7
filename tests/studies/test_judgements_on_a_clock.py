"""Judgements on a clock: what came is what no clock gives where nothing goes wrong, and adds up where it does."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import yaml
from clocks import CONF, IDEAL

from simlab.config import compose
from simlab.studies.blocks import Block, run_block
from simlab.studies.outcomes import ACCOUNT, LOAD
from simlab.types import Place

PLACES = [Place(0, study=k) for k in range(4)]
WORDS = ("question=judge", "systems.n_systems=3", "budget.human_ratings=60", "budget.metric_ratings=120")
WIDTHS = sorted(
    path.stem
    for path in (CONF / "decision").glob("*.yaml")
    if "stopping_rules." in yaml.safe_load(path.read_text()).get("_target_", "")
)
STOPPED = ("decision.width=.3", "decision.batch_size=10")
RULES = [
    ("significance", ("analysis.estimator=ppi",)),
    ("significance", ("analysis.estimator=sample_mean", "metric=none")),
    ("significance", ("analysis.estimator=ppi", "design.shared_inputs=false")),
    ("significance", ("analysis.estimator=sample_mean", "metric=none", "systems.outputs_per_document=3")),
    ("significance", ("analysis.estimator=binary_calibrated", "budget.calibration_ratings=40")),
    ("significance", ("analysis.estimator=control_variates", "systems.test_set=fixed", "budget.metric_ratings=null")),
    *(
        (
            rule,
            (
                *STOPPED,
                "analysis.estimator=control_variates" if rule == "ppi_width" else "analysis.estimator=sample_mean",
            ),
        )
        for rule in WIDTHS
    ),
]


def study(*words: str, collection: Any = None) -> dict[str, Any]:
    changed = {word.partition("=")[0] for word in words}
    base = [word for word in WORDS if word.partition("=")[0] not in changed]
    config: dict[str, Any] = copy.deepcopy(dict(compose((*base, *words))))
    if collection is not None:
        config["design"]["collection"] = collection
    return config


def same(timed: Block, plain: Block) -> None:
    """Hold what a clock gives against what no clock gives, bit by bit."""
    assert set(timed.arrays) - set(plain.arrays) == {*ACCOUNT, *LOAD}
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(timed.arrays[name], array, err_msg=name)


@pytest.mark.parametrize(("rule", "words"), RULES)
def test_an_ideal_clock_gives_the_bits_of_no_clock(rule: str, words: tuple[str, ...]) -> None:
    words = (f"decision={rule}", *words)
    same(run_block(study(*words, collection=IDEAL), PLACES), run_block(study(*words), PLACES))
