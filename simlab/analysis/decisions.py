"""Decide whether one of two systems is better, at each look at a pair's annotations: the rules of `decision`.

A rule (`naive` to `equivalence`) takes `Evidence`, the counts of outcomes (`>`, `=`, `<`) of each pair at all looks
that it could reach; a row is a pair in a campaign. It returns `Verdicts`: at each look +1 (the first system is better),
0 or -1, and whether the rule stops there. The protocol reads on to the first stop, or to where the budget ends. p>, p=
and p< are the probabilities of the three outcomes, theta the posterior probability that p> exceeds p<.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.special import betainc, betaincinv, betaln, xlog1py

from simlab.analysis import sign_test
from simlab.analysis.preferences.betting import (
    Estimand,
    Unit,
    both_ways,
    document_totals,
    exact_bets,
    is_beyond,
    is_within,
    require_trail,
)
from simlab.analysis.preferences.cluster_flips import asymptotic_flip_p_values, exact_flip_p_values
from simlab.analysis.preferences.families import OfEValues, OfPValues, holm, was_ever_crossed, was_ever_rejected
from simlab.analysis.preferences.posterior import Sharing, priors
from simlab.analysis.preferences.sequential import (
    Spending,
    betting_evidence,
    corrected_statistic,
    has_corrected_crossed,
    has_crossed_boundary,
    have_documents_crossed,
    last_reading,
    mixture_evidence,
)
from simlab.formulas import passes, read_stochastic
from simlab.types import Array, Bools, Evidence, Floats, InputError, Ints, Summary, Verdicts
from simlab.types.bounds import Concentration

Level = Annotated[float, Gt(0), Lt(1)]
Form = Literal["exact", "asymptotic"]

_NODES = 64


def naive(evidence: Evidence, *, level: Level, form: Form) -> Verdicts:
    """Take the metric at its word: a sign test on its own preferences over all outputs, no human asked.

    Assumes that the metric never errs. Source: Deriu et al. 2023, section 1. Raises InputError without a metric.
    """
    counts = _merge_sizes(evidence.metric[:, :1] + evidence.confusion[:, :1].sum(-1))
    if not counts.any():
        raise InputError("decision=naive needs a metric, and metric=none has none; choose metric=mu_matrix or another")
    verdict = np.repeat(_signs(counts, passes(_test(form)(counts), level)), evidence.human.shape[1], axis=1)

    def summarise(human: Ints, confusion: Ints, metric: Ints) -> Summary:
        total = _merge_sizes(metric + confusion.sum(-1))
        # Deriu et al. 2023 hold the metric's plain shares against the humans, not a posterior mean.
        rate = total / np.maximum(total.sum(-1, keepdims=True), 1)
        return Summary(rate, *_beta_bounds(total))

    return Verdicts(verdict, np.ones(verdict.shape, bool), np.full(verdict.shape, np.nan), summarise)


def fixed(evidence: Evidence, *, level: Level, form: Form, unit: Unit, multiplicity: OfPValues) -> Verdicts:
    """Look once, when the budget is spent: a sign test on the human ratings.

    With `unit=document` whole documents are flipped (`preferences.cluster_flips`), so that their outputs may resemble
    each other. `multiplicity=holm`: the level is that of all pairs of a campaign together.
    """
    p_value = _test(form)(evidence.human) if unit == "output" else _flips(evidence, form)
    significant = passes(p_value, level)
    if multiplicity == "holm":
        by_campaign = p_value.reshape(evidence.campaigns, -1, p_value.shape[1])
        significant = holm(by_campaign.swapaxes(1, 2), level).swapaxes(1, 2).reshape(p_value.shape)
    verdict = _signs(evidence.human, significant)
    never = np.zeros(verdict.shape, bool)
    return Verdicts(
        verdict, never, np.full(verdict.shape, np.nan), _summarise_human_ratings, joint=multiplicity != "none"
    )


def human_only(evidence: Evidence, *, level: Level) -> Verdicts:
    """Decide once the posterior probability that a system wins more often passes 1 - level / 2; look after every batch.

    Human ratings only, with a uniform prior: `theta = P(Beta(wins + 1, losses + 1) > 1/2)`. Source: Deriu et al. 2023,
    algorithm 1. Nothing corrects for looking often.
    """
    theta = win_probability(evidence.human)
    verdict = _find_verdict(theta, level)
    return Verdicts(verdict, verdict != 0, theta, _summarise_human_ratings)


def bayes(
    evidence: Evidence,
    *,
    level: Level,
    two_outcomes: bool,
    rater: list[list[float]] | None,
    mu: list[list[float]] | None,
    sharing: Sharing,
    posterior: Literal["quadrature", "nuts"],
) -> Verdicts:
    """Decide as `human_only` does, from the posterior given human and metric ratings.

    The metric's mixture matrix is learned from the outputs that both rated: pair by pair, or with the help of the other
    pairs of the campaign (`sharing`, see `preferences.posterior`); or it is known: `mu[metric][oracle]`. A metric that
    tells sizes of its differences apart has a row for each, and one pseudo-count for each row and human outcome keeps
    few outputs that both rated from being believed too much. Assumes that the metric errs alike on all outputs of a
    pair (with sizes: on those of a size), and that humans are the oracle or err as `rater[human][oracle]` says.
    `two_outcomes`: the metric cannot draw. `posterior=nuts` samples the published model by NumPyro, some thousand times
    as dear; a pair whose chains disagree (R-hat above 1.05) gets no verdict. Source: Deriu et al. 2023, section 3 and
    algorithm 1.

    Raises InputError for a `rater` or `mu` that is no confusion matrix, for a metric that does what it is said not to
    do, and for keys that do not go together.
    """
    _refuse_unknown_sizes(evidence, mu, posterior)
    _refuse_what_cannot_be(evidence, two_outcomes, rater, mu, sharing)
    if posterior == "nuts":
        decide, summarise = _sample_posteriors(level, two_outcomes, rater, mu, sharing)
    else:
        decide, summarise = _integrate_posteriors(level, two_outcomes, rater, mu)
    pairs = len(evidence.human) // evidence.campaigns

    def known_confusion(confusion: Ints) -> dict[str, Any]:
        return {} if sharing == "own" else {"prior": priors(confusion, pairs, sharing, two_outcomes=two_outcomes)}

    verdict = np.zeros(evidence.human.shape[:2], np.int8)
    theta = np.full(verdict.shape, np.nan)
    open_, read = np.arange(len(verdict)), np.zeros(len(verdict), np.int64)
    for look in range(1, len(evidence.annotations)):
        # A pair that is decided is read no further, and tells the others what it has.
        read[open_] = look
        more = {
            name: prior[open_]
            for name, prior in known_confusion(evidence.confusion[np.arange(len(read)), read]).items()
        }
        counts = (each[open_, look] for each in (evidence.human, evidence.confusion, evidence.metric))
        theta[open_, look], verdict[open_, look] = decide(*counts, **more)
        open_ = open_[verdict[open_, look] == 0]
        if not len(open_):
            break

    def summarise_pairs(human: Ints, confusion: Ints, metric: Ints) -> Summary:
        return summarise(human, confusion, metric, **known_confusion(confusion))

    if sharing == "own":
        return Verdicts(verdict, verdict != 0, theta, summarise_pairs)
    return _repeat_verdicts(verdict, theta, summarise_pairs)


def _integrate_posteriors(
    level: float, two_outcomes: bool, rater: list[list[float]] | None, mu: list[list[float]] | None
) -> tuple[Callable[..., tuple[Floats, Array]], Callable[..., Summary]]:
    """Return two functions of counts, by quadrature: one returns theta and verdicts, the other a `Summary` of p."""
    from simlab.analysis.preferences.posterior import posterior_summary, win_decisions

    model: dict[str, Any] = {"two_outcomes": two_outcomes, "rater": rater, "mu": mu}

    def decide(human: Ints, confusion: Ints, metric: Ints, **prior: Any) -> tuple[Floats, Array]:
        theta, _, verdict = win_decisions(human, confusion, metric, level=level, **model, **prior)
        return theta, verdict

    return decide, partial(posterior_summary, **model)


def _sample_posteriors(
    level: float,
    two_outcomes: bool,
    rater: list[list[float]] | None,
    mu: list[list[float]] | None,
    sharing: str,
) -> tuple[Callable[..., tuple[Floats, Array]], Callable[..., Summary]]:
    """Return the same two functions by NUTS; raise InputError for options that the published model does not have."""
    from simlab.analysis.chains import AGREE, SHORT
    from simlab.analysis.preferences.nuts import sample_posterior

    if rater is not None or sharing != "own":
        key = "decision.rater" if rater is not None else f"decision.sharing={sharing}"
        raise InputError(
            f"decision.posterior=nuts samples the published model, which does not know {key}; take "
            "decision.posterior=quadrature"
        )

    def sample(human: Ints, confusion: Ints, metric: Ints) -> Any:
        matrices = None if mu is None else np.broadcast_to(np.asarray(mu, float), confusion.shape)
        return sample_posterior(human, confusion, metric, mu=matrices, two_outcomes=two_outcomes, size=SHORT)

    def decide(human: Ints, confusion: Ints, metric: Ints) -> tuple[Floats, Array]:
        drawn = sample(human, confusion, metric)
        theta = np.where(drawn.r_hat > AGREE, np.nan, drawn.theta)
        return theta, _find_verdict(theta, level)

    def summarise(human: Ints, confusion: Ints, metric: Ints) -> Summary:
        drawn = sample(human, confusion, metric)
        return Summary(drawn.mean, drawn.low, drawn.high, drawn.r_hat, drawn.ess)

    return decide, summarise


def _find_verdict(theta: Floats, level: float) -> Array:
    return (theta > 1 - level / 2).astype(np.int8) - (theta < level / 2).astype(np.int8)


def _refuse_unknown_sizes(evidence: Evidence, mu: list[list[float]] | None, posterior: str) -> None:
    bins = evidence.metric.shape[-1] // 2
    if bins > 1 and (mu is not None or posterior == "nuts"):
        key = "decision.mu" if mu is not None else "decision.posterior=nuts"
        raise InputError(f"{key} knows no sizes of differences, and metric.bins={bins} tells them apart; set it to 1")


def _refuse_what_cannot_be(
    evidence: Evidence, two_outcomes: bool, rater: list[list[float]] | None, mu: list[list[float]] | None, sharing: str
) -> None:
    draw = evidence.metric.shape[-1] // 2
    if two_outcomes and (evidence.metric[..., draw].any() or evidence.confusion[..., draw, :].any()):
        raise InputError("decision.two_outcomes=true: this metric draws; set it to false or choose another metric")
    if rater is not None:
        read_stochastic(rater, "decision.rater", single=True)
    if rater is not None and sharing != "own":
        raise InputError(
            f"decision.sharing={sharing} learns how the metric errs from raters who do not; with decision.rater set it "
            "to own"
        )
    if mu is None and sharing == "own":
        return
    key = "decision.mu" if mu is not None else f"decision.sharing={sharing}"
    if not (evidence.metric.any() or evidence.confusion.any()):
        raise InputError(f"{key} is about a metric, and metric=none has none; leave it out or choose metric=mu_matrix")
    if mu is None:
        return
    known = read_stochastic(mu, "decision.mu", single=True)
    if sharing != "own":
        raise InputError(f"decision.mu is known, and decision.sharing={sharing} is about learning it; choose one")
    if two_outcomes and known[1].any():
        raise InputError("decision.two_outcomes=true, and by decision.mu the metric draws; set one of them otherwise")
    never = ~known.any(1)
    if (never & (evidence.metric.any((0, 1)) | evidence.confusion.any((0, 1, 3)))).any():
        outcome = ">=<"[int(np.flatnonzero(never)[0])]
        raise InputError(f"decision.mu: row {outcome} is 0, and the metric says {outcome}; give what it says a chance")


def _repeat_verdicts(verdict: Array, theta: Floats, summarise: Callable[[Ints, Ints, Ints], Summary]) -> Verdicts:
    """Repeat each pair's first decision at all later looks: the last look counts where pairs are judged together."""
    decided = np.where(verdict != 0, np.arange(verdict.shape[1]), -1).max(1)
    look = np.arange(verdict.shape[1])
    at = np.where((decided[:, None] >= 0) & (look > decided[:, None]), decided[:, None], look)
    verdict, theta = np.take_along_axis(verdict, at, axis=1), np.take_along_axis(theta, at, axis=1)
    return Verdicts(verdict, verdict != 0, theta, summarise, joint=True)


