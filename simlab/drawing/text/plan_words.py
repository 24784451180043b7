"""Put a plan in words: what is wanted and may be spent, what to buy, what binds, what would change or reach it.

A plan is the answer of `simlab plan`. A function returns a line of its page, "" where there is nothing to say; a figure
is a value with its error and interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from simlab.answers.plan import (
    TOO_FEW,
    AdviceChange,
    Figure,
    OtherMoney,
    Remedy,
    Robust,
    StudyPlan,
    Target,
    known_figures,
)
from simlab.drawing.text import paragraphs
from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text.tables import format_bound, format_with_error, number
from simlab.measures.labels import LABELS
from simlab.messages import pluralise, quantity
from simlab.planning.terms import family

HEADINGS = {
    "power": "finds",
    "power_at": "finds, just",
    "no_wrong_claim": "no wrong claim",
    "srp_new_study": "repeats",
    "srp_new_documents": "repeats",
    "confirmed_new_study": "confirmed",
    "significant_share": "claims",
    "srp": "SRP",
}
MEANINGS = {
    "power": "finds: of pairs {} or more apart, the share told apart rightly",
    "power_at": "finds, just: of pairs exactly {} apart, the share told apart rightly",
    "no_wrong_claim": "no wrong claim: share of studies without one",
    "srp_new_study": "repeats: in a second study, all new, all claims keep their sign",
    "srp_new_documents": "repeats: in another study on new documents (others: new raters) all claims keep their sign",
    "confirmed_new_study": "confirmed: the share of claims that a study with other raters and documents confirms",
    "significant_share": "claims: the share of all pairs that a study tells apart",
    "srp": "SRP: in a repetition with the same raters and documents all claims keep their sign",
}
"""Explanations of columns, by measure."""
WANTED = {
    "power": "find {} of differences of {} or more",
    "no_wrong_claim": "no wrong claim in {} of studies",
}
NO_PILOT = "none: people and scores are those of the world"
EXACT, HALF, LEAST = 1e-9, 0.005, 0.001
"""An error below `LEAST` is written as that."""
TENTHS = ("less", "more")
SMALL_GAP = 0.02
"""Share of the advice's cost below which a rival counts as of the same money."""
TINY = 0.005


def heading(measure: str) -> str:
    """Return the heading of a measure's column."""
    return HEADINGS.get(measure, measure.replace("_", " "))


def meaning(measure: str, plan: StudyPlan) -> str:
    """Explain the measure of a column."""
    if measure in MEANINGS:
        return MEANINGS[measure].format(smallest_difference(plan))
    return f"{heading(measure)}: {LABELS.get(measure, {}).get('label', measure)}"


def smallest_difference(plan: StudyPlan) -> str:
    """Write the smallest difference that matters, with its unit."""
    return quantity(plan.smallest.value, plan.smallest.unit)


def share(figure: Figure) -> str:
    """Write a share with its error, of which a digit is shown; a bound where no error is known."""
    bound = format_bound(figure.value, figure.mcse, (figure.low, figure.high), 2) if figure.mcse <= EXACT else ""
    return bound or format_with_error(figure.value, *_round_error(figure.mcse))


def difference(figure: Figure) -> str:
    """Write a paired difference with its error and its interval."""
    error, digits = _round_error(figure.mcse)
    known = math.isfinite(figure.low + figure.high)
    span = f" ({number(figure.low, 2, sign=True)} to {number(figure.high, 2, sign=True)})" if known else ""
    return f"{format_with_error(figure.value, error, digits, sign=True)}{span}"


def _round_error(error: float) -> tuple[float, int]:
    """Return an error and the decimals that show it: two, or three where these would make it nothing.

    >>> _round_error(0.012), _round_error(0.004), _round_error(0.0001)
    ((0.012, 2), (0.004, 3), (0.001, 3))
    """
    return (max(error, LEAST), 3) if EXACT < error < HALF else (error, 2)


def money(value: float, plan: StudyPlan) -> str:
    """Write an amount of money with its currency."""
    amount = f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"
    return f"{amount} {plan.limits.currency}" if plan.limits.currency else f"money {amount}"


