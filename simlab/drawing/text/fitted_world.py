"""Write what a pilot tells, on a page: the law, its checks, what makes scores differ, what is not known."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.drawing.text import fitted_speeds, tables

if TYPE_CHECKING:
    from simlab.fitting.checks import Checks, Erring
    from simlab.fitting.comparing_laws import Compared
    from simlab.fitting.components import Component
    from simlab.fitting.generalisability import Coefficient, Trade
    from simlab.fitting.report import Report

WIDTH = 100
WORDS = {
    "system": "systems (these)",
    "document": "documents",
    "segment": "segments of a document",
    "system_document": "system x document",
    "output": "system x segment",
    "leniency": "raters at large (leniency)",
    "rater_system": "raters at large x system",
    "rater_document": "raters at large x document",
    "residual": "a rating's own noise",
}
"""What makes scores differ, by the names of the file."""
MEASURES = {
    "pairs told apart by a t test": "power",
    "halves: all confirmed (SRP)": "SRP",
    "halves: claims confirmed": "confirmed",
}
"""What a study would report of the conclusions that are checked."""
COEFFICIENTS = {"e_rho2": "E rho^2, differences", "phi": "Phi, scores as they stand"}
UNTOLD = (
    "more documents or more ratings each: not known; this pilot cannot tell noise from what raters of an output share"
)
SHOWN_EACH = (1, 2, 3, 5, 10, 20)
MOST_FAILED, MOST_SENTENCES = 4, 4
SMALL, LIKELY, SURE = 0.03, 0.8, 0.95
"""Predictions are about right where they are off by less, or where so many of the tables do not agree which way."""


def page(report: Report, understood: str, written: Path | None, following: str) -> str:
    """Write the report on one page of 40 lines at most; `following` is the next command, or none."""
    parts = [
        "\n".join([line("Read", understood), *_law(report), *_checks(report.checks, report.law.name)]),
        _components(report.listed),
        _coefficients(report),
        _trade(report.trade) if report.trade is not None else textwrap.fill(UNTOLD, WIDTH),
        _speeds(report.speed_record),
        unknown(report.not_identified),
        "\n".join([*([f"written to {written}"] if written else []), *([following] if following else [])]),
    ]
    return "\n\n".join(part for part in parts if part)


def line(word: str, text: str) -> str:
    """Write a line of the head under its word."""
    return textwrap.fill(f"{word:<9}{text}", WIDTH, subsequent_indent=" " * 9, break_on_hyphens=False)


def _law(report: Report) -> list[str]:
    name = report.law.name
    if report.asked:
        text = f"{name}, as asked"
    elif report.compared:
        text = f"{name}, {scores(name, report.compared)}"
    else:
        text = f"{name}; not for such scores: {', '.join(report.refused) or 'none'}"
        text += "; one document cannot tell which law predicts others best" if report.ratings.n_documents == 1 else ""
    return [line("Law", text)]


def scores(name: str, compared: Sequence[Compared]) -> str:
    """Say how well a law predicts documents held out, beside the others; `compared` has the best first."""
    best = compared[0]
    head = f"predicts documents held out best (log score {best.log_score:.3f} a rating)"
    if best.law != name:
        head = f"the simplest of those that predict documents held out as well as {best.law}"
    others = [f"{one.law} {tables.measured(one.behind, one.se, 3)} behind" for one in compared[1:]]
    return "; ".join([head, *others])


def _checks(held: Checks, law: str) -> Iterator[str]:
    n = len(held.traits)
    if not n:
        yield line("Checks", "none: the pilot is too small for any")
    elif not held.failed:
        yield line("Checks", f"{n} of {n} passed: the pilot looks like tables of this law")
    else:
        yield line(
            "Checks",
            f"{len(held.failed)} of {n} FAILED: do not trust what {law} predicts; the pilot against its tables",
        )
        yield from (f"         {check_line(*one)}" for one in held.failed[:MOST_FAILED])
        if hidden := len(held.failed) - MOST_FAILED:
            yield from [f"         and {hidden} more"] if hidden > 0 else []
        yield line("Erring", "; ".join(erring(one) for one in held.erring))


def check_line(name: str, real: float, simulated: float, low: float, high: float) -> str:
    """Write what failed, and by how much."""
    places = digits(real, simulated)
    real_, simulated_, low_, high_ = (tables.number(value, places) for value in (real, simulated, low, high))
    return f"{name}: {real_} real, {simulated_} simulated ({low_} to {high_})"


def erring(one: Erring) -> str:
    """Say which way what a world predicts errs."""
    numbers = f"{tables.number(one.real, 2)} in the pilot, {tables.number(one.simulated, 2)} simulated"
    if abs(one.real - one.simulated) < SMALL or LIKELY > one.below > 1 - LIKELY:
        return f"{MEASURES[one.measure]} about right ({numbers})"
    way = "under" if one.simulated < one.real else "over"
    sure = "" if one.below > SURE or one.below < 1 - SURE else "probably "
    return f"{MEASURES[one.measure]} {sure}{way}-predicted ({numbers})"


def digits(*values: float) -> int:
    """Choose the decimals of numbers by the largest of them."""
    size = max((abs(value) for value in values if math.isfinite(value)), default=1.0)
    return 1 if size >= 10 else 2


def _components(listed: Sequence[Component]) -> str:
    rows = [_row(one) for one in listed]
    return tables.aligned(["what makes scores differ", "sd, points", "95 % from", "to"], rows)


def _row(one: Component) -> list[str]:
    if math.isnan(one.sd):
        return [WORDS[one.name], "not known", "", f"(assumed {tables.number(one.assumed, digits(one.assumed))})"]
    places = digits(one.sd, one.high)
    return [WORDS[one.name], *(tables.number(value, places) for value in (one.sd, one.low, one.high))]


def _coefficients(report: Report) -> str:
    rows, held = [], report.coefficients
    if not held:
        return ""
    documents = list(dict.fromkeys(one.documents for one in held))
    n = report.components.n_raters
    people = {"drawn": f"{n} other raters" if n > 1 else "another rater", "fixed": "these raters"}
    for name, raters in dict.fromkeys((one.name, one.raters) for one in held):
        of = [one for one in held if (one.name, one.raters) == (name, raters)]
        rows.append(
            [f"{COEFFICIENTS[name]}: {people[raters]}", *(tables.number(one.value, 2) for one in of), _span(of)]
        )
    head = [f"dependable, {_ratings(held[0].each)} each, by new documents", *map(str, documents), "95 % at the last"]
    return tables.aligned(head, rows)


def _span(of: Sequence[Coefficient]) -> str:
    return f"{tables.number(of[-1].low, 2)} to {tables.number(of[-1].high, 2)}"


def _ratings(each: int) -> str:
    return "1 rating" if each == 1 else f"{each} ratings"


def _trade(held: Trade) -> str:
    shown = [row for row in held.rows if row.each in SHOWN_EACH]
    places = digits(max(row.error for row in shown))
    rows = [
        ["documents", *(f"{row.documents:.0f}" for row in shown)],
        ["error of a difference, points", *(tables.number(row.error, places) for row in shown)],
    ]
    table = tables.aligned(
        [f"{held.ratings:.0f} ratings a system: so many each", *(str(row.each) for row in shown)], rows
    )
    best = max(held.rows, key=lambda row: row.best)
    said = f"best: {best.each} each (in {tables.number(best.best, 2)} of the draws); {price(held)}"
    return f"{table}\n{textwrap.fill(said, WIDTH)}"


def _speeds(held: Mapping[str, Any] | None) -> str:
    return line("Speeds", fitted_speeds.sentence(held)) if held else ""


def price(held: Trade) -> str:
    """Say from which price of a document on a second rating of each output is worth more than more documents."""
    low, middle, high = held.price
    if not math.isfinite(middle) or middle > 1000:
        return "more documents are worth more at any price"
    span = (
        f"{tables.number(low, 1)} to {tables.number(high, 1)}"
        if math.isfinite(high)
        else f"{tables.number(low, 1)} or more"
    )
    return f"two each pay where a document costs more than {tables.number(middle, 1)} ratings ({span})"


def unknown(sentences: Sequence[str]) -> str:
    """Write what a pilot cannot tell; nothing where it tells all."""
    if not sentences:
        return ""
    shown = list(sentences[:MOST_SENTENCES])
    if len(sentences) > MOST_SENTENCES:
        shown.append(f"and {len(sentences) - MOST_SENTENCES} more sentences in the file (not_identified)")
    lines = [textwrap.fill(f"  {one}", WIDTH, subsequent_indent="    ") for one in shown]
    return "\n".join(["Not known from this pilot; priors stand in:", *lines])


def record(report: Report) -> dict[str, object]:
    """Return the answer for a program to read."""
    return {
        "law": report.law.name,
        "compared": compared(report),
        "refused": dict(report.refused),
        "checks": {
            "passed": report.checks.passed,
            "failed": [{k: getattr(one, k) for k in ("name", "real", "low", "high")} for one in report.checks.failed],
            "all": tables.plain([{**one._asdict(), "inside": one.inside} for one in report.checks.traits]),
            "erring": tables.plain(
                [{**one._asdict(), "measure": MEASURES[one.measure]} for one in report.checks.erring]
            ),
        },
        "components": components(report.listed),
        "coefficients": tables.plain([one._asdict() for one in report.coefficients]),
        "each": tables.plain([row._asdict() for row in report.trade.rows]) if report.trade else [],
        "price": [one if math.isfinite(one) else None for one in report.trade.price] if report.trade else None,
        "not_identified": list(report.not_identified),
        "speeds": report.speed_record,
    }


def components(listed: Sequence[Component]) -> list[dict[str, object]]:
    """Return what makes scores differ as records; what is not known is null, and what stands in for it is said."""
    return tables.plain([one._asdict() for one in listed])


def compared(report: Report) -> list[dict[str, object]]:
    """Return how well laws predict as records."""
    return tables.plain([one._asdict() for one in report.compared])
