"""Estimate from a table how good metrics are and how its systems differ, and list what it does not identify.

Call `fit` on a table and `Options`; it returns a `MetricFit`. rho and eta are the probabilities that a metric calls
adequate outputs adequate, and others inadequate; its mixture matrix has the probabilities of its verdicts on two
outputs given the human verdict. Notes are sentences for the user.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from simlab.fitting_metrics import confusion, correlations, humans, rates
from simlab.fitting_metrics.confusion import FEW_CLUSTERS, Mixture, group_comparisons, lay_out_by_system
from simlab.fitting_metrics.correlations import Correlation, variance_within_systems
from simlab.fitting_metrics.humans import Adequacy, Contests, worth
from simlab.fitting_metrics.rates import MetricRates
from simlab.formulas import threshold_rates
from simlab.tables.evidence import Evidence, ScoredTrials
from simlab.tables.judged_outputs import JudgedOutputs
from simlab.tables.preferences import Preferences
from simlab.types import Bools, Floats, InputError, Ints

FEW = 30
"""With fewer outputs, pairs or trials intervals are wide and their coverage is nominal only."""
# A metric with rho + eta = 1 carries no information (von Däniken et al. 2022); so close to it, that is said.
_USELESS = 1.02


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a fit, in the units of the scores.

    Differences up to `margin` (metric) or `human_margin` are draws; outputs are adequate from the human score
    `adequate_from` on, and called adequate beyond the metric's `threshold` (None: the best one). `keep_order`: what the
    metric says when humans say `<` need not mirror what it says when they say `>`.
    """

    margin: float = 0.0
    human_margin: float = 0.0
    adequate_from: float | None = None
    threshold: float | None = None
    lower_is_better: bool = False
    human_lower_is_better: bool = False
    keep_order: bool = False

    @property
    def signs(self) -> tuple[int, int]:
        """Return factors, 1 or -1, that turn (human, metric) scores so that more is better."""
        return (-1 if self.human_lower_is_better else 1), (-1 if self.lower_is_better else 1)


@dataclass(frozen=True, slots=True)
class Learned:
    """Fit of one metric; parts are None where data do not tell. `transported`: learned from corruptions."""

    name: str
    transported: bool
    rates: MetricRates | None
    mixture: Mixture | None
    correlation: Correlation | None
    notes: tuple[str, ...]

    @property
    def useful(self) -> bool:
        """True if anything was learned."""
        return any(part is not None for part in (self.rates, self.mixture, self.correlation))


@dataclass(frozen=True, slots=True)
class MetricFit:
    """Fit of all metrics of a table, with the preferences and the adequacy of its systems."""

    metrics: tuple[Learned, ...]
    contests: Contests | None
    adequacy: Adequacy | None
    notes: tuple[str, ...]


def fit(data: Evidence, options: Options) -> MetricFit:
    """Fit all metrics of a table (outputs with scores, preferences, or scored trials), and describe its systems.

    Raises InputError for options that the table has no use for, and where nothing at all can be learned.
    """
    _check(options)
    if isinstance(data, JudgedOutputs):
        _refuse(options, (), "")
        fitted = _fit_outputs(data, options)
    elif isinstance(data, Preferences):
        _refuse(options, ("keep_order",), "preferences are given; there are no scores to compare")
        fitted = _fit_preferences(data, options)
    else:
        _refuse(options, ("margin",), "scores of unit tests have their own direction, and no human scores")
        fitted = MetricFit(tuple(_learn_from_trials(trials, options) for trials in data), None, None, ())
    if fitted.metrics and not any(learned.useful for learned in fitted.metrics):
        first = fitted.metrics[0]
        reason = first.notes[0] if first.notes else "its scores and the human ones share no output"
        raise InputError(f"nothing can be learned of a metric from this table; {first.name}: {reason}")
    return fitted


def _check(options: Options) -> None:
    for name in ("margin", "human_margin"):
        value = getattr(options, name)
        if not 0 <= value < math.inf:
            raise InputError(f"{_flag(name)} {value:g} must be a number from 0; differences up to it are draws")
    for name in ("adequate_from", "threshold"):
        value = getattr(options, name)
        if value is not None and not math.isfinite(value):
            raise InputError(f"{_flag(name)} {value:g} must be a finite number")


