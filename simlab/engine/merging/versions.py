"""Hold the code that filled folders against each other: blocks of different code may differ in their last bits."""

from __future__ import annotations

from collections.abc import Sequence

from simlab.engine.ledger import Ledger
from simlab.engine.merging.sources import Source
from simlab.engine.provenance import PROGRAM, UNKNOWN, installation
from simlab.messages import legible
from simlab.types import InputError


def refuse_other_code(sources: Sequence[Source], *, allowed: bool) -> None:
    """Raise InputError where folders were filled by different code, unless that is allowed."""
    filled = [source for source in sources if source.book.provenance()]
    if allowed or not filled:
        return
    first = filled[0]
    for source in filled:
        there, here = _versions(first.book), _versions(source.book)
        for name in there:
            if UNKNOWN in here[name]:
                raise InputError(
                    f"{legible(source.folder)} does not say any more which simlab filled it; leave it out, or give "
                    "--allow-version to merge it as it is"
                )
            if there[name] != here[name]:
                raise InputError(_said(name, first, there[name], source, here[name]))


def _versions(book: Ledger) -> dict[str, set[str]]:
    kept = book.provenance()
    versions = {name: {one.get(name, UNKNOWN) for one in kept} for name in PROGRAM}
    return versions | {"code": set(book.noted("code", [])) or {UNKNOWN}}


def _said(name: str, first: Source, there: set[str], source: Source, here: set[str]) -> str:
    what = "the code of simlab" if name == "code" else name
    a, b = (" and ".join(sorted(one[:15] for one in values)) for values in (there, here))
    return (
        f"{legible(first.folder)} and {legible(source.folder)} were filled by different code ({what}: {a}, and {b}), "
        "which may give other numbers; fill them by one simlab, or give --allow-version to merge them as they are"
    )


def note(book: Ledger, sources: Sequence[Source]) -> None:
    """Note of all that is merged which versions it comes from, and what was checked and is still to be."""
    for source in sources:
        for versions in source.book.provenance():
            if versions not in book.provenance():
                book.note_provenance(versions)
        book.note_code(*source.book.noted("code", []))
        book.note_known(installation(), source.book.known(installation()))
    if not all(source.book.noted("sampled", True) for source in sources):
        book.note(sampled=False)
