"""Write the systems of a conclusion as a table: ranks, estimates with intervals, and who is better than whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from simlab.answers.conclude import Conclusion, Estimated, Metric, System
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import tables
from simlab.drawing.text.conclusion_pairs import beaten, ordered
from simlab.drawing.text.tables import WIDTH, number

MOST_SYSTEMS, FIRST, LAST = 20, 12, 4
"""Of more systems than a page holds the first and the last are shown."""
LEAST_ROOM, MOST_LETTERS = 12, 32
BELOW = "see below"
"""Stands where names are too long for the column; they follow under the table."""
UNEVEN = 1.25
"""Answers are counted system by system where the most are so many times the least."""
METHODS = {
    "human": "humans alone",
    "ppi": "PPI++",
    "partial": "posterior, alike",
    "own": "posterior, own",
    "joint": "posterior, joint",
}
"""Ways to use a metric, those first that are shown where there is little room."""


def table(found: Conclusion, digits: int) -> str:
    """Write a row for each system, best first; of many the first and the last, and a line that says so."""
    systems = ordered(found)
    shown, cut = _shown(systems)
    header, columns = _columns(found, shown, digits)
    below, names = beaten(found.pairs), [one.system for one in systems]
    brief = numbers.short(names, MOST_LETTERS)
    columns = [[row[0], brief[row[1]], *row[2:]] for row in columns]
    room = WIDTH - sum(max(map(len, column)) + 2 for column in zip(header, *columns, strict=True))
    beats = [
        _beats({brief[name] for name in below.get(one.system, ())}, brief[one.system], list(brief.values()))
        for one in shown
    ]
    fits = [len(said) <= max(room, LEAST_ROOM) for said in beats]
    rows = [[*row, said if fit else BELOW] for row, said, fit in zip(columns, beats, fits, strict=True)]
    lines = tables.aligned([*header, "better than"], rows, left=2, last_left=True).splitlines()
    if cut:
        text = f"... {len(cut):,} systems between, ranks {_ranks(cut)}: --format json has all"
        lines.insert(1 + FIRST, text)
    # Who is claimed to be better than whom is never left out: what the column cannot hold stands below it.
    named = zip(shown, beats, fits, strict=True)
    lines += [numbers.filled(f"{brief[one.system]} is better than {said}.") for one, said, fit in named if not fit]
    return "\n".join(lines)


def _shown(systems: Sequence[System]) -> tuple[list[System], list[System]]:
    if len(systems) <= MOST_SYSTEMS:
        return list(systems), []
    return [*systems[:FIRST], *systems[-LAST:]], list(systems[FIRST:-LAST])


def _ranks(cut: Sequence[System]) -> str:
    return f"{min(one.rank_low for one in cut)} to {max(one.rank_high for one in cut)}"


def _columns(found: Conclusion, shown: Sequence[System], digits: int) -> tuple[list[str], list[list[str]]]:
    header, rows = ["rank", "system"], [[numbers.rank(one.rank_low, one.rank_high), one.system] for one in shown]
    if _uneven(found.systems):
        header.append("n")
        rows = [[*row, f"{one.n:,}"] for row, one in zip(rows, shown, strict=True)]
    if metric := estimated_with(found.metrics):
        return _side_by_side(metric, header, rows, digits)
    header += [", ".join(one for one in numbers.measure(found) if one), f"{confidence(found)} interval"]
    values = [[number(one.estimate, digits), numbers.span(one.low, one.high, digits)] for one in shown]
    return header, [[*row, *value] for row, value in zip(rows, values, strict=True)]


def _uneven(systems: Sequence[System]) -> bool:
    counts = [one.n for one in systems]
    return max(counts, default=0) > UNEVEN * min(counts, default=0)


def confidence(found: Conclusion) -> str:
    """Write how sure intervals are.

    The level is of any wrong claim; intervals of single systems miss the truth with the same probability.
    """
    return numbers.share(1 - found.promise.level)


def estimated_with(metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric whose estimates are shown: the first that is of use, else the first; None without any."""
    with_estimates = [one for one in metrics if one.estimates]
    useful = [one for one in with_estimates if one.verdict != "leave_out"]
    return next(iter([*useful, *with_estimates]), None)


def _side_by_side(
    metric: Metric, header: list[str], rows: list[list[str]], digits: int
) -> tuple[list[str], list[list[str]]]:
    """Put the means by humans alone and with the metric beside each other, as many ways as the width holds."""
    by: Mapping[tuple[str, str], Estimated] = {(one.method, one.system): one for one in metric.estimates}
    for method, said in METHODS.items():
        cells = [_cell(by.get((method, row[1])), digits) for row in rows]
        wide = [[*row, cell] for row, cell in zip(rows, cells, strict=True)]
        width = sum(max(map(len, column)) + 2 for column in zip([*header, said], *wide, strict=True))
        if any(of == method for of, _ in by) and width <= WIDTH - LEAST_ROOM:
            header, rows = [*header, said], wide
    return header, rows


def _cell(held: Estimated | None, digits: int) -> str:
    return "-" if held is None else numbers.measured(held.value, held.low, held.high, digits)


def _beats(below: Set[str], name: str, names: Sequence[str]) -> str:
    """Say whom a system is better than: by name, all but some, or all from one down, whichever is shortest."""
    if not below:
        return "-"
    others = [one for one in names if one != name]
    if len(below) == len(others):
        return "all others"
    ways = [" ".join(one for one in names if one in below)]
    ways.append(f"all but {' '.join(one for one in others if one not in below)}")
    first = next(one for one in names if one in below)
    if below == set(names[names.index(first) :]):
        ways.append(f"all from {first} down")
    return min(ways, key=len)
