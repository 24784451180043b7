"""Refuse a conclusion whose numbers contradict each other: intervals, claims, ranks, margins, further answers.

Call `check_consistent`, which returns the conclusion or raises `Inconsistent`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from simlab.answers.conclude import Conclusion, Repetition
from simlab.answers.standings import Metric, Pair, System
from simlab.concluding.possible_ranks import compare_with_margin
from simlab.types import COMPARE

TOLERANCE = 1e-9
"""Numbers differ by rounding where they differ by less than this share of the largest of them."""

APART = 3.0
"""Monte-Carlo errors by which two simulated shares may differ by chance."""


class Inconsistent(ValueError):
    """A conclusion contradicts itself, which no table excuses."""


def check_consistent(conclusion: Conclusion) -> Conclusion:
    """Return a conclusion as it is; raise Inconsistent, naming the first contradiction, where its numbers have one."""
    for contradiction in contradictions(conclusion):
        raise Inconsistent(f"the conclusion contradicts itself: {contradiction}")
    return conclusion


def contradictions(conclusion: Conclusion) -> Iterator[str]:
    """Name each contradiction in a conclusion: among pairs, ranks, groups, or in the repetition."""
    yield from _check_family(conclusion)
    for pair in conclusion.pairs:
        checks = (_check_difference, _check_claim, _check_gate, _check_settling)
        clashes = [clash for check in checks for clash in check(pair, conclusion)]
        yield from (f"{pair.first} - {pair.second}: {clash}" for clash in clashes)
    yield from _check_systems(conclusion)
    yield from _check_widths(conclusion)
    yield from _check_groups(conclusion)
    yield from _check_best(conclusion)
    for metric in conclusion.metrics:
        yield from (f"metric {metric.name}: {clash}" for clash in _check_metric(metric))
    if conclusion.repetition is not None:
        yield from _check_repetition(conclusion.repetition)
    # Conclusions without some raters are printed beside the first, and held to the same rules.
    for other in conclusion.without.values():
        yield from contradictions(other)


def _check_family(conclusion: Conclusion) -> Iterator[str]:
    """Check that pairs are those of the family: of listed systems, each once, all or those with one of them."""
    names = {system.system for system in conclusion.systems}
    pairs = [frozenset((pair.first, pair.second)) for pair in conclusion.pairs]
    if any(len(pair) < 2 or not pair <= names for pair in pairs):
        yield "a pair is of systems that are not listed"
    if len(set(pairs)) < len(pairs):
        yield "a pair stands there twice"
    # Pairs with one baseline have it, and nothing else, in common.
    baseline = frozenset.intersection(*pairs) if pairs else names
    if len(pairs) not in (0, len(names) * (len(names) - 1) // 2) and not (baseline and len(pairs) == len(names) - 1):
        yield f"its {len(pairs)} pairs are neither all of {len(names)} systems nor those of one with all others"


def _check_difference(pair: Pair, conclusion: Conclusion) -> Iterator[str]:
    """Check that the interval holds the difference, and that both point where the better system is."""
    low, high, value = pair.low, pair.high, pair.difference
    # Bounds and difference come from different sums, and may cross by rounding where an interval is a point.
    slack = _compute_tolerance(low, high, value)
    if low > high + slack or value < low - slack or value > high + slack:
        yield f"its interval, {low:g} to {high:g}, does not hold the difference {value:g}"
    better = -1 if conclusion.lower_is_better else 1
    if value and pair.direction * better * value < 0:
        yield f"the difference {value:g} points away from the system that came out better ({pair.direction:+d})"


def _check_claim(pair: Pair, conclusion: Conclusion) -> Iterator[str]:
    """Check a verdict against the direction, the interval, and the p-values."""
    low, high, slack = pair.low, pair.high, _compute_tolerance(pair.low, pair.high)
    better = -1 if conclusion.lower_is_better else 1
    if pair.verdict not in (0, pair.direction):
        yield f"the claim ({pair.verdict:+d}) is not of the system that came out better ({pair.direction:+d})"
    if pair.verdict and pair.verdict * better * (low if pair.verdict * better > 0 else high) < -slack:
        yield f"is claimed, and its interval, {low:g} to {high:g}, reaches beyond 0"
    # A withdrawn promise opens claims and leaves their intervals as they were.
    if not pair.verdict and not conclusion.withdrawn and (low > slack or high < -slack):
        # Single-step intervals decide what is claimed, so that an open pair must cover 0.
        yield f"is open, and its interval, {low:g} to {high:g}, excludes 0"
    # An adjustment for many pairs never makes a p-value smaller.
    if pair.adjusted < pair.p_value - _compute_tolerance(pair.p_value):
        yield f"its adjusted p-value {pair.adjusted:g} is below its own, {pair.p_value:g}"
    if pair.verdict and pair.adjusted > conclusion.promise.level + _compute_tolerance(conclusion.promise.level):
        yield f"is claimed at an adjusted p-value of {pair.adjusted:g}, above {conclusion.promise.level:g}"


def _check_gate(pair: Pair, conclusion: Conclusion) -> Iterator[str]:
    """Check that nothing is claimed under a promise that is withdrawn, and nothing is called unpromised else."""
    if conclusion.withdrawn and (pair.verdict or pair.within not in (None, "open")):
        yield "is claimed, and the promise is withdrawn"
    if pair.unpromised and not conclusion.withdrawn:
        yield f"would be claimed ({pair.unpromised:+d}), and the promise is not withdrawn"
    if pair.unpromised not in (0, pair.direction):
        yield f"would be claimed ({pair.unpromised:+d}) and came out the other way ({pair.direction:+d})"


def _check_settling(pair: Pair, conclusion: Conclusion) -> Iterator[str]:
    """Check what is said of a margin against the interval, and what would settle a pair against its verdict."""
    low, high, margin = pair.low, pair.high, conclusion.about.get("margin")
    if pair.within is not None and margin is not None and not math.isnan(low + high) and not conclusion.withdrawn:
        # Unknown (NaN) and withdrawn bounds are skipped, since nothing is said of a margin then.
        expected = compare_with_margin(low, high, float(margin), lower=conclusion.lower_is_better)
        if pair.within != expected:
            yield f"is called {pair.within} up to {margin:g}, and its interval, {low:g} to {high:g}, says {expected}"
    more = pair.more
    if more is not None and pair.verdict:
        yield f"is claimed (p {pair.adjusted:g}), and {more.median:g} more {more.unit} are asked for to settle it"
    if more is not None and not more.low <= more.median <= more.high:
        yield f"needs {more.median:g} more {more.unit}, outside {more.low:g} to {more.high:g}"


def _check_systems(conclusion: Conclusion) -> Iterator[str]:
    """Check that estimates lie in their intervals and ranks are cut with the claims."""
    above, below = _find_claims(conclusion.pairs)
    n, scale = len(conclusion.systems), _scale(conclusion)
    for entry in conclusion.systems:
        if entry.low > entry.estimate + _compute_tolerance(
            entry.low, entry.estimate
        ) or entry.high < entry.estimate - _compute_tolerance(entry.estimate):
            yield f"{entry.system}: its interval, {entry.low:g} to {entry.high:g}, does not hold {entry.estimate:g}"
        best, worst = 1 + len(above.get(entry.system, ())), n - len(below.get(entry.system, ()))
        if not 1 <= entry.rank_low <= entry.rank_high <= n:
            yield f"{entry.system}: its ranks, {entry.rank_low} to {entry.rank_high}, are none of {n}"
        # Wider ranks than the claims leave would deny a claim; narrower ones may rest on more than claims.
        elif entry.rank_low < best or entry.rank_high > worst:
            yield (
                f"{entry.system}: may have rank {entry.rank_low} to {entry.rank_high}, and its claims leave "
                f"{best} to {worst}"
            )
        yield from _off_scale(entry, *scale)


def _check_widths(conclusion: Conclusion) -> Iterator[str]:
    """Check that no interval of an answer about votes is a point: votes that are all alike leave others possible."""
    if conclusion.question != COMPARE:
        return
    named = [
        *((f"{pair.first} - {pair.second}", pair.low, pair.high) for pair in conclusion.pairs),
        *((system.system, system.low, system.high) for system in conclusion.systems),
    ]
    # Bounds that are not known (NaN) are no interval.
    yield from (f"{name}: its interval, {low:g} to {high:g}, has no width" for name, low, high in named if high <= low)


def _scale(conclusion: Conclusion) -> tuple[float, float]:
    """Return the least and the largest score that means of a table may have, where it says so and nothing changed them.

    What was read may come from a file: what is no scale is none.
    """
    scale, unchanged = conclusion.read.get("scale"), conclusion.about.get("normalization", "none") == "none"
    # Scores that were normalised have left their scale.
    if conclusion.question != "rate" or not unchanged or not isinstance(scale, Sequence) or len(scale) != 2:
        return -math.inf, math.inf
    known = all(isinstance(end, int | float) for end in scale)
    return (float(scale[0]), float(scale[1])) if known else (-math.inf, math.inf)


def _off_scale(system: System, least: float, most: float) -> Iterator[str]:
    for value in (system.estimate, system.low, system.high):
        if value < least - _compute_tolerance(least, most) or value > most + _compute_tolerance(least, most):
            yield f"{system.system}: {value:g} lies outside its scale, {least:g} to {most:g}"


def _find_claims(pairs: Sequence[Pair]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return which systems are claimed to be above each system, and which below."""
    above: dict[str, set[str]] = {}
    below: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.verdict:
            better, worse = (pair.first, pair.second) if pair.verdict > 0 else (pair.second, pair.first)
            above.setdefault(worse, set()).add(better)
            below.setdefault(better, set()).add(worse)
    return above, below


