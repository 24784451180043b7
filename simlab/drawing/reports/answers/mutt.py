"""Report which corruptions metrics notice, or how far they agree, from what `simlab mutt --save` kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import mutt_agreement, reading
from simlab.drawing.reports.answers.reading import MAYBE, TEXT, WHOLE, Row, value
from simlab.drawing.reports.terms import Block, Chart, Mark, Points, Report, Section, Table, Value
from simlab.drawing.text import pass_rates, tables
from simlab.messages import several

COUNTS = ("passed", "n", "zero_passes", "near_ties", "unscored")
FIELDS = {
    **dict.fromkeys(("corruption", "metric"), TEXT),
    "kind": reading.one_of(("altering", "disrupting", "preserving")),
    **dict.fromkeys(("references", *COUNTS), WHOLE),
    **dict.fromkeys(("pass_rate", "low", "high"), MAYBE),
}
TOLERANCE = 0.15
UNSCORED = "no trial has two finite scores"
MOST_SENTENCES, MOST_LINES, MOST_CHARTS = 8, 8, 12
FEW = 30
"""From fewer trials an interval of a rate is so wide that metrics can hardly be told apart."""
COUNTED = {
    "zero_passes": "Passes in which both scores are 0",
    "near_ties": "Verdicts that hang on a near tie",
    "unscored": "Trials without two finite scores",
}


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab mutt`; raise InputError for what is none."""
    held = saved.get("answer")
    if isinstance(held, list) and held and isinstance(held[0], dict) and "agreement" in held[0]:
        return mutt_agreement.report(saved)
    rows = reading.filled(held, "answer", FIELDS)
    told = tuple(_sentences(rows))
    return Report(
        "Unit tests of metrics",
        "Which corruptions of a sentence do metrics notice?",
        told,
        tuple(_sections(rows)),
        dict(saved),
        tuple(_large(rows)),
        held_fixed=(_rule(saved), "the trials and their references"),
        reservations=tuple(_reservations(rows)),
        reproduce=(reading.command(saved),),
        references=references.cited(["Boag et al. 2016", "Clopper and Pearson 1934", references.SIMLAB]),
        paragraph=_paragraph(saved, rows, told),
        provenance=reading.provenance(saved),
    )


def _rule(saved: Mapping[str, Any]) -> str:
    tolerance, near = (reading.amount(saved, *one) for one in (("--tolerance", TOLERANCE), ("--near-tie", 0.0)))
    return f"what passes: {pass_rates.rule(tolerance, near)}"


def _sentences(rows: Sequence[Row]) -> Iterator[str]:
    """Say of each metric, with as many references as there are, what it passes least and most."""
    shown = [row for row in _most_references(rows) if row["pass_rate"] is not None]
    metrics = list(dict.fromkeys(row["metric"] for row in shown))
    if not shown:
        yield "No metric has scores of any trial."
        return
    of = f" with {several(shown[0]['references'], 'reference')}" if len({row["references"] for row in rows}) > 1 else ""
    kinds = len({row["corruption"] for row in rows})
    counted = f"{several(len(metrics), 'metric')} and {several(kinds, 'corruption')}{of}"
    yield f"{counted}; pass rates with exact 95 % intervals."
    for metric in metrics[:MOST_SENTENCES]:
        yield _of_metric(metric, [row for row in shown if row["metric"] == metric])
    if len(metrics) > MOST_SENTENCES:
        yield f"{several(len(metrics) - MOST_SENTENCES, 'further metric')}: in the table."


def _of_metric(metric: str, rows: Sequence[Row]) -> str:
    least, most = (pick(rows, key=lambda row: float(row["pass_rate"])) for pick in (min, max))
    if least["pass_rate"] == most["pass_rate"]:
        same = "every corruption" if len(rows) > 1 else least["corruption"]
        return f"{metric} passes {same} at a rate of {_rate(least)}."
    return (
        f"{metric} passes {least['corruption']} ({least['kind']}) least, {_rate(least)}, and {most['corruption']} "
        f"({most['kind']}) most, {_rate(most)}."
    )


def _rate(row: Row) -> str:
    return f"{tables.number(row['pass_rate'], 3)} ({_interval(row)}; {row['passed']} of {row['n']})"


def _interval(row: Row) -> str:
    return " to ".join(tables.number(row[name], 3) for name in ("low", "high") if row[name] is not None)


def _most_references(rows: Sequence[Row]) -> list[Row]:
    most = max(row["references"] for row in rows)
    return [row for row in rows if row["references"] == most]


def _value(row: Row, label: str = "") -> Value:
    return value(row["pass_rate"], UNSCORED, low=row["low"], high=row["high"], n=row["n"], label=label)


