"""Say which ratings pass a control item."""

from __future__ import annotations

from typing import NamedTuple

from simlab.files import decimal
from simlab.messages import legible
from simlab.types import InputError


class Passing(NamedTuple):
    """Hold between which ratings, both included, somebody passes a control item."""

    low: float
    high: float

    def written(self) -> str:
        """Write it as it is typed: `0..20`, or one number."""
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g}..{self.high:g}"


def passing(text: str, where: str) -> Passing:
    """Read what passes: a number, or `A..B`; raise InputError, beginning with `where`, for anything else.

    >>> passing("0..20", "items.csv, line 2")
    Passing(low=0.0, high=20.0)
    """
    low, sign, high = text.partition("..")
    least, most = decimal(low.strip()), decimal((high if sign else low).strip())
    if least is None or most is None or least > most:
        raise InputError(f"{where}: control={legible(ascii(text), 40)} is no expected rating; write 80, or 60..100")
    return Passing(least, most)
