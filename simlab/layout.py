"""Say how outcomes lie in a store: which variable has which dimensions, how a cell is padded and cut out again."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlab.blocks import unpack
from simlab.ledger import Entry, Ledger, Row
from simlab.types import NO_TWIN, Array, InputError, Ints

OK, DESIGN_FAILED, BLOCK_FAILED, UNRUN = 0, 1, 2, 3
CHUNK_BYTES = 16 * 2**20
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Kind:
    """Say what an outcome is: its dimensions after the axes, its type, what fills gaps, and its meaning.

    On the dimension `of_world` an outcome has one row per world (`world` itself is a coordinate of replicates).
    """

    dims: tuple[str, ...]
    dtype: str
    fill: Any
    label: str


OUTCOMES: Mapping[str, Kind] = {
    "status": Kind(("replicate",), "int8", UNRUN, "0 ok, 1 design failed, 2 block failed, 3 not run"),
    "document_set": Kind(("replicate",), "int32", -1, "index of the draw of documents"),
    "ratings_used": Kind(("replicate",), "int32", 0, "ratings asked for"),
    "cost": Kind(("replicate",), "float64", NAN, "price of the ratings"),
    "load_entropy_reached": Kind(("replicate",), "float64", NAN, "normalised entropy of the raters' load"),
    "estimate": Kind(("replicate", "system"), "float64", NAN, "estimated quality"),
    "human_count": Kind(("replicate", "system"), "int32", 0, "ratings of the system"),
    "direction": Kind(("replicate", "pair"), "int8", 0, "+1: the first system is better, -1: the second, 0: equal"),
    "significant": Kind(("replicate", "pair"), "bool", False, "whether the difference is significant"),
    "p_value": Kind(("replicate", "pair"), "float64", NAN, "two-sided p-value"),
    "twin_direction": Kind(("replicate", "pair"), "int8", NO_TWIN, "direction with other raters; -128: not possible"),
    "twin_significant": Kind(("replicate", "pair"), "bool", False, "whether it is significant with other raters"),
    "verdict": Kind(
        ("replicate", "pair"), "int8", 0, "+1: the first system declared better, -1: the second, 0: neither"
    ),
    "decided": Kind(("replicate", "pair"), "bool", False, "whether the decision rule ended collecting"),
    "theta": Kind(("replicate", "pair"), "float64", NAN, "probability that the first system wins more often"),
    "used": Kind(("replicate", "pair"), "int32", 0, "annotations of the pair"),
    "rounds": Kind(("replicate", "pair"), "int32", 0, "batches of the pair"),
    "reference_verdict": Kind(("replicate", "pair"), "int8", 0, "verdict of the full human evaluation"),
    "reference_smoothed": Kind(("replicate", "pair"), "bool", False, "whether some outcome never occurs in it"),
    "p_mean": Kind(("replicate", "pair", "preference"), "float64", NAN, "estimated probability of >, =, <"),
    "p_low": Kind(("replicate", "pair", "preference"), "float64", NAN, "lower bound of its 95 % interval"),
    "p_high": Kind(("replicate", "pair", "preference"), "float64", NAN, "upper bound of its 95 % interval"),
    "reference_p": Kind(("replicate", "pair", "preference"), "float64", NAN, "share in the full human evaluation"),
    "cyclic": Kind(("replicate", "system"), "bool", False, "whether verdicts lead from the system back to itself"),
    "ratings_possible": Kind(("replicate",), "int32", 0, "annotations in the full human evaluation"),
    "item_ratings_used": Kind(("replicate",), "int32", 0, "single outputs that raters had to read"),
    "item_ratings_possible": Kind(("replicate",), "int32", 0, "single outputs in the full human evaluation"),
    "undecided": Kind(("replicate", "round"), "int32", -1, "pairs undecided after a round"),
    "collected": Kind(("replicate", "round"), "int32", -1, "annotations collected up to a round"),
    "metric_used": Kind(("replicate",), "int64", 0, "outputs rated by the metric"),
    "human_cost": Kind(("replicate",), "float64", NAN, "price of the human ratings that estimate"),
    "standard_error": Kind(("replicate", "system"), "float64", NAN, "standard error of the estimate"),
    "low": Kind(("replicate", "system"), "float64", NAN, "lower bound of the estimate's interval"),
    "high": Kind(("replicate", "system"), "float64", NAN, "upper bound of the estimate's interval"),
    "baseline": Kind(("replicate", "system"), "float64", NAN, "mean of the human judgements alone"),
    "baseline_width": Kind(("replicate", "system"), "float64", NAN, "width of its interval"),
    "difference_se": Kind(("replicate", "pair"), "float64", NAN, "standard error of the difference"),
    "true_gamma": Kind(("of_world", "system"), "float64", NAN, "variance of a judgement's noise over that of outputs"),
    "true_correlation": Kind(("of_world", "system"), "float64", NAN, "correlation of metric and human score"),
    "true_efficiency": Kind(("of_world", "system"), "float64", NAN, "data efficiency by formula"),
    "true_human_rho": Kind(("of_world", "system"), "float64", NAN, "true positive rate of the raters"),
    "true_human_eta": Kind(("of_world", "system"), "float64", NAN, "true negative rate of the raters"),
    "true_metric_rho": Kind(("of_world", "system"), "float64", NAN, "true positive rate of the metric"),
    "true_metric_eta": Kind(("of_world", "system"), "float64", NAN, "true negative rate of the metric"),
    "true_p": Kind(("of_world", "pair", "preference"), "float64", NAN, "true probability of >, =, <"),
    "true_value": Kind(("of_world", "system"), "float64", NAN, "true quality"),
    "true_direction": Kind(("of_world", "pair"), "int8", 0, "true direction"),
}
PER_WORLD = frozenset(name for name, kind in OUTCOMES.items() if kind.dims[0] == "of_world")


def _between(first: str, last: str) -> frozenset[str]:
    names = list(OUTCOMES)
    return frozenset(names[names.index(first) : names.index(last) + 1])


_OWN: Mapping[str, frozenset[str]] = {
    "ratings": frozenset(["load_entropy_reached", "human_count", "twin_direction", "twin_significant"]),
    "preferences": _between("verdict", "collected") | {"true_p"},
    "judgements": _between("metric_used", "true_metric_eta"),
}
"""Outcomes that only studies of one kind have."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Say how large everything is that a ledger holds, and which cells there are.

    `sizes` are those of the dimensions that are not axes; cells with fewer systems are padded.
    """

    axes: tuple[Mapping[str, Any], ...]
    worlds: int
    studies: int
    entries: Mapping[tuple[int, ...], Entry]
    sizes: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """Count the values of each axis."""
        return tuple(len(axis["values"]) for axis in self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Name the axes."""
        return tuple(axis["name"] for axis in self.axes)


