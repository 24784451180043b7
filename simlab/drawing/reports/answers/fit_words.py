"""Return the findings of a fit as sentences: data, law, checks, spreads, dependability and speeds.

Functions take a `Fit` (`simlab.answers.fit`) or a part of it; they return "" where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from simlab.answers.fit import CheckedTrait, Component, Fit, LawScore, PilotSpeeds, PredictionError
from simlab.answers.tables import ReadTable
from simlab.drawing.text import tables
from simlab.messages import pluralise

SHARE = "equal_outputs_tie"
"""Name of the component that is a share, and no standard deviation."""
MOST_SOURCES = 3
"""Sources of differences that are named."""
WORDS = {
    "system": "systems (these)",
    "document": "documents",
    "segment": "segments of a document",
    "system_document": "system x document",
    "output": "system x segment",
    "leniency": "raters at large (leniency)",
    "rater_system": "raters at large x system",
    "rater_document": "raters at large x document",
    "residual": "a rating's own noise",
    "equal_outputs_tie": "share of ties between equal outputs",
    "system_sd": "systems (sd, logits)",
    "output_sd": "outputs of a system (sd, logits)",
    "item_sd": "items (sd of log sharpness)",
    "sharpness_sd": "raters' sharpness (sd of log)",
    "tie_sd": "raters' habit of ties (sd of log)",
    "taste_sd": "raters' taste for systems (sd, logits)",
}
"""Names of what makes scores differ, by those of the fit's file."""
COEFFICIENTS = {"e_rho2": "E rho^2, differences", "phi": "Phi, scores as they stand"}
UNTOLD = (
    "more documents or more ratings each: not known; this pilot cannot tell noise from what raters of an output share"
)
SMALL, LIKELY, SURE = 0.03, 0.8, 0.95
"""Predictions are about right if off by less than `SMALL`, or if fewer than `LIKELY` of the tables agree which way."""


def known_components(fit: Fit) -> list[Component]:
    """Return the standard deviations that are known, the largest first."""
    known = [entry for entry in fit.components if isfinite(entry.sd) and is_spread(entry)]
    return sorted(known, key=lambda entry: -entry.sd)


def describe_data(fit: Fit) -> str:
    """State what was read: how many ratings of what by whom, on which scale."""
    read = fit.read
    counts = [pluralise(read.systems, "system"), *_counts(read)]
    raters = "raters not named" if read.raters is None else pluralise(read.raters, "rater")
    what = f"{pluralise(read.used, 'comparison' if fit.compares else 'rating')} of {', '.join([*counts, raters])}"
    return "; ".join([what, *_rest(read)])


def _counts(read: ReadTable) -> list[str]:
    counts = ((read.pairs, "pair"), (read.documents, "document"), (read.items, "item"))
    return [pluralise(count, word) for count, word in counts if count is not None]


def _rest(read: ReadTable) -> list[str]:
    scale = [f"{read.scale[0]:g} to {read.scale[1]:g}"] if read.scale else []
    better = [f"{read.better} is better"] if read.better else []
    ties = [f"{tables.number(read.ties, 2)} ties"] if read.ties is not None else []
    gaps = [pluralise(read.gaps, "gap")] if read.gaps else []
    return [*([", ".join([*scale, *better])] if scale or better else []), *ties, *gaps]


def chains(fit: Fit) -> str:
    """State how NUTS sampled a law of one's own; nothing of other laws."""
    diagnosis = fit.diagnosis
    if "divergences" not in diagnosis:
        return ""
    return (
        f"Chains (NUTS): R-hat {diagnosis['r_hat']:.3f} at most, {diagnosis['effective_draws']:,.0f} effective "
        f"draws at least of {diagnosis['draws']:,.0f} from {diagnosis['chains']:.0f} chains, "
        f"{diagnosis['divergences']:.0f} divergent."
    )


def law(fit: Fit) -> str:
    """State which law was fitted, and how well it predicts documents held out."""
    if fit.compares:
        return "preference: strengths on a latent scale, with ties"
    if fit.asked:
        return f"{fit.law}, as asked"
    if not fit.compared or any(not isfinite(score.log_score) for score in fit.compared):
        note = "; one document cannot tell which law predicts others best" if fit.read.documents == 1 else ""
        return f"{fit.law}; not for such scores: {', '.join(fit.refused) or 'none'}{note}"
    return f"{fit.law}, {_scores(fit.law, fit.compared)}"


def _scores(name: str, compared: Sequence[LawScore]) -> str:
    """State how well a law predicts documents held out, beside the others; `compared` has the best first."""
    best = compared[0]
    head = f"predicts documents held out best (log score {best.log_score:.3f} a rating)"
    if best.law != name:
        head = f"the simplest of those that predict documents held out as well as {best.law}"
    others = [f"{score.law} {tables.format_with_error(score.behind, score.se, 3)} behind" for score in compared[1:]]
    return "; ".join([head, *others])


def verdict(fit: Fit) -> str:
    """State how many checks the pilot passed."""
    n, failed = len(fit.checks.all), len(fit.failed)
    if not n:
        return "Checks: none, the pilot is too small for any."
    if failed:
        return f"{failed} of {n} checks FAILED: do not trust what {fit.law} predicts."
    return f"{n} of {n} checks passed: the pilot looks like tables of this law."


def failure(trait: CheckedTrait) -> str:
    """State which check failed: its real value, the simulated one and its interval."""
    places = digits(trait.real, trait.simulated)
    real, simulated, low, high = (
        tables.number(n, places) for n in (trait.real, trait.simulated, trait.low, trait.high)
    )
    return f"{trait.name}: {real} real, {simulated} simulated ({low} to {high})"


