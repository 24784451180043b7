"""Write the README of a store's folder: its contents, the command that made it, and how to open it.

Like the store it depends on the request only: the same command gives the same bytes. Where a folder was
continued by its name, the command that made it stays above the one that continued it. The `describe_...` functions
return the text, from what a sweep declares, and `write` puts it into the folder.
"""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from simlab.engine.ledger import FILE, STORE, is_archive
from simlab.files import reason
from simlab.messages import describe_replication, show
from simlab.store.layout import sort_axes
from simlab.store.measures import Labels
from simlab.types import InputError

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
"""

OPENING_ARCHIVE = """To open it with simlab, from the folder that this archive is in, whatever it is called:

    simlab query FILE.zip
    simlab report FILE.zip

in Python:

    import simlab

    results = simlab.open_results("FILE.zip")

and without simlab (xarray and zarr are enough):

    import xarray
    import zarr

    results = xarray.open_zarr(zarr.storage.ZipStore("FILE.zip", mode="r"), chunks=None)
"""

DIMENSIONS = """Dimensions are the axes below, then those of the outcomes; a measure m stands beside m_mcse (its
Monte-Carlo standard error), m_n (the campaigns behind it) and m_influence. Every variable has a long_name,
and units where it has one. What was not simulated (status other than 0), or is of no pair of a cell
(pair_exists), is NaN."""

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
"""End of the first line of a page that simlab wrote."""


def write(folder: Path, text: str) -> list[str]:
    """Put the page into a folder, in one step, so that nobody reads half of it.

    Returns a line for the user if it could not be written, else none: the store is complete all the same.
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


def describe_studies(declared: Mapping[str, Any], labels: Labels, command: str, cells: int | None = None) -> str:
    """Return the README of a folder of studies, from its declaration; `cells` of the grid are simulated (None: all)."""
    files = [
        (STORE, "measures, and what every campaign concluded, as labelled arrays (Zarr)"),
        (FILE, f"every finished block of campaigns (SQLite): the truth that {STORE} is laid from"),
    ]
    more = "The same command (with the same --out, if one was given) computes what is missing and mends damage."
    return _page(declared, labels, files, _command_lines(command, more), [LEDGER], cells)


def describe_calculation(declared: Mapping[str, Any], labels: Labels, command: str) -> str:
    """Return the README of the folder of a calculation, from its declaration."""
    return _page(
        declared, labels, [(STORE, "values over the axes, as labelled arrays (Zarr)")], _command_lines(command, ""), []
    )


def describe_archive(
    declared: Mapping[str, Any], labels: Labels, command: str, cells: int, beside: Sequence[tuple[str, str]]
) -> str:
    """Return the README of an archive, from its declaration and the files `beside` its arrays (name, description)."""
    files = [("the folders", "measures and outcomes, as labelled arrays (Zarr)"), *beside]
    more = "That command fills a folder with a ledger, which an archive has not: campaigns are carried out again there."
    return _page(declared, labels, files, _command_lines(command, "" if "calculation" in declared else more), [], cells)


def _studies(declared: Mapping[str, Any], size: int) -> tuple[str, dict[str, Any]]:
    """Count the cells of studies, and return the settings that they share."""
    settings = {key: value for key, value in declared["base"].items() if key != "measure"}
    return f"Cells: {size}, each {describe_replication(declared, 'x')}.", settings


def _calculation(declared: Mapping[str, Any], size: int) -> tuple[str, dict[str, Any]]:
    """Count the settings of a calculation, and return what they share."""
    on_axes = {axis["key"]: axis["values"] for axis in declared["axes"]}
    settings = {key: value for key, value in declared["calculation"].items() if key not in on_axes}
    error = "no sampling error"
    if "drawn" in on_axes.get("counts", [settings.get("counts")]):
        error = f"what rests on draws ({settings['draws']} of each setting) has a Monte-Carlo error, the rest none"
    return f"Settings: {size}, calculated without simulation: {error}.", settings


def read_command(store: Path) -> str:
    """Return the command that made a folder or an archive, by its README; '' where that names none."""
    try:
        lines = iter(_read_page(store).splitlines())
    except (OSError, InputError):
        return ""
    if MADE not in lines:
        return ""
    return next((line.strip() for line in lines if line.strip()), "")


def join_commands(folder: Path, command: str) -> str:
    """Put the command that made a folder above one that continues it by its name, each in a line."""
    words, made = shlex.split(command), read_command(folder)
    continues = words[1:2] == ["sweep"] and words[2:] and Path(words[2]).resolve() == folder.resolve()
    return f"{made}\n    {command}" if continues and made not in ("", command) else command


def _read_page(store: Path) -> str:
    if not is_archive(store):
        return (store / PAGE).read_text(encoding="utf-8", errors="replace")
    from simlab.store.archive import reading

    with reading(store) as archive:
        return archive.read(PAGE).decode("utf-8", "replace")


def _command_lines(command: str, more: str) -> list[str]:
    return ["\n\n".join([f"{MADE}\n\n    {command}", *([more] if more else [])])] if command else []


def _page(
    declared: Mapping[str, Any],
    labels: Labels,
    files: Sequence[tuple[str, str]],
    made: Sequence[str],
    last: Sequence[str],
    cells: int | None = None,
) -> str:
    size = math.prod(len(axis["values"]) for axis in declared["axes"]) if cells is None else cells
    counted, settings = (_calculation if "calculation" in declared else _studies)(declared, size)
    head = [f"{declared['name']}{OURS}", *([_wrap_lines(declared["aim"])] if declared["aim"] else [])]
    head += [_wrap_lines(f"Reservation: {note}.")] if (note := declared.get("reservation")) else []
    head += [_wrap_lines(f"Adapted: {note}.")] if (note := declared.get("adapted")) else []
    listed = "\n".join(f"{name:<14} {about}" for name, about in files)
    measures = [f"    {name}: {labels.get(name, {}).get('label', name)}" for name in declared["measures"]]
    in_order = sort_axes(declared["axes"])[0]
    axes = [f"    {axis['name']} ({axis['key']}): {_values(axis['values'])}" for axis in in_order]
    what = "\n".join([counted, *(["Axes:", *axes] if axes else []), "Measures:", *measures])
    opening = (OPENING if STORE in dict(files) else OPENING_ARCHIVE) + "\n" + DIMENSIONS
    kept = yaml.safe_dump(dict(settings), sort_keys=True, allow_unicode=True, width=WIDTH)
    shared = f"What all cells share:\n\n{textwrap.indent(kept, '    ')}"
    return "\n\n".join([*head, listed, *made, opening, what, *last, shared.rstrip()]) + "\n"


def _wrap_lines(text: str) -> str:
    return "\n".join(textwrap.fill(line, WIDTH) for line in text.strip().splitlines())


def _values(values: Sequence[Any], most: int = 20) -> str:
    more = [f"... ({len(values)} values)"] if len(values) > most else []
    return ", ".join([*map(show, values[:most]), *more])
