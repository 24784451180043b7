"""Write the paragraph on methods and findings that a paper takes over, with references; before a rating is there, too.

It states what was done in the words of `simlab.drawing.text.references`, and numbers with their units and intervals.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from simlab.answers.conclude import Conclusion, Metric
from simlab.drawing.text import conclusion_numbers as numbers
from simlab.drawing.text import references
from simlab.drawing.text.conclusion_pairs import (
    beaten,
    best,
    difference,
    exploratory,
    is_compared,
    open_pairs,
    ordered,
    stepped_down,
    tiers,
    unpromised,
)
from simlab.drawing.text.conclusion_systems import confidence
from simlab.drawing.text.tables import WIDTH, number
from simlab.messages import join_words, several
from simlab.parts import name_of

DIGEST = 12
MOST_NAMED = 6
FAMILY = {
    "none": "A claim is wrong with probability at most {}, each pair taken by itself",
    "bh": "Of the claims a share of at most {} is expected to be wrong",
    "e_bh": "Of the claims a share of at most {} is expected to be wrong",
}
ANY = "Any claim among all pairs is wrong with probability at most {}"
"""What a level is of, by the multiplicity."""
FROZEN = {
    "against": "Claims are fixed to the pairs with {against}: any is wrong with probability at most {}",
    "best": "Claims are fixed to which systems may be the best: a best one is excluded with probability at most {}",
    "ranks": "Ranks follow from claims among all pairs, of which any is wrong with probability at most {}",
}
"""The same, by the family that a plan fixed; others are said by the multiplicity."""
COUNTS = (
    ("systems", "n_systems", "system", "systems"),
    ("design", "documents", "document", "documents"),
    ("design", "ratings_per_item", "rating of each output", "ratings of each output"),
    ("budget", "annotations_per_pair", "comparison of each pair at most", "comparisons of each pair at most"),
    ("budget", "human_ratings", "human judgement of each system", "human judgements of each system"),
    ("budget", "metric_ratings", "metric score of each system", "metric scores of each system"),
)
"""Where a composed config says how much is asked for."""
WAYS = {
    "same raters": "by the same raters",
    "other raters, same documents": "by other raters on the same documents",
    "all new": "where raters and documents are new",
    "same raters, other documents": "by the same raters on other documents",
}
OF_USE = {"trust": "may be trusted", "correct": "is of use once corrected", "leave_out": "is left out"}


def paragraph(found: Conclusion) -> str:
    """Write what was done, and found, as a paper says it; the references stand below."""
    names = methods(found)
    said = [*_collected(found), references.sentences(names), *_promised(found), *_found(found), *_foreseen(found)]
    return _with_references(" ".join(one for one in said if one), names)


def of_plan(
    config: Mapping[str, Any], digest: str, foreseen: Sequence[str] = (), family: tuple[str, str | None] | None = None
) -> str:
    """Write, before anything is rated, how a study will be collected and concluded; `config` is the composed one.

    `foreseen` are sentences on what was simulated beforehand, `family` is the one that was fixed, with its baseline.
    """
    names = methods_of(config)
    said = [
        f"The study is planned in advance (study file {digest[:DIGEST]}).",
        *_design(config),
        references.sentences(names).replace(" were ", " will be ").replace(" was ", " will be "),
        f"{promised(config, family)}.",
        *foreseen,
        "Pairs that are not claimed will be called open, not equal; every deviation from this plan will be listed.",
    ]
    return _with_references(" ".join(said), [*names, *(["simulated"] if foreseen else [])])


def promised(config: Mapping[str, Any], family: tuple[str, str | None] | None = None) -> str:
    """Say of which family of claims a composed study promises its level, without a full stop."""
    level, multiplicity = _decided(config)
    name, against = family or ("", None)
    said = FROZEN.get(name, FAMILY.get(multiplicity, ANY))
    return said.format(f"{level:g}".removeprefix("0"), against=against)


def methods(found: Conclusion) -> list[str]:
    """Name the methods that a conclusion rests on; those of its records are known without being told."""
    named = found.about.get("methods", [found.about.get("test", "")])
    names = [name for name in named if name in references.METHODS]
    names += [found.promise.multiplicity] if found.promise.multiplicity not in names else []
    used = {one.method for metric in found.metrics for one in metric.estimates}
    names += ["ppi"] if "ppi" in used else []
    names += ["binary"] if used & {"joint", "own", "partial"} else []
    names += ["youden"] if any(metric.quality_of == "youden" for metric in found.metrics) else []
    names += ["assurance"] if any(pair.more for pair in found.pairs) else []
    return [*names, *(["srp"] if found.repetition else [])]


def methods_of(config: Mapping[str, Any]) -> list[str]:
    """Name the methods that a composed config asks for, in the order in which a study uses them."""
    design, analysis, decision = (config.get(key, {}) for key in ("design", "analysis", "decision"))
    parts = [design.get("grouping"), *(analysis.get(key) for key in ("normalization", "test", "estimator")), decision]
    names = [name_of(part) for part in parts if isinstance(part, Mapping)]
    return [name for name in [*names, str(decision.get("multiplicity", "none"))] if name in references.METHODS]


def _decided(config: Mapping[str, Any]) -> tuple[float, str]:
    decision = config.get("decision", {})
    return float(decision.get("level", 0.05)), str(decision.get("multiplicity", "none"))


def _design(config: Mapping[str, Any]) -> Iterator[str]:
    """Say how many systems, documents and answers there will be, where a config says so."""
    held = [(config.get(section, {}).get(key), one, many) for section, key, one, many in COUNTS]
    said = [f"{count:,} {one if count == 1 else many}" for count, one, many in held if isinstance(count, int)]
    if said:
        yield f"It asks for {', '.join(said)}."


def _collected(found: Conclusion) -> Iterator[str]:
    yield f"We collected {numbers.read(found)}."
    if found.plan is None:
        yield "Design and analysis were not registered with simlab beforehand."
        return
    left = "; ".join(found.plan.deviations)
    deviations = f"deviations: {left}" if left else "nothing deviated"
    yield f"They had been fixed in a plan ({found.plan.digest[:DIGEST]}); {deviations}; look {found.plan.look}."


def _promised(found: Conclusion) -> Iterator[str]:
    # The sentence is made for a page, where claims stand below it.
    says = found.promise.says.replace(" below", "")
    if found.promise.holds:
        yield f"We promise that {says}."
        return
    yield f"What such a study promises ({says}) {numbers.broken(found)}."


def _found(found: Conclusion) -> Iterator[str]:
    """Say who is best, which pairs are claimed, and that open is not equal."""
    digits, pairs = numbers.decimals(found), found.pairs
    yield from _first(found, digits)
    if found.family is not None and found.family.name == "best":
        yield best(found, found.family, digits)
        return
    claimed, left = sum(one.verdict != 0 for one in pairs), open_pairs(pairs)
    yield f"Of {several(len(pairs), 'pair')} of systems {_are(claimed)} claimed{_named(found)}."
    if found.withdrawn:
        yield f"{unpromised(found).capitalize()}."
    if left:
        yield f"{len(left):,} stay open, which is not to say equal: {difference(left[0], digits)}."
    yield from (one for one in (stepped_down(pairs), tiers(found.family), exploratory(found, digits)) if one)
    if never := sum(not is_compared(one) for one in pairs):
        yield f"{several(never, 'pair')} never met."
    yield from (f"Claims run in a circle: {' > '.join([*one, one[0]])}." for one in found.cycles)
    yield from (_of_metric(one) for one in found.metrics)
    for names, other in found.without.items():
        claimed = sum(one.verdict != 0 for one in other.pairs)
        yield f"Without {names}, {_are(claimed)} claimed."


def _first(found: Conclusion, digits: int) -> Iterator[str]:
    systems = ordered(found)
    if not systems or not math.isfinite(systems[0].estimate):
        return
    best, (noun, unit) = systems[0], numbers.measure(found)
    value, span = number(best.estimate, digits), numbers.span(best.low, best.high, digits)
    rank = "rank 1" if best.rank_high == 1 else f"its rank may be {numbers.rank(best.rank_low, best.rank_high)}"
    within = "; ".join([*([unit] if unit else []), f"{confidence(found)} interval {span}"])
    yield f"{best.system} came out first ({rank}), at {value} ({noun}, {within})."


def _are(claimed: int) -> str:
    return f"{claimed:,} {'is' if claimed == 1 else 'are'}"


def _named(found: Conclusion) -> str:
    """Name who is better than whom, where that is short."""
    below = beaten(found.pairs)
    order = [one.system for one in ordered(found)]
    named = [f"{name} > {', '.join(one for one in order if one in below[name])}" for name in order if name in below]
    return f" ({'; '.join(named)})" if named and len(order) <= MOST_NAMED else ""


def _of_metric(metric: Metric) -> str:
    reason = f" ({metric.reason})" if metric.reason else ""
    return f"The metric {metric.name} {OF_USE[metric.verdict]}{reason}.{_favours(metric)}{_worth(metric)}"


def _favours(metric: Metric) -> str:
    """Name the systems that are shown to lie off the line of a metric's means on human means."""
    if not metric.favour:
        return ""
    off = [one for one in metric.favour if not one.low <= 0 <= one.high]
    if not off:
        return " At equal human scores no system is shown to lie off the line of its means on human means."
    digits = numbers.decimals_of([(one.high - one.low) / 2 for one in metric.favour])
    values = (f"{one.system} {numbers.measured(one.value, one.low, one.high, digits)}" for one in off)
    line = "off the line of its means on human means, all systems at once"
    return f" At equal human scores it scores {', '.join(values)} {line}."


