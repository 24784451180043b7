"""Write the table of a plan: the advice, its rivals at equal cost, and the most that the limits allow."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlab.answers.plan import DesignRow, Figures, StudyPlan
from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text import plan_words as words
from simlab.drawing.text.tables import WIDTH, aligned
from simlab.messages import shortened

USUAL = ("power", "no_wrong_claim")
REPEATS = ("srp_new_study", "srp_new_documents")
"""What is new in a repetition: all, or all that can be where targets are for these raters."""
MOST_MEASURES = 3


def table(answer: StudyPlan) -> list[str]:
    """Return the lines of the table: its heading, the advice, for these raters the advice for others, and the rest."""
    names = measures(answer)
    accounts = [name for name in ("money", "hours", "days") if name in answer.figures]
    header = ["", *map(words.heading, names), *(_account(name, answer) for name in accounts)]
    rows = [(_label(row, answer), row.figures) for row in answer.rows]
    if answer.new_figures:
        rows.insert(1, ("  the same, for other raters", _anew(answer.new_figures)))
    cells = [_cells(held, names, accounts) for _, held in rows]
    room = WIDTH - sum(2 + max(map(len, column)) for column in zip(header[1:], *cells, strict=True))
    labelled = [[shortened(label, room), *row] for (label, _), row in zip(rows, cells, strict=True)]
    return aligned(header, labelled).splitlines()


def _anew(held: Figures) -> Figures:
    """Return figures for raters that were not asked: whatever repeats has other raters, too."""
    new, old = REPEATS
    return {**held, old: held[new]} if new in held else held


def measures(answer: StudyPlan) -> list[str]:
    """Name the measures shown: targets before floors, then what belongs beside them."""
    targets = sorted(answer.targets, key=lambda one: one.floor)
    repeats = next((name for name in REPEATS if name in answer.figures), REPEATS[0])
    names = dict.fromkeys([*(one.measure for one in targets), *USUAL, repeats])
    return [name for name in names if name in answer.figures][:MOST_MEASURES]


def _account(name: str, answer: StudyPlan) -> str:
    return (answer.limits.currency or "money") if name == "money" else name


def _label(row: DesignRow, answer: StudyPlan) -> str:
    if row.role == "advice":
        return "this design" if answer.reached else "the best"
    said = designs.short(row.design, answer.design)
    if row.role == "most":
        return f"most you can do: {said}"
    if abs(row.gap) > words.SMALL_GAP:
        return f"{'cheaper' if row.gap < 0 else 'dearer'}: {said} ({100 * row.gap:+.0f} %)"
    return f"same money: {said}"


def _cells(held: Figures, names: Sequence[str], accounts: Sequence[str]) -> list[str]:
    shares = [words.share(held[name]) if name in held else "-" for name in names]
    return shares + [_amount(held, name) for name in accounts]


def _amount(held: Figures, name: str) -> str:
    """Write money, hours or days; with an error where that is not small."""
    if name not in held or not math.isfinite(held[name].value):
        return "-"
    one = held[name]
    digits = 1 if name == "days" and one.value < 10 else 0
    error = one.mcse if one.mcse > words.TINY * abs(one.value) and one.mcse >= 0.5 * 10.0**-digits else 0.0
    return f"{one.value:,.{digits}f}" + (f" ± {error:,.{digits}f}" if error else "")
