"""Make arrays read-only before parts get them: a part that changed its input would change that of other parts.

Call `seal` with a record (dataclass, tuple, list or mapping), which returns it with all of its arrays read-only; run
parts within `notice_writing`, which names the part that tries to write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from traceback import walk_tb
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from simlab.types import Frame, InputError, Streams

Held = TypeVar("Held")

_LEAVES = frozenset([int, float, str, bool, type(None), np.float64, np.int64, Streams, Frame])
"""Types that hold no arrays; and frames, which are sealed with their world, not with each of its campaigns."""


def seal(record: Held) -> Held:
    """Make every array in records, tuples, lists and mappings read-only, in place; nothing is copied."""
    _seal(record)
    return record


def _seal(record: Any) -> None:
    # Called for each campaign several times: what is asked most often is asked first.
    if isinstance(record, np.ndarray):
        record.setflags(write=False)
        return
    for value in _parts(record):
        if value.__class__ not in _LEAVES:
            _seal(value)


def _parts(record: Any) -> Iterable[Any]:
    """List what a record, a tuple, a list or a mapping holds."""
    if names := _names(record.__class__):
        return [getattr(record, name) for name in names]
    if isinstance(record, tuple | list):
        # Of names there can be thousands; what begins with one holds no arrays.
        return () if record and isinstance(record[0], str) else record
    return record.values() if isinstance(record, dict | Mapping) else ()


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else ()


@contextmanager
def notice_writing() -> Iterator[None]:
    """Raise InputError, naming the part that wrote into a sealed array, in place of NumPy's error, which names none."""
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        who = _writer(error.__traceback__)
        raise InputError(f"a part writes into what it was handed ({who}: {error}); let it copy first") from error


def _writer(traceback: TracebackType | None) -> str:
    """Name the innermost function that is not numpy's own."""
    frames = [frame for frame, _ in walk_tb(traceback)]
    named = [(str(frame.f_globals.get("__name__")), frame.f_code.co_name) for frame in frames]
    return ".".join(next(who for who in reversed(named) if not who[0].startswith("numpy")))
