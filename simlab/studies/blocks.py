"""Simulate a block of studies, in one cell or in several that share random noise; only configs and places matter.

A cell is one config of a sweep; a `Place` is the world, rater pool, draw of documents and number of a study. Call
`run_block` with a config and the places of a block, which returns the outcomes as a `Block`; `run_blocks` takes several
configs. `prepared`, `laid` and noise are returned by the functions `prepare`, `lay` and `draw` of a `Kind`.
"""

from __future__ import annotations

import functools
import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from simlab.studies.kind import Kind
from simlab.studies.kinds import identify_kind
from simlab.studies.outcomes import IDENTITY, find_impossible, refuse_impossible
from simlab.studies.read_only import notice_writing, seal
from simlab.studies.worlds import address, draw_world
from simlab.types import (
    DESIGN_FAILED,
    IMPOSSIBLE,
    OK,
    Array,
    Campaign,
    DesignFailure,
    ImpossibleValue,
    Outcome,
    Place,
    World,
)

Draw = Callable[[Any, World, Any, Place], Any]
"""Draw the noise of a study, as `Kind.draw` does."""
Value = TypeVar("Value")
Config = Mapping[str, Any]
Failed = Exception | SystemExit
KEPT = 4
"""Most layouts of worlds in the cache of a process.
"""
_layouts: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


@dataclass(frozen=True)
class Block:
    """Outcomes of a block of studies.

    `arrays[name]` has the studies first (names that begin with `true_`: one row per world, as they came); `failures`
    lists (index in the block, reason) of the studies whose design could not be carried out, or that met a value that
    cannot be.
    """

    arrays: dict[str, Array]
    failures: list[tuple[int, str]]


def run_block(config: Mapping[str, Any], places: Sequence[Place]) -> Block:
    """Carry out the studies at these places, of one world or of several.

    A study run alone gives the same bits as within any block. Raises ValueError where a kind of study gives an outcome
    that it does not declare, or in another type; InputError where a part writes into its input arrays;
    ImpossibleValue where a true value of a world is impossible.
    """
    kind = identify_kind(config)
    with notice_writing():
        return complete_block(kind, list(run_parts(kind, config, places, kind.draw)))


def run_parts(kind: Kind, config: Mapping[str, Any], places: Sequence[Place], draw: Draw) -> Iterator[Block]:
    """Yield the parts of a block: of each world its batches, with noise drawn by `draw`, and then its true values."""
    prepared = kind.prepare(config)
    for _, group in itertools.groupby(enumerate(places), key=lambda entry: entry[1][:3]):
        numbered = list(group)
        world = draw_world(config, *numbered[0][1][:3])
        laid = find_layout(kind, config, prepared, world, numbered[0][1])
        carry_out = functools.partial(_carry_out, kind, prepared, world, laid, draw)
        yield from map(carry_out, _batches(numbered, kind.batch))
        yield Block(kind.truth(prepared, world, laid), [])


def complete_block(kind: Kind, parts: Sequence[Block]) -> Block:
    """Join the parts of a block, and check them against the outcomes that the kind declares; raise as `run_block`."""
    block = _join_blocks(parts)
    return _fail_impossible(kind, Block(_check_arrays(kind, block.arrays), block.failures))


def _batches(places: Sequence[tuple[int, Place]], size: int | None) -> Iterator[Sequence[tuple[int, Place]]]:
    step = size or len(places)
    return (places[start : start + step] for start in range(0, len(places), step))


def _carry_out(
    kind: Kind, prepared: Any, world: World, laid: Any, draw: Draw, numbered: Sequence[tuple[int, Place]]
) -> Block:
    """Carry out a batch; where one of its campaigns meets a value that cannot be, each of them alone."""
    try:
        return _collect_together(kind, prepared, world, laid, draw, numbered)
    except ImpossibleValue as error:
        if len(numbered) > 1:
            return _join_blocks([_carry_out(kind, prepared, world, laid, draw, [one]) for one in numbered])
        return _fill_failures(kind, prepared, world, laid, numbered, [error], {})


