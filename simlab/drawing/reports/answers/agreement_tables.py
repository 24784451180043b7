"""Lay out what a kept answer of `simlab agreement` says of raters, as tables."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.drawing.reports.answers.reading import Row, value
from simlab.drawing.reports.terms import Cell, Table, Value

UNKNOWN = "not known from this table"
CHARTS = {
    "leniency": (
        "How lenient are raters?",
        "better than others on the same outputs [points], 95 %",
        "shared",
        (None, None),
    ),
    "sharpness": ("How sharp are raters?", "slope on the others' mean, 95 %", "shared", (None, None)),
    "seconds": ("How fast are raters?", "mean time of an answer [s]", "timed", (0.0, None)),
    "failed_share": ("Who failed control items?", "share of control items failed, 95 %", "controls", (0.0, 1.0)),
}
"""What can be drawn of raters: the question, the axis with its unit, what n is, and the range."""


def coefficient(row: Row, label: str = "") -> Value:
    """Hold a coefficient with its interval."""
    return value(
        row["value"],
        UNKNOWN,
        low=row["low"],
        high=row["high"],
        n=row["ratings"],
        clusters=row["documents"],
        label=label,
    )


def ranking(row: Row, label: str = "") -> Value:
    """Hold a mean Kendall's tau with its standard error over pairs of raters."""
    return value(row["kendall"], UNKNOWN, standard_error=row["standard_error"], n=row["rater_pairs"], label=label)


def coefficients(rows: Sequence[Row]) -> Table:
    """Lay out coefficients with what they rest on."""
    body = tuple(
        (
            row["coefficient"] + (f", k = {row['ratings_each']:.3g}" if row["ratings_each"] is not None else ""),
            coefficient(row),
            *(row[name] for name in ("outputs", "ratings", "raters", "documents")),
        )
        for row in rows
        if row["value"] is not None
    )
    columns = ("agreement on outputs", "value", "outputs", "ratings", "raters", "documents")
    return Table("Agreement of scores, with 95 % intervals over documents", columns, body)


def rankings(rows: Sequence[Row]) -> Table:
    """Lay out how far rankings of systems by two raters agree."""
    body = tuple(
        (row["kind"], ranking(row), *(row[name] for name in ("rater_pairs", "documents", "comparisons", "undefined")))
        for row in rows
        if row["kendall"] is not None
    )
    columns = ("over", "Kendall's tau", "pairs of raters", "documents", "comparisons", "without a ranking")
    return Table("Agreement of rankings of the systems, ± standard error over pairs of raters", columns, body)


def beside(rows: Sequence[Row]) -> Table:
    """Lay out raters beside the others; what nobody knows of anyone has no column."""
    columns: dict[str, tuple[Cell, ...]] = {"rater": tuple(row["rater"] for row in rows)}
    for name, title, of in (("leniency", "leniency [points]", "shared"), ("sharpness", "sharpness", "shared")):
        if any(row[name] is not None for row in rows):
            columns["shared outputs"] = tuple(row["shared"] for row in rows)
            columns[title] = tuple(_bounded(row, name, name, of) for row in rows)
    if any(row["seconds"] is not None for row in rows):
        columns["answers timed"] = tuple(row["timed"] for row in rows)
        columns["seconds"] = tuple(value(row["seconds"], UNKNOWN, n=row["timed"]) for row in rows)
        columns["hours"] = tuple(value(row["hours"], UNKNOWN) for row in rows)
    if any(row["controls"] for row in rows):
        columns["control items"] = tuple(row["controls"] for row in rows)
        columns["failed"] = tuple(row["failed"] for row in rows)
        columns["share failed"] = tuple(_bounded(row, "failed_share", "failed", "controls") for row in rows)
    return Table(
        "Each rater beside the others, with 95 % intervals", tuple(columns), tuple(zip(*columns.values(), strict=True))
    )


def _bounded(row: Row, name: str, stem: str, of: str) -> Value:
    return value(row[name], UNKNOWN, low=row[f"{stem}_low"], high=row[f"{stem}_high"], n=row[of])


def scores(rows: Sequence[Row]) -> Table:
    """Lay out how the scores of each rater are distributed."""
    titles = {
        "mean": "mean",
        "sd": "sd",
        "q25": "25 %",
        "q50": "50 %",
        "q75": "75 %",
        "q90": "90 %",
        "maximum": "most",
        "zero_share": "share of 0",
        "errors_per_segment": "errors a segment",
    }
    known = [name for name in titles if any(row[name] is not None for row in rows)]
    body = tuple(
        (row["rater"], row["ratings"], row["documents"], *(value(row[name], UNKNOWN) for name in known)) for row in rows
    )
    return Table(
        "Scores of each rater [points]", ("rater", "ratings", "documents", *(titles[name] for name in known)), body
    )


def pairs(rows: Sequence[Row]) -> Table:
    """Lay out Kendall's tau of each pair of raters that has one."""
    body = tuple(
        (
            row["first"],
            row["second"],
            *(value(row[name], UNKNOWN, n=row["documents"]) for name in ("single", "shared")),
            row["documents"],
        )
        for row in rows
        if row["single"] is not None or row["shared"] is not None
    )
    columns = ("rater", "and rater", "per document", "all shared documents", "documents")
    return Table("Kendall's tau between the rankings of systems by two raters", columns, body)


def worked(rows: Sequence[Row]) -> Table:
    """Lay out the hours of the table at several cuts."""
    body = tuple(
        (
            f"{row['cut']:,g}",
            Value(row["hours"]),
            Value(row["seconds"]),
            *(row[name] for name in ("answers", "logins", "people")),
        )
        for row in rows
    )
    columns = ("gaps cut at [s]", "hours", "seconds an answer", "answers", "logins", "people")
    return Table("Hours of work, gaps between answers cut", columns, body)


def predicted(rows: Sequence[Row]) -> Table:
    """Lay out what speeds of other people predict of the hours."""
    body = tuple(
        (
            row["people"],
            f"{row['cut']:,g}",
            Value(row["median"], low=row["low"], high=row["high"]),
            Value(row["happened"]),
            "yes" if row["inside"] else "NO",
        )
        for row in rows
    )
    columns = ("people whose speeds were learnt", "gaps cut at [s]", "hours predicted", "happened", "inside")
    return Table("Hours predicted from the speeds of other people, with 90 % intervals", columns, body)