def _refuse(options: Options, allowed: tuple[str, ...], why: str) -> None:
    """Raise InputError for an option that was given and would change nothing."""
    for key in fields(Options):
        if why and key.name not in allowed and getattr(options, key.name) != key.default:
            raise InputError(f"{_flag(key.name)} changes nothing here: {why}; leave it out")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _fit_outputs(data: JudgedOutputs, options: Options) -> MetricFit:
    human = data.human[np.isfinite(data.human)]
    if not len(human):
        raise InputError("no output has a human score; fill the column human")
    labels = bool(np.isin(human, (0.0, 1.0)).all())
    adequacy = _adequacy(data, options, labels=labels)
    if adequacy is None and options.threshold is not None:
        raise InputError(f"--threshold {options.threshold:g} needs adequate outputs; say which with --adequate-from X")
    contests = humans.contests_of_scores(data, human_margin=options.human_margin, sign=options.signs[0])
    metrics = tuple(_learn_metric(data, name, adequacy, options, labels=labels) for name in data.metrics)
    return MetricFit(metrics, contests, adequacy, (*data.notes, *describe_humans(data, adequacy, labels=labels)))


def _adequacy(data: JudgedOutputs, options: Options, *, labels: bool) -> Adequacy | None:
    """Describe what is adequate, by labels or from a score on; None where nothing says what is."""
    sign, at = options.signs[0], options.adequate_from
    if at is None:
        return humans.adequacy(data, 1 - data.human if sign < 0 else data.human) if labels else None
    adequacy = None if labels else adequacy_of_scores(data, at, sign)
    if adequacy is not None:
        return adequacy
    return humans.adequacy(data, np.where(np.isfinite(data.human), sign * data.human >= sign * at, np.nan))


def _learn_metric(
    data: JudgedOutputs, name: str, adequacy: Adequacy | None, options: Options, *, labels: bool
) -> Learned:
    """Learn what the scores of outputs tell of a metric."""
    score, notes = data.metrics[name], list(report_missing_scores(data, name))
    finite = score[np.isfinite(score)]
    if not len(finite) or np.ptp(finite) == 0:
        return Learned(name, False, None, None, None, tuple(notes))
    rates = None if adequacy is None else _rates(data, score, adequacy, options)
    notes += explain_missing_rates(rates, adequacy)
    mixture = None
    if len(data.system_names) > 1:
        margins = {"margin": options.margin, "human_margin": options.human_margin}
        mixture = confusion.mixture_of_outputs(
            data, name, **margins, signs=options.signs, mirrored=not options.keep_order
        )
        notes += describe_mixture(mixture, "outputs of two systems for the same item with both scores")
    follows = None
    if not labels:
        follows = correlations.correlation(data, name, signs=options.signs)
        notes += explain_missing_correlation(follows)
    known = follows if follows is not None and math.isfinite(follows.z_error) else None
    return Learned(name, False, rates, mixture, known, tuple(notes))


def _rates(data: JudgedOutputs, score: Floats, adequacy: Adequacy, options: Options) -> MetricRates | None:
    both: Bools = np.isfinite(score) & np.isfinite(adequacy.probability)
    if both.sum() < 2:
        return None
    sign, threshold = options.signs[1], options.threshold
    # A metric that says yes or no has no threshold that could be tuned.
    if threshold is None and np.isin(score[both], (0.0, 1.0)).all():
        threshold = 0.5
    return rates.rates(
        sign * score[both],
        adequacy.probability[both],
        data.unit[both],
        data.system[both],
        threshold=None if threshold is None else sign * threshold,
        noisy=adequacy.repeated,
        position=None if adequacy.position is None else adequacy.position[:, both],
    )


def _fit_preferences(data: Preferences, options: Options) -> MetricFit:
    if not len(data.outcome):
        raise InputError("no pair has a human preference; fill the column winner with names, or human with >, = or <")
    pairs, learned = group_comparisons(data), []
    for name, outcomes in pairs.metrics.items():
        mixture = confusion.mixture_of_preferences(pairs, name, mirrored=not options.keep_order)
        notes = *report_missing_preferences(outcomes >= 0), *describe_mixture(mixture, "preferences of both")
        learned.append(Learned(name, False, None, mixture, None, notes))
    return MetricFit(tuple(learned), humans.count_contests(pairs), None, tuple(data.notes))


def _learn_from_trials(trials: ScoredTrials, options: Options) -> Learned:
    mixture = confusion.mixture_of_trials(trials, margin=options.margin)
    scores = np.concatenate([trials.original, trials.corrupted])
    finite = scores[np.isfinite(scores)]
    if mixture is not None and np.ptp(finite) == 0:
        mixture = None
    notes = list(report_trials(trials, mixture))
    if mixture is not None or not len(finite):
        notes += describe_mixture(mixture, "trials with two finite scores")
    return Learned(trials.name, True, None, mixture, None, tuple(notes))


class _Known(NamedTuple):
    """Ratings of outputs: `mean` and `sd` of the score above the bound, and its `deviation`.

    The deviation is that of the output's mean rating from its system's; `kept` is the share of it that is no noise.
    """

    mean: Floats
    sd: Floats
    deviation: Floats
    kept: Floats


