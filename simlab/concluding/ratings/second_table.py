"""Compare the claims of two tables about the same systems, and name those that contradict each other.

`add_second_table` takes both conclusions and returns the first with lines on the second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Pair
from simlab.messages import clip, pluralise
from simlab.types import InputError

_SEPARATED = re.compile(r"[./:_-]")
MOST_NAMED = 3


class Both(NamedTuple):
    """A pair of systems that is in two tables; `turned`: the second has the two in the opposite order."""

    first: Pair
    second: Pair
    turned: bool

    @property
    def other_verdict(self) -> int:
        """Return the verdict of the second table, in the order of the first."""
        return -self.second.verdict if self.turned else self.second.verdict

    @property
    def contradicts(self) -> bool:
        """True if both tables claim the pair, in opposite directions."""
        return self.first.verdict * self.other_verdict < 0


def add_second_table(conclusion: Conclusion, other: Conclusion, table: Path) -> Conclusion:
    """Return the conclusion with lines on the pairs that another table compares, too; `table` is the other's file.

    Systems are matched by name; a beginning that all names of a table share, such as `wmt23.`, is ignored where names
    agree without it only. Raises InputError where the two tables share no two systems.
    """
    names = match_names([system.system for system in conclusion.systems], [system.system for system in other.systems])
    pairs = list_shared_pairs(conclusion.pairs, other.pairs, names)
    if not pairs:
        raise InputError(
            f"{clip(table)}: shares no two systems with the first table, so that nothing can be held against each "
            "other; name systems alike"
        )
    against = [pair for pair in pairs if pair.contradicts]
    claimed = sum(bool(pair.first.verdict and pair.second.verdict) for pair in pairs)
    about: dict[str, Any] = {
        "table": str(table),
        "pairs": len(pairs),
        "claimed_by_first": sum(bool(pair.first.verdict) for pair in pairs),
        "claimed_by_second": sum(bool(pair.second.verdict) for pair in pairs),
        "claimed_by_both": claimed,
        "contradictions": [_contradiction(pair) for pair in against],
        "conclusion": other.serialise(),
    }
    lines = [*conclusion.lines, _summarise_tables(len(pairs), about, against)]
    return conclusion.replace_fields(about={**conclusion.about, "second": about}, lines=lines)


def match_names(names: Sequence[str], others: Sequence[str]) -> Mapping[str, str]:
    """Return the name in the first table of each system of the second.

    >>> match_names(["wmt23.A", "wmt23.B"], ["A", "B", "C"])
    {'A': 'wmt23.A', 'B': 'wmt23.B'}
    """
    matches = {name: name for name in others if name in set(names)}
    for ours, theirs in (
        (names, shorten_names(others)),
        (shorten_names(names), others),
        (shorten_names(names), shorten_names(others)),
    ):
        known = dict(zip(ours, names, strict=True))
        tried = {name: known[short] for name, short in zip(others, theirs, strict=True) if short in known}
        # Shortened names must match more systems than full ones: equal full names are the safer sign.
        matches = tried if len(tried) > len(matches) else matches
    return matches


def shorten_names(names: Sequence[str]) -> list[str]:
    """Leave aside a beginning that all of several names share, up to a mark such as a dot.

    >>> shorten_names(["wmt23.A", "wmt23.B"]), shorten_names(["A", "B"])
    (['A', 'B'], ['A', 'B'])
    """
    mark = _SEPARATED.search(names[0]) if len(names) > 1 else None
    start = names[0][: mark.end()] if mark else ""
    rest = [name.removeprefix(start) for name in names]
    # A name that is nothing but the beginning would be left empty.
    return rest if all(name.startswith(start) for name in names) and all(rest) else list(names)


def list_shared_pairs(pairs: Sequence[Pair], others: Sequence[Pair], names: Mapping[str, str]) -> list[Both]:
    """List the pairs that both compare."""
    known = {(pair.first, pair.second): pair for pair in pairs}
    shared_pairs = []
    for other in others:
        first, second = names.get(other.first), names.get(other.second)
        if first is None or second is None:
            continue
        if (first, second) in known:
            shared_pairs.append(Both(known[first, second], other, False))
        elif (second, first) in known:
            shared_pairs.append(Both(known[second, first], other, True))
    return shared_pairs


def _contradiction(of: Both) -> dict[str, Any]:
    turn = -1 if of.turned else 1
    return {
        "first": of.first.first,
        "second": of.first.second,
        "difference": of.first.difference,
        "other_difference": turn * of.second.difference,
        "verdict": of.first.verdict,
        "other_verdict": of.other_verdict,
    }


def _summarise_tables(n: int, about: Mapping[str, Any], against: Sequence[Both]) -> str:
    claims = f"of {pluralise(n, 'pair')} in both tables, this one claims {about['claimed_by_first']:,}, the second "
    claims += f"{about['claimed_by_second']:,}, both {about['claimed_by_both']:,}"
    if not against:
        return f"Second table: {claims}; no claim contradicts another."
    named = ", ".join(f"{pair.first.first} - {pair.first.second}" for pair in against[:MOST_NAMED])
    rest = f" and {len(against) - MOST_NAMED:,} more" if len(against) > MOST_NAMED else ""
    contradict = "1 contradicts" if len(against) == 1 else f"{len(against):,} contradict"
    return f"Second table: {claims}; {contradict} each other: {clip(named, 200)}{rest}."
