"""Put the cells of several stores beside each other, so that designs of different kinds of studies can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.comparing.promises import Doubts, doubts
from simlab.messages import flat, word
from simlab.store.held_fixed import HELD_FIXED, held_fixed
from simlab.store.opening import axes_of, config_of, measures_of
from simlab.store.query import records
from simlab.types import Floats, InputError

if TYPE_CHECKING:
    import xarray as xr

DESIGN, SEED = "design", "seed"


def common_measures(stores: Mapping[str, xr.Dataset]) -> tuple[str, ...]:
    """Name the measures that all stores hold, in the order of the first."""
    first, *others = stores.values()
    return tuple(name for name in measures_of(first) if all(name in measures_of(other) for other in others))


@dataclass(frozen=True, slots=True)
class Joined:
    """Hold the cells of several stores along one axis, `design`, and what is held against each.

    `paired` where all met the same worlds; `differing` names the keys in which their systems differ.
    """

    dataset: xr.Dataset
    paired: bool
    differing: tuple[str, ...]
    against: Doubts


def join(stores: Mapping[str, xr.Dataset], measure: str) -> Joined:
    """Put a measure of all cells of all stores along one axis.

    Cells of the same seed and systems met the same worlds, so that their differences are paired; others are
    independent. Raises InputError for stores whose measures are not replicated over worlds or are calculations.
    """
    import xarray as xr

    _check(stores, measure)
    rows = [row for name, dataset in stores.items() for row in _cells(name, dataset, measure)]
    met = [json.dumps(row.worlds, sort_keys=True) for row in rows]
    slots = {worlds: k for k, worlds in enumerate(dict.fromkeys(met))}
    influence = _beside([row.influence for row in rows], [slots[worlds] for worlds in met])
    variables: dict[str, Any] = {
        f"{measure}{suffix}": (DESIGN, np.array([row.record[f"{measure}{suffix}"] for row in rows]))
        for suffix in ("", "_mcse", "_n", "_low", "_high")
    }
    variables[f"{measure}_influence"] = ((DESIGN, "cluster"), influence)
    joined = xr.Dataset(variables, {DESIGN: [row.design for row in rows]})
    joined[measure].attrs.update(next(iter(stores.values()))[measure].attrs)
    fixed = dict.fromkeys(words for dataset in stores.values() for words in held_fixed(dataset, [measure]).values())
    if fixed:
        joined[measure].attrs[HELD_FIXED] = "; elsewhere ".join(fixed)
    return Joined(joined, len(slots) == 1, differing([row.worlds for row in rows]), _doubts(stores, measure))


def alone(dataset: xr.Dataset, by: str, measure: str) -> xr.Dataset:
    """Give each design along an axis clusters of its own, since worlds of one index are not the same worlds."""
    name = f"{measure}_influence"
    moved = dataset[name].transpose(by, ..., "cluster")
    spread = _beside(list(moved.values), range(moved.sizes[by]))
    rest = dataset.drop_vars(name).drop_dims("cluster", errors="ignore")
    return rest.assign({name: (moved.dims, spread)})


def differing(worlds: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Name the keys of systems in which worlds differ; worlds of another seed are others of the same kind."""
    keys = dict.fromkeys(key for one in worlds for key in one if key != SEED)
    return tuple(key for key in keys if len({json.dumps(one.get(key)) for one in worlds}) > 1)


def other_systems(dataset: xr.Dataset, axis: str) -> bool:
    """Tell whether the cells along an axis have other systems: if it varies them, or asks other questions of others."""
    key = str(dataset[axis].attrs.get("key", axis))
    held = config_of(dataset).get("systems", {})
    return key.partition(".")[0] == "systems" or (key == "question" and "_target_" not in held)


def _beside(influence: Sequence[Floats], slots: Sequence[int]) -> Floats:
    """Lay `influence[..., cluster]` of each design into columns that only those of its slot share."""
    size = max(values.shape[-1] for values in influence)
    laid = np.full((len(influence), *influence[0].shape[:-1], size * (max(slots) + 1)), np.nan)
    for spread, values, slot in zip(laid, influence, slots, strict=True):
        spread[..., slot * size : slot * size + values.shape[-1]] = values
    return laid


def _doubts(stores: Mapping[str, xr.Dataset], measure: str) -> Doubts:
    found = [doubts(dataset, measure, axes_of(dataset)) for dataset in stores.values()]
    marks, failed, ran = ([np.ravel(getattr(one, name)) for one in found] for name in ("marks", "failed", "ran"))
    return Doubts(np.concatenate(marks), np.concatenate(failed), np.concatenate(ran))


def _check(stores: Mapping[str, xr.Dataset], measure: str) -> None:
    for name, dataset in stores.items():
        if not np.isfinite(dataset[measure].values).any():
            raise InputError(f"{measure} has no value in {name}; name another --measure")
    clusters = {str(dataset[measure].attrs.get("cluster")) for dataset in stores.values()}
    if clusters != {"world"}:
        raise InputError(
            f"{measure} is replicated over {', '.join(sorted(clusters))}; stores are compared over worlds: "
            "run each with several worlds"
        )


class _Cell(NamedTuple):
    design: str
    record: Mapping[str, Any]
    influence: Floats
    worlds: Mapping[str, Any]


def _cells(store: str, dataset: xr.Dataset, measure: str) -> Iterator[_Cell]:
    """Yield each cell: the name of the design, its record, its influence values, and what determines its worlds."""
    axes = axes_of(dataset)
    influence = dataset[f"{measure}_influence"].transpose(*axes, "cluster").values
    flat = influence.reshape(-1, influence.shape[-1])
    for record, values in zip(records(dataset, [measure]), flat, strict=True):
        at = ", ".join(f"{axis}={word(record[axis])}" for axis in axes)
        yield _Cell(f"{store}: {at}" if at else store, record, values, _worlds(dataset, record))


def _worlds(dataset: xr.Dataset, record: Mapping[str, Any]) -> dict[str, Any]:
    """Write down what determines the systems of a cell's worlds."""
    config = json.loads(dataset.attrs["config"])
    shared = {SEED: config.get(SEED), "systems": config.get("systems")}
    axes = json.loads(dataset.attrs["sweep"])["axes"]
    varied = [axis for axis in axes if axis["key"] == SEED or axis["key"].partition(".")[0] == "systems"]
    return {**dict(flat(shared)), **{axis["key"]: record[axis["name"]] for axis in varied}}
