"""Write the crossings that a sweep with --locate found, and the share of the whole grid's campaigns that it took.

Such a sweep runs only the cells near where a measure reaches a value along an axis, or where two curves cross. The
functions take its store; `write` makes the answer.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from simlab.commands.flags import Form
from simlab.commands.notes import program
from simlab.commands.query_statistics import locate_crossing
from simlab.config.locating import Locate, read
from simlab.drawing.text import tables
from simlab.messages import pluralise
from simlab.types import UNRUN

if TYPE_CHECKING:
    import xarray as xr


def read_locate(dataset: xr.Dataset) -> Locate | None:
    """Return the target that the last run of a store located; None where it filled its grid."""
    located = json.loads(dataset.attrs.get("sweep", "{}")).get("locate")
    return None if located is None else read("locate", located)


def write(dataset: xr.Dataset, located: Locate, form: Form) -> str:
    """Format the crossings of a store's curves as table, csv or json.

    Raises InputError where a curve has fewer than three cells with a value.
    """
    statistics = locate_crossing(dataset, located)
    if form == "json":
        return tables.write_tables(statistics, form)
    if form != "table":
        return tables.write(statistics.rows, form)
    from simlab.drawing.reports.answers.query_statistics import report
    from simlab.drawing.reports.text import page

    return page(report(statistics))


def say_budget(dataset: xr.Dataset) -> str:
    """Format the number of campaigns of a store, and its share of those of the whole grid."""
    ran = dataset["status"].values != UNRUN
    whole = json.loads(dataset.attrs["sweep"])["grid"]
    cells, campaigns = int(ran.any(axis=-1).sum()), int(np.sum(ran))
    share = f"{campaigns / whole:.0%} of the {whole:,} of the whole grid"
    return f"{campaigns:,} campaigns in {pluralise(cells, 'cell')}: {share}"


def next_step(located: Locate, folder: Path) -> str:
    """Return the line that names the command that shows the cells."""
    return f"next: {program()} {shlex.join(['query', str(folder), '--measure', located.measure])}"
