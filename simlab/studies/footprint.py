"""Estimate from a config alone the size of its worlds, and the memory that worlds and campaigns take.

Call `read_extent` with a config for the sizes, `measure_array` for the bytes of an array over some of them; each kind
of study adds these up in a `Footprint`, whose `peak` is in bytes. Bytes per entry were measured, at their peak.

Parts are known by the names of their keys, whichever part it is: a system model of one's own that has `n_systems` and
`n_items` is counted like those that are built in. A size without such a key counts as one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simlab import files
from simlab.parts import is_chosen
from simlab.world.files.fitted_world import read_world
from simlab.world.fitted import USUAL_SEATS, fitted
from simlab.world.recorded import recorded


class Need(NamedTuple):
    """A number of bytes, and the sizes that it is made of."""

    bytes: float
    sizes: tuple[CountedSize, ...]

    @property
    def of(self) -> str:
        """Return the sizes as text: `3 systems x 2 items`."""
        return " x ".join(f"{size.n:,.0f} {size.word}" for size in self._counted)

    @property
    def keys(self) -> tuple[str, ...]:
        """Name the keys that lower it, the one that counts most first."""
        largest = sorted(self._counted, key=lambda size: -size.n)
        return tuple(dict.fromkeys(size.key for size in largest if size.key))

    @property
    def _counted(self) -> list[CountedSize]:
        return [size for size in self.sizes if size.n > 1] or list(self.sizes)


class Footprint(NamedTuple):
    """Memory that a world takes, and that drawing it, or a block of campaigns, takes in addition."""

    world: Sequence[Need]
    drawing: Sequence[Need]
    campaigns: Sequence[Need]

    def peak(self, kept: int = 1) -> float:
        """Return the most bytes that are held at a time, where a process keeps `kept` worlds."""
        return kept * total(self.world) + max(total(self.drawing), total(self.campaigns))

    def find_largest(self) -> Need:
        """Return the array, or arrays of one kind, that takes most bytes."""
        return max((*self.world, *self.drawing, *self.campaigns), key=lambda need: need.bytes)


NOTHING = Footprint((), (), ())
"""Forecast of a kind of study that has no `footprint` of its own."""


def measure_array(bytes_each: float, *sizes: CountedSize) -> Need:
    """Return the bytes of an array over these sizes, with `bytes_each` bytes per entry.

    >>> systems, items = CountedSize(3, "systems", "systems.n_systems"), CountedSize(2, "items", "systems.n_items")
    >>> measure_array(8, systems, items).bytes
    48.0
    """
    return Need(bytes_each * math.prod(float(size.n) for size in sizes), sizes)


def total(needs: Sequence[Need]) -> float:
    """Add up the bytes of needs.

    >>> total([])
    0
    """
    return sum(need.bytes for need in needs)


class CountedSize(NamedTuple):
    """A number `n` of things, the `word` for them (`systems`), and the `key` of the config that lowers it."""

    n: float
    word: str
    key: str


class Extent(NamedTuple):
    """Numbers of systems, items, documents, raters of a bucket (`seats`) and of the `pool`; `table` counts bytes."""

    systems: CountedSize
    items: CountedSize
    documents: CountedSize
    seats: CountedSize
    pool: CountedSize
    table: CountedSize

    @property
    def pairs(self) -> CountedSize:
        """Count the pairs of systems."""
        n = self.systems.n
        return CountedSize(n * (n - 1) / 2, "pairs of systems", self.systems.key)


def read_extent(config: Mapping[str, Any]) -> Extent:
    """Return how large the worlds of a config are; raise InputError where they come from a file that is none."""
    systems, plugins = config.get("systems", {}), config.get("plugins", ())
    if is_chosen(systems, fitted, plugins):
        return _read_fitted_extent(systems)
    raters = config.get("raters", {})
    items = "n_items" if "n_items" in systems else "n_segments"
    return Extent(
        CountedSize(_count(systems, "n_systems"), "systems", "systems.n_systems"),
        CountedSize(_count(systems, items), items.removeprefix("n_"), f"systems.{items}"),
        CountedSize(_count(systems, "n_documents"), "documents", "systems.n_documents"),
        CountedSize(_count(raters, "raters_per_bucket"), "raters of a bucket", "raters.raters_per_bucket"),
        CountedSize(_count(raters, "pool_size"), "raters", "raters.pool_size"),
        CountedSize(
            _bytes_of_tables(config) if is_chosen(systems, recorded, plugins) else 0,
            "bytes of the table",
            "systems.path",
        ),
    )


def _read_fitted_extent(systems: Mapping[str, Any]) -> Extent:
    world = read_world(systems["path"], systems["sha256"])
    n_systems = len(world.system_names if systems["names"] is None else systems["names"])
    segments = systems["n_documents"] * sum(world.document_sizes) / len(world.document_sizes)
    seats = systems["raters_per_bucket"] or max(USUAL_SEATS, *map(len, world.seats))
    return Extent(
        CountedSize(n_systems, "systems", "systems.names"),
        CountedSize(segments, "segments", "systems.n_documents"),
        CountedSize(systems["n_documents"], "documents", "systems.n_documents"),
        CountedSize(seats, "raters of a bucket", "systems.raters_per_bucket"),
        _raters(systems, len(world.rater_names)),
        CountedSize(0, "bytes of the table", "systems.path"),
    )


def _raters(systems: Mapping[str, Any], pilot: int) -> CountedSize:
    """Count the raters of a fitted world: those that are drawn anew, else those of its pilot."""
    n = systems.get("n_raters")
    return CountedSize(pilot, "raters", "systems.path") if n is None else CountedSize(n, "raters", "systems.n_raters")


def _count(section: Mapping[str, Any], key: str) -> float:
    """Return a number as a float: products of counts must not be made of digits without end."""
    value = section.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 1.0


def _bytes_of_tables(config: Mapping[str, Any]) -> float:
    """Count the bytes of the ratings, and of the scores of a recorded metric where these are in another file."""
    systems, metric = config["systems"], config.get("metric", {})
    other = "column" in metric and metric.get("path") != systems.get("path")
    return _bytes(systems) + (_bytes(metric) if other else 0.0)


def _bytes(section: Mapping[str, Any]) -> float:
    if section.get("path") is None:
        return 0.0
    file = files.expand_path(section["path"])
    return float(file.stat().st_size) if file.is_file() else 0.0
