"""Draw what a fit found: what makes scores differ, the pilot among tables of its law, how other studies do."""

from __future__ import annotations

from math import isfinite

from simlab.answers.fit import CheckedTrait, Component, Dependability, Fit
from simlab.drawing.reports.answers import fit_words
from simlab.drawing.reports.terms import Chart, ChartPoint, ReportTable, Value
from simlab.drawing.text import tables

PEOPLE = {"drawn": "other raters", "fixed": "these raters"}
SHORT = {
    "system": "systems",
    "document": "documents",
    "segment": "segments",
    "system_document": "system x doc.",
    "output": "system x seg.",
    "leniency": "leniency",
    "rater_system": "rater x system",
    "rater_document": "rater x doc.",
    "residual": "own noise",
    "system_sd": "systems",
    "output_sd": "outputs",
    "item_sd": "items",
    "sharpness_sd": "sharpness",
    "tie_sd": "habit of ties",
    "taste_sd": "taste",
}
"""What makes scores differ, in so few letters that a narrow page has room for them; the note has the rest."""
NARROW = 1e-12
FARTHEST = 5.0
"""Traits that lie farther out than so many intervals stand there: what is near would be one dot otherwise."""


def components(fit: Fit, table: ReportTable) -> Chart | None:
    """Draw standard deviations with their intervals; None where the pilot tells none."""
    shown = [one for one in fit.components if isfinite(one.sd) and fit_words.is_spread(one)]
    if not shown:
        return None
    kind = "comparisons" if fit.compares else "scores"
    unit = "logits, or of logs" if fit.compares else "points"
    marks = tuple(map(_spread, shown))
    most = max(shown, key=lambda one: one.sd)
    return Chart(
        "intervals",
        f"What makes {kind} differ?",
        f"standard deviation [{unit}], {fit.interval} % interval",
        f"what makes {kind} differ",
        marks,
        f"{len(marks)} standard deviations with intervals; the largest is that of {fit_words.spread(most)}.",
        bounds=(0.0, None),
        table=table,
        interval=f"{fit.interval} % interval",
    )


def _spread(component: Component) -> ChartPoint:
    name = fit_words.component(component)
    return ChartPoint(component.sd, SHORT.get(component.name, name), component.low, component.high, note=name)


def sort_checks(fit: Fit) -> list[CheckedTrait]:
    """Return the checks, those that failed first, the farthest out before others."""
    return sorted(fit.checks.all, key=lambda one: (one.inside, -abs(_distance_from_middle(one))))


def checks(fit: Fit, table: ReportTable) -> Chart:
    """Draw where the pilot lies in the interval that its law gives each trait: -1 and 1 are the ends."""
    shown = [one for one in sort_checks(fit) if isfinite(_distance_from_middle(one))]
    simulated = [ChartPoint(0.0, one.name, -1.0, 1.0, line="tables of the law", note=_note(one)) for one in shown]
    pilot = [
        ChartPoint(
            max(min(_distance_from_middle(one), FARTHEST), -FARTHEST),
            one.name,
            line="pilot",
            note=_note(one),
            chosen=not one.inside,
        )
        for one in shown
    ]
    failed = sum(not one.inside for one in shown)
    return Chart(
        "intervals",
        "Does the pilot look like tables of its law?",
        "place in the interval of its law (-1 to 1)",
        "trait",
        (*simulated, *pilot),
        f"{len(shown)} traits of the pilot against the interval of each; {failed or 'none'} outside.",
        table=table,
        interval="interval of its law",
    )


def _distance_from_middle(trait: CheckedTrait) -> float:
    """Return how far the pilot lies from the middle of an interval, in halves of it."""
    middle, half = (trait.low + trait.high) / 2, max((trait.high - trait.low) / 2, NARROW)
    return (trait.real - middle) / half


def _note(trait: CheckedTrait) -> str:
    low, high, real = (tables.number(held, 3) for held in (trait.low, trait.high, trait.real))
    return f"{trait.name}: pilot {real}, tables of the law {low} to {high}"


def plot_dependability(fit: Fit) -> Chart:
    """Draw how dependable studies of more documents would be, a line for each coefficient and whose raters it has."""
    marks = tuple(
        ChartPoint(float(one.documents), one.value, one.low, one.high, _line(one)) for one in fit.coefficients
    )
    each = fit.coefficients[0].each
    return Chart(
        "lines",
        "How dependable would studies of more documents be?",
        f"new documents, {'1 rating' if each == 1 else f'{each} ratings'} of each output",
        "coefficient, 95 % interval",
        marks,
        fit_words.describe_dependability(fit) or "Coefficients of studies of more documents.",
        bounds=(0.0, 1.0),
        table=_coefficients(fit),
        interval="95 % interval",
    )


def _line(dependability: Dependability) -> str:
    """Name a line in so few letters that a legend has room for it."""
    return f"{'differences' if dependability.name == 'e_rho2' else 'scores'}, {PEOPLE[dependability.raters]}"


def _coefficients(fit: Fit) -> ReportTable:
    """Lay coefficients out with a column for each number of documents."""
    documents = list(dict.fromkeys(one.documents for one in fit.coefficients))
    kinds = dict.fromkeys((one.name, one.raters) for one in fit.coefficients)
    held = {(one.name, one.raters, one.documents): one for one in fit.coefficients}
    rows = tuple(
        (
            fit_words.coefficient(fit, *kind),
            *(
                Value(one.value, low=one.low, high=one.high) if (one := held.get((*kind, n))) else None
                for n in documents
            ),
        )
        for kind in kinds
    )
    return ReportTable("By new documents, 95 % intervals", ("dependable", *(f"{n:,}" for n in documents)), rows)


def trade(fit: Fit) -> Chart:
    """Draw the error of a difference by how many ratings each output gets, at equal cost."""
    rows, ratings = fit.each, fit_words.ratings_of_system(fit)
    best = max(rows, key=lambda row: row.best)
    marks = tuple(ChartPoint(float(one.each), one.error, one.low, one.high, chosen=one is best) for one in rows)
    table = ReportTable(
        f"{ratings:.0f} ratings a system",
        ("ratings of each output", "documents", "error of a difference [points]", "best in a share of draws"),
        tuple(
            (one.each, Value(one.documents), Value(one.error, low=one.low, high=one.high), Value(one.best))
            for one in rows
        ),
    )
    return Chart(
        "lines",
        "More documents, or more ratings of each output?",
        f"ratings of each output, of {ratings:.0f} a system",
        "error of a difference [points], 95 % interval",
        marks,
        fit_words.trade(fit),
        bounds=(0.0, None),
        table=table,
        interval="95 % interval",
    )
