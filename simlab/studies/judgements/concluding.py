"""Conclude from judgements: estimate every system, test every pair of systems. No world is known here.

`conclude` takes the bound study and its collected campaigns, and returns arrays by outcome name, campaigns first.
Where a rule ended the judging of each system, each has judgements of its own number. Campaigns are stacked, so that an
estimator of single systems is called once for many of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from simlab.analysis.estimators import sample_mean
from simlab.analysis.means.intervals import pair_errors, quantile, two_sided_p_values
from simlab.analysis.multiplicity import adjust_p_values
from simlab.formulas import SLACK, differences, passes, sign
from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.studies.judgements.stopping import StoppedJudging, apply_stopping_rule, lay_out_scores, one_system
from simlab.studies.money import account
from simlab.studies.read_only import seal
from simlab.types import Array, Collected, Contrasts, Estimates, Floats, Ints, Judged

BASELINE = ("baseline", "baseline_width")
YOUDEN = ("youden", "youden_low", "youden_high")
"""Outcomes: the mean of human judgements alone and the width of its interval; a metric's rho + eta - 1 with interval.
"""
NOT_DRAWN = np.random.default_rng(0)
"""Handed to estimators that draw nothing: to start a generator takes as long as to estimate ten systems."""
DOCUMENTS_FOR_BASELINE = 3
"""Fewest documents (or judgements, where each output is a document) for a mean without any metric."""
MOST = 2**16
"""Most judgements in a stack: few enough to stay in the processor's cache."""


