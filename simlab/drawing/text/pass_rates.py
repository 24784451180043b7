"""Write which corruptions metrics notice, and which metrics gave no scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Record

if TYPE_CHECKING:
    from simlab.mutt.scoring import ScorePairs


def failures(pairs: Sequence[ScorePairs]) -> Iterator[str]:
    """Say which metrics gave no scores, for what, and why; and how many scores are not finite."""
    failed: dict[tuple[str, str], list[str]] = {}
    for held in pairs:
        if held.failure:
            case = f"{held.trials.corruption} with {held.trials.n_references} references"
            failed.setdefault((held.metric, held.failure), []).append(case)
    for (metric, reason), cases in failed.items():
        more = f" and {len(cases) - 3} more" if len(cases) > 3 else ""
        yield f"{metric} has no scores of {', '.join(cases[:3])}{more}: {reason}"
    for metric in dict.fromkeys(held.metric for held in pairs):
        own = [held.scored for held in pairs if held.metric == metric and not held.failure]
        if missing := sum(int((~scored).sum()) for scored in own):
            yield (
                f"{metric}: {missing} of {sum(map(len, own))} pairs of scores are not finite; they are not in n but "
                "counted as unscored"
            )


def table(rows: Sequence[Record], tolerance: float, near_tie: float = 0.0) -> str:
    """Write a row per corruption and metric, a column per number of references, and what the rates are."""
    counts = sorted({row["references"] for row in rows})
    by_row: dict[tuple[str, str, str], dict[int, Record]] = {}
    for row in rows:
        by_row.setdefault((row["corruption"], row["kind"], row["metric"]), {})[row["references"]] = row
    header = ["corruption", "kind", "metric", *(tables.counted([n], "reference") for n in counts), "n"]
    cells = [
        [*names, *(_cell(held.get(n)) for n in counts), _span([row["n"] for row in held.values()])]
        for names, held in by_row.items()
    ]
    notes = [
        "Pass rates with exact 95 % binomial intervals; n = trials with two finite scores.",
        rule(tolerance, near_tie),
        *_noted(rows, "zero_passes", "Passes in which both scores are 0"),
        *_noted(rows, "near_ties", "Verdicts that hang on a near tie"),
        *_noted(rows, "unscored", "Trials without two finite scores"),
    ]
    return "\n".join([tables.aligned(header, cells, left=3), "", *notes])


def rule(tolerance: float, near_tie: float = 0.0) -> str:
    """Say when a metric passes a trial."""
    said = (
        "altering, disrupting: the original scores better; preserving: the scores differ by at most "
        f"{100 * tolerance:.4g} % of the original's."
    )
    return f"{said} Differences up to {near_tie:.4g} of a score are ties." if near_tie else said


def _cell(row: Record | None) -> str:
    if row is None or not row["n"]:
        return "-"
    return f"{_share(row['pass_rate'])} ({_share(row['low'])} to {_share(row['high'])})"


def _share(value: float) -> str:
    return f"{value:.0f}" if value in (0, 1) else tables.number(value, 3)


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _noted(rows: Sequence[Record], count: str, title: str) -> Iterator[str]:
    """Write a line on what is counted beside the rates, where there is any: how many over all cells of a metric."""
    totals: dict[str, int] = {}
    for row in rows:
        totals[row["metric"]] = totals.get(row["metric"], 0) + row[count]
    noted = [f"{total} of {metric}" for metric, total in totals.items() if total]
    if noted:
        yield f"{title}: {', '.join(noted)} ({count} in --format csv says where)."
