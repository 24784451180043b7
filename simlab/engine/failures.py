"""Name cells and blocks that failed as the user knows them: by values on the axes."""

from __future__ import annotations

from dataclasses import dataclass

from simlab.engine.addresses import Finished
from simlab.engine.ledger import Ledger
from simlab.messages import shown


@dataclass(frozen=True, slots=True)
class Failure:
    """Name a block that failed, why, and by which words its first campaign is replayed."""

    address: str
    reason: str
    campaign: str = ""


def failures(book: Ledger) -> tuple[Failure, ...]:
    """List the blocks that failed, cell by cell, with addresses as the user knows them."""
    failed: dict[str, list[Finished]] = {}
    for block in book.failed():
        failed.setdefault(block.address.cell, []).append(block)
    return tuple(
        Failure(f"{name}{block.address}", block.reason, block.address.campaign(number))
        for number, (cell, name) in enumerate(cell_names(book).items() if failed else ())
        for block in failed.get(cell, ())
    )


def cell_names(book: Ledger) -> dict[str, str]:
    """Name the cells by their values on the axes; a name ends in a comma where there are axes."""
    declared = book.declaration()
    axes = declared["axes"] if declared else []
    return {
        cell: "".join(f"{axis['name']}={shown(axis['values'][k])}, " for axis, k in zip(axes, place, strict=True))
        for place, cell in (book.cells().items() if declared else ())
    }
