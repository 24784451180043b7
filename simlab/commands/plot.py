"""Carry out `simlab plot`: draw the figure of a sweep, or one campaign (its order of systems, or its timeline).

`draw_sweep` and `draw_campaign` return a `DrawnFigure`; `write` prints the name of its file.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from simlab.commands import launch, stores
from simlab.commands import timeline as timelines
from simlab.commands.exit_codes import DONE, RESERVED
from simlab.commands.export import name_campaign as place_name
from simlab.commands.flags import Form, Setting, Store
from simlab.commands.next_steps import report_words, step
from simlab.commands.typed_commands import Given, Launched
from simlab.commands.words import words
from simlab.drawing import view
from simlab.drawing.figures import captions, files, orders, page_style, sweep
from simlab.engine.ledger import is_archive
from simlab.store.folder import last_store
from simlab.store.measures import explain_undefined
from simlab.store.opening import name_axes
from simlab.store.orders import campaign_orders
from simlab.store.query import add_companion, ensure_measures
from simlab.types import InputError, Place

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure


class DrawnFigure(NamedTuple):
    """A figure, the exit code for its campaigns, and the next command (empty for a dataset without a folder).

    `caption` is the text below a figure for a paper; other figures hold it themselves, and it is empty. `remarks` are
    notes and reservations on the store.
    """

    figure: Figure
    code: int
    following: str
    caption: str
    remarks: stores.Remarks


def draw_sweep(
    store: Store | None,
    conditions: Sequence[Setting],
    out: Path | None,
    measure: str | None,
    x: str | None,
    target: float | None,
) -> DrawnFigure:
    """Draw the figure of a sweep, to a file if one is named.

    `x` is the axis, or the measure, that goes across in place of the figure's own; at `target` a line is drawn.
    """
    where, wanted = stores.choose(store, conditions)
    # Of a folder that is not there whoever opens it says so.
    if not isinstance(where, Path) or where.exists():
        files.check_suffix(out)
    with stores.open_narrowed(where, stores.split_conditions(wanted)) as dataset:
        figure = files.write(make_drawing(dataset, measure, x=x, target=target), out)
        following = step(*report_words(where)) if isinstance(where, Path) else ""
        return DrawnFigure(figure, launch.judge_soundness(dataset), following, caption(figure), stores.remarks(dataset))


def draw_campaign(
    store: Store | None,
    conditions: Sequence[Setting],
    index: Mapping[str, int],
    out: Path | None,
    plugins: Sequence[str],
    *,
    timeline: bool,
) -> DrawnFigure:
    """Draw one campaign: with `timeline` on its clock, else in each cell the partial order of systems that it found.

    `index` are its indices by the names of `Place`; the figure goes to `out`, if a file is named. Raises InputError for
    a store of other studies, and for a campaign that it does not hold.
    """
    where, wanted = stores.choose(store, conditions)
    # Of a folder that is not there whoever opens it says so.
    if not isinstance(where, Path) or where.exists():
        files.check_suffix(out)
    place = Place(**index)
    if timeline:
        return _draw_timeline(where, words(wanted, axes=False), place, out, plugins)
    with stores.open_narrowed(where, stores.split_conditions(wanted)) as dataset:
        figure = files.write(lambda: orders.draw(campaign_orders(dataset, place), place_name(place)), out)
        following = step("query", where, *words(wanted, axes=True)) if isinstance(where, Path) else ""
        return DrawnFigure(figure, launch.judge_soundness(dataset), following, caption(figure), stores.Remarks())


def _draw_timeline(
    where: Path | xr.Dataset, conditions: Sequence[str], place: Place, out: Path | None, plugins: Sequence[str]
) -> DrawnFigure:
    if not isinstance(where, Path):
        raise InputError("--timeline carries a campaign out again; name the folder of its store, not a dataset")
    figure, doubts = timelines.draw_timeline(where, conditions, place, plugins, out)
    campaign = [word for name, k in place._asdict().items() if k for word in (f"--{name}", str(k))]
    following = step("export", where, *conditions, *campaign, "--out", "campaign.csv")
    return DrawnFigure(figure, RESERVED if doubts else DONE, following, caption(figure), stores.Remarks(doubts))


def fill(given_words: Sequence[Any], given: Given) -> Given:
    """Return the options with a file for the figure if none is named: in the store's folder, or beside an archive."""
    is_campaign = any(given[name] is not None for name in Place._fields)
    name = "timeline.png" if given["timeline"] else "order.png" if is_campaign else "figure.png"
    folder, _ = stores.split_words(given_words[0], given_words[1:])
    where = folder or last_store()
    beside = (where.parent, f"{where.stem}-{name}") if is_archive(where) else (where, name)
    return {**given, "out": files.choose_file(given["out"], *beside)}


def write(figure: DrawnFigure, form: Form, given: Given) -> Launched:
    """Return the name of the figure's file (`out` in `given`, the options), and below it the caption for a paper."""
    text = "\n".join([str(given["out"]), *([figure.caption] if figure.caption else [])])
    return Launched(text, [*stores.gather_notes(figure.remarks), figure.following], figure.code)


def refuse_sweep_options(
    timeline: bool, campaign: Mapping[str, int | None], measure: str | None, x: str | None, target: float | None
) -> None:
    """Raise InputError for options of a sweep's figure beside those of one campaign."""
    option = "timeline" if timeline else [name for name, index in campaign.items() if index is not None][-1]
    for other, value in {"--measure": measure, "--x": x, "--target": target}.items():
        if value is not None:
            raise InputError(f"--{option} shows one campaign, and has no use for {other}; leave one of them out")


def caption(figure: Figure) -> str:
    """Return the caption of a figure in the style for papers; empty in the style for the screen."""
    return textwrap.fill(captions.figure_caption(figure), 100) if page_style.current_style().paper else ""


def make_drawing(
    dataset: xr.Dataset, measure: str | None, *, x: str | None = None, target: float | None = None
) -> Callable[[], Figure]:
    """Return the function that draws the figure of a store; raise InputError for an unknown measure or axis."""
    across = [x] if x is not None and x not in name_axes(dataset) else []
    with_measures = ensure_measures(dataset, [*([measure] if measure else []), *across])
    with_measures = add_companion(with_measures, [view.choose_measure(with_measures, measure)])
    shown = with_measures if x is None else view.set_axis_across(with_measures, x)
    shown = shown if target is None else view.set_target(shown, view.choose_measure(with_measures, measure), target)
    for name in across:
        if not np.isfinite(shown[name].values).any():
            raise InputError(f"--x {name} has no value in these cells: {explain_undefined(shown, name)}")
    return lambda: sweep.draw(shown, measure)
