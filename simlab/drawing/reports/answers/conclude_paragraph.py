"""Write the paragraph on methods and findings that a paper takes over.

Call `paragraph` with a `Conclusion`, which returns plain text with references. It states what was done in the words of
`simlab.drawing.text.references`, and numbers with their units and intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Metric
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.reports.answers import conclude_words as words
from simlab.drawing.reports.answers.conclude_charts import confidence
from simlab.drawing.text import references
from simlab.drawing.text.paragraphs import DIGEST, add_references
from simlab.drawing.text.tables import number
from simlab.messages import join_words, pluralise

MOST_NAMED = 6
"""Claims are named one by one where there are at most so many systems."""
WAYS = {
    "same raters": "by the same raters",
    "other raters, same documents": "by other raters on the same documents",
    "all new": "where raters and documents are new",
    "same raters, other documents": "by the same raters on other documents",
}
OF_USE = {"trust": "may be trusted", "correct": "is of use once corrected", "leave_out": "is left out"}


def paragraph(conclusion: Conclusion) -> str:
    """Return what was done, and found, as a paper says it, with its references below; plain text broken to lines."""
    return add_references(body(conclusion), methods(conclusion))


def body(conclusion: Conclusion) -> str:
    """Write the paragraph without its references."""
    done = references.sentences(methods(conclusion))
    sentences = [
        *_describe_data(conclusion),
        done,
        *_describe_promise(conclusion),
        *_describe_findings(conclusion),
        *_describe_simulations(conclusion),
    ]
    return " ".join(" ".join(sentence.split()) for sentence in sentences if sentence)


def list_references(conclusion: Conclusion) -> list[str]:
    """Return the references, such as "Riley et al. 2024", of the methods that a conclusion rests on."""
    known = references.METHODS
    return sorted({key for name in methods(conclusion) if name in known for key in known[name].cites})


def methods(conclusion: Conclusion) -> list[str]:
    """Name the methods that a conclusion rests on, by their keys in `simlab.drawing.text.references.METHODS`.

    The test is named by the analysis itself; those of other parts (metrics, repetitions) follow from what is there.
    """
    named = conclusion.about.get("methods", [conclusion.about.get("test", "")])
    names = [name for name in named if name in references.METHODS]
    names += [conclusion.promise.multiplicity] if conclusion.promise.multiplicity not in names else []
    used = {estimate.method for metric in conclusion.metrics for estimate in metric.estimates}
    names += ["ppi"] if "ppi" in used else []
    names += ["binary"] if used & {"joint", "own", "partial"} else []
    names += ["youden"] if any(metric.quality_of == "youden" for metric in conclusion.metrics) else []
    names += ["assurance"] if any(pair.more for pair in conclusion.pairs) else []
    return [*names, *(["srp"] if conclusion.repetition else [])]


def _describe_data(conclusion: Conclusion) -> Iterator[str]:
    yield f"We collected {words.count_answers(conclusion)}."
    if conclusion.plan is None:
        yield "Design and analysis were not registered with simlab beforehand."
        return
    left = "; ".join(conclusion.plan.deviations)
    deviations = f"deviations: {left}" if left else "nothing deviated"
    yield (
        f"They had been fixed in a plan ({conclusion.plan.digest[:DIGEST]}); {deviations}; look {conclusion.plan.look}."
    )


def _describe_promise(conclusion: Conclusion) -> Iterator[str]:
    says = words.describe_promise(conclusion)
    if conclusion.promise.holds:
        yield f"We promise that {says}."
        return
    yield f"What such a study promises ({says}) {words.describe_broken_promise(conclusion)}."


def _describe_findings(conclusion: Conclusion) -> Iterator[str]:
    """State who is best, which pairs are claimed, and that open is not equal."""
    digits, pairs = numbers.decimals(conclusion), conclusion.pairs
    yield from _describe_first_system(conclusion, digits)
    if conclusion.family is not None and conclusion.family.name == "best":
        yield words.describe_best(conclusion, conclusion.family, digits)
        return
    claimed, left = sum(pair.verdict != 0 for pair in pairs), words.open_pairs(pairs)
    yield f"Of {pluralise(len(pairs), 'pair')} of systems {_are(claimed)} claimed{_name_claims(conclusion)}."
    if conclusion.withdrawn:
        yield f"{words.describe_unpromised(conclusion).capitalize()}."
    if left:
        yield f"{len(left):,} stay open, which is not to say equal: {words.difference(left[0], digits)}."
    yield from (
        sentence
        for sentence in (
            words.describe_step_down(pairs),
            words.tiers(conclusion.family),
            words.describe_exploratory(conclusion, digits),
        )
        if sentence
    )
    if never := sum(not words.is_compared(pair) for pair in pairs):
        yield f"{pluralise(never, 'pair')} never met."
    yield from (f"Claims run in a circle: {' > '.join([*cycle, cycle[0]])}." for cycle in conclusion.cycles)
    yield from (_describe_metric(metric) for metric in conclusion.metrics)
    for names, other in conclusion.without.items():
        claimed = sum(pair.verdict != 0 for pair in other.pairs)
        yield f"Without {names}, {_are(claimed)} claimed."


def _describe_first_system(conclusion: Conclusion, digits: int) -> Iterator[str]:
    systems = words.order_systems(conclusion)
    if not systems or not math.isfinite(systems[0].estimate):
        return
    best, (noun, unit) = systems[0], numbers.measure(conclusion)
    value, span = number(best.estimate, digits), numbers.span(best.low, best.high, digits)
    rank = "rank 1" if best.rank_high == 1 else f"its rank may be {numbers.rank(best.rank_low, best.rank_high)}"
    within = "; ".join([*([unit] if unit else []), f"{confidence(conclusion)} interval {span}"])
    yield f"{best.system} came out first ({rank}), at {value} ({noun}, {within})."


def _are(claimed: int) -> str:
    return f"{claimed:,} {'is' if claimed == 1 else 'are'}"


def _name_claims(conclusion: Conclusion) -> str:
    """Name who is better than whom, where that is short."""
    below = words.find_beaten(conclusion.pairs)
    order = [system.system for system in words.order_systems(conclusion)]
    named = [
        f"{name} > {', '.join(other for other in order if other in below[name])}" for name in order if name in below
    ]
    return f" ({'; '.join(named)})" if named and len(order) <= MOST_NAMED else ""


def _describe_metric(metric: Metric) -> str:
    reason = f" ({metric.reason})" if metric.reason else ""
    return f"The metric {metric.name} {OF_USE[metric.verdict]}{reason}.{_describe_favour(metric)}{_worth(metric)}"


def _describe_favour(metric: Metric) -> str:
    """Name the systems that are shown to lie off the line of a metric's means on human means."""
    if not metric.favour:
        return ""
    off = [value for value in metric.favour if not value.low <= 0 <= value.high]
    if not off:
        return " At equal human scores no system is shown to lie off the line of its means on human means."
    digits = numbers.choose_decimals([(value.high - value.low) / 2 for value in metric.favour])
    values = (
        f"{value.system} {numbers.format_with_interval(value.value, value.low, value.high, digits)}" for value in off
    )
    line = "off the line of its means on human means, all systems at once"
    return f" At equal human scores it scores {', '.join(values)} {line}."


