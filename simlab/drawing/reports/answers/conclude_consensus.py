"""Report which answers most raters like these would give to items, and how often single raters err.

Call `consensus_sections` with the `Consensus` of a conclusion, which yields the sections of its report.
"""

from __future__ import annotations

from collections.abc import Iterator

from simlab.answers.consensus import Consensus, ConsensusPair
from simlab.answers.standings import Interval
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.reports.terms import Cell, Points, ReportTable, Section, Value
from simlab.drawing.text.tables import number
from simlab.messages import clip

MANY_HARD = 0.3
"""Share of hard items above which a report warns that they limit what is known."""


def consensus_sections(consensus: Consensus) -> Iterator[Section]:
    """Yield the sections: shares of items by pair of systems, and each rater, which a terminal leaves out."""
    ties = any(pair.tie is not None for pair in consensus.pairs)
    sure = numbers.share(1 - consensus.level)
    caption = (
        f"Shares of items by what most raters like these would say of them, errors of single answers taken off; {sure} "
        "intervals, each for itself. Consensus is not truth: what most raters get wrong, it gets wrong. By majority: "
        "shares by the most frequent answer of each item, errors and all"
    )
    columns = ("the one that leads", "items", "better", *(["tie"] * ties), "worse", "by majority", "P(leads)")
    rows = tuple(_row(pair, ties) for pair in consensus.pairs)
    yield Section(
        "What raters agree on", (ReportTable(caption, columns, rows), Points(tuple(_points(consensus, ties))))
    )
    if consensus.raters:
        each = sorted(consensus.raters, key=lambda rater: rater.agree.value)
        title = "How often a rater says the consensus of an easy item, those who err most first"
        shown = tuple((clip(rater.rater, 40), rater.answers, _value(rater.agree)) for rater in each)
        table = ReportTable(title, ("rater", "answers", "says the consensus"), shown)
        yield Section("Errors of raters", (table,), light=True)


def _row(pair: ConsensusPair, ties: bool) -> tuple[Cell, ...]:
    """Return a row, the system first that leads in more items."""
    way = 1 if pair.first_leads >= 0.5 else -1
    first, second = (clip(name, 30) for name in (pair.first, pair.second)[::way])
    better, worse = (pair.first_better, pair.second_better)[::way]
    majority = (pair.majority if ties else (pair.majority[0], pair.majority[-1]))[::way]
    shares = [better, *([pair.tie] if pair.tie is not None and ties else []), worse]
    leads = max(pair.first_leads, 1 - pair.first_leads)
    counted = " / ".join(number(share, 2) for share in majority)
    return (f"{first} - {second}", pair.items, *map(_value, shares), counted, Value(leads, digits=2))


def _points(consensus: Consensus, ties: bool) -> Iterator[str]:
    """State how much raters err, what is hard, and how far all of that is known."""
    yield (
        f"A rater says the consensus of an easy item in {numbers.interval(consensus.agree)}, of a hard one in "
        f"{numbers.interval(consensus.agree_hard)}; {numbers.interval(consensus.hard)} of the items are hard."
    )
    if consensus.hard.high > MANY_HARD:
        yield (
            f"Up to {numbers.share(consensus.hard.high)} of the items may be hard: what most raters would say of these "
            "is known from the prior more than from answers; more raters an item would tell."
        )
    worst = min(consensus.raters, key=lambda rater: rater.agree.high, default=None)
    chance = 1 / (3 if ties else 2)
    if worst is not None and worst.agree.high < consensus.agree.low:
        by_chance = f" (by chance: {number(chance, 2)})"
        yield f"{clip(worst.rater, 40)} errs most: says the consensus in {numbers.interval(worst.agree)}{by_chance}."
    error = max(pair.mcse for pair in consensus.pairs)
    yield (
        f"Learned from {consensus.items:,} items, {consensus.repeated:,} of them with three answers or more; "
        f"Monte-Carlo standard errors of shares are {number(error, 3)} at most (R-hat {number(consensus.r_hat, 2)}). "
        "Claims above do not rest on it."
    )


def _value(interval: Interval) -> Value:
    return Value(interval.value, low=interval.low, high=interval.high, digits=2)
