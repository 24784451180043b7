"""Write, for a paper, what was simulated before a study began: what it was to find, and how often it will."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simlab.answers.plan import Figures, StudyPlan
from simlab.drawing.text import plan_designs, plan_words
from simlab.drawing.text.tables import number

FORESEEN = {
    "power": "a share of {} of the pairs of systems that truly differ by {} or more is found",
    "no_wrong_claim": "no claim is wrong in a share of {} of studies",
    "srp_new_study": "every claim is confirmed by a second study with other raters and documents in a share of {}",
}


def foreseen(answer: StudyPlan) -> list[str]:
    """Return sentences on targets, worlds, and what the design came to, each number with its error."""
    return list(_sentences(answer))


def _sentences(answer: StudyPlan) -> Iterator[str]:
    wanted, figures = answer, answer.figures
    yield (
        f"The design ({plan_designs.sentence(answer.design, answer.settings, answer.systems)}) was chosen among "
        f"{answer.designs:,} by simulating {answer.campaigns:,} studies (Card et al. 2020): the cheapest that was to "
        f"{plan_words.targets(wanted)}; worlds that no choice had seen were to show each target, less a margin of "
        f"{number(wanted.margin, 2)}, with a confidence of {number(wanted.confidence, 2)}."
    )
    if answer.open is not None:
        yield "They did not before the simulation ended; it is the design that came nearest."
    elif not answer.reached:
        yield "No design reached this; it is the one that came nearest."
    yield f"The smallest difference that matters is {plan_words.smallest(wanted)} ({wanted.smallest.why})."
    yield _simulated_in(answer)
    yield f"In {answer.worlds:,} worlds that the choice had not seen, {shares(answer, figures)}."
    if answer.new_figures:
        yield f"If the same design is to hold for raters that were not asked, {shares(answer, answer.new_figures)}."
    yield takes(answer, figures)
    if (held := answer.robust) is not None:
        yield (
            f"The targets are reached in a share of {number(held.share, 2)} ({number(held.low, 2)} to "
            f"{number(held.high, 2)}) of {held.draws} {held.source}."
        )
    elif answer.under_pilot is not None:
        yield f"In how many of the worlds that the pilot allows they are reached is {plan_words.TOO_FEW}."


def _simulated_in(answer: StudyPlan) -> str:
    pilot = f", fitted to a pilot of {answer.pilot}" if answer.pilot else ", without a pilot"
    assumed = f"; assumed: {', '.join(answer.assumed)}" if answer.assumed else ""
    whom = " Targets are for these raters, who are too few to speak of others." if answer.these_raters else ""
    return f"Simulated worlds: {answer.world}{pilot}{assumed}.{whom}"


def shares(answer: StudyPlan, figures: Figures) -> str:
    """Say what a design came to, each share with its error."""
    names = [*FORESEEN, *(one.measure for one in answer.targets if one.measure not in FORESEEN)]
    said = [_share(name, answer, figures) for name in names if name in figures]
    errors = "(± Monte-Carlo standard error, Morris et al. 2019; SRP: Riley et al. 2024)"
    return f"{', '.join(said)} {errors}"


def _share(name: str, answer: StudyPlan, figures: Figures) -> str:
    value = plan_words.share(figures[name])
    said = FORESEEN.get(name, plan_words.heading(name) + " is {}")
    return said.format(value, plan_words.smallest(answer))


def takes(answer: StudyPlan, figures: Figures) -> str:
    """Say what a design is expected to cost, and how long it takes; nothing where neither is known."""
    held = {name: figures[name].value for name in ("money", "hours", "days") if name in figures}
    said = [plan_words.money(held["money"], answer)] if math.isfinite(held.get("money", math.nan)) else []
    said += [f"{held[name]:,.1f} {name}" for name in ("hours", "days") if math.isfinite(held.get(name, math.nan))]
    return f"It is expected to take {', '.join(said)}." if said else ""
