"""The design that is named from a pilot is nearly the best of those that cost the same: on real ratings and in truth.

Controls: a rule of thumb that a bar must tell from the advice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest

from simlab.answers.backtest import ADVICE, RuleName, RuleResult
from simlab.commands.backtest import BacktestOptions, judge_advice
from simlab.fitting.backtest.design_advice import CONFIRMED, candidate_by_rule, choose_candidate, shortfall
from simlab.rng import stream
from tests.pilots import Truth, pilot
from tests.statistics.advised_pilots import Judged, judged, mean_and_mcse
from tests.statistics.predicted_pilots import Size, drawn, fitted, known

WITHIN, SPLITS = 0.03, 10
QUICK = Size(pilots=8, n_systems=8, n_documents=20, warmup=0, kept=0, worlds=24, sets=2, per_set=4)
FULL = Size(pilots=20, n_systems=8, n_documents=40, warmup=250, kept=240, worlds=60, sets=2, per_set=8)
DISAGREEING = Truth(system=3.0, leniency=8.0, rater_system=3.0)
"""Raters who differ widely in leniency and favour systems: groupings and normalisations matter."""


def shortfalls(pilots: Sequence[Judged], rule: RuleName = ADVICE) -> list[float]:
    """Return how much less power what a rule names has than the best, pilot by pilot."""
    return [shortfall(one.true, _chosen(one, rule)) for one in pilots]


def _chosen(one: Judged, rule: RuleName):  # type: ignore[no-untyped-def]
    chosen = choose_candidate(one.expected) if rule == ADVICE else candidate_by_rule(list(one.true), rule)
    assert chosen is not None
    return chosen


@pytest.mark.slow
def test_what_a_pilot_names_is_nearly_the_best_where_the_posterior_is_exact() -> None:
    """A quick version: eight pilots, all variances known; the control has no groups, and takes scores as they are."""
    pilots = drawn(QUICK, 3)
    found = judged(pilots, known(pilots, QUICK, 4), QUICK, 7, truths=60)
    mean, mcse = mean_and_mcse(shortfalls(found))
    assert mean <= WITHIN / 2 + 3 * mcse
    control, error = mean_and_mcse(shortfalls(found, "ungrouped"))
    assert control > mean + 3 * float(np.hypot(mcse, error))


@cache
def on_pilots(truth: Truth) -> list[Judged]:
    """Fit twenty pilots; truths are 200 worlds, each studied 16 times."""
    pilots = [pilot(stream(900, "pilot", k), truth, seating=stream(900)) for k in range(FULL.pilots)]
    return judged(pilots, fitted(pilots, FULL, 900), FULL, 50, truths=200, truth=truth)


@pytest.mark.long
@pytest.mark.parametrize("truth", [Truth(), DISAGREEING])
def test_true_power_of_what_twenty_pilots_name_is_nearly_the_best(truth: Truth) -> None:
    """Every single pilot's is; what it names is confirmed."""
    found = on_pilots(truth)
    own = shortfalls(found)
    print(f"advice: {mean_and_mcse(own)}, at most {max(own):.4f}")
    assert max(own) <= WITHIN
    assert min(one.true[_chosen(one, ADVICE)].confirmed for one in found) >= CONFIRMED


@pytest.mark.long
@pytest.mark.parametrize("truth", [Truth(), DISAGREEING])
def test_rules_of_thumb_miss_the_bar_on_twenty_pilots(truth: Truth) -> None:
    """Ungrouped always does; half of the documents twice where raters are alike."""
    for rule in ("all once", "half twice", "ungrouped"):
        print(rule, mean_and_mcse(own := shortfalls(on_pilots(truth), rule)), f"{max(own):.4f}")
    assert np.mean(shortfalls(on_pilots(truth), "ungrouped")) > WITHIN


@cache
def on_real_ratings() -> dict[str, RuleResult]:
    """Name designs from ten halves of the built-in table."""
    found = judge_advice(None, BacktestOptions(splits=SPLITS), quiet=True)
    return {rule.rule: rule for rule in found.rules}


@pytest.mark.long
def test_what_half_of_the_table_names_is_nearly_the_best_on_the_other_half() -> None:
    advice = on_real_ratings()[ADVICE]
    print(advice)
    assert advice.shortfall <= WITHIN + 3 * advice.shortfall_mcse
    assert advice.kept == SPLITS


@pytest.mark.long
@pytest.mark.parametrize("rule", ["half twice", "ungrouped"])
def test_two_rules_of_thumb_miss_the_bar_on_real_ratings(rule: RuleName) -> None:
    own = on_real_ratings()[rule]
    assert own.shortfall > WITHIN + 3 * own.shortfall_mcse