def anytime(
    evidence: Evidence, *, level: Level, concentration: Concentration, use_metric: bool, multiplicity: OfEValues
) -> Verdicts:
    """Decide by an e-process, valid however often one looks: its error stays below `level` at any stopping time.

    Under equal systems each rating that is no draw is a fair coin, so the Beta(concentration, concentration) mixture of
    likelihood ratios is a test martingale, and by Ville's inequality it exceeds 1 / level with probability at most
    `level`. Assumes that ratings are exchangeable draws from the outputs asked about. With `use_metric` bets are on
    the human preference less what the metric lets expect (see `sequential.betting_evidence`): that assumes, too, that
    the metric's mean preference over its outputs is the population's (many more outputs than annotations); `betting`
    does not. `multiplicity`: the level is that of each pair, or of all pairs of a campaign; see
    `families.was_ever_rejected`.
    Sources: Ville 1939; Robbins 1970; Ramdas et al. 2023.
    """
    log_e = betting_evidence(evidence) if use_metric else mixture_evidence(evidence.human, concentration)
    crossed = was_ever_rejected(log_e, evidence.campaigns, level, multiplicity)
    verdict = _signs(evidence.human, crossed)
    nothing = np.full(verdict.shape, np.nan)
    return Verdicts(verdict, verdict != 0, nothing, _summarise_human_ratings, joint=multiplicity != "none")