def _check_groups(conclusion: Conclusion) -> Iterator[str]:
    """Check that nothing claims a difference within a group that nothing separates."""
    above, _ = _find_claims(conclusion.pairs)
    for group in conclusion.about.get("groups", ()):
        for system in group:
            if others := above.get(system, set()) & set(group):
                yield f"{system} and {min(others)} stand in a group that nothing separates, and are claimed to differ"


def _check_best(conclusion: Conclusion) -> Iterator[str]:
    """Check that some system may be the best, that p-values say which, and that ranks and claims say nothing else."""
    if conclusion.family is None or conclusion.family.name != "best":
        return
    candidates, ranks = conclusion.family.candidates, {system.system: system.rank_low for system in conclusion.systems}
    if not any(candidate.may_be_best for candidate in candidates):
        yield "no system may be the best"
    if any(pair.verdict for pair in conclusion.pairs):
        yield "single pairs are claimed where who may be the best is asked"
    for candidate in candidates:
        if not conclusion.withdrawn and candidate.may_be_best != (candidate.p_value > conclusion.promise.level):
            yield f"{candidate.system}: may be the best ({candidate.may_be_best}) with p {candidate.p_value:g}"
        if candidate.may_be_best != (ranks.get(candidate.system) == 1):
            yield (
                f"{candidate.system}: may be the best ({candidate.may_be_best}), and may not have the rank that this "
                "says"
            )


