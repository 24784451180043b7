"""Make a world of real ratings: what every rater of a published table said, with gaps.

The built-in table holds the numbers (no sentences) of the English-German general-translation ratings of WMT23 in which
three raters rated every output, released side by side as `sxs_mqm_generalMT2023_ende` in
google/wmt-mqm-human-evaluation under the Apache License 2.0; see data/README.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib.resources import as_file
from importlib.resources import files as packaged
from pathlib import Path

import numpy as np

from simlab import files
from simlab.messages import in_natural_order, legible, natural, or_nearest
from simlab.tables import averages
from simlab.tables.lines import REMEDY
from simlab.tables.mqm import Rated, Unit, read_ratings
from simlab.types import RATE, Array, Floats, Frame, InputError, Ints, RatedWorld, World
from simlab.world.files.chosen import chosen_file
from simlab.world.laws.fixed import FixedRatings, fixed_ratings

BUILT_IN = "sxs_mqm_generalMT2023_ende.tsv"
# A world is dense in (system, item, slot): a table of outputs that hardly share a system would not fit in memory.
MAX_CELLS = 50_000_000


def recorded(rng: np.random.Generator, *, path: str | None, sha256: str | None, names: list[str] | None) -> RatedWorld:
    """Use the ratings of a table as a world; `path=None` is the table built into simlab, `names=None` all its systems.

    `rng` is not used: nothing is drawn. A bucket is the set of documents that the same raters rated. The
    truth is not known. `errors` counts major and minor errors, 0 in a gap, and is -1 throughout where the
    table has no counts. The arrays are read-only, since all studies in a process share them. A table of averaged
    segment scores makes a world with one rater (see `averages`).

    Raises InputError for a file that is not a table of ratings, or whose digest is not `sha256` (None: any), and for
    names that are not in it.
    """
    chosen = chosen_file(path, sha256, empty="give a table of ratings, or null for the built-in one", remedy=REMEDY)
    return _named(_built_in() if chosen is None else _world_of(*chosen, sha256), names)


def holds_averages(world: World) -> bool:
    """Tell a world of averaged scores from one that says what each rater said."""
    return world.frame.rater_names == (averages.RATER,) and not world.frame.lower_is_better


def _named(world: World, names: Sequence[str] | None) -> World:
    """Keep the named systems, in the order of the names."""
    ratings = fixed_ratings(world)
    if names is None or ratings is None:
        return world
    known, frame = world.frame.system_names, world.frame
    for name in names:
        if name not in known:
            hint = or_nearest(name, known, "it has", 300)
            raise InputError(f"systems.names: the table has no ratings of {legible(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    at = [known.index(name) for name in names]
    kept = replace(frame, rater=_fixed(frame.rater[at]), system_names=tuple(names))
    chosen = _recorded(kept, _fixed(ratings.value[at]), _fixed(ratings.errors[at]))
    return _rated_segments(chosen) if holds_averages(world) else chosen


def _rated_segments(world: World) -> World:
    """Drop segments without any score from a table of averages, where each is a document of its own."""
    frame, ratings = world.frame, fixed_ratings(world)
    rated = np.any(frame.rater >= 0, axis=(0, 2))
    if ratings is None or rated.all():
        return world
    kept = replace(
        frame,
        document=_fixed(np.arange(rated.sum())),
        bucket=_fixed(frame.bucket[rated]),
        rater=_fixed(frame.rater[:, rated]),
        document_names=tuple(itertools.compress(frame.document_names, rated)),
    )
    return _recorded(kept, _fixed(ratings.value[:, rated]), _fixed(ratings.errors[:, rated]))


def _recorded(frame: Frame, value: Floats, errors: Ints) -> World:
    return World(frame, {RATE: FixedRatings(value, errors)})


@lru_cache(maxsize=1)
def _built_in() -> World:
    with as_file(packaged("simlab.world").joinpath("data", BUILT_IN)) as path:
        return _world(read_ratings(path), "the built-in table")


@lru_cache(maxsize=4)
def _world_of(path: Path, state: files.State, digest: str | None) -> World:
    """Read a file once per process and state: blocks of a study ask for the same world again and again."""
    if digest is not None:
        files.refuse_change(files.digest(path), digest, legible(path))
    if averages.is_table(path):
        return _world(averages.read_averages(path), legible(path), lower_is_better=False)
    return _world(read_ratings(path), legible(path))


def _world(ratings: Mapping[Unit, Rated], where: str, *, lower_is_better: bool = True) -> World:
    system = in_natural_order(unit.system for unit in ratings)
    document = in_natural_order(unit.document for unit in ratings)
    rater = in_natural_order(unit.rater for unit in ratings)
    segments = sorted({unit[1:3] for unit in ratings}, key=lambda pair: (document[pair[0]], natural(pair[1])))
    item = {pair: index for index, pair in enumerate(segments)}
    seats = _seats(ratings, document, rater)
    shape = len(system), len(item), max(map(len, seats))
    _check_shape(shape, where)
    places = ((system[u.system], item[u[1:3]], seats[document[u.document]].index(rater[u.rater])) for u in ratings)
    at = tuple(np.array(axis, dtype=np.int64) for axis in zip(*places, strict=True))
    frame = Frame(
        document=_fixed(np.array([document[name] for name, _ in item], dtype=np.int64)),
        bucket=_fixed(_buckets(seats)),
        rater=_fixed(_filled(shape, at, -1, [rater[unit.rater] for unit in ratings])),
        system_names=tuple(system),
        document_names=tuple(document),
        rater_names=tuple(rater),
        lower_is_better=lower_is_better,
    )
    value = _filled(shape, at, np.nan, [rated.score for rated in ratings.values()])
    errors = _filled(shape, at, _unmarked(ratings.values()), [rated.errors for rated in ratings.values()])
    return _recorded(frame, _fixed(value), _fixed(errors))


def _seats(ratings: Iterable[Unit], document: Mapping[str, int], rater: Mapping[str, int]) -> list[tuple[int, ...]]:
    """List the raters of each document; the place in the list is the slot."""
    sets: list[set[int]] = [set() for _ in document]
    for unit in ratings:
        sets[document[unit.document]].add(rater[unit.rater])
    return [tuple(sorted(raters)) for raters in sets]


def _buckets(seats: Sequence[tuple[int, ...]]) -> Ints:
    order = {seat: index for index, seat in enumerate(sorted(set(seats)))}
    return np.array([order[seat] for seat in seats], dtype=np.int64)


def _check_shape(shape: tuple[int, ...], where: str) -> None:
    if shape[0] < 2:
        raise InputError(f"{where}: holds ratings of one system; a study compares at least two")
    if math.prod(shape) > MAX_CELLS:
        sizes = "{:,} systems x {:,} segments x {:,} raters".format(*shape)
        raise InputError(f"{where}: {sizes} are more than {MAX_CELLS:,} possible ratings; check the names in the table")


def _unmarked(ratings: Iterable[Rated]) -> int:
    return -1 if any(rated.errors < 0 for rated in ratings) else 0


def _filled(shape: tuple[int, ...], at: tuple[Ints, ...], empty: float, content: Sequence[float]) -> Array:
    array = np.full(shape, empty)
    array[at] = content
    return array


def _fixed(array: Array) -> Array:
    array.flags.writeable = False
    return array
