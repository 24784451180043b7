"""Report how far predictions from a pilot came true, on documents of the same table.

Call `report` with the answer of `simlab backtest`, which returns a `Report` of text, tables and charts. A prediction is
of a measure of a design, by a method (such as a world fitted to the pilot), with a 90 % interval, beside the result of
studies on the real ratings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from simlab.answers.backtest import (
    Backtest,
    BacktestAdvice,
    BacktestPapers,
    Measure,
    Method,
    Prediction,
    PredictionErrors,
    Target,
)
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import backtest_advice, backtest_papers
from simlab.drawing.reports.terms import (
    Cell,
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
from simlab.messages import pluralise

METHODS: Mapping[Method, str] = {
    "fit": "A world fitted to the pilot",
    "own": "A world fitted to these documents",
    "naive": "Gaussian noise without raters",
}
TARGETS: Mapping[Target, str] = {"held_out": "documents held out", "all": "all documents"}
MEASURES: Mapping[Measure, str] = {
    "srp": "SRP",
    "confirmed": "confirmed",
    "significant_share": "significant",
    "power": "power",
    "kendall": "Kendall's tau",
}
SHARES = ("srp", "confirmed", "significant_share", "power")
"""Measures that lie between 0 and 1."""
LOW = 0.8
"""Intervals of 90 % that hold less often are called too narrow for this table."""


def report(answer: Backtest | BacktestAdvice | BacktestPapers) -> Report:
    """Make the report of an answer of `simlab backtest`; one of its --advice goes to the module of its record."""
    if isinstance(answer, BacktestPapers):
        return backtest_papers.report(answer)
    if isinstance(answer, BacktestAdvice):
        return backtest_advice.report(answer)
    sentences = tuple(_sentences(answer))
    return Report(
        "Backtest of predictions",
        "How far can predictions from a pilot of this table be trusted?",
        sentences,
        tuple(_sections(answer)),
        figures=tuple(_key_figures(answer)),
        held_fixed=(
            f"the table ({_size_of_table(answer)}): its cells share ratings, and their errors are not independent",
            f"the law ({answer.law})",
        ),
        reservations=tuple(_reservations(answer)),
        references=references.list_references(["Riley et al. 2024", references.SIMLAB]),
        paragraph=f"Predictions of study outcomes (law {answer.law}) were tested on a table of real ratings "
        f"({_size_of_table(answer)}). {' '.join(sentences)} Tested with simlab.",
    )


def _errors_of_fits(backtest: Backtest) -> list[PredictionErrors]:
    return [row for row in backtest.summary if row.method == "fit"]


def _main_errors(backtest: Backtest) -> list[PredictionErrors]:
    """Return errors of each measure on documents that the pilot had not seen, if any, with the fewest ratings."""
    fits = sorted(_errors_of_fits(backtest), key=lambda row: (row.target != "held_out", row.ratings_per_item))
    return list({row.measure: row for row in reversed(fits)}.values())[::-1]


def _find_error_with_method(row: PredictionErrors, backtest: Backtest, method: Method) -> float:
    """Return the mean absolute error of another method on the same studies."""
    same = {"measure": row.measure, "target": row.target, "ratings_per_item": row.ratings_per_item, "method": method}
    return next((entry.mae for entry in backtest.summary if same.items() <= dict(entry).items()), float("nan"))


def _sentences(backtest: Backtest) -> Iterator[str]:
    if rows := _main_errors(backtest):
        errors = ", ".join(
            f"{tables.number(row.mae, 3)} ({MEASURES[row.measure]}; {round(row.coverage * row.n)} of {row.n})"
            for row in rows
        )
        yield (
            f"Predictions of studies on {TARGETS[rows[0].target]} are off by {errors} on average; in brackets, how "
            "many 90 % intervals held what was observed."
        )
        naive = [_find_error_with_method(row, backtest, "naive") for row in rows]
        if any(map(isfinite, naive)):
            yield f"{METHODS['naive']} is off by {', '.join(tables.number(error, 3) for error in naive)}."
    else:
        yield "Nothing could be compared with real studies."
    yield (
        f"Predictions are of a world fitted to a part of the documents, over "
        f"{pluralise(backtest.splits, 'random split')}; studies were carried out on the real ratings."
    )


def _key_figures(backtest: Backtest) -> Iterator[Value]:
    for row in _main_errors(backtest):
        label = f"{MEASURES[row.measure]}: mean absolute error, {TARGETS[row.target]}"
        yield Value(round(row.mae, 3), n=row.n, label=label)


def _sections(backtest: Backtest) -> Iterator[Section]:
    table = _table_of_errors(backtest)
    if table.rows:
        charts = (_chart(measure, backtest.averages, table) for measure in MEASURES)
        yield Section("How far predictions were off", (*filter(None, charts), table))
    for target, name in TARGETS.items():
        if (designs := _table_of_designs(backtest, target)).rows:
            yield Section(f"Every design on {name}", (designs,), folded=True)
    yield Section("What this rests on", (Points(tuple(_words(backtest))),))


def _chart(measure: Measure, averages: Sequence[Prediction], table: ReportTable) -> Chart | None:
    """Draw what was predicted of a measure against what was observed, design by design."""
    drawn = [
        prediction
        for prediction in averages
        if prediction.measure == measure and prediction.method != "own" and prediction.judged
    ]
    fits = [prediction for prediction in drawn if prediction.method == "fit"]
    if not fits:
        return None
    off = sum(abs(prediction.predicted - prediction.observed) for prediction in fits) / len(fits)
    return Chart(
        "scatter",
        f"{MEASURES[measure]}: predicted and observed",
        "observed in real studies",
        "predicted, 90 % interval",
        tuple(map(_mark, sorted(drawn, key=_line))),
        f"{MEASURES[measure]} of {pluralise(len(fits), 'design')}, predicted and observed: on average they differ by "
        f"{tables.number(off, 3)}.",
        bounds=(0.0, 1.0) if measure in SHARES else (-1.0, 1.0),
        table=table,
        interval="90 % interval",
        equal=True,
    )


def _line(prediction: Prediction) -> tuple[int, int]:
    return list(METHODS).index(prediction.method), list(TARGETS).index(prediction.target)


def _mark(prediction: Prediction) -> ChartPoint:
    note = f"{prediction.grouping}, {prediction.documents} x {prediction.ratings_per_item}, {prediction.normalization}"
    if prediction.method == "naive":
        return ChartPoint(prediction.observed, prediction.predicted, line=METHODS["naive"], note=note)
    return ChartPoint(
        prediction.observed, prediction.predicted, *_interval(prediction), line=TARGETS[prediction.target], note=note
    )


def _interval(prediction: Prediction) -> tuple[float | None, float | None]:
    return (prediction.low, prediction.high) if isfinite(prediction.low) and isfinite(prediction.high) else (None, None)


def _number(value: float, reason: str = "not known") -> Value:
    """Format a number with three decimals, more of which tell nothing, or why there is none."""
    return value_or_reason(round(value, 3), reason)


def _table_of_errors(backtest: Backtest) -> ReportTable:
    """Lay out how far measures were off, fitted worlds beside other methods."""
    others = [method for method in METHODS if method != "fit" and any(row.method == method for row in backtest.summary)]
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            MEASURES[row.measure],
            TARGETS[row.target],
            row.ratings_per_item,
            *(_number(value) for value in (row.mae, row.bias, row.coverage, row.width)),
            row.n,
            *(_number(_find_error_with_method(row, backtest, method)) for method in others),
        )
        for row in _errors_of_fits(backtest)
    )
    columns = ("measure", "studies on", "ratings", "mean abs. error", "bias", "90 % cover", "width", "n", *others)
    return ReportTable("Mean absolute errors; those of other methods in the last columns", columns, rows)


def _table_of_designs(backtest: Backtest, target: Target) -> ReportTable:
    """Lay out what fitted worlds predicted of each design, and what was observed."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            MEASURES[prediction.measure],
            prediction.grouping,
            prediction.normalization,
            prediction.documents,
            prediction.ratings_per_item,
            _predicted_value(prediction),
            _number(prediction.observed, prediction.unknown),
        )
        for prediction in backtest.averages
        if prediction.method == "fit" and prediction.target == target
    )
    columns = ("measure", "grouping", "normalization", "documents", "ratings", "predicted", "observed")
    return ReportTable("Averages over splits; predictions with 90 % intervals", columns, rows)


