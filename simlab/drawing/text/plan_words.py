"""Put the parts of a plan in words: what is wanted and may be spent, what binds, what would change or reach."""

from __future__ import annotations

import math
from collections.abc import Iterator

from simlab.answers.plan import AdviceChange, Figure, OtherMoney, Remedy, StudyPlan, Target
from simlab.drawing.text import plan_designs as designs
from simlab.drawing.text.tables import bounded, measured, number
from simlab.measures.labels import LABELS
from simlab.messages import quantity, several
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
    "srp_new_study": "repeats: a second study, all new, confirms every claim",
    "srp_new_documents": "repeats: another study on new documents (for other raters: by new ones) confirms every claim",
    "confirmed_new_study": "confirmed: the share of claims that a study with other raters and documents confirms",
    "significant_share": "claims: the share of all pairs that a study tells apart",
    "srp": "SRP: a repetition with the same raters and documents confirms every claim",
}
"""What a column is, where it first stands."""
WANTED = {
    "power": "find {} of differences of {} or more",
    "no_wrong_claim": "no wrong claim in {} of studies",
}
NO_PILOT = "none: people and scores are those of the world"
TOO_FEW = "not known, too few were simulated (--at-most)"
"""Stands where the share of a pilot's worlds in which targets are reached would."""
EXACT, HALF, LEAST = 1e-9, 0.005, 0.001
"""An error below `LEAST` is written as that."""
TENTHS = ("less", "more")
SMALL_GAP = 0.02
TINY = 0.005
WIDEST, SHORT = 98, 40


def heading(measure: str) -> str:
    """Return the heading of a measure's column."""
    return HEADINGS.get(measure, measure.replace("_", " "))


def meaning(measure: str, wanted: StudyPlan) -> str:
    """Say what a column's measure is."""
    if measure in MEANINGS:
        return MEANINGS[measure].format(smallest(wanted))
    return f"{heading(measure)}: {LABELS.get(measure, {}).get('label', measure)}"


def smallest(wanted: StudyPlan) -> str:
    """Write the smallest difference that matters, with its unit."""
    return quantity(wanted.smallest.value, wanted.smallest.unit)


def share(figure: Figure) -> str:
    """Write a share with its error, of which a digit is shown; a bound where no error is known."""
    said = bounded(figure.value, figure.mcse, (figure.low, figure.high), 2) if figure.mcse <= EXACT else ""
    return said or measured(figure.value, *_rounded(figure.mcse))


def span(figure: Figure, *, sign: bool = False) -> str:
    """Write an interval of shares in parentheses; nothing where there is none."""
    if not math.isfinite(figure.low + figure.high):
        return ""
    return f"({number(figure.low, 2, sign=sign)} to {number(figure.high, 2, sign=sign)})"


def less(figure: Figure) -> str:
    """Write a paired difference with its error and its interval."""
    error, digits = _rounded(figure.mcse)
    return f"{measured(figure.value, error, digits, sign=True)} {span(figure, sign=True)}".rstrip()


def _rounded(error: float) -> tuple[float, int]:
    """Return an error and the decimals that show it: two, or three where these would make it nothing.

    >>> _rounded(0.012), _rounded(0.004), _rounded(0.0001)
    ((0.012, 2), (0.004, 3), (0.001, 3))
    """
    return (max(error, LEAST), 3) if EXACT < error < HALF else (error, 2)


def money(value: float, wanted: StudyPlan) -> str:
    """Write an amount of money with its currency."""
    said = f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"
    return f"{said} {wanted.limits.currency}" if wanted.limits.currency else f"money {said}"


def targets(wanted: StudyPlan) -> str:
    """Say what is wanted."""
    why = f" ({wanted.smallest.why})" if wanted.smallest.why else ""
    return "; ".join(_target(one, wanted) + (why if k == 0 else "") for k, one in enumerate(wanted.targets))


def limits(wanted: StudyPlan, raters: int) -> str:
    """Say what there is to spend, and who rates."""
    held = wanted.limits
    said = [money(held.money, wanted)] if held.money is not None else []
    said += [deadline(held.deadline)] if held.deadline is not None else []
    return f"{', '.join(said) or 'no budget, no deadline'}; {several(raters, 'rater')}"


def deadline(text: str) -> str:
    """Write a deadline as one says it.

    >>> deadline("5d"), deadline("36h"), deadline("2026-03-06")
    ('within 5 days', 'within 36 hours', 'by 2026-03-06')
    """
    unit = {"d": "day", "h": "hour"}.get(text[-1:])
    if unit is None or not text[:-1].replace(".", "", 1).isdigit():
        return f"by {text}"
    return f"within {text[:-1]} {unit}{'' if text[:-1] == '1' else 's'}"


