"""Report the world that was fitted to a pilot: what makes scores differ, and how far it can be trusted.

Call `report` with a `Fit` (`simlab.answers.fit`), which returns a `Report` of text, tables and charts.
"""

from __future__ import annotations

from math import isfinite

from simlab.answers.fit import CheckedTrait, Component, Fit, LawScore
from simlab.drawing.reports import references
from simlab.drawing.reports.answers import fit_charts, fit_words
from simlab.drawing.reports.terms import (
    Block,
    Cell,
    Points,
    Prose,
    Report,
    ReportTable,
    Section,
    Value,
    value_or_reason,
)

UNKNOWN = "not known from this pilot"
MANY = "Intervals of checks hold all traits of a table at once in 19 of 20 tables of the law."


def report(fit: Fit) -> Report:
    """Make the report of an answer of `simlab fit`."""
    return Report(
        f"A world fitted to a pilot: {fit.law}",
        _question(fit),
        tuple(_answer(fit)),
        tuple(_sections(fit)),
        figures=tuple(_key_figures(fit)),
        held_fixed=tuple(_list_fixed(fit)),
        reservations=tuple(_reservations(fit)),
        references=references.list_references(_list_references(fit)),
        paragraph=_paragraph(fit),
    )


def _question(fit: Fit) -> str:
    what = "comparisons" if fit.compares else "scores"
    return f"What makes {what} of this pilot differ, and can the world that was fitted to it be trusted?"


def _answer(fit: Fit) -> list[str]:
    sources = fit_words.sources(fit)
    more = [
        sentence
        for sentence in (fit_words.describe_dependability(fit), fit_words.trade(fit), fit_words.speeds(fit.speeds))
        if sentence
    ]
    law = f"Law: {fit_words.law(fit)}."
    chains = [fit_words.chains(fit)] if fit_words.chains(fit) else []
    written = [f"Written to {fit.written}."] if fit.written else []
    read = f"Read: {fit_words.describe_data(fit)}."
    return [fit_words.verdict(fit), read, law, *chains, *([sources] if sources else []), *more, *written]


def _key_figures(fit: Fit) -> list[Value]:
    """Return how many checks passed, and what makes scores differ most."""
    n = len(fit.checks.all)
    checks = [Value(float(n - len(fit.failed)), label=f"checks passed, of {n}")] if n else []
    unit = "" if fit.compares else "points"
    return [
        *checks,
        *(
            Value(component.sd, low=component.low, high=component.high, unit=unit, label=fit_words.component(component))
            for component in fit_words.known_components(fit)[:3]
        ),
    ]


def _sections(fit: Fit) -> list[Section]:
    parts = (
        _differs(fit),
        _checks(fit),
        _dependability_section(fit),
        _trade_section(fit),
        _laws(fit),
        _speeds(fit),
        _unknowns_section(fit),
    )
    return [part for part in parts if part is not None]


def _differs(fit: Fit) -> Section:
    """Show what makes scores differ, with intervals."""
    kind = "comparisons" if fit.compares else "scores"
    unit = "" if fit.compares else " [points]"
    assumed = ("assumed instead",) if any(isfinite(component.assumed) for component in fit.components) else ()
    columns = (f"what makes {kind} differ", f"sd{unit}", f"{fit.interval} % from", "to", *assumed)
    rows = tuple(_row(component)[: len(columns)] for component in fit.components)
    table = ReportTable("Standard deviations" + (", and a share of ties" if fit.compares else ""), columns, rows)
    chart = fit_charts.components(fit, table)
    missing = tuple(
        f"{fit_words.component(component)}: {UNKNOWN}" for component in fit.components if not isfinite(component.sd)
    )
    left = (Points(missing),) if missing and chart else ()
    return Section(f"What makes {kind} differ", (chart or table, *left))


def _row(component: Component) -> tuple[Cell, ...]:
    assumed = Value(component.assumed) if isfinite(component.assumed) else None
    return (
        fit_words.component(component),
        *(value_or_reason(number, UNKNOWN) for number in (component.sd, component.low, component.high)),
        assumed,
    )


def _checks(fit: Fit) -> Section:
    """Show the pilot among tables of its law, and which way predictions err."""
    if not fit.checks.all:
        return Section("Checks", (Prose(fit_words.verdict(fit)),))
    rows = tuple(
        (check.name, value_or_reason(check.real, UNKNOWN), _simulated_value(check), "yes" if check.inside else "NO")
        for check in fit_charts.sort_checks(fit)
    )
    table = ReportTable("The pilot against tables of its law", ("trait", "pilot", "simulated", "inside"), rows)
    wrong = [f"{fit_words.describe_error(trait)}." for trait in fit.checks.erring]
    notes = Points((MANY, *(f"{line[0].upper()}{line[1:]}" for line in wrong)))
    return Section("Checks", (fit_charts.checks(fit, table), notes), folded=not fit.failed, light=not fit.failed)


