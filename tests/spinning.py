"""Blocks that take a processor for so long, and nothing else; a driver that carries them out, as a process."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import fake_studies

from simlab.store import filling
from simlab.types import Place


def spun(seconds: float, config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    until = time.process_time() + seconds
    found = fake_studies.block(config, places)
    while time.process_time() < until:
        pass
    return found


def of_5(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    return spun(0.005, config, places)


def of_500(config: Mapping[str, Any], places: Sequence[Place]) -> fake_studies.Block:
    return spun(0.5, config, places)


def fill(folder: Path, milliseconds: int, blocks: int, jobs: int, **engine: Any) -> None:
    """Carry out so many blocks of four campaigns, in ten cells."""
    sweep = fake_studies.sweep(tuple(range(10, 20)), worlds=-(-blocks // 10), studies=4, limits=engine)
    block = {5: of_5, 500: of_500}[milliseconds]
    check, labels = fake_studies.check, fake_studies.LABELS
    filling.fill(sweep, folder, fake_studies.MEASURES, jobs, labels=labels, block=block, check=check, quiet=True)


if __name__ == "__main__":
    folder, milliseconds, blocks, *address = sys.argv[1:]
    where = {"backend": "dask", "scheduler": address[0]} if address else {}
    began = time.monotonic()
    fill(Path(folder), int(milliseconds), int(blocks), 2, **where)
    print(time.monotonic() - began)
