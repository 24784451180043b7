"""Ask packages of others; each function returns numbers by name, as its namesake in `ours` does.

Packages are imported where they are asked: recorded answers can be read without them.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from simlab.types import Floats
from tests.oracles.outside import samples

LEVEL, RESAMPLES = 0.05, 10_000
FINER = 1000.0
"""GeneralizIT rounds variances to four digits; those of scores in thousandths keep ten."""
Numbers = dict[str, Any]


def ppi(seed: int) -> Numbers:
    """PPI++ of a mean: the estimate, its interval, and lambda, which is read off three estimates."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    at = samples.judged(seed)
    tuned, none, full = (ppi_mean_pointestimate(*at, lam=lam)[0] for lam in (None, 0, 1))
    low, high = ppi_mean_ci(*at, alpha=LEVEL)
    return {"value": tuned, "low": low[0], "high": high[0], "coefficient": (tuned - none) / (full - none)}


def sample_mean(seed: int) -> Numbers:
    """Normal and t intervals of a mean."""
    from statsmodels.stats.weightstats import DescrStatsW

    held = DescrStatsW(samples.skewed(seed))
    return {"value": held.mean, "normal": held.zconfint_mean(LEVEL), "t": held.tconfint_mean(LEVEL)}


def wilson(seed: int) -> Numbers:
    """Score intervals of shares."""
    return _of_shares(seed, "wilson")


def clopper_pearson(seed: int) -> Numbers:
    """Exact intervals of shares."""
    return _of_shares(seed, "beta")


def _of_shares(seed: int, method: str) -> Numbers:
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(*samples.shares(seed), alpha=LEVEL, method=method)
    return {"low": np.nan_to_num(low, nan=0.0), "high": np.nan_to_num(high, nan=1.0)}


def sign_test_exact(seed: int) -> Numbers:
    """Binomial tests of wins against losses."""
    from scipy.stats import binomtest

    decided = [(int(w), int(w + loss)) for w, _, loss in samples.outcomes(seed)]
    return {"p_value": [binomtest(w, n).pvalue if n else 1.0 for w, n in decided]}


def sign_test_asymptotic(seed: int) -> Numbers:
    """McNemar's test without continuity correction."""
    from statsmodels.stats.contingency_tables import mcnemar

    tables = [[[0, w], [loss, 0]] for w, _, loss in samples.outcomes(seed)]
    known = [mcnemar(t, exact=False, correction=False).pvalue if t[0][1] + t[1][0] else 1.0 for t in tables]
    return {"p_value": known}


def holm(seed: int) -> Numbers:
    """Holm's adjusted p-values."""
    return _adjusted(seed, "holm")


def bh(seed: int) -> Numbers:
    """Benjamini and Hochberg's adjusted p-values."""
    return _adjusted(seed, "fdr_bh")


def _adjusted(seed: int, method: str) -> Numbers:
    from statsmodels.stats.multitest import multipletests

    return {"p_value": multipletests(samples.p_values(seed), method=method)[1]}


def paired_t(seed: int) -> Numbers:
    """Paired t test and the interval of the difference."""
    from scipy.stats import ttest_rel

    found = ttest_rel(*samples.paired(seed))
    bounds = found.confidence_interval(1 - LEVEL)
    return {"p_value": found.pvalue, "low": bounds.low, "high": bounds.high}


def welch_t(seed: int) -> Numbers:
    """Welch's t test of two systems that share no inputs."""
    from scipy.stats import ttest_ind

    found = ttest_ind(*samples.paired(seed), equal_var=False)
    bounds = found.confidence_interval(1 - LEVEL)
    return {"p_value": found.pvalue, "low": bounds.low, "high": bounds.high}


MARGINS = np.linspace(0.05, 1.5, 30)


