"""Report whether the advice of papers, such as rating side by side, holds on a table of ratings.

Call `report` with a `BacktestPapers`, which returns a `Report`. An effect is a measure of the advised design less that
of its alternative, with a 95 % interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

from simlab.answers.backtest import AdviceName, AdviceTest, AdviceVerdict, BacktestPapers, Measure, TestName
from simlab.drawing.reports import references
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

ADVICE: Mapping[AdviceName, str] = {
    "grouping": "side by side",
    "load": "even loads",
    "normalization": "z-scores by rater",
    "documents": "documents before ratings",
    "metric": "a metric as control variate",
}
AGAINST: Mapping[AdviceName, str] = {
    "grouping": "one rater sees all systems' outputs of a document; not: each output goes to anybody",
    "load": "all raters do as much; not: loads of normalised entropy .8",
    "normalization": "scores are centred and scaled rater by rater; not: they are left as they are",
    "documents": "every output is rated once; not: half of the documents twice",
    "metric": "scores of a metric are mixed in, of rated documents and of others; not: people alone",
}
TESTS: Mapping[TestName, str] = {"published": "published test", "default": "default test"}
MEASURES: Mapping[Measure, str] = {"srp": "SRP", "significant_share": "pairs told apart"}
VERDICTS: tuple[AdviceVerdict, ...] = ("holds", "turned round", "not known here", "cannot be tried")
WORTH = 0.02
"""A larger SRP is qualified where the share of pairs that the advised design tells apart is smaller by more than this.
"""


def report(papers: BacktestPapers) -> Report:
    """Make the report of an answer of `simlab backtest --advice papers`."""
    sentences = tuple(_sentences(papers))
    tried = [record for record in papers.records if record.verdict != "cannot be tried"]
    return Report(
        "Backtest of what papers advise",
        "Does the advice of papers hold on this table?",
        sentences,
        tuple(_sections(papers)),
        figures=tuple(map(_key_figure, tried[:4])),
        held_fixed=(
            "the systems and the raters of the table (recorded)",
            f"the law that was fitted, {papers.law} (fitted)",
            "the number of ratings: both designs of a row ask for as many",
        ),
        reservations=tuple(_reservations(papers)),
        references=references.list_references(["Riley et al. 2024", "Chaganty et al. 2018", references.SIMLAB]),
        paragraph="Designs that papers advise were held against their alternatives on a table of ratings. "
        f"{' '.join(sentences)} Tested with simlab.",
    )


def _sentences(papers: BacktestPapers) -> Iterator[str]:
    """State the outcome of each advice, on the ratings and in fitted worlds, under both tests."""
    for name, title in ADVICE.items():
        own = [record for record in papers.records if record.advice == name]
        verdicts = {record.verdict for record in own}
        if verdicts == {"cannot be tried"}:
            yield f"{title.capitalize()}: cannot be tried on this table, because {_join_reasons(own)}."
        elif len(verdicts) == 1:
            yield f"{title.capitalize()}: {own[0].verdict}, wherever it was tried."
        else:
            parts = (f"{verdict} ({_name_sources(own, verdict)})" for verdict in VERDICTS if verdict in verdicts)
            yield f"{title.capitalize()}: {'; '.join(parts)}."
            if reasons := _join_reasons(own):
                yield f"({reasons.capitalize()}.)"


def _join_reasons(own: list[AdviceTest]) -> str:
    return "; ".join(dict.fromkeys(record.reason for record in own if record.reason))


def _name_sources(own: list[AdviceTest], verdict: AdviceVerdict) -> str:
    tests_by_source: dict[str, list[str]] = {}
    for record in own:
        if record.verdict == verdict:
            tests_by_source.setdefault(record.source, []).append(TESTS[record.test])
    return ", ".join(
        source if len(by) == len(TESTS) else f"{source} by the {by[0]}" for source, by in tests_by_source.items()
    )


def _key_figure(test: AdviceTest) -> Value:
    label = f"{MEASURES[test.measure]}: {ADVICE[test.advice]}, {test.source}, {TESTS[test.test]}"
    return Value(
        test.effect, standard_error=test.error, low=test.low, high=test.high, n=test.n, signed=True, label=label
    )


def _sections(papers: BacktestPapers) -> Iterator[Section]:
    tried = [record for record in papers.records if record.verdict != "cannot be tried"]
    by_test = {test: [record for record in tried if record.test == test] for test in TESTS}
    charts = tuple(_chart(test, own) for test, own in by_test.items() if own)
    yield Section("What becomes of each advice", charts)
    yield Section("What was found, and what it takes", (_table_of_claims(tried), _table_of_prices(tried)))
    yield Section("What this rests on", (Points(tuple(_words(tried))),))


def _name(test: AdviceTest) -> str:
    return f"{ADVICE[test.advice]}, {test.source}, {TESTS[test.test]}"


def _chart(test: TestName, tried: list[AdviceTest]) -> Chart:
    n_held = sum(record.verdict == "holds" for record in tried)
    measure = MEASURES[tried[0].measure]
    return Chart(
        "intervals",
        f"{_start_with_capital(measure)}, by the {TESTS[test]}",
        "advised less its alternative, 95 % interval",
        "advice",
        tuple(
            ChartPoint(
                record.effect,
                ADVICE[record.advice],
                record.low,
                record.high,
                record.source,
                standard_error=record.error,
                n=record.n,
            )
            for record in tried
        ),
        f"Effects of following each advice on {measure}: {n_held} of {len(tried)} 95 % intervals lie wholly above 0.",
        "studied on ratings, or in fitted worlds",
        target=0.0,
        table=_table(test, tried),
        interval="95 % interval",
    )


def _table(test: TestName, tried: list[AdviceTest]) -> ReportTable:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            ADVICE[record.advice],
            record.source,
            value_or_reason(record.advised, "-"),
            value_or_reason(record.other, "-"),
            Value(record.effect, standard_error=record.error, low=record.low, high=record.high, signed=True),
            record.n,
            record.verdict,
        )
        for record in tried
    )
    columns = ("advice", "source", "advised", "other", "effect", "n", "verdict")
    units = "± standard errors over n parts of the documents, or fitted worlds"
    return ReportTable(
        f"{_start_with_capital(MEASURES[tried[0].measure])} by the {TESTS[test]}, effects {units}", columns, rows
    )


def _start_with_capital(words: str) -> str:
    """Begin with a capital letter, and leave those of abbreviations."""
    return f"{words[0].upper()}{words[1:]}"


def _table_of_claims(tried: list[AdviceTest]) -> ReportTable:
    """Lay out what the published test finds; the default test is measured by nothing else."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (ADVICE[record.advice], record.source, Value(record.advised_found), Value(record.other_found))
        for record in tried
        if record.test == "published"
    )
    return ReportTable(
        "Shares of pairs told apart by the published test", ("advice", "source", "advised", "other"), rows
    )