def _large(rows: Sequence[Row]) -> list[Value]:
    """Return the least and the largest pass rate of all."""
    known = [row for row in _most_references(rows) if row["pass_rate"] is not None]
    ends = ((pick(known, key=lambda row: float(row["pass_rate"])), word) for pick, word in _ENDS) if known else ()
    return [_value(row, f"{word}: {row['metric']} on {row['corruption']}") for row, word in ends]


_ENDS = ((min, "least pass rate"), (max, "largest pass rate"))


def _sections(rows: Sequence[Row]) -> list[Section]:
    charts: list[Block] = list(_charts(_most_references(rows)))
    left = sum(1 for _ in _groups(_most_references(rows))) - len(charts)
    more = [Points((f"{several(left, 'further figure')} would be of the other corruptions; the table has all.",))]
    drawn = [Section("Pass rates", (*charts, *(more if left > 0 and charts else [])))] if charts else []
    return [*drawn, Section("All pass rates", (_table(rows), *_counted(rows)), folded=bool(charts))]


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    """Draw corruptions of a kind, a colour a metric; where there are too many metrics, those of a corruption."""
    of = several(rows[0]["references"], "reference")
    for title, group in list(_groups(rows))[:MOST_CHARTS]:
        shown = [row for row in group if row["pass_rate"] is not None]
        if shown:
            yield _chart(title, shown, of, by_metric=len({row["metric"] for row in rows}) > MOST_LINES)


def _groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    many = len({row["metric"] for row in rows}) > MOST_LINES
    groups: dict[str, list[Row]] = {}
    for row in rows:
        title = f"{row['corruption']} ({row['kind']})" if many else f"{row['kind']} corruptions"
        groups.setdefault(title, []).append(row)
    yield from groups.items()


def _chart(title: str, rows: Sequence[Row], of: str, *, by_metric: bool) -> Chart:
    up, line = ("metric", "corruption") if by_metric else ("corruption", "metric")
    lines = len({row[line] for row in rows}) > 1
    marks = tuple(
        Mark(row["pass_rate"], row[up], row["low"], row["high"], row[line] if lines else "", n=row["n"]) for row in rows
    )
    least, most = (pick(rows, key=lambda row: float(row["pass_rate"])) for pick in (min, max))
    alt = f"From {_rate(least)}, {least['metric']} on {least['corruption']}, to {_rate(most)}, {most['metric']}."
    question = f"How often do metrics pass {title}, {of}?"
    return Chart(
        "intervals",
        question,
        "pass rate, 95 % interval",
        up,
        marks,
        alt,
        line if lines else "",
        None,
        (0, 1),
        interval="95 % interval",
    )


def _table(rows: Sequence[Row]) -> Table:
    counts = sorted({row["references"] for row in rows})
    by_row: dict[tuple[str, str, str], dict[int, Row]] = {}
    for row in rows:
        by_row.setdefault((row["corruption"], row["kind"], row["metric"]), {})[row["references"]] = row
    body = tuple(
        (*names, *(_value(held[n]) if n in held else None for n in counts), _span([one["n"] for one in held.values()]))
        for names, held in by_row.items()
    )
    columns = ("corruption", "kind", "metric", *(several(n, "reference") for n in counts), "n")
    return Table("Pass rates with exact 95 % binomial intervals; n = trials with two finite scores", columns, body)


def _span(counts: Sequence[int]) -> str | int:
    return counts[0] if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"


def _counted(rows: Sequence[Row]) -> list[Points]:
    """Say what is counted beside the rates, metric by metric."""
    lines = tuple(_noted(rows))
    return [Points(lines)] if lines else []


def _noted(rows: Sequence[Row]) -> Iterator[str]:
    for name, title in COUNTED.items():
        totals: dict[str, int] = {}
        for row in rows:
            totals[row["metric"]] = totals.get(row["metric"], 0) + row[name]
        if noted := [f"{total:,} of {metric}" for metric, total in totals.items() if total]:
            yield f"{title}: {', '.join(noted)}."


def _reservations(rows: Sequence[Row]) -> Iterator[str]:
    few = sorted({row["n"] for row in rows if row["n"] < FEW})
    if few:
        n = len({row["corruption"] for row in rows if row["n"] < FEW})
        of = f"{n} of {several(len({row['corruption'] for row in rows}), 'corruption')}"
        yield f"Fewer than {FEW} trials ({_span(few)}) have scores in {of}: intervals of their rates are wide."
    yield from _noted(rows)


def _paragraph(saved: Mapping[str, Any], rows: Sequence[Row], told: Sequence[str]) -> str:
    rule = pass_rates.rule(reading.amount(saved, "--tolerance", TOLERANCE), reading.amount(saved, "--near-tie", 0.0))
    trials = sum(
        max(one["n"] for one in rows if one["corruption"] == name) for name in {one["corruption"] for one in rows}
    )
    head = f"Metrics were tested on {several(trials, 'corrupted sentence')} (Boag et al. 2016; {rule.rstrip('.')})."
    return f"{head} {' '.join(told)} Tested with simlab."