def betting(
    evidence: Evidence, *, level: Level, estimand: Estimand, use_metric: bool, unit: Unit, multiplicity: OfEValues
) -> Verdicts:
    """Decide by an e-process of bets on the next output, exact with the metric too, however often one looks.

    `estimand` names whose mean of wins less losses is 0 if systems are equal: `population`, that of all outputs that
    these were drawn from; `test_set`, that of the outputs of this test set that humans can rate: once all are read,
    everything is known.
    With `use_metric` bets are on what the metric leaves open; the population takes fresh outputs that the metric alone
    has seen, at least one a step. With `unit=document` a step is a document, and outputs of a document may resemble
    each other. Raters are taken as given. `multiplicity`: the level is that of each pair, or of all pairs of a
    campaign; see `families.was_ever_rejected`. Sources: see `preferences.betting`.
    """
    log_e, ahead = both_ways(*exact_bets(evidence, estimand=estimand, use_metric=use_metric, unit=unit))
    verdict = ahead * was_ever_rejected(log_e, evidence.campaigns, level, multiplicity)
    nothing = np.full(verdict.shape, np.nan)
    return Verdicts(verdict, verdict != 0, nothing, _summarise_human_ratings, joint=multiplicity != "none")


def group_sequential(
    evidence: Evidence,
    *,
    level: Level,
    spending: Spending,
    unit: Unit,
    multiplicity: OfPValues,
    metric: Literal["ignore", "correct"],
) -> Verdicts:
    """Decide by a sign test at each planned look, with boundaries that spend the level over the looks.

    The looks and their number are planned: information is the share of the planned annotations. Boundaries are exact
    given how many ratings of each look are no draws; with `unit=document`, given how far apart wins and losses are in
    each document (`sequential.have_documents_crossed`). `multiplicity=holm`: the level is that of all pairs of a
    campaign together. `metric=correct`: a z test of human preferences corrected by the metric's, for the population;
    it holds for many annotations, whatever the metric is like (`preferences.sequential.corrected_statistic`).
    Source: Lan and DeMets 1983.

    Raises InputError for `metric=correct` without a metric, or by document.
    """
    if metric == "correct" and unit == "document":
        raise InputError(
            "decision.metric=correct counts outputs one by one, and decision.unit=document does not; choose one, or "
            "decision=betting, which can do both"
        )
    cross = has_crossed_boundary if unit == "output" else have_documents_crossed
    if metric == "correct":
        cross = has_corrected_crossed
    if multiplicity == "none":
        crossed = cross(evidence, level, spending)
    else:
        ended = last_reading(evidence)
        crossed = was_ever_crossed(
            lambda share: np.take_along_axis(cross(evidence, share, spending), ended, axis=1), evidence.campaigns, level
        )
    verdict = _signs(evidence.human, crossed)
    if metric == "correct":
        verdict = (np.sign(corrected_statistic(evidence)) * crossed).astype(np.int8)
    nothing = np.full(verdict.shape, np.nan)
    return Verdicts(verdict, verdict != 0, nothing, _summarise_human_ratings, joint=multiplicity != "none")