def equivalence(seed: int) -> Numbers:
    """Two one-sided t tests, each at half the level, as an interval within margins is."""
    from statsmodels.stats.weightstats import ttost_paired

    first, second = samples.paired(seed)
    return {"equivalent": [float(ttost_paired(first, second, -m, m)[0] < LEVEL / 2) for m in MARGINS]}


def by_rater(seed: int) -> Numbers:
    """Test raters' mean differences by t."""
    from scipy.stats import ttest_1samp

    gap = samples.side_by_side(seed).mean(1)
    return {"p_value": ttest_1samp(gap[:, 0] - gap[:, 1], 0.0).pvalue}


def two_way(seed: int) -> Numbers:
    """Cluster-robust t test by raters and documents: three sandwiches, each as if all its clusters were all there are.

    Where all raters rate all outputs a correction by n / (n - 1) is what CR2 is.
    """
    from scipy.stats import t
    from statsmodels.api import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster

    score = samples.crossed(seed)[:2]
    system, document, rater = (axis.ravel() for axis in np.indices(score.shape))
    fitted = OLS(score.ravel(), np.column_stack([np.ones(score.size), system])).fit()
    variance = []
    for label in (rater, document, rater * score.shape[1] + document):
        n = len(np.unique(label))
        variance.append(cov_cluster(fitted, label, use_correction=False)[1, 1] * n / (n - 1))
    largest = max(variance[0], variance[1], variance[0] + variance[1] - variance[2])
    freedom = min(score.shape[1:]) - 1
    return {"p_value": 2 * t.sf(abs(fitted.params[1]) / np.sqrt(largest), freedom)}


def mean_by_cluster(seed: int) -> Numbers:
    """A mean with an interval that is robust to clusters."""
    from statsmodels.api import OLS

    _, y, cluster = samples.clustered(seed)
    fitted = OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    return {"value": fitted.params[0], "bounds": fitted.conf_int(LEVEL)[0]}


def slope_by_cluster(seed: int) -> Numbers:
    """A slope with a robust interval, corrected for the number of clusters alone."""
    from scipy.stats import t
    from statsmodels.api import OLS
    from statsmodels.stats.sandwich_covariance import cov_cluster

    x, y, cluster = samples.clustered(seed)
    fitted = OLS(y, np.column_stack([np.ones(len(y)), x])).fit()
    n = len(np.unique(cluster))
    error = np.sqrt(cov_cluster(fitted, cluster, use_correction=False)[1, 1] * n / (n - 1))
    reach = t.ppf(1 - LEVEL / 2, n - 1) * error
    return {"value": fitted.params[1], "bounds": [fitted.params[1] - reach, fitted.params[1] + reach]}


