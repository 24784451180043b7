"""Say in words what a kept fit found, as the text page says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.drawing.reports.answers.fit_reading import Fit, components_of
from simlab.drawing.text import fitted_preferences, fitted_speeds, fitted_world, tables
from simlab.drawing.text.fitted_world import COEFFICIENTS, WORDS
from simlab.messages import several

SHARE = "equal_outputs_tie"
MOST_SOURCES = 3


def understood(fit: Fit) -> str:
    """Say what was read: how many ratings of what by whom, on which scale."""
    held = fit.table
    counts = [several(held["systems"], "system"), *_counts(held)]
    raters = "raters not named" if held["raters"] is None else several(held["raters"], "rater")
    what = f"{several(held['used'], 'comparison' if fit.compares else 'rating')} of {', '.join([*counts, raters])}"
    return "; ".join([what, *_rest(held)])


def _counts(held: Mapping[str, Any]) -> list[str]:
    words = (("pairs", "pair"), ("documents", "document"), ("items", "item"))
    return [several(held[name], word) for name, word in words if held.get(name) is not None]


def _rest(held: Mapping[str, Any]) -> list[str]:
    scale = [f"{held['scale'][0]:g} to {held['scale'][1]:g}"] if held.get("scale") else []
    better = [f"{held['better']} is better"] if held.get("better") else []
    ties = [f"{tables.number(held['ties'], 2)} ties"] if held.get("ties") is not None else []
    gaps = [several(held["gaps"], "gap")] if held.get("gaps") else []
    return [*([", ".join([*scale, *better])] if scale or better else []), *ties, *gaps]


def law(fit: Fit) -> str:
    """Say which law was fitted, and how well it predicts documents held out."""
    if fit.compares:
        return "preference: strengths on a latent scale, with ties"
    if not fit.compared or any(one.log_score != one.log_score for one in fit.compared):
        return fit.law
    return f"{fit.law}, {fitted_world.scores(fit.law, fit.compared)}"


def verdict(fit: Fit) -> str:
    """Say how many checks the pilot passed."""
    n, failed = len(fit.traits), len(fit.traits) - fit.passed
    if not n:
        return "Checks: none, the pilot is too small for any."
    if failed:
        return f"{failed} of {n} checks FAILED: do not trust what {fit.law} predicts."
    return f"{n} of {n} checks passed: the pilot looks like tables of this law."


def component(fit: Fit, one: Mapping[str, Any]) -> str:
    """Name what makes scores differ."""
    name = str(one["name"])
    return (fitted_preferences.WORDS if fit.compares else WORDS).get(name, name)


def is_spread(one: Mapping[str, Any]) -> bool:
    """Tell a standard deviation from a share."""
    return bool(one["name"] != SHARE)


def spread(fit: Fit, one: Mapping[str, Any]) -> str:
    """Write a standard deviation with its interval."""
    places = fitted_world.digits(one["sd"], one["high"])
    sd, low, high = (tables.number(one[name], places) for name in ("sd", "low", "high"))
    return f"{component(fit, one)} {sd} ({low} to {high})"


def sources(fit: Fit) -> str:
    """Say what makes scores differ most, the largest first."""
    shown = components_of(fit)[:MOST_SOURCES]
    told = "; ".join(spread(fit, one) for one in shown)
    if fit.compares:
        return f"What differs most ({fit.interval} % intervals): {told}." if shown else ""
    return f"What makes scores differ most (sd in points, {fit.interval} % intervals): {told}." if shown else ""


def people(fit: Fit, raters: str) -> str:
    """Say whether a coefficient is of these raters or of as many others."""
    n = fit.table["raters"] or 1
    return "these raters" if raters == "fixed" else f"{n} other raters" if n > 1 else "another rater"


def line(fit: Fit, name: str, raters: str) -> str:
    """Name a coefficient with its raters."""
    return f"{COEFFICIENTS[name]}: {people(fit, raters)}"


def dependable(fit: Fit) -> str:
    """Say how dependable differences of systems would be in a study of the fewest and of the most documents."""
    own = [one for one in fit.coefficients if one.name == "e_rho2"]
    own = [one for one in own if one.raters == own[0].raters]
    if not own:
        return ""
    ends = [own[0], own[-1]] if len(own) > 1 else own
    each = "1 rating" if own[0].each == 1 else f"{own[0].each} ratings"
    told = " and ".join(
        f"{tables.number(one.value, 2)} ({tables.number(one.low, 2)} to {tables.number(one.high, 2)}) with "
        f"{one.documents} new documents"
        for one in ends
    )
    return f"Dependability of differences (E rho^2, {people(fit, own[0].raters)}, {each} each): {told}."


def trade(fit: Fit) -> str:
    """Say how many ratings of each output are best at equal cost, and from which price of a document two are."""
    if fit.trade is None:
        return ""
    best = max(fit.trade.rows, key=lambda row: row.best)
    said = f"of {fit.trade.ratings:.0f} ratings a system, {several(best.each, 'rating')} of each output"
    said = f"{said[0].upper()}{said[1:]} {'is' if best.each == 1 else 'are'} best"
    return f"{said} (in {tables.number(best.best, 2)} of the draws); {fitted_world.price(fit.trade)}."


def speeds(fit: Fit) -> str:
    """Say how fast people worked; nothing of a table without times."""
    return f"{fitted_speeds.sentence(fit.speeds)}." if fit.speeds else ""
