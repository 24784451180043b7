"""Say which command comes after a plan: sheets, or a smaller wish where nothing reaches the targets."""

from __future__ import annotations

import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands.next_steps import option, told_words
from simlab.commands.notes import program

if TYPE_CHECKING:
    from simlab.answers.plan import StudyPlan
    from simlab.commands.plan import PlanOptions

MORE = "20000"
"""Patience for a plan that ended with nothing decided."""
RENAMED = {"smallest": "smallest-difference"}
"""Options that go by another name in what is asked."""


def following(answer: StudyPlan, out: Path, asked: PlanOptions) -> str:
    """Return a command that works where it is typed: another folder takes what is asked otherwise."""
    if answer.reached:
        words = ["assign", str(out), "--items", "items.csv", "--raters", "raters.csv", "--out", "sheet.csv"]
    elif answer.open is not None:
        words = ["plan", *typed(asked._replace(at_most=MORE, out=out))]
    else:
        words = ["plan", *typed(asked._replace(smallest=wished(answer), out=out.with_name(f"{out.name}-larger")))]
    return f"{program()} {shlex.join(words)}"


def typed(asked: PlanOptions) -> list[str]:
    """Return the words of a command line that asks the same."""
    usual, kept_apart = type(asked)()._asdict(), ("words", "told", "force")
    own = {name: value for name, value in asked._asdict().items() if name not in kept_apart and value != usual[name]}
    options = [word for name, value in own.items() for word in option(_option(name), value)]
    return [*asked.words, *options, *told_words(asked.told), *(["--force"] if asked.force else [])]


def _option(name: str) -> str:
    return RENAMED.get(name, name.replace("_", "-"))


def wished(answer: StudyPlan) -> float:
    """Return the least difference that would be found, rounded up; where that is not known, twice as large a one."""
    known = [one.value for one in answer.would_reach if one.what == "difference" and math.isfinite(one.value)]
    return upwards(known[0] if known else 2 * answer.smallest.value)


def upwards(value: float) -> float:
    """Round a positive number up to two digits.

    >>> upwards(4.213), upwards(0.0512), upwards(12)
    (4.3, 0.052, 12.0)
    """
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")
