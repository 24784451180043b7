"""Write how far predictions from a pilot came true: a table, records, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.text import tables
from simlab.drawing.text.tables import Form
from simlab.fitting import backtest
from simlab.fitting.backtest import Record
from simlab.types import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHODS = {"fit": "fitted world", "own": "fitted to these documents", "naive": "Gaussian noise, no raters"}
TARGETS = {"all": "all documents", "held_out": "documents held out"}
COLOURS = {"pseudo_side_by_side": "#0072B2", "system_balanced": "#D55E00", "ungrouped": "#009E73"}
MARKERS = {"none": "o", "mean": "s", "error": "^", "zscore": "D"}


def answer(
    table: Path | None,
    pilot_share: float,
    *,
    splits: int,
    quick: bool,
    form: Form,
    plot: Path | None,
    seed: int,
    jobs: int | None,
) -> str:
    """Carry out a backtest and write what came of it; draw it if asked.

    Raises InputError before anything is fitted for what is asked wrongly or malformed.
    """
    from simlab.drawing.figures import sweeps as figures

    if plot is not None:
        figures.check_suffix(plot)
    records = carry_out(table, pilot_share, splits=1 if quick else splits, quick=quick, seed=seed, jobs=jobs)
    if plot is not None:
        import matplotlib as mpl

        with mpl.rc_context(figures.STYLE):
            figures.save(figure(records), plot)
    if form != "table":
        return tables.write([record._asdict() for record in records], form)
    return "\n\n".join([_summary(records), *_tables(records), _notes(records)])


def carry_out(
    table: Path | None, pilot_share: float, *, splits: int, quick: bool, seed: int, jobs: int | None
) -> list[Record]:
    """Carry out all tasks of a backtest on as many processes as there are cores."""
    from joblib import Parallel, delayed

    from simlab.commands.launch import note
    from simlab.rng import stream
    from simlab.world.recorded import holds_averages, recorded

    world = recorded(stream(0, "backtest"), path=None if table is None else str(table), sha256=None, names=None)
    if holds_averages(world):
        raise InputError(f"{table}: holds averaged scores without raters; give the table of ratings per rater")
    asked = backtest.tasks(world, pilot_share, splits, backtest.QUICK if quick else backtest.FULL, seed)
    note(f"{len(asked)} tasks: {splits} splits, each predicted for all documents and for those held out")
    found: Any = Parallel(n_jobs=jobs or -1)(delayed(backtest.carry_out)(task) for task in asked)
    return [record for records in found for record in records]


def _summary(records: Sequence[Record]) -> str:
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
        for row in backtest.summary(records)
    ]
    header = ["studies on", "ratings", "predicted by", "mean abs. error", "bias", "90 % cover", "width", "n"]
    return tables.aligned(header, rows, left=3)


def _tables(records: Sequence[Record]) -> list[str]:
    """Write predicted and observed SRP of the fitted worlds, averaged over splits."""
    texts = []
    for target, named in TARGETS.items():
        own = [record for record in records if (record.target, record.method) == (target, "fit")]
        header = ["grouping", "normalization", "documents", "ratings", "predicted", "90 % from", "to", "observed"]
        texts.append(f"SRP on {named}\n" + tables.aligned(header, [_row(group) for group in _cells(own)], left=2))
    return texts


def _cells(records: Sequence[Record]) -> list[list[Record]]:
    def key(record: Record) -> tuple[str, str, int, int]:
        return record.grouping, record.normalization, record.ratings_per_item, record.documents

    return [list(group) for _, group in groupby(sorted(records, key=key), key)]


def _row(cell: Sequence[Record]) -> list[str]:
    first = cell[0]
    numbers = np.array([[one.predicted, one.low, one.high, one.observed] for one in cell]).mean(0)
    place = [first.grouping, first.normalization, str(first.documents), str(first.ratings_per_item)]
    return [*place, *(tables.number(float(value), 2) for value in numbers)]


def _notes(records: Sequence[Record]) -> str:
    splits = len({record.split for record in records})
    return "\n".join([
        f"Averages over {splits} random split{'s' * (splits > 1)} of the documents; intervals are over worlds.",
        "Predicted worlds re-reveal their ratings as the recorded table does: two studies share ratings by chance.",
        "Cells of one table share its ratings, so that their errors are not independent.",
    ])  # fmt: skip


def figure(records: Sequence[Record]) -> Figure:
    """Draw predicted against observed SRP: targets side by side, the fitted world above, the naive one below."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7.6, 7.4), layout="constrained")
    grid = drawn.subplots(2, 2, sharex=True, sharey=True)
    single = [record._replace(ratings_per_item=1) for record in records]
    rows = {(row["target"], row["method"]): row for row in backtest.summary(single)}
    for i, method in enumerate(("fit", "naive")):
        for j, target in enumerate(TARGETS):
            own = [record for record in records if (record.target, record.method) == (target, method)]
            _draw(grid[i, j], own)
            row = rows[target, method]
            words = f"mean abs. error {row['mae']:.3f}, {row['coverage']:.0%} of 90 % intervals hold"
            grid[i, j].set_title(f"{TARGETS[target]}: {METHODS[method]}\n{words}", fontsize=9)
    grid[1, 0].set(xlabel="predicted SRP", ylabel="observed SRP")
    grid[1, 1].set(xlabel="predicted SRP")
    grid[0, 0].set(ylabel="observed SRP")
    _legend(drawn)
    return drawn


def _draw(axes: Axes, records: Sequence[Record]) -> None:
    axes.plot([0, 1], [0, 1], color="0.5", linewidth=0.8)
    for record in records:
        colour, marker = COLOURS[record.grouping], MARKERS[record.normalization]
        axes.plot([record.low, record.high], [record.observed] * 2, color=colour, alpha=0.25, linewidth=1)
        filled = colour if record.ratings_per_item == 1 else "white"
        axes.plot(record.predicted, record.observed, marker, color=colour, markerfacecolor=filled, markersize=4)
    lows = [min(record.low, record.observed) for record in records]
    axes.set(aspect="equal", xlim=(min(axes.get_xlim()[0], min(lows) - 0.02), 1.02))
    low = max(min(lows) - 0.03, 0)
    axes.set(xlim=(low, 1.02), ylim=(low, 1.02))


def _legend(drawn: Figure) -> None:
    from matplotlib.lines import Line2D

    entries = [Line2D([], [], marker="o", linestyle="", color=c, label=g.replace("_", " ")) for g, c in COLOURS.items()]
    entries += [Line2D([], [], marker=m, linestyle="", color="0.3", label=n) for n, m in MARKERS.items()]
    entries.append(Line2D([], [], marker="o", linestyle="", color="0.3", markerfacecolor="white", label="2 ratings"))
    drawn.legend(handles=entries, loc="outside lower center", ncols=4, fontsize=8)
