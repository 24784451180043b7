"""The verbs of the command line about money and time, for notebooks: what a campaign will take, how one went."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.notebook import Setting, mendable
from simlab.commands.words import words
from simlab.messages import shown
from simlab.types import InputError, Place

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from simlab.engine.quoting import Quote

NAN = float("nan")
UNITS = {"money": "currency", "hours": "hours", "days": "days"}


def quote(
    *settings: Setting, sweep: str | os.PathLike[str] | None = None, plugins: Sequence[str] = (), **more: object
) -> xr.Dataset:
    """Quote what a campaign of a design will take, as `--dry-run` does: money, hours of work, days.

    `settings` and `more` are those of `run`; with `sweep` those of `sweep`, of which some cells are quoted. Some
    campaigns are carried out, each in a world of its own, for a few seconds; nothing is written. The study needs a
    clock, a budget (`budget.total`) or a name for its money (`budget.currency`).

    Returns, over `cell`, `money`, `hours` and `days`: the middle, `_low` and `_high` (5 and 95 % of the campaigns stay
    below), and the shares of campaigns by what ended them; NaN: the study does not tell. `campaigns` were carried out.
    Raises InputError for settings that do not go together, and for a study that there is nothing to quote of.

    >>> simlab.quote("budget.total=2000", "design.collection=crowd")["days_high"]  # doctest: +SKIP
    """
    from simlab.commands import launch
    from simlab.commands.notebook_answers import listed
    from simlab.config import Sweep
    from simlab.engine.preparing import prepare
    from simlab.engine.quoting import placed, quotes
    from simlab.engine.run import study_block

    with mendable():
        overrides = words([*settings, more], axes=sweep is not None)
        name = None if sweep is None else os.fspath(sweep)
        declared, *_ = launch.declared(name, overrides, None, quick=False, plugins=list(plugins))
        found = quotes(study_block(), placed(declared, prepare(declared).cells)) if isinstance(declared, Sweep) else ()
        if not found:
            raise InputError(
                "there is nothing to quote: the study has no clock, no budget and no name for its money; set "
                "budget.currency, budget.total or design.collection"
            )
        if not any(quote.campaigns for quote in found):
            raise InputError(f"there is no quote, since no campaign could be carried out: {found[0].why}")
    axes = list(found[0].at)
    answer = listed("cell", [_row(one) for one in found], axes)
    for field, unit in UNITS.items():
        for variable in (field, f"{field}_low", f"{field}_high"):
            answer[variable].attrs["units"] = unit
    return answer.assign_attrs(currency=found[0].currency or "")


def timeline(
    store: str | os.PathLike[str] | None = None,
    *conditions: str | Mapping[str, object],
    out: str | os.PathLike[str] | None = None,
    world: int = 0,
    pool: int = 0,
    draw: int = 0,
    study: int = 0,
    plugins: Sequence[str] = (),
    **axes: object,
) -> Figure:
    """Draw how one campaign of a store went on its clock: who worked on what and when, what was lost, what ended it.

    `store` is a folder, that of the last run if left out; `conditions` and `axes` name one cell. The figure is written
    (.png, .svg or .pdf) only where `out` names a file. Warns where the campaign came out otherwise than the folder has
    it. Raises InputError for a study without a clock, and for a campaign that the folder does not hold or that failed.

    >>> simlab.timeline("outputs/deadline", collection="crowd", world=3)  # doctest: +SKIP
    """
    from simlab.commands.timeline import drawn
    from simlab.drawing.figures import files
    from simlab.store.folder import last_store

    place = Place(world, pool, draw, study)
    for name, number in place._asdict().items():
        if type(number) is not int or number < 0:
            raise InputError(f"{name}={shown(number)} must be a whole number >= 0")
    file = None if out is None else Path(out)
    files.check_suffix(file)
    with mendable():
        folder = last_store() if store is None else Path(store)
        figure, doubts = drawn(folder, words([*conditions, axes], axes=False), place, list(plugins), file=file)
        for line in doubts:
            warnings.warn(line, stacklevel=3)
        return figure


def _row(one: Quote) -> dict[str, Any]:
    from simlab.types.collection import ALL_CAME, DEADLINE, DECIDED, MONEY, NOBODY

    row: dict[str, Any] = dict(one.at)
    for name in UNITS:
        span = getattr(one, name)
        ends = (NAN, NAN, NAN) if span is None else (span.middle, span.low, span.high)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    ways = {"as_planned": (ALL_CAME, DECIDED), "by_money": (MONEY,), "by_deadline": (DEADLINE,), "by_nobody": (NOBODY,)}
    for way, codes in ways.items():
        row[f"ended_{way}"] = sum(one.ended.get(code, 0.0) for code in codes) if one.ended else NAN
    return row | {"campaigns": one.campaigns, "failed": one.failed}
