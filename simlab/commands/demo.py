"""Carry out `simlab demo`: a pilot, a plan, sheets, ratings, a conclusion and its report, and then the truth.

`carry_out` prints each step as it is done and returns the exit code. Every step is a command line that a user would
type, carried out as it stands; what people do is simulated.
"""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from simlab.commands.demonstration import judging, places, planted_truth
from simlab.commands.exit_codes import DONE, INTERRUPTED, RESERVED
from simlab.commands.flags import Form
from simlab.commands.notes import program
from simlab.commands.typed_commands import Given, Launched

Command = Callable[[Sequence[str]], int]
"""Function that carries out a command line, prints its answer to stdout, and returns the exit code."""

SEARCH = [
    "--over",
    "design.documents=20,40,60,80,100,design.ratings_per_item=1,2",
    "--margin",
    ".03",
    "--at-most",
    "1000",
]
"""Options of the plan: fewer designs and simulated studies than by default."""


class DemoStep(NamedTuple):
    """A step of the demonstration: its purpose, its command line, and which lines of its answer are shown.

    A passage goes from a line that matches the first expression to before one that matches the second.
    """

    why: str
    words: tuple[str, ...]
    passages: tuple[tuple[str, str], ...]


class Stopped(Exception):
    """Raised where a step was not carried out; holds its exit code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def carry_out(out: Path, seed: int, answer: Command, say: Callable[[str], None]) -> int:
    """Carry out a demonstration in the new folder `out`; return the exit code.

    `answer` carries out a command line; `say` prints a passage of the demonstration as it is done. Raises InputError,
    before anything is written, for a folder that holds something.
    """
    places.begin(out)
    try:
        for block in _run_story(out, planted_truth.plant_truth(seed), answer):
            say(block)
    except Stopped as stopped:
        return stopped.code
    places.end(out)
    return DONE


def write(code: int, form: Form, given: Given) -> Launched:
    """Return the exit code with an empty text: the steps were printed as they were done."""
    return Launched("", code=code)


def _run_story(out: Path, truth: planted_truth.Planted, carry_out: Command) -> Iterator[str]:
    planted_truth.write_pilot(truth, out / "pilot.csv")
    yield (
        f"Four systems, eight raters, and a truth that only simlab knows. A pilot lies in {out / 'pilot.csv'}:\n"
        "16 documents, two raters each, 128 ratings from 0 to 100. What follows is what you would type."
    )
    planted_truth.write_items(truth, out / "items.csv")
    fit, plan, assign, *rest = _steps(out)
    for step in (fit, plan, assign):
        yield from _show_step(step, carry_out)
    n = planted_truth.fill(truth, out / "study" / "assignment.csv", out / "study" / "key.csv", out / "filled.csv")
    yield f"\nCollect: in place of people, simulated raters give the {n} ratings: {out / 'filled.csv'}"
    for step in rest:
        yield from _show_step(step, carry_out)
    yield from _truth(out, truth)


def _steps(out: Path) -> tuple[DemoStep, ...]:
    """Return the steps, in their order."""
    study = str(out / places.STUDY)
    budget = ("budget.price_per_rating=.5", "budget.total=300", "budget.currency=EUR")
    steps = (
        DemoStep(
            "Fit: make a world of the pilot. How far would scores lie apart if there were one reason only?",
            ("fit", str(out / "pilot.csv"), "--out", str(out / "world.yaml"), "--save", str(out / "fit.json")),
            (("^Checks", "^$"), ("^what makes scores differ", "^$")),
        ),
        DemoStep(
            "Plan: which study finds 80 % of differences of 4 points or more, within 300 EUR? (50 x 2: documents by\n"
            "ratings of each output; ≥: 95 % bound; without --over and --at-most, more designs and more patience)",
            ("plan", str(out / "world.yaml"), *budget, "--smallest-difference", "4", *SEARCH, "--out", study),
            (("^Buy|^Open|^Nothing", "^$"), ("^design ", "^$"), ("^finds:", "^All rows|^This design")),
        ),
        DemoStep(
            "Assign: who rates what, in which order, without knowing the systems?",
            ("assign", study, "--items", str(out / "items.csv")),
            (("^Study", "^Raters"), ("^Order", "^$"), ("^wrote", "^next:")),
        ),
        DemoStep(
            "Conclude: who is better, and with which promise?",
            ("conclude", str(out / "filled.csv"), "--plan", study),
            (("^", "^Read: "), ("^rank", "^$")),
        ),
        DemoStep(
            "Report: one file that anyone can open.",
            ("report", study, "--out", str(out / "report.html")),
            (("^", "^$"),),
        ),
    )
    return steps if find_spec("simlab.commands.report") else steps[:-1]


def _show_step(step: DemoStep, carry_out: Command) -> Iterator[str]:
    """Yield the command line of a step, then the passages of its answer; raise Stopped where it has none."""
    yield f"\n{step.why}\n$ {program()} {shlex.join(step.words)}"
    output, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = carry_out(step.words)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (DONE, RESERVED):
        yield errors.getvalue().rstrip()
        raise Stopped(code)
    yield "\n".join(f"  {line}" for line in extract_passages(output.getvalue(), step.passages))


def extract_passages(page: str, passages: Sequence[tuple[str, str]]) -> list[str]:
    r"""Return the passages of a page; a page that has none of them as a whole.

    >>> extract_passages("Law  a\n  b\nChecks\n\nnext: c", [("^Law", "^Checks")])
    ['Law  a', '  b']
    """
    lines = page.rstrip("\n").split("\n")
    return [line for begin, end in passages for line in _passage(lines, begin, end)] or lines


def _passage(lines: Sequence[str], begin: str, end: str) -> Sequence[str]:
    first = next((k for k, line in enumerate(lines) if re.search(begin, line)), len(lines))
    last = next((k for k in range(first + 1, len(lines)) if re.search(end, lines[k])), len(lines))
    return lines[first:last]


def _truth(out: Path, truth: planted_truth.Planted) -> Iterator[str]:
    """Yield the page on the true means, and on which claims of the conclusion are right."""
    planted_truth.write_truth(truth, out / "truth.csv")
    conclusion = json.loads((out / places.STUDY / "conclusion.json").read_text(encoding="utf-8"))
    yield f"\nThe truth, in points, which was kept back until now ({out / 'truth.csv'}):"
    yield "\n".join(f"  {line}" for line in judging.page(conclusion, truth.means))
    another = f"{program()} demo --seed {truth.seed + 1} --out {shlex.quote(f'{out}-{truth.seed + 1}')}"
    yield (
        "  A study misses some differences, and the promise lets one study in 20 make a wrong claim:\n"
        f"  {another} tells another story."
    )
    yield (
        f"\nnext: {program()} plan ratings.csv budget.total=2000 budget.price_per_rating=.5 --out my\n"
        "      with ratings of your own: system, document, rater, score"
    )
