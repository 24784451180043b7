"""Return the campaigns, time, money, memory and disk that a sweep would take, before it runs, as text.

Call `describe_forecast` with a `Forecast`, of a calculation `describe_calculation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.drawing.text import quotes
from simlab.drawing.text.tables import list_under_title
from simlab.messages import duration, size
from simlab.store.units import outcome_unit

if TYPE_CHECKING:
    from simlab.engine.campaign_quotes import Purchase
    from simlab.engine.forecast import Forecast


def describe_forecast(forecast: Forecast, folder: Path, shard: str | None = None, *, located: bool = False) -> str:
    """Return how many cells and campaigns a sweep has, how long what is missing takes, and how large its store gets.

    With a `shard`, such as 1/4, only its missing campaigns count; `folder` is that of the store, or of the shard.
    `located`: only a part of the grid is carried out, to locate a crossing (`--locate`).
    """
    of = f" of shard {shard}" if shard else ""
    missing = f"{forecast.campaigns_missing}{of} to run, in {forecast.blocks_missing} blocks"
    about = "more than" if forecast.at_least else "about"
    rows = [
        ["cells", str(forecast.cells)],
        ["campaigns", f"{forecast.campaigns}; {missing}"],
        ["time", f"{about} {duration(forecast.seconds)} with {forecast.jobs} processes ({forecast.how})"],
        *(["covers" if k == 0 else "", line] for k, line in enumerate(forecast.covered)),
        *(
            [["buys", _describe_purchases(forecast.purchases, forecast.cells, forecast.currency)]]
            if forecast.purchases
            else []
        ),
        *quotes.rows(forecast.quotes),
        ["memory", _memory(forecast)],
        ["size", f"at most {size(forecast.bytes)}, uncompressed"],
        ["folder" if shard else "store", str(folder)],
    ]
    whole = "The whole grid would take this, and --locate carries out about a fifth of it:"
    return list_under_title(f"Nothing was run. {whole if located else 'This would take:'}", rows)


def _describe_purchases(purchases: Sequence[Purchase], cells: int, currency: str = "") -> str:
    """Write what a campaign buys: of all systems together and of each, or of each pair; and at which price.

    Where not all cells were looked at, others may buy less, or more.
    """
    outcomes = purchases[0].outcomes
    unit = outcome_unit("ratings_used", outcomes) or "ratings"
    # Where pairs are compared, no answer belongs to one system.
    share, shares = ("pair", _pairs) if "used" in outcomes else ("system", _systems)
    each = _span([purchase.ratings / shares(purchase) for purchase in purchases])
    return (
        f"a campaign buys {_span([purchase.ratings for purchase in purchases])} {unit} in all ({each} per {share}), "
        f"price in all {_span([purchase.cost for purchase in purchases])}{f' {currency}' if currency else ''}"
        f"{f' ({len(purchases)} of {cells:,} cells looked at)' if len(purchases) < cells else ''}"
    )


def _systems(bought: Purchase) -> int:
    return bought.systems


def _pairs(bought: Purchase) -> int:
    return bought.systems * (bought.systems - 1) // 2


def _span(values: Sequence[float]) -> str:
    low, high = (f"{round(bound, 1):,.12g}" for bound in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def describe_calculation(settings: int, folder: Path) -> str:
    """Write how many settings a calculation has."""
    return f"Nothing was run. This would calculate {settings} settings, without simulation, into {folder}"


def _memory(forecast: Forecast) -> str:
    """State what a process takes, and all of them."""
    made_of = f" ({forecast.memory_of})" if forecast.memory_of else ""
    return f"about {size(forecast.memory)} a process{made_of}, {size(forecast.memory * forecast.jobs)} in all"