def _table_of_prices(tried: list[AdviceTest]) -> ReportTable:
    """Lay out what a study asks for, which is the same under both tests."""
    each = {(record.advice, record.source): record for record in tried}
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            ADVICE[record.advice],
            record.source,
            record.documents,
            record.other_documents,
            record.repetition,
            record.answers,
            value_or_reason(round(record.hours, 1), "the table has no times"),
        )
        for record in each.values()
    )
    columns = ("advice", "source", "documents", "other", "repeated with", "ratings", "hours")
    priced = [record.money for record in each.values()]
    if not any(map(isfinite, priced)):
        caption = "A study of either design: as many ratings, so times your price (--price X) the same money"
        return ReportTable(caption, columns, rows)
    rows = tuple((*row, value_or_reason(money, "-")) for row, money in zip(rows, priced, strict=True))
    return ReportTable("A study of either design: as many ratings, so the same money", (*columns, "money"), rows)


def _words(tried: list[AdviceTest]) -> Iterator[str]:
    for name in dict.fromkeys(record.advice for record in tried):
        yield f"{ADVICE[name].capitalize()}: {AGAINST[name]}."
    yield (
        "The published test is a permutation test of each pair at .05, and what is measured is the papers' SRP: how "
        "often all claims of a study are repeated. The default test (moderated variances, max-T) errs in any of its "
        "claims with probability .05 at most; what is measured is the share of pairs that it tells apart."
    )
    yield (
        "Recorded: the documents of the table are cut into parts, both designs are studied on each by re-revealing its "
        "ratings, and errors are over parts. Fitted: worlds like the table, in studies of its whole size; errors are "
        "those of the fit."
    )
    yield "Holds, turned round: the 95 % interval of the effect lies above, or below, 0. Else it is not known here."


def _reservations(papers: BacktestPapers) -> Iterator[str]:
    tried = [record for record in papers.records if record.verdict != "cannot be tried"]
    for record in tried:
        if record.measure == "srp" and record.verdict == "holds" and record.other_found - record.advised_found > WORTH:
            less = tables.number(record.other_found - record.advised_found, 2)
            yield f"{_name(record).capitalize()}: more is repeated, but {less} fewer of the pairs are told apart."
    if papers.records and (sizes := {record.documents for record in tried if record.source == "recorded"}):
        yield f"Recorded studies have {pluralise(min(sizes), 'document')} or so: larger ones may tell another story."
    if len(tried) > 1:
        yield (
            f"Each of {len(tried)} intervals is at 95 % by itself, not all together. Advice without effect is said to "
            "hold in .05 of tables at most: simulated on ratings, for grouping and loads by the published test, for a "
            "metric by the default test."
        )
