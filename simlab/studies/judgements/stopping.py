"""Apply a stopping rule to the judgements of each system, in the order in which they came.

Call `apply_stopping_rule` with the bound study and a collected campaign, which returns `StoppedJudging`. The rule sees
collected data only, so that the analysis finds the same end as the collection.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simlab.studies.judgements.preparing import PreparedJudgements
from simlab.studies.read_only import seal
from simlab.types import Bools, Collected, Floats, Ints, Judged, JudgementSequence, Seen


class StoppedJudging(NamedTuple):
    """End of judging, `[system]`: after `n` judgements, as the interval was `narrow` enough or all were made.

    `low` and `high` bound the mean; systems whose intervals `claim_low` to `claim_high` do not overlap differ (NaN: a
    test of means decides). P-values are multiplied by `looks`.
    """

    n: Ints
    narrow: Bools
    low: Floats
    high: Floats
    claim_low: Floats
    claim_high: Floats
    looks: int


def apply_stopping_rule(
    prepared: PreparedJudgements, collected: Collected, systems: Ints | None = None
) -> StoppedJudging:
    """Return by the rule when the judging of systems (None: all) ends, and the intervals of their means then."""
    if prepared.stops is None:
        raise ValueError("only a rule ends judging")
    y, g = lay_out_scores(collected.seen, collected.metric, collected.frame.n_systems)
    which = range(len(y)) if systems is None else systems.tolist()
    ends = [prepared.stops(seal(_make_sequence(prepared, collected, y, g, k))) for k in which]
    nothing = float("nan")
    return StoppedJudging(
        np.array([end.n for end in ends]),
        np.array([end.narrow for end in ends]),
        np.array([end.low for end in ends]),
        np.array([end.high for end in ends]),
        np.array([nothing if end.claim_low is None else end.claim_low for end in ends]),
        np.array([nothing if end.claim_high is None else end.claim_high for end in ends]),
        ends[0].looks,
    )


def _make_sequence(
    prepared: PreparedJudgements, collected: Collected, y: Floats, g: Floats | None, k: int
) -> JudgementSequence:
    known, came = collected.known, np.flatnonzero(~np.isnan(y[k]))
    other, scale = known["other"], known["metric_scale"]

    def interval(n: int, level: float) -> tuple[float, float]:
        part = one_system(collected, y, g, k, came[:n])
        estimates = prepared.estimate_at(level)(collected.streams(f"estimator {k}"), seal(part))
        return float(estimates.low[0]), float(estimates.high[0])

    return JudgementSequence(
        y=y[k, came],
        g=None if g is None else g[k, came],
        other=None if other is None else other[k, came],
        fresh=known["fresh"],
        metric_scale=(0.0, 0.0) if scale is None else (float(scale[0, k]), float(scale[1, k])),
        scale=known["scale"],
        interval=interval,
        level=prepared.interval_level,
        planned=known["planned"],
    )


def one_system(collected: Collected, y: Floats, g: Floats | None, k: int, chosen: Ints) -> Judged:
    """Return the judgements `y[k, chosen]` of system k as one row, as if nothing else had been judged.

    `g[system, n]` are the metric's scores of the same outputs (None: no metric).
    """
    known = collected.known
    rest = known["rest"]
    return Judged(
        y=y[[k]][:, chosen],
        g=None if g is None else g[[k]][:, chosen],
        binary=known["binary"],
        rest=None if rest is None else (rest[0], rest[1][[k]], rest[2][[k]]),
        calibration=None,
        nominal=known["nominal"],
        slope=known["slope"][[k]],
        annotator_variance=known["annotator_variance"][[k]],
        test_set=known["test_set"],
    )


def lay_out_scores(seen: Seen, metric: Floats | None, n_systems: int) -> tuple[Floats, Floats | None]:
    """Return judgements `y[system, n]`, NaN where none came, and the metric's scores of the same outputs."""
    n = int(seen.item.max(initial=-1)) + 1 if metric is None else metric.shape[1]
    y = np.full(n_systems * n, np.nan)
    y[seen.unit * n + seen.item] = seen.value
    return y.reshape(n_systems, n), metric
