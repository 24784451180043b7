"""Answer whether a store is what its ledger says, or its calculation gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simlab.commands.stores import named
from simlab.drawing.text import soundness
from simlab.engine import ledger
from simlab.parts import is_own
from simlab.store import calculations, verifying
from simlab.store.measures import measures_of
from simlab.types import InputError


def answer(folder: Path | None, conditions: Sequence[str]) -> tuple[str, bool]:
    """Check a store; return a line per check and whether all is well."""
    if conditions:
        raise InputError(f"verify checks a whole store; leave out {conditions[0]}")
    where = named(folder)
    if not (where / ledger.FILE).exists() and (calculated := calculations.verify(where)):
        return soundness.of_calculation(*calculated), not calculated[1]
    with ledger.reading(where) as book:
        sections = (book.declaration() or {})["measure"]
    # Parts of plug-in packages are not at hand here; their values are held against their checksums only.
    own = {name: section for name, section in sections.items() if is_own(section)}
    report = verifying.verify(where, measures_of({"measure": own}))
    return soundness.of_studies(report), not report.problems
