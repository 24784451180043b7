"""Carry out the same studies in several cells: noise that these share is drawn once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from simlab.studies.blocks import Block, Draw, parts_of, run_block, whole
from simlab.studies.kind import Kind
from simlab.studies.questions import kind_of
from simlab.studies.sealing import writing_noticed
from simlab.studies.worlds import address
from simlab.types import Place, World

Value = TypeVar("Value")
Config = Mapping[str, Any]
Failed = Exception | SystemExit


def run_blocks(configs: Sequence[Config], places: Sequence[Place]) -> list[Block | Failed]:
    """Carry out a block at these places in each of several cells; where one fails, return why in its place.

    Each block has the bits that `run_block` gives. Cells of the same worlds whose kind shares its noise go through the
    studies together, batch by batch, so that no more noise is held than that of one batch.
    """
    done: dict[int, Block | Failed] = {}
    for members in _sharing(configs):
        cells = [configs[k] for k in members]
        ended = _together(cells, places) if len(cells) > 1 else [_tried(partial(run_block, cells[0], places))]
        done.update(zip(members, ended, strict=True))
    return [done[k] for k in range(len(configs))]


def _sharing(configs: Sequence[Config]) -> list[list[int]]:
    """Group cells that share their noise; the others stand alone."""
    groups: dict[str | int, list[int]] = {}
    for k, config in enumerate(configs):
        key = _tried(partial(_shared_by, config))
        groups.setdefault(key if isinstance(key, str) else k, []).append(k)
    return list(groups.values())


def _shared_by(config: Config) -> str | None:
    kind = kind_of(config)
    return f"{kind.question} {address(config)}" if kind.shares_noise else None


def _together(configs: Sequence[Config], places: Sequence[Place]) -> list[Block | Failed]:
    """Go through the batches of a block, and with each through the cells."""
    kind = kind_of(configs[0])
    noise = _Noise(kind.draw, kind.batch or len(places))
    cells = [_Cell(kind, parts_of(kind, config, places, noise)) for config in configs]
    under_way = cells
    while under_way:
        under_way = [cell for cell in under_way if cell.goes_on()]
    return [cell.ended() for cell in cells]


class _Cell:
    """Carry out the block of a cell part by part."""

    def __init__(self, kind: Kind, parts: Iterator[Block]) -> None:
        self.kind, self.parts = kind, parts
        self.done: list[Block] = []
        self.failed: Failed | None = None

    def goes_on(self) -> bool:
        """Carry out the next part; False where there is none, or it failed."""
        part = _tried(lambda: next(self.parts, None))
        if isinstance(part, Block):
            self.done.append(part)
        elif part is not None:
            self.failed = part
        return isinstance(part, Block)

    def ended(self) -> Block | Failed:
        """Return the block, or why it failed."""
        return _tried(lambda: whole(self.kind, self.done)) if self.failed is None else self.failed


class _Noise:
    """Draw the noise of each study once, for all cells of a world; that of the last `kept` places is held."""

    def __init__(self, draw: Draw, kept: int) -> None:
        self.draw, self.kept = draw, kept
        self.held: dict[Place, Any] = {}

    def __call__(self, prepared: Any, world: World, laid: Any, place: Place) -> Any:
        if place not in self.held:
            if len(self.held) == self.kept:
                del self.held[next(iter(self.held))]
            self.held[place] = self.draw(prepared, world, laid, place)
        return self.held[place]


def _tried(carry_out: Callable[[], Value]) -> Value | Failed:
    """Return what is carried out, or why it failed."""
    try:
        with writing_noticed():
            return carry_out()
    except (Exception, SystemExit) as error:
        return error