def equivalence(
    evidence: Evidence,
    *,
    level: Level,
    margin: Annotated[float, Ge(0), Lt(1)],
    holds: Literal["given_prior", "within_the_plan", "at_any_look"],
) -> Verdicts:
    """Decide between better, worse and practically equal: a region of practical equivalence for p> - p<.

    Human ratings only. `given_prior`: stops when the posterior of `d = p> - p<` (uniform prior) puts more than
    1 - level / 2 above the margin, or below minus the margin, or more than 1 - level within: then the verdict is 0.
    That holds given the prior, at one look, and no error rate is promised. Source: Kruschke 2018. The others promise
    that a difference of at most the margin is called better or worse with probability at most `level`, and one of the
    margin or more equal with probability at most `level`, however often one looks: `within_the_plan` up to the planned
    number of ratings (normal approximation), `at_any_look` without any end (e-processes, exact); see `is_beyond` and
    `is_within` of `preferences.betting`.
    """
    if holds == "given_prior":
        above, below = (
            probability_beyond_margin(evidence.human, margin),
            probability_beyond_margin(evidence.human[..., ::-1], margin),
        )
        better, worse, equal = above > 1 - level / 2, below > 1 - level / 2, 1 - above - below > 1 - level
    else:
        planned, plan = int(evidence.annotations[-1]), holds == "within_the_plan"
        # Within the margin both better and worse err, so each takes half of the level; equal errs in one way only.
        better = is_beyond(evidence.human, planned, margin, level / 2, plan=plan)
        worse = is_beyond(evidence.human[..., ::-1], planned, margin, level / 2, plan=plan)
        equal = is_within(evidence.human, planned, margin, level, plan=plan)
    verdict = better.astype(np.int8) - worse.astype(np.int8)
    return Verdicts(verdict, (verdict != 0) | equal, win_probability(evidence.human), _summarise_human_ratings)


