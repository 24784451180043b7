"""Fit whatever a table tells of metrics and systems, and say what it does not tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from simlab.fitting_metrics import bounds, confusion, correlations, humans, notices, rates
from simlab.fitting_metrics.compared import compared
from simlab.fitting_metrics.confusion import Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.humans import Adequacy, Contests
from simlab.fitting_metrics.rates import Rates
from simlab.tables.evidence import Evidence, Trials
from simlab.tables.judged import Outputs
from simlab.tables.preferences import Preferences
from simlab.types import Bools, Floats, InputError


@dataclass(frozen=True, slots=True)
class Options:
    """Hold what is asked of a fit; scores are turned so that more is better, margins are in their units."""

    margin: float = 0.0
    human_margin: float = 0.0
    adequate_from: float | None = None
    threshold: float | None = None
    lower_is_better: bool = False
    human_lower_is_better: bool = False
    keep_order: bool = False

    @property
    def signs(self) -> tuple[int, int]:
        """Return what turns (human, metric) scores so that more is better."""
        return (-1 if self.human_lower_is_better else 1), (-1 if self.lower_is_better else 1)


@dataclass(frozen=True, slots=True)
class Learned:
    """Hold what was learned of a metric; None where the data do not tell. `notes` say what, and why not."""

    name: str
    transported: bool
    rates: Rates | None
    mixture: Mixture | None
    correlation: Correlation | None
    notes: tuple[str, ...]

    @property
    def useful(self) -> bool:
        """Say whether anything was learned."""
        return any(part is not None for part in (self.rates, self.mixture, self.correlation))


@dataclass(frozen=True, slots=True)
class Fit:
    """Hold all that a table tells."""

    metrics: tuple[Learned, ...]
    contests: Contests | None
    adequacy: Adequacy | None
    notes: tuple[str, ...]


def fit(data: Evidence, options: Options) -> Fit:
    """Fit metrics, and describe the systems.

    Raises InputError for options that the table has no use for, and where nothing at all can be learned.
    """
    _check(options)
    if isinstance(data, Outputs):
        _refuse(options, (), "")
        fitted = _of_outputs(data, options)
    elif isinstance(data, Preferences):
        _refuse(options, ("keep_order",), "preferences are given; there are no scores to compare")
        fitted = _of_preferences(data, options)
    else:
        _refuse(options, ("margin",), "scores of unit tests have their own direction, and no human scores")
        fitted = Fit(tuple(_of_trials(trials, options) for trials in data), None, None, ())
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


def _of_outputs(data: Outputs, options: Options) -> Fit:
    human = data.human[np.isfinite(data.human)]
    if not len(human):
        raise InputError("no output has a human score; fill the column human")
    labels = bool(np.isin(human, (0.0, 1.0)).all())
    adequacy = _adequacy(data, options, labels=labels)
    if adequacy is None and options.threshold is not None:
        raise InputError(f"--threshold {options.threshold:g} needs adequate outputs; say which with --adequate-from X")
    contests = humans.contests_of_scores(data, human_margin=options.human_margin, sign=options.signs[0])
    metrics = tuple(_of_metric(data, name, adequacy, options, labels=labels) for name in data.metrics)
    return Fit(metrics, contests, adequacy, (*data.notes, *notices.on_humans(data, adequacy, labels=labels)))


def _adequacy(data: Outputs, options: Options, *, labels: bool) -> Adequacy | None:
    """Describe what is adequate, by labels or from a score on; None where nothing says what is."""
    sign, at = options.signs[0], options.adequate_from
    if at is None:
        return humans.adequacy(data, 1 - data.human if sign < 0 else data.human) if labels else None
    adequacy = None if labels else bounds.adequacy_of_scores(data, at, sign)
    if adequacy is not None:
        return adequacy
    return humans.adequacy(data, np.where(np.isfinite(data.human), sign * data.human >= sign * at, np.nan))


def _of_metric(data: Outputs, name: str, adequacy: Adequacy | None, options: Options, *, labels: bool) -> Learned:
    """Learn what the scores of outputs tell of a metric."""
    score, notes = data.metrics[name], list(notices.on_scores(data, name))
    finite = score[np.isfinite(score)]
    if not len(finite) or np.ptp(finite) == 0:
        return Learned(name, False, None, None, None, tuple(notes))
    rates = None if adequacy is None else _rates(data, score, adequacy, options)
    notes += notices.on_rates(rates, adequacy)
    mixture = None
    if len(data.system_names) > 1:
        margins = {"margin": options.margin, "human_margin": options.human_margin}
        mixture = confusion.of_outputs(data, name, **margins, signs=options.signs, mirrored=not options.keep_order)
        notes += notices.on_mixture(mixture, "outputs of two systems for the same item with both scores")
    follows = None
    if not labels:
        follows = correlations.correlation(data, name, signs=options.signs)
        notes += notices.on_correlation(follows)
    known = follows if follows is not None and math.isfinite(follows.z_error) else None
    return Learned(name, False, rates, mixture, known, tuple(notes))


def _rates(data: Outputs, score: Floats, adequacy: Adequacy, options: Options) -> Rates | None:
    both: Bools = np.isfinite(score) & np.isfinite(adequacy.probability)
    if both.sum() < 2:
        return None
    sign, threshold = options.signs[1], options.threshold
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


def _of_preferences(data: Preferences, options: Options) -> Fit:
    if not len(data.outcome):
        raise InputError("no pair has a human preference; fill the column winner with names, or human with >, = or <")
    pairs, learned = compared(data), []
    for name, said in pairs.metrics.items():
        mixture = confusion.of_preferences(pairs, name, mirrored=not options.keep_order)
        notes = *notices.on_preferences(said >= 0), *notices.on_mixture(mixture, "preferences of both")
        learned.append(Learned(name, False, None, mixture, None, notes))
    return Fit(tuple(learned), humans.contests_of(pairs), None, tuple(data.notes))


def _of_trials(trials: Trials, options: Options) -> Learned:
    mixture = confusion.of_trials(trials, margin=options.margin)
    scores = np.concatenate([trials.original, trials.corrupted])
    finite = scores[np.isfinite(scores)]
    if mixture is not None and np.ptp(finite) == 0:
        mixture = None
    notes = list(notices.on_trials(trials, mixture))
    if mixture is not None or not len(finite):
        notes += notices.on_mixture(mixture, "trials with two finite scores")
    return Learned(trials.name, True, None, mixture, None, tuple(notes))
