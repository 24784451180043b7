"""Draw a pilot against what its fit would have given at the same design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.checks import Checks
    from simlab.fitting.mqm.pilot import Pilot

REAL: dict[str, Any] = {"color": "#D55E00", "zorder": 3}
SIMULATED = "#0072B2"


def draw(pilot: Pilot, checks: Checks) -> Figure:
    """Draw the pilot against what the fit would have given at the same design: scores, raters, systems, agreement."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 6.6), layout="constrained")
    (scores, raters), (systems, traits) = figure.subplots(2, 2)
    _draw_survival(scores, checks)
    _draw_means(raters, checks.raters, pilot.rater_names, "rater")
    _draw_means(systems, checks.systems, pilot.system_names, "system")
    _draw_traits(traits, checks)
    figure.suptitle(
        f"The pilot ({len(pilot.score):,} ratings) and what its fit gives at the same design "
        "(median, 50 and 90 % of tables)",
        fontsize=10,
    )
    return figure


def _draw_survival(axes: Axes, checks: Checks) -> None:
    low, middle, high = np.quantile(checks.survival[1:], (0.05, 0.5, 0.95), axis=0)
    axes.fill_between(checks.grid, low, high, color=SIMULATED, alpha=0.25, linewidth=0, label="simulated, 90 %")
    axes.plot(checks.grid, middle, color=SIMULATED, label="simulated, median")
    axes.plot(checks.grid, checks.survival[0], ".", label="real", **REAL)
    axes.set_xscale("symlog", linthresh=1)
    axes.set(xlabel="score of a segment", ylabel="share of ratings above", title="Scores", ylim=(0, None))
    axes.legend()


def _draw_means(axes: Axes, means: Floats, names: Sequence[str], noun: str) -> None:
    order = np.argsort(means[0])
    _draw_intervals(axes, means[1:, order], means[0, order])
    axes.set_yticks(range(len(names)), [names[k][:24] for k in order], fontsize=7 if len(names) < 18 else 5)
    axes.set(xlabel="mean score", title=f"{noun.capitalize()}s")


def _draw_intervals(axes: Axes, simulated: Floats, real: Floats) -> None:
    low, quarter, middle, three, high = np.nanquantile(simulated, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0)
    rows = range(len(real))
    axes.hlines(rows, low, high, color=SIMULATED, alpha=0.4, linewidth=2)
    axes.hlines(rows, quarter, three, color=SIMULATED, linewidth=4)
    axes.plot(middle, rows, "|", color="black")
    axes.plot(real, rows, "D", markersize=4, **REAL)
    axes.grid(axis="x")


def _draw_traits(axes: Axes, checks: Checks) -> None:
    """Draw each trait relative to the simulated median, so that traits of all units share an axis."""
    shown = [check for check in checks.traits if np.isfinite(check.real) and check.simulated > 0]
    rows = range(len(shown))
    scale = np.array([check.simulated for check in shown])
    axes.hlines(
        rows, [c.low for c in shown] / scale, [c.high for c in shown] / scale, color=SIMULATED, alpha=0.4, linewidth=2
    )
    axes.plot(np.ones(len(shown)), rows, "|", color="black")
    axes.plot([c.real for c in shown] / scale, rows, "D", markersize=4, **REAL)
    axes.set_yticks(rows, [check.trait for check in shown], fontsize=7)
    axes.set(xlabel="relative to the simulated median", title="Traits")
    axes.grid(axis="x")
    axes.invert_yaxis()
