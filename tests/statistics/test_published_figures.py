"""Find every panel of figures 3 to 8 of Riley et al. 2024 in both languages, on worlds paired between designs.

A shape is an order of two lines at a number of documents, beyond the error of their difference; where the paper says
that lines lie together, the difference is not beyond it. The default tests take English-Chinese shapes; those of
English-German are also in `test_findings.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from places import places
from scipy import stats

from simlab.config import compose
from simlab.measures.stability import srp
from simlab.studies.blocks import run_block
from simlab.types import Estimate

GERMAN, CHINESE = "english_german", "english_chinese"
QUICK, LONG = (16, 8), (40, 16)
"""Worlds, and studies in each."""
DESIGNS = {
    "side by side": (),
    "system-balanced": ("design.grouping=system_balanced",),
    "ungrouped": ("design.grouping=ungrouped",),
    "uneven": ("design.load_entropy=0.6",),
    "single": ("design.studies_per_document_set=1",),
    "double": ("design.studies_per_document_set=1", "design.ratings_per_item=2"),
}
SHAPES = [
    # figure, language, design that is more stable, design that is less, documents of either, in the default tests
    (3, GERMAN, "side by side", "system-balanced", 60, 60, False),
    (3, GERMAN, "side by side", "ungrouped", 60, 60, False),
    (3, GERMAN, "system-balanced", "ungrouped", 60, 60, False),
    (3, CHINESE, "side by side", "ungrouped", 20, 20, True),
    (3, CHINESE, "side by side", "ungrouped", 60, 60, False),
    (3, CHINESE, "system-balanced", "ungrouped", 60, 60, False),
    (4, GERMAN, "side by side", "uneven", 90, 90, False),
    (4, CHINESE, "uneven", "side by side", 90, 90, True),
    (5, GERMAN, "side by side, zscore", "side by side", 60, 60, False),
    (5, CHINESE, "side by side, zscore", "side by side", 60, 60, False),
    (6, GERMAN, "uneven, zscore", "uneven", 90, 90, False),
    (6, GERMAN, "side by side", "uneven, zscore", 90, 90, False),
    (6, CHINESE, "uneven, zscore", "uneven", 90, 90, False),
    (6, CHINESE, "uneven", "side by side, zscore", 90, 90, False),
    (7, GERMAN, "ungrouped, zscore", "ungrouped", 60, 60, False),
    (7, GERMAN, "ungrouped, mean", "ungrouped", 60, 60, False),
    (7, GERMAN, "side by side", "ungrouped, zscore", 60, 60, False),
    (7, CHINESE, "ungrouped, zscore", "ungrouped", 60, 60, True),
    (7, CHINESE, "ungrouped, mean", "ungrouped", 60, 60, False),
]


@cache
def stability(size: tuple[int, int], language: str, design: str, documents: int, *more: str) -> Estimate:
    """Return the SRP of a design, whose name ends in its normalisation."""
    grouping, _, normalization = design.partition(", ")
    overrides = [*DESIGNS[grouping], *([f"analysis.normalization={normalization}"] if normalization else []), *more]
    sizes = [f"worlds={size[0]}", f"studies={size[1]}", f"design.documents={documents}"]
    config = compose(["analysis.test=permutation", "decision=significance", f"systems={language}", *overrides, *sizes])
    blocks: list[dict[str, Any]] = [run_block(config, places(world, size[1])).arrays for world in range(size[0])]
    return srp({name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]})


def gain(more: Estimate, less: Estimate, confidence: float = 0.99) -> tuple[float, float]:
    """Return a difference, and how far such a share of its errors reaches to one side (t, paired worlds)."""
    influence = more.influence - less.influence
    k = len(influence)
    return more.value - less.value, stats.t.ppf(confidence, k - 1) * np.sqrt(np.sum(influence**2) / (k * (k - 1)))


def named(shape: tuple[Any, ...]) -> str:
    return f"figure {shape[0]}, {shape[1]}: {shape[2]} over {shape[3]} at {shape[4]}"


def ordered(size: tuple[int, int], shape: tuple[Any, ...], *more: str) -> bool:
    _, language, first, second, n, m, _ = shape
    found, reach = gain(stability(size, language, first, n, *more), stability(size, language, second, m, *more))
    return bool(found > reach)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[-1]], ids=named)
def test_a_figure_has_its_shape(shape: tuple[Any, ...]) -> None:
    assert ordered(QUICK, shape)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES, ids=named)
def test_each_figure_has_its_shape_in_many_worlds(shape: tuple[Any, ...]) -> None:
    assert ordered(LONG, shape)


@pytest.mark.long
@pytest.mark.parametrize("language", [GERMAN, CHINESE])
def test_single_ratings_are_more_stable_at_equal_cost(language: str) -> None:
    """Compare with figure 8: over all numbers of documents, and at 95 %, as the lines lie close."""
    pairs = [
        gain(stability(LONG, language, "single", n), stability(LONG, language, "double", n // 2), 0.95)
        for n in (40, 80, 160)
    ]
    found = np.mean([difference for difference, _ in pairs])
    # Errors of the three may go together: their mean is at least as large as the error of the mean.
    assert found > np.mean([reach for _, reach in pairs])


@pytest.mark.long
@pytest.mark.parametrize("language", [GERMAN, CHINESE])
def test_errors_help_hardly_and_means_no_more_than_zscores(language: str) -> None:
    """Compare with figure 7: mean-normalisation gains slightly less than z-scores, error-normalisation little."""
    raw, *scored = (stability(LONG, language, f"ungrouped{how}", 60) for how in ("", ", error", ", mean", ", zscore"))
    by_error, by_mean, by_zscore = (gain(one, raw)[0] for one in scored)
    assert by_error < 0.5 * by_zscore
    assert by_mean < by_zscore + 0.02


@pytest.mark.long
def test_zscores_close_the_gap_of_ungrouped_studies_where_raters_agree_overall() -> None:
    """Compare with figure 7: they do in English-Chinese, and not in English-German."""
    found, reach = gain(stability(LONG, CHINESE, "side by side", 60), stability(LONG, CHINESE, "ungrouped, zscore", 60))
    assert found < max(reach, 0.03)
    lost, _ = gain(stability(LONG, CHINESE, "side by side", 60), stability(LONG, CHINESE, "ungrouped", 60))
    assert found < 0.5 * lost


@pytest.mark.long
def test_side_by_side_is_half_as_stable_again_as_no_grouping() -> None:
    """Compare with figure 3: about twice in English-German; the fewer documents, the more."""
    side, free = (stability(LONG, GERMAN, design, 20).value for design in ("side by side", "ungrouped"))
    assert 1.5 < side / free < 2.3
    side, balanced = (stability(LONG, CHINESE, design, 20).value for design in ("side by side", "system-balanced"))
    assert balanced < side


ALIKE = ("raters.leniency_sd=0", "raters.severity_sd=0", "raters.rater_document_sd=0")


def test_raters_who_differ_in_nothing_that_normalisation_takes_out_gain_nothing() -> None:
    """Hold the negative control: the shape of figure 7 is due to raters, not to how it is measured."""
    shape = (7, CHINESE, "ungrouped, zscore", "ungrouped", 60, 60, True)
    assert not ordered((8, 4), shape, *ALIKE)


@pytest.mark.long
def test_the_older_pool_of_two_buckets_shows_no_gain() -> None:
    """Hold the negative control: raters=divergent hardly differ in leniency, so z-scores gain nothing side by side."""
    older = ("raters=divergent", "systems.system_sd=0.4", "systems.system_document_sd=0.3")
    assert not ordered(LONG, (5, CHINESE, "side by side, zscore", "side by side", 60, 60, False), *older)
