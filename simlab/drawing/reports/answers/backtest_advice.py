"""Report whether the designs that pilots named were the right ones, beside rules of thumb and the best afterwards.

Call `report` with a `BacktestAdvice`, which returns a `Report`. Each random split of a table has documents of a pilot,
which names a design, and others on which designs are judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite

from simlab.answers.backtest import ADVICE, BacktestAdvice, DesignShape, RuleName, RuleResult
from simlab.drawing.reports import references
from simlab.drawing.reports.terms import Cell, Chart, ChartPoint, Points, Report, ReportTable, Section, Value
from simlab.drawing.text import tables
from simlab.messages import pluralise

RULES: Mapping[RuleName, str] = {
    "advice": "advice",
    "all once": "all documents once",
    "half twice": "half of them twice",
    "ungrouped": "ungrouped",
    "best": "best, afterwards",
}
ONE_SPLIT = "one split has no error"
"""Reason why a mean has no error."""


def report(advice: BacktestAdvice) -> Report:
    """Make the report of an answer of `simlab backtest --advice`."""
    sentences = tuple(_sentences(advice))
    return Report(
        "Backtest of advice",
        "Is the design that a pilot names the right one for other documents?",
        sentences,
        tuple(_sections(advice)),
        figures=(
            _value(
                advice.advice.shortfall, advice.advice.shortfall_mcse, "fewer of the pairs told apart than by the best"
            ),
            _value(
                advice.advice.significant_share,
                advice.advice.significant_share_mcse,
                "of the pairs told apart by the design named",
            ),
        ),
        held_fixed=(
            f"the table, which all splits share, and the law ({advice.law})",
            "the cost: all candidates ask for as many ratings",
        ),
        reservations=tuple(_reservations(advice)),
        references=references.list_references(["Riley et al. 2024", references.SIMLAB]),
        paragraph="Designs were named from part of a table of ratings, and judged on the rest. "
        f"{' '.join(sentences)} Errors are over splits. Tested with simlab.",
    )


def _sentences(backtest: BacktestAdvice) -> Iterator[str]:
    """State how far the design that was named falls short of the best, and how rules of thumb do."""
    advice, splits = backtest.advice, pluralise(backtest.advice.splits, "split")
    n_designs = len({(entry.shape, entry.repetition) for entry in backtest.records})
    documents = "" if backtest.read.documents is None else f" of {backtest.read.documents:,}"
    yield (
        f"Named from {backtest.pilot_documents:,}{documents} documents, the design tells "
        f"{tables.format_with_error(advice.shortfall, advice.shortfall_mcse, 3)} fewer of the pairs apart than the "
        f"best of {pluralise(n_designs, 'design')} of equal cost does on the others (mean over {splits})."
    )
    yield f"In {advice.kept} of {splits} .9 or more of its claims were confirmed."
    for design, times in advice.named[:1]:
        yield f"Named most often: {design_name(design)} ({times} of {splits})."
    others = [rule for rule in backtest.rules if rule.rule not in (ADVICE, "best")]
    if others:
        short = (
            f"{RULES[entry.rule]} by {tables.format_with_error(entry.shortfall, entry.shortfall_mcse, 3)}"
            for entry in others
        )
        yield f"Rules of thumb fall short: {', '.join(short)}."


def design_name(design: DesignShape) -> str:
    """Write a design: its grouping, documents and ratings of each output, and how its scores are normalised."""
    grouping, normalization, documents, ratings = design
    return f"{grouping} {documents} x {ratings} {normalization}"


def _value(number: float, error: float = float("nan"), label: str = "") -> Value:
    if not isfinite(number):
        return Value(None, reason="nothing was claimed", label=label)
    known = isfinite(error)
    return Value(number, standard_error=error if known else None, reason="" if known else ONE_SPLIT, label=label)


def _sections(advice: BacktestAdvice) -> Iterator[Section]:
    yield Section("Designs that were named", (_chart(advice), Points(tuple(_words(advice)))))
    yield Section("Every candidate", (_table_of_candidates(advice),), folded=True)


def _words(advice: BacktestAdvice) -> Iterator[str]:
    """State what designs and rules are, and what the numbers rest on."""
    yield "Designs: grouping, documents x ratings of each output, normalization."
    yield (
        "Named is the design with the largest predicted share of significant pairs among those of which .9 of the "
        "claims or more are predicted to be confirmed; the best is that by what was observed."
    )
    yield "Rules of thumb rate side by side where they do not say otherwise, and leave scores as they are."
    yield "What tells more pairs apart than the best, but is confirmed too seldom, falls short by 0."
    if lacking := [name for rule, name in RULES.items() if rule not in {entry.rule for entry in advice.rules}]:
        yield f"{', '.join(lacking)}: left out, since nobody else could repeat it."


def _chart(advice: BacktestAdvice) -> Chart:
    ends = (f"{tables.number(entry.significant_share, 2)} by {RULES[entry.rule]}" for entry in advice.rules[:2])
    return Chart(
        "intervals",
        "Pairs told apart by each rule's design",
        "share of pairs, ± standard error",
        "rule",
        tuple(map(_mark, advice.rules)),
        f"Shares of pairs told apart: {' and '.join(ends)}.",
        bounds=(0.0, 1.0),
        table=_table_of_rules(advice),
        interval="± standard error over splits",
    )


def _mark(rule: RuleResult) -> ChartPoint:
    share, error = rule.significant_share, rule.significant_share_mcse
    known = isfinite(error)
    low, high = (max(share - error, 0.0), min(share + error, 1.0)) if known else (None, None)
    return ChartPoint(
        share, RULES[rule.rule], low, high, standard_error=error if known else None, chosen=rule.rule == ADVICE
    )


def _table_of_rules(advice: BacktestAdvice) -> ReportTable:
    """Lay out what each rule named, most often first, and how it did."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            "" if k else RULES[rule.rule],
            design_name(design),
            f"{times}/{rule.splits}",
            *((None, None, None) if k else _numbers(rule)),
        )
        for rule in advice.rules
        for k, (design, times) in enumerate(rule.named)
    )
    columns = ("rule", "design", "named", "significant", "confirmed", "shortfall")
    return ReportTable("Means over splits ± standard errors; splits share one table", columns, rows)