def document_mean(seed: int) -> Numbers:
    """The mean of documents of one size: clusters of an intercept, whose default correction is CR2 here."""
    from statsmodels.api import OLS

    score = samples.documents(seed)
    groups = np.repeat(np.arange(len(score)), score.shape[1])
    fitted = OLS(score.ravel(), np.ones(score.size)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    return {"value": fitted.params[0], "se": fitted.bse[0]}


def one_way(seed: int) -> Numbers:
    """Variances between and within outputs by REML: those of an analysis of variance where data are balanced."""
    from statsmodels.regression.mixed_linear_model import MixedLM

    score = samples.repeated(seed)
    groups = np.repeat(np.arange(len(score)), score.shape[1])
    fitted = MixedLM(score.ravel(), np.ones((score.size, 1)), groups).fit(reml=True)
    signal, noise = float(np.asarray(fitted.cov_re).item()), float(fitted.scale)
    return {"signal": signal, "noise": noise, "icc": signal / (signal + noise)}


def intraclass(seed: int) -> Numbers:
    """Phi of one rating and of the mean of all, raters crossed with outputs."""
    score = samples.repeated(seed)
    found = _analysed(score, ("p", "i"), "p x i")
    each = _table(found.design.anova_table["Variance"])
    noise = each["i"] + each["p x i"]
    return {"single": each["p"] / (each["p"] + noise), "average": each["p"] / (each["p"] + noise / score.shape[1])}


EFFECTS = {
    "system": "p",
    "document": "i",
    "leniency": "o",
    "system_document": "p x i",
    "rater_system": "p x o",
    "rater_document": "i x o",
    "residual": "p x i x o",
}


def components(seed: int) -> Numbers:
    """Seven variance components of systems, documents and raters."""
    each = _table(_analysed(samples.crossed(seed), ("p", "i", "o"), "p x i x o").design.anova_table["Variance"])
    return {name: max(each[theirs], 0.0) for name, theirs in EFFECTS.items()}


def generalisability(seed: int) -> Numbers:
    """E rho^2 and Phi of systems; the package rounds them to four digits."""
    found = _analysed(samples.crossed(seed), ("p", "i", "o"), "p x i x o")
    with contextlib.redirect_stdout(io.StringIO()):
        found.calculate_g_coefficients()
    row = found.design.g_coeffs_table.loc["p"]
    return {"e_rho2": row["rho^2"], "phi": row["phi^2"]}


def _analysed(score: Floats, names: tuple[str, ...], design: str) -> Any:
    from generalizit import GeneralizIT
    from pandas import DataFrame

    axes = {name: axis.ravel() for name, axis in zip(names, np.indices(score.shape), strict=True)}
    with contextlib.redirect_stdout(io.StringIO()):
        found = GeneralizIT(DataFrame({**axes, "score": FINER * score.ravel()}), design, "score")
        found.calculate_anova()
    return found


def _table(column: Any) -> dict[str, float]:
    return {str(name): float(value) / FINER**2 for name, value in column.items()}


def davidson(seed: int) -> Numbers:
    """Strengths with ties, as the log-linear model that Davidson's is: a Poisson regression with a level per pair."""
    from statsmodels.api import GLM
    from statsmodels.genmod.families import Poisson

    votes = samples.votes(seed, ties=True)
    counts, n = votes.counts(), votes.n_systems
    first, second = np.triu_indices(n, 1)
    rows = np.zeros((len(first), 3, n + 1 + len(first)))
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        rows[k, 0, [i, j]], rows[k, 2, [i, j]] = (0.5, -0.5), (-0.5, 0.5)
        rows[k, 1, n], rows[k, :, n + 1 + k] = 1.0, 1.0
    design = np.delete(rows.reshape(-1, rows.shape[2]), 0, axis=1)  # the first system is the origin
    fitted = GLM(counts.ravel(), design, family=Poisson()).fit(tol=1e-14, tol_criterion="params", maxiter=200)
    strength = np.concatenate([[0.0], fitted.params[: n - 1]])
    return {"value": strength - strength.mean(), "log_ties": fitted.params[n - 1], "error": fitted.bse[: n - 1]}


def bradley_terry(seed: int) -> Numbers:
    """Strengths without ties, as a logistic regression of votes, with errors robust to raters."""
    from statsmodels.api import GLM
    from statsmodels.genmod.families import Binomial
    from statsmodels.stats.sandwich_covariance import cov_cluster

    votes = samples.votes(seed, ties=False)
    first, second = np.triu_indices(votes.n_systems, 1)
    k, design = np.arange(len(votes.pair)), np.zeros((len(votes.pair), votes.n_systems))
    design[k, first[votes.pair]], design[k, second[votes.pair]] = 1.0, -1.0
    fitted = GLM(votes.value > 0, design[:, 1:], family=Binomial()).fit(tol=1e-14, tol_criterion="params")
    strength = np.concatenate([[0.0], fitted.params])
    robust = np.sqrt(np.diag(cov_cluster(fitted, votes.rater, use_correction=False)))
    return {"value": strength - strength.mean(), "error": fitted.bse, "robust": robust}


def spread_of(seed: int) -> Numbers:
    """The standard deviation of studies beyond their errors, by Paule and Mandel."""
    from statsmodels.stats.meta_analysis import combine_effects

    value, error = samples.studies(seed)
    return {"value": np.sqrt(combine_effects(value, error**2, method_re="iterated").tau2)}


def kendall(seed: int) -> Numbers:
    """Tau-b of scores with ties."""
    from scipy.stats import kendalltau

    return {"tau": kendalltau(*samples.scored(seed)).statistic}


def sample_size(seed: int) -> Numbers:
    """How many judgements a share needs for an interval of a width."""
    from statsmodels.stats.proportion import samplesize_confint_proportion

    share = np.random.default_rng([seed, 20]).uniform(0.1, 0.9, 8)
    return {"n": [np.ceil(samplesize_confint_proportion(p, 0.05)) for p in share]}


def permutation(seed: int) -> Numbers:
    """All swaps of two systems' documents."""
    from scipy.stats import permutation_test

    total = samples.totals(seed)
    pairs = [(total[:, i], total[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    found = [permutation_test(pair, _apart, permutation_type="samples", n_resamples=np.inf) for pair in pairs]
    return {"p_value": [one.pvalue for one in found]}


def _apart(first: Floats, second: Floats, axis: int = -1) -> Floats:
    return np.asarray(first.mean(axis) - second.mean(axis))


def permutation_drawn(seed: int) -> Numbers:
    """Some of all swaps, drawn, one added."""
    from scipy.stats import permutation_test

    pair, rng = samples.paired(seed), np.random.default_rng([seed, 30])
    found = permutation_test(tuple(pair), _apart, permutation_type="samples", n_resamples=RESAMPLES, rng=rng)
    return {"p_value": [found.pvalue]}


def percentile(seed: int) -> Numbers:
    """Percentile bootstrap of a mean."""
    from scipy.stats import bootstrap

    rng = np.random.default_rng([seed, 31])
    found = bootstrap((samples.skewed(seed),), np.mean, n_resamples=RESAMPLES, method="percentile", rng=rng)
    return {"low": found.confidence_interval.low, "high": found.confidence_interval.high}


def bootstrap_t(seed: int) -> Numbers:
    """Bootstrap-t of a mean, by resampling the studentised mean."""
    from scipy.stats import bootstrap

    y, rng = samples.skewed(seed), np.random.default_rng([seed, 32])
    mean, error = y.mean(), y.std() / np.sqrt(len(y))

    def studentised(of: Floats, axis: int = -1) -> Floats:
        return np.asarray((of.mean(axis) - mean) / (of.std(axis) / np.sqrt(of.shape[axis])))

    held = bootstrap((y,), studentised, n_resamples=RESAMPLES, method="percentile", rng=rng)
    low, high = np.quantile(held.bootstrap_distribution, [LEVEL / 2, 1 - LEVEL / 2])
    return {"low": mean - high * error, "high": mean - low * error}


def zscore(seed: int) -> Numbers:
    """Scores by rater with mean 0 and standard deviation 1."""
    from scipy.stats import zscore as standardised

    score = samples.repeated(seed)
    return {"value": standardised(score, axis=0, ddof=1).ravel()}


def consensus(seed: int) -> Numbers:
    """Shares of classes by Dawid and Skene, and how often each rater is right, the classes as frequent as found."""
    import pandas as pd
    from crowdkit.aggregation import DawidSkene

    at = samples.repeated_answers(seed)
    found = DawidSkene(n_iter=1000, tol=1e-9).fit(
        pd.DataFrame({"task": at.item, "worker": at.rater, "label": at.label})
    )
    shares = found.priors_.sort_index().to_numpy()
    errors = found.errors_.sort_index()
    right = [float(np.diag(errors.loc[rater].sort_index()[[0, 1, 2]]) @ shares) for rater in range(at.n_raters)]
    return {"shares": shares, "right": right}
