"""Backends execute blocks: in processes of this machine, or on the workers of a Dask scheduler.

Call `open_backend` with the settings of an engine and the number of processes, and `results` of the `Backend` that it
yields with blocks; finished blocks are yielded. Their bits do not depend on the backend, which writes nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from simlab.engine.addresses import Address, Finished
from simlab.engine.workers import BlockFunction, BlockLimits, BlockTask, Config
from simlab.messages import show
from simlab.types import InputError


class Died(NamedTuple):
    """The blocks of a process that died, one of which is to blame; `manner` is the end in words."""

    addresses: tuple[Address, ...]
    manner: str


class Backend(Protocol):
    """Executor of blocks."""

    @property
    def workers(self) -> int:
        """Number of blocks that are executed at a time."""

    def begin(self, configs: Iterable[Config]) -> None:
        """Prepare for the blocks of cells, which is optional; raise InputError if they cannot be executed."""

    def results(
        self, block: BlockFunction, tasks: Sequence[BlockTask], limits: BlockLimits, *, alone: bool = False
    ) -> Generator[tuple[Finished, ...] | Died, None, None]:
        """Yield finished blocks bundle by bundle (`alone`: one block each), and the blocks whose process died.

        `block` carries out a task; `limits` bound the time and memory of each process.

        If the generator is closed early, no process computes on.
        """


def refuse_contradiction(engine: Mapping[str, Any]) -> None:
    """Raise InputError if a scheduler is given for a backend that does not use one."""
    if engine.get("scheduler") is not None and engine.get("backend", "loky") != "dask":
        raise InputError(
            f"engine.scheduler={show(engine['scheduler'])} is for engine.backend=dask, and engine.backend is "
            f"{engine.get('backend', 'loky')}; set both or neither"
        )


@contextmanager
def open_backend(engine: Mapping[str, Any], jobs: int, *, quiet: bool = False) -> Iterator[Backend]:
    """Open the backend of `engine`, a section of a config, with `jobs` processes; raise InputError if impossible."""
    refuse_contradiction(engine)
    if engine.get("backend", "loky") == "dask":
        from simlab.engine.backends.cluster import Cluster

        with Cluster(engine, jobs, quiet=quiet) as cluster:
            yield cluster
    else:
        from simlab.engine.backends.local import Local

        yield Local(jobs, quiet=quiet)
