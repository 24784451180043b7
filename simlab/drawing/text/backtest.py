"""Write how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.text import tables

if TYPE_CHECKING:
    from simlab.fitting.backtest.records import Record

METHODS = {"fit": "fitted world", "own": "fitted to these documents", "naive": "Gaussian noise, no raters"}
TARGETS = {"all": "all documents", "held_out": "documents held out"}
MEASURES = {
    "srp": "SRP",
    "confirmed": "confirmed",
    "significant_share": "significant",
    "power": "power",
    "kendall": "Kendall's tau",
}


def page(summary: Sequence[Mapping[str, Any]], averages: Sequence[Record], splits: int) -> str:
    """Write how close predictions came, measure by measure; what they were, design by design; what that rests on."""
    targets = {one.target for one in averages}
    target = "all" if "all" in targets else "held_out"
    shown = [one for one in averages if one.method == "fit" and one.target == target]
    return "\n\n".join([_summary(summary), _designs(shown), "\n".join(notes(averages, splits))])


def _summary(summary: Sequence[Mapping[str, Any]]) -> str:
    by = {(row["measure"], row["target"], row["ratings_per_item"], row["method"]): row for row in summary}
    rows = [_line(by, row) for row in summary if row["method"] == "fit"]
    header = ["measure", "studies on", "ratings", "mean abs. error", "bias", "90 % cover", "width", "n"]
    others = ["own", "naive"] if any(row["method"] == "own" for row in summary) else ["naive"]
    return tables.aligned([*header, *others], [row[: 8 + len(others)] for row in rows], left=2)


def _line(by: Mapping[tuple[Any, ...], Mapping[str, Any]], row: Mapping[str, Any]) -> list[str]:
    place = row["measure"], row["target"], row["ratings_per_item"]
    own, naive = (by.get((*place, method), {}).get("mae", float("nan")) for method in ("own", "naive"))
    others = [own, naive] if any(key[3] == "own" for key in by) else [naive]
    return [
        MEASURES[row["measure"]],
        TARGETS[row["target"]],
        str(row["ratings_per_item"]),
        *(tables.number(row[key], 3) for key in ("mae", "bias")),
        *(tables.number(row[key], 2) for key in ("coverage", "width")),
        str(row["n"]),
        *(tables.number(value, 3) for value in others),
    ]


def _designs(averages: Sequence[Record]) -> str:
    """Show predicted and real values of one normalisation and number of ratings; the others are for programs."""
    if not averages:
        return ""
    first = min((one.normalization != "none", one.ratings_per_item, one.normalization) for one in averages)
    chosen = [one for one in averages if (one.ratings_per_item, one.normalization) == first[1:]]
    cells: dict[tuple[str, int], dict[str, str]] = {}
    for one in chosen:
        value = f"{tables.number(one.predicted, 2)} | {tables.number(one.observed, 2)}"
        cells.setdefault((one.grouping, one.documents), {})[one.measure] = value
    names = [name for name in MEASURES if any(name in row for row in cells.values())]
    rows = [[g, str(d), *(row.get(name, "-") for name in names)] for (g, d), row in cells.items()]
    ratings = f"{first[1]} rating{'s' * (first[1] > 1)} per output, normalization {first[2]}"
    title = f"Predicted | real, on {TARGETS[chosen[0].target]}, {ratings}"
    return f"{title}\n{tables.aligned(['grouping', 'documents', *(MEASURES[name] for name in names)], rows)}"


def notes(averages: Sequence[Record], splits: int) -> list[str]:
    """Say what predictions rest on, and what could not be held against anything."""
    why = {one.unknown: MEASURES[one.measure] for one in averages if one.unknown}
    laws = ", ".join(dict.fromkeys(one.law for one in averages if one.law))
    return [
        f"Law: {laws}. Averages over {splits} random split{'s' * (splits > 1)} of the documents. Intervals are over"
        " worlds, without the",
        "noise of simulated studies; to be held against what was observed they are widened by its error.",
        *_methods(averages),
        *(f"{name}: - where {said}." for said, name in why.items()),
        *_repetitions(averages),
        "Cells of one table share its ratings: their errors are not independent, and coverage is reported, no more.",
        "--format csv or json has every design, normalisation and interval.",
    ]


def _methods(averages: Sequence[Record]) -> list[str]:
    shown = [f"{name}: {METHODS[name]}" for name in ("own", "naive") if any(one.method == name for one in averages)]
    return [f"Mean abs. errors of others: {'; '.join(shown)}."] if shown else []


def _repetitions(averages: Sequence[Record]) -> list[str]:
    if all(one.repetition == "same documents" for one in averages):
        return []
    return ["Where nobody else rated an output, a study is compared with studies of other documents of the table."]