def adequacy_of_scores(outputs: JudgedOutputs, adequate_from: float, sign: int) -> Adequacy | None:
    """Estimate alphas and the errors of raters from repeated scores; outputs are adequate from a true score on.

    `sign` is -1 where less is better. An output's score is normal within its system, and so is the noise of a rating,
    as in `raters=judges`. Near the bound raters err more often than far from it, so that their errors are no constants.
    The estimate of an output's score is shrunk towards its system's mean. None where no output has repeats.
    """
    rated: Bools = np.asarray(np.isfinite(outputs.human).any(1))
    human, system = sign * outputs.human[rated], outputs.system[rated]
    variances = variance_within_systems(human, system)
    if variances is None:
        return None
    signal, noise = variances
    known = _known_quality(human, system, sign * adequate_from, signal, noise)
    alpha, counts = _alphas(known, system, len(outputs.system_names))
    rho, eta = _rater_rates(alpha, signal / (signal + noise))
    return Adequacy(
        outputs.system_names,
        alpha,
        counts,
        probability=_spread_among_outputs(rated, ndtr(known.mean / known.sd)),
        human_rho=rho,
        human_eta=eta,
        repeated=True,
        symmetric=False,
        item_agreement=_agreement(lay_out_by_system(outputs, _spread_among_outputs(rated, known.deviation)), signal),
        noise=math.sqrt(noise / signal),
        position=np.stack([_spread_among_outputs(rated, known.mean), _spread_among_outputs(rated, known.sd)]),
    )


def _known_quality(human: Floats, system: Ints, bound: float, signal: float, noise: float) -> _Known:
    mean = np.nanmean(human, axis=1)
    centre = (np.bincount(system, mean) / np.maximum(np.bincount(system), 1))[system]
    kept = signal / (signal + noise / np.isfinite(human).sum(1))
    # Ratings without noise leave no doubt of an output, and what follows divides by sd.
    sd = np.sqrt(np.maximum(signal * (1 - kept), 1e-12 * signal))
    return _Known(centre + kept * (mean - centre) - bound, sd, mean - centre, kept)


def _alphas(known: _Known, system: Ints, n_systems: int) -> tuple[Floats, Floats]:
    """Return `alpha[system]`, and `counts[system, 2]` of independent outputs that would tell it as well."""
    # A system without outputs keeps the mean of the uniform prior, and no counts.
    alpha, counts = np.full(n_systems, 0.5), np.zeros((n_systems, 2))
    z = known.mean / known.sd
    weight, slope = ndtr(z), (1 - known.kept) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / known.sd
    for k in np.unique(system):
        of = system == k
        alpha[k] = float(weight[of].mean())
        # The system's mean, towards which all its outputs are drawn, is an estimate, too.
        counts[k] = worth(alpha[k], weight[of] + float(slope[of].mean()) * known.deviation[of])
    return alpha, counts


def _rater_rates(alpha: Floats, reliability: float) -> tuple[float, float]:
    """Return how often a single rating is on the right side of the bound, averaged over systems."""
    # Normal quantiles of 0 and 1 are infinite.
    finite, follows = np.clip(alpha, 1e-6, 1 - 1e-6), math.sqrt(reliability)
    rho, eta = threshold_rates(follows, finite, -ndtri(finite) * follows)
    return float(rho.mean()), float(eta.mean())


def _spread_among_outputs(rated: Bools, value: Floats) -> Floats:
    """Lay values of rated outputs out among all, NaN for the others."""
    laid = np.full(len(rated), np.nan)
    laid[rated] = value
    return laid


def _agreement(deviation: Floats, signal: float) -> float:
    """Return the correlation of the scores of two systems' outputs for the same item, free of noise, in [0, .99]."""
    first, second = np.triu_indices(len(deviation), 1)
    rated = np.isfinite(deviation)
    both = float((rated[first] & rated[second]).sum())
    laid = np.where(rated, deviation, 0.0)
    return min(max(float((laid @ laid.T)[first, second].sum()) / both / signal, 0.0), 0.99) if both else math.nan


def describe_humans(data: JudgedOutputs, adequacy: Adequacy | None, *, labels: bool) -> Iterator[str]:
    """Yield sentences on human scores, labels and their repeats."""
    if missing := int((~np.isfinite(data.human).any(1)).sum()):
        yield f"{missing} of {len(data.human)} outputs have no human score; left out"
    if len(data.system_names) < 2:
        yield "one system: no outputs are compared, so mu is not identified"
    if adequacy is None:
        yield "rho and eta are not identified: say from which human score outputs are adequate (--adequate-from X)"
    elif adequacy.repeated:
        right = f"{adequacy.human_rho:.3f} of adequate outputs and {adequacy.human_eta:.3f} of others"
        if adequacy.noise is not None:
            yield f"raters are right about {right}: scores and noise of raters are taken to be normal within a system"
        else:
            yield f"raters are right about {right}: {_errors(adequacy)}"
    if (np.isfinite(data.human).sum(1) > 1).any():
        return
    if adequacy is not None:
        yield "no output has repeats: errors of the labels are part of rho and eta"
    if not labels:
        yield "no output has repeats: gamma is not identified, and noise of the raters lowers the correlation"


