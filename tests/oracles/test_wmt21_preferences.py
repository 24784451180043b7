"""The protocol on the published scores of WMT21 English-German, as Deriu et al. 2023 apply it (human ratings only)."""

from __future__ import annotations

import numpy as np
import pytest
from places import places
from shared_data import SHARED

from simlab.config import compose
from simlab.measures import preferences
from simlab.studies.blocks import run_block

SCORES = SHARED / "mqm_newstest2021_ende.avg_seg_scores.tsv"
EIGHT = "Facebook-AI,HuaweiTSC,Nemo,Online-W,UEdin,VolcTrans-AT,VolcTrans-GLAT,eTranslation"
NAMES = f"systems.names=[{EIGHT},ref-B,ref-C,ref-D]"

pytestmark = [pytest.mark.needs_shared(SCORES.name), pytest.mark.slow]


@pytest.fixture(scope="module")
def outcomes() -> dict[str, np.ndarray]:
    where = ["systems=recorded", f"systems.path={SCORES}", NAMES, "metric=none", "decision=human_only"]
    config = compose([*where, "budget.annotations_per_pair=527", "budget.batch_size=10"])
    return run_block(config, places(0, 200)).arrays


def test_it_has_the_pairs_and_segments_of_the_paper(outcomes: dict[str, np.ndarray]) -> None:
    assert outcomes["verdict"].shape == (200, 55)
    assert (outcomes["ratings_possible"] == 55 * 527).all()


def test_errors_and_annotations_are_those_found_before(outcomes: dict[str, np.ndarray]) -> None:
    for measure, wanted in (
        (preferences.correct, 0.83),
        (preferences.insertion, 0.165),
        (preferences.annotation_fraction, 0.465),
    ):
        estimate = measure(outcomes)
        assert estimate.n == 200
        assert abs(estimate.value - wanted) < 0.02
    assert preferences.inversion(outcomes).value < 0.02


def test_the_saving_of_annotations_is_none_of_ratings(outcomes: dict[str, np.ndarray]) -> None:
    """Pairs share outputs and their order, so nearly every output has to be rated for some pair."""
    assert preferences.item_rating_fraction(outcomes).value > 0.93


def test_the_published_row_is_that_of_two_levels() -> None:
    """The study ends at one level, and is held against a full evaluation that is judged at a stricter one."""
    two = ["decision.level=.1", "analysis.reference_level=.025", "budget.annotations_per_pair=527"]
    where = ["systems=recorded", f"systems.path={SCORES}", NAMES, "metric=none", "decision=human_only"]
    found = run_block(compose([*where, *two, "budget.batch_size=10"]), places(0, 200)).arrays
    for measure, published in ((preferences.correct, 0.65), (preferences.insertion, 0.35)):
        estimate = measure(found)
        assert abs(estimate.value - published) < 0.025 + 3 * (estimate.mcse or 0)
    assert abs(preferences.annotation_fraction(found).value - 0.34) < 0.025
    # What the paper prints of the divergence is not reached.
    assert preferences.kld(found).value < 0.04
