"""Read sizes of memory as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Predicate

UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
LEAST = 512 * 10**6
"""What a worker needs for the libraries that it loads, and something to compute with."""

_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(MB|GB|MiB|GiB)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Said(Predicate):
    """Hold a test of a value together with what the value must be, in words."""

    words: str = ""


def in_bytes(size: str) -> int:
    """Return the bytes of a size, 0 where it is none.

    >>> in_bytes("1.5GB"), in_bytes("512MiB"), in_bytes("4 gigs")
    (1500000000, 536870912, 0)
    """
    match = _SIZE.fullmatch(size)
    return round(float(match[1]) * UNITS[match[2]]) if match else 0


def _enough(size: str) -> bool:
    return in_bytes(size) >= LEAST


Size = Annotated[str, Said(_enough, f"a size such as 4GB or 900MiB, at least {LEAST // 10**6}MB")]
