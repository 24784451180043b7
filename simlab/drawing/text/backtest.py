"""Write how far predictions from a pilot came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.drawing.text import tables

if TYPE_CHECKING:
    from simlab.fitting.backtest import Record

METHODS = {"fit": "fitted world", "own": "fitted to these documents", "naive": "Gaussian noise, no raters"}
TARGETS = {"all": "all documents", "held_out": "documents held out"}


def page(summary: Sequence[Mapping[str, Any]], averages: Sequence[Record], splits: int) -> str:
    """Write the summary, predicted and observed SRP of the fitted worlds design by design, and what these rest on."""
    tables_of_targets = [_table(target, [one for one in averages if one.target == target]) for target in TARGETS]
    return "\n\n".join([_summary(summary), *tables_of_targets, _notes(splits)])


def _summary(summary: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            TARGETS[row["target"]],
            str(row["ratings_per_item"]),
            METHODS[row["method"]],
            *(tables.number(row[key], 3) for key in ("mae", "bias")),
            tables.number(row["coverage"], 2),
            tables.number(row["width"], 2),
            str(row["n"]),
        ]
        for row in summary
    ]
    header = ["studies on", "ratings", "predicted by", "mean abs. error", "bias", "90 % cover", "width", "n"]
    return tables.aligned(header, rows, left=3)


def _table(target: str, averages: Sequence[Record]) -> str:
    header = ["grouping", "normalization", "documents", "ratings", "predicted", "90 % from", "to", "observed"]
    rows = [_row(one) for one in averages if one.method == "fit"]
    return f"SRP on {TARGETS[target]}\n{tables.aligned(header, rows, left=2)}"


def _row(one: Record) -> list[str]:
    numbers = (one.predicted, one.low, one.high, one.observed)
    design = [one.grouping, one.normalization, str(one.documents), str(one.ratings_per_item)]
    return [*design, *(tables.number(value, 2) for value in numbers)]


def _notes(splits: int) -> str:
    return "\n".join([
        f"Averages over {splits} random split{'s' * (splits > 1)} of the documents; intervals are over worlds, without",
        "the noise of simulated studies; to be held against what was observed they are widened by its error.",
        "Predicted worlds re-reveal their ratings as the recorded table does: two studies share ratings by chance.",
        "Cells of one table share its ratings, so that their errors are not independent.",
    ])  # fmt: skip
