"""Check a sweep before anything of it is carried out: sizes first, counted from the config, then each cell.

`prepare` returns a `PreparedSweep`: its declaration, its cells with their configs and systems, and their sizes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol

from simlab.config.sweep import Alike, Cell, Sweep, Written, omit_resources
from simlab.engine.addresses import Finished
from simlab.engine.bounds import Memory, check_jobs, forecast_memory, free_disk, refuse_many_blocks, refuse_memory
from simlab.engine.conclusions import campaign_bytes, describe_plugin_kinds
from simlab.engine.continuation import CROSSED, cell_key, declare
from simlab.engine.ledger import FILE, Known, Ledger, LedgerEntry, reading
from simlab.engine.provenance import digest_installation
from simlab.messages import describe_replication, show
from simlab.parts import is_own
from simlab.supervision import enter_phase
from simlab.types import InputError

LARGEST = 2 * 2**30
"""Most bytes of the outcomes of a cell, which are read as a whole; those of all cells have to fit on the disk."""
MOST_BYTES = 2**40
"""Most bytes of a store, whatever the disk takes."""
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """A block that failed, the reason, and the words by which its first campaign is replayed."""

    address: str
    reason: str
    campaign: str = ""


def failures(book: Ledger) -> tuple[Failure, ...]:
    """List the blocks that failed, cell by cell, with addresses as the user knows them."""
    failed: dict[str, list[Finished]] = {}
    for block in book.list_failed():
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
        cell: "".join(f"{axis['name']}={show(axis['values'][k])}, " for axis, k in zip(axes, place, strict=True))
        for place, cell in (book.cells().items() if declared else ())
    }


class ShapeLike(Protocol):
    """Protocol of `simlab.studies.kind.Shape`."""

    @property
    def system_names(self) -> tuple[str, ...]:
        """Names of the systems of a cell."""


CheckFunction = Callable[[Config], ShapeLike]


def check_shape(config: Config, where: str, check: CheckFunction) -> ShapeLike:
    """Check a cell, named `where`, and return its shape.

    Raises InputError where its keys contradict each other, and where a part of a plug-in goes wrong; what goes wrong
    without any plug-in is a bug, and raised as it is.
    """
    plugins = config.get("plugins", ())
    try:
        return check(config)
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        named = _name_culprit(error.__traceback__, plugins) or ", ".join(_foreign_parts(config))
        if not named:
            if isinstance(error, SystemExit):
                raise RuntimeError(f"SystemExit({error.code!r}) in {where or 'the cell'}") from error
            raise
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{where}{', ' if where else ''}{named}: {reason}; mend the plug-in") from error


def _name_culprit(traceback: TracebackType | None, plugins: Sequence[str]) -> str:
    """Name the innermost function of a plug-in that was at work; empty where none was."""
    named = ""
    packages = tuple(f"{package}." for package in plugins)
    while traceback is not None:
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        if packages and f"{module}.".startswith(packages):
            named = f"{module}.{traceback.tb_frame.f_code.co_name}"
        traceback = traceback.tb_next
    return named


def _foreign_parts(section: Config) -> Iterator[str]:
    """Name the parts of plug-ins that a cell has chosen: one may have handed on what another could not use."""
    for key, value in section.items():
        if isinstance(value, Mapping) and key != "measure":
            if "_target_" in value and not is_own(value):
                yield str(value["_target_"])
            yield from _foreign_parts(value)


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """A cell that has passed its check: its values on the axes, its key (`cell`), config and names of systems."""

    values: tuple[Any, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]

    def place_on_grid(self, position: tuple[int, ...]) -> LedgerEntry:
        """Place the cell on a grid."""
        return LedgerEntry(position, self.cell, self.config, self.systems)


class Sizes(NamedTuple):
    """Memory of a worker, and bytes of a campaign's outcomes: in the largest cell, and summed over all (`every`)."""

    memory: Memory | None
    largest: int
    every: int


@dataclass(frozen=True, slots=True)
class PreparedSweep:
    """A sweep whose cells have been checked: its declaration, its cells, and their sizes.

    `known` are results that the same simlab need not work out again.
    """

    declaration: dict[str, Any]
    cells: tuple[CheckedCell, ...]
    sizes: Sizes
    known: Known


