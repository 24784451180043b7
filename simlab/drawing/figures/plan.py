"""Draw what designs give for their money: a line a family, the target, the budget, and the advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlab.answers.plan import StudyPlan, Target, TriedDesign
from simlab.drawing.figures import around, look, panels, styles
from simlab.drawing.text import plan_designs, plan_words
from simlab.measures.labels import LABELS
from simlab.planning.terms import Design, family

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUESTION = "What does each design give for its money?"
MOST_LINES = 6
FAINT = "#BBBBBB"


def draw(answer: StudyPlan) -> Figure:
    """Draw the first target's measure against the money, as the search found them, with 95 % intervals.

    The families that give most are drawn in colours, others in grey. The advice stands where fresh worlds put it.
    """
    figure, grid = panels.sheet([""], 5.2, 3.2)
    axes, target = grid[0, 0], answer.first_target
    lines = _families(answer, target.measure)
    for k, points in enumerate(lines):
        _line(axes, points, target.measure, k, _name(points[0].design, answer))
    _marks(axes, answer, target)
    axes.set_ylabel(_label(target, answer))
    axes.set_xlabel(f"cost of a study, {answer.limits.currency or 'in the unit of its prices'}")
    axes.grid(visible=True, axis="x")
    axes.set_ylim(*styles.limits(axes.get_ylim(), np.array([0.0, 1.0])))
    around.question(figure, QUESTION)
    around.legend(figure, *axes.get_legend_handles_labels(), fontsize=look.points(7))
    around.footnote(figure, _said(answer, len(lines)))
    return figure


def _families(answer: StudyPlan, measure: str) -> list[list[TriedDesign]]:
    """List the points of each family, cheapest first; the family of the advice first, then those that give most."""
    held: dict[Design, list[TriedDesign]] = {}
    for point in answer.front:
        held.setdefault(family(point.design), []).append(point)
    shown: dict[Design, int] = {}
    for k, row in enumerate(answer.rows):
        shown.setdefault(family(row.design), k)

    def rank(one: Design) -> tuple[int, float]:
        best = max(point.figures[measure].value for point in held[one])
        return shown.get(one, len(shown)), -best

    return [held[one] for one in sorted(held, key=rank)]


def _line(axes: Axes, points: Sequence[TriedDesign], measure: str, k: int, named: str) -> None:
    money, value, low, high = (
        np.array([float(getattr(point.figures[name], part)) for point in points])
        for name, part in (("money", "value"), (measure, "value"), (measure, "low"), (measure, "high"))
    )
    low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    if k >= MOST_LINES:
        label = "other designs" if k == MOST_LINES else "_"
        axes.plot(money, value, color=FAINT, linewidth=0.8, marker=".", zorder=1.2, label=label)
        return
    style: Any = styles.style(k, named)
    axes.plot(money, value, linestyle=styles.dashes(k), zorder=2.5, **style)
    beyond = np.array([not point.within for point in points])
    hollow: Any = {"color": style["color"], "marker": style["marker"], "markerfacecolor": "white", "zorder": 2.6}
    axes.plot(money[beyond], value[beyond], linestyle="none", label="_", **hollow)
    axes.fill_between(money, low, high, color=style["color"], alpha=0.13, linewidth=0)
    axes.errorbar(
        money, value, yerr=styles.bars(value, low, high), linestyle="none", color=style["color"], elinewidth=0.8,
        capsize=1.5, zorder=2.4,
    )  # fmt: skip


def _marks(axes: Axes, answer: StudyPlan, target: Target) -> None:
    """Mark the target, the budget, and the advice with its interval from fresh worlds."""
    dotted: Any = {"color": "#555555", "linewidth": 1.0, "linestyle": (0, (1, 2)), "zorder": 1.5}
    at, wanted = answer.wanted_line, f"wanted: {target.least:g}"
    less = f", less the margin of {answer.margin:g}" if at < target.least else ""
    axes.axhline(at, label=wanted + less, **dotted)
    if (budget := answer.limits.money) is not None:
        axes.axvline(budget, label="the budget", **{**dotted, "linestyle": (0, (5, 2))})
    held = answer.figures
    if "money" not in held or target.measure not in held:
        return
    one, x = held[target.measure], held["money"].value
    reach = styles.bars(np.array([one.value]), np.array([one.low]), np.array([one.high]))
    axes.errorbar([x], [one.value], yerr=reach, color="black", elinewidth=1.2, capsize=3, linestyle="none", zorder=5)
    named = "advice (fresh worlds)" if answer.reached else "best within the limits (fresh worlds)"
    axes.plot([x], [one.value], "*", color="black", markersize=11, markeredgecolor="white", zorder=6, label=named)


def _label(target: Target, answer: StudyPlan) -> str:
    if target.measure == "power":
        return f"share found of differences\nof {plan_words.smallest(answer)} or more"
    return str(LABELS.get(target.measure, {}).get("label", plan_words.heading(target.measure)))


def _name(design: Design, answer: StudyPlan) -> str:
    """Name a family by the levers in which families differ."""
    own = family(design)
    differing = tuple(
        (key, value) for key, value in own if any(dict(point.design).get(key) != value for point in answer.front)
    )
    return plan_designs.kind(differing, ()) if differing else "all designs"


def _said(answer: StudyPlan, n: int) -> str:
    rest = f" The {MOST_LINES} kinds that are nearest to the advice have colours." if n > MOST_LINES else ""
    seen = f"{answer.worlds:,} worlds that the search had not seen"
    return (
        "Lines: designs of one kind that differ in documents, as the search found them; bars and bands: 95 % intervals "
        f"of the simulation. Hollow: beyond the limits. Star: {seen}.{rest}"
    )
