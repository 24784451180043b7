"""Answer which designs are best, of one store along an axis or of several stores cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.next_steps import ended
from simlab.commands.stores import Comparison, compared, compared_stores, named, several, viewed
from simlab.comparing import contrasts
from simlab.comparing.contrasts import Row
from simlab.drawing import view
from simlab.drawing.text import comparison, tables
from simlab.drawing.text.tables import Form
from simlab.store.held_fixed import HELD_FIXED


class Compared(NamedTuple):
    """Hold the answer of a comparison, and the exit code."""

    text: str
    code: int


def answer(
    folder: Path | None,
    conditions: Sequence[str],
    by: str,
    measure: str | None,
    baseline: str | None,
    form: Form,
    at_equal: str | None = None,
) -> Compared:
    """Write the paired differences between the designs along an axis, `at_equal` where these cost the same.

    Raises InputError for a store, an axis, a value or a measure that is not there.
    """
    folder = named(folder)
    with viewed(folder, conditions) as dataset:
        said = compared(dataset, by, measure, baseline, at_equal)
        return Compared(_written(said, form, [folder], conditions), _code(said))


def of_stores(
    folders: Sequence[Path], conditions: Sequence[str], measure: str | None, baseline: str | None, form: Form
) -> Compared:
    """Write the differences between the cells of several stores, paired where they met the same worlds.

    Raises InputError for folders of the same name, and for stores without a measure in common.
    """
    with ExitStack() as stack:
        said = compared_stores(several(stack, folders), conditions, measure, baseline)
        return Compared(_written(said, form, folders, conditions), _code(said))


def _written(said: Comparison, form: Form, folders: Sequence[Path], conditions: Sequence[str]) -> str:
    listed = contrasts.records(said.rows, said.by, said.measure)
    fixed = {HELD_FIXED: said.held_fixed} if said.held_fixed else {}
    listed = [{**record, **cells, **fixed} for record, cells in zip(listed, _cells(said), strict=True)]
    if form != "table":
        return tables.write(contrasts.flat(listed) if form == "csv" else listed, form)
    text = comparison.table(
        said.rows, said.by, said.measure, view.cluster_word(said.cluster), paired=said.paired, fixed=said.held_fixed
    )
    more = [comparison.at_equal(said.equal.level, said.equal.along)] if said.equal else []
    page = "\n".join([text, *more, *(comparison.unlike(said.differing) if said.differing else [])])
    return ended(page, "plot", folders[0], *conditions, "--measure", said.measure)


def _cells(said: Comparison) -> list[dict[str, object]]:
    """Say of each row between which cells it lies, and how near it is to the second; nothing without equal costs."""
    equal = said.equal
    if equal is None:
        return [{} for _ in said.rows]
    values = equal.values
    return [
        {"at_equal": equal.level, "between": [values[k] for k in pair], "weight": weight}
        for pair, weight in zip(equal.between.reshape(-1, 2).tolist(), equal.weight.ravel().tolist(), strict=True)
    ]


def _code(said: Comparison) -> int:
    """Return the exit code: a reservation where no best design can be named, and where campaigns failed."""
    if any(row.failed for row in said.rows):
        return RESERVED
    cells: dict[str, list[Row]] = {}
    for row in said.rows:
        cells.setdefault(repr(row.at), []).append(row)
    return DONE if all(map(_clean, cells.values())) else RESERVED


def _clean(rows: Sequence[Row]) -> bool:
    """Tell whether a design of a cell is called the best, or none could be for want of clusters."""
    standings = {row.standing for row in rows}
    return "best" in standings or not standings & {"marked", "unranked"}