def _collect_together(
    kind: Kind, prepared: Any, world: World, laid: Any, draw: Draw, numbered: Sequence[tuple[int, Place]]
) -> Block:
    """Collect, conclude and appraise; a campaign whose design failed is filled in."""
    places = [place for _, place in numbered]
    noise = (seal(draw(prepared, world, laid, place)) for place in places)
    gathered = kind.collect(prepared, world, laid, noise, places)
    campaigns = [campaign for campaign in gathered if isinstance(campaign, Campaign)]
    for campaign in campaigns:
        refuse_impossible(campaign.collected)
        seal(campaign.collected)
    outcomes: dict[str, Array] = {}
    if campaigns:
        outcomes = kind.conclude(prepared, [campaign.collected for campaign in campaigns])
        outcomes = _check_arrays(kind, outcomes | kind.appraise(prepared, world, laid, campaigns, outcomes))
    return _fill_failures(kind, prepared, world, laid, numbered, gathered, outcomes)


def _fill_failures(
    kind: Kind,
    prepared: Any,
    world: World,
    laid: Any,
    numbered: Sequence[tuple[int, Place]],
    gathered: Sequence[Campaign | DesignFailure],
    outcomes: dict[str, Array],
) -> Block:
    """Return the outcomes of a batch with the place and the status of each campaign; failed ones are filled in.

    `gathered` has an entry for each campaign, `outcomes` rows for those that were carried out.
    """
    failures = [(k, str(one)) for (k, _), one in zip(numbered, gathered, strict=True) if isinstance(one, DesignFailure)]
    if failures:
        failed = np.array([isinstance(campaign, DesignFailure) for campaign in gathered])
        outcomes = _fill_blanks(kind.blank(prepared, world, laid), outcomes, failed)
    status = np.array([_status(campaign) for campaign in gathered], np.int8)
    identity = _identity(kind, prepared, world, [place for _, place in numbered])
    return Block({**identity, **outcomes, "status": status}, failures)


def _status(campaign: Campaign | DesignFailure) -> int:
    if isinstance(campaign, ImpossibleValue):
        return IMPOSSIBLE
    return DESIGN_FAILED if isinstance(campaign, DesignFailure) else OK


def _fail_impossible(kind: Kind, block: Block) -> Block:
    """Mark campaigns whose outcomes cannot be as failed; empty their outcomes, and those of others that failed so."""
    arrays = dict(block.arrays)
    impossible = list(find_impossible(kind.outcomes, arrays))
    wrong = arrays["status"] == IMPOSSIBLE
    wrong[[row for row, _ in impossible]] = True
    if not wrong.any():
        return block
    for name, array in arrays.items():
        outcome = kind.outcomes.get(name)
        # Which documents were drawn is known of a campaign that failed, too.
        if outcome is not None and outcome.dims[0] == "replicate" and name != "document_set":
            arrays[name] = array.copy()
            arrays[name][wrong] = IMPOSSIBLE if name == "status" else outcome.fill
    return Block(arrays, sorted([*block.failures, *impossible]))


def _identity(kind: Kind, prepared: Any, world: World, places: Sequence[Place]) -> dict[str, Array]:
    return {
        "world": np.array([place.world for place in places], np.int32),
        "study": np.array([place.study for place in places], np.int32),
        "document_set": np.array([kind.document_set(prepared, world, place.study) for place in places], np.int32),
    }


def _fill_blanks(blank: Mapping[str, Array], outcomes: Mapping[str, Array], failed: Array) -> dict[str, Array]:
    """Put the outcomes of campaigns that were carried out among blanks for those that were not."""
    filled = {}
    for name in outcomes or blank:
        # Where nothing was carried out, where and when is not among the outcomes.
        if name in ("status", "document_set"):
            continue
        filled[name] = np.repeat(np.asarray(blank[name])[None], len(failed), axis=0)
        if name in outcomes:
            filled[name][~failed] = outcomes[name]
    return filled


def _join_blocks(parts: Sequence[Block]) -> Block:
    """Put the parts of a block one behind the other; campaigns lack an outcome all together or not at all."""
    names = dict.fromkeys(name for part in parts for name in part.arrays)
    joined = {name: np.concatenate([part.arrays[name] for part in parts if name in part.arrays]) for name in names}
    for name, array in joined.items():
        if not name.startswith("true_") and len(array) != len(joined["status"]):
            raise ValueError(f"{len(array)} of {len(joined['status'])} campaigns of a block have the outcome {name}")
    return Block(joined, [failure for part in parts for failure in part.failures])


