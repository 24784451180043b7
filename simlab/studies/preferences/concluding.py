"""Conclude from comparisons: verdicts on pairs of systems, estimated win rates, a partial order of the systems.

Call `conclude` with the bound study and its collected campaigns, which returns arrays by outcome name, campaigns first.
No world is known here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlab.analysis.preferences.partial_order import is_on_cycle
from simlab.studies.money import account
from simlab.studies.preferences.evidence import RuleOutcome, count_evidence, decide, find_end_looks, join_evidence
from simlab.studies.preferences.preparing import PreparedPreferences
from simlab.studies.read_only import seal
from simlab.types import Array, Bools, Collected, Evidence, Floats, Ints


def conclude(prepared: PreparedPreferences, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Return the outcomes of campaigns, `[campaign, ...]`; within, a row is a pair in a campaign."""
    parts = [count_evidence(prepared, collected) for collected in campaigns]
    evidence = join_evidence(parts)
    end = np.concatenate([find_end_looks(part, collected) for part, collected in zip(parts, campaigns, strict=True)])
    verdicts = _find_outcomes(prepared, campaigns, evidence, end)
    rows, count = np.arange(len(end)), len(campaigns)
    human, confusion, metric = seal(
        [counts[rows, end] for counts in (evidence.human, evidence.confusion, evidence.metric)]
    )
    summary = verdicts.summarise(human, confusion, metric)
    by_pair = {
        "verdict": verdicts.verdict.astype(np.int8),
        "decided": verdicts.stop,
        "theta": verdicts.theta,
        "used": human.sum(-1).astype(np.int32),
        "rounds": end.astype(np.int32),
        "direction": np.sign(summary.mean[:, 0] - summary.mean[:, 2]).astype(np.int8),
        "p_mean": summary.mean,
        "p_low": summary.low,
        "p_high": summary.high,
    }
    if summary.r_hat is not None and summary.ess is not None:
        by_pair |= {"r_hat": summary.r_hat, "ess": summary.ess}
    outcome = {name: array.reshape(count, -1, *array.shape[1:]) for name, array in by_pair.items()}
    n_systems = campaigns[0].frame.n_systems
    return {
        "ratings_used": np.array([collected.paid["ratings"] for collected in campaigns], np.int32),
        "cost": np.array([collected.paid["cost"] for collected in campaigns], float),
        "item_ratings_used": np.array([count_outputs_read(collected) for collected in campaigns], np.int32),
        **outcome,
        "significant": outcome["verdict"] != 0,
        "estimate": _win_rates(outcome["p_mean"], n_systems),
        "cyclic": is_on_cycle(outcome["verdict"]),
        **_trace(prepared, verdicts.stop, evidence, end, count),
        **account(campaigns),
    }


def count_outputs_read(collected: Collected) -> int:
    """Count the single outputs that raters had to read: an output compared with several others is read once."""
    return count_outputs(collected.seen.unit, collected.seen.item, collected.frame.n_systems)


def count_outputs(pair: Ints, item: Ints, n_systems: int) -> int:
    """Count the different outputs (system and item) in comparisons of pairs `pair[k]` on items `item[k]`."""
    first, second = np.triu_indices(n_systems, 1)
    return len(np.unique(np.concatenate([item * n_systems + first[pair], item * n_systems + second[pair]])))


def _find_outcomes(
    prepared: PreparedPreferences, campaigns: Sequence[Collected], evidence: Evidence, end: Ints
) -> RuleOutcome:
    """Return the rule's verdicts at looks `end[row]`, where collecting ended: those noted then, else asked for now."""
    noted = [collected.known["said"] for collected in campaigns if "said" in collected.known]
    if len(noted) < len(campaigns):
        return RuleOutcome.take_at(decide(prepared, evidence), end)
    verdict, stop, theta = (
        np.concatenate([getattr(one, name) for one in noted]) for name in ("verdict", "stop", "theta")
    )
    return RuleOutcome(verdict, stop, theta, noted[0].summarise)


def _win_rates(p: Floats, n_systems: int) -> Floats:
    """Average over its opponents how often each system wins, draws counted half: `[campaign, system]`."""
    first, second = np.triu_indices(n_systems, 1)
    rate = np.zeros((len(p), n_systems, n_systems))
    rate[:, first, second] = p[:, :, 0] + p[:, :, 1] / 2
    rate[:, second, first] = p[:, :, 2] + p[:, :, 1] / 2
    return np.asarray(rate.sum(2) / (n_systems - 1))


def _trace(prepared: PreparedPreferences, stop: Bools, evidence: Evidence, end: Ints, count: int) -> dict[str, Array]:
    """Follow each campaign round by round: annotations collected and pairs undecided; -1 after the last look."""
    undecided, collected = (np.full((count, prepared.rounds), -1, np.int32) for _ in range(2))
    rows, total = np.arange(len(end)), evidence.human.sum(-1)
    for look in range(len(evidence.annotations)):
        closed = stop & (end <= look)
        undecided[:, look] = (~closed).reshape(count, -1).sum(1)
        collected[:, look] = total[rows, np.minimum(end, look)].reshape(count, -1).sum(1)
    return {"undecided": undecided, "collected": collected}
