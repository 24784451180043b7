"""Suggest the command after `simlab conclude`: the same one with a figure and a paragraph, else a world to plan on.

`suggest_next` takes the table and the options (`wanted`) of a conclusion, and returns the command line.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from simlab.commands.next_steps import option, told_words
from simlab.commands.notes import program
from simlab.concluding.options import ConcludeOptions
from simlab.types import JUDGE

FIGURE, PARAGRAPH = Path("order.png"), Path("paragraph.md")
"""Files that the suggested command writes where none were named."""


def suggest_next(
    table: Path, wanted: ConcludeOptions, question: str, figure: Path | None, paragraph: Path | None
) -> str:
    """Return the next command, with all options that were given here.

    It draws the figure and writes the paragraph where a file for one is None; else it fits a world to the table, or a
    metric where `question`, the kind of study, is that of judgements.
    """
    if figure is None or paragraph is None:
        words = ["conclude", *list_words(table, wanted)]
        words += ["--figure", str(figure or FIGURE), "--paragraph", str(paragraph or PARAGRAPH)]
    elif question == JUDGE:
        words = ["fit-metric", str(table), *told_words(wanted.column_overrides)]
    else:
        words = ["fit", str(table), *told_words(wanted.column_overrides)]
    return f"{program()} {shlex.join(words)}"


def list_words(table: Path, wanted: ConcludeOptions) -> list[str]:
    """Return the words behind `simlab conclude` that name the table and repeat all options that were given."""
    return [
        str(table),
        *([str(wanted.second)] if wanted.second else []),
        *wanted.overrides,
        *option("plan", wanted.plan and wanted.plan.path),
        *option("promise", wanted.promise),
        *option("level", wanted.level),
        *option("metric", ",".join(wanted.metrics) or None),
        *option("family", None if wanted.against else wanted.family),
        *option("against", wanted.against),
        *option("margin", wanted.margin),
        *(word for rater in wanted.exclude for word in option("exclude", rater)),
        *option("adequate-from", wanted.adequate_from),
        *option("threshold", wanted.threshold),
        *option("seed", wanted.seed or None),
        *([] if wanted.again else ["--no-repetition"]),
        *(["--consensus"] if wanted.consensus else []),
        *(["--look"] if wanted.look else []),
        *told_words(wanted.column_overrides),
    ]
