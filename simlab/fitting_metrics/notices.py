"""Say what a table does not tell, and what the numbers take for granted."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from simlab.fitting_metrics.confusion import FEW_CLUSTERS, Mixture
from simlab.fitting_metrics.correlations import Correlation
from simlab.fitting_metrics.humans import Adequacy
from simlab.fitting_metrics.rates import Rates
from simlab.tables.evidence import Trials
from simlab.tables.judged import Outputs
from simlab.types import Bools

FEW = 30
"""With fewer outputs, pairs or trials intervals are wide and their coverage is nominal only."""

_USELESS = 1.02


def on_humans(data: Outputs, adequacy: Adequacy | None, *, labels: bool) -> Iterator[str]:
    """Tell about human scores, labels and their repeats."""
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


def on_scores(data: Outputs, name: str) -> Iterator[str]:
    """Tell about scores that are missing, few or all the same."""
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


def on_preferences(said: Bools) -> Iterator[str]:
    """Tell about comparisons that a metric says nothing of."""
    if missing := int((~said).sum()):
        yield f"{missing} of {len(said)} comparisons have no preference; left out"


def on_trials(trials: Trials, mixture: Mixture | None) -> Iterator[str]:
    """Tell about scores that are missing, and what corruptions stand for."""
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


def on_rates(rates: Rates | None, adequacy: Adequacy | None) -> Iterator[str]:
    """Tell why there is no rho and eta, or that they are worth nothing."""
    if adequacy is None:
        return
    if rates is None:
        known = adequacy.probability[np.isfinite(adequacy.probability)]
        share = f"{known.mean():.0%} of the outputs are adequate" if len(known) else "no output has a label"
        yield f"rho and eta are not identified: {share}, and both kinds are needed"
    elif rates.rho + rates.eta <= _USELESS:
        yield f"rho + eta = {rates.rho + rates.eta:.2f}: it knows next to nothing of adequacy, or lower is better"


def on_mixture(mixture: Mixture | None, what: str) -> Iterator[str]:
    """Tell which columns rest on a prior, on little, or on another order of scores."""
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


def on_correlation(correlation: Correlation | None) -> Iterator[str]:
    """Tell why there is no correlation."""
    if correlation is None:
        yield "the correlation is not identified: too few outputs, or no spread beyond noise"
    elif not math.isfinite(correlation.z_error):
        yield "too few outputs have repeats to say how certain the correlation is; it is left out"
