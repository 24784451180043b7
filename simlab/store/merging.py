"""Merge folders of one sweep, and lay the store of what they hold together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from simlab.engine.ledger import Ledger
from simlab.engine.merging import Merged
from simlab.engine.merging import merge as merge_ledgers
from simlab.engine.shards import listed
from simlab.messages import several, shown
from simlab.parts import is_own
from simlab.store.completeness import incomplete
from simlab.store.kept import refuse_strange_declaration
from simlab.store.measures import Labels, measures_of
from simlab.store.writing import materialise
from simlab.types import InputError


class Answered(NamedTuple):
    """Hold what a merge came to, and a line that says what is missing, where something is."""

    merged: Merged
    missing: str | None


def merge(
    out: Path,
    folders: Sequence[Path],
    *,
    labels: Labels,
    plugins: Sequence[str] = (),
    allow_version: bool = False,
    quiet: bool = False,
) -> Answered:
    """Merge folders into one, and lay its store; see `simlab.engine.merging.merge`.

    Raises InputError, before anything is written, for a measure of a package that is not among `plugins`, too.
    """
    missing: list[str] = []

    def look(book: Ledger) -> None:
        refuse_strange_declaration(book)
        _measure_sections(book, plugins)

    def finish(book: Ledger) -> Sequence[str]:
        missing.extend(_missing(book))
        if not book.n_blocks():
            return ()
        sections = {"measure": _measure_sections(book, plugins), "plugins": plugins}
        return materialise(book, measures_of(sections), labels)

    merged = merge_ledgers(out, folders, allow_version=allow_version, quiet=quiet, look=look, finish=finish)
    return Answered(merged, missing[0] if missing else None)


def _measure_sections(book: Ledger, plugins: Sequence[str]) -> dict[str, dict[str, object]]:
    """Return the measures that a sweep declares; no file makes anybody import the package of a plug-in."""
    sections: dict[str, dict[str, object]] = (book.declaration() or {}).get("measure", {})
    for name, section in sections.items():
        package = str(section.get("_target_", "")).partition(".")[0]
        if not is_own(section) and package not in plugins:
            raise InputError(
                f"{book.folder}: its measure {shown(name)} is one of the package {shown(package)}; if you trust it, "
                f"add --plugins {package}"
            )
    return sections


def _missing(book: Ledger) -> list[str]:
    """Say what a merged folder lacks of what was asked of those that were merged."""
    there, wanted = book.shortfall()
    if there >= wanted:
        return []
    shards = incomplete(book)
    of = f", all of {listed(shards)}" if shards else ""
    end = "run what is missing of these and merge them, too" if shards else "the command of the sweep computes the rest"
    return [f"missing: {wanted - there:,} of {several(wanted, 'campaign')}{of}; {end}"]
