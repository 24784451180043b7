"""Write what is concluded about pairs: what is claimed, what is open, and how much more would settle it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set

from simlab.answers.conclude import Candidate, Conclusion, Family, More, Pair, System, WithinMargin
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text.tables import number
from simlab.messages import several

MOST_OPEN = 3
MOST_GROUPED, MOST_GROUPS = 15, 5
MOST_CHANGES = 4
UNLIKE = 1.1
"""Differences that are found of single pairs are told where the largest is so many times the least."""

TURNED: Mapping[WithinMargin, WithinMargin] = {
    "better": "worse",
    "worse": "better",
    "not_inferior": "not_superior",
    "not_superior": "not_inferior",
}
WITHIN = {
    "better": "better by more",
    "worse": "worse by more",
    "not_inferior": "not worse by more",
    "not_superior": "not better by more",
    "equivalent": "no more apart",
}


def ordered(found: Conclusion) -> list[System]:
    """Return the systems as estimated, best first; what is not known is last."""
    sign = 1 if found.lower_is_better else -1
    return sorted(found.systems, key=lambda one: sign * one.estimate if math.isfinite(one.estimate) else math.inf)


def open_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs that are compared and not claimed, the ones that least would settle first; the better one leads."""
    return sorted((oriented(one) for one in pairs if not one.verdict and is_compared(one)), key=_closeness)


def oriented(pair: Pair) -> Pair:
    """Name the system first that came out better."""
    if pair.direction >= 0:
        return pair
    within = None if pair.within is None else TURNED.get(pair.within, pair.within)
    return pair.changed(
        first=pair.second,
        second=pair.first,
        difference=-pair.difference,
        low=-pair.high,
        high=-pair.low,
        direction=-pair.direction,
        verdict=-pair.verdict,
        unpromised=-pair.unpromised,
        within=within,
        plain_mean=None if pair.plain_mean is None else -pair.plain_mean,
    )


def is_compared(pair: Pair) -> bool:
    """Tell whether anything was collected about a pair."""
    return math.isfinite(pair.difference)


def _closeness(pair: Pair) -> tuple[float, float, float, float]:
    needs = (pair.more.median, pair.more.low) if pair.more else (math.inf, math.inf)
    # What is not known comes last: NaN would leave the order to chance.
    return (*needs, 1.0 if math.isnan(pair.adjusted) else pair.adjusted, -abs(pair.difference))


def beaten(pairs: Sequence[Pair]) -> dict[str, set[str]]:
    """Return whom each system is claimed to be better than."""
    below: dict[str, set[str]] = {}
    for one in pairs:
        if one.verdict:
            better, worse = (one.first, one.second) if one.verdict > 0 else (one.second, one.first)
            below.setdefault(better, set()).add(worse)
    return below


def claims(found: Conclusion, digits: int, *, brief: bool = False) -> Iterator[str]:
    """Say how many pairs are claimed, which groups nothing separates, and that open is not equal; or who is best."""
    if found.family is not None and found.family.name == "best":
        yield from _lines(best(found, found.family, digits))
        return
    claimed = sum(one.verdict != 0 for one in found.pairs)
    left = open_pairs(found.pairs)
    said = f"{claimed:,} of {several(len(found.pairs), 'pair')} claimed, {len(left):,} open{_never(found.pairs)}"
    said += f" ({unpromised(found)})" if found.withdrawn else ""
    if grouped := groups(found) if left and not brief else []:
        said += f"; nothing separates {'; '.join(' '.join(one) for one in grouped[:MOST_GROUPS])}"
        said += f" ({several(len(grouped) - MOST_GROUPS, 'group')} more)" if len(grouped) > MOST_GROUPS else ""
    said += f". Open is not equal: {difference(left[0], digits)}." if left else "."
    if found.detectable is not None and math.isfinite(found.detectable):
        least = numbers.amount(number(found.detectable, digits), numbers.unit_of_differences(found))
        by_pair = detectable_by_pair(found)
        apart = f" ({number(by_pair[0], digits)} to {number(by_pair[1], digits)}, by pair)" if by_pair else ""
        said += f" Such a table finds a difference of {least}{apart} with 80 %."
    yield numbers.filled(said)
    yield from _lines(stepped_down(found.pairs))
    yield from _lines(tiers(found.family))
    yield from _lines(exploratory(found, digits))


def _lines(said: str) -> Iterator[str]:
    if said:
        yield numbers.filled(said)


