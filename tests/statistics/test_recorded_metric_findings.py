"""Hold real ratings against metrics of which one knows what they say: the humans themselves, and nothing at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from places import places

from simlab.config import compose
from simlab.measures import preferences
from simlab.studies.blocks import run_block
from tests.statistics.test_findings import surely_more

FIVE = "systems.names=[AIRC,GPT4-5shot,NLLB_Greedy,ONLINE-A,ONLINE-W]"
SIZES = [pytest.param(12, id="quick"), pytest.param(100, id="full", marks=pytest.mark.long)]


def outcomes(studies: int, column: str, *more: str) -> dict[str, Any]:
    words = ["systems=recorded", "systems.path=simlab:wmt23_ende", FIVE, "metric=recorded", f"metric.column={column}"]
    rule = () if any(word.startswith("decision=") for word in more) else ("decision=bayes",)
    sizes = "budget.annotations_per_pair=460", "budget.batch_size=20"
    return run_block(compose([*words, *rule, *sizes, *more]), places(0, studies)).arrays


def test_a_metric_that_is_the_humans_themselves_agrees_entirely_and_only_sees_more() -> None:
    found = outcomes(2, "score", "decision=naive")
    assert preferences.correct(found).value == 1
    assert preferences.kld(found).value < 1e-4
    control = outcomes(2, "Random-sysname-src", "decision=naive")
    assert preferences.correct(control).value < 0.8
    assert preferences.kld(control).value > 0.1


@pytest.mark.parametrize("studies", SIZES)
def test_an_ideal_metric_helps_and_a_random_one_does_not(studies: int) -> None:
    alone, ideal, blind = (outcomes(studies, name) for name in ("none", "ideal", "Random-sysname-src"))
    assert preferences.inversion(ideal).value < 0.005
    kld = {name: preferences.kld(of) for name, of in (("alone", alone), ("ideal", ideal), ("blind", blind))}
    assert surely_more(kld["blind"], kld["ideal"])
    assert surely_more(kld["blind"], kld["alone"])  # whatever it saves, the result pays for
    assert not surely_more(kld["ideal"], kld["alone"])
    used, needed = (preferences.annotation_fraction(of) for of in (alone, ideal))
    assert not surely_more(needed, used)


def test_a_metric_that_knows_nothing_and_favours_nobody_saves_nothing() -> None:
    """Its preferences are drawn alike whatever humans say, and as often for either system."""
    alone = outcomes(12, "none")
    words = "metric=mu_matrix", "metric.concentration=null", "metric.n_outputs=557"
    even = "metric.mu=[[.45,.45,.45],[.1,.1,.1],[.45,.45,.45]]"
    where = "systems=recorded", "systems.path=simlab:wmt23_ende", FIVE
    sizes = "budget.annotations_per_pair=460", "budget.batch_size=20"
    config = compose([*where, *words, even, "decision=bayes", *sizes])
    blind = run_block(config, places(0, 12)).arrays
    used, saved = (preferences.annotation_fraction(of) for of in (alone, blind))
    assert not surely_more(used, saved)
    assert abs(used.value - saved.value) < 0.02


def test_margins_make_draws_of_what_is_near() -> None:
    """With a margin the metric draws more; with one that is larger than any difference it says nothing."""
    near, far = (outcomes(1, "COMET-refA", "decision=naive", f"metric.margin={m}") for m in (0.02, 10.0))
    shares = [found["p_mean"][0, :, 1].mean() for found in (outcomes(1, "COMET-refA", "decision=naive"), near, far)]
    assert shares[0] < shares[1] < shares[2] == 1
    np.testing.assert_array_equal(far["verdict"], 0)
