"""Coordinates of a store: the labels along every dimension.

Call `coordinates` with the grid of a sweep (`size`), which returns them all, by name, as `(dims, values, attributes)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from simlab.messages import word
from simlab.store.layout import Grid
from simlab.store.measures import Variables
from simlab.studies.outcomes import DRAW, POOL
from simlab.types import Array

ASKED = "asked"
"""Coordinate of a grid with gaps: whether the sweep asked for a cell."""
PAIRS = ("pair_first", "pair_second", "pair_exists")
NAMES_OF_PAIRS = ("pair_first_name", "pair_second_name")

DIMENSIONS = {"preference": "outcome of a comparison", "round": "batches collected"}
"""Labels of the dimensions that some kinds of studies have beside replicates, systems and pairs."""

_ALWAYS = ("replicate", "of_world", "system", "pair")


def coordinates(size: Grid, document_set: Array | None) -> Variables:
    """Return the labels along every dimension; `document_set[replicate]` is None where cells differ in it."""
    axes: Variables = {
        axis["name"]: ((axis["name"],), axis_values(axis["values"]), {"key": axis["key"]}) for axis in size.axes
    }
    n_systems = np.zeros(size.shape, np.int32)
    for position, entry in size.entries.items():
        n_systems[position] = len(entry.systems)
    # The second of a pair has the larger number: a cell of n systems has the pairs whose second is below n.
    exists = np.triu_indices(size.sizes["system"], 1)[1] < n_systems[..., None]
    counted: Variables = {
        "n_systems": (size.names, n_systems, {"label": "systems of the cell"}),
        "pair_exists": ((*size.names, "pair"), exists, {"label": "whether the cell has the pair"}),
    }
    if len(size.entries) < n_systems.size:
        mask = np.zeros(size.shape, bool)
        mask[tuple(np.transpose(list(size.entries)))] = True
        counted[ASKED] = (size.names, mask, {"label": "whether the sweep asks for the cell"})
    return (
        axes
        | _along_axes(size.axes)
        | _replicate_variables(size, document_set)
        | _system_variables(size)
        | _kind_variables(size)
        | counted
    )


def _along_axes(axes: Sequence[Mapping[str, Any]]) -> Variables:
    """Return the values of keys that move along with an axis, since its values set several keys."""
    return {
        name: ((axis["name"],), axis_values([one[key] for one in axis["sets"]]), {"key": key})
        for axis in axes
        for key, name in axis.get("along", {}).items()
    }


def _replicate_variables(size: Grid, document_set: Array | None) -> Variables:
    rest = np.arange(size.worlds * size.pools * size.draws * size.studies, dtype=np.int32)
    rest, study = np.divmod(rest, np.int32(size.studies))
    rest, draw = np.divmod(rest, np.int32(size.draws))
    world, pool = np.divmod(rest, np.int32(size.pools))
    named: Variables = {
        "world": (("replicate",), world, {"label": "index of the world"}),
        "study": (("replicate",), study, {"label": "index of the study in its world"}),
    }
    if size.pools > 1 or size.draws > 1:
        named[POOL] = (("replicate",), pool, {"label": "index of the pool of raters in its world"})
        named[DRAW] = (("replicate",), draw, {"label": "index of the draw of documents in its world"})
    if document_set is not None:
        about = {"label": size.outcomes["document_set"].label}
        named["document_set"] = (("replicate",), document_set, about)
    return named


def _system_variables(size: Grid) -> Variables:
    """Name systems, and the two of each pair, where all cells have the same ones; else they are counted."""
    first, second = np.triu_indices(size.sizes["system"], 1)
    systems = {entry.systems for entry in size.entries.values()}
    alike = len(systems) == 1
    named = np.array(systems.pop()) if alike else np.arange(size.sizes["system"])
    variables: Variables = {
        "system": (("system",), named, {}),
        "pair_first": (("pair",), first.astype(np.int32), {"label": "index of the first system of a pair"}),
        "pair_second": (("pair",), second.astype(np.int32), {"label": "index of the second system of a pair"}),
    }
    if alike:
        variables["pair_first_name"] = (("pair",), named[first], {"label": "first system of a pair"})
        variables["pair_second_name"] = (("pair",), named[second], {"label": "second system of a pair"})
    return variables


def _kind_variables(size: Grid) -> Variables:
    """Name or count what lies along the dimensions that some kinds of studies have of their own."""
    named: Variables = {
        dim: ((dim,), np.array(names), {"label": DIMENSIONS.get(dim, dim)}) for dim, names in size.along.items()
    }
    for dim in sorted(size.sizes.keys() - {*_ALWAYS, *size.along}):
        named[dim] = ((dim,), np.arange(size.sizes[dim], dtype=np.int32), {"label": DIMENSIONS.get(dim, dim)})
    return named


def axis_values(values: Sequence[Any]) -> Array:
    """Turn the values of an axis into a coordinate: an array of numbers (NaN for null), or of truth values.

    Values of several sorts, and null alone, are texts.

    >>> axis_values([None, 0.5]), axis_values([10, 20]), axis_values([True, False]), axis_values([None, "a"])
    (array([nan, 0.5]), array([10, 20]), array([ True, False]), array(['null', 'a'], dtype='<U4'))
    """
    sorts = {type(value) for value in values}
    if sorts <= {int, float} or sorts == {bool}:
        return np.array(values)
    if sorts <= {int, float, type(None)} and len(sorts) > 1:
        return np.array([np.nan if value is None else value for value in values])
    return np.array([word(value) for value in values])


def restore_axis_values(coordinate: Array) -> list[Any]:
    """Return the values of an axis as its sweep has them: None for the null that NaN stands for.

    >>> restore_axis_values(axis_values([None, 0.5])), restore_axis_values(axis_values([True, False]))
    ([None, 0.5], [True, False])
    """
    # NaN is the only value that differs from itself.
    return [None if value != value else value for value in coordinate.tolist()]
