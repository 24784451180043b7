"""Refuse sweeps that the machine cannot take, before anything is drawn: too many blocks or jobs, too large worlds.

The `refuse_...` functions raise InputError; `forecast_memory` returns the bytes that a worker will need.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.config.sweep import Sweep
from simlab.messages import clip, size
from simlab.studies.footprint import Footprint, total
from simlab.studies.kinds import identify_kind
from simlab.studies.worlds import KEPT, address
from simlab.types import InputError

MOST_BLOCKS = 2_000_000
"""Each is a row of the ledger, takes some hundred bytes before it is run, and at least a millisecond: an hour's work
for a second core."""
MOST_CAMPAIGNS = 2**31 - 1
"""Worlds and studies are counted with 32 bits."""

NEVER_REFUSED = 256 * 2**20
"""Bytes of a worker, beyond `PROCESS_BYTES`, that are never refused: free memory changes from second to second."""
PROCESS_BYTES = 120 * 2**20
"""Bytes of a worker before it draws anything."""
FEWEST_REFUSED = 64
"""Number of processes up to which none are refused, however few cores the machine has."""
JOBS_PER_CORE = 4
_CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a worker in the cell that takes most, and of its world alone, in bytes; `keys` are those to lower."""

    worker: float
    world: float
    breakdown: str
    keys: tuple[str, ...]


def refuse_many_blocks(sweep: Sweep) -> None:
    """Raise InputError for more blocks than a ledger can hold, counted without making any."""
    block = sweep.base["engine"]["block"]
    of_world = -(-sweep.studies // block)
    crossed = sweep.pools * sweep.document_draws
    blocks = sweep.n_cells * sweep.worlds * crossed * of_world
    if blocks <= MOST_BLOCKS and sweep.n_cells * sweep.worlds * sweep.of_world <= MOST_CAMPAIGNS:
        return
    pairs = f" x {sweep.pools:,} pools x {sweep.document_draws:,} draws of documents" if crossed > 1 else ""
    counted = f"{sweep.n_cells:,} cells x {sweep.worlds:,} worlds{pairs} x {sweep.studies:,} studies"
    larger = "worlds" if sweep.worlds > sweep.studies else "studies"
    remedy = " or raise engine.block" if of_world > 1 else ""
    raise InputError(
        f"{counted} are {blocks:,} blocks of up to {block:,}, more than {MOST_BLOCKS:,} blocks or "
        f"{MOST_CAMPAIGNS:,} campaigns; lower {larger}{remedy}, or give axes fewer values"
    )


def forecast_memory(configs: Sequence[Mapping[str, Any]]) -> Memory:
    """Forecast the memory of a worker in the cell that takes most; nothing is drawn."""
    drawn = len({address(config) for config in configs}) * max((config["worlds"] for config in configs), default=1)
    again = max((config.get("pools", 1) * config.get("document_draws", 1) for config in configs), default=1) - 1
    # Worlds with other raters or documents are kept beside the first ones.
    kept = min(KEPT, drawn) + min(KEPT, drawn * again)
    prints = (identify_kind(config).footprint(config) for config in configs)
    return _largest_memory(prints, kept)


def _largest_memory(prints: Iterable[Footprint], kept: int) -> Memory:
    most = Memory(PROCESS_BYTES, 0.0, "", ())
    for footprint in prints:
        if (worker := PROCESS_BYTES + footprint.peak(kept)) > most.worker:
            factor = footprint.find_largest()
            most = Memory(worker, total(footprint.world), factor.of, factor.keys)
    return most


def refuse_large(config: Mapping[str, Any]) -> None:
    """Raise InputError, before it is drawn, for a study whose single world and campaign would not fit into memory."""
    refuse_memory(forecast_memory([{**config, "worlds": 1, "pools": 1, "document_draws": 1}]), 1)


def refuse_memory(memory: Memory, jobs: int, free: int | None = None) -> None:
    """Raise InputError, naming the largest part, where `jobs` workers exceed the `free` bytes (None: measure them)."""
    free = free_memory() if free is None else free
    if free is None or memory.worker - PROCESS_BYTES <= NEVER_REFUSED or jobs * memory.worker <= free:
        return
    fitting = int(free // memory.worker)
    fewer = f" or --jobs to {fitting}" if 0 < fitting < jobs else ""
    keys = clip(" or ".join(memory.keys[:3]), 120)
    processes = f", and {jobs} processes {size(jobs * memory.worker)}" if jobs > 1 else ""
    raise InputError(
        f"a world and its campaigns would take about {size(memory.worker)} ({memory.breakdown}){processes}, more than "
        f"the {size(free)} that are free; lower {keys}{fewer}"
    )


def free_memory() -> int | None:
    """Return the bytes of memory that are free, on the machine or in its container; None where unknown."""
    return min((*_read_available(Path("/proc/meminfo")), *_read_headroom(_CGROUP)), default=None)


def free_disk(folder: Path) -> int:
    """Return the bytes that are free where a folder is, or will be."""
    here = folder.absolute()
    while not here.is_dir() and here != here.parent:
        here = here.parent
    return shutil.disk_usage(here).free


def check_jobs(jobs: int, where: str) -> int:
    """Return `jobs`; raise InputError, naming the option `where`, for more processes than are of any use."""
    from joblib import cpu_count

    most = max(FEWEST_REFUSED, JOBS_PER_CORE * cpu_count())
    if jobs > most:
        raise InputError(
            f"{where} is more than {most} processes, and this machine has {cpu_count()} cores; leave it out for one "
            "process per core"
        )
    return jobs


def _read_available(meminfo: Path) -> Iterator[int]:
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _read_headroom(cgroup: Path) -> Iterator[int]:
    """Read what the group of processes that this one runs in may still take, in either version of control groups."""
    for most, used in _LIMITS:
        limit, usage = _text(cgroup / most).strip(), _text(cgroup / used).strip()
        # A group without a limit says `max`, or a number beyond all memory.
        if limit.isdecimal() and usage.isdecimal():
            yield max(0, int(limit) - int(usage))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""
