"""Say what the machine has to give: memory that is free, and how many processes make sense."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from simlab.types import InputError

FEWEST_REFUSED = 64
"""So many processes are never refused: who asks for some more than there are cores may know why."""
JOBS_PER_CORE = 4

_CGROUP = Path("/sys/fs/cgroup")
_LIMITS = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def free_memory() -> int | None:
    """Return the bytes that processes can still take: what is available, or what a container leaves; None: unknown."""
    return min((*_available(Path("/proc/meminfo")), *_left(_CGROUP)), default=None)


def free_disk(folder: Path) -> int:
    """Return the bytes that are free where a folder is, or will be."""
    here = folder.absolute()
    while not here.is_dir() and here != here.parent:
        here = here.parent
    return shutil.disk_usage(here).free


def check_jobs(jobs: int, where: str) -> int:
    """Return a number of processes; raise InputError for more than any use."""
    from joblib import cpu_count

    most = max(FEWEST_REFUSED, JOBS_PER_CORE * cpu_count())
    if jobs > most:
        raise InputError(
            f"{where} is more than {most} processes, and this machine has {cpu_count()} cores; leave it out for one "
            "process per core"
        )
    return jobs


def _available(meminfo: Path) -> Iterator[int]:
    for line in _text(meminfo).splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) * 1024


def _left(cgroup: Path) -> Iterator[int]:
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