def _check_metric(metric: Metric) -> Iterator[str]:
    """Check that intervals hold what they are of, and that errors of pairs are differences of systems' errors."""
    rows = [(estimate.system, estimate.value, estimate.low, estimate.high) for estimate in metric.estimates]
    rows += [(quality.system, quality.value, quality.low, quality.high) for quality in (*metric.bias, *metric.favour)]
    if (worth := metric.worth_labels) is not None:
        rows.append(("its worth in labels", worth.value, worth.low, worth.high))
    for name, value, low, high in rows:
        if low > value + _compute_tolerance(low, value) or high < value - _compute_tolerance(high, value):
            yield f"{name}: its interval, {low:g} to {high:g}, does not hold {value:g}"
    error = {bias.system: bias.value for bias in metric.bias}
    for pair in metric.bias_pairs:
        parts = [pair.metric, pair.human, *(error.get(name, 0.0) for name in (pair.first, pair.second))]
        # The error of a pair is printed two ways, as metric less human and from its systems: both must give it.
        gaps = [parts[0] - parts[1], *([parts[2] - parts[3]] if error else [])]
        for gap in gaps:
            if abs(gap - pair.value) > _compute_tolerance(*parts):
                yield f"{pair.first} - {pair.second}: its error is {pair.value:g}, and what it is made of {gap:g}"


def _check_repetition(again: Repetition) -> Iterator[str]:
    """Check that shares lie in their intervals, and that the same raters confirm no less than new ones."""
    for name, share in again.same_sign:
        value, low, high = share.value, share.low, share.high
        if not math.isnan(value) and not 0 <= value <= 1:
            yield f"a repetition confirms {value:g} ({name}), which is no share"
        if high <= low:
            yield f"a repetition confirms {value:g} ({name}), {low:g} to {high:g}, of no width"
    if is_reversed(again):
        same, new = again.same_sign.same.value, again.same_sign.new_study.value
        yield f"a repetition confirms {same:.2f} with the same raters and {new:.2f} with all new"


def is_reversed(again: Repetition) -> bool:
    """True if the same raters confirm less than new ones, by more than simulations err.

    Drawing raters anew adds to what varies; where less varies and less is confirmed the world is not that of the table.
    """
    # The error of a difference of two shares is at most that of two shares of one half. What is not known is not less.
    of = again.same_sign
    return of.same.value < of.new_study.value - APART * math.sqrt(0.5 / max(again.studies, 1))


def kept_repetition(again: Repetition | None) -> tuple[Repetition | None, str]:
    """Return a repetition and "", or, where it contradicts itself, None and the reason."""
    if again is None or not is_reversed(again):
        return again, ""
    return None, (
        f"in worlds fitted to this table the same raters confirm every claim in {again.same_sign.same.value:.2f} and "
        f"new raters in {again.same_sign.new_study.value:.2f}, which cannot be ({again.world})"
    )


def _compute_tolerance(*values: float) -> float:
    # Relative to the largest number, and absolute below 1, where cancellation leaves rounding of larger sums.
    return TOLERANCE * max([1.0, *(abs(value) for value in values if math.isfinite(value))])