def _worth(metric: Metric) -> str:
    if metric.worth_labels is None:
        return ""
    value, low, high = (f"{bound:,.0f}" for bound in metric.worth_labels.bounds())
    dealt = ", labels taken to be dealt at random within systems" if metric.labels_at_random is not None else ""
    return f" Mixed in it is worth {value} ({low} to {high}) more human labels{dealt}."


def _foreseen(found: Conclusion) -> Iterator[str]:
    """Say what a repetition would confirm, and what studies of equal systems claim: simulated, after the fact."""
    claimed = sum(one.verdict != 0 for one in found.pairs)
    if (again := found.repetition) is not None and claimed:
        ways = [(sign, anew, WAYS[who]) for sign, anew, who in numbers.ways(again)]
        said = [f"in {numbers.interval(sign)} {who}" for sign, _, who in ways]
        yield (
            f"Of {again.studies:,} repetitions, simulated after the fact in worlds fitted to these data "
            f"({again.world}), every claim has the same sign {join_words(said)} (90 % intervals; "
            f"{numbers.by_chance(claimed)})."
        )
        if tested := [f"{numbers.interval(anew)} {who}" for _, anew, who in ways if math.isfinite(anew.value)]:
            yield f"Of the claims such a repetition claims again {join_words(tested)}."
    yield from numbers.missing(found)
    if (held := found.control) is not None:
        some = numbers.percent(held.some_claim, held.some_claim_mcse)
        plain = numbers.percent(held.uncorrected, held.uncorrected_mcse)
        what = f"{some} make some claim"
        if held.best_excluded is not None:
            excluded = numbers.percent(held.best_excluded, held.best_excluded_mcse or math.nan)
            what = f"{excluded}, at most, exclude one that is a best"
        yield (
            f"Of {held.studies:,} studies of this design simulated with equal systems {what} "
            f"(± Monte-Carlo standard error; promised: {numbers.share(held.promised)}); uncorrected "
            f"{numbers.uncorrected(found.question)} claim something in {plain}."
        )
        if others := numbers.at_large(held):
            yield others


def _with_references(text: str, names: Sequence[str]) -> str:
    """Break the paragraph to the width of a page, and list what it cites."""
    listed = [numbers.filled(one, 2) for one in references.list_of(names)]
    body = textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n\n".join([body, "References", "\n".join(listed)]) if listed else body
