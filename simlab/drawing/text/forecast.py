"""Write what a sweep would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from simlab.drawing.text.tables import listing
from simlab.messages import duration, size

if TYPE_CHECKING:
    from simlab.engine.forecast import Forecast


def foreseen(forecast: Forecast, folder: Path) -> str:
    """Write how many cells and campaigns a sweep has, how long what is missing takes, and how large its store gets."""
    missing = f"{forecast.campaigns_missing} to run, in {forecast.blocks_missing} blocks"
    about = "more than" if forecast.at_least else "about"
    rows = [
        ["cells", str(forecast.cells)],
        ["campaigns", f"{forecast.campaigns}; {missing}"],
        ["time", f"{about} {duration(forecast.seconds)} with {forecast.jobs} processes ({forecast.how})"],
        ["memory", _memory(forecast)],
        ["size", f"at most {size(forecast.bytes)}, uncompressed"],
        ["store", str(folder)],
    ]
    return listing("Nothing was run. This would take:", rows)


def calculated(settings: int, folder: Path) -> str:
    """Write how many settings a calculation has."""
    return f"Nothing was run. This would calculate {settings} settings, without simulation, into {folder}"


def _memory(forecast: Forecast) -> str:
    """Say what a process takes, and all of them."""
    made_of = f" ({forecast.memory_of})" if forecast.memory_of else ""
    return f"about {size(forecast.memory)} a process{made_of}, {size(forecast.memory * forecast.jobs)} in all"
