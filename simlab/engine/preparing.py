"""Check a sweep before anything of it is carried out: sizes first, counted from the config, then each cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simlab.config.sweep import Cell, Sweep
from simlab.engine.bounds import Memory, forecast_memory, refuse_many_blocks, refuse_memory
from simlab.engine.checking import CheckFunction, ShapeLike, shape_of
from simlab.engine.conclusions import campaign_bytes, foreign
from simlab.engine.continuation import cell_key, declare
from simlab.engine.ledger import Entry
from simlab.engine.machine import check_jobs
from simlab.messages import replicated, shown
from simlab.supervision import entering
from simlab.types import InputError

LARGEST = 2 * 2**30


@dataclass(frozen=True, slots=True)
class Checked:
    """Hold a cell whose keys agree with each other: its values on the axes, its key, config and systems."""

    values: tuple[Any, ...]
    cell: str
    config: Mapping[str, Any]
    systems: tuple[str, ...]

    def at(self, position: tuple[int, ...]) -> Entry:
        """Place the cell on a grid."""
        return Entry(position, self.cell, self.config, self.systems)


@dataclass(frozen=True, slots=True)
class Job:
    """Hold a sweep whose cells have been checked: what it declares, its cells, and the memory that a worker takes."""

    asked: dict[str, Any]
    cells: tuple[Checked, ...]
    memory: Memory | None = None


def prepare(sweep: Sweep, check: CheckFunction | None = None, jobs: int = 1) -> Job:
    """Check every cell of a sweep.

    Raises InputError where the keys of one contradict each other, and, before anything is drawn, where there are too
    many blocks or a world of `jobs` processes would not fit into memory.
    """
    refuse_many_blocks(sweep)
    entering("checking the cells", sweep.base.get("plugins", ()))
    cells = list(sweep.cells())
    memory = None
    if check is None:
        memory = forecast_memory([cell.config for cell in cells])
        refuse_memory(memory, jobs)
    checked = (
        Checked(cell.values, cell_key(cell.config), cell.config, names)
        for cell, names in zip(cells, _names(sweep, cells, check or _check_study), strict=True)
    )
    return Job(declare(sweep) | foreign([cell.config for cell in cells]), tuple(checked), memory)


def _names(sweep: Sweep, cells: Sequence[Cell], check: CheckFunction) -> list[tuple[str, ...]]:
    """Check cells world by world, so that each world is drawn once; return the systems of each."""
    names: dict[int, tuple[str, ...]] = {}
    for k in sorted(range(len(cells)), key=lambda k: _worlds_of(cells[k].config)):
        axes = zip(sweep.axes, cells[k].values, strict=True)
        where = ", ".join(f"{axis.name}={shown(value)}" for axis, value in axes)
        names[k] = tuple(shape_of(cells[k].config, where, check).system_names)
    return [names[k] for k in range(len(cells))]


def jobs_of(sweep: Sweep, jobs: int | None = None) -> int:
    """Return the number of processes: as asked, else from the config, else from the machine.

    Raises InputError for more than any use.
    """
    from joblib import cpu_count

    if jobs is not None:
        return check_jobs(jobs, f"--jobs {jobs}")
    configured = engine_of(sweep).get("jobs")
    return check_jobs(int(configured), f"engine.jobs={configured}") if configured else int(cpu_count())


def engine_of(sweep: Sweep) -> Mapping[str, Any]:
    """Return the engine's settings."""
    settings: Mapping[str, Any] = sweep.base["engine"]
    return settings


def outcome_bytes(sweep: Sweep, job: Job) -> int:
    """Estimate the size of a sweep's outcomes, uncompressed."""
    per_campaign = (campaign_bytes(cell.config, len(cell.systems)) for cell in job.cells)
    return sweep.worlds * sweep.of_world * sum(per_campaign)


def refuse_too_large(sweep: Sweep, job: Job) -> None:
    """Raise InputError where the outcomes would not fit comfortably into a store."""
    size = outcome_bytes(sweep, job)
    if size > LARGEST and job.asked["outcomes"]:
        raise InputError(
            f"the outcomes of {len(job.cells)} cells x {replicated(sweep.sizes, 'x')} take "
            f"{size / 2**30:.1f} GiB, more than {LARGEST / 2**30:.0f}; ask for less, or set engine.outcomes=false to "
            "store the measures only"
        )


def _check_study(config: Mapping[str, Any]) -> ShapeLike:
    from simlab.studies.checks import check

    return check(config)


def _worlds_of(config: Mapping[str, Any]) -> str:
    from simlab.studies.worlds import address

    return address(config)
