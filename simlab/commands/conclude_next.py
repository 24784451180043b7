"""Say which command comes after a conclusion: the same one with a figure and a paragraph, else a world to plan on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from simlab.commands.notes import program
from simlab.concluding.wanted import Wanted
from simlab.tables.held import Told
from simlab.types import JUDGE

FIGURE, PARAGRAPH = Path("order.png"), Path("paragraph.md")


def following(table: Path, wanted: Wanted, question: str, figure: Path | None, paragraph: Path | None) -> str:
    """Return a command that works where it is typed, with all that was asked for here.

    What is not drawn or written yet is; where all is, the next step is what the table says about other studies.
    """
    if figure is None or paragraph is None:
        words = ["conclude", *asked(table, wanted)]
        words += ["--figure", str(figure or FIGURE), "--paragraph", str(paragraph or PARAGRAPH)]
    elif question == JUDGE:
        words = ["fit-metric", str(table), *_told(wanted.told)]
    else:
        words = ["fit", str(table), *_told(wanted.told)]
    return f"{program()} {shlex.join(words)}"


def asked(table: Path, wanted: Wanted) -> list[str]:
    """Write what was asked as the words of the command line."""
    return [
        str(table),
        *([str(wanted.second)] if wanted.second else []),
        *wanted.overrides,
        *_option("plan", wanted.plan and wanted.plan.path),
        *_option("promise", wanted.promise),
        *_option("level", wanted.level),
        *_option("metric", ",".join(wanted.metrics) or None),
        *_option("against", wanted.against),
        *_option("margin", wanted.margin),
        *(word for rater in wanted.exclude for word in _option("exclude", rater)),
        *_option("adequate-from", wanted.adequate_from),
        *_option("threshold", wanted.threshold),
        *_option("seed", wanted.seed or None),
        *_told(wanted.told),
    ]


def _told(told: Told) -> Iterator[str]:
    columns = ",".join(f"{ours}={theirs}" for ours, theirs in told.columns.items())
    yield from _option("columns", columns or None)
    yield from _option("better", told.better)
    yield from _option("scale", None if told.scale is None else f"{told.scale[0]:g}..{told.scale[1]:g}")
    yield from _option("people", told.people)


def _option(name: str, value: object) -> list[str]:
    if value is None:
        return []
    return [f"--{name}", f"{value:.12g}" if isinstance(value, float) else str(value)]
