"""Fit whatever a table tells of metrics and systems, and say what it does not tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from simlab.fit_metric import confusion, correlations, humans, rates
from simlab.fit_metric.confusion import Mixture
from simlab.fit_metric.correlations import Correlation
from simlab.fit_metric.humans import Adequacy, Contests
from simlab.fit_metric.rates import Rates
from simlab.fit_metric.tables import Data, Outputs, Preferences, Trials
from simlab.types import Bools, Floats, InputError

FEW = 30
"""With fewer outputs, pairs or trials intervals are wide and their coverage is nominal only."""


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


def fit(data: Data, options: Options) -> Fit:
    """Fit metrics, and describe the systems; raises InputError where nothing at all can be learned."""
    if isinstance(data, Outputs):
        found = _of_outputs(data, options)
    elif isinstance(data, Preferences):
        found = _of_preferences(data, options)
    else:
        found = Fit(tuple(_of_trials(trials, options) for trials in data), None, None, ())
    useless = not any(learned.useful for learned in found.metrics)
    if useless and (found.metrics or (found.contests is None and found.adequacy is None)):
        reasons = [note for learned in found.metrics for note in learned.notes] or list(found.notes)
        raise InputError(
            f"nothing can be learned of a metric from this table: {reasons[0] if reasons else 'it is empty'}"
        )
    return found


def _of_outputs(data: Outputs, options: Options) -> Fit:
    human = data.human[np.isfinite(data.human)]
    if not len(human):
        raise InputError("no output has a human score; fill the column human")
    labels = bool(np.isin(human, (0.0, 1.0)).all())
    adequate = _labels(data.human, options, labels=labels)
    found = humans.adequacy(data, adequate) if adequate is not None else None
    notes = list(_notes_on_humans(data, found, options, labels=labels))
    contests = humans.contests_of_scores(data, human_margin=options.human_margin, sign=options.signs[0])
    if contests is not None and not contests.counts.any():
        contests = None
    return Fit(
        tuple(_of_metric(data, name, found, options, labels=labels) for name in data.metrics),
        contests, found, tuple(notes),
    )  # fmt: skip


def _labels(human: Floats, options: Options, *, labels: bool) -> Floats | None:
    if options.adequate_from is not None:
        sign = options.signs[0]
        return np.where(np.isfinite(human), sign * human >= sign * options.adequate_from, np.nan)
    return human if labels else None


def _of_metric(data: Outputs, name: str, adequacy: Adequacy | None, options: Options, *, labels: bool) -> Learned:
    score = data.metrics[name]
    notes = list(_notes_on_scores(data, name))
    finite = score[np.isfinite(score)]
    if not len(finite) or np.ptp(finite) == 0:
        notes.append(
            f"{name} is constant ({finite[0]:g}): it tells nothing" if len(finite) else f"{name} has no scores"
        )
        return Learned(name, False, None, None, None, tuple(notes))
    found = _rates(data, score, adequacy, options, labels=labels) if adequacy is not None else None
    mixture = confusion.of_outputs(
        data, name, margin=options.margin, human_margin=options.human_margin, signs=options.signs,
        mirrored=not options.keep_order,
    )  # fmt: skip
    follows = None if labels else correlations.correlation(data, name, signs=options.signs)
    notes += _notes_on_correlation(name, follows, labels=labels)
    if follows is not None and not math.isfinite(follows.z_error):
        follows = None
    notes += _notes_on_rates(name, found, adequacy, labels=labels)
    if len(data.system_names) > 1:
        notes += _notes_on_mixture(name, mixture, "outputs of two systems for the same item")
    return Learned(name, False, found, mixture, follows, tuple(notes))


def _rates(data: Outputs, score: Floats, adequacy: Adequacy, options: Options, *, labels: bool) -> Rates | None:
    sign = options.signs[1]
    both: Bools = np.isfinite(score) & np.isfinite(adequacy.probability)
    if both.sum() < 2:
        return None
    at = None if options.threshold is None else sign * options.threshold
    # Scores of 0 and 1 keep their meaning only if more is better.
    turned = score if sign > 0 else np.where(np.isin(score, (0.0, 1.0)).all(), 1 - score, -score)
    return rates.rates(
        turned[both], adequacy.probability[both], data.item[both], data.system[both], threshold=at,
        noisy=adequacy.repeated,
    )  # fmt: skip


def _of_preferences(data: Preferences, options: Options) -> Fit:
    if not data.ratings.any():
        raise InputError("no pair has a human preference; fill the column human with >, = or <")
    for option, value in (("--margin", options.margin), ("--human-margin", options.human_margin)):
        if value:
            raise InputError(f"{option} {value:g}: preferences are given, so there is no margin to take; leave it out")
    learned = []
    for name, said in data.metrics.items():
        notes = (
            [f"{name}: {n} of {len(said)} comparisons have no preference; left out"]
            if (n := int((said < 0).sum()))
            else []
        )
        mixture = confusion.of_preferences(data, name, mirrored=not options.keep_order)
        notes += _notes_on_mixture(name, mixture, "preferences")
        learned.append(Learned(name, False, None, mixture, None, tuple(notes)))
    return Fit(tuple(learned), humans.contests_of(data), None, ())


def _of_trials(trials: Trials, options: Options) -> Learned:
    both = np.isfinite(trials.original) & np.isfinite(trials.corrupted)
    notes = []
    if n := int((~both).sum()):
        notes.append(f"{trials.name}: {n} of {len(both)} trials lack a finite score; left out")
    mixture = confusion.of_trials(trials, margin=options.margin)
    scores = np.concatenate([trials.original[both], trials.corrupted[both]])
    if len(scores) and np.ptp(scores) == 0:
        notes.append(f"{trials.name} is constant ({scores[0]:g}): it tells nothing")
        mixture = None
    notes += _notes_on_mixture(trials.name, mixture, "trials")
    kinds = {int(kind) for kind in trials.corruption[both & ~trials.preserving]}
    if mixture is not None and 0 < len(kinds) < confusion.FEW_CLUSTERS:
        notes.append(
            f"{trials.name}: {len(kinds)} altering or disrupting corruptions do not tell how far kinds of errors "
            "differ; intervals hold for these kinds only"
        )
    notes.append(f"{trials.name}: corruptions are not outputs of systems; what is learned is transported to them")
    return Learned(trials.name, True, None, mixture, None, tuple(notes))


def _notes_on_humans(data: Outputs, found: Adequacy | None, options: Options, *, labels: bool) -> Iterator[str]:
    if missing := int((~np.isfinite(data.human).any(1)).sum()):
        yield f"{missing} of {len(data.human)} outputs have no human score; left out"
    if len(data.system_names) < 2:
        yield "one system: outputs are not compared, so mu is not identified"
    if found is None and options.adequate_from is None:
        yield "rho and eta need adequate outputs: say from which human score with --adequate-from X"
    if found is not None and found.repeated:
        how = (
            "errors of both kinds taken to be as frequent, since no output has three labels"
            if found.symmetric
            else ("raters taken to be exchangeable")
        )
        right = f"{found.human_rho:.3f} of adequate outputs, {found.human_eta:.3f} of others"
        yield f"raters are right about {right} ({how}; labels of an output err independently)"
    if not (np.isfinite(data.human).sum(1) > 1).any():
        yield (
            "no output has repeats: errors of the labels are part of rho and eta"
            if labels
            else "no output has repeats: gamma is not identified, and noise of the raters lowers the correlation"
        )


def _notes_on_scores(data: Outputs, name: str) -> Iterator[str]:
    score = data.metrics[name]
    missing = ~np.isfinite(score)
    if missing.any():
        first = int(missing.argmax())
        yield (
            f"{name}: {int(missing.sum())} of {len(score)} outputs have no finite score, the first of "
            f"{data.system_names[data.system[first]]}; left out"
        )
    both = ~missing & np.isfinite(data.human).any(1)
    if 0 < both.sum() < FEW:
        yield f"{name}: only {int(both.sum())} outputs have both scores; intervals are rough below {FEW}"


def _notes_on_rates(name: str, found: Rates | None, adequacy: Adequacy | None, *, labels: bool) -> Iterator[str]:
    if adequacy is None:
        return
    if found is None:
        known = adequacy.probability[np.isfinite(adequacy.probability)]
        share = f"{known.mean():.0%} of the outputs are adequate" if len(known) else "no output has a label"
        yield f"{name}: rho and eta are not identified: {share}; both kinds are needed"
    elif found.rho + found.eta <= 1.02:
        total = found.rho + found.eta
        yield f"{name}: rho + eta = {total:.2f}: it knows next to nothing of adequacy, or lower is better"


def _notes_on_mixture(name: str, mixture: Mixture | None, what: str) -> Iterator[str]:
    if mixture is None:
        yield f"{name}: mu is not identified: there are no {what} with both scores"
        return
    for column, outcome in enumerate(">=<"):
        if mixture.fallback[column]:
            prior = ", ".join(f"{p:.2f}" for p in mixture.mean[:, column])
            yield f"{name}: nothing was seen of column {outcome}; it falls back to its prior, of mean ({prior})"
    if mixture.prior[1].sum() == 0:
        yield f"{name} never draws: the outcome = has probability 0 (decision.two_outcomes=true suits it)"
    if mixture.mean[0, 0] < mixture.mean[2, 0]:
        yield f"{name} prefers what humans do not: is a lower score better?"


def _notes_on_correlation(name: str, follows: Correlation | None, *, labels: bool) -> Iterator[str]:
    if labels:
        yield f"{name}: the correlation is that of scores; labels of 0 and 1 give rho and eta instead"
    elif follows is None:
        yield f"{name}: the correlation is not identified: too few outputs, or no spread beyond noise"
    elif not math.isfinite(follows.z_error):
        yield f"{name}: too few repeats to say how certain the correlation is; it is left out"
