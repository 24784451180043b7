"""Write what an analyst is told as plain JSON, and read it back: the same values in the same types, bit for bit.

What is read may come from a stranger. It is data: arrays have one of a few types and a size that is held against what
was written, records are those that are listed here, and everything else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from math import prod
from typing import Any, NoReturn

import numpy as np

from simlab.messages import shown
from simlab.types import Array, InputError, KnownCorrelation, KnownRates, Parts

ARRAY, RECORD, TUPLE = "array", "record", "tuple"
MOST_VALUES = 50_000_000
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "float32", "float64")
_RECORDS = {one.__name__: one for one in (KnownRates, KnownCorrelation, Parts)}
_DEEPEST = 8
_NAMES_MOST = 4


def plain(value: Any) -> Any:
    """Write a value as JSON has it; raise InputError for one that could not be read back.

    >>> plain((1, None)), plain(np.array([[0.1, 2]]))
    ({'tuple': [1, None]}, {'array': 'float64', 'shape': [1, 2], 'values': '0.1 2.0'})
    """
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, np.generic):
        return {ARRAY: value.dtype.name, "shape": [], "values": _text(np.asarray(value))}
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value).__name__ in _RECORDS and type(value) is _RECORDS[type(value).__name__]:
        names = _names(type(value))
        return {RECORD: type(value).__name__, **{name: plain(getattr(value, name)) for name in names}}
    if isinstance(value, tuple):
        return {TUPLE: [plain(one) for one in value]}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    raise InputError(f"what an analyst is told holds a {type(value).__name__}, which no file can hold")


def restored(value: Any, where: str = "told", deep: int = 0) -> Any:
    """Read a value that `plain` wrote; raise InputError, beginning with `where`, for anything else."""
    if deep > _DEEPEST:
        _refuse(where, "is nested too deeply")
    if isinstance(value, list):
        return [restored(one, where, deep + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if ARRAY in value:
        return _array(value, where)
    if TUPLE in value:
        if not isinstance(value[TUPLE], list):
            _refuse(where, "holds a tuple that is none")
        return tuple(restored(one, where, deep + 1) for one in value[TUPLE])
    if RECORD in value:
        return _record(value, where, deep)
    return {key: restored(one, f"{where}.{key}", deep + 1) for key, one in value.items()}


def _plain_array(values: Array) -> dict[str, Any]:
    if values.dtype.name not in _TYPES:
        raise InputError(f"what an analyst is told holds numbers of the type {values.dtype}, which no file can hold")
    return {ARRAY: values.dtype.name, "shape": list(values.shape), "values": _text(values)}


def _text(values: Array) -> str:
    # A float is written with the fewest digits that read back as the same number; float32 as the double that it is.
    return " ".join(map(repr, (values.astype(np.int8) if values.dtype == bool else values).ravel().tolist()))


def _array(value: Mapping[str, Any], where: str) -> Array:
    """Read an array; of a number alone, the number."""
    name, shape, text = value[ARRAY], value.get("shape"), value.get("values")
    if name not in _TYPES or not isinstance(text, str) or not isinstance(shape, list):
        _refuse(where, "is no array")
    if len(shape) > _NAMES_MOST or not all(type(size) is int and 0 <= size <= MOST_VALUES for size in shape):
        _refuse(where, f"has the shape {shown(shape)}")
    words = text.split(" ") if text else []
    if len(words) != prod(shape) or len(words) > MOST_VALUES:
        _refuse(where, f"holds {len(words)} values for the shape {shown(shape)}")
    try:
        read = np.array([float(word) if name.startswith("float") else int(word) for word in words], _safe(name))
        whole = read.astype(name)
    except (ValueError, OverflowError):
        _refuse(where, f"holds what is no {name}")
    if not name.startswith("float") and not np.array_equal(whole, read):
        _refuse(where, f"holds numbers that are too large for {name}")
    return whole.reshape(shape) if shape else whole.reshape(())[()]


def _safe(name: str) -> str:
    return "float64" if name.startswith("float") else "int64"


def _record(value: Mapping[str, Any], where: str, deep: int) -> Any:
    kind = _RECORDS.get(str(value[RECORD]))
    if kind is None or value.keys() - {RECORD} != set(_names(kind)):
        _refuse(where, f"is no record that simlab knows ({shown(value[RECORD])})")
    return kind(**{name: restored(value[name], f"{where}.{name}", deep + 1) for name in _names(kind)})


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else kind._fields  # type: ignore[attr-defined]


def _refuse(where: str, why: str) -> NoReturn:
    raise InputError(f"{where} {why}; the file is damaged, or was changed by hand: export the campaign again")