def head(plan: StudyPlan, study: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines on what a plan rests on; that of claims needs the composed `study`, which may be empty."""
    assumed = f"; assumed: {', '.join(plan.assumed)}" if plan.assumed else ""
    yield f"Pilot: {plan.pilot or NO_PILOT}"
    yield f"World: {plan.world}{assumed}"
    yield f"Wanted: {targets(plan)}"
    if study:
        family = None if plan.family is None else (plan.family.name, plan.family.against)
        yield f"Claims: {paragraphs.describe_promise(study, family)}"
    yield f"Limits: {limits(plan)}"
    searched = f"{pluralise(plan.designs, 'design')}, {plan.campaigns:,} simulated studies (seed {plan.seed})"
    yield f"Search: {searched}{_describe_certainty(plan)}"


def _describe_certainty(plan: StudyPlan) -> str:
    """Write how sure the choice is, and what ended the search where that decided."""
    if plan.reached and math.isfinite(plan.cheapest):
        return f"; no other is 5 % cheaper with probability {number(plan.cheapest, 2)}"
    ended = f" ({plan.ended})" if plan.ended else ""
    if plan.open is not None or not math.isfinite(plan.probability):
        return ended
    sure = f"; that none reaches the targets is right with probability {number(plan.probability, 2)}"
    return sure if plan.probability >= plan.confidence else f"{sure}{ended}"


def targets(plan: StudyPlan) -> str:
    """Write the targets, the first with the reason for the smallest difference that matters."""
    why = f" ({plan.smallest.why})" if plan.smallest.why else ""
    return "; ".join(_target(target, plan) + (why if k == 0 else "") for k, target in enumerate(plan.targets))


def _target(target: Target, plan: StudyPlan) -> str:
    at = number(target.least, 2)
    known = WANTED.get(target.measure)
    wanted = known.format(at, smallest_difference(plan)) if known else f"{heading(target.measure)} {at}"
    return f"{wanted} (a floor)" if target.floor else wanted


def limits(plan: StudyPlan) -> str:
    """Return the budget, the deadline and the raters as text."""
    spent = [money(plan.limits.money, plan)] if plan.limits.money is not None else []
    spent += [deadline(plan.limits.deadline)] if plan.limits.deadline is not None else []
    raters = f"; {pluralise(plan.raters, 'rater')}" if plan.raters else ""
    return f"{', '.join(spent) or 'no budget, no deadline'}{raters}"


def deadline(text: str) -> str:
    """Write a deadline as one says it.

    >>> deadline("5d"), deadline("36h"), deadline("2026-03-06")
    ('within 5 days', 'within 36 hours', 'by 2026-03-06')
    """
    unit = {"d": "day", "h": "hour"}.get(text[-1:])
    if unit is None or not text[:-1].replace(".", "", 1).isdigit():
        return f"by {text}"
    return f"within {text[:-1]} {unit}{'' if text[:-1] == '1' else 's'}"


def headline(plan: StudyPlan) -> str:
    """Name the design to buy, or the best one where none reaches the targets."""
    design = designs.sentence(plan.design, plan.settings, plan.systems)
    whom = " for these raters" if plan.these_raters else ""
    if plan.reached:
        return f"Buy{whom}: {design}."
    if plan.open is not None:
        low, high = plan.open
        size = f"{low:,} to {high:,} documents" if low < high else pluralise(low, "document")
        return f"Open{whom}: {size} of this kind may reach the targets. Nearest so far: {design}."
    return f"Nothing within the limits reaches the targets{whom}. Best: {design}."


def takes(plan: StudyPlan) -> str:
    """Write what the design takes: documents, outputs, ratings, hours and money."""
    size, loads = plan.sizes, plan.loads
    parts = [pluralise(size.documents, "document")] if size.documents else []
    if loads is not None:
        parts += [f"{loads.outputs:,.0f} outputs", f"{loads.ratings:,.0f} ratings"]
        parts += [f"{loads.per_rater:,.0f} by each of {pluralise(loads.raters, 'rater')}"]
    parts += [f"{size.hours:,.0f} hours"] if math.isfinite(size.hours) else []
    parts += [money(size.money, plan)] if math.isfinite(size.money) else []
    return f"Takes {' -> '.join(parts)}." if parts else ""


def describe_findings(plan: StudyPlan) -> str:
    """Write the power for differences from the smallest that matters on, and for exactly that one.

    With a pilot also in which share of the worlds that it allows the targets are reached.
    """
    least = smallest_difference(plan)
    parts = [f"{share(plan.figures['power'])} of differences of {least} or more"] if "power" in plan.figures else []
    parts += [f"{share(plan.figures['power_at'])} of exactly {least}"] if "power_at" in plan.figures else []
    if (pilot := plan.under_pilot) is not None and math.isfinite(pilot.share):
        reached = f"{number(pilot.share, 2)} ({number(pilot.low, 2)} to {number(pilot.high, 2)})"
        parts += [f"targets reached in {reached} of the worlds that the pilot allows"]
    elif pilot is not None:
        parts += [f"in how many of the worlds that the pilot allows: {TOO_FEW}"]
    return f"Finds {'; '.join(parts)}." if parts else ""


def few_raters(plan: StudyPlan) -> str:
    """Write whom the targets are for where there are too few raters to speak of others, and how many would do."""
    if not plan.these_raters:
        return ""
    few = f"{pluralise(plan.raters, 'rater')} are too few to speak of others: what is found holds for them"
    if plan.pool is None or _holds_for_others(plan):
        return f"{few}."
    if plan.pool.raters is None:
        return f"{few}; no number of raters that was tried would do for others."
    measure = plan.first_target.measure
    # The row for other raters has their number already; a second one, of another pool, reads like a contradiction.
    own = known_figures(plan.pool.figures).get(measure)
    value = f", {heading(measure)} {share(own)}" if own is not None and not plan.new_figures else ""
    size = designs.describe_size(plan.pool.design)
    return f"{few}; for others it takes {pluralise(plan.pool.raters, 'rater')} ({size}{value})."


def _holds_for_others(plan: StudyPlan) -> bool:
    """True if the design itself reaches the targets for raters that were not asked: then no more of them are needed."""
    known = plan.new_figures
    return bool(known) and all(
        target.measure in known and known[target.measure].value >= target.least for target in plan.targets
    )


def describe_binding_limit(plan: StudyPlan) -> str:
    """Write what keeps the largest design from being larger."""
    largest = plan.largest
    before = " before the money" if plan.limits.money is not None else ""
    binds = {
        "money": "the money binds",
        "deadline": f"the deadline binds{before}",
        "documents": "no limit binds, none was asked about",
        "raters": "people bind, nobody is left to ask",
        "none": "no limit binds",
    }[plan.binding]
    ended = ""
    if plan.binding in ("deadline", "raters") and largest.ended_by > 0 and largest.next:
        larger = designs.describe_changes(largest.next, largest.design)
        ended = f" ({number(largest.ended_by, 2)} of the studies of {larger} end by it)"
    return f"Larger designs: {binds}{ended}."


def describe_rival_rows(plan: StudyPlan) -> str:
    """Write how far another row outdoes the named design at its price, all rows at once."""
    bound, sure = plan.outdone, f"with {100 * plan.confidence:.0f} % for all rows at once"
    if not bound.rows or not math.isfinite(bound.at_most):
        return ""
    if bound.at_most <= bound.margin:
        return f"At this price no row finds {number(bound.margin, 2)} more, {sure}."
    best = next((row for row in plan.runners if row.design == bound.by), None)
    if best is None or bound.measure not in best.less:
        return f"At this price a row may find up to {number(bound.at_most, 2)} more, {sure} (--at-most tells)."
    which, more = designs.shorten_design(best.design, plan.design), difference(best.less[bound.measure])
    shown = "no worlds have shown its targets" if plan.reached else "patience ended before it was named"
    return f"{which} finds more for the same money ({more}; surely, {sure}), and is not advised: {shown}."


def work(plan: StudyPlan) -> str:
    """Write what one rating covers, and how much each rater does."""
    if (loads := plan.loads) is None:
        return ""
    covers = f"{loads.covers[:1].upper()}{loads.covers[1:]}: " if loads.covers else ""
    of = "" if loads.outputs == loads.ratings else f" of {loads.outputs:,.0f} outputs"
    each = f"{loads.per_rater:,.0f} for each of {pluralise(loads.raters, 'rater')} (most: {loads.most:,.0f})"
    some = "" if loads.per_rater_documents.is_integer() else "some "
    return (
        f"{covers}{loads.ratings:,.0f} ratings{of}, {each}, each on {some}{loads.per_rater_documents:,.0f} documents."
    )


def other_money(plan: StudyPlan) -> str:
    """Write what a tenth less and a tenth more money would change."""
    if len(plan.other_money) < len(TENTHS):
        return ""
    of = "" if plan.limits.money is not None else " than this costs"
    parts = [
        f"with 10 % {tenth}{of} ({money(advice.money, plan)}) {_describe_money(advice, plan)}"
        for tenth, advice in zip(TENTHS, plan.other_money, strict=False)
    ]
    text = f"{'; '.join(parts)} (by fitted lines)."
    return text[0].upper() + text[1:]


def _describe_money(money: OtherMoney, plan: StudyPlan) -> str:
    """Write what becomes of the advice, and the most that the money buys."""
    if money.design is None:
        advice = "nothing reaches the targets"
    elif plan.reached and money.design == plan.design:
        advice = "the advice stays"
    else:
        advice = f"the advice is {designs.describe_changes(money.design, plan.design)}"
    known = money.most is not None and math.isfinite(money.value)
    return f"{advice}, the most {heading(plan.first_target.measure)} {share(money)}" if known else advice


def describe_missed_targets(plan: StudyPlan) -> str:
    """Write which targets the best design misses, by how much."""
    parts = [
        f"{heading(missed.target)} {share(missed)}, {number(missed.least - missed.value, 2)} less than the "
        f"{number(missed.least, 2)} wanted"
        for missed in plan.missed
    ]
    return f"Missed: {'; '.join(parts)}." if parts else ""


def remedies(plan: StudyPlan) -> str:
    """Write what would reach the targets."""
    parts = [_remedy(remedy, plan) for remedy in plan.would_reach]
    return f"To reach it: {'; or '.join(parts)}." if parts else "Nothing that was tried would reach it."


def _remedy(remedy: Remedy, plan: StudyPlan) -> str:
    marked = ", extrapolated" if remedy.extrapolated else ", simulated"
    most = f"{remedy.high:,.0f}" if math.isfinite(remedy.high) else "no end"
    if remedy.what == "documents":
        if not math.isfinite(remedy.value):
            return (
                f"no number of documents alone does ({designs.shorten_design(remedy.design)} and more of them{marked})"
            )
        least = f"{remedy.low:,.0f}" if math.isfinite(remedy.low) else "unknown"
        cost = f", {money(remedy.money, plan)}" if math.isfinite(remedy.money) else ""
        kind = designs.kind(family(remedy.design), plan.design)
        of = "" if kind == "the same" else f", {kind}"
        return f"{remedy.value:,.0f} ({least} to {most}) documents{of}{cost}{marked}"
    if not math.isfinite(remedy.value):
        return f"no number of raters does{marked}" if remedy.what == "raters" else f"no difference is found{marked}"
    if remedy.what == "raters":
        return f"{remedy.value:,.0f} raters{marked}"
    larger = f"{quantity(remedy.value, plan.smallest.unit)} ({_range(remedy.low, remedy.high)})"
    return f"ask for differences of {larger} or more only{marked}"


def change(change: AdviceChange, plan: StudyPlan) -> str:
    """Write at which value of an assumption the advice changes, how far that is plausible, and what follows."""
    unit = (plan.limits.currency or "money") if change.unit == "money" else change.unit
    known = f"{_range(change.low, change.high)}; " if math.isfinite(change.low + change.high) else ""
    plausible = f"{change.source}: {_range(*change.plausible)}"
    return (
        f"{change.said} (now {quantity(change.now, unit)}; {known}{plausible}) -> {describe_next_advice(change, plan)}"
    )


def describe_next_advice(change: AdviceChange, plan: StudyPlan) -> str:
    """Write what follows where the advice changes."""
    if change.then is None:
        return change.why or "nothing reaches the targets"
    return designs.describe_changes(change.then, plan.design)


def _range(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}" if math.isfinite(low + high) else "not known"


def describe_reach_in_other_worlds(worlds: Robust) -> str:
    """Write in which share of other worlds the targets are reached."""
    known = math.isfinite(worlds.low + worlds.high)
    span = f" ({number(worlds.low, 2)} to {number(worlds.high, 2)})" if known else ""
    return f"The targets are reached in a share of {number(worlds.share, 2)}{span} of {worlds.draws:,} {worlds.source}."


def describe_other_worlds(worlds: Robust, plan: StudyPlan) -> Iterator[str]:
    """Write what the design finds in other worlds, and what it costs there beyond the best."""
    parts = []
    if math.isfinite(worlds.q05):
        parts += [f"{heading(plan.first_target.measure)} is {number(worlds.q05, 2)} or more in 95 %"]
    if math.isfinite(worlds.regret + worlds.regret_low + worlds.regret_high):
        regret = f"{100 * worlds.regret:.0f} % ({100 * worlds.regret_low:.0f} to {100 * worlds.regret_high:.0f} %)"
        parts += [f"it costs {regret} more than the best design for each"]
    if parts:
        yield f"In {worlds.draws:,} {worlds.source} {', and '.join(parts)}."
    yield from filter(None, [worlds.more])