def _numbers(rule: RuleResult) -> tuple[Value, Value, Value]:
    confirmed = Value(round(rule.confirmed, 3)) if isfinite(rule.confirmed) else _value(rule.confirmed)
    share = _value(rule.significant_share, rule.significant_share_mcse)
    return share, confirmed, _value(rule.shortfall, rule.shortfall_mcse)


def _table_of_candidates(advice: BacktestAdvice) -> ReportTable:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            candidate.split + 1,
            design_name(candidate.shape),
            _value(candidate.predicted_significant_share),
            _value(candidate.predicted_confirmed),
            _value(candidate.significant_share),
            _value(candidate.confirmed),
            ", ".join(name for rule, name in RULES.items() if rule in candidate.rules),
        )
        for candidate in advice.records
    )
    predicted = ("significant, predicted", "confirmed, predicted")
    columns = ("split", "design", *predicted, "significant", "confirmed", "named by")
    return ReportTable("Designs of equal cost", columns, rows)


def _reservations(backtest: BacktestAdvice) -> Iterator[str]:
    advice = backtest.advice
    if advice.kept < advice.splits:
        failed = f"In {advice.splits - advice.kept} of {pluralise(advice.splits, 'split')}"
        yield f"{failed} fewer than .9 of the claims of the design named were confirmed."
    if advice.splits == 1:
        yield "One split: no error can be told; --splits 4 says how far numbers scatter."
    yield "Errors are over splits, which share one table: another table may tell another story."
    if any(record.repetition == "other documents" for record in backtest.records):
        yield "Studies are compared with studies of other documents of the table."