def _simulated_value(trait: CheckedTrait) -> Value:
    return value_or_reason(trait.simulated, "a table may lack it", low=trait.low, high=trait.high)


def _dependability_section(fit: Fit) -> Section | None:
    if not fit.coefficients:
        return None
    note = (
        "E rho^2 is for comparing systems, Phi for scores as they stand; documents are always drawn anew, and all "
        "raters of a document rate all its outputs (Brennan 2001)."
    )
    return Section(
        "How dependable other studies would be", (fit_charts.plot_dependability(fit), Prose(note)), light=True
    )


def _trade_section(fit: Fit) -> Section | None:
    heading = "More documents, or more ratings of each output"
    untold = fit_words.UNTOLD
    if not fit.each:
        return None if fit.compares else Section(heading, (Prose(f"{untold[0].upper()}{untold[1:]}."),))
    return Section(heading, (Prose(fit_words.trade(fit)), fit_charts.trade(fit)), light=True)


def _laws(fit: Fit) -> Section | None:
    """Show how well laws predict documents held out, and which ones the table does not allow."""
    rows = tuple(
        (law.law, Value(law.log_score), _shortfall_value(law)) for law in fit.compared if isfinite(law.log_score)
    )
    table = ReportTable("Laws on documents held out", ("law", "log score a rating [nats]", "behind the best"), rows)
    refused = Points(tuple(f"{law}: {why}" for law, why in fit.refused.items()))
    blocks: tuple[Block, ...] = (*([table] if rows else []), *([refused] if fit.refused else []))
    return Section("Laws", blocks, folded=True, light=True) if blocks else None


def _shortfall_value(score: LawScore) -> Value:
    return value_or_reason(score.behind, UNKNOWN, standard_error=score.se)


def _speeds(fit: Fit) -> Section | None:
    if fit.speeds is None:
        return None
    raters = fit.speeds.raters
    rows = tuple(
        (name, value_or_reason(speed.median_seconds, UNKNOWN), value_or_reason(speed.log_sd, UNKNOWN))
        for name, speed in raters.items()
    )
    columns = ("rater", "median [s an answer]", "sd of log")
    tables = (ReportTable("Each rater", columns, rows),) if rows else ()
    return Section("How fast people worked", (Prose(fit_words.speeds(fit.speeds)), *tables), folded=True, light=True)


def _unknowns_section(fit: Fit) -> Section | None:
    if not fit.not_identified:
        return None
    return Section("Not known from this pilot", (Points(fit.not_identified),), light=True)


def _list_fixed(fit: Fit) -> list[str]:
    """State what the numbers take as it is."""
    law = f"the law ({fit.law}), and the pilot's {fit_words.describe_data(fit)}"
    if not fit.coefficients:
        return [law]
    fixed = "these raters" in {fit_words.people(fit, coefficient.raters) for coefficient in fit.coefficients}
    return [law, *(["raters, where a line says: these raters"] if fixed else [])]


def _reservations(fit: Fit) -> list[str]:
    """State what speaks against the world: checks that failed first."""
    refused = [
        f"This world is refused: {fit_words.verdict(fit)} `simlab run` and `simlab sweep` take it with --force only."
    ]
    unknown = [f"Not known from this pilot: {text}." for text in fit.not_identified]
    none = [] if fit.checks.all else [fit_words.verdict(fit)]
    lines = [f"{fit_words.failure(check)}." for check in fit.failed]
    return [*(refused if fit.failed else []), *lines, *none, *(f"{text}." for text in fit.unmixed), *unknown]


def _list_references(fit: Fit) -> list[str]:
    return [*(["Davidson 1970", "Bradley and Terry 1952"] if fit.compares else ["Brennan 2001"]), references.SIMLAB]


def _paragraph(fit: Fit) -> str:
    dependable = fit_words.describe_dependability(fit)
    listed = "; ".join(map(fit_words.spread, fit_words.known_components(fit)))
    units = "in logits, or of logs" if fit.compares else "in points"
    spreads = f" Standard deviations ({units}, {fit.interval} % intervals): {listed}." if listed else ""
    law = f"A world was fitted to a pilot ({fit_words.describe_data(fit)}; law {fit.law})."
    return f"{law} {fit_words.verdict(fit)}{spreads}{f' {dependable}' if dependable else ''} Fitted with simlab."