def conclude(prepared: PreparedJudgements, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Return the outcomes of campaigns by name, `[campaign, ...]`."""
    if prepared.stops is not None:
        stopped = [conclude_stopped(prepared, collected) for collected in campaigns]
        return {name: np.stack([outcome[name] for outcome in stopped]) for name in stopped[0]} | account(campaigns)
    judged = [lay_out_judgements(prepared, collected) for collected in campaigns]
    parts, first = [], 0
    for stack in stacks(judged, together=prepared.by_row):
        n = len(stack.y) // len(judged[first].y)
        parts.append(_conclude(prepared, campaigns[first : first + n], seal(stack)))
        first += n
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]} | account(campaigns)


def _conclude(prepared: PreparedJudgements, campaigns: Sequence[Collected], judged: Judged) -> dict[str, Array]:
    """Conclude from campaigns that are stacked, `[campaign, ...]`."""
    estimates = prepared.estimate(_random(prepared, campaigns), judged)
    of_campaigns = split(estimates, len(campaigns))
    return {
        "ratings_used": _gather_paid(campaigns, "ratings", np.int32),
        "metric_used": _gather_paid(campaigns, "metric"),
        "cost": _gather_paid(campaigns, "cost", float),
        "human_cost": _gather_paid(campaigns, "human_cost", float),
        "estimate": of_campaigns.value,
        "standard_error": of_campaigns.sd,
        "low": of_campaigns.low,
        "high": of_campaigns.high,
        "skewed": np.zeros(of_campaigns.value.shape, bool) if of_campaigns.skewed is None else of_campaigns.skewed,
        **_baseline(prepared, judged, campaigns),
        **_contrasts(prepared, of_campaigns),
        **_rates(of_campaigns),
    }


def _random(prepared: PreparedJudgements, campaigns: Sequence[Collected]) -> np.random.Generator:
    """Return the random numbers of a campaign, which stands alone where an estimator draws any."""
    return NOT_DRAWN if prepared.by_row else campaigns[0].streams("estimator")


def _gather_paid(campaigns: Sequence[Collected], name: str, dtype: type | None = None) -> Array:
    return np.array([collected.paid[name] for collected in campaigns], dtype)


def lay_out_judgements(prepared: PreparedJudgements, collected: Collected) -> Judged:
    """Lay judgements out as `y[system, n]`, with the metric's scores of the same outputs.

    An output whose judgement never came is left out: for all systems where these share their inputs, else each system
    keeps as many as the one that has fewest.
    """
    known = collected.known
    y, g = lay_out_scores(collected.seen, collected.metric, collected.frame.n_systems)
    came, document = ~np.isnan(y), known.get("document")
    if not came.all():
        kept = _choose_outputs(came, shared=prepared.design.shared_inputs)
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


def _choose_outputs(came: Array, *, shared: bool) -> Ints:
    """Choose the outputs `[system, k]` that are kept where some judgements never came."""
    if shared:
        return np.broadcast_to(np.flatnonzero(came.all(0)), (len(came), int(came.all(0).sum())))
    return np.argsort(~came, axis=1, kind="stable")[:, : int(came.sum(1).min())]


def is_enough_for_baseline(human: int, outputs_per_document: int) -> bool:
    """True if `human` judgements come from three documents at least, whichever of them are drawn."""
    return human > (DOCUMENTS_FOR_BASELINE - 1) * outputs_per_document


def _baseline(prepared: PreparedJudgements, judged: Judged, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Estimate from the human judgements alone, with the same kind of interval: what the metric is held against."""
    if not is_enough_for_baseline(judged.y.shape[1], campaigns[0].known.get("outputs_per_document", 1)):
        return {}
    rng = campaigns[0].streams("estimator")
    mean = split(sample_mean(rng, judged, interval=prepared.interval, level=prepared.interval_level), len(campaigns))
    return dict(zip(BASELINE, (mean.value, mean.high - mean.low), strict=True))


def _contrasts(prepared: PreparedJudgements, estimates: Estimates) -> dict[str, Array]:
    """Test every pair of systems, by the estimator's own contrasts or by a z or t test of means."""
    contrasts = _compare_means(prepared, estimates) if estimates.contrasts is None else estimates.contrasts
    # Differences within rounding have no direction.
    direction = sign(np.where(np.abs(contrasts.difference) < SLACK, 0.0, contrasts.difference))
    family: dict[str, Array] = {}
    if prepared.multiplicity in ("holm", "bh"):
        family["adjusted_p_value"] = np.stack(
            [adjust_p_values(pairs, prepared.multiplicity) for pairs in contrasts.p_value]
        )
    return {
        "direction": direction,
        "significant": passes(family.get("adjusted_p_value", contrasts.p_value), prepared.level) & (direction != 0),
        "p_value": contrasts.p_value,
        **family,
        "difference_se": contrasts.sd,
        "difference_low": contrasts.low,
        "difference_high": contrasts.high,
    }


def _compare_means(prepared: PreparedJudgements, estimates: Estimates) -> Contrasts:
    """Compare means, paired where they were judged on the same inputs: a z test or a t test; see `Estimates`."""
    gap = differences(estimates.value)
    gap[np.abs(gap) < SLACK] = 0.0
    errors = pair_errors(estimates, shared=prepared.design.shared_inputs)
    reach = quantile(1 - prepared.interval_level / 2, errors) * errors.se
    return Contrasts(gap, errors.se, gap - reach, gap + reach, two_sided_p_values(gap, errors))


def _rates(estimates: Estimates) -> dict[str, Array]:
    """Return how good the metric is, where an estimator says so."""
    if estimates.youden is None:
        return {}
    return dict(zip(YOUDEN, (estimates.youden.value, estimates.youden.low, estimates.youden.high), strict=True))


def conclude_stopped(prepared: PreparedJudgements, collected: Collected) -> dict[str, Array]:
    """Return the outcomes of a campaign that a rule ended: estimates with the rule's intervals, and comparisons."""
    ended = collected.known.get("ended")
    ended = apply_stopping_rule(prepared, collected) if ended is None else ended
    y, g = lay_out_scores(collected.seen, collected.metric, collected.frame.n_systems)
    parts, baselines = [], []
    for k, n in enumerate(ended.n):
        judged = seal(one_system(collected, y, g, k, np.flatnonzero(~np.isnan(y[k]))[:n]))
        rng = collected.streams(f"estimator {k}")
        parts.append(prepared.estimate(rng, judged))
        # The same random numbers as the estimator had, so that the baseline differs by the metric alone.
        rng = collected.streams(f"estimator {k}")
        baselines.append(sample_mean(rng, judged, interval=prepared.interval, level=prepared.interval_level))
    estimates = combine_estimates(parts)
    alone = combine_estimates(baselines)
    return {
        "ratings_used": np.array(collected.paid["ratings"], np.int32),
        "judgements_planned": np.array(collected.known["planned"] * len(y), np.int32),
        "metric_used": np.array(collected.paid["metric"]),
        "cost": np.array(collected.paid["cost"], float),
        "human_cost": np.array(collected.paid["human_cost"], float),
        "judged": ended.n.astype(np.int32),
        "narrow": np.asarray(ended.narrow, bool),
        "estimate": estimates.value,
        "standard_error": estimates.sd,
        "low": ended.low,
        "high": ended.high,
        "skewed": np.zeros(len(y), bool) if _has_own_intervals(ended) or estimates.skewed is None else estimates.skewed,
        "baseline": alone.value,
        "baseline_width": alone.high - alone.low,
        **_contrasts_of_stopped(prepared, estimates, ended),
    }


def combine_estimates(parts: list[Estimates]) -> Estimates:
    """Join estimates of single systems into one of all, although they rest on different numbers of judgements.

    Influence values are stretched and followed by zeros, so that each row's variance over the common number is that of
    its mean; of two rows what they share cancels as far as both were judged.
    """
    return Estimates(
        value=_row(parts, "value"),
        sd=_row(parts, "sd"),
        low=_row(parts, "low"),
        high=_row(parts, "high"),
        influence=_influence(parts),
        own=_stack_if_complete(parts, "own"),
        freedom=_stack_if_complete(parts, "freedom"),
        skewed=_stack_if_complete(parts, "skewed"),
    )


def _influence(parts: list[Estimates]) -> Floats | None:
    rows = [part.influence for part in parts if part.influence is not None]
    if len(rows) < len(parts):
        return None
    most = max(row.shape[1] for row in rows)
    joint = np.zeros((len(rows), most))
    for k, row in enumerate(rows):
        n = row.shape[1]
        # The variance of a mean is its sum of squares over n (n - 1); it must be the same with `most` in place of n.
        joint[k, :n] = row[0] * np.sqrt(most * (most - 1) / (n * (n - 1)))
    return joint


def _row(parts: list[Estimates], name: str) -> Array:
    return np.concatenate([getattr(part, name) for part in parts])


def _stack_if_complete(parts: list[Estimates], name: str) -> Array | None:
    return None if any(getattr(part, name) is None for part in parts) else _row(parts, name)


def _has_own_intervals(ended: StoppedJudging) -> bool:
    """True if the rule has intervals of its own, which hold whatever the shape of judgements is."""
    return not np.isnan(ended.claim_low).any()


def _contrasts_of_stopped(
    prepared: PreparedJudgements, estimates: Estimates, ended: StoppedJudging
) -> dict[str, Array]:
    gap = differences(estimates.value)
    gap[np.abs(gap) < SLACK] = 0.0
    errors = pair_errors(estimates, shared=prepared.design.shared_inputs)
    if not _has_own_intervals(ended):
        # Judging may have ended at any of the looks: Bonferroni over all of them.
        p_value = np.minimum(two_sided_p_values(gap, errors) * ended.looks, 1.0)
        reach = quantile(1 - prepared.interval_level / ended.looks / 2, errors) * errors.se
        return {
            "direction": sign(gap),
            "significant": passes(p_value, prepared.level) & (gap != 0),
            "p_value": p_value,
            "difference_se": errors.se,
            "difference_low": gap - reach,
            "difference_high": gap + reach,
        }
    return _judge_overlap(gap, errors.se, ended)


def _judge_overlap(gap: Floats, error: Floats, ended: StoppedJudging) -> dict[str, Array]:
    """Call two systems different where their intervals do not overlap."""
    first, second = np.triu_indices(len(ended.claim_low), 1)
    low = ended.claim_low[first] - ended.claim_high[second]
    high = ended.claim_high[first] - ended.claim_low[second]
    verdict = (low > 0).astype(np.int8) - (high < 0).astype(np.int8)
    return {
        "direction": np.where(verdict != 0, verdict, sign(gap)).astype(np.int8),
        "significant": verdict != 0,
        "difference_se": error,
        "difference_low": low,
        "difference_high": high,
    }


def stacks(judged: Sequence[Judged], *, together: bool) -> Iterator[Judged]:
    """Stack campaigns that follow each other, `[campaign times system, ...]`; yield each alone unless `together`.

    Only campaigns that are laid out alike share a stack; outputs in documents are not stacked.
    """
    for _, alike in groupby(judged, key=_layout):
        group = list(alike)
        first = group[0]
        size = max(MOST // max(first.y.size, 1), 1) if together and first.document is None else 1
        for start in range(0, len(group), size):
            some = group[start : start + size]
            yield stack_campaigns(some) if len(some) > 1 else some[0]


def _layout(judged: Judged) -> tuple[Any, ...]:
    """Return what is the same for all rows of a stack."""
    rest = None if judged.rest is None else judged.rest[0]
    present = tuple(part is None for part in (judged.g, judged.calibration, judged.document))
    return judged.y.shape, present, judged.binary, rest, judged.nominal, judged.test_set


def stack_campaigns(some: Sequence[Judged]) -> Judged:
    """Stack campaigns of independent outputs that are laid out alike."""
    rest = [one.rest for one in some if one.rest is not None]
    return replace(
        some[0],
        y=np.concatenate([one.y for one in some]),
        g=_rows([one.g for one in some]),
        rest=(rest[0][0], np.concatenate([one[1] for one in rest]), np.concatenate([one[2] for one in rest]))
        if rest
        else None,
        calibration=_rows([one.calibration for one in some]),
        calibration_parts=_rows([one.calibration_parts for one in some]),
        slope=np.concatenate([one.slope for one in some]),
        annotator_variance=np.concatenate([one.annotator_variance for one in some]),
    )


def _rows(parts: Sequence[Array | None]) -> Array | None:
    there = [part for part in parts if part is not None]
    return np.concatenate(there) if there else None


def split(estimates: Estimates, n_campaigns: int) -> Estimates:
    """Return estimates of rows as `[campaign, system, ...]`, and an estimator's contrasts as `[campaign, pair]`."""

    def of_campaigns(record: Any) -> Any:
        if is_dataclass(record) and not isinstance(record, type):
            return replace(
                record, **{field.name: of_campaigns(getattr(record, field.name)) for field in fields(record)}
            )
        return None if record is None else np.reshape(record, (n_campaigns, -1, *np.shape(record)[1:]))

    split_estimates: Estimates = of_campaigns(estimates)
    return split_estimates