def binding(answer: StudyPlan) -> str:
    """Say what keeps the largest design from being larger."""
    one = answer.largest
    before = " before the money" if answer.limits.money is not None else ""
    said = {
        "money": "the money binds",
        "deadline": f"the deadline binds{before}",
        "documents": "no limit binds, none was asked about",
        "raters": "people bind, nobody is left to ask",
        "none": "no limit binds",
    }[answer.binding]
    end = f" ({number(one.ended_by, 2)} of the studies of {designs.changed(one.next or (), one.design)} end by it)"
    told = answer.binding in ("deadline", "raters") and one.ended_by > 0 and one.next
    return f"Larger designs: {said}{end if told else ''}."


def other_money(answer: StudyPlan) -> str:
    """Say what a tenth less and a tenth more money would change."""
    if len(answer.other_money) < len(TENTHS):
        return ""
    told = [_with_money(one, answer) for one in answer.other_money]
    of = "" if answer.limits.money is not None else " than this costs"
    said = [
        f"with 10 % {tenth}{of} ({money(one.money, answer)}) {what}{_most(one, answer)}"
        for tenth, one, what in zip(TENTHS, answer.other_money, told, strict=True)
    ]
    text = f"{'; '.join(said)} (by fitted lines)."
    return text[0].upper() + text[1:]


def remedies(answer: StudyPlan) -> str:
    """Say what would reach the targets."""
    said = [_remedy(one, answer) for one in answer.would_reach]
    return f"To reach it: {'; or '.join(said)}." if said else "Nothing that was tried would reach it."


def missed(answer: StudyPlan) -> str:
    """Say which targets the best design misses, by how much."""
    said = [
        f"{heading(one.target)} {share(one)}, {number(one.least - one.value, 2)} less than the "
        f"{number(one.least, 2)} wanted"
        for one in answer.missed
    ]
    return f"Missed: {'; '.join(said)}." if said else ""


def flips(answer: StudyPlan) -> Iterator[str]:
    """Say each nearest value at which the advice changes, what is plausible, and what follows."""
    for one in answer.flips:
        full, short = (f"{flip(one, full=full)}  -> {_then(one, answer)}" for full in (True, False))
        yield full if len(full) <= WIDEST else short


def flip(one: AdviceChange, *, full: bool = True) -> str:
    """Say at which value of an assumption the advice changes, and what is plausible; `full`: with its interval."""
    interval = f"{_range(one.low, one.high)}; " if full else ""
    return f"{one.said} ({interval}{one.source}: {_range(*one.plausible)})"


def _then(one: AdviceChange, answer: StudyPlan) -> str:
    if one.then is None:
        return one.why if 0 < len(one.why) <= SHORT else "nothing reaches the targets"
    return designs.changed(one.then, answer.design)


def _range(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"


def _target(one: Target, wanted: StudyPlan) -> str:
    at = number(one.least, 2)
    known = WANTED.get(one.measure)
    said = known.format(at, smallest(wanted)) if known else f"{heading(one.measure)} {at}"
    return f"{said} (a floor)" if one.floor else said


def _with_money(one: OtherMoney, answer: StudyPlan) -> str:
    """Say what becomes of the advice."""
    if one.design is None:
        return "nothing reaches the targets"
    if answer.reached and one.design == answer.design:
        return "the advice stays"
    return f"the advice is {designs.changed(one.design, answer.design)}"


def _most(one: OtherMoney, answer: StudyPlan) -> str:
    if one.most is None or not math.isfinite(one.value):
        return ""
    return f", the most {heading(answer.first_target.measure)} {share(one)}"


def _remedy(one: Remedy, answer: StudyPlan) -> str:
    marked = ", extrapolated" if one.extrapolated else ", simulated"
    if one.what == "documents":
        if not math.isfinite(one.value):
            return f"no number of documents alone does ({designs.short(one.design)} and more of them{marked})"
        most = f"{one.high:,.0f}" if math.isfinite(one.high) else "no end"
        cost = money(one.money, answer)
        kind = designs.kind(family(one.design), answer.design)
        of = "" if kind == "the same" else f", {kind}"
        return f"{one.value:,.0f} ({one.low:,.0f} to {most}) documents{of}, {cost}{marked}"
    if one.what == "raters":
        return f"{one.value:,.0f} raters{marked}"
    unit = answer.smallest.unit
    told = f"{quantity(one.value, unit)} ({_range(one.low, one.high)})"
    return f"ask for differences of {told} or more only{marked}"