def prepare(
    sweep: Sweep,
    check: CheckFunction | None = None,
    jobs: int = 1,
    known: Known = Known(),  # noqa: B008 (a value)
) -> PreparedSweep:
    """Check every cell of a sweep that is not `known` to have passed, and return all of them with their sizes.

    `check` returns the shape of a cell (None: that of studies), `jobs` is the number of processes. Raises InputError
    where the keys of one contradict each other, and, before anything is drawn, where there are too many blocks or a
    world of `jobs` processes would not fit into memory.
    """
    refuse_many_blocks(sweep)
    enter_phase("checking the cells", sweep.base.get("plugins", ()))
    cells = list(sweep.cells())
    written: Written = {}
    keys = [cell_key(cell.config, written) for cell in cells]
    passed = [check_key(key, cell.config) if check is None else None for key, cell in zip(keys, cells, strict=True)]
    named = None if None in passed else _digest(passed, sweep.base["engine"])
    sizes = known.sizes if named and named == known.named else None
    memory = None
    if sizes is not None:
        memory = Memory(*sizes[0])
    elif check is None:
        memory = forecast_memory([cell.config for cell in cells])
    if memory is not None:
        refuse_memory(memory, jobs)
    names = {k: known.systems[key] for k, key in enumerate(passed) if key and key in known.systems}
    names |= _names(sweep, {k: cell for k, cell in enumerate(cells) if k not in names}, check or _check_study)
    alike = Alike()
    checked = tuple(
        CheckedCell(cell.values, keys[k], alike(omit_resources(cell.config)), names[k]) for k, cell in enumerate(cells)
    )
    declared = declare(sweep) | describe_plugin_kinds([cell.config for cell in cells])
    if sizes is None:
        of_campaign = [campaign_bytes(cell.config, len(cell.systems)) for cell in checked]
        sizes = memory and astuple(memory), max(of_campaign), sum(of_campaign)
    systems = {key: names[k] for k, key in enumerate(passed) if key is not None}
    return PreparedSweep(declared, checked, Sizes(memory, *sizes[1:]), Known(systems, named, sizes if named else None))


def _names(sweep: Sweep, cells: Mapping[int, Cell], check: CheckFunction) -> dict[int, tuple[str, ...]]:
    """Check cells world by world, so that each world is drawn once; return the systems of each."""
    names: dict[int, tuple[str, ...]] = {}
    for k in sorted(cells, key=lambda k: _world_address(cells[k].config)):
        axes = zip(sweep.axes, cells[k].values, strict=True)
        where = ", ".join(f"{axis.name}={show(value)}" for axis, value in axes)
        names[k] = tuple(check_shape(cells[k].config, where, check).system_names)
    return names


def _digest(*values: object) -> str:
    return blake2b(json.dumps(values).encode(), digest_size=8).hexdigest()


def check_key(cell: str, config: Mapping[str, Any]) -> str | None:
    """Return the digest of a config by which its check is known again; None where a check depends on more than that.

    Plug-ins are somebody else's to change, and so are files, whose digest a config may be given.
    """
    sections = [section for section in config.values() if isinstance(section, Mapping)]
    if config.get("plugins") or any(section.get("path") is not None for section in sections):
        return None
    sizes = [config.get(key) for key in ("worlds", *CROSSED, "studies")]
    return _digest(cell, sizes)


def read_known(folder: Path) -> Known:
    """Return the cells of a folder that this simlab has checked; none where nobody can read that now."""
    if (folder / FILE).is_file():
        with suppress(InputError), reading(folder, patience=0) as book:
            return book.read_known(digest_installation())
    return Known()


def count_jobs(sweep: Sweep, jobs: int | None = None) -> int:
    """Return the number of processes: as asked, else from the config, else from the machine.

    Raises InputError for more than any use.
    """
    from joblib import cpu_count

    if jobs is not None:
        return check_jobs(jobs, f"--jobs {jobs}")
    configured = engine_settings(sweep).get("jobs")
    return check_jobs(int(configured), f"engine.jobs={configured}") if configured else int(cpu_count())


def engine_settings(sweep: Sweep) -> Mapping[str, Any]:
    """Return the engine's settings."""
    settings: Mapping[str, Any] = sweep.base["engine"]
    return settings


def outcome_bytes(sweep: Sweep, job: PreparedSweep) -> int:
    """Estimate the size of a sweep's outcomes, uncompressed."""
    return sweep.worlds * sweep.of_world * job.sizes.every


def refuse_too_large(sweep: Sweep, job: PreparedSweep, folder: Path) -> None:
    """Raise InputError where the outcomes of a cell exceed `LARGEST`, or those of all cells exceed the disk.

    The disk is that of the folder.
    """
    whole = outcome_bytes(sweep, job)
    if not job.declaration["outcomes"] or whole <= LARGEST:
        return
    campaigns = describe_replication(sweep.sizes, "x")
    if (largest := sweep.worlds * sweep.of_world * job.sizes.largest) > LARGEST:
        raise InputError(
            f"the outcomes of a cell of {campaigns} take {largest / 2**30:,.1f} GiB, more than {LARGEST / 2**30:.0f}; "
            "ask for less, or set engine.outcomes=false to store the measures only"
        )
    if whole > (free := min(free_disk(folder), MOST_BYTES)):
        raise InputError(
            f"{folder}: the outcomes of {len(job.cells):,} cells x {campaigns} take {whole / 2**30:,.1f} GiB, more "
            f"than the {free / 2**30:,.1f} that are free there; ask for less, free some space, or set "
            "engine.outcomes=false to store the measures only"
        )


def _check_study(config: Mapping[str, Any]) -> ShapeLike:
    from simlab.studies.checks import check

    return check(config)


def _world_address(config: Mapping[str, Any]) -> str:
    from simlab.studies.worlds import address

    return address(config)
