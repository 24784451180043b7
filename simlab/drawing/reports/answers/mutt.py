"""Report the pass rates of metrics in unit tests: how often each scores a corrupted sentence as it should.

Call `report` with the answer of `simlab mutt`, which returns a `Report`. A row (`PassRate`) is the share of the trials
of a corruption that a metric passes with so many references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, nan

from simlab.answers.mutt import MetricAgreement, PassRate, PassRates
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import mutt_agreement
from simlab.drawing.reports.terms import (
    Block,
    Chart,
    ChartPoint,
    Points,
    Report,
    ReportTable,
    Section,
    Value,
    value_or_reason,
)
from simlab.drawing.text import tables
from simlab.messages import join_words, pluralise

UNSCORED = "no trial has two finite scores"
MOST_SENTENCES, MOST_LINES, MOST_CHARTS = 8, 8, 12
"""Metrics with a sentence each, metrics in a chart, and charts."""
FEW = 30
"""From fewer trials an interval of a rate is so wide that metrics can hardly be told apart."""
COUNTED = {
    "zero_passes": "Passes in which both scores are 0",
    "near_ties": "Verdicts that hang on a near tie",
    "unscored": "Trials without two finite scores",
}
"""What is counted beside the rates."""


def report(answer: PassRates | MetricAgreement) -> Report:
    """Make the report of an answer of `simlab mutt`."""
    if isinstance(answer, MetricAgreement):
        return mutt_agreement.report(answer)
    rows = answer.rows
    sentences, rule = tuple(_sentences(rows)), _rule(rows[0])
    return Report(
        "Unit tests of metrics",
        "Which corruptions of a sentence do metrics notice?",
        sentences,
        (Section("Pass rates", tuple(_blocks(rows))),),
        figures=tuple(_key_figures(rows)),
        held_fixed=(rule, "the trials and their references"),
        reservations=tuple(_reservations(rows)),
        references=references.list_references(["Boag et al. 2016", "Clopper and Pearson 1934", references.SIMLAB]),
        paragraph=f"Metrics were tested on corrupted sentences (Boag et al. 2016), with this rule: {rule}. "
        f"{' '.join(sentences)} Tested with simlab.",
    )


def _rule(row: PassRate) -> str:
    """State when a metric passes a trial."""
    ties = f"; differences up to {row.near_tie:.4g} of a score are ties" if row.near_tie else ""
    return (
        "a metric passes where the original scores better (altering, disrupting) or the scores differ by at most "
        f"{100 * row.tolerance:.4g} % of the original's (preserving){ties}"
    )


def _names(rows: Sequence[PassRate], name: str) -> list[str]:
    return list(dict.fromkeys(getattr(row, name) for row in rows))


def _most_references(rows: Sequence[PassRate]) -> list[PassRate]:
    most = max(row.references for row in rows)
    return [row for row in rows if row.references == most]


def _is_known(row: PassRate) -> bool:
    return row.n > 0 and isfinite(row.pass_rate)


def _select_known_rates(rows: Sequence[PassRate]) -> list[PassRate]:
    """Return the rates that are known with as many references as there are, the least first."""
    return sorted((row for row in _most_references(rows) if _is_known(row)), key=lambda row: row.pass_rate)


def _sentences(rows: Sequence[PassRate]) -> Iterator[str]:
    """State which metrics pass most trials, and what each of them passes least and most often."""
    known = _select_known_rates(rows)
    if not known:
        yield "No metric has scores of any trial."
        return
    of_metric = {
        name: [row for row in known if row.metric == name] for name in _names(_most_references(rows), "metric")
    }
    of_metric = {name: own for name, own in of_metric.items() if own}
    passed = {name: (sum(row.passed for row in own), sum(row.n for row in own)) for name, own in of_metric.items()}
    best = max(passed.values(), key=lambda counts: (counts[0] / counts[1], counts[1]))
    first = [name for name, counts in passed.items() if counts == best]
    references = pluralise(known[0].references, "reference")
    of = f"{pluralise(len(_names(known, 'corruption')), 'corruption')}, with {references}"
    most = f" most of {pluralise(len(passed), 'metric')}:" if len(first) < len(passed) else ""
    verb = "passes" if len(first) == 1 else "pass"
    yield f"{join_words(first)} {verb}{most} {best[0]:,} of {pluralise(best[1], 'trial')} of {of}."
    for name, own in list(of_metric.items())[:MOST_SENTENCES]:
        yield _describe_extremes(name, own)
    if len(of_metric) > MOST_SENTENCES:
        yield f"{pluralise(len(of_metric) - MOST_SENTENCES, 'further metric')}: in the table."


def _describe_extremes(metric: str, rows: Sequence[PassRate]) -> str:
    """State from where to where the rates of a metric go; `rows` are in the order of their rates."""
    least, most = rows[0], rows[-1]
    if least.pass_rate == most.pass_rate:
        same = "every corruption" if len(rows) > 1 else least.corruption
        return f"{metric} passes {same} at a rate of {_rate(least)}."
    return (
        f"{metric} passes from {_rate(least)} of {least.corruption} ({least.kind}) to {_rate(most)} of "
        f"{most.corruption} ({most.kind})."
    )


def _rate(row: PassRate) -> str:
    rate, low, high = (tables.number(share, 2) for share in (row.pass_rate, row.low, row.high))
    return f"{rate} ({low} to {high}; {row.passed} of {row.n})"


def _value(row: PassRate, label: str = "") -> Value:
    return value_or_reason(row.pass_rate if row.n else nan, UNSCORED, low=row.low, high=row.high, n=row.n, label=label)


def _key_figures(rows: Sequence[PassRate]) -> Iterator[Value]:
    """Yield the least and the largest pass rate of all."""
    known = _select_known_rates(rows)
    for row, word in zip((known[:1] + known[-1:]), ("least", "largest"), strict=False):
        yield _value(row, f"{word} pass rate: {row.metric} on {row.corruption}")


def _blocks(rows: Sequence[PassRate]) -> Iterator[Block]:
    """Yield charts with the table of all rates behind them; where nothing can be drawn, this table."""
    table, groups = _table(rows), _groups([row for row in _most_references(rows) if _is_known(row)])
    if not groups:
        yield table
    for title, group in list(groups.items())[:MOST_CHARTS]:
        yield _chart(title, group, table)
    if len(groups) > MOST_CHARTS:
        yield Points(
            (f"{pluralise(len(groups) - MOST_CHARTS, 'further figure')} are left out; the table has all rates.",)
        )
    yield Points((f"{table.caption}.",))


def _groups(rows: Sequence[PassRate]) -> dict[str, list[PassRate]]:
    """Return the rates of each chart by its title: a chart for each kind, or with many metrics for each corruption."""
    many = len(_names(rows, "metric")) > MOST_LINES
    groups: dict[str, list[PassRate]] = {}
    for row in sorted(rows, key=lambda row: row.kind):
        title = f"{row.corruption} ({row.kind})" if many else f"{row.kind} corruptions"
        groups.setdefault(title, []).append(row)
    return groups


def _chart(title: str, rows: Sequence[PassRate], table: ReportTable) -> Chart:
    up, line = ("corruption", "metric") if title.endswith("corruptions") else ("metric", "corruption")
    lines = len(_names(rows, line)) > 1
    values = [_value(row) for row in rows]
    marks = tuple(
        ChartPoint(row.pass_rate, getattr(row, up), value.low, value.high, getattr(row, line) if lines else "", n=row.n)
        for row, value in zip(rows, values, strict=True)
    )
    least, most = (pick(rows, key=lambda row: row.pass_rate) for pick in (min, max))
    alt = f"From {_rate(least)}, {least.metric} on {least.corruption}, to {_rate(most)}, {most.metric}."
    question = f"How often do metrics pass {title}?"
    axis = f"pass rate with {pluralise(rows[0].references, 'reference')}, 95 % interval"
    return Chart(
        "intervals",
        question,
        axis,
        up,
        marks,
        alt,
        line if lines else "",
        bounds=(0, 1),
        table=table,
        interval="95 % interval",
    )


def _table(rows: Sequence[PassRate]) -> ReportTable:
    counts = sorted({row.references for row in rows})
    by_row: dict[tuple[str, str, str], dict[int, PassRate]] = {}
    for row in rows:
        by_row.setdefault((row.corruption, row.kind, row.metric), {})[row.references] = row
    body = tuple(
        (
            *names,
            *(_value(rates[n]) if n in rates else None for n in counts),
            _span([rate.n for rate in rates.values()]),
        )
        for names, rates in by_row.items()
    )
    columns = ("corruption", "kind", "metric", *(pluralise(n, "reference") for n in counts), "n")
    return ReportTable(
        "Pass rates with exact 95 % binomial intervals; n = trials with two finite scores", columns, body
    )


def _span(counts: Sequence[int]) -> str | int:
    return counts[0] if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _reservations(rows: Sequence[PassRate]) -> Iterator[str]:
    """State where there are few trials, and what is counted beside the rates, metric by metric."""
    few = [row for row in rows if row.n < FEW]
    if few:
        of = f"{len(_names(few, 'corruption'))} of {pluralise(len(_names(rows, 'corruption')), 'corruption')}"
        counts = _span([row.n for row in few])
        yield f"Fewer than {FEW} trials ({counts}) have scores in {of}: intervals of their rates are wide."
    for name, title in COUNTED.items():
        totals = dict.fromkeys(_names(rows, "metric"), 0)
        for row in rows:
            totals[row.metric] += getattr(row, name)
        if noted := [f"{total:,} of {metric}" for metric, total in totals.items() if total]:
            yield f"{title}: {', '.join(noted)} (column {name} of --format csv)."
