"""Comparisons on a clock: what came is what no clock gives where nothing goes wrong, and adds up where it does."""

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
WORDS = ("question=compare", "systems.n_systems=4", "systems.n_items=40", "metric.n_outputs=80")
BUDGET = ("budget.annotations_per_pair=40", "budget.batch_size=5")


def _is_for_pairs(name: str) -> bool:
    return "decisions." in yaml.safe_load((CONF / f"decision/{name}.yaml").read_text()).get("_target_", "")


RULES = sorted(path.stem for path in (CONF / "decision").glob("*.yaml") if _is_for_pairs(path.stem))
FAMILIES = [
    ("fixed", "holm"),
    ("anytime", "closed"),
    ("betting", "e_bh"),
    ("betting", "holm"),
    ("group_sequential", "holm"),
]


def study(*words: str, **keys: Any) -> dict[str, Any]:
    config: dict[str, Any] = copy.deepcopy(dict(compose((*WORDS, *BUDGET, *words))))
    for key, value in keys.items():
        section, name = key.split("__")
        config[section][name] = value
    return config


def same(timed: Block, plain: Block) -> None:
    """Hold what a clock gives against what no clock gives, bit by bit."""
    assert set(timed.arrays) - set(plain.arrays) == {*ACCOUNT, *LOAD}
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(timed.arrays[name], array, err_msg=name)


@pytest.mark.parametrize("wait", ["round", "pair"])
@pytest.mark.parametrize("rule", RULES)
def test_an_ideal_clock_gives_the_bits_of_no_clock(rule: str, wait: str) -> None:
    config = study(f"decision={rule}")
    same(
        run_block(study(f"decision={rule}", design__collection=IDEAL, design__wait=wait), PLACES),
        run_block(config, PLACES),
    )


@pytest.mark.parametrize(("rule", "multiplicity"), FAMILIES)
def test_so_it_does_where_pairs_are_judged_together(rule: str, multiplicity: str) -> None:
    words = (f"decision={rule}", f"decision.multiplicity={multiplicity}")
    plain = run_block(study(*words), PLACES)
    same(run_block(study(*words, design__collection=IDEAL), PLACES), plain)


def test_so_it_does_where_a_number_of_comparisons_is_the_budget_and_the_metric_helps_across_pairs() -> None:
    words = ("decision=bayes", "decision.sharing=joint", "budget.annotations=90")
    same(run_block(study(*words, design__collection=IDEAL), PLACES[:1]), run_block(study(*words), PLACES[:1]))


def test_people_who_do_not_look_say_something_else() -> None:
    lapsing = run_block(study("decision=human_only", design__collection=IDEAL | {"lapse_rate": 0.5}), PLACES)
    with pytest.raises(AssertionError):
        same(lapsing, run_block(study("decision=human_only"), PLACES))