def _check_arrays(kind: Kind, arrays: dict[str, Array]) -> dict[str, Array]:
    """Check that the kind declares each outcome of a block, with its type: values are never cast."""
    for name, array in arrays.items():
        if name not in IDENTITY:
            _check(kind, name, kind.outcomes.get(name), array)
    return arrays


def _check(kind: Kind, name: str, outcome: Outcome | None, array: Array) -> None:
    if outcome is None:
        raise ValueError(f"studies of {kind.name} give the outcome {name}, which they do not declare")
    if array.dtype != np.dtype(outcome.dtype):
        raise ValueError(f"studies of {kind.name} give {name} as {array.dtype}, and declare {outcome.dtype}")


def run_blocks(configs: Sequence[Config], places: Sequence[Place]) -> list[Block | Failed]:
    """Carry out a block at these places in each of several cells; where one fails, return why in its place.

    Each block has the bits that `run_block` gives. Cells of the same worlds whose kind shares its noise go through the
    studies together, batch by batch, so that no more noise is held than that of one batch.
    """
    done: dict[int, Block | Failed] = {}
    for members in _group_by_noise(configs):
        cells = [configs[k] for k in members]
        ended = (
            _carry_out_together(cells, places) if len(cells) > 1 else [_try_call(partial(run_block, cells[0], places))]
        )
        done.update(zip(members, ended, strict=True))
    return [done[k] for k in range(len(configs))]


def _group_by_noise(configs: Sequence[Config]) -> list[list[int]]:
    """Group cells that share their noise; the others stand alone."""
    groups: dict[str | int, list[int]] = {}
    for k, config in enumerate(configs):
        key = _try_call(partial(_noise_key, config))
        groups.setdefault(key if isinstance(key, str) else k, []).append(k)
    return list(groups.values())


def _noise_key(config: Config) -> str | None:
    kind = identify_kind(config)
    return f"{kind.question} {address(config)}" if kind.shares_noise else None


def _carry_out_together(configs: Sequence[Config], places: Sequence[Place]) -> list[Block | Failed]:
    """Go through the batches of a block, and with each through the cells."""
    kind = identify_kind(configs[0])
    noise = _Noise(kind.draw, kind.batch or len(places))
    cells = [_BlockCell(kind, run_parts(kind, config, places, noise)) for config in configs]
    under_way = cells
    while under_way:
        under_way = [cell for cell in under_way if cell.run_next_part()]
    return [cell.collect_block() for cell in cells]


class _BlockCell:
    """Carry out the block of a cell part by part."""

    def __init__(self, kind: Kind, parts: Iterator[Block]) -> None:
        self.kind, self.parts = kind, parts
        self.done: list[Block] = []
        self.failed: Failed | None = None

    def run_next_part(self) -> bool:
        """Carry out the next part; False where there is none, or it failed."""
        part = _try_call(lambda: next(self.parts, None))
        if isinstance(part, Block):
            self.done.append(part)
        elif part is not None:
            self.failed = part
        return isinstance(part, Block)

    def collect_block(self) -> Block | Failed:
        """Return the block, or why it failed."""
        return _try_call(lambda: complete_block(self.kind, self.done)) if self.failed is None else self.failed


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


def _try_call(carry_out: Callable[[], Value]) -> Value | Failed:
    """Return the result of a call, or the exception that it raised."""
    try:
        with notice_writing():
            return carry_out()
    # A part that calls sys.exit raises no Exception, and must fail its own block only.
    except (Exception, SystemExit) as error:
        return error


def find_layout(kind: Kind, config: Mapping[str, Any], prepared: Any, world: World, place: Place) -> Any:
    """Return the layout of a world under a design: one of the last few, else worked out now."""
    key = (kind.question, address(config), place[:3], kind.same_layout(prepared))
    if key in _layouts:
        _layouts.move_to_end(key)
        return _layouts[key]
    laid = seal(kind.lay(prepared, world, place))
    _layouts[key] = laid
    if len(_layouts) > KEPT:
        _layouts.popitem(last=False)
    return laid


def forget() -> None:
    """Clear the cache of layouts."""
    _layouts.clear()