def _errors(adequacy: Adequacy) -> str:
    which = (
        "of both kinds as frequent, since no output has three labels" if adequacy.symmetric else "of all raters alike"
    )
    return f"errors {which}, and independent for the labels of an output"


def report_missing_scores(data: JudgedOutputs, name: str) -> Iterator[str]:
    """Yield sentences on scores that are missing, few or all the same."""
    score = data.metrics[name]
    missing = ~np.isfinite(score)
    if missing.all():
        yield "it has no scores"
        return
    if missing.any():
        system = data.system_names[data.system[int(missing.argmax())]]
        yield f"{int(missing.sum())} of {len(score)} outputs have no finite score, the first of {system}; left out"
    if np.ptp(score[~missing]) == 0:
        yield f"it is constant ({score[~missing][0]:g}) and tells nothing"
    both = int((~missing & np.isfinite(data.human).any(1)).sum())
    if 0 < both < FEW:
        yield f"only {both} outputs have both scores; intervals are rough below {FEW}"


def report_missing_preferences(preferred: Bools) -> Iterator[str]:
    """Yield a sentence on comparisons that a metric has no verdict on, if any."""
    if missing := int((~preferred).sum()):
        yield f"{missing} of {len(preferred)} comparisons have no preference; left out"


def report_trials(trials: ScoredTrials, mixture: Mixture | None) -> Iterator[str]:
    """Yield sentences on missing scores, and on corruptions as a stand-in for real outputs."""
    both = np.isfinite(trials.original) & np.isfinite(trials.corrupted)
    if missing := int((~both).sum()):
        yield f"{missing} of {len(both)} trials lack a finite score; left out"
    scores = np.concatenate([trials.original[both], trials.corrupted[both]])
    if len(scores) and np.ptp(scores) == 0:
        yield f"it is constant ({scores[0]:g}) and tells nothing"
    kinds = len(np.unique(trials.corruption[both & ~trials.preserving]))
    if mixture is not None and 0 < kinds < FEW_CLUSTERS:
        yield f"{kinds} of {FEW_CLUSTERS} kinds of corruption that tell how far kinds differ; intervals hold for these"
    yield "corruptions are no outputs of systems; what is learned of them is transported"


def explain_missing_rates(rates: MetricRates | None, adequacy: Adequacy | None) -> Iterator[str]:
    """Yield a sentence where rho and eta are missing, or carry no information."""
    if adequacy is None:
        return
    if rates is None:
        known = adequacy.probability[np.isfinite(adequacy.probability)]
        share = f"{known.mean():.0%} of the outputs are adequate" if len(known) else "no output has a label"
        yield f"rho and eta are not identified: {share}, and both kinds are needed"
    elif rates.rho + rates.eta <= _USELESS:
        yield f"rho + eta = {rates.rho + rates.eta:.2f}: it knows next to nothing of adequacy, or lower is better"


def describe_mixture(mixture: Mixture | None, what: str) -> Iterator[str]:
    """Return which columns rest on a prior, on little, or on another order of scores."""
    if mixture is None:
        yield f"mu is not identified: there are no {what}"
        return
    for column, outcome in enumerate(">=" if mixture.mirrored else ">=<"):
        n, worth = mixture.column_counts(column)
        if n == 0:
            prior = ", ".join(f"{p:.2f}" for p in mixture.mean[:, column])
            yield f"nothing was seen that humans call {outcome}: this column is its prior, of mean ({prior})"
        elif worth < FEW:
            yield f"what is known of column {outcome} is worth {worth:.3g} independent comparisons; a prior weighs 3"
    if not mixture.prior[1].any():
        yield "it never draws: = has probability 0 (add decision.two_outcomes=true to a study)"
    (low, high), right = mixture.interval(), mixture.mean[0, 0]
    if high[0, 0] < mixture.mean[2, 0]:
        yield "it prefers what humans do not; is a lower score better?"
    elif low[0, 0] < mixture.mean[2, 0]:
        yield f"it prefers what humans do in {right:.2f} of the cases, which may be chance"


def explain_missing_correlation(correlation: Correlation | None) -> Iterator[str]:
    """Yield a sentence where the correlation is missing."""
    if correlation is None:
        yield "the correlation is not identified: too few outputs, or no spread beyond noise"
    elif not math.isfinite(correlation.z_error):
        yield "too few outputs have repeats to say how certain the correlation is; it is left out"
