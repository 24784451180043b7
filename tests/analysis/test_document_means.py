"""Hold means of outputs that come in documents against closed forms: independent outputs, t tests, matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from simlab.analysis import estimators
from simlab.analysis.means import estimates
from simlab.analysis.means.documents import document_mean, totals
from simlab.analysis.means.estimates import Rest
from simlab.analysis.means.intervals import pair_errors, two_sided_p_values
from simlab.rng import stream
from simlab.types import Floats, InputError, Judged, Parts

SIZE, N_DOCUMENTS = 5, 8
N = SIZE * N_DOCUMENTS
DOCUMENT = np.tile(np.arange(N) // SIZE, (2, 1))


def alike(rng: np.random.Generator, shape: tuple[int, int], agreement: float = 0.4) -> Floats:
    common = np.repeat(rng.standard_normal((shape[0], -(-shape[1] // SIZE))), SIZE, axis=1)[:, : shape[1]]
    return np.sqrt(agreement) * common + np.sqrt(1 - agreement) * rng.standard_normal(shape)


Y = alike(stream(1, "documents"), (2, N)) + np.array([[0.7], [0.0]])
PLAIN = Judged(Y, None, False, None, None, (), np.full(2, np.nan), np.zeros(2), None, document=DOCUMENT)  # type: ignore[arg-type]
T: dict[str, Any] = {"interval": "t", "level": 0.05}


def with_metric(judged: Judged, n_rest: int = 60) -> Judged:
    """Give a metric that follows judgements, and other documents that it alone has seen."""
    rng = stream(2, "documents")
    g, others = judged.y + alike(rng, judged.y.shape), 1.4 * alike(rng, (2, n_rest))
    k = n_rest // SIZE
    total = others.reshape(2, k, SIZE).sum(2)
    parts = Parts(np.tile(100 + np.arange(k), (2, 1)), np.full(k, SIZE), total)
    return replace(judged, g=g, rest=(n_rest, others.mean(1), others.var(1, ddof=1)), parts=parts)


def test_documents_of_one_size_give_the_t_interval_of_their_means() -> None:
    found = estimators.sample_mean(stream(0), PLAIN, **T)
    means = Y.reshape(2, N_DOCUMENTS, SIZE).mean(2)
    np.testing.assert_allclose(found.value, means.mean(1))
    np.testing.assert_allclose(found.sd, stats.sem(means, axis=1))
    bounds = stats.t.interval(0.95, N_DOCUMENTS - 1, means.mean(1), stats.sem(means, axis=1))
    np.testing.assert_allclose((found.low, found.high), bounds)


def test_two_systems_on_the_same_documents_give_the_paired_t_test_of_their_means() -> None:
    found = estimators.sample_mean(stream(0), PLAIN, **T)
    means = Y.reshape(2, N_DOCUMENTS, SIZE).mean(2)
    gap = found.value[:1] - found.value[1:]
    np.testing.assert_allclose(two_sided_p_values(gap, pair_errors(found, shared=True)), stats.ttest_rel(*means).pvalue)
    apart = two_sided_p_values(gap, pair_errors(found, shared=False))
    np.testing.assert_allclose(apart, stats.ttest_ind(*means, equal_var=False).pvalue)
    normal = estimators.sample_mean(stream(0), PLAIN, interval="normal", level=0.05)
    z = gap / stats.sem(means[0] - means[1])
    np.testing.assert_allclose(two_sided_p_values(gap, pair_errors(normal, shared=True)), 2 * stats.norm.sf(np.abs(z)))


def test_independent_judgements_give_the_usual_t_tests() -> None:
    single = replace(PLAIN, document=None)
    found = estimators.sample_mean(stream(0), single, **T)
    gap = found.value[:1] - found.value[1:]
    np.testing.assert_allclose(two_sided_p_values(gap, pair_errors(found, shared=True)), stats.ttest_rel(*Y).pvalue)
    apart = stats.ttest_ind(*Y, equal_var=False).pvalue
    np.testing.assert_allclose(two_sided_p_values(gap, pair_errors(found, shared=False)), apart)
    bounds = stats.t.interval(0.95, N - 1, Y.mean(1), stats.sem(Y, axis=1))
    np.testing.assert_allclose((found.low, found.high), bounds)


def test_outputs_that_are_documents_of_their_own_are_independent() -> None:
    own = replace(PLAIN, document=np.tile(np.arange(N), (2, 1)))
    alone, together = (estimators.sample_mean(stream(0), of, **T) for of in (replace(PLAIN, document=None), own))
    for name in ("value", "sd", "low", "high", "freedom"):
        np.testing.assert_allclose(getattr(alone, name), getattr(together, name))
    # The tuned metric differs by cross-fitting only: by the order of 1 / n of what it corrects.
    judged = replace(PLAIN, g=Y + stream(3).standard_normal(Y.shape))
    rest = 1.4 * stream(4).standard_normal((2, 300)) + np.array([[0.7], [0.0]])
    found = document_mean(
        totals(Y, judged.g, own.document, (np.tile(1000 + np.arange(300), (2, 1)), np.ones(300), rest)), None
    )
    usual = estimates.ppi(Y, judged.g, Rest(300, rest.mean(1), rest.var(1, ddof=1)))
    np.testing.assert_allclose(found.value, usual.value, atol=0.15 * usual.se.max())
    np.testing.assert_allclose(found.se, usual.se, rtol=0.1)
    # One takes the metric's variance from the judged outputs mostly, the other from all.
    np.testing.assert_allclose(found.coefficient, usual.coefficient / (300 / 340), rtol=0.15)


def test_a_known_slope_on_documents_of_one_size_gives_the_t_interval_of_corrected_means() -> None:
    g = Y + stream(5).standard_normal(Y.shape)
    judged = replace(PLAIN, g=g, slope=np.array([0.5, 0.4]))
    found = estimators.control_variates(stream(0), judged, coefficient="known", **T)
    means = (Y - judged.slope[:, None] * g).reshape(2, N_DOCUMENTS, SIZE).mean(2)
    np.testing.assert_allclose(found.value, means.mean(1))
    np.testing.assert_allclose(found.sd, stats.sem(means, axis=1))


def test_a_document_with_judged_and_other_outputs_makes_one_contribution() -> None:
    rng = stream(6, "documents")
    every = alike(rng, (1, N))
    g, judged = every + 0.5 * alike(rng, (1, N)), np.arange(N) % SIZE < 2
    document = DOCUMENT[:1]
    labelled = document[:, judged]
    unseen = np.add.reduceat(np.where(judged, 0.0, g), np.arange(0, N, SIZE), axis=1)
    rest = (np.arange(N_DOCUMENTS)[None], np.full(N_DOCUMENTS, 3), unseen)
    found = document_mean(totals(every[:, judged], g[:, judged], labelled, rest), 0.6)
    # By hand, document by document.
    y = every[:, judged].reshape(N_DOCUMENTS, 2)
    of_judged, of_all = g[:, judged].reshape(N_DOCUMENTS, 2), g.reshape(N_DOCUMENTS, SIZE)
    psi = (y - y.mean() - 0.6 * (of_judged - of_judged.mean())).sum(1) / 16
    psi = psi / np.sqrt(1 - 1 / 8) + 0.6 * (of_all - of_all.mean()).sum(1) / 40
    np.testing.assert_allclose(found.value, y.mean() - 0.6 * (of_judged.mean() - of_all.mean()))
    np.testing.assert_allclose(found.se, np.sqrt((psi**2).sum()))
    # As two documents each the error would be another one.
    apart = document_mean(totals(every[:, judged], g[:, judged], labelled, (rest[0] + 99, *rest[1:])), 0.6)
    assert abs(apart.se / found.se - 1) > 0.05


def test_unequal_documents_have_the_variance_and_freedom_of_bell_and_mccaffrey() -> None:
    sizes = np.array([1, 2, 2, 4, 9])
    document, n = np.repeat(np.arange(5), sizes)[None], sizes.sum()
    y = stream(7).standard_normal((1, n))
    found = document_mean(totals(y, None, document, None))
    # With matrices: residuals of each document are stretched by (I - H)^-1/2.
    annihilator, weights = np.eye(n) - 1 / n, np.full(n, 1 / n)
    columns, variance = [], 0.0
    for k in range(5):
        here = document[0] == k
        block = annihilator[np.ix_(here, here)]
        values, vectors = np.linalg.eigh(block)
        stretch = vectors @ np.diag(values**-0.5) @ vectors.T
        column = annihilator[:, here] @ stretch @ weights[here]
        variance += float(column @ y[0]) ** 2
        columns.append(column)
    gram = np.array(columns) @ np.array(columns).T
    np.testing.assert_allclose(found.se**2, variance)
    np.testing.assert_allclose(found.freedom, np.trace(gram) ** 2 / (gram**2).sum())


def test_a_metric_that_knows_nothing_changes_next_to_nothing() -> None:
    rng = stream(8, "documents")
    y, g, others = (alike(rng, (2000, n)) for n in (200, 200, 400))
    document = np.tile(np.arange(200) // SIZE, (2000, 1))
    rest = (np.tile(50 + np.arange(80), (2000, 1)), np.full(80, SIZE), others.reshape(2000, 80, SIZE).sum(2))
    human, tuned = document_mean(totals(y, None, document, None)), document_mean(totals(y, g, document, rest), None)
    widths = [(-stats.t.ppf(0.025, of.freedom) * of.se).mean() for of in (human, tuned)]
    assert widths[1] / widths[0] < 1.03


@pytest.mark.parametrize("interval", ["bootstrap", "bootstrap_t"])
def test_documents_are_resampled_whole(interval: str) -> None:
    found = estimators.sample_mean(stream(0), PLAIN, interval=interval, level=0.05)
    means = Y.reshape(2, N_DOCUMENTS, SIZE).mean(2)
    plain = replace(PLAIN, y=means, document=None, slope=PLAIN.slope)
    wanted = estimators.sample_mean(stream(0), plain, interval=interval, level=0.05)
    np.testing.assert_allclose(found.high - found.low, wanted.high - wanted.low, rtol=0.15)
    independent = estimators.sample_mean(stream(0), replace(PLAIN, document=None), interval=interval, level=0.05)
    assert ((found.high - found.low) > 1.3 * (independent.high - independent.low)).all()


@pytest.mark.parametrize("interval", ["bootstrap", "bootstrap_t"])
@pytest.mark.parametrize("part", ["ppi", "control_variates"])
def test_a_resampled_metric_is_as_sure_as_its_standard_error(part: str, interval: str) -> None:
    rng = stream(9, "documents")
    many = replace(PLAIN, y=alike(rng, (2, 400)), document=np.tile(np.arange(400) // SIZE, (2, 1)))
    judged = with_metric(many, 1000)
    more = {"coefficient": "plug_in"} if part == "control_variates" else {}
    found = getattr(estimators, part)(stream(0), judged, interval=interval, level=0.05, **more)
    t = getattr(estimators, part)(stream(0), judged, **T, **more)
    np.testing.assert_allclose(found.high - found.low, t.high - t.low, rtol=0.12)


def test_a_test_set_that_is_judged_to_its_end_leaves_nothing() -> None:
    whole = estimators.sample_mean(stream(0), replace(PLAIN, test_set=N), **T)
    assert (whole.sd < 1e-9).all()
    noisy = estimators.sample_mean(stream(0), replace(PLAIN, test_set=N, annotator_variance=np.full(2, 0.3)), **T)
    np.testing.assert_allclose(noisy.sd, np.sqrt(0.3 / N))
    np.testing.assert_allclose(pair_errors(noisy, shared=True).se, np.sqrt(2 * 0.3 / N))


def test_skewed_judgements_are_noticed() -> None:
    scores = stream(10).exponential(size=(400, 20))
    normal = stream(11).standard_normal((400, 20))
    judged = [replace(PLAIN, y=y, document=None, slope=np.full(400, np.nan)) for y in (scores, normal)]
    shares = [estimators.sample_mean(stream(0), of, **T).skewed.mean() for of in judged]
    assert shares[0] > 0.6
    assert shares[1] < 0.12
    assert estimators.sample_mean(stream(0), judged[0], interval="bootstrap_t", level=0.05).skewed is None


REFUSED = {
    "too few documents, 1, for analysis.estimator=sample_mean": lambda: estimators.sample_mean(
        stream(0), replace(PLAIN, document=np.zeros_like(DOCUMENT)), **T
    ),
    "too few documents, 2, for analysis.estimator=ppi": lambda: estimators.ppi(
        stream(0), replace(with_metric(PLAIN), document=(DOCUMENT > 3).astype(np.int64)), **T
    ),
    "choose t or bootstrap_t": lambda: estimators.sample_mean(stream(0), PLAIN, interval="wilson", level=0.05),
    "resamples with replacement": lambda: estimators.sample_mean(
        stream(0), replace(PLAIN, test_set=100), interval="bootstrap_t", level=0.05
    ),
    "give parts": lambda: estimators.ppi(stream(0), replace(with_metric(PLAIN), parts=None), **T),
}  # fmt: skip


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_estimated_is_named(says: str) -> None:
    with pytest.raises(InputError, match=says):
        REFUSED[says]()
