"""Write the line `next: simlab ...` that ends an answer, with the options that the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.flags import TableOptions, make_overrides
from simlab.commands.notes import program

if TYPE_CHECKING:
    import xarray as xr

    from simlab.tables.rating_table import ColumnOverrides


def step(*words: str | Path) -> str:
    """Write the line of the next command.

    >>> step("query", "my store").removeprefix("next: ").removeprefix("uv run ")
    "simlab query 'my store'"
    """
    return f"next: {program()} {shlex.join(map(str, words))}"


def add_next_step(text: str, *words: str | Path) -> str:
    """Put the next command below an answer for people."""
    return f"{text.rstrip()}\n\n{step(*words)}"


def suggest_for_store(dataset: xr.Dataset, folder: Path, conditions: Sequence[str]) -> list[str]:
    """Return the words of the command after a query: `compare` of its designs, or for a single cell `report`."""
    from simlab.drawing.text.findings import next_words

    words = shlex.split(next_words(dataset, folder))
    return [*words[:2], *conditions, *words[2:]] if words[0] == "compare" else report_words(folder)


def report_words(folder: Path) -> list[str]:
    """Return the words that make a report of a store."""
    return ["report", str(folder), "--out", "report.html"]


def told_words(overrides: ColumnOverrides) -> Iterator[str]:
    """Yield the words of the command line that describe a table (--columns and so on)."""
    columns = ",".join(f"{ours}={theirs}" for ours, theirs in overrides.columns.items())
    yield from option("columns", columns or None)
    yield from option("better", overrides.better)
    yield from option("scale", None if overrides.scale is None else f"{overrides.scale[0]:g}..{overrides.scale[1]:g}")
    yield from option("people", overrides.people)
    for column, value in overrides.where:
        yield from option("where", f"{column}={value}")
    yield from option("alike", None if overrides.alike == "refuse" else overrides.alike)
    yield from option("wide", ",".join(overrides.wide) or None)
    yield from option("decimal", overrides.decimal)


def option(name: str, value: object) -> list[str]:
    """Write an option as words; none for None."""
    if value is None:
        return []
    return [f"--{name}", f"{value:.12g}" if isinstance(value, float) else str(value)]


def write_table_words(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words of the command line for the table in a verb's options, `given`, and for its description."""
    yield from [] if given["table"] is None else [str(given["table"])]
    yield from told_words(read_overrides(given))


def read_overrides(given: Mapping[str, Any]) -> ColumnOverrides:
    """Return the description of a table from a verb's options, `given` by name."""
    return make_overrides(**{name: given[name] for name in TableOptions.__annotations__})
