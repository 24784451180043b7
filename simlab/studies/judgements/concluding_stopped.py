"""Conclude from campaigns in which a rule ended the judging of each system: each has judgements of its own number."""

from __future__ import annotations

import numpy as np

from simlab.analysis.estimators import sample_mean
from simlab.analysis.means.contrasts import pair_errors, quantile, two_sided
from simlab.formulas import SLACK, differences, passes, sign
from simlab.studies.judgements.laying import laid_out
from simlab.studies.judgements.preparing import Prepared
from simlab.studies.judgements.stopping import Ended, one_system, stopped
from simlab.studies.sealing import sealed
from simlab.types import Array, Collected, Estimates, Floats


def conclude_stopped(prepared: Prepared, collected: Collected) -> dict[str, Array]:
    """Estimate each system from the judgements up to its end, with the rule's interval; compare them."""
    ended = collected.known.get("ended")
    ended = stopped(prepared, collected) if ended is None else ended
    y, g = laid_out(collected.seen, collected.metric, collected.frame.n_systems)
    parts, baselines = [], []
    for k, n in enumerate(ended.n):
        judged = sealed(one_system(collected, y, g, k, np.flatnonzero(~np.isnan(y[k]))[:n]))
        rng = collected.streams(f"estimator {k}")
        parts.append(prepared.estimate(rng, judged))
        rng = collected.streams(f"estimator {k}")
        baselines.append(sample_mean(rng, judged, interval=prepared.interval, level=prepared.interval_level))
    estimates = together(parts)
    alone = together(baselines)
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
        "skewed": np.zeros(len(y), bool) if _own(ended) or estimates.skewed is None else estimates.skewed,
        "baseline": alone.value,
        "baseline_width": alone.high - alone.low,
        **_contrasts(prepared, estimates, ended),
    }


def together(parts: list[Estimates]) -> Estimates:
    """Put estimates of single systems together, although they rest on different numbers of judgements.

    Influence values are stretched and followed by zeros, so that each row's variance over the common number is that of
    its mean; of two rows what they share cancels as far as both were judged.
    """
    return Estimates(
        value=_row(parts, "value"),
        sd=_row(parts, "sd"),
        low=_row(parts, "low"),
        high=_row(parts, "high"),
        influence=_influence(parts),
        own=_whole(parts, "own"),
        freedom=_whole(parts, "freedom"),
        skewed=_whole(parts, "skewed"),
    )


def _influence(parts: list[Estimates]) -> Floats | None:
    rows = [part.influence for part in parts if part.influence is not None]
    if len(rows) < len(parts):
        return None
    most = max(row.shape[1] for row in rows)
    joint = np.zeros((len(rows), most))
    for k, row in enumerate(rows):
        n = row.shape[1]
        joint[k, :n] = row[0] * np.sqrt(most * (most - 1) / (n * (n - 1)))
    return joint


def _row(parts: list[Estimates], name: str) -> Array:
    return np.concatenate([getattr(part, name) for part in parts])


def _whole(parts: list[Estimates], name: str) -> Array | None:
    return None if any(getattr(part, name) is None for part in parts) else _row(parts, name)


def _own(ended: Ended) -> bool:
    """Tell whether the rule has intervals of its own, which hold whatever the shape of judgements is."""
    return not np.isnan(ended.claim_low).any()


def _contrasts(prepared: Prepared, estimates: Estimates, ended: Ended) -> dict[str, Array]:
    gap = differences(estimates.value)
    gap[np.abs(gap) < SLACK] = 0.0
    errors = pair_errors(estimates, shared=prepared.design["shared_inputs"])
    if not _own(ended):
        p_value = np.minimum(two_sided(gap, errors) * ended.looks, 1.0)
        reach = quantile(1 - prepared.interval_level / ended.looks / 2, errors) * errors.se
        return {
            "direction": sign(gap),
            "significant": passes(p_value, prepared.level) & (gap != 0),
            "p_value": p_value,
            "difference_se": errors.se,
            "difference_low": gap - reach,
            "difference_high": gap + reach,
        }
    return _apart(gap, errors.se, ended)


def _apart(gap: Floats, error: Floats, ended: Ended) -> dict[str, Array]:
    """Call two systems different where their intervals do not overlap."""
    first, second = np.triu_indices(len(ended.claim_low), 1)
    low = ended.claim_low[first] - ended.claim_high[second]
    high = ended.claim_high[first] - ended.claim_low[second]
    said = (low > 0).astype(np.int8) - (high < 0).astype(np.int8)
    return {
        "direction": np.where(said != 0, said, sign(gap)).astype(np.int8),
        "significant": said != 0,
        "difference_se": error,
        "difference_low": low,
        "difference_high": high,
    }
