"""Write what a sweep would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import listing
from simlab.messages import duration

if TYPE_CHECKING:
    from simlab.engine.forecast import Forecast


def foreseen(forecast: Forecast, folder: Path) -> str:
    """Write how many cells and campaigns a sweep has, how long what is missing takes, and how large its store gets."""
    missing = f"{forecast.campaigns_missing} to run, in {forecast.blocks_missing} blocks"
    rows = [
        ["cells", str(forecast.cells)],
        ["campaigns", f"{forecast.campaigns}; {missing}"],
        ["time", f"about {duration(forecast.seconds)} with {forecast.jobs} processes ({forecast.how})"],
        ["size", f"at most {_size(forecast.bytes)}, uncompressed"],
        ["store", str(folder)],
    ]
    return listing("Nothing was run. This would take:", rows)


def calculated(settings: int, folder: Path) -> str:
    """Write how many settings a calculation has."""
    return f"Nothing was run. This would calculate {settings} settings, without simulation, into {folder}"


def _size(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count < 2**30 else f"{count / 2**30:.1f} GiB"
