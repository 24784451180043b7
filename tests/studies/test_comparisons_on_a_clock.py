"""Comparisons on a clock: what came is what no clock gives where nothing goes wrong, and adds up where it does."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest
import yaml
from clocks import CONF, IDEAL, TROUBLE

from simlab.config import compose
from simlab.design.collection.crew import crew as crew_of
from simlab.studies.blocks import Block, run_block
from simlab.studies.checks import check
from simlab.studies.outcomes import ACCOUNT, LOAD
from simlab.types import DEADLINE, DROPPED_OUT, EXCLUDED, OK, Chances, InputError, Place, Tasks, Work

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


@pytest.mark.parametrize("wait", ["round", pytest.param("pair", marks=pytest.mark.slow)])
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


def test_whoever_hears_answers_as_they_come_hears_the_lapses_of_the_log() -> None:
    crew = functools.partial(crew_of, **{key: value for key, value in TROUBLE.items() if key != "_target_"})
    heard: dict[tuple[int, int], bool] = {}

    def hears(task: int, person: int, lapsed: bool) -> None:
        heard[task, person] = lapsed

    work = Work(Tasks(np.ones(400, int), np.full(400, -1)), None, hears=hears)
    log = crew(Chances(np.random.default_rng(1), np.random.default_rng(2)), work)
    answers = (log.task >= 0) & (log.fate != DROPPED_OUT)
    told = zip(log.task[answers].tolist(), log.person[answers].tolist(), log.lapsed[answers].tolist(), strict=True)
    assert {(task, person): lapsed for task, person, lapsed in told} == heard
    assert (log.fate == DROPPED_OUT).any()
    assert (log.fate == EXCLUDED).any()
    assert any(heard.values())


@pytest.mark.parametrize(
    ("words", "keys", "reason"),
    [
        (("decision=human_only",), {"design__wait": "pair"}, "nothing takes time; choose design.collection=crowd"),
        (
            ("decision=anytime", "decision.multiplicity=closed"),
            {"design__wait": "pair", "design__collection": IDEAL},
            "fall out of step; set design.wait=round",
        ),
    ],
)
def test_pairs_that_go_ahead_are_refused_where_that_says_nothing(
    words: tuple[str, ...], keys: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        check(study(*words, **keys))
    check(study(*words, **keys | {"design__wait": "round"}))


def test_waiting_for_the_last_of_a_round_takes_longer_than_waiting_for_nobody() -> None:
    """Pairs that do not wait get as far on the same answers, in fewer days: the latency of rounds is paid."""
    slow = IDEAL | {"crew_size": 12, "arrival_hours": 0.0, "hours_a_day": 24.0, "shift_spread": 0.0, "screen_sd": 1.0}
    days = {
        wait: run_block(study("decision=human_only", design__collection=slow, design__wait=wait), PLACES)
        for wait in ("round", "pair")
    }
    np.testing.assert_array_equal(days["round"].arrays["rounds"], days["pair"].arrays["rounds"])
    assert days["pair"].arrays["campaign_days"].mean() < days["round"].arrays["campaign_days"].mean()


def test_a_campaign_that_saw_nothing_says_so() -> None:
    nothing = study("decision=human_only", design__collection=IDEAL | {"arrival_hours": 100.0}, budget__deadline="1h")
    arrays = run_block(nothing, PLACES).arrays
    assert (arrays["ended_by"] == DEADLINE).all()
    assert (arrays["ratings_used"] == 0).all()
    assert (arrays["ratings_open"] == arrays["ratings_planned"]).all()
    assert not arrays["significant"].any()
    assert np.isnan(arrays["load_entropy_reached"]).all()
    assert (arrays["status"] == OK).all()