def grid(book: Ledger) -> Grid:
    """Read the size of everything from a ledger."""
    declared = book.declaration()
    if declared is None:
        raise InputError(f"{book.folder} holds no sweep yet")
    entries = {entry.position: entry for entry in book.entries()}
    worlds, studies = declared["worlds"], declared["studies"]
    n = max((len(entry.systems) for entry in entries.values()), default=0)
    rounds = max((n_rounds(entry.config) for entry in entries.values()), default=0)
    sizes = {"replicate": worlds * studies, "of_world": worlds, "system": n, "pair": n * (n - 1) // 2}
    sizes |= {"preference": 3, "round": rounds}
    return Grid(tuple(declared["axes"]), worlds, studies, entries, sizes)


def n_rounds(config: Mapping[str, Any]) -> int:
    """Count the looks at which a campaign is followed, look 0 included; 0 where nothing is collected in batches."""
    budget = config.get("budget", {})
    return 1 - (-budget["annotations_per_pair"] // budget["batch_size"]) if "batch_size" in budget else 0


def campaign_bytes(config: Mapping[str, Any], n_systems: int) -> int:
    """Estimate the size of the outcomes of one campaign, uncompressed."""
    sizes = {"replicate": 1, "of_world": 0, "system": n_systems, "pair": n_systems * (n_systems - 1) // 2}
    sizes |= {"preference": 3, "round": n_rounds(config)}
    budget = config.get("budget", {})
    own = "preferences" if "batch_size" in budget else "judgements" if "human_ratings" in budget else "ratings"
    others = frozenset().union(*(names for kind, names in _OWN.items() if kind != own))
    kinds = [kind for name, kind in OUTCOMES.items() if name not in others]
    return 8 + sum(np.dtype(kind.dtype).itemsize * math.prod(sizes[dim] for dim in kind.dims) for kind in kinds)


def columns(dim: str, n_systems: int, size: int) -> Ints:
    """Find where the systems (pairs) of a cell of `n_systems` lie among all; along other dimensions all is its own.

    Pairs of the first systems do not come first in the order of pairs: of 4 systems, the pairs of the first 3 are

    >>> columns("pair", 3, 6)
    array([0, 1, 3])
    """
    if dim != "pair":
        return np.arange(n_systems if dim == "system" else size)
    largest = math.isqrt(2 * size) + 1
    return np.flatnonzero(np.triu_indices(largest, 1)[1] < n_systems)


def gather(rows: Iterable[Row], config: Mapping[str, Any]) -> dict[str, Array]:
    """Join the blocks of a cell: replicates in the order of worlds and studies, failed ones with their status.

    Outcomes per world are indexed by world. Raises InputError where a block is torn.
    """
    parts = [_part(row, config) for row in rows]
    names = list(dict.fromkeys(name for part in parts for name in part))
    joined = {name: _joined(parts, name) for name in names if name not in PER_WORLD}
    return joined | {name: _by_world(parts, name) for name in names if name in PER_WORLD}


def _part(row: Row, config: Mapping[str, Any]) -> dict[str, Array]:
    at = row.block.address
    if not row.sound:
        raise InputError(f"a block of the ledger is damaged ({at}); run the same sweep again to compute it anew")
    if not row.block.failed:
        return {name: _typed(name, array) for name, array in unpack(row.block.payload).items()}
    study = np.arange(at.first, at.first + at.count, dtype=np.int32)
    # A failed replicate keeps its document set, so that designs compared have the same clusters.
    per_set = config.get("design", {}).get("studies_per_document_set", 1)
    return {
        "world": np.full(at.count, at.world, np.int32),
        "study": study,
        "document_set": study // np.int32(per_set),
        "status": np.full(at.count, BLOCK_FAILED, np.int8),
    }


def _typed(name: str, array: Array) -> Array:
    return array.astype(OUTCOMES[name].dtype if name in OUTCOMES else "int32", copy=False)


def _joined(parts: Sequence[Mapping[str, Array]], name: str) -> Array:
    row = next(part[name][:1] for part in parts if name in part)
    fill = np.full_like(row, OUTCOMES[name].fill) if name in OUTCOMES else row
    return np.concatenate([part.get(name, np.repeat(fill, len(part["status"]), axis=0)) for part in parts])


def _by_world(parts: Sequence[Mapping[str, Array]], name: str) -> Array:
    found = {int(part["world"][0]): part[name][0] for part in parts if name in part}
    worlds = 1 + max(int(part["world"][0]) for part in parts)
    filler = np.full_like(next(iter(found.values())), OUTCOMES[name].fill)
    return np.stack([found.get(world, filler) for world in range(worlds)])


def spread(outcomes: Mapping[str, Array], name: str, grid: Grid, n_systems: int) -> Array:
    """Lay an outcome of a cell out on all replicates (worlds) and systems (pairs) of the grid."""
    kind = OUTCOMES[name]
    padded = np.full([grid.sizes[dim] for dim in kind.dims], kind.fill, kind.dtype)
    array = outcomes[name]
    rows = np.arange(len(array)) if name in PER_WORLD else outcomes["world"] * grid.studies + outcomes["study"]
    places = [
        columns(dim, n_systems, grid.sizes[dim])[:length]
        for dim, length in zip(kind.dims[1:], array.shape[1:], strict=True)
    ]
    padded[np.ix_(rows, *places)] = array
    return padded


def depth(grid: Grid, names: Iterable[str]) -> int:
    """Count the leading axes along which chunks hold one value each, so that a chunk stays small."""
    sizes = grid.sizes
    widest = max(
        np.dtype(OUTCOMES[name].dtype).itemsize * math.prod(sizes[dim] for dim in OUTCOMES[name].dims) for name in names
    )
    fits = (k for k in range(len(grid.shape)) if math.prod(grid.shape[k:]) * widest <= CHUNK_BYTES)
    return next(fits, len(grid.shape))


def slabs(book: Ledger, grid: Grid, names: Sequence[str]) -> Iterator[tuple[tuple[int, ...], dict[str, Array]]]:
    """Yield outcomes chunk by chunk: the place on the leading axes, and there each outcome on all other dimensions."""
    split, sizes = depth(grid, names), grid.sizes
    for prefix in _places(grid.shape[:split]):
        slab = {
            name: np.full(
                (*grid.shape[split:], *(sizes[dim] for dim in OUTCOMES[name].dims)),
                OUTCOMES[name].fill,
                OUTCOMES[name].dtype,
            )
            for name in names
        }
        for rest in _places(grid.shape[split:]):
            entry = grid.entries.get(prefix + rest)
            outcomes = gather(book.blocks(entry.cell), entry.config) if entry else {}
            for name in outcomes.keys() & slab.keys():
                slab[name][rest] = spread(outcomes, name, grid, len(entry.systems) if entry else 0)
        yield prefix, slab


def _places(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return itertools.product(*map(range, shape))