def _predicted_value(prediction: Prediction) -> Value:
    return value_or_reason(prediction.predicted, "not known", low=prediction.low, high=prediction.high)


def _words(backtest: Backtest) -> Iterator[str]:
    yield (
        "Intervals are over worlds, without the noise of simulated studies; to be compared with what was observed "
        "they are widened by its error."
    )
    if any(prediction.target == "held_out" for prediction in backtest.averages):
        yield "Documents held out are those that the pilot did not see."
    for name in dict.fromkeys(prediction.method for prediction in backtest.averages if prediction.method != "fit"):
        yield f"{METHODS[name]}: its mean absolute errors stand in the column {name}."


def _size_of_table(backtest: Backtest) -> str:
    read = backtest.read
    counts = {"answer": read.used, "system": read.systems, "document": read.documents, "item": read.items}
    counts["rater"] = read.raters
    return ", ".join(pluralise(n, word) for word, n in counts.items() if n is not None)


def _reservations(backtest: Backtest) -> Iterator[str]:
    """State where predictions erred beyond their intervals, and what could not be judged."""
    for row in _errors_of_fits(backtest):
        if row.coverage < LOW:
            yield (
                f"{MEASURES[row.measure]} on {TARGETS[row.target]}, {pluralise(row.ratings_per_item, 'rating')} of "
                f"each output: only {tables.number(row.coverage, 2)} of {pluralise(row.n, '90 % interval')} held what "
                f"was observed (bias {tables.number(row.bias, 3)})."
            )
    for why, measure in {
        prediction.unknown: prediction.measure for prediction in backtest.averages if prediction.unknown
    }.items():
        yield f"{MEASURES[measure]} is predicted only: {why}."
    if backtest.splits == 1:
        yield "One split: another one would give other numbers; --splits 4 says how far."
    if any(prediction.repetition == "other documents" for prediction in backtest.averages):
        yield "Where nobody else rated an output, a study is compared with studies of other documents of the table."
