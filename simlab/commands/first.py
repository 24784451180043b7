"""Answer who types `simlab` alone: three things to do, and where the rest is."""

from __future__ import annotations

from simlab.commands.notes import program

THINGS = (
    ("demo", "See the whole story on ratings that simlab makes: pilot, plan, sheets, conclusion, report. A minute."),
    (
        "plan ratings.csv budget.total=2000 budget.price_per_rating=.5 --out my",
        "Ask which study to buy: ratings.csv is a pilot (system, document, rater, score). A few minutes.",
    ),
    (
        "sweep item_grouping --quick",
        "Try the laboratory: does it matter which outputs a rater sees together? Half a minute.",
    ),
)
"""Commands, and what one gets of each."""


def answer() -> str:
    """Write the three things, each with a line on what one gets."""
    things = [line for command, gets in THINGS for line in (f"  {program()} {command}", f"      {gets}", "")]
    opening = "Which study should I buy, and what may I conclude from the one I have? Three things to do:"
    return "\n".join([opening, "", *things, f"{program()} --help: all commands"])
