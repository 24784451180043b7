"""Another law of ratings than counts of errors: whoever states one has fresh noise, shared by all designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from places import places
from small_studies import grouping, study

from simlab.rng import stream
from simlab.studies import blocks
from simlab.studies.ratings import KIND
from simlab.studies.worlds import draw_world
from simlab.types import RATE, Answers, Array, Campaign, Collected, Floats, Ints, Place, World
from simlab.world.laws.fixed import fixed_ratings
from simlab.world.segment_metrics import segment_metric

TABLE = {"pseudo_side_by_side": study(ratings_per_item=2), "ungrouped": study(grouping=grouping("ungrouped"))}


@dataclass(frozen=True)
class Gaussian:
    """Let a rater say `mean[system, item, slot]` plus normal noise of their own; nobody marks errors."""

    mean: Floats
    sd: float

    def draw(self, rng: np.random.Generator, needs: None = None) -> Floats:
        return rng.standard_normal(self.mean.shape)

    def answer(self, noise: Floats, unit: Ints, item: Ints, slot: Ints) -> Answers:
        return Answers(self.mean[unit, item, slot] + self.sd * noise[unit, item, slot], None)

    def expected_ratings(self) -> Floats:
        return self.mean


def world(sd: float = 2.0) -> World:
    """Lay a Gaussian law on the systems, documents and raters of a small study; the first system is the best."""
    frame = draw_world(TABLE["ungrouped"], 0).frame
    mean = np.broadcast_to(np.arange(4.0)[:, None, None] + 5, frame.rater.shape)
    mean = mean + stream(3).standard_normal(frame.rater.shape)
    return World(frame, {RATE: Gaussian(mean, sd)}, truth=np.arange(4.0) + 5)


def collected(rated: World, design: str, study: int) -> tuple[Any, Collected]:
    prepared, place = KIND.prepare(TABLE[design]), Place(0, study=study)
    laid = KIND.lay(prepared, rated, place)
    (campaign,) = KIND.collect(prepared, rated, laid, iter([KIND.draw(prepared, rated, laid, place)]), [place])
    assert isinstance(campaign, Campaign)
    assert KIND.appraise(prepared, rated, laid, [campaign], {}) == {}  # nobody can be asked for the same noise again
    return prepared, campaign.collected


def said(rated: World, design: str, study: int) -> dict[tuple[int, int, int], float]:
    """Say by output and slot what came."""
    _, campaign = collected(rated, design, study)
    seen = campaign.seen
    slot = (rated.frame.rater[seen.unit, seen.item] == seen.rater[:, None]).argmax(1)
    assert (seen.errors == -1).all()
    return dict(zip(zip(seen.unit.tolist(), seen.item.tolist(), slot.tolist(), strict=True), seen.value, strict=True))


def test_designs_are_compared_on_the_same_answers() -> None:
    rated = world()
    law = rated.answers[RATE]
    for study_index in range(3):
        first, second = (said(rated, design, study_index) for design in TABLE)
        both = first.keys() & second.keys()
        assert len(both) > 20
        assert second.keys() - first.keys()  # not all of them are asked for by both
        assert all(first[rating] == second[rating] for rating in both)
    other = said(rated, "ungrouped", 0)
    again = first.keys() & other.keys()
    assert again
    assert all(first[rating] != other[rating] for rating in again)  # another study has noise of its own
    residual = np.array([value - law.mean[rating] for rating, value in first.items()])
    assert abs(residual.std() - 2.0) < 5 * 2.0 / np.sqrt(2 * len(residual))


def test_without_noise_all_studies_hear_the_same() -> None:
    rated = world(sd=0.0)
    first, second = said(rated, "ungrouped", 0), said(rated, "pseudo_side_by_side", 3)
    assert all(first[rating] == second[rating] for rating in first.keys() & second.keys())


def test_conclusions_follow_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    rated = world(sd=0.3)
    prepared, campaign = collected(rated, "ungrouped", 0)
    concluded = KIND.conclude(prepared, [campaign])
    assert fixed_ratings(rated) is None
    assert (concluded["direction"] == 1).all()  # lower is better: earlier systems win
    np.testing.assert_allclose(concluded["estimate"][0], rated.truth, atol=0.8)
    monkeypatch.setattr(blocks, "draw_world", lambda config, *place: rated)
    config = TABLE["ungrouped"] | {"seed": 1}
    arrays: dict[str, Array] = blocks.run_block(config, places(0, 3)).arrays
    for outcome, values in concluded.items():
        np.testing.assert_array_equal(values[0], arrays[outcome][0], err_msg=outcome)
    np.testing.assert_array_equal(arrays["true_value"], rated.truth[None])
    assert not {"twin_direction", "twin_significant"} & arrays.keys()


def test_a_metric_of_segments_follows_what_a_law_expects() -> None:
    rated = world()
    judged = segment_metric(stream(1), rated, correlation=1.0, correlation_sd=0.0)
    quality = rated.answers[RATE].expected_ratings().mean(2)
    for k in range(4):
        assert np.corrcoef(judged.metric[k], quality[k])[0, 1] == pytest.approx(-1)  # the higher score is the better
