"""Compare the conclusions of a study with the truth that was planted: right, wrong and missing claims.

`judge_pairs` takes a conclusion as JSON holds it and the true means of systems; `page` writes the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from simlab.drawing.text.tables import align_columns


class JudgedPair(NamedTuple):
    """A pair of systems: `claimed` and `better` name systems (None: open), `by` is the true difference, points."""

    first: str
    second: str
    claimed: str | None
    better: str
    by: float

    @property
    def wrong(self) -> bool:
        """True if something untrue is claimed."""
        return self.claimed is not None and self.claimed != self.better


def judge_pairs(conclusion: Mapping[str, Any], means: Mapping[str, float]) -> list[JudgedPair]:
    """Judge every pair of a conclusion, as its record has them, by the true means; more is better."""
    return [_judge_pair(pair["first"], pair["second"], pair["verdict"], means) for pair in conclusion["pairs"]]


def _judge_pair(first: str, second: str, verdict: int, means: Mapping[str, float]) -> JudgedPair:
    claimed = {1: first, -1: second, 0: None}[verdict]
    better = max((first, second), key=lambda name: means[name])
    return JudgedPair(first, second, claimed, better, abs(means[first] - means[second]))


def page(conclusion: Mapping[str, Any], means: Mapping[str, float]) -> Iterator[str]:
    """Yield lines: the true means beside the estimates, the number of right claims, wrong claims, and open pairs."""
    yield from _means(conclusion["systems"], means)
    pairs = judge_pairs(conclusion, means)
    claims = [pair for pair in pairs if pair.claimed]
    wrong, left = [pair for pair in claims if pair.wrong], [pair for pair in pairs if not pair.claimed]
    yield f"{len(claims) - len(wrong)} of {len(claims)} claims are right."
    for pair in wrong:
        other = _name_other(pair)
        yield f"Wrong: {pair.claimed} above {other}. In truth {pair.better} is better by {pair.by:.1f} points."
    for pair in left:
        yield f"Left open: {pair.better} is in truth better than {_name_worse(pair)} by {pair.by:.1f} points."


def _means(systems: Sequence[Mapping[str, Any]], means: Mapping[str, float]) -> list[str]:
    estimates = {estimate["system"]: estimate for estimate in systems}
    ranked = sorted(means, key=lambda name: -means[name])
    rows = [[name, f"{means[name]:.1f}", *_format_estimate(estimates[name])] for name in ranked]
    return align_columns(["system", "true mean", "found", "95 % interval"], rows).splitlines()


def _format_estimate(estimate: Mapping[str, Any]) -> list[str]:
    return [f"{estimate['estimate']:.1f}", f"{estimate['low']:.1f} to {estimate['high']:.1f}"]


def _name_worse(pair: JudgedPair) -> str:
    return pair.second if pair.better == pair.first else pair.first


def _name_other(pair: JudgedPair) -> str:
    return pair.second if pair.claimed == pair.first else pair.first
