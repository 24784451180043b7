"""Draw what a pilot tells: itself against its fit, what makes scores differ, how dependable other studies would be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.drawing.figures import around, look, panels
from simlab.drawing.text.fitted_world import WORDS
from simlab.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from simlab.fitting.checks import Checks
    from simlab.fitting.components import Component
    from simlab.fitting.generalisability import Coefficient, Trade
    from simlab.fitting.report import Report

REAL: dict[str, Any] = {"color": "#D55E00", "zorder": 3}
SIMULATED, OTHER = "#0072B2", "#009E73"
LOOKS = {
    ("e_rho2", "drawn"): (SIMULATED, "-", "differences, other raters"),
    ("e_rho2", "fixed"): (SIMULATED, "--", "differences, these raters"),
    ("phi", "drawn"): (OTHER, "-", "scores, other raters"),
    ("phi", "fixed"): (OTHER, "--", "scores, these raters"),
}


def draw(report: Report) -> Figure:
    """Draw the pilot against its fit above; below what makes scores differ and what follows for other studies."""
    figure, lines = panels.laid([4.0] * 8, 4.0 if look.now().width is None else 2.6, most=4)
    scores, traits, systems, raters, differing, dependable, each, price = (axes for line in lines for axes in line)
    _draw_survival(scores, report.checks)
    _draw_traits(traits, report.checks)
    _draw_means(systems, report.checks.systems, report.ratings.system_names, "system")
    _draw_means(raters, report.checks.raters, report.ratings.rater_names, "rater")
    _draw_components(differing, report.listed)
    _draw_dependable(dependable, report.coefficients)
    _draw_trade(each, price, report.trade)
    failed = len(report.checks.failed)
    verdict = f"{failed} of {len(report.checks.traits)} checks FAILED" if failed else "all checks passed"
    around.question(figure, "What does the pilot tell of raters, outputs and other studies?")
    around.footnote(
        figure,
        f"{len(report.ratings.score):,} ratings, law {report.law.name}, {verdict}; above: the pilot and what its fit "
        "gives at the same design (median, 50 and 90 % of tables).",
    )
    return figure


def _draw_survival(axes: Axes, checks: Checks) -> None:
    low, middle, high = np.quantile(checks.survival[1:], (0.05, 0.5, 0.95), axis=0)
    axes.fill_between(checks.grid, low, high, color=SIMULATED, alpha=0.25, linewidth=0, label="simulated, 90 %")
    axes.plot(checks.grid, middle, color=SIMULATED, label="simulated, median")
    axes.plot(checks.grid, checks.survival[0], ".", label="real", **REAL)
    if checks.grid.min() >= 0 and checks.survival[0][0] < 0.8:
        axes.set_xscale("symlog", linthresh=1)
    axes.set(xlabel="score", ylabel="share of ratings above", title="Scores", ylim=(0, None))
    axes.legend()


def _draw_means(axes: Axes, means: Floats, names: Sequence[str], noun: str) -> None:
    order = np.argsort(means[0])
    low, quarter, middle, three, high = np.nanquantile(means[1:, order], (0.05, 0.25, 0.5, 0.75, 0.95), axis=0)
    rows = range(len(order))
    axes.hlines(rows, low, high, color=SIMULATED, alpha=0.4, linewidth=2)
    axes.hlines(rows, quarter, three, color=SIMULATED, linewidth=4)
    axes.plot(middle, rows, "|", color="black")
    axes.plot(means[0, order], rows, "D", markersize=4, **REAL)
    axes.grid(axis="x")
    axes.set_yticks(rows, [names[k][:24] for k in order], fontsize=look.points(7) if len(names) < 18 else 5)
    axes.set(xlabel="mean score", title=f"{noun.capitalize()}s")


def _draw_traits(axes: Axes, checks: Checks) -> None:
    """Draw each trait on a scale of its own, 0 and 1 being the ends of the interval in which it passes."""
    shown = [check for check in checks.traits if check.high > check.low]
    rows = np.arange(len(shown))
    at = np.array([(check.real - check.low) / (check.high - check.low) for check in shown])
    axes.axvspan(0, 1, color=SIMULATED, alpha=0.2, linewidth=0)
    axes.plot(np.clip(at, -0.6, 1.6), rows, "D", markersize=4, **REAL)
    for row, place, check in zip(rows, at, shown, strict=True):
        if not -0.6 <= place <= 1.6:
            axes.annotate("<" if place < 0 else ">", (np.clip(place, -0.6, 1.6), row), va="center")
            axes.annotate(f" {check.real:.3g}", (np.clip(place, -0.5, 1.25), row - 0.35), fontsize=look.points(6))
    axes.set_yticks(rows, [check.name for check in shown], fontsize=look.points(7))
    axes.set(xlabel="between the ends\nof what passes", title="Checks", xlim=(-0.7, 1.75), xticks=[0, 1])
    axes.set_xticklabels(["low", "high"])
    axes.invert_yaxis()


def _draw_components(axes: Axes, listed: Sequence[Component]) -> None:
    rows = np.arange(len(listed))
    sd, low, high, assumed = (
        np.array([getattr(one, field) for one in listed]) for field in ("sd", "low", "high", "assumed")
    )
    axes.hlines(rows, low, high, color=SIMULATED, linewidth=3, alpha=0.5)
    axes.plot(sd, rows, "o", color=SIMULATED, label="sd, 95 % interval")
    if np.isfinite(assumed).any():
        axes.plot(assumed, rows, "x", color="grey", label="not known: assumed")
    axes.set_yticks(rows, [WORDS[one.name] for one in listed], fontsize=look.points(8))
    axes.set(xlabel="standard deviation, points", title="What makes scores differ", xlim=(0, None))
    axes.grid(axis="x")
    # Below the rows there is room for what the marks mean.
    axes.set_ylim(len(listed) + 0.8, -0.7)
    axes.legend(fontsize=look.points(7), loc="lower right")


def _draw_dependable(axes: Axes, held: Sequence[Coefficient]) -> None:
    for kind, (color, line, label) in LOOKS.items():
        of = [one for one in held if (one.name, one.raters) == kind]
        if of:
            across = [one.documents for one in of]
            axes.plot(across, [one.value for one in of], line, color=color, label=label)
            axes.fill_between(across, [one.low for one in of], [one.high for one in of], color=color, alpha=0.12)
    axes.set_xscale("log")
    axes.set(xlabel="new documents", title="Dependable (E rho^2, Phi)", ylim=(0, 1))
    if held:
        axes.set_ylabel(f"coefficient, {held[0].each} rating{'s' if held[0].each > 1 else ''} each")
        documents = sorted({one.documents for one in held})
        axes.set_xticks(documents, [str(n) for n in documents], minor=False)
        axes.minorticks_off()
        axes.legend(fontsize=look.points(7))


def _draw_trade(each: Axes, price: Axes, held: Trade | None) -> None:
    if held is None:
        for axes in (each, price):
            axes.set_axis_off()
        each.set_title("More documents or more ratings each?\nThis pilot cannot tell", fontsize=look.points(9))
        return
    k = [row.each for row in held.rows]
    each.plot(k, [row.error for row in held.rows], "o-", color=SIMULATED, markersize=3)
    each.fill_between(k, [row.low for row in held.rows], [row.high for row in held.rows], color=SIMULATED, alpha=0.2)
    each.set(
        xlabel="ratings of each output",
        ylabel="error of a difference, points",
        title=f"{held.ratings:.0f} ratings of each system",
        ylim=(0, None),
        xticks=[1, 5, 10, 15, 20],
    )
    at = [one.price for one in held.best]
    price.plot(at, [one.each for one in held.best], "o-", color=OTHER, markersize=3)
    price.fill_between(at, [one.low for one in held.best], [one.high for one in held.best], color=OTHER, alpha=0.2)
    price.set_xscale("symlog", linthresh=1)
    price.set_xticks(at, [f"{one:g}" for one in at], fontsize=look.points(8))
    price.minorticks_off()
    price.set(
        xlabel="price of a document, in ratings",
        ylabel="ratings of each output that are best",
        title="The same money",
        ylim=(0, 21),
        yticks=[1, 5, 10, 15, 20],
    )
