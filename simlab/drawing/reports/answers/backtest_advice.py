"""Report whether the designs that pilots named were the right ones, from what `simlab backtest --advice` kept."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import reading
from simlab.drawing.reports.answers.reading import MAYBE, NUMBER, REMEDY, TEXT, WHOLE, Kind, Row
from simlab.drawing.reports.terms import Cell, Chart, Mark, Prose, Report, Section, Table, Value
from simlab.drawing.text import advice as text
from simlab.drawing.text import tables
from simlab.drawing.text.advice import RULES
from simlab.messages import several
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.fitting.backtest.advised import Rule
    from simlab.fitting.backtest.advising import Advised

RULE = {
    "rule": reading.one_of(tuple(RULES)),
    **dict.fromkeys(("splits", "kept"), WHOLE),
    **dict.fromkeys(("significant_share", "shortfall"), NUMBER),
    **dict.fromkeys(("significant_share_mcse", "confirmed", "shortfall_mcse"), MAYBE),
    "named": Kind("a list of designs with counts", lambda held: isinstance(held, list) and all(map(_is_named, held))),
}
CANDIDATE = {
    **dict.fromkeys(("split", "documents", "ratings_per_item"), WHOLE),
    **dict.fromkeys(("grouping", "normalization", "repetition", "rules"), TEXT),
    **dict.fromkeys(
        ("predicted_significant_share", "predicted_confirmed", "significant_share", "confirmed"),
        MAYBE,
    ),
}
ADVICE, CONFIRMED = "advice", 0.9
"""The rule that names what pilots advise, and the share of claims that is to be confirmed."""
ONE_SPLIT = "one split has no error"


class _Candidate(NamedTuple):
    """Hold a candidate as pages of text take it: fields by name and by place."""

    split: int
    grouping: str
    normalization: str
    documents: int
    ratings_per_item: int
    repetition: str
    predicted_significant_share: float
    predicted_confirmed: float
    significant_share: float
    confirmed: float
    rules: tuple[str, ...]


def _is_named(held: Any) -> bool:
    """Tell a design (grouping, normalisation, documents, ratings each) with how often it was named."""
    if not (isinstance(held, list) and len(held) == 2 and isinstance(held[0], list) and len(held[0]) == 4):
        return False
    grouping, normalization, *counts = held[0]
    return isinstance(grouping, str) and isinstance(normalization, str) and all(map(WHOLE.allows, [*counts, held[1]]))


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab backtest --advice`; raise InputError for what is none."""
    held = saved["answer"]
    rules = [_rule(row) for row in reading.filled(held.get("rules"), "answer.rules", RULE)]
    if rules[0].rule != ADVICE:
        raise InputError(f"answer.rules[0].rule: must be {ADVICE}, the designs that pilots named; {REMEDY}")
    rows = [_advised(row) for row in reading.filled(held.get("records"), "answer.records", CANDIDATE)]
    told = tuple(_sentences(held, rules, rows))
    return Report(
        "Backtest of advice",
        "Is the design that is named from a pilot the right one for the documents that it did not see?",
        told,
        (_section(rules), _candidates(rows), Section("What this rests on", (Prose(_notes(held, rules, rows)),))),
        dict(saved),
        tuple(_large(rules[0])),
        held_fixed=("the table, which all splits share", "the cost: all candidates ask for as many ratings"),
        reservations=tuple(_reservations(rules, rows)),
        reproduce=(reading.command(saved),),
        references=references.cited(["Riley et al. 2024", references.SIMLAB]),
        paragraph="Designs were named from part of a table of ratings, and judged on the rest. "
        f"{' '.join(told)} Errors are over splits. Tested with simlab.",
        provenance=reading.provenance(saved),
    )


def _rule(row: Row) -> Rule:
    named = tuple(((one[0][0], one[0][1], int(one[0][2]), int(one[0][3])), int(one[1])) for one in row["named"])
    rule: Rule = reading.shaped({**row, "named": named})
    return rule


def _advised(row: Row) -> Advised:
    rules = tuple(name for name in RULES if name in row["rules"])
    candidate: Any = _Candidate(**{**reading.known(row), "rules": rules})
    advised: Advised = candidate
    return advised


