"""Campaigns that are estimated at once come to what each comes to alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simlab.config import compose
from simlab.studies.blocks import run_block
from simlab.studies.judgements import concluding
from simlab.studies.judgements.collecting import collect, draw, lay
from simlab.studies.judgements.preparing import prepare
from simlab.studies.worlds import draw_world
from simlab.types import Campaign, Collected, Place

COMMON = ["question=judge", "budget.human_ratings=60", "budget.metric_ratings=300", "systems.n_systems=3"]
PLACES = [Place(0, study=k) for k in range(5)]


@pytest.mark.parametrize("interval", ["normal", "t", "bootstrap_t"])
@pytest.mark.parametrize("estimator", ["sample_mean", "control_variates", "ppi"])
@pytest.mark.parametrize("shared", ["true", "false"])
def test_a_block_has_the_bits_of_its_studies(estimator: str, interval: str, shared: str) -> None:
    options = [f"analysis.estimator={estimator}", f"analysis.estimator.interval={interval}"]
    config = compose([*COMMON, *options, f"design.shared_inputs={shared}", "decision.multiplicity=holm"])
    assert_same(config)


@pytest.mark.parametrize("estimator", ["binary", "binary_calibrated"])
def test_a_block_of_posteriors_has_the_bits_of_its_studies(estimator: str) -> None:
    assert_same(compose([*COMMON, f"analysis.estimator={estimator}"]))


def assert_same(config: dict[str, Any]) -> None:
    whole = run_block(config, PLACES).arrays
    for k, place in enumerate(PLACES):
        alone = run_block(config, [place]).arrays
        for name, array in alone.items():
            row = slice(None) if name.startswith("true_") else slice(k, k + 1)
            assert array.tobytes() == whole[name][row].tobytes(), name


def test_stacks_are_small_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, campaigns = collected(["analysis.estimator=ppi"])
    judged = [concluding.lay_out_judgements(prepared, one) for one in campaigns]
    assert [len(stack.y) for stack in concluding.stacks(judged, together=True)] == [15]
    assert [len(stack.y) for stack in concluding.stacks(judged, together=False)] == [3] * 5
    monkeypatch.setattr(concluding, "MOST", 2 * judged[0].y.size)
    parts = list(concluding.stacks(judged, together=True))
    assert [len(stack.y) for stack in parts] == [6, 6, 3]
    assert np.array_equal(np.concatenate([stack.y for stack in parts]), np.concatenate([one.y for one in judged]))


def test_campaigns_that_lack_judgements_stand_alone() -> None:
    prepared, campaigns = collected(["analysis.estimator=ppi"])
    seen = campaigns[2].seen
    few = replace(seen, **{name: getattr(seen, name)[3:] for name in ("unit", "item", "rater", "value", "errors")})
    campaigns[2] = replace(campaigns[2], seen=few)
    together = concluding.conclude(prepared, campaigns)
    for k, campaign in enumerate(campaigns):
        alone = concluding.conclude(prepared, [campaign])
        assert all(alone[name].tobytes() == together[name][k : k + 1].tobytes() for name in alone)
    assert (
        len(list(concluding.stacks([concluding.lay_out_judgements(prepared, one) for one in campaigns], together=True)))
        == 3
    )


def test_systems_of_another_campaign_are_no_part_of_a_difference() -> None:
    """The negative control: rows in another order give other pairs."""
    prepared, campaigns = collected(["analysis.estimator=sample_mean"])
    right = concluding.conclude(prepared, campaigns)
    judged = [concluding.lay_out_judgements(prepared, one) for one in campaigns]
    stack = next(concluding.stacks(judged, together=True))
    rolled = replace(stack, y=np.roll(stack.y, 1, axis=0))
    wrong = concluding._conclude(prepared, campaigns, rolled)
    assert not np.array_equal(right["p_value"], wrong["p_value"])


def collected(options: list[str]) -> tuple[Any, list[Collected]]:
    config = compose([*COMMON, *options])
    prepared = prepare(config)
    world = draw_world(config, 0, 0, 0)
    laid = lay(prepared, world, PLACES[0])
    noise = (draw(prepared, world, laid, place) for place in PLACES)
    campaigns = collect(prepared, world, laid, noise, PLACES)
    return prepared, [one.collected for one in campaigns if isinstance(one, Campaign)]
