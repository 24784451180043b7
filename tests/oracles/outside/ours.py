"""Ask simlab what `theirs` asks packages of others, about the same samples and under the same names."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import ndtri

from simlab.analysis import multiplicity, sign_test, significance
from simlab.analysis.means import bootstrap, intervals, planning
from simlab.analysis.means import components as judged_components
from simlab.analysis.means import documents as of_documents
from simlab.analysis.means.estimates import Rest, interval
from simlab.analysis.means.estimates import ppi as power_tuned
from simlab.analysis.means.estimates import sample_mean as averaged
from simlab.analysis.means.metric_gain import spread_of as paule_mandel
from simlab.analysis.normalization import zscore as normalised
from simlab.analysis.preferences import strengths
from simlab.analysis.preferences.consensus import ConsensusChains
from simlab.analysis.raters import t_tests
from simlab.concluding.possible_ranks import compare_with_margin
from simlab.fitting import agreement, agreement_coefficients
from simlab.fitting.components import PilotComponents, coefficients, variances
from simlab.types import Estimates, Floats, Judged, ScoredRatings, Seen
from tests.oracles.outside import samples
from tests.oracles.outside.theirs import LEVEL, MARGINS, RESAMPLES, Numbers
from tests.rated_tables import rated


def ppi(seed: int) -> Numbers:
    """Divide sums of squares by n and N, as the package does, not by what leaves errors unbiased."""
    y, g, more = samples.judged(seed)
    found, n = power_tuned(y, g, Rest(len(more), more.mean(), more.var(ddof=1))), len(y)
    judged = found.influence.var() * (n - 2) / (n - 1) / n
    half = -ndtri(LEVEL / 2) * np.sqrt(judged + found.coefficient**2 * more.var() / len(more))
    return {
        "value": found.value,
        "low": found.value - half,
        "high": found.value + half,
        "coefficient": found.coefficient,
    }


def sample_mean(seed: int) -> Numbers:
    y = samples.skewed(seed)
    return {
        "value": averaged(y).value,
        "normal": interval(averaged(y), LEVEL),
        "t": interval(averaged(y), LEVEL, len(y) - 1),
    }


def wilson(seed: int) -> Numbers:
    k, n = samples.shares(seed)
    return intervals.wilson(k / n, n, LEVEL)._asdict()


def clopper_pearson(seed: int) -> Numbers:
    k, n = samples.shares(seed)
    return intervals.clopper_pearson(k / n, n, LEVEL)._asdict()


def sign_test_exact(seed: int) -> Numbers:
    return {"p_value": sign_test.exact(samples.outcomes(seed))}


def sign_test_asymptotic(seed: int) -> Numbers:
    return {"p_value": sign_test.asymptotic(samples.outcomes(seed))}


def holm(seed: int) -> Numbers:
    return {"p_value": multiplicity.holm(samples.p_values(seed))}


def bh(seed: int) -> Numbers:
    return {"p_value": multiplicity.bh(samples.p_values(seed))}


def paired_t(seed: int) -> Numbers:
    return _of_pair(seed, shared=True)


def welch_t(seed: int) -> Numbers:
    return _of_pair(seed, shared=False)


def _of_pair(seed: int, *, shared: bool) -> Numbers:
    found = _estimated(samples.paired(seed))
    gap, errors = found.value[:1] - found.value[1:], intervals.pair_errors(found, shared=shared)
    reach = intervals.quantile(1 - LEVEL / 2, errors) * errors.se
    p_value = intervals.two_sided_p_values(gap, errors)
    return {"p_value": p_value[0], "low": (gap - reach)[0], "high": (gap + reach)[0]}


def _estimated(y: Floats) -> Estimates:
    nothing = np.zeros(len(y))
    judged = Judged(y, None, False, None, None, None, nothing, nothing, None)
    return intervals.estimate_from_judgements(np.random.default_rng(0), averaged(y), judged, "t", LEVEL)


def equivalence(seed: int) -> Numbers:
    of = _of_pair(seed, shared=True)
    said = [compare_with_margin(of["low"], of["high"], margin) for margin in MARGINS]
    return {"equivalent": [float(one == "equivalent") for one in said]}


def by_rater(seed: int) -> Numbers:
    score = samples.side_by_side(seed)
    raters, each, systems = score.shape
    by = np.broadcast_to(np.repeat(np.arange(raters), each)[:, None, None], (raters * each, systems, 1))
    held = rated(score.reshape(-1, systems, 1), by)
    return {"p_value": t_tests.by_rater(np.random.default_rng(0), held)[0]}


def two_way(seed: int) -> Numbers:
    held = _all_by_all(samples.crossed(seed)[:2])
    return {"p_value": t_tests.two_way(np.random.default_rng(0), held, rater_alone=3)[0]}


def _all_by_all(score: Floats) -> ScoredRatings:
    by = np.broadcast_to(np.arange(score.shape[2]), (score.shape[1], score.shape[0], score.shape[2]))
    return rated(score.transpose(1, 0, 2), by)


def mean_by_cluster(seed: int) -> Numbers:
    _, y, cluster = samples.clustered(seed)
    value, *bounds = agreement.mean_by_cluster(y, cluster)
    return {"value": value, "bounds": bounds}


def slope_by_cluster(seed: int) -> Numbers:
    value, *bounds = agreement.slope_by_cluster(*samples.clustered(seed))
    return {"value": value, "bounds": bounds}


def document_mean(seed: int) -> Numbers:
    score = samples.documents(seed)
    document = np.repeat(np.arange(len(score)), score.shape[1])[None]
    found = of_documents.document_mean(of_documents.totals(score.reshape(1, -1), None, document, None))
    return {"value": found.value[0], "se": found.se[0]}


def one_way(seed: int) -> Numbers:
    score = samples.repeated(seed)
    found = judged_components.variance_components(score)
    return {
        "signal": found.signal_variance,
        "noise": found.annotator_variance,
        "icc": _intraclass(score).one_way,
    }


def intraclass(seed: int) -> Numbers:
    found = _intraclass(samples.repeated(seed))
    return {"single": found.single, "average": found.average}


def _intraclass(score: Floats) -> agreement_coefficients.Intraclass:
    output, rater = (axis.ravel() for axis in np.indices(score.shape))
    return agreement_coefficients.intraclass_correlations(output, rater, score.ravel(), np.ones(len(score)))


def components(seed: int) -> Numbers:
    return _components(samples.crossed(seed))


def _components(score: Floats) -> Numbers:
    return dict(variances(score[:, :, None, :]))


def generalisability(seed: int) -> Numbers:
    score = samples.crossed(seed)
    variance = {name: np.atleast_1d(value) for name, value in _components(score).items()}
    _, n, raters = score.shape
    held = PilotComponents(variance, 1.0, raters, n, frozenset())
    return {one.name: one.value for one in coefficients(held, raters, [n]) if one.raters == "drawn"}


def davidson(seed: int) -> Numbers:
    votes = samples.votes(seed, ties=True)
    found = strengths.fit(votes.counts(), votes.n_systems)
    error = strengths.contrast_errors(_from_first(votes.n_systems), [found.bread])
    return {"value": found.value, "log_ties": found.log_ties, "error": error}


def bradley_terry(seed: int) -> Numbers:
    votes = samples.votes(seed, ties=False)
    found, apart = strengths.fit(votes.counts(), votes.n_systems), _from_first(votes.n_systems)
    few = strengths.effective_clusters(np.unique(votes.rater, return_inverse=True)[1])
    robust = strengths.contrast_errors(apart, strengths.covariances(votes, "rater", found))
    # What it adds for the few raters, squares of whom count twice, no package does.
    return {
        "value": found.value,
        "error": strengths.contrast_errors(apart, [found.bread]),
        "robust": robust * (few - 1) / few,
    }


def _from_first(n: int) -> Floats:
    """Return contrasts of each other system to the first."""
    return np.concatenate([-np.ones((n - 1, 1)), np.eye(n - 1), np.zeros((n - 1, 1))], axis=1)


def spread_of(seed: int) -> Numbers:
    return {"value": paule_mandel(*samples.studies(seed), LEVEL).value}


def kendall(seed: int) -> Numbers:
    return {"tau": agreement.kendall(*samples.scored(seed))}


def sample_size(seed: int) -> Numbers:
    share = np.random.default_rng([seed, 20]).uniform(0.1, 0.9, 8)
    return {"n": planning.judgements_for_width(0.1, share * (1 - share), 0.0)}


def permutation(seed: int) -> Numbers:
    total = samples.totals(seed)
    rng = np.random.default_rng(0)
    return {"p_value": significance.permutation(rng, total, permutations=2 ** len(total), p_value="add_one")}


def permutation_drawn(seed: int) -> Numbers:
    rng = np.random.default_rng([seed, 40])
    total = samples.paired(seed).T
    return {"p_value": significance.permutation(rng, total, permutations=RESAMPLES, p_value="add_one")}


def percentile(seed: int) -> Numbers:
    return _bootstrapped(seed, studentise=False)


def bootstrap_t(seed: int) -> Numbers:
    return _bootstrapped(seed, studentise=True)


def _bootstrapped(seed: int, *, studentise: bool) -> Numbers:
    rng = np.random.default_rng([seed, 41])
    y = samples.skewed(seed)
    bounds = bootstrap.bootstrap_interval(rng, y, level=LEVEL, resamples=RESAMPLES, studentise=studentise)
    return bounds._asdict()


def zscore(seed: int) -> Numbers:
    score = samples.repeated(seed)
    output, rater = (axis.ravel() for axis in np.indices(score.shape))
    seen = Seen(np.zeros_like(output), output, rater, score.ravel(), np.full(score.size, -1))
    return {"value": normalised(seen, ddof=1).value}


@cache
def consensus(seed: int) -> Numbers:
    chains = ConsensusChains(np.random.default_rng([seed, 51]), samples.repeated_answers(seed), 2)
    chains.draw(150)
    drawn = chains.draw(500)
    return {"shares": drawn.shares[:, :, 0].mean((0, 1)), "right": drawn.agree.mean((0, 1))}


def majority(seed: int) -> Numbers:
    at = samples.repeated_answers(seed)
    most = at.counts().argmax(1)
    right = [float((at.label == most[at.item])[at.rater == rater].mean()) for rater in range(at.n_raters)]
    return {"shares": np.bincount(most, minlength=3) / len(most), "right": right}