def describe_error(error: PredictionError) -> str:
    """State in which direction a world's predictions of a measure err, if in any."""
    numbers = f"{tables.number(error.real, 2)} in the pilot, {tables.number(error.simulated, 2)} simulated"
    if abs(error.real - error.simulated) < SMALL or LIKELY > error.below > 1 - LIKELY:
        return f"{error.measure} about right ({numbers})"
    way = "under" if error.simulated < error.real else "over"
    sure = "" if error.below > SURE or error.below < 1 - SURE else "probably "
    return f"{error.measure} {sure}{way}-predicted ({numbers})"


def digits(*values: float) -> int:
    """Return how many decimals to write numbers with, by the largest of them."""
    size = max((abs(value) for value in values if isfinite(value)), default=1.0)
    return 1 if size >= 10 else 2


def component(component: Component) -> str:
    """Return the name of a component, one of the sources that make scores differ."""
    return WORDS.get(component.name, component.name)


def is_spread(component: Component) -> bool:
    """True if a component is a standard deviation, and no share."""
    return component.name != SHARE


def spread(record: Component) -> str:
    """Write a standard deviation with its interval."""
    places = digits(record.sd, record.high)
    sd, low, high = (tables.number(number, places) for number in (record.sd, record.low, record.high))
    return f"{component(record)} {sd} ({low} to {high})"


def sources(fit: Fit) -> str:
    """State what makes scores differ most, the largest first."""
    shown = known_components(fit)[:MOST_SOURCES]
    if not shown:
        return ""
    spreads = "; ".join(map(spread, shown))
    if fit.compares:
        return f"What differs most ({fit.interval} % intervals): {spreads}."
    return f"What makes scores differ most (sd in points, {fit.interval} % intervals): {spreads}."


def people(fit: Fit, raters: str) -> str:
    """Return whose a coefficient is: "these raters" (`raters` is fixed) or as many others (drawn)."""
    n = fit.read.raters or 1
    return "these raters" if raters == "fixed" else f"{n} other raters" if n > 1 else "another rater"


def coefficient(fit: Fit, name: str, raters: str) -> str:
    """Return the name of a coefficient (`name` is e_rho2 or phi) with its raters (drawn or fixed)."""
    return f"{COEFFICIENTS[name]}: {people(fit, raters)}"


def describe_dependability(fit: Fit) -> str:
    """State how dependable differences of systems would be in a study of the fewest and of the most documents."""
    own = [coefficient for coefficient in fit.coefficients if coefficient.name == "e_rho2"]
    own = [coefficient for coefficient in own if coefficient.raters == own[0].raters]
    if not own:
        return ""
    ends = [own[0], own[-1]] if len(own) > 1 else own
    each = "1 rating" if own[0].each == 1 else f"{own[0].each} ratings"
    values = " and ".join(
        f"{tables.number(end.value, 2)} ({tables.number(end.low, 2)} to {tables.number(end.high, 2)}) with "
        f"{end.documents} new documents"
        for end in ends
    )
    return f"Dependability of differences (E rho^2, {people(fit, own[0].raters)}, {each} each): {values}."


def ratings_of_system(fit: Fit) -> float:
    """Return the number of ratings of a system at which more documents are weighed against more ratings each."""
    return fit.each[0].each * fit.each[0].documents


def trade(fit: Fit) -> str:
    """State how many ratings of each output are best at equal cost, and from which price of a document two are."""
    if not fit.each or fit.price is None:
        return ""
    best = max(fit.each, key=lambda row: row.best)
    text = f"of {ratings_of_system(fit):.0f} ratings a system, {pluralise(best.each, 'rating')} of each output"
    text = f"{text[0].upper()}{text[1:]} {'is' if best.each == 1 else 'are'} best"
    return f"{text} (in {tables.number(best.best, 2)} of the draws); {_price(fit.price)}."


def _price(price: tuple[float, float, float]) -> str:
    """State from which price of a document on a second rating of each output is worth more than more documents.

    `price` is the median with the ends of its interval, low first, in ratings of a system.
    """
    low, middle, high = price
    if not isfinite(middle) or middle > 1000:
        return "more documents are worth more at any price"
    span = (
        f"{tables.number(low, 1)} to {tables.number(high, 1)}" if isfinite(high) else f"{tables.number(low, 1)} or more"
    )
    return f"two each pay where a document costs more than {tables.number(middle, 1)} ratings a system ({span})"


def speeds(speeds: PilotSpeeds | None) -> str:
    """State hours under which rule, how fast people are at large, and what the same work would take others."""
    if speeds is None:
        return ""
    cut = f"{speeds.cut:,g} s"
    rule = f"gaps between answers cut at {cut}" if speeds.rule == "ends" else f"times of answers, cut at {cut}"
    took = next(hours.hours for hours in speeds.hours if hours.cut == speeds.cut)
    people = "one person" if speeds.people == 1 else f"{speeds.people:,} people"
    spread, each, again = speeds.rater_sd, speeds.seconds_per_answer, speeds.hours_again
    return (
        f"{_time(took)} hours of work by {people} ({rule}); {_time(each.estimate)} ({_time(each.low)} to"
        f" {_time(each.high)}) s an answer; people's speeds differ by {tables.number(spread.estimate, 2)}"
        f" ({tables.number(spread.low, 2)} to {tables.number(spread.high, 2)}, sd of logs). Others would take"
        f" {_time(again.median)} hours ({_time(again.low)} to {_time(again.high)}) for the same."
    )


def _time(value: float) -> str:
    return tables.number(value, 0 if value >= 10 else 1)
