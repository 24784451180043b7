"""Find what Deriu et al. 2023 found, on synthetic worlds; differences are paired over worlds."""

from __future__ import annotations

import pytest

from simlab.measures import preferences
from tests.statistics.test_findings import outcomes, surely_alike, surely_more

SIZES = [pytest.param((20, 3), id="quick"), pytest.param((100, 6), id="full", marks=pytest.mark.long)]
NAIVE = ("systems=preference", "decision=naive", "systems.n_items=100", "budget.annotations_per_pair=100")


@pytest.mark.parametrize("size", SIZES)
def test_a_poor_metric_taken_at_its_word_mostly_inserts_and_an_ideal_one_never_inverts(size: tuple[int, int]) -> None:
    poor, ideal = (outcomes(size, *NAIVE, f"metric={m}", "metric.n_outputs=11000") for m in ("mu_matrix", "ideal"))
    insertion, inversion, omission = (
        getattr(preferences, name)(poor) for name in ("insertion", "inversion", "omission")
    )
    assert surely_more(insertion, inversion)
    assert surely_more(insertion, omission)
    for error in (preferences.inversion, preferences.omission):
        assert error(ideal).value < 0.02
        assert surely_more(error(poor), error(ideal))  # the control: a poor metric does err so
    assert surely_more(preferences.correct_true(ideal), preferences.correct_true(poor))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "n_systems", "margin"),
    [pytest.param((20, 1), 5, 0.05, id="quick"), pytest.param((100, 6), 8, 0.02, id="full", marks=pytest.mark.long)],
)
def test_the_protocol_halves_annotations_without_inversions_and_a_metric_saves_some_more(
    size: tuple[int, int], n_systems: int, margin: float
) -> None:
    common = ("systems=preference", f"systems.n_systems={n_systems}", "decision=bayes")
    alone, ideal = (outcomes(size, *common, f"metric={m}") for m in ("none", "ideal"))
    for found in (alone, ideal):
        assert preferences.annotation_fraction(found).value < 0.5
        assert preferences.inversion(found).value < 0.01
        assert preferences.correct(found).value > 0.8
    blind = outcomes(size, *common, "metric=ideal", "metric.sharpness=0.0")
    needs, saved, nothing = (preferences.annotation_fraction(found) for found in (alone, ideal, blind))
    assert surely_more(needs, saved)
    assert surely_more(nothing, saved)
    # A metric that knows nothing saves next to nothing: a hundredth, for which fewer pairs are told rightly.
    assert surely_alike(needs, nothing, margin)
    assert not surely_alike(needs, saved, margin)  # the control: one that knows something does save


@pytest.mark.parametrize("size", SIZES)
def test_intervals_cover_where_the_model_holds_and_not_where_raters_err(size: tuple[int, int]) -> None:
    common = ("systems=preference_free", "decision=fixed", "metric=none", "design.shared_order=false")
    honest = preferences.coverage(outcomes(size, *common))
    assert abs(honest.value - 0.95) < 4 * honest.mcse + 0.005
    noisy = preferences.coverage(outcomes(size, *common, "raters=noisy_oracle"))
    assert surely_more(honest, noisy)
