"""Draw what a fit found: what makes scores differ, the pilot among tables of its law, how other studies do.

Functions take a `Fit` and return a `Chart`: data without markup. A trait is a number of a table that is checked.
"""

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
"""Short names of the sources that make scores differ, for narrow pages; the note of a mark has the rest."""
NARROW = 1e-12
"""Least half-width of an interval, against division by 0."""
FARTHEST = 5.0
"""Traits that lie farther out than so many half-intervals are drawn there, so that near ones stay apart."""


def components(fit: Fit, table: ReportTable) -> Chart | None:
    """Return a chart of standard deviations with their intervals, `table` behind it; None if the pilot tells none."""
    shown = [component for component in fit.components if isfinite(component.sd) and fit_words.is_spread(component)]
    if not shown:
        return None
    kind = "comparisons" if fit.compares else "scores"
    unit = "logits, or of logs" if fit.compares else "points"
    marks = tuple(map(_spread, shown))
    most = max(shown, key=lambda component: component.sd)
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
    return sorted(fit.checks.all, key=lambda check: (check.inside, -abs(_distance_from_middle(check))))


def checks(fit: Fit, table: ReportTable) -> Chart:
    """Draw where the pilot lies in the interval that its law gives each trait: -1 and 1 are the ends."""
    shown = [check for check in sort_checks(fit) if isfinite(_distance_from_middle(check))]
    simulated = [ChartPoint(0.0, check.name, -1.0, 1.0, line="tables of the law", note=_note(check)) for check in shown]
    pilot = [
        ChartPoint(
            max(min(_distance_from_middle(check), FARTHEST), -FARTHEST),
            check.name,
            line="pilot",
            note=_note(check),
            chosen=not check.inside,
        )
        for check in shown
    ]
    failed = sum(not check.inside for check in shown)
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
    low, high, real = (tables.number(value, 3) for value in (trait.low, trait.high, trait.real))
    return f"{trait.name}: pilot {real}, tables of the law {low} to {high}"


def plot_dependability(fit: Fit) -> Chart:
    """Draw how dependable studies of more documents would be, a line for each coefficient and whose raters it has."""
    marks = tuple(
        ChartPoint(
            float(coefficient.documents), coefficient.value, coefficient.low, coefficient.high, _line(coefficient)
        )
        for coefficient in fit.coefficients
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
    documents = list(dict.fromkeys(coefficient.documents for coefficient in fit.coefficients))
    kinds = dict.fromkeys((coefficient.name, coefficient.raters) for coefficient in fit.coefficients)
    by_documents = {
        (coefficient.name, coefficient.raters, coefficient.documents): coefficient for coefficient in fit.coefficients
    }
    rows = tuple(
        (
            fit_words.coefficient(fit, *kind),
            *(
                Value(coefficient.value, low=coefficient.low, high=coefficient.high)
                if (coefficient := by_documents.get((*kind, n)))
                else None
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
    marks = tuple(ChartPoint(float(row.each), row.error, row.low, row.high, chosen=row is best) for row in rows)
    table = ReportTable(
        f"{ratings:.0f} ratings a system",
        ("ratings of each output", "documents", "error of a difference [points]", "best in a share of draws"),
        tuple(
            (row.each, Value(row.documents), Value(row.error, low=row.low, high=row.high), Value(row.best))
            for row in rows
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