def _sentences(held: Mapping[str, Any], rules: Sequence[Rule], rows: Sequence[Advised]) -> Iterator[str]:
    """Say how far the design that was named falls short of the best, and how rules of thumb do."""
    documents = _documents(held)
    advice = rules[0]
    if documents:
        yield " ".join(text.headline(advice, rows, documents).split())
    else:
        short = tables.measured(advice.shortfall, advice.shortfall_mcse, 3)
        yield (
            f"The design that was named tells {short} fewer of the pairs apart than the best of equal cost does "
            f"(mean over {several(advice.splits, 'split')})."
        )
    kept = f"{advice.kept} of {several(advice.splits, 'split')}"
    yield f"In {kept} {tables.number(CONFIRMED, 1)} or more of its claims were confirmed."
    design, times = advice.named[0] if advice.named else (None, 0)
    if design:
        yield f"Named most often: {text.design(design)} ({times} of {several(advice.splits, 'split')})."
    for rule in rules[1:]:
        short = tables.measured(rule.shortfall, rule.shortfall_mcse, 3)
        if rule.rule != "best":
            yield f'The rule of thumb "{RULES[rule.rule]}" falls short by {short}.'


def _documents(held: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the documents of a pilot and of the table, where they were kept."""
    read = held.get("read")
    pair = held.get("pilot_documents"), read.get("documents") if isinstance(read, dict) else None
    return (int(pair[0]), int(pair[1])) if all(map(WHOLE.allows, pair)) else None  # type: ignore[arg-type]


def _value(held: float, error: float = math.nan, label: str = "") -> Value:
    if not math.isfinite(held):
        return Value(None, reason="nothing was claimed", label=label)
    known = math.isfinite(error)
    return Value(held, mcse=error if known else None, reason="" if known else ONE_SPLIT, label=label)


def _large(advice: Rule) -> list[Value]:
    return [
        _value(advice.shortfall, advice.shortfall_mcse, "fewer of the pairs told apart than by the best"),
        _value(advice.significant_share, advice.significant_share_mcse, "of the pairs told apart by the design named"),
    ]


def _section(rules: Sequence[Rule]) -> Section:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            RULES[rule.rule] if k == 0 else "",
            text.design(design),
            f"{times}/{rule.splits}",
            *(_numbers(rule) if k == 0 else (None, None, None)),
        )
        for rule in rules
        for k, (design, times) in enumerate(rule.named)
    )
    columns = ("rule", "design", "named", "significant", "confirmed", "shortfall")
    table = Table("Means over splits ± standard errors; splits share one table", columns, rows)
    return Section("Designs that were named", (_chart(rules), table))


def _numbers(rule: Rule) -> tuple[Value, Value, Value]:
    return (
        _value(rule.significant_share, rule.significant_share_mcse),
        Value(rule.confirmed) if math.isfinite(rule.confirmed) else Value(None, reason="nothing was claimed"),
        _value(rule.shortfall, rule.shortfall_mcse),
    )


def _chart(rules: Sequence[Rule]) -> Chart:
    ends = " and ".join(f"{tables.number(rule.significant_share, 2)} by {RULES[rule.rule]}" for rule in rules[:2])
    return Chart(
        "intervals",
        "How many of the pairs does each rule's design tell apart?",
        "share of pairs told apart (± standard error over splits)",
        "rule",
        tuple(map(_mark, rules)),
        f"Shares of pairs told apart: {ends}.",
        bounds=(0.0, 1.0),
        interval="± standard error over splits",
    )


def _mark(rule: Rule) -> Mark:
    held, error = rule.significant_share, rule.significant_share_mcse
    known = math.isfinite(error)
    low, high = (max(held - error, 0.0), min(held + error, 1.0)) if known else (None, None)
    return Mark(held, RULES[rule.rule], low, high, mcse=error if known else None, chosen=rule.rule == ADVICE)


def _candidates(rows: Sequence[Advised]) -> Section:
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (
            one.split + 1,
            text.design((one.grouping, one.normalization, one.documents, one.ratings_per_item)),
            *(_value(held) for held in one[6:10]),
            ", ".join(RULES[name] for name in one.rules),
        )
        for one in rows
    )
    columns = (
        "split",
        "design",
        "significant, predicted",
        "confirmed, predicted",
        "significant",
        "confirmed",
        "named by",
    )
    return Section("Every candidate", (Table("Designs of equal cost", columns, body),), folded=True)


def _notes(held: Mapping[str, Any], rules: Sequence[Rule], rows: Sequence[Advised]) -> str:
    law = held.get("law")
    *notes, _ = text.notes(rules, rows, law if isinstance(law, str) else "not kept")
    return " ".join(notes)


def _reservations(rules: Sequence[Rule], rows: Sequence[Advised]) -> Iterator[str]:
    advice = rules[0]
    if advice.kept < advice.splits:
        failed = f"In {advice.splits - advice.kept} of {several(advice.splits, 'split')}"
        yield f"{failed} fewer than {tables.number(CONFIRMED, 1)} of the claims of the design named were confirmed."
    if advice.splits == 1:
        yield "One split: no error can be told; --splits 4 says how far numbers scatter."
    yield "Errors are over splits, which share one table: another table may tell another story."
    if any(row.repetition == "other documents" for row in rows):
        yield "Studies are compared with studies of other documents of the table."