def win_probability(counts: Array) -> Floats:
    """Return `P(p> > p<)` given human ratings `counts[..., outcome]` and a uniform prior.

    >>> win_probability(np.array([3, 0, 3]))
    array(0.5)
    """
    return np.asarray(1 - betainc(counts[..., 0] + 1.0, counts[..., 2] + 1.0, 0.5))


def probability_beyond_margin(counts: Array, margin: float) -> Floats:
    """Return `P(p> - p< > margin)` given human ratings `counts[..., outcome]` and a uniform prior.

    With `r = p> + p<` and `u = p> / r`, independent Betas, this is the mean over r of `P(u > (1 + margin / r) / 2)`.
    """
    wins, draws, losses = (counts[..., outcome, None].astype(float) for outcome in range(3))
    a, b = wins + losses + 2, draws + 1
    centre, spread = a / (a + b), np.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    # Few nodes resolve the peak of many ratings if they stand on it; |p> - p<| is at most r, so r starts at the margin.
    low, high = np.maximum(centre - 9 * spread, margin), np.minimum(centre + 9 * spread, 1.0)
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    r = low + (high - low) * (node + 1) / 2
    inside = np.maximum(high - low, 0) * weight / 2
    density = np.exp((a - 1) * np.log(np.maximum(r, 1e-300)) + xlog1py(b - 1, -np.minimum(r, 1 - 1e-16)) - betaln(a, b))
    passed = 1 - betainc(wins + 1, losses + 1, np.clip((1 + margin / np.maximum(r, 1e-300)) / 2, 0, 1))
    return np.asarray(np.clip((inside * density * passed).sum(-1), 0, 1))


def _merge_sizes(counts: Array) -> Array:
    """Count a metric's wins, draws and losses, `[..., outcome]`, of whatever size."""
    bins = counts.shape[-1] // 2
    return np.stack([counts[..., :bins].sum(-1), counts[..., bins], counts[..., bins + 1 :].sum(-1)], axis=-1)


def _signs(counts: Array, significant: Bools) -> Array:
    return np.asarray(np.sign(counts[..., 0] - counts[..., 2]) * significant, np.int8)


def _test(form: Form) -> sign_test.Test:
    return {"exact": sign_test.exact, "asymptotic": sign_test.asymptotic}[form]


def _flips(evidence: Evidence, form: Form) -> Floats:
    """Return p-values `[row, look]` of flipping whole documents."""
    total = document_totals(require_trail(evidence), evidence.annotations, whole=False)
    return {"exact": exact_flip_p_values, "asymptotic": asymptotic_flip_p_values}[form](total)


def _summarise_human_ratings(human: Ints, confusion: Ints, metric: Ints) -> Summary:
    """Summarise the posterior given human ratings only."""
    return Summary((human + 1) / (human.sum(-1, keepdims=True) + 3), *_beta_bounds(human))


def _beta_bounds(counts: Ints) -> tuple[Floats, Floats]:
    """Return the equal-tailed 95 % bounds of each component of Dirichlet(counts + 1)."""
    a = counts + 1.0
    b = a.sum(-1, keepdims=True) - a
    return betaincinv(a, b, 0.025), betaincinv(a, b, 0.975)
