"""Make a world of real ratings: those of every rater of a table, with gaps.

`recorded`, an option of `systems`, takes the path and columns of a table and returns a `World`; `table` reads a table
as `Ratings`, `make_world` makes a world of these.

The built-in table holds the numbers (no sentences) of the English-German general-translation ratings of WMT23 in which
three raters rated every output, released side by side as `sxs_mqm_generalMT2023_ende` in
google/wmt-mqm-human-evaluation under the Apache License 2.0; see data/README.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256 as _sha256
from importlib.resources import as_file
from importlib.resources import files as packaged
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from simlab import files
from simlab.messages import clip, suggest
from simlab.tables import columns, segment_scores
from simlab.tables.columns import parse_where
from simlab.tables.lines import REMEDY
from simlab.tables.rating_table import NOTHING, ColumnOverrides, Ratings
from simlab.tables.reading import read, read_for_config
from simlab.types import RATE, Array, Bools, Floats, Frame, InputError, Ints, RatedWorld, World
from simlab.world.files.plain_document import chosen_file
from simlab.world.laws.fixed import FixedRatings, fixed_ratings

BUILT_IN = "sxs_mqm_generalMT2023_ende.tsv"
# A world is dense in (system, item, slot): a table of outputs that hardly share a system would not fit in memory.
MAX_CELLS = 50_000_000
"""Most cells (system, item, slot) of a world that a table makes.
"""


class _Said(NamedTuple):
    """Keys of a config that describe a table, beside its path: see `recorded`."""

    sha256: str | None
    better: Literal["higher", "lower"] | None
    columns: str | None
    people: str | None
    where: str | None


def recorded(
    rng: np.random.Generator,
    *,
    path: str | None,
    sha256: str | None,
    names: list[str] | None,
    better: Literal["higher", "lower"] | None,
    columns: str | None,
    people: str | None,
    where: str | None,
) -> RatedWorld:
    """Use the ratings of a table as a world; `path=None` is the table built into simlab, `names=None` all its systems.

    `rng` is not used: nothing is drawn. A bucket is the set of documents that the same raters rated. The
    truth is not known. `errors` counts major and minor errors, 0 in a gap, and is -1 throughout where the
    table has no counts. The arrays are read-only, since all studies in a process share them. A table of averaged
    segment scores makes a world with one rater (`tables.segment_scores`). `better`, `columns` (`ours=theirs,...`),
    `people` (a file) and `where` (`column=value,...`) are what is told of a table beside what it holds; None: as the
    table has it.

    Raises InputError for a file that is not a table of ratings, or whose digest is not `sha256` (None: any), and for
    names that are not in it.
    """
    options = _Said(sha256, better, columns, people, where)
    chosen = chosen_file(path, sha256, empty="give a table of ratings, or null for the built-in one", remedy=REMEDY)
    if chosen is None and options != _Said(None, None, None, None, None):
        raise InputError(
            "systems.better, columns, people and where are of a table; give systems.path, too, or leave them out"
        )
    return _select_named(_load_built_in() if chosen is None else _read_world(*chosen, _state(people), options), names)


def table(path: Path | None, columns: ColumnOverrides = NOTHING) -> Ratings:
    """Read a table of ratings, as the overrides in `columns` say; None is the one built into simlab, without overrides.

    Raises InputError for a file that is not a table of ratings, and for what is told of none.
    """
    if path is not None:
        ratings = read(path, columns)
        if ratings.far is not None:
            raise ratings.far.refusal(clip(path))
        return ratings
    if columns != NOTHING:
        raise InputError(
            "--columns, --better, --scale, --people, --where, --alike, --wide and --decimal are of a table; name it, "
            "or leave them out"
        )
    with as_file(packaged("simlab.world").joinpath("data", BUILT_IN)) as built_in:
        return read(built_in, columns, as_before=True)


def holds_averages(world: World) -> bool:
    """True if a world has averaged scores, not the ratings of each rater."""
    return world.frame.rater_names == (segment_scores.AVERAGE,) and not world.frame.lower_is_better


def _select_named(world: World, names: Sequence[str] | None) -> World:
    """Keep the named systems, in the order of the names."""
    ratings = fixed_ratings(world)
    if names is None or ratings is None:
        return world
    known, frame = world.frame.system_names, world.frame
    for name in names:
        if name not in known:
            hint = suggest(name, known, "it has", 300)
            raise InputError(f"systems.names: the table has no ratings of {clip(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    at = [known.index(name) for name in names]
    kept = replace(frame, rater=_make_read_only(frame.rater[at]), system_names=tuple(names))
    chosen = _make_recorded(kept, _make_read_only(ratings.value[at]), _make_read_only(ratings.errors[at]))
    return _rated_segments(chosen) if holds_averages(world) else chosen


def _rated_segments(world: World) -> World:
    """Drop segments without any score from a table of averages, where each is a document of its own."""
    frame, ratings = world.frame, fixed_ratings(world)
    rated = np.any(frame.rater >= 0, axis=(0, 2))
    if ratings is None or rated.all():
        return world
    kept = replace(
        frame,
        document=_make_read_only(np.arange(rated.sum())),
        bucket=_make_read_only(frame.bucket[rated]),
        rater=_make_read_only(frame.rater[:, rated]),
        document_names=tuple(itertools.compress(frame.document_names, rated)),
        item_names=tuple(itertools.compress(frame.item_names, rated)),
    )
    return _make_recorded(kept, _make_read_only(ratings.value[:, rated]), _make_read_only(ratings.errors[:, rated]))


def _make_recorded(frame: Frame, value: Floats, errors: Ints) -> World:
    return World(frame, {RATE: FixedRatings(value, errors)})


@lru_cache(maxsize=1)
def _load_built_in() -> World:
    return make_world(table(None), "the built-in table")


@lru_cache(maxsize=4)
def _read_world(path: Path, state: files.FileState, people_state: files.FileState | None, options: _Said) -> World:
    """Read a file once per process and state: blocks of a study ask for the same world again and again."""
    people = None if options.people is None else files.expand_path(options.people)
    if options.sha256 is not None:
        files.refuse_change(digest(path, people), options.sha256, clip(path))
    chosen = parse_where(options.where.split(",")) if options.where else ()
    overrides = ColumnOverrides(
        columns=columns.parse_columns(options.columns), better=options.better, people=people, where=chosen
    )
    return make_world(read_for_config(path, overrides, as_before=True), clip(path))


def _state(people: str | None) -> files.FileState | None:
    if people is None:
        return None
    path = files.expand_path(people)
    return files.check_regular(path, clip(path), remedy="give the file that says who raters are")


def digest(path: Path, people: Path | None) -> str:
    """Return the SHA-256 digest of a table, combined with that of the file of its raters, `people` (None: no file)."""
    own = files.digest(path)
    return own if people is None else _sha256((own + files.digest(people)).encode()).hexdigest()


def make_world(ratings: Ratings, where: str = "the table") -> World:
    """Make a world of the ratings of a table; raise InputError, beginning with `where`, for what no study can compare.

    Slot j of a document is the j-th of the raters who rated any of it.
    """
    seats, seat = _seats(ratings)
    shape = ratings.n_systems, len(ratings.item_names), int(seats.sum(1).max())
    _check_shape(shape, where)
    at = ratings.system, ratings.item, seat
    frame = Frame(
        document=_make_read_only(ratings.document.copy()),
        bucket=_make_read_only(_number_buckets(seats)),
        rater=_make_read_only(_fill_array(shape, at, -1, ratings.rater)),
        system_names=ratings.system_names,
        document_names=ratings.document_names,
        rater_names=ratings.rater_names,
        lower_is_better=ratings.lower_is_better,
        item_names=ratings.item_names,
    )
    value = _fill_array(shape, at, np.nan, ratings.score)
    errors = _fill_array(shape, at, -1 if np.any(ratings.errors < 0) else 0, ratings.errors)
    return _make_recorded(frame, _make_read_only(value), _make_read_only(errors))


def _seats(ratings: Ratings) -> tuple[Bools, Ints]:
    """Return who rated any of each document, `[document, rater]`, and in which seat of it each rating was given."""
    document = ratings.document[ratings.item]
    seats = np.zeros((ratings.n_documents, ratings.n_raters), bool)
    seats[document, ratings.rater] = True
    return seats, (np.cumsum(seats, axis=1) - 1)[document, ratings.rater]


def _number_buckets(seats: Bools) -> Ints:
    """Number the different sets of raters, in the order of the lists of their indices."""
    rows = [tuple(np.flatnonzero(row).tolist()) for row in seats]
    order = {row: index for index, row in enumerate(sorted(set(rows)))}
    return np.array([order[row] for row in rows], dtype=np.int64)


def _check_shape(shape: tuple[int, ...], where: str) -> None:
    if shape[0] < 2:
        raise InputError(f"{where}: holds ratings of one system; a study compares at least two")
    if math.prod(shape) > MAX_CELLS:
        sizes = "{:,} systems x {:,} segments x {:,} raters".format(*shape)
        raise InputError(f"{where}: {sizes} are more than {MAX_CELLS:,} possible ratings; check the names in the table")


def _fill_array(shape: tuple[int, ...], at: tuple[Ints, ...], empty: float, content: Array) -> Array:
    array = np.full(shape, empty)
    array[at] = content
    return array


def _make_read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array
