"""Hold fits to comparisons against finite differences, maximum likelihood by scipy, and what tables cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from compared_tables import Table, Truth, said, table
from scipy.optimize import minimize

from simlab.effort import ChainEffort
from simlab.fitting.backtest.execution import summarize_errors
from simlab.fitting.preferences.backtest import PreferenceSize, backtest
from simlab.fitting.preferences.checks import checks, content
from simlab.fitting.preferences.fitting import SPREADS, PreferenceFit, fit, fit_pilot
from simlab.fitting.preferences.pilot import MOST, build_pilot, thin_items
from simlab.fitting.preferences.posterior import build_posterior
from simlab.rng import stream
from simlab.studies.worlds import draw_world
from simlab.types import COMPARE, InputError
from simlab.world.fitted_preferences import read_fitted_preferences

SHORT = ChainEffort(4, 80, 60)


def one_each(held: Table) -> Table:
    """Let every comparison be of an item of its own, by nobody in particular."""
    n = len(held.item)
    return replace(held, item=np.full(n, -1), rater=np.full(n, -1), rater_names=())


@pytest.fixture(scope="module")
def found() -> PreferenceFit:
    return fit_pilot(build_pilot(table(stream(1), n_items=30)), 0, 60, SHORT)


def test_the_gradient_is_that_of_the_density() -> None:
    held = table(stream(2), n_items=12)
    density = build_posterior(build_pilot(replace(held, rater=np.where(held.rater == 0, -1, held.rater))))
    theta = stream(3).standard_normal((density.layout.size, 2))
    _, gradient = density(theta)
    for k in range(density.layout.size):
        step = np.zeros_like(theta)
        step[k] = 1e-5
        numeric = (density(theta + step)[0] - density(theta - step)[0]) / 2e-5
        np.testing.assert_allclose(gradient[k], numeric, atol=1e-5)


def test_turning_spreads_with_what_they_spread_changes_nothing() -> None:
    density = build_posterior(build_pilot(table(stream(2), n_items=12)))
    theta = stream(3).standard_normal((density.layout.size, 3))
    signs = density.signs(theta)
    log, gradient = density(theta)
    turned, slope = density(theta * signs)
    np.testing.assert_allclose(turned, log, rtol=1e-12)
    np.testing.assert_allclose(slope, gradient * signs, rtol=1e-9, atol=1e-12)
    spreads = [density.layout.at[name] for name in SPREADS]
    assert all((theta[at] * signs[at] > 0).all() for at in spreads)
    assert np.abs(density(np.abs(theta))[0] - log).max() > 1  # the control


def test_large_tables_are_thinned_by_whole_items_and_it_is_said() -> None:
    pilot = build_pilot(table(stream(2), n_items=5000))
    kept, note = thin_items(stream(1), pilot)
    assert len(kept.item) == MOST
    assert set(np.bincount(kept.item).tolist()) == {5}
    assert "25,000 comparisons: the law is fitted to the 4,000 of 800 items" in note[0]
    counted = build_pilot(one_each(table(stream(2), n_items=5000)))
    assert thin_items(stream(1), counted) == (counted, [])


def test_the_density_is_the_law_as_it_is_written() -> None:
    """Two sets of parameters that differ in strengths alone: the difference of log likelihoods, term by term."""
    held = one_each(table(stream(4)))
    density = build_posterior(build_pilot(held))
    theta = 0.3 * np.abs(stream(5).standard_normal((density.layout.size, 2)))
    sd, error = theta[density.layout.at["system_sd"]], density.layout.error["strength"]
    root = np.sqrt(sd**2 + error**2)
    entry = theta[density.layout.at["strength"]]
    strength, log_ties = entry * sd / root, -0.7 + 2.0 * theta[density.layout.at["log_ties"]][0]
    prior = -0.5 * (theta**2).sum(0) + 0.5 * (entry**2).sum(0) - 0.5 * ((entry / root) ** 2).sum(0)
    prior -= np.log(root).sum(0)
    distance = strength[held.first] - strength[held.second]
    weight = np.stack([np.exp(distance / 2), np.exp(log_ties) + 0 * distance, np.exp(-distance / 2)])
    log = np.log(weight / weight.sum(0))[held.outcome, np.arange(len(held.outcome))].sum(0)
    np.testing.assert_allclose(density(theta)[0], prior + log, rtol=1e-10)


def test_without_items_and_raters_strengths_are_those_of_maximum_likelihood() -> None:
    truth = Truth(output_sd=0.0, item_sd=0.0, sharpness_sd=0.0, tie_sd=0.0, taste_sd=0.0)
    held = one_each(table(stream(6), truth, n_items=1200, per_item=1))
    estimate = fit_pilot(build_pilot(held), 0, 100, ChainEffort(4, 200, 200))

    def loss(theta: np.ndarray) -> float:
        distance = theta[held.first] - theta[held.second]
        total = np.log(np.exp(distance / 2) + np.exp(theta[-1]) + np.exp(-distance / 2))
        gain = np.select(
            [held.outcome == 0, held.outcome == 1], [distance / 2, theta[-1] + 0 * distance], -distance / 2
        )
        return float((total - gain).sum() + 1e-6 * (theta[:-1] ** 2).sum())

    best = minimize(loss, np.zeros(6)).x
    likely = best[:-1] - best[:-1].mean()
    error = estimate.strength.std(0)
    # The prior draws strengths together by a few per cent.
    assert (np.abs(estimate.strength.mean(0) - likely) < 0.6 * error + 0.05 * np.abs(likely)).all()
    assert np.log(estimate.ties).mean() == pytest.approx(best[-1], abs=np.log(estimate.ties).std())
    assert (np.abs(estimate.strength.mean(0)[::-1] - likely) > 2 * error).any()  # the control
    assert estimate.unknown == {"output_sd", "item_sd", "sharpness_sd", "tie_sd", "taste_sd"}
    assert estimate.diagnosis["r_hat"] < 1.05


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws(found: PreferenceFit) -> None:
    again = fit_pilot(found.pilot, 0, 60, SHORT)
    np.testing.assert_array_equal(found.strength, again.strength)


def test_who_comes_first_in_a_table_changes_nothing(found: PreferenceFit) -> None:
    held = table(stream(1), n_items=30)
    turned = replace(held, first=held.second, second=held.first, outcome=2 - held.outcome)
    np.testing.assert_array_equal(fit_pilot(build_pilot(turned), 0, 60, SHORT).strength, found.strength)


def test_what_a_table_cannot_tell_is_said() -> None:
    held = table(stream(7), n_items=20)
    one_rater = replace(held, rater=np.zeros_like(held.rater), rater_names=("r",))
    for case, word in ((one_each(held), "compared twice"), (one_each(held), "no raters"), (one_rater, "one rater")):
        assert any(
            word in sentence for sentence in fit_pilot(build_pilot(case), 0, 5, ChainEffort(1, 10, 5)).not_identified
        )
    ties = fit_short(replace(held, outcome=np.ones_like(held.outcome)))
    assert any("All comparisons are ties" in sentence for sentence in ties.not_identified)
    assert fit_short(replace(held, outcome=2 * (held.outcome > 0))).ties.max() == 0


def fit_short(held: Table) -> PreferenceFit:
    return fit_pilot(build_pilot(held), 0, 5, ChainEffort(1, 20, 5))


def test_groups_that_never_met_are_refused() -> None:
    held = table(stream(8))
    within = (held.first < 2) == (held.second < 2)
    apart = {name: getattr(held, name)[within] for name in ("first", "second", "item", "rater", "outcome")}
    with pytest.raises(InputError, match=r"2 groups that were never compared with each other \(S3, S4, S5; S1, S2\)"):
        fit(replace(held, **apart))


@pytest.mark.slow
def test_a_law_that_holds_passes_and_one_that_does_not_fails(found: PreferenceFit) -> None:
    assert not checks(found, 0, 150).failed
    held = table(stream(9), n_items=150, per_item=4)
    circle = np.where((held.second - held.first) % 5 <= 2, 1.5, -1.5)  # each beats the next two: no scale holds that
    no_order = replace(held, outcome=said(stream(10), circle, 0.6))
    failed = [check.name for check in checks(fit_pilot(build_pilot(no_order), 0, 60, SHORT), 0, 150).failed]
    assert "spread of pairs beyond one scale" in failed


def written(found: PreferenceFit, path: Path, **changed: object) -> str:
    path.write_text(yaml.safe_dump(content(found, checks(found, 0, 40)) | changed))
    return str(path)


def test_what_is_written_is_read_and_drawn_from(found: PreferenceFit, tmp_path: Path) -> None:
    path = written(found, tmp_path / "fitted.yaml")
    held = read_fitted_preferences(path, None)
    assert held.system_names == found.pilot.system_names
    np.testing.assert_allclose(held.laws[3].strength, found.strength[3], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(held.pools[3][2], found.taste[3], rtol=1e-4, atol=1e-4)
    section = {"_target_": "simlab.world.fitted_preferences.fitted_preferences", "path": path, "sha256": None}
    keys = {"names": ["S2", "S1"], "n_items": 30, "rater_pool": "pilot", "n_raters": None, "test_set": "fresh"}
    config = {"seed": 1, "systems": section | keys, "raters": {}, "metric": {}, "plugins": []}
    first, other = (draw_world(config, 0, pool) for pool in (0, 1))
    assert first.frame.system_names == ("S2", "S1")
    assert (first.answers[COMPARE].pool.taste != other.answers[COMPARE].pool.taste).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": "simlab fitted world 3"}, "is a world fitted to ratings; it is read as systems=fitted "),
        ({"systems": ["A", "B"]}, r"draws\.strength must have 60 entries of 2 numbers"),
        ({"raters": ["x"] * 4}, "named twice"),
        ({"more": 1}, "more: extra inputs are not permitted"),
        ({"whole_items": "yes"}, "whole_items: input should be a valid boolean"),
    ],
)
def test_other_files_are_refused(
    found: PreferenceFit, tmp_path: Path, changed: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read_fitted_preferences(written(found, tmp_path / "fitted.yaml", **changed), None)


def test_predictions_are_held_against_items_kept_aside() -> None:
    held = table(stream(11), n_items=60)
    size = PreferenceSize(30, 8)
    records = list(backtest(held, pilot_share=0.5, splits=1, seed=1, size=size, chains=SHORT))
    assert {one.measure for one in records} == {"significant_share", "confirmed", "srp", "kendall"}
    assert {one.method for one in records} == {"fit", "naive"}
    for one in records:
        assert one.low <= one.predicted <= one.high or np.isnan(one.predicted)
    assert {(one.target, one.repetition) for one in records} == {("held_out", "other documents")}
    assert len(summarize_errors(records)) == 8
    with pytest.raises(InputError, match="leaves 3"):
        list(backtest(held, pilot_share=0.95, splits=1, seed=1, size=size))
