"""Report the world that a pilot makes, and how far it can be trusted, from what `simlab fit --save` kept."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simlab.drawing.reports import references
from simlab.drawing.reports.answers import fit_charts, fit_words, reading
from simlab.drawing.reports.answers.fit_reading import Fit, Trait, components_of, read
from simlab.drawing.reports.answers.reading import value
from simlab.drawing.reports.terms import Block, Cell, Points, Prose, Report, Section, Table, Value
from simlab.drawing.text.fitted_world import UNTOLD, check_line, erring

if TYPE_CHECKING:
    from simlab.fitting.comparing_laws import Compared

UNKNOWN = "not known from this pilot"
MANY = "Intervals of checks hold all traits of a table at once in 19 of 20 tables of the law."


def report(saved: Mapping[str, Any]) -> Report:
    """Make the report of an answer of `simlab fit`; raise InputError for what is none."""
    fit = read(saved.get("answer"))
    return Report(
        f"A world fitted to a pilot: {fit.law}",
        _question(fit),
        tuple(_answer(fit)),
        tuple(_sections(fit)),
        dict(saved),
        tuple(_large(fit)),
        held_fixed=tuple(_held_fixed(fit)),
        reservations=tuple(_reservations(fit)),
        reproduce=(reading.command(saved),),
        references=references.cited(_cited(fit)),
        paragraph=_paragraph(fit),
        provenance=reading.provenance(saved),
    )


def _question(fit: Fit) -> str:
    what = "comparisons" if fit.compares else "scores"
    return f"What makes {what} of this pilot differ, and can the world that was fitted to it be trusted?"


def _answer(fit: Fit) -> list[str]:
    sources = fit_words.sources(fit)
    more = [one for one in (fit_words.dependable(fit), fit_words.trade(fit), fit_words.speeds(fit)) if one]
    law = f"Law: {fit_words.law(fit)}."
    return [f"Read: {fit_words.understood(fit)}.", law, fit_words.verdict(fit), *([sources] if sources else []), *more]


def _large(fit: Fit) -> list[Value]:
    """Return how many checks passed, and what makes scores differ most."""
    n = len(fit.traits)
    checks = [Value(float(fit.passed), label=f"of {n} checks passed")] if n else []
    known = sorted((one for one in fit.components if one["sd"] is not None), key=lambda one: -one["sd"])
    shown = [one for one in known if fit_words.is_spread(one)][:3]
    return [*checks, *(_component(fit, one, fit_words.component(fit, one)) for one in shown)]


def _component(fit: Fit, one: Mapping[str, Any], label: str = "") -> Value:
    unit = "points" if label and not fit.compares else ""
    return value(one["sd"], UNKNOWN, low=one["low"], high=one["high"], unit=unit, label=label)


def _sections(fit: Fit) -> list[Section]:
    parts = (_differs(fit), _checks(fit), _dependable(fit), _each(fit), _laws(fit), _speeds(fit), _unknown(fit))
    return [part for part in parts if part is not None]


def _differs(fit: Fit) -> Section:
    """Show what makes scores differ, with intervals."""
    kind = "comparisons" if fit.compares else "scores"
    unit = "" if fit.compares else " [points]"
    assumed = ("assumed instead",) if any(one["assumed"] is not None for one in fit.components) else ()
    columns = (f"what makes {kind} differ", f"sd{unit}", f"{fit.interval} % from", "to", *assumed)
    rows = tuple(_row(fit, one)[: len(columns)] for one in fit.components)
    table = Table("Standard deviations" + (", and a share of ties" if fit.compares else ""), columns, rows)
    chart = fit_charts.components(fit, table)
    missing = tuple(f"{fit_words.component(fit, one)}: {UNKNOWN}" for one in fit.components if one["sd"] is None)
    left = (Points(missing),) if missing and chart else ()
    return Section(f"What makes {kind} differ", (chart or table, *left))


def _row(fit: Fit, one: Mapping[str, Any]) -> tuple[Cell, ...]:
    sd = value(one["sd"], UNKNOWN)
    return fit_words.component(fit, one), sd, *(value(one[end], UNKNOWN) for end in ("low", "high")), _assumed(one)


def _assumed(one: Mapping[str, Any]) -> Value | None:
    return None if one["assumed"] is None else value(one["assumed"])


def _checks(fit: Fit) -> Section:
    """Show the pilot among tables of its law, and which way predictions err."""
    if not fit.traits:
        return Section("Checks", (Prose(fit_words.verdict(fit)),))
    rows = tuple(
        (one.name, value(one.real), _simulated(one), "yes" if one.inside else "NO") for one in fit_charts.ordered(fit)
    )
    table = Table("The pilot against tables of its law", ("trait", "pilot", "simulated", "inside"), rows)
    wrong = [f"{erring(one)}." for one in fit.erring]
    notes = [Points((MANY, *(f"{one[0].upper()}{one[1:]}" for one in wrong)))]
    return Section("Checks", (fit_charts.checks(fit, table), *notes))


def _simulated(one: Trait) -> Value:
    simulated, low, high = (held if math.isfinite(held) else None for held in (one.simulated, one.low, one.high))
    return value(simulated, "a table may lack it", low=low, high=high)


def _dependable(fit: Fit) -> Section | None:
    if not fit.coefficients:
        return None
    note = (
        "E rho^2 is for comparing systems, Phi for scores as they stand; documents are always drawn anew, and all "
        "raters of a document rate all its outputs (Brennan 2001)."
    )
    return Section("How dependable other studies would be", (fit_charts.dependable(fit), Prose(note)))


def _each(fit: Fit) -> Section | None:
    heading = "More documents, or more ratings of each output"
    if fit.trade is None:
        return None if fit.compares else Section(heading, (Prose(f"{UNTOLD[0].upper()}{UNTOLD[1:]}."),))
    return Section(heading, (Prose(fit_words.trade(fit)), fit_charts.trade(fit)))


def _laws(fit: Fit) -> Section | None:
    """Show how well laws predict documents held out, and which ones the table does not allow."""
    rows = tuple((one.law, value(one.log_score), _behind(one)) for one in fit.compared if math.isfinite(one.log_score))
    table = Table("Laws on documents held out", ("law", "log score a rating [nats]", "behind the best"), rows)
    refused = Points(tuple(f"{law}: {why}" for law, why in fit.refused.items()))
    blocks: tuple[Block, ...] = (*([table] if rows else []), *([refused] if fit.refused else []))
    return Section("Laws", blocks, folded=True) if blocks else None


def _behind(one: Compared) -> Value:
    return value(one.behind, standard_error=one.se if math.isfinite(one.se) else None)


def _speeds(fit: Fit) -> Section | None:
    if fit.speeds is None:
        return None
    raters = fit.speeds["raters"]
    rows = tuple((name, value(one["median_seconds"]), value(one["log_sd"])) for name, one in raters.items())
    columns = ("rater", "median [s an answer]", "sd of log")
    tables = (Table("Each rater", columns, rows),) if rows else ()
    return Section("How fast people worked", (Prose(fit_words.speeds(fit)), *tables), folded=True)


def _unknown(fit: Fit) -> Section | None:
    if not fit.not_identified:
        return None
    return Section("Not known from this pilot", (Prose("Priors stand in for:"), Points(fit.not_identified)))


def _held_fixed(fit: Fit) -> list[str]:
    """Say what the numbers take as it is."""
    law = f"the law ({fit.law}), and the pilot's {fit_words.understood(fit)}"
    if not fit.coefficients:
        return [law]
    fixed = "these raters" in {fit_words.people(fit, one.raters) for one in fit.coefficients}
    return [law, *(["raters, where a line says: these raters"] if fixed else [])]


def _reservations(fit: Fit) -> list[str]:
    """Say what speaks against the world: checks that failed first."""
    failed = [one for one in fit.traits if not one.inside]
    refused = [
        f"This world is refused: {fit_words.verdict(fit)} `simlab run` and `simlab sweep` take it with --force only."
    ]
    unknown = [f"Not known from this pilot, a prior stands in: {one}." for one in fit.not_identified]
    none = [] if fit.traits else [fit_words.verdict(fit)]
    lines = [f"{check_line(one.name, one.real, one.simulated, one.low, one.high)}." for one in failed]
    return [*(refused if failed else []), *lines, *none, *(f"{one}." for one in fit.unmixed), *unknown]


def _cited(fit: Fit) -> list[str]:
    return [*(["Davidson 1970", "Bradley and Terry 1952"] if fit.compares else ["Brennan 2001"]), references.SIMLAB]


def _paragraph(fit: Fit) -> str:
    sources, dependable = components_of(fit), fit_words.dependable(fit)
    told = "; ".join(fit_words.spread(fit, one) for one in sources)
    units = "in logits, or of logs" if fit.compares else "in points"
    spreads = f" Standard deviations ({units}, {fit.interval} % intervals): {told}." if told else ""
    law = f"A world was fitted to a pilot ({fit_words.understood(fit)}; law {fit.law})."
    return f"{law} {fit_words.verdict(fit)}{spreads}{f' {dependable}' if dependable else ''} Fitted with simlab."