def _worth(metric: Metric) -> str:
    if metric.worth_labels is None:
        return ""
    value, low, high = (f"{bound:z,.0f}" for bound in metric.worth_labels.bounds())
    dealt = ", labels taken to be dealt at random within systems" if metric.labels_at_random is not None else ""
    return f" Mixed in it is worth {value} ({low} to {high}) more human labels{dealt}."


def _describe_simulations(conclusion: Conclusion) -> Iterator[str]:
    """State what a repetition would confirm, and what studies of equal systems claim: simulated, after the fact."""
    claimed = sum(pair.verdict != 0 for pair in conclusion.pairs)
    if (again := conclusion.repetition) is not None and claimed:
        ways = [(sign, anew, WAYS[who]) for sign, anew, who in words.ways(again)]
        shares = [f"in {numbers.interval(sign)} {who}" for sign, _, who in ways]
        yield (
            f"Of {again.studies:,} repetitions, simulated after the fact in worlds fitted to these data "
            f"({again.world}), every claim has the same sign {join_words(shares)} (90 % intervals; "
            f"{words.state_chance(claimed)})."
        )
        if tested := [f"{numbers.interval(anew)} {who}" for _, anew, who in ways if math.isfinite(anew.value)]:
            yield f"Of the claims such a repetition claims again {join_words(tested)}."
    yield from words.describe_missing_simulations(conclusion)
    if (control := conclusion.control) is not None:
        some = numbers.percent(control.some_claim, control.some_claim_mcse)
        plain = numbers.percent(control.uncorrected, control.uncorrected_mcse)
        what = f"{some} make some claim"
        if control.best_excluded is not None:
            excluded = numbers.percent(control.best_excluded, control.best_excluded_mcse or math.nan)
            what = f"{excluded}, at most, exclude one that is a best"
        yield (
            f"Of {control.studies:,} studies of this design simulated with equal systems {what} "
            f"(± Monte-Carlo standard error; promised: {numbers.share(control.promised)}); uncorrected "
            f"{words.name_uncorrected_tests(conclusion.question)} claim something in {plain}."
        )
        if others := words.describe_check_at_large(control):
            yield others
