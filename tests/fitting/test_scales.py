"""Check that laws on a scale are fitted to ratings as they should: what is seen, refused, told and recovered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from scipy.stats import kstest, norm, truncnorm

from simlab.effort import USUAL, ManyChains, use_effort
from simlab.fitting.components import other_raters
from simlab.fitting.scales import BINARY, GAUSSIAN, ORDINAL, fitting, outputs
from simlab.fitting.scales.chain import categories, gaussian_scale, seen_points
from simlab.fitting.scales.fitting import (
    MOST_RATINGS,
    assemble_effects,
    choose_priors,
    prepare,
    scale_of,
    thin_table,
    worst_nested_rhat,
)
from simlab.fitting.scales.sampling import (
    ScaleDraws,
    begin,
    draw_effects,
    draw_truncated_normal,
    go_on,
    multiply_chains,
)
from simlab.fitting.scales.spreads import SpreadEvidence, _evidence, lattice_step
from simlab.fitting.scales.terms import find_terms
from simlab.tables.rating_table import Ratings
from simlab.world.laws.scales import ScaleEffects, average_opinions, draw_raters
from tests.pilots import pilot
from tests.statistics.scale_calibration import Size, design

SMALL = Size(4, 10, 1, 3, 2)


def held(n_systems: int = 8, n_documents: int = 40, seed: int = 1) -> Ratings:
    """Return the ratings of a pilot."""
    made = pilot(np.random.default_rng(seed), n_systems=n_systems, n_documents=n_documents)
    empty = design(Size(n_systems, n_documents))
    return replace(empty, system=made.system, item=made.document, rater=made.rater, score=made.score)


def scored(size: Size, score: np.ndarray | None = None) -> Ratings:
    """Return a design with scores."""
    empty = design(size)
    n = len(empty.system)
    return replace(empty, score=np.round(np.random.default_rng(3).normal(5, 2, n)) if score is None else score)


def grouped(size: Size) -> tuple[list[tuple[str, ...]], tuple[str, ...]]:
    found = find_terms(scored(size), sharpened=False)
    return [term.names for term in found.terms[1:]], found.noise


def test_effects_that_group_ratings_alike_stand_together() -> None:
    terms, noise = grouped(Size(4, 10, 1, 3, 1))
    assert ("document", "rater_document") in terms
    assert noise == ("system_document",)
    terms, noise = grouped(Size(4, 10, 2, 1, 1))
    assert ("system", "rater_system") in terms
    assert noise == ("output",)
    assert ("system_document",) in grouped(SMALL)[0]


def test_documents_of_one_segment_have_no_segments() -> None:
    names = find_terms(scored(SMALL), sharpened=False).names
    assert "segment" not in names
    assert "output" not in names
    assert {"segment", "output"} <= set(find_terms(scored(Size(4, 10, 2, 3, 2)), sharpened=False).names)


@pytest.mark.parametrize(
    ("size", "said", "unknown"),
    [
        (Size(4, 10, 1, 1, 1), "one rater: how far raters differ", "leniency_sd"),
        (Size(4, 10, 1, 3, 1), "one rating each", "system_document_sd"),
        (Size(4, 10, 1, 3, 2), "3 raters: how far raters at large differ, above all on systems", None),
        (Size(1, 10, 1, 3, 2), "one system", "system_sd"),
        (Size(4, 1, 1, 3, 2), "one document: ", "document_sd"),
    ],
)
def test_what_a_table_cannot_tell_is_said(size: Size, said: str, unknown: str | None) -> None:
    table = scored(size)
    terms = find_terms(table, sharpened=False)
    assert any(said in sentence for sentence in fitting.list_unidentified(table, terms, sharpened=False))
    found = fitting.unknown_components(table, terms, sharpened=False)
    assert unknown in found if unknown else not found


def test_tables_that_a_law_does_not_allow_are_refused() -> None:
    n = len(design(SMALL).system)
    two, many = scored(SMALL, np.arange(n) % 2.0), scored(SMALL, np.arange(n) * 1.0)
    assert "at least 3 different scores; the table has 2" in str(GAUSSIAN.refused(two))
    assert "at least 3" in str(ORDINAL.refused(two))
    assert BINARY.refused(two) is None
    assert "too many categories" in str(ORDINAL.refused(many))
    assert "exactly 2" in str(BINARY.refused(many))
    assert GAUSSIAN.refused(many) is None


def test_floor_ceiling_and_steps_are_found() -> None:
    n = len(design(SMALL).system)
    piled = np.clip(np.round(np.random.default_rng(0).normal(90, 10, n)), None, 100)
    found = gaussian_scale(scored(SMALL, piled))
    assert (found.low, found.high, found.step) == (-np.inf, 100, 1)
    assert gaussian_scale(replace(scored(SMALL, piled), scale=(0.0, 100.0))).low == 0
    exact = seen_points(np.array([[0.0], [50.0], [100.0]]), replace(found, low=0.0))
    assert np.array_equal(exact.open.ravel(), [True, False, True])
    seen = seen_points(np.array([[0.0], [50.0], [100.0]]), replace(found, low=0.0, step=10.0))
    assert np.array_equal(seen.low.ravel(), [-np.inf, 45, 95])
    assert np.array_equal(seen.high.ravel(), [5, 55, np.inf])


def test_categories_are_those_of_a_declared_scale() -> None:
    n = len(design(SMALL).system)
    table = scored(SMALL, 1.0 + np.arange(n) % 3)
    assert np.array_equal(categories(table), [1, 2, 3])
    assert np.array_equal(categories(replace(table, scale=(1.0, 5.0))), [1, 2, 3, 4, 5])


def test_truncated_normals_have_the_moments_of_scipys() -> None:
    rng, n = np.random.default_rng(0), 40_000
    for low, high in ((-np.inf, 0.5), (1.0, 1.5), (6.0, np.inf), (-9.0, -8.0)):
        drawn = draw_truncated_normal(rng, np.full(n, low), np.full(n, high))
        mean, variance = truncnorm.stats(low, high)
        assert low <= drawn.min()
        assert drawn.max() <= high
        assert abs(drawn.mean() - mean) < 5 * np.sqrt(variance / n)
        assert abs(norm.ppf(0.9) - mean) > 5 * np.sqrt(variance / n)


def test_spreads_hang_on_groups_of_effects_as_on_each_alone() -> None:
    rng = np.random.default_rng(2)
    ratings = rng.choice([1.0, 3.0, 4.0], 83)
    exact, seen = ratings[:, None] * [0.5, 2.0], rng.standard_normal((83, 2))
    _, first, number = np.unique(ratings, return_index=True, return_counts=True)
    squares = np.array([(seen[ratings == one] ** 2).sum(0) for one in ratings[first]])
    square = np.exp(rng.standard_normal((16, 2)))
    alone = _evidence(SpreadEvidence(exact, np.ones((1, 1, 1)), seen**2), square)
    together = _evidence(SpreadEvidence(exact[first], number[:, None, None] * 1.0, squares), square)
    np.testing.assert_allclose(together, alone)
    np.testing.assert_allclose(alone[1], np.log1p(square[:, :, None] * exact.T).sum(-1))


def test_effects_drawn_at_once_have_their_joint_normal_law() -> None:
    """Means and covariances are those of the closed form, by dense matrices."""
    table = scored(Size(3, 4, 1, 2, 2))
    model, seen = prepare("gaussian", table, scale_of("gaussian", table), choose_priors("gaussian", table), 4000)
    chains = begin(np.random.default_rng(0), model, seen, 0)
    chains.state.sd = np.repeat(chains.state.sd[:, :1], 4000, axis=1)
    chains.state.latent = np.repeat(table.score[:, None] - model.priors.mean, 4000, axis=1)
    sd = dict(zip(model.terms.names, chains.state.sd[:, 0], strict=True))
    root = np.concatenate([[model.priors.mean_sd], *([sd[t.names[0]]] * t.n for t in model.terms.terms[1:])])
    matrix = model.terms.matrix.toarray() * root / sd["residual"]
    covariance = np.linalg.inv(np.eye(len(root)) + matrix.T @ matrix)
    mean = covariance @ matrix.T @ chains.state.latent[:, 0] / sd["residual"]
    draw_effects(np.random.default_rng(1), model, chains.state)
    error = (chains.state.unit.mean(1) - mean) / np.sqrt(np.diag(covariance) / 4000)
    assert np.abs(error).max() < 5
    assert np.abs(error + 0.2 * np.sqrt(4000)).max() > 5
    ratio = np.cov(chains.state.unit)[np.triu_indices(len(root))] - covariance[np.triu_indices(len(root))]
    assert np.abs(ratio).max() < 5 * np.sqrt(2 / 4000)


def test_chains_are_diagnosed_as_elsewhere() -> None:
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((500, 4))
    chains = np.zeros_like(noise)
    for k in range(1, 500):
        chains[k] = 0.8 * chains[k - 1] + noise[k]
    assert fitting.split_rhat(chains) == pytest.approx(float(split_gelman_rubin(chains.T)), rel=1e-6)
    assert fitting.effective_draws(chains) == pytest.approx(float(effective_sample_size(chains.T)), rel=0.05)
    assert fitting.split_rhat(chains + np.arange(4)) > 1.1


def test_nested_r_hat_is_its_definition_and_sees_starts_that_are_not_forgotten() -> None:
    chains = np.random.default_rng(0).standard_normal((12, 8))
    starts = [chains[:, :4], chains[:, 4:]]
    within = np.mean([np.var(one.mean(0), ddof=1) + np.mean(np.var(one, 0, ddof=1)) for one in starts])
    between = np.var([one.mean() for one in starts], ddof=1)
    assert fitting.nested_rhat(chains, 4) == pytest.approx(np.sqrt(1 + between / within), rel=1e-12)
    many = np.random.default_rng(1).standard_normal((40, 32))
    assert fitting.nested_rhat(many, 8) < 1.02
    assert fitting.nested_rhat(many + np.repeat([0.0, 0.0, 0.0, 1.0], 8), 8) > 1.05


def test_chains_of_one_start_part_at_once() -> None:
    table = scored(Size(3, 5, 1, 2, 2))
    model, seen = prepare("ordinal", table, scale_of("ordinal", table), choose_priors("ordinal", table), 2)
    chains = multiply_chains(begin(np.random.default_rng(3), model, seen, 5), 3)
    before = chains.state.unit.copy()
    assert np.array_equal(before[:, :3], before[:, [0, 0, 0]])
    assert not np.array_equal(before[:, 0], before[:, 3])
    drawn = go_on(chains, 4).effect["system"]
    assert drawn.shape == (4, 3, 6)
    assert len(np.unique(drawn[0, 0])) == 6


@pytest.mark.parametrize(("limit", "rounds"), [(np.inf, 1), (0.0, 4)])
def test_draws_of_outputs_end_when_starts_are_forgotten_or_after_all_rounds(
    monkeypatch: pytest.MonkeyPatch, limit: float, rounds: int
) -> None:
    sizes: list[int] = []

    def worst(draws: ScaleDraws, per_start: int) -> float:
        sizes.append(len(draws.mean))
        return worst_nested_rhat(draws, per_start)

    monkeypatch.setattr(fitting, "worst_nested_rhat", worst)
    monkeypatch.setattr(outputs, "FORGOTTEN", limit)
    table = scored(Size(3, 5, 1, 2, 2))
    with use_effort(USUAL._replace(outputs=ManyChains(2, 10, 4, 2, 5))):
        found = outputs.fit_outputs("gaussian", table, draws=16)
    assert len(found) == 16
    assert found[0].seen.shape == (3, 5)
    # The second half of what was drawn, two draws a round.
    assert sizes == [2, 2, 4, 4][:rounds]


def test_large_tables_are_thinned_by_whole_documents_and_it_is_said() -> None:
    table = scored(Size(20, 1000, 1, 3, 2))
    kept, note = thin_table(np.random.default_rng(0), table)
    assert len(kept.score) <= MOST_RATINGS
    assert "40,000 ratings" in note[0]
    counts = np.bincount(kept.item, minlength=1000)
    assert set(counts.tolist()) == {0, 40}
    assert thin_table(np.random.default_rng(0), held())[1] == []


@pytest.mark.slow
def test_a_floor_does_not_pull_systems_together() -> None:
    """Of a system that half the ratings of are at the floor, the mean before censoring is found."""
    rng, size = np.random.default_rng(5), Size(4, 40, 1, 3, 2)
    empty = design(size)
    worth = np.array([0.0, 10.0, 20.0, 30.0])
    latent = worth[empty.system] + 8 * rng.standard_normal(len(empty.system))
    table = replace(empty, score=np.clip(np.round(latent), 0, 100), scale=(0.0, 100.0))
    priors = choose_priors("gaussian", table)
    model, seen = prepare("gaussian", table, scale_of("gaussian", table), priors, 8)
    draws = go_on(begin(rng, model, seen, 150), 100, 2)
    system = (
        draws.mean[:, None] + draws.effect["system"] + draws.effect["rater_system"].mean(1, keepdims=True)
    ).swapaxes(0, 1)
    centre, spread = system.mean((1, 2)) + priors.mean, system.std((1, 2))
    assert np.abs((centre - worth) / spread).max() < 4
    naive = np.array([table.score[table.system == k].mean() for k in range(4)])
    assert abs(naive[0] - worth[0]) > 2


@pytest.mark.slow
def test_draws_go_into_a_file_as_plain_values() -> None:
    table = scored(SMALL, 1.0 + np.arange(len(design(SMALL).system)) % 3)
    found = ORDINAL.fit(table, draws=5, rounds=1)
    content = ORDINAL.content(found)
    assert content["scale"] == {"low": None, "high": None, "step": 0.0, "values": [1.0, 2.0, 3.0]}
    assert len(content["draws"]["taste"]) == 5
    assert np.shape(content["draws"]["taste"]) == (5, 4, 3)
    assert np.shape(content["draws"]["thresholds"]) == (5, 2)
    assert content["draws"]["tail"] == [None] * 5
    answers = ORDINAL.answer(np.random.default_rng(0), found.effects[0], table)
    assert set(np.unique(answers)) <= {1.0, 2.0, 3.0}


@pytest.mark.slow
def test_a_pilot_of_one_rater_keeps_what_raters_differ_by_under_its_priors() -> None:
    table = scored(Size(4, 8, 1, 1, 1))
    one = GAUSSIAN.fit(table, seed=4, draws=50, rounds=1)
    scale = choose_priors("gaussian", table).spread["leniency"]
    middle = np.median(one.components["leniency_sd"])
    assert 0.3 * scale < middle < 1.4 * scale
    assert {"leniency_sd", "rater_system_sd", "rater_document_sd"} <= one.unknown
    assert all((values > 0).all() for values in one.components.values())


def test_the_same_seed_gives_the_same_draws() -> None:
    table = scored(Size(3, 5, 1, 2, 2))
    model, seen = prepare("ordinal", table, scale_of("ordinal", table), choose_priors("ordinal", table), 2)
    one, two = (go_on(begin(np.random.default_rng(3), model, seen, 5), 3) for _ in range(2))
    assert np.array_equal(one.effect["system"], two.effect["system"])
    assert np.array_equal(one.thresholds, two.thresholds)


def test_sharpness_has_median_1_in_files_worlds_and_other_raters() -> None:
    """Raters of a fit, drawn anew by a world or put in their place by a report, are spread about the same middle."""
    fitted = ORDINAL.fit(scored(SMALL), seed=1, draws=20, rough=True)
    one = replace(fitted.effects[0], sharpness_sd=0.5)
    n = 20_000
    anew = draw_raters(np.random.default_rng(1), one, n)
    put = other_raters(np.random.default_rng(2), one, {}, n)
    error = 0.5 / np.sqrt(n)
    assert put is not None
    for found in (anew.sharpness, put.sharpness):
        assert abs(np.log(found).mean()) < 4 * error
        assert np.log(found).std() == pytest.approx(0.5, abs=4 * error)
    assert abs(np.log(anew.sharpness / np.exp(0.5**2 / 2)).mean()) > 4 * error


def test_raters_of_a_fit_score_in_its_world_as_its_chains_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw's latent mean of rater and system is `mean + sharpness system + leniency + taste`, nothing rescaled."""
    kept: list[ScaleDraws] = []

    def keeping(*args: Any) -> list[ScaleEffects]:
        kept.append(args[2])
        return assemble_effects(*args)

    monkeypatch.setattr(fitting, "assemble_effects", keeping)
    fitted = ORDINAL.fit(scored(SMALL), seed=1, draws=3, rough=True)
    chains, rater, system = kept[0], np.arange(3)[None, :], np.arange(4)[:, None]
    at = (0, 0)
    taste = chains.effect["rater_system"][0, :, 0].reshape(3, 4).T
    own, sharp = chains.effect["system"][0, :, 0][system], np.exp(chains.sharp[0, :, 0])[rater]
    wanted = chains.mean[at] + sharp * own + chains.effect["leniency"][0, :, 0][rater] + taste
    found = average_opinions(fitted.effects[0], system, rater, np.zeros((4, 3)))
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    grown = replace(fitted.effects[0], sharpness=fitted.effects[0].sharpness * 1.05)
    assert np.abs(average_opinions(grown, system, rater, np.zeros((4, 3))) - wanted).max() > 1e-3


@pytest.mark.slow
def test_a_step_on_a_lattice_leaves_a_skewed_density_as_it_is() -> None:
    """Draws of exponential numbers, moved by many steps, are still exponential; with points taken at even odds not."""
    rng, n = np.random.default_rng(0), 20_000

    def density(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, -x, -np.inf)

    def even(x: np.ndarray) -> np.ndarray:
        return np.where((x > 0) & (x < 12), 0.0, -np.inf)

    moved, astray = rng.exponential(size=(2, n))
    for _ in range(30):
        moved, astray = (
            lattice_step(rng, density, moved, np.full(n, 3.0)),
            lattice_step(rng, even, astray, np.full(n, 3.0)),
        )
    assert kstest(moved, "expon").pvalue > 1e-4
    assert kstest(astray, "expon").pvalue < 1e-4
    still = lattice_step(rng, density, moved, np.full(n, 3.0)) == moved
    assert 0.05 < still.mean() < 0.5
