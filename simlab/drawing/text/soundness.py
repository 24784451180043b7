"""Return the findings of `simlab verify` as text: problems of a store, and how much of it was checked.

Call `describe_studies_check` with the `StoreReport` of `simlab.store.verifying`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import count_nouns

_STORE = "results.zarr"

if TYPE_CHECKING:
    from simlab.store.verifying import StoreReport


MOST = 3
"""Problems of one sort that are listed on a page for people; more are summed up."""


def describe_studies_check(report: StoreReport, most: int | None = MOST) -> str:
    """Write a line per problem (None: all, else up to `most` of a sort), and what was checked."""
    parts = [(report.cells, "cell"), (report.blocks, "block"), (report.arrays, "array")]
    checked = f"{', '.join(count_nouns([count], noun) for count, noun in parts)} checked"
    lines = summarise_lines(report.problems, most)
    if report.problems:
        return "\n".join([*lines, f"{checked}: {count_nouns([len(report.problems)], 'problem')}"])
    whole = "nothing is missing, the store is what the ledger says"
    if report.shards:
        whole = f"nothing is missing of {report.shards} that this folder is for; `simlab merge` brings shards together"
    return "\n".join([*lines, f"{checked}: checksums hold, {whole}"])


def summarise_lines(lines: Sequence[str], most: int | None) -> list[str]:
    """Sum up problems where more than `most` are of one sort: how many, in how many cells, and the first.

    A line is `sort: details`. None keeps all lines.
    """
    sorts: dict[str, list[str]] = {}
    for line in lines:
        sorts.setdefault(_sort(line), []).append(line)
    written = []
    for sort, alike in sorts.items():
        if most is None or len(alike) <= most:
            written += alike
            continue
        first = alike[0].removeprefix(f"{sort}: ")
        cells = {line.removeprefix(f"{sort}: ").partition("world ")[0] for line in alike if "world " in line}
        where = f" in {count_nouns([len(cells)], 'cell')}" if cells else ""
        written.append(f"{sort}: {len(alike)}{where}, e.g. {first}")
    return written


def _sort(line: str) -> str:
    return line.partition(":")[0] if not line.startswith(_STORE) else _STORE


def describe_calculation_check(count: int, problems: Sequence[str]) -> str:
    """Return a line per problem (a measure that differs), and one on how many measures were calculated anew."""
    end = "they differ" if problems else "the store holds the same"
    return "\n".join([*problems, f"{count_nouns([count], 'measure')} calculated anew: {end}"])