def best(found: Conclusion, of: Family, digits: int) -> str:
    """Say which systems may be the best, and how far behind it each one is at most."""
    may = [one for one in of.candidates if one.may_be_best]
    said = f"{several(len(may), 'system')} may be the best: {_behind(found, may, digits)}"
    others = [one for one in of.candidates if not one.may_be_best]
    said += f"; not the best: {_behind(found, others, digits)}." if others else "."
    near = [one.system for one in of.candidates if one.within]
    if near and (margin := found.about.get("margin")) is not None:
        unit = numbers.amount(f"{margin:g}", numbers.unit_of_differences(found))
        said += f" No more than {unit} behind the best: {numbers.listed(near, MOST_GROUPED)}."
    return said


def _behind(found: Conclusion, of: Sequence[Candidate], digits: int) -> str:
    known = [(one, numbers.end(one.behind, digits)) for one in of[:MOST_GROUPED]]
    said = [f"{one.system} ({end} behind at most)" if math.isfinite(one.behind) else one.system for one, end in known]
    return ", ".join([*said, *([f"{len(of) - MOST_GROUPED:,} more"] if len(of) > MOST_GROUPED else [])])


def stepped_down(pairs: Sequence[Pair]) -> str:
    """Name pairs that stepping down finds and a single step does not; "" where there are none."""
    more = [oriented(one) for one in pairs if one.family == "step_down"]
    claimed, left = ([one for one in more if bool(one.verdict) == yes] for yes in (True, False))
    said = [f"Claimed by stepping down, its interval ending at 0: {_shown(claimed)}."] if claimed else []
    said += [f"Stepping down would add, as intervals do not: {_shown(left)}."] if left else []
    return " ".join(said)


def tiers(of: Family | None) -> str:
    """Write a tied ranking: each system is claimed to be better than each one of the tiers after its own."""
    if of is None or not of.tiers:
        return ""
    return f"Tied ranking: {' > '.join(' = '.join(tier) for tier in of.tiers)} (= is not told apart, not equal)."


def exploratory(found: Conclusion, digits: int) -> str:
    """Say what another family than the plan's would say, without a promise."""
    if (of := found.exploratory) is None:
        return ""
    if of.name == "best":
        return f"Exploratory, of a family that the plan did not fix, without claims: {best(found, of, digits)}"
    claims = [f"{better} > {worse}" for better, worse in of.claims]
    named = f" ({numbers.listed(claims, MOST_CHANGES)})" if claims else ""
    ranking = f" {tiers(of)}" if of.tiers else ""
    would = f"{several(len(claims), 'pair')} would be claimed{named}"
    return f"Exploratory, of a family that the plan did not fix ({of.name}), without claims: {would}.{ranking}"


def detectable_by_pair(found: Conclusion) -> tuple[float, float] | None:
    """Return the least and the largest of what is found of single pairs; None where they are much the same."""
    sizes = [one.detectable for one in found.pairs if one.detectable is not None]
    return (min(sizes), max(sizes)) if sizes and max(sizes) > UNLIKE * min(sizes) else None


def unpromised(found: Conclusion) -> str:
    """Say of a conclusion that is withdrawn how many pairs would be claimed."""
    return f"without a promise {sum(one.unpromised != 0 for one in found.pairs):,} would be"


def _never(pairs: Sequence[Pair]) -> str:
    never = [f"{one.first} - {one.second}" for one in pairs if not is_compared(one)]
    return f", {len(never):,} never compared ({numbers.listed(never, 1)})" if never else ""


def difference(pair: Pair, digits: int) -> str:
    """Write the difference of a pair with its interval."""
    value = numbers.measured(pair.difference, pair.low, pair.high, digits)
    return f"{pair.first} - {pair.second} is {value}"


def settling(pairs: Sequence[Pair], *, brief: bool = False) -> Iterator[str]:
    """Say how many more would settle the open pairs, those that least would settle first; the rest is counted."""
    left = open_pairs(pairs)
    known = [(one, one.more) for one in left if one.more is not None]
    if not known:
        return
    shown = known[: 1 if brief else MOST_OPEN]
    (first, needed), *others = shown
    needed = needed.changed(answers="") if brief else needed
    many = numbers.more(needed)
    # What a range is need be said once.
    range_ = " for half of such pairs" if " to " in many else ""
    said = [f"To settle {first.first} - {first.second} with 80 %: {many}{range_}"]
    said += [f"{one.first} - {one.second}: {_as_before(more, needed)}" for one, more in others]
    rest = len(left) - len(shown)
    said += [f"{several(rest, 'open pair')} more"] if rest else []
    yield numbers.filled(f"{'; '.join(said)}.")


