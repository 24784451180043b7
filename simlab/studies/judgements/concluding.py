"""Conclude from judgements: estimate every system, hold each two against each other. No world is known here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.estimators import sample_mean
from simlab.analysis.means.contrasts import pair_errors, quantile, two_sided
from simlab.analysis.multiplicity import adjusted
from simlab.formulas import SLACK, differences, passes, sign
from simlab.studies.judgements.concluding_stopped import conclude_stopped
from simlab.studies.judgements.laying import laid_out
from simlab.studies.judgements.preparing import Prepared
from simlab.studies.judgements.stacking import split, stacks
from simlab.studies.money import account
from simlab.studies.sealing import sealed
from simlab.types import Array, Collected, Contrasts, Estimates, Ints, Judged

BASELINE = ("baseline", "baseline_width")
YOUDEN = ("youden", "youden_low", "youden_high")
NOT_DRAWN = np.random.default_rng(0)
"""Handed to estimators that draw nothing: to start a generator takes as long as to estimate ten systems."""
DOCUMENTS_FOR_BASELINE = 3
"""Documents, or judgements of outputs that are documents of their own, from which a mean is told without any metric."""


def conclude(prepared: Prepared, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Return the outcomes of campaigns, `[campaign, ...]`."""
    if prepared.stops is not None:
        stopped = [conclude_stopped(prepared, collected) for collected in campaigns]
        return {name: np.stack([outcome[name] for outcome in stopped]) for name in stopped[0]} | account(campaigns)
    judged = [judged_of(prepared, collected) for collected in campaigns]
    parts, first = [], 0
    for stack in stacks(judged, together=prepared.by_row):
        n = len(stack.y) // len(judged[first].y)
        parts.append(_conclude(prepared, campaigns[first : first + n], sealed(stack)))
        first += n
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} | account(campaigns)


def _conclude(prepared: Prepared, campaigns: Sequence[Collected], judged: Judged) -> dict[str, Array]:
    """Conclude from campaigns that are stacked, `[campaign, ...]`."""
    estimates = prepared.estimate(_random(prepared, campaigns), judged)
    of_campaigns = split(estimates, len(campaigns))
    return {
        "ratings_used": _paid(campaigns, "ratings", np.int32),
        "metric_used": _paid(campaigns, "metric"),
        "cost": _paid(campaigns, "cost", float),
        "human_cost": _paid(campaigns, "human_cost", float),
        "estimate": of_campaigns.value,
        "standard_error": of_campaigns.sd,
        "low": of_campaigns.low,
        "high": of_campaigns.high,
        "skewed": np.zeros(of_campaigns.value.shape, bool) if of_campaigns.skewed is None else of_campaigns.skewed,
        **_baseline(prepared, judged, campaigns),
        **_contrasts(prepared, of_campaigns),
        **_rates(of_campaigns),
    }


def _random(prepared: Prepared, campaigns: Sequence[Collected]) -> np.random.Generator:
    """Return the random numbers of a campaign, which stands alone where an estimator draws any."""
    return NOT_DRAWN if prepared.by_row else campaigns[0].streams("estimator")


def _paid(campaigns: Sequence[Collected], name: str, dtype: type | None = None) -> Array:
    return np.array([collected.paid[name] for collected in campaigns], dtype)


def judged_of(prepared: Prepared, collected: Collected) -> Judged:
    """Lay judgements out as `y[system, n]`, with what the metric says of the same outputs.

    An output whose judgement never came is left out: for all systems where these share their inputs, else each system
    keeps as many as the one that has fewest.
    """
    known = collected.known
    y, g = laid_out(collected.seen, collected.metric, collected.frame.n_systems)
    came, document = ~np.isnan(y), known.get("document")
    if not came.all():
        kept = _kept(came, shared=prepared.design["shared_inputs"])
        y, g = np.take_along_axis(y, kept, 1), None if g is None else np.take_along_axis(g, kept, 1)
        document = None if document is None else np.take_along_axis(document, kept, 1)
    return Judged(
        y=y,
        g=g,
        binary=known["binary"],
        rest=known["rest"],
        calibration=known["calibration"],
        nominal=known["nominal"],
        slope=known["slope"],
        annotator_variance=known["annotator_variance"],
        test_set=known["test_set"],
        document=document,
        parts=known.get("parts"),
        calibration_parts=known.get("calibration_parts"),
    )


def _kept(came: Array, *, shared: bool) -> Ints:
    """Choose the outputs `[system, k]` that are kept where some judgements never came."""
    if shared:
        return np.broadcast_to(np.flatnonzero(came.all(0)), (len(came), int(came.all(0).sum())))
    return np.argsort(~came, axis=1, kind="stable")[:, : int(came.sum(1).min())]


def enough_for_baseline(human: int, outputs_per_document: int) -> bool:
    """Tell whether so many judgements come from three documents at least, whichever of them are drawn."""
    return human > (DOCUMENTS_FOR_BASELINE - 1) * outputs_per_document


def _baseline(prepared: Prepared, judged: Judged, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Estimate from the human judgements alone, with the same kind of interval: what the metric is held against."""
    if not enough_for_baseline(judged.y.shape[1], campaigns[0].known.get("outputs_per_document", 1)):
        return {}
    rng = campaigns[0].streams("estimator")
    mean = split(sample_mean(rng, judged, interval=prepared.interval, level=prepared.interval_level), len(campaigns))
    return dict(zip(BASELINE, (mean.value, mean.high - mean.low), strict=True))


def _contrasts(prepared: Prepared, estimates: Estimates) -> dict[str, Array]:
    """Hold each two systems against each other, as the estimator says or by a z test."""
    found = _of_means(prepared, estimates) if estimates.contrasts is None else estimates.contrasts
    direction = sign(np.where(np.abs(found.difference) < SLACK, 0.0, found.difference))
    family: dict[str, Array] = {}
    if prepared.multiplicity in ("holm", "bh"):
        family["adjusted_p_value"] = np.stack([adjusted(pairs, prepared.multiplicity) for pairs in found.p_value])
    return {
        "direction": direction,
        "significant": passes(family.get("adjusted_p_value", found.p_value), prepared.level) & (direction != 0),
        "p_value": found.p_value,
        **family,
        "difference_se": found.sd,
        "difference_low": found.low,
        "difference_high": found.high,
    }


def _of_means(prepared: Prepared, estimates: Estimates) -> Contrasts:
    """Compare means, paired where they were judged on the same inputs: a z test or a t test; see `Estimates`."""
    gap = differences(estimates.value)
    gap[np.abs(gap) < SLACK] = 0.0
    errors = pair_errors(estimates, shared=prepared.design["shared_inputs"])
    reach = quantile(1 - prepared.interval_level / 2, errors) * errors.se
    return Contrasts(gap, errors.se, gap - reach, gap + reach, two_sided(gap, errors))


def _rates(estimates: Estimates) -> dict[str, Array]:
    """Say how good the metric is, where an estimator says so."""
    if estimates.youden is None:
        return {}
    return dict(zip(YOUDEN, (estimates.youden.value, estimates.youden.low, estimates.youden.high), strict=True))
