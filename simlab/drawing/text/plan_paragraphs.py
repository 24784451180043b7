"""Return sentences for a paper on what was simulated before a study began: its targets and how often it meets them.

Call `list_forecast_sentences` with a `StudyPlan`, which returns them in order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from simlab.answers.plan import TOO_FEW, Figures, StudyPlan
from simlab.drawing.text import plan_designs, plan_words
from simlab.drawing.text.tables import number

FORESEEN = {
    "power": "a share of {} of the pairs of systems that truly differ by {} or more is found",
    "no_wrong_claim": "no claim is wrong in a share of {} of studies",
    "srp_new_study": "every claim is confirmed by a second study with other raters and documents in a share of {}",
}


def list_forecast_sentences(plan: StudyPlan) -> list[str]:
    """Return sentences on targets, worlds, and what the design came to, each number with its error."""
    return [sentence for sentence in _sentences(plan) if sentence]


def _sentences(plan: StudyPlan) -> Iterator[str]:
    yield (
        f"The design ({plan_designs.sentence(plan.design, plan.settings, plan.systems)}) was chosen among "
        f"{plan.designs:,} by simulating {plan.campaigns:,} studies (Card et al. 2020): the cheapest that was to "
        f"{plan_words.targets(plan)}; worlds that no choice had seen were to show each target, less a margin of "
        f"{number(plan.margin, 2)}, with a confidence of {number(plan.confidence, 2)}."
    )
    if plan.open is not None:
        yield "They did not before the simulation ended; it is the design that came nearest."
    elif not plan.reached:
        yield "No design reached this; it is the one that came nearest."
    yield (f"The smallest difference that matters is {plan_words.smallest_difference(plan)} ({plan.smallest.why}).")
    yield _describe_worlds(plan)
    yield f"In {plan.worlds:,} worlds that the choice had not seen, {_shares(plan, plan.figures)}."
    if plan.new_figures:
        yield f"If the same design is to hold for raters that were not asked, {_shares(plan, plan.new_figures)}."
    yield _takes(plan)
    if plan.robust is not None:
        yield plan_words.describe_reach_in_other_worlds(plan.robust)
    elif plan.under_pilot is not None:
        yield f"In how many of the worlds that the pilot allows they are reached is {TOO_FEW}."


def _describe_worlds(plan: StudyPlan) -> str:
    pilot = f", fitted to a pilot of {plan.pilot}" if plan.pilot else ", without a pilot"
    assumed = f"; assumed: {', '.join(plan.assumed)}" if plan.assumed else ""
    whom = " Targets are for these raters, who are too few to speak of others." if plan.these_raters else ""
    return f"Simulated worlds: {plan.world}{pilot}{assumed}.{whom}"


def _shares(plan: StudyPlan, figures: Figures) -> str:
    """Write what a design came to, each share with its error."""
    names = [*FORESEEN, *(target.measure for target in plan.targets if target.measure not in FORESEEN)]
    shares = [_share(name, plan, figures) for name in names if name in figures]
    errors = "(± Monte-Carlo standard error, Morris et al. 2019; SRP: Riley et al. 2024)"
    return f"{', '.join(shares)} {errors}"


def _share(name: str, plan: StudyPlan, figures: Figures) -> str:
    words = FORESEEN.get(name, plan_words.heading(name) + " is {}")
    return words.format(plan_words.share(figures[name]), plan_words.smallest_difference(plan))


def _takes(plan: StudyPlan) -> str:
    """Write what a design is expected to cost, and how long it takes; nothing where neither is known."""
    takes = [plan_words.money(plan.cost, plan)] if math.isfinite(plan.cost) else []
    takes += [
        f"{value:,.1f} {name}" for name, value in (("hours", plan.hours), ("days", plan.days)) if math.isfinite(value)
    ]
    return f"It is expected to take {', '.join(takes)}." if takes else ""