def _as_before(more: More, first: More) -> str:
    """Leave out what was just said of another pair: what is counted, and what it costs."""
    alike = (more.unit, more.per_unit, more.answers) == (first.unit, first.per_unit, first.answers)
    said = numbers.more(more.changed(answers="") if alike else more)
    return said.removesuffix(f" more {numbers.unit_of(more)}") if alike else said


def groups(found: Conclusion) -> list[list[str]]:
    """Return the largest groups within which no pair is claimed and all are compared; none for many systems.

    A system may be in several. Source: Bron and Kerbosch 1973, with a pivot.
    """
    names = [one.system for one in ordered(found)]
    if len(names) > MOST_GROUPED:
        return []
    near: dict[str, set[str]] = {name: set() for name in names}
    for one in open_pairs(found.pairs):
        near[one.first].add(one.second)
        near[one.second].add(one.first)
    place = {name: k for k, name in enumerate(names)}
    cliques = [sorted(one, key=place.__getitem__) for one in _cliques(set(), set(names), set(), near) if len(one) > 1]
    return sorted(cliques, key=lambda one: [place[name] for name in one])


def _cliques(inside: Set[str], may: Set[str], done: Set[str], near: Mapping[str, Set[str]]) -> Iterator[Set[str]]:
    if not may and not done:
        yield inside
        return
    pivot = max(may | done, key=lambda name: len(near[name] & may))
    for name in sorted(may - near[pivot]):
        yield from _cliques(inside | {name}, may & near[name], done & near[name], near)
        may, done = may - {name}, done | {name}


def within(found: Conclusion) -> Iterator[str]:
    """Say which pairs are equivalent, or not inferior, by the margin that was asked for."""
    answered = [oriented(one) for one in found.pairs if one.within is not None]
    if not answered:
        return
    by = {word: [one for one in answered if one.within == word] for word in WITHIN}
    said = [f"{WITHIN[word]}: {_shown(of)}" for word, of in by.items() if of]
    left = sum(one.within == "open" for one in answered)
    margin = found.about.get("margin")
    head = (
        "Up to the margin"
        if margin is None
        else f"Up to {numbers.amount(f'{margin:g}', numbers.unit_of_differences(found))}"
    )
    yield numbers.filled(f"{head}: {'; '.join([*said, *([f'{left:,} open'] if left else [])])}.")


def _shown(pairs: Sequence[Pair]) -> str:
    return numbers.listed([f"{one.first} - {one.second}" for one in pairs], MOST_CHANGES)


def without(found: Conclusion, digits: int) -> Iterator[str]:
    """Say what changes where raters are left out."""
    for names, other in found.without.items():
        yield numbers.filled(f"Without {names}: {_changed(found, other, digits)}.")


def _changed(found: Conclusion, other: Conclusion, digits: int) -> str:
    if other.family is not None and other.family.name == "best":
        return best(other, other.family, digits).removesuffix(".")
    before, after = (_claimed(one.pairs) for one in (found, other))
    turned = [pair for pair in before if pair in after and before[pair] != after[pair]]
    lost, new = ([pair for pair in one if pair not in two] for one, two in ((before, after), (after, before)))
    words = (("turned round", turned), ("no longer claimed", lost), ("newly claimed", new))
    said = [f"{word} {numbers.listed(pairs, MOST_CHANGES)}" for word, pairs in words if pairs]
    moved = _moved(found, other)
    said += [f"{moved[0]} moves most, by {number(moved[1], digits, sign=True)}"] if moved else []
    return "; ".join(said if any(pairs for _, pairs in words) else ["the same claims", *said])


def _claimed(pairs: Sequence[Pair]) -> dict[str, str]:
    """Name what is claimed, whatever the order in which a table names two systems."""
    claims: dict[str, str] = {}
    for one in pairs:
        if one.verdict:
            claims[" - ".join(sorted((one.first, one.second)))] = one.first if one.verdict > 0 else one.second
    return claims


def _moved(found: Conclusion, other: Conclusion) -> tuple[str, float] | None:
    new = {one.system: one.estimate for one in other.systems}
    moves = [(one.system, new[one.system] - one.estimate) for one in found.systems if one.system in new]
    known = [move for move in moves if math.isfinite(move[1])]
    return max(known, key=lambda move: abs(move[1]), default=None)
