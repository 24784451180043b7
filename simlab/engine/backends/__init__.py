"""Choose where blocks are carried out: in processes of this machine, or by the workers of a Dask scheduler.

A backend computes nothing itself and writes nothing: it is handed blocks and yields what became of them. Which one it
is changes no bit.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from simlab.engine.addresses import Address, Finished
from simlab.engine.limits import Limits
from simlab.engine.workers import BlockFunction, Config, Task
from simlab.messages import shown
from simlab.types import InputError


class Died(NamedTuple):
    """Hold the blocks that were under way in a process that died, one of them by its fault, and how it died."""

    addresses: tuple[Address, ...]
    manner: str


class Backend(Protocol):
    """Carry out blocks somewhere."""

    @property
    def workers(self) -> int:
        """Count the blocks that are computed at a time."""

    def begin(self, configs: Iterable[Config]) -> None:
        """Be ready to carry out blocks of cells; raise InputError where that cannot be.

        It need not be called: then it is tried when blocks are there.
        """

    def results(
        self, block: BlockFunction, tasks: Sequence[Task], limits: Limits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield blocks as they are finished, by bundles (`alone`: of one block each), and those that died.

        Whoever leaves early leaves nothing behind that computes on.
        """


def refuse_contradiction(engine: Mapping[str, Any]) -> None:
    """Raise InputError where a scheduler is named that nobody would ask."""
    if engine.get("scheduler") is not None and engine.get("backend", "loky") != "dask":
        raise InputError(
            f"engine.scheduler={shown(engine['scheduler'])} is for engine.backend=dask, and engine.backend is "
            f"{engine.get('backend', 'loky')}; set both or neither"
        )


@contextmanager
def backend_of(engine: Mapping[str, Any], jobs: int, *, quiet: bool = False) -> Iterator[Backend]:
    """Hold the backend that an engine's settings name, for the length of a run.

    Raises InputError where it cannot be had.
    """
    refuse_contradiction(engine)
    if engine.get("backend", "loky") == "dask":
        from simlab.engine.backends.cluster import Cluster

        with Cluster(engine, jobs, quiet=quiet) as cluster:
            yield cluster
    else:
        from simlab.engine.backends.local import Local

        yield Local(jobs, quiet=quiet)
