"""Simulate campaigns of designs on demand and measure them, keeping all campaigns in one ledger.

A sweep knows its cells beforehand; a search finds out which it needs. Here a design becomes a cell when it is first
looked at, and each look asks for so many worlds of it. Worlds have the same addresses in all designs, so designs are
compared on the same worlds, and a folder that was begun goes on where it was. `open_laboratory` opens one;
`Laboratory.look` takes the number of worlds of each design, and returns its measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from simlab.config.sweep import Sweep, omit_resources
from simlab.engine import ledger
from simlab.engine.addresses import Address
from simlab.engine.backends import Backend, open_backend
from simlab.engine.block_checks import Fitting, find_unusable
from simlab.engine.bounds import check_jobs
from simlab.engine.conclusions import describe_plugin_kinds
from simlab.engine.continuation import cell_key, declare, determining_settings, same_numbers
from simlab.engine.ledger import Ledger, LedgerEntry
from simlab.engine.preparing import check_shape
from simlab.engine.provenance import code_digest, digest_installation, provenance, refuse_other_program
from simlab.engine.run import carry_out, make_fitting
from simlab.engine.shards import SweepSizes, missing_blocks
from simlab.engine.workers import BlockTask
from simlab.types import Estimate, InputError, Place

Design: TypeAlias = Hashable
Measure = Callable[[Ledger, LedgerEntry, int], Mapping[str, Estimate]]
"""Returns the estimates, by measure, of a cell from the campaigns in its first n worlds: `measure(ledger, cell, n)`."""


@dataclass(slots=True)
class Laboratory:
    """Look at designs: carry out the missing campaigns of their worlds, and measure them.

    `compose` makes the config of a design, `measure` its estimates, `base` has the pools and draws of documents of a
    world. `cells` has the cell of each design, `seconds` is the patience. Of each cell `worlds` were
    asked for; a folder that holds more gives the same answers as one that is filled just now. What was `tried` and
    failed is not tried again while this laboratory is open.
    """

    book: Ledger
    backend: Backend
    fitting: Fitting
    compose: Callable[[Any], Mapping[str, Any]]
    measure: Measure
    base: Sweep
    seconds: float
    quiet: bool
    began: float = field(default_factory=time.monotonic)
    cells: dict[Design, LedgerEntry] = field(default_factory=dict)
    worlds: dict[str, int] = field(default_factory=dict)
    measured: dict[str, tuple[int, Mapping[str, Estimate]]] = field(default_factory=dict)
    tried: set[Address] = field(default_factory=set)
    seconds_per_world: float = 0.0

    @property
    def campaigns(self) -> int:
        """Count the campaigns that the answers given so far rest on."""
        return sum(self.worlds.values()) * self.base.of_world

    def remaining_seconds(self) -> float:
        """Return how many seconds of patience are left."""
        return self.seconds - (time.monotonic() - self.began)

    def pace(self) -> float:
        """Return how many seconds a world of a design takes, as the last look took; 0 before there was one."""
        return self.seconds_per_world

    def look(self, wants: Mapping[Any, int]) -> dict[Any, Mapping[str, Estimate]]:
        """Carry out missing campaigns in the first `wants[design]` worlds of each design; return measures by design.

        Raises InputError, before anything is carried out, for a design whose keys contradict each other.
        """
        self._take_in([design for design in wants if design not in self.cells])
        entries = [self.cells[design] for design in wants]
        for entry, n in zip(entries, wants.values(), strict=True):
            self.worlds[entry.cell] = max(n, self.worlds.get(entry.cell, 0))
        if tasks := self._list_missing(entries):
            self.book.mark_stale()
            self.tried.update(task.address for task in tasks)
            engine, began = self.base.base["engine"], time.monotonic()
            carry_out(tasks, self.book, self.fitting, self.backend, engine, self.quiet)
            self.seconds_per_world = (
                (time.monotonic() - began) / len(tasks) * self.base.pools * self.base.document_draws
            )
        return {design: self._measure_design(self.cells[design]) for design in wants}

    def _take_in(self, designs: Sequence[Design]) -> None:
        """Make cells of designs that were not looked at before; what the ledger holds of them is found by their key.

        Files that they read may lie elsewhere by now, which the ledger then notes.
        """
        from simlab.studies.checks import check

        known = {entry.cell: entry for entry in self.book.entries()}
        new: list[LedgerEntry] = []
        for design in designs:
            config = omit_resources(self.compose(design))
            key = cell_key(config)
            if key not in known:
                names = tuple(check_shape(config, "", check).system_names)
                new.append(LedgerEntry((len(known),), key, config, names))
                known[key] = new[-1]
            elif determining_settings(known[key].config) != determining_settings(config):
                new.append(replace(known[key], config=config))
                known[key] = new[-1]
            self.cells[design] = known[key]
        if new:
            sizes = {entry.cell: (1, self.base.studies) for entry in new}
            self.book.admit(self._declare_designs(list(known.values())), new, sizes)

    def _declare_designs(self, entries: Sequence[LedgerEntry]) -> dict[str, Any]:
        """Return the declaration of the folder: designs along one axis, named by the keys of their cells."""
        axis = {"key": "design", "name": "design", "values": [entry.cell for entry in entries]}
        return declare(self.base) | describe_plugin_kinds([entry.config for entry in entries]) | {"axes": [axis]}

    def _list_missing(self, entries: Sequence[LedgerEntry]) -> list[BlockTask]:
        """List the campaigns that are missing, world by world, those of all designs in a row."""
        studies, configs = self.base.studies, {entry.cell: entry.config for entry in entries}
        most = max((self.worlds[cell] for cell in configs), default=0)
        whole = SweepSizes(most, self.base.pools, self.base.document_draws, studies, len(configs), studies)

        def gaps(cell: str, at: Place) -> list[tuple[int, int]]:
            lacking = at.world < self.worlds[cell] and self.book.find_gaps(cell, at, studies)
            return [(0, studies)] if lacking else []

        blocks = missing_blocks(whole, list(configs), gaps)
        return [BlockTask(at, configs[at.cell]) for at in blocks if at not in self.tried]

    def _measure_design(self, entry: LedgerEntry) -> Mapping[str, Estimate]:
        n = self.worlds[entry.cell]
        if entry.cell not in self.measured or self.measured[entry.cell][0] != n:
            self.measured[entry.cell] = n, self.measure(self.book, entry, n)
        return self.measured[entry.cell][1]


@contextmanager
def open_laboratory(
    kept: Path | Ledger,
    base: Sweep,
    compose: Callable[[Any], Mapping[str, Any]],
    measure: Measure,
    *,
    jobs: int | None = None,
    seconds: float = float("inf"),
    quiet: bool = False,
    allow_version: bool = False,
) -> Iterator[Laboratory]:
    """Open a ledger and the processes that carry out campaigns, and yield a laboratory whose patience is `seconds`.

    `kept` is the folder of the ledger, or a ledger that is open for writing already.
    `base` is the study that all designs share, with its engine, pools and draws of documents. Raises InputError, before
    anything is written, where the folder holds another base or other numbers, or another run is at it.
    """
    from simlab.engine.preparing import count_jobs

    processes = check_jobs(count_jobs(base, jobs), "jobs")
    opened: AbstractContextManager[Ledger] = (
        nullcontext(kept) if isinstance(kept, Ledger) else ledger.open_to_write(kept)
    )
    with open_backend(base.base["engine"], processes, quiet=quiet) as backend, opened as book:
        folder = book.folder
        declaration = book.declaration()
        if declaration is not None and not same_numbers(declaration["base"], declare(base)["base"]):
            raise InputError(f"{folder} holds campaigns of another plan; give another --out")
        refuse_other_program(book, allowed=allow_version)
        if torn := [row for row, _ in find_unusable(book, seen=book.is_seen(digest_installation()))]:
            book.discard(torn)
        book.note_provenance(provenance())
        book.note_code(code_digest())
        fitting = make_fitting(None, book.entries())
        yield Laboratory(book, backend, fitting, compose, measure, base, seconds, quiet)
        book.note_seen(digest_installation())
