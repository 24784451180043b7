"""Digest the arrays of a store, and say where another store holds something else.

Bytes are promised on the kind of CPU on which they were recorded; elsewhere values are, as far as rounding goes.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import zarr

ROUNDING = 1e-9
GOLDEN_RATIO = 0.6180339887498949
OF_CPU = ("vendor_id", "cpu family", "model", "model name")


def cpu() -> dict[str, Any]:
    """Name what the last bits of a number depend on: libraries choose their loops by it."""
    simd = np.show_config(mode="dicts")["SIMD Extensions"]
    file = Path("/proc/cpuinfo")
    lines = file.read_text().partition("\n\n")[0].splitlines() if file.is_file() else []
    said = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    known = {name: said[name] for name in OF_CPU if name in said}
    return {"machine": platform.machine(), **known, "simd": [*simd.get("baseline", []), *simd.get("found", [])]}


def digests(store: Path, samples: int) -> dict[str, Any]:
    """Digest every array of a store: type, bytes, and `samples` values at fixed places with sums over all."""
    root = zarr.open_group(store, mode="r")
    return {
        name: digest(np.asarray(array[...]), array.metadata.dimension_names or (), samples)
        for name, array in root.arrays()
    }


def digest(array: np.ndarray[Any, Any], dims: tuple[str, ...], samples: int) -> dict[str, Any]:
    is_text = array.dtype.kind in "OTU"
    content = "\0".join(array.ravel().tolist()).encode() if is_text else array.tobytes()
    return {
        "dims": list(dims),
        "dtype": "text" if is_text else str(array.dtype),
        "hash": blake2b(content, digest_size=16).hexdigest(),
        "shape": list(array.shape),
        "values": [_plain(value) for value in array.ravel()[_places(array.size, samples)].tolist()],
        **({} if is_text else _sums(array)),
    }


def _places(size: int, samples: int) -> np.ndarray[Any, Any]:
    """Spread samples over an array so that they fall in step with none of its dimensions."""
    spread = np.arange(samples) * GOLDEN_RATIO % 1.0 * size
    return np.arange(size) if size <= samples else np.unique(spread.astype(int))


def _sums(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Sum up so that no order of summing shows."""
    if array.dtype.kind != "f":
        return {"sum": int(array.sum(dtype=np.int64)), "sum_of_sizes": int(np.abs(array.astype(np.int64)).sum())}
    finite = array[np.isfinite(array)]
    sums = {"sum": math.fsum(finite.tolist()), "sum_of_sizes": math.fsum(np.abs(finite).tolist())}
    return {**sums, "nans": int(np.isnan(array).sum())}


def _plain(value: Any) -> Any:
    """Write what JSON has no number for as a word."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def differences(
    recorded: Mapping[str, Any], found: Mapping[str, Any], *, to_the_bit: bool, rounding: float = ROUNDING
) -> list[str]:
    """Say in which arrays, and there in what, the digests of two stores differ."""
    names = sorted(recorded.keys() ^ found.keys())
    alone = [f"{name} is {'no longer' if name in recorded else 'not yet'} there" for name in names]
    both = sorted(recorded.keys() & found.keys())
    return alone + [
        f"{name}: {what} was {recorded[name].get(what)}, is {found[name].get(what)}"
        for name in both
        for what in _differing(recorded[name], found[name], to_the_bit, rounding)
    ]


def _differing(
    recorded: Mapping[str, Any], found: Mapping[str, Any], to_the_bit: bool, rounding: float
) -> Iterator[str]:
    exact = ("dims", "dtype", "shape", *(("hash",) if to_the_bit else ("nans",)))
    yield from (what for what in exact if recorded.get(what) != found.get(what))
    if to_the_bit:
        return
    if not alike(recorded["values"], found["values"], rounding):
        yield "values"
    # Rounding of a sum is measured by what was summed, not by what is left of it.
    sizes = rounding * max(1.0, recorded.get("sum_of_sizes", 0)) if recorded["dtype"].startswith("float") else 0.0
    for what in ("sum", "sum_of_sizes"):
        if not abs(recorded.get(what, 0) - found.get(what, 0)) <= sizes:
            yield what


def alike(recorded: Any, found: Any, rounding: float = ROUNDING) -> bool:
    """Tell whether plain data are the same but for the rounding of numbers that are not whole."""
    if isinstance(recorded, list) and isinstance(found, list):
        return len(recorded) == len(found) and all(map(lambda a, b: alike(a, b, rounding), recorded, found))
    if isinstance(recorded, dict) and isinstance(found, dict):
        return recorded.keys() == found.keys() and all(alike(recorded[key], found[key], rounding) for key in recorded)
    if isinstance(recorded, float) and isinstance(found, float):
        return math.isclose(recorded, found, rel_tol=rounding, abs_tol=rounding)
    return type(recorded) is type(found) and bool(recorded == found)


def pretty(value: Any, indent: str = "") -> str:
    """Write JSON with sorted keys so that a diff tells what changed: a digest or anything short is one line."""
    line = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    if len(indent + line) <= 110 or not isinstance(value, dict | list) or "hash" in value:
        return line
    inner = f"{indent} "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + pretty(entry, inner) for entry in value) + f"\n{indent}]"
    entries = [f"{inner}{json.dumps(key)}: {pretty(value[key], inner)}" for key in sorted(value)]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
