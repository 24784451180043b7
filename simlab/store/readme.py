"""Write the page that lies beside a store: what the folder holds, what made it, how to open it with and without simlab.

Like the store it depends on nothing but what was asked: the same command gives the same bytes.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from simlab.engine.ledger import FILE, STORE
from simlab.files import reason
from simlab.messages import replicated, shown
from simlab.store.layout import sort_axes
from simlab.store.measures import Labels

PAGE = "README.txt"
WIDTH = 100

OPENING = f"""To open it with simlab, from the folder that this file is in:

    simlab query .
    simlab plot .

in Python:

    import simlab

    results = simlab.open_results(".")

and without simlab (xarray and zarr are enough):

    import xarray

    results = xarray.open_zarr("{STORE}", chunks=None)

Dimensions are the axes below, then those of the outcomes; a measure m stands beside m_mcse (its Monte-Carlo
standard error), m_n (the campaigns behind it) and m_influence. Every variable has a long_name, and units where it
has one. What was not simulated (status other than 0), or is of no pair of a cell (pair_exists), is NaN."""

LEDGER = """The ledger without simlab (numpy is enough). A row is a block of studies of one world of a cell:

    import io
    import sqlite3

    import numpy

    ledger = sqlite3.connect("ledger.sqlite")
    rows = ledger.execute("SELECT cell, world, first, count, payload FROM blocks WHERE length(payload) > 0")
    for cell, world, first, count, payload in rows:
        outcomes = dict(numpy.load(io.BytesIO(payload)))  # name: array[study, ...]
    configs = dict(ledger.execute("SELECT cell, config FROM cells"))  # as JSON"""


MADE = "Made by"
OURS = ": results of simlab"
"""Stands in the first line of a page that simlab wrote."""


def write(folder: Path, text: str) -> list[str]:
    """Put the page into a folder, in one step, so that nobody reads half of it.

    Returns a line, or none, that says why it could not be: the store that it describes is there all the same.
    """
    part, page = folder / f"{PAGE}.new", folder / PAGE
    try:
        if page.exists() and OURS not in page.read_text(encoding="utf-8", errors="replace").partition("\n")[0]:
            return [f"{page} is not simlab's and stays as it is; the store beside it is whole"]
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(folder / PAGE)
    except OSError as error:
        return [f"{folder / PAGE} is not written ({reason(error)}); the store beside it is whole"]
    return []


def of_studies(declared: Mapping[str, Any], labels: Labels, command: str) -> str:
    """Say what a folder of studies holds, from what its sweep declares."""
    size = math.prod(len(axis["values"]) for axis in declared["axes"])
    files = [
        (STORE, "measures, and what every campaign concluded, as labelled arrays (Zarr)"),
        (FILE, f"every finished block of campaigns (SQLite): the truth that {STORE} is laid from"),
    ]
    campaigns = f"Cells: {size}, each {replicated(declared, 'x')}."
    more = "The same command (with the same --out, if one was given) computes what is missing and mends damage."
    settings = {key: value for key, value in declared["base"].items() if key != "measure"}
    return _page(declared, labels, files, _made(command, more), [campaigns], [LEDGER], settings)


def of_calculation(declared: Mapping[str, Any], labels: Labels, command: str) -> str:
    """Say what the folder of a calculation holds, from what it declares."""
    size = math.prod(len(axis["values"]) for axis in declared["axes"])
    files = [(STORE, "values over the axes, as labelled arrays (Zarr)")]
    on_axes = {axis["key"]: axis["values"] for axis in declared["axes"]}
    settings = {key: value for key, value in declared["calculation"].items() if key not in on_axes}
    error = "no sampling error"
    if "drawn" in on_axes.get("counts", [settings.get("counts")]):
        error = f"what rests on draws ({settings['draws']} of each setting) has a Monte-Carlo error, the rest none"
    calculated = f"Settings: {size}, calculated without simulation: {error}."
    return _page(declared, labels, files, _made(command, ""), [calculated], [], settings)


def command_in(folder: Path) -> str:
    """Return the command that a folder's page says it was made by; empty where the page is not there, or says none."""
    try:
        lines = iter((folder / PAGE).read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return ""
    if MADE not in lines:
        return ""
    return next((line.strip() for line in lines if line.strip()), "")


def _made(command: str, more: str) -> list[str]:
    return ["\n\n".join([f"{MADE}\n\n    {command}", *([more] if more else [])])] if command else []


def _page(
    declared: Mapping[str, Any],
    labels: Labels,
    files: Sequence[tuple[str, str]],
    made: Sequence[str],
    counted: Sequence[str],
    last: Sequence[str],
    settings: Mapping[str, Any],
) -> str:
    head = [f"{declared['name']}{OURS}", *([_filled(declared["aim"])] if declared["aim"] else [])]
    head += [_filled(f"Reservation: {said}.")] if (said := declared.get("reservation")) else []
    listed = "\n".join(f"{name:<14} {about}" for name, about in files)
    measures = [f"    {name}: {labels.get(name, {}).get('label', name)}" for name in declared["measures"]]
    in_order = sort_axes(declared["axes"])[0]
    axes = [f"    {axis['name']} ({axis['key']}): {_values(axis['values'])}" for axis in in_order]
    what = "\n".join([*counted, *(["Axes:", *axes] if axes else []), "Measures:", *measures])
    kept = yaml.safe_dump(dict(settings), sort_keys=True, allow_unicode=True, width=WIDTH)
    shared = f"What all cells share:\n\n{textwrap.indent(kept, '    ')}"
    return "\n\n".join([*head, listed, *made, OPENING, what, *last, shared.rstrip()]) + "\n"


def _filled(text: str) -> str:
    return "\n".join(textwrap.fill(line, WIDTH) for line in text.strip().splitlines())


def _values(values: Sequence[Any], most: int = 20) -> str:
    more = [f"... ({len(values)} values)"] if len(values) > most else []
    return ", ".join([*map(shown, values[:most]), *more])
