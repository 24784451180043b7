"""Write what is concluded in sentences: who is better, what is open, what a promise is worth, and what limits it.

A conclusion is the record of `simlab conclude`. A pair of systems is claimed where its `verdict` is not 0, and open
where it was compared and is not claimed. Functions return "", or nothing, where there is nothing to say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from simlab.answers.conclude import SIGN_BY_CHANCE, Conclusion, Control, PlannedFigure, ReadCounts, Repetition
from simlab.answers.standings import Candidate, Family, Interval, Metric, MetricQuality, Pair, System, WithinMargin
from simlab.concluding.simulations import NOT_ASKED, warn_of_withdrawal
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.text.tables import format_with_error, number
from simlab.messages import clip, join_words, pluralise
from simlab.types import COMPARE, JUDGE, RATE

MOST_GROUPED, MOST_GROUPS = 15, 5
"""Systems in a group, and groups, that are named at most."""
MOST_CHANGES, MOST_CYCLES, MOST_ERRORS, MOST_BEST = 4, 2, 3, 6
"""Pairs, circles of claims, errors of a metric and best systems that are named at most."""
DIGEST = 6
SMALL_ERROR, MANY = 0.005, 100
"""A Monte-Carlo error below it is written with three decimals; a figure from `MANY` on without decimals."""
UNLIKE = 1.1
"""Detectable differences of single pairs are told where the largest is more than so many times the least."""
ANSWERS = {RATE: "rating", COMPARE: "comparison", JUDGE: "human rating"}
FIGURES = {"significant_share": "share of pairs claimed"}
"""Figures of a plan that a page calls otherwise than their measures."""
NEW_IN = {
    "same": "same raters",
    "new_documents": "same raters, other documents",
    "new_raters": "other raters, same documents",
    "new_study": "all new",
}
"""Words for what is new in each sort of repetition."""
TURNED: Mapping[WithinMargin, WithinMargin] = {
    "better": "worse",
    "worse": "better",
    "not_inferior": "not_superior",
    "not_superior": "not_inferior",
}
WITHIN = {
    "better": "better by more",
    "worse": "worse by more",
    "not_inferior": "not worse by more",
    "not_superior": "not better by more",
    "equivalent": "no more apart",
}


def order_systems(conclusion: Conclusion) -> list[System]:
    """Return the systems as estimated, best first; what is not known is last."""
    sign = 1 if conclusion.lower_is_better else -1
    return sorted(
        conclusion.systems, key=lambda system: sign * system.estimate if math.isfinite(system.estimate) else math.inf
    )


def orient(pair: Pair) -> Pair:
    """Return the pair with the system first that came out better, all signs turned with it."""
    if pair.direction >= 0:
        return pair
    within = None if pair.within is None else TURNED.get(pair.within, pair.within)
    return pair.replace_fields(
        first=pair.second,
        second=pair.first,
        difference=-pair.difference,
        low=-pair.high,
        high=-pair.low,
        direction=-pair.direction,
        verdict=-pair.verdict,
        unpromised=-pair.unpromised,
        within=within,
        plain_mean=None if pair.plain_mean is None else -pair.plain_mean,
    )


def is_compared(pair: Pair) -> bool:
    """True if anything was collected about a pair."""
    return math.isfinite(pair.difference)


def open_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return pairs that are compared and not claimed, the ones that least would settle first; the better one leads."""
    return sorted((orient(pair) for pair in pairs if not pair.verdict and is_compared(pair)), key=_closeness)


def _closeness(pair: Pair) -> tuple[float, float, float, float]:
    needs = (pair.more.median, pair.more.low) if pair.more else (math.inf, math.inf)
    # What is not known comes last: NaN would leave the order to chance.
    return (*needs, 1.0 if math.isnan(pair.adjusted) else pair.adjusted, -abs(pair.difference))


def find_beaten(pairs: Sequence[Pair]) -> dict[str, set[str]]:
    """Return by system the names of those that it is claimed to be better than."""
    below: dict[str, set[str]] = {}
    for pair in pairs:
        if pair.verdict:
            better, worse = (pair.first, pair.second) if pair.verdict > 0 else (pair.second, pair.first)
            below.setdefault(better, set()).add(worse)
    return below


def name_beaten(below: Set[str], name: str, names: Sequence[str]) -> str:
    """State whom `name` is better than: by name, all but some, or all from one down, whichever is shortest.

    `below` are the names of those that it is claimed to be better than, `names` all systems, best first.
    """
    if not below:
        return "-"
    others = [other for other in names if other != name]
    if len(below) == len(others):
        return "all others"
    ways = [", ".join(other for other in names if other in below)]
    ways.append(f"all but {', '.join(other for other in others if other not in below)}")
    first = next(other for other in names if other in below)
    if below == set(names[names.index(first) :]):
        ways.append(f"all from {first} down")
    return min(ways, key=len)


# What is claimed.


def write_headline(conclusion: Conclusion) -> str:
    """State who is better than whom, and how much is open."""
    digits = numbers.decimals(conclusion)
    if conclusion.family is not None and conclusion.family.name == "best":
        return describe_best(conclusion, conclusion.family, digits)
    claimed, left = sum(pair.verdict != 0 for pair in conclusion.pairs), len(open_pairs(conclusion.pairs))
    never = [f"{pair.first} - {pair.second}" for pair in conclusion.pairs if not is_compared(pair)]
    counts = f"{claimed:,} of {pluralise(len(conclusion.pairs), 'pair')} claimed, {left:,} open"
    counts += f", {len(never):,} never compared ({numbers.list_names(never, 1)})" if never else ""
    counts += f" ({describe_unpromised(conclusion)})" if conclusion.withdrawn else ""
    return f"{_describe_leaders(conclusion)}; {counts}."


def _describe_leaders(conclusion: Conclusion) -> str:
    """State who is best, or who may be, by the claims of all pairs; by those with a baseline who is better than it."""
    names, below = [system.system for system in order_systems(conclusion)], find_beaten(conclusion.pairs)
    if not below:
        return "No system is claimed to be better than another"
    for name in names:
        if len(below.get(name, ())) == len(names) - 1:
            return f"{name} is better than {'all others' if len(names) > 2 else names[-1]}"
    if (baseline := _baseline(conclusion)) is not None:
        better = [name for name in names if baseline in below.get(name, ())]
        worse = [name for name in names if name in below.get(baseline, ())]
        clauses = [f"{_are(better)} better than {baseline}"] if better else []
        clauses += [f"{_are(worse)} worse{'' if better else f' than {baseline}'}"] if worse else []
        return "; ".join(clauses)
    above = set[str]().union(*below.values())
    may = [name for name in names if name not in above]
    return f"{_join_names(may)} may be the best" if may else "Claims run in a circle, and nobody is best"


def _join_names(names: Sequence[str]) -> str:
    return join_words(names) if len(names) <= MOST_BEST else numbers.list_names(names, MOST_BEST)


def _are(names: Sequence[str]) -> str:
    return f"{_join_names(names)} {'is' if len(names) == 1 else 'are'}"


def _baseline(conclusion: Conclusion) -> str | None:
    """Return the system with which all others are compared, where other pairs are not; None where all are."""
    if len(conclusion.systems) < 3 or len(conclusion.pairs) != len(conclusion.systems) - 1:
        return None
    shared = frozenset.intersection(*(frozenset((pair.first, pair.second)) for pair in conclusion.pairs))
    return next(iter(shared), None)


def describe_unpromised(conclusion: Conclusion) -> str:
    """State of a conclusion that is withdrawn how many pairs would be claimed."""
    return f"without a promise {sum(pair.unpromised != 0 for pair in conclusion.pairs):,} would be"


def describe_broken_promise(conclusion: Conclusion) -> str:
    """State why the promise does not hold: "is withdrawn: ..." where the check took it back."""
    return f"{'is withdrawn' if conclusion.withdrawn else 'does not hold here'}: {conclusion.promise.broken}"


def describe_promise(conclusion: Conclusion) -> str:
    """State the promise as a paper or the caption of a figure does: without the word "below", as no claims follow."""
    return conclusion.promise.says.replace(" below", "")


def explain_open_pairs(conclusion: Conclusion) -> str:
    """State that open is not equal, by the pair that least would settle, and which difference such a table finds."""
    digits, left, sentences = numbers.decimals(conclusion), open_pairs(conclusion.pairs), list[str]()
    if left and not (conclusion.family is not None and conclusion.family.name == "best"):
        sentences.append(f"Open is not equal: {difference(left[0], digits)}.")
    if conclusion.detectable is not None and math.isfinite(conclusion.detectable):
        least = numbers.amount(number(conclusion.detectable, digits), numbers.unit_of_differences(conclusion))
        by_pair = detectable_range(conclusion)
        apart = f" ({number(by_pair[0], digits)} to {number(by_pair[1], digits)}, by pair)" if by_pair else ""
        sentences.append(f"Such a table finds a difference of {least}{apart} with 80 %.")
    return " ".join(sentences)


def list_remarks_on_claims(conclusion: Conclusion) -> list[str]:
    """Return sentences on groups that are not told apart, a tied ranking, circles, margins and what is exploratory."""
    grouped = groups(conclusion)
    apart = "; ".join(", ".join(group) for group in grouped[:MOST_GROUPS])
    rest = f" ({pluralise(len(grouped) - MOST_GROUPS, 'group')} more)" if len(grouped) > MOST_GROUPS else ""
    circles = "; ".join(" > ".join([*cycle, cycle[0]]) for cycle in conclusion.cycles[:MOST_CYCLES])
    more = len(conclusion.cycles) - MOST_CYCLES
    circles += f"; {pluralise(more, 'cycle')} more" if more > 0 else ""
    remarks = [
        f"Nothing separates {apart}{rest}." if grouped else "",
        describe_step_down(conclusion.pairs),
        tiers(conclusion.family),
        f"No order within cycles: {circles}." if circles else "",
        describe_margin_verdicts(conclusion),
        describe_exploratory(conclusion, numbers.decimals(conclusion)),
    ]
    return [*filter(None, remarks), *describe_without_raters(conclusion, numbers.decimals(conclusion))]


def describe_best(conclusion: Conclusion, of: Family, digits: int) -> str:
    """State which systems may be the best by the family `of`, and how far behind the best each one is at most."""
    may = [candidate for candidate in of.candidates if candidate.may_be_best]
    text = f"{pluralise(len(may), 'system')} may be the best: {_list_candidates(conclusion, may, digits)}"
    others = [candidate for candidate in of.candidates if not candidate.may_be_best]
    text += f"; not the best: {_list_candidates(conclusion, others, digits)}." if others else "."
    near = [candidate.system for candidate in of.candidates if candidate.within]
    if near and (margin := conclusion.about.get("margin")) is not None:
        unit = numbers.amount(f"{margin:g}", numbers.unit_of_differences(conclusion))
        text += f" No more than {unit} behind the best: {numbers.list_names(near, MOST_GROUPED)}."
    return text


def _list_candidates(conclusion: Conclusion, of: Sequence[Candidate], digits: int) -> str:
    known = [(candidate, numbers.end(candidate.behind, digits)) for candidate in of[:MOST_GROUPED]]
    names = [
        f"{candidate.system} ({end} behind at most)" if math.isfinite(candidate.behind) else candidate.system
        for candidate, end in known
    ]
    return ", ".join([*names, *([f"{len(of) - MOST_GROUPED:,} more"] if len(of) > MOST_GROUPED else [])])


def describe_step_down(pairs: Sequence[Pair]) -> str:
    """Name pairs that stepping down finds and a single step does not; "" where there are none."""
    more = [orient(pair) for pair in pairs if pair.family == "step_down"]
    claimed, left = ([pair for pair in more if bool(pair.verdict) == yes] for yes in (True, False))
    sentences = [f"Claimed by stepping down, its interval ending at 0: {_list_pairs(claimed)}."] if claimed else []
    sentences += [f"Stepping down would add, as intervals do not: {_list_pairs(left)}."] if left else []
    return " ".join(sentences)


def tiers(of: Family | None) -> str:
    """Write a tied ranking: each system is claimed to be better than each one of the tiers after its own."""
    if of is None or not of.tiers:
        return ""
    return f"Tied ranking: {' > '.join(' = '.join(tier) for tier in of.tiers)} (= is not told apart, not equal)."


def describe_exploratory(conclusion: Conclusion, digits: int) -> str:
    """State what another family than the plan's would say, without a promise."""
    if (of := conclusion.exploratory) is None:
        return ""
    if of.name == "best":
        candidates = describe_best(conclusion, of, digits)
        return f"Exploratory, of a family that the plan did not fix, without claims: {candidates}"
    claims = [f"{better} > {worse}" for better, worse in of.claims]
    named = f" ({numbers.list_names(claims, MOST_CHANGES)})" if claims else ""
    ranking = f" {tiers(of)}" if of.tiers else ""
    would = f"{pluralise(len(claims), 'pair')} would be claimed{named}"
    return f"Exploratory, of a family that the plan did not fix ({of.name}), without claims: {would}.{ranking}"


def detectable_range(conclusion: Conclusion) -> tuple[float, float] | None:
    """Return the least and the largest detectable difference of single pairs; None where they are much the same."""
    sizes = [pair.detectable for pair in conclusion.pairs if pair.detectable is not None]
    return (min(sizes), max(sizes)) if sizes and max(sizes) > UNLIKE * min(sizes) else None


def difference(pair: Pair, digits: int) -> str:
    """Write the difference of a pair with its interval."""
    value = numbers.format_with_interval(pair.difference, pair.low, pair.high, digits)
    return f"{pair.first} - {pair.second} is {value}"


def groups(conclusion: Conclusion) -> list[list[str]]:
    """Return the largest groups of systems within which no pair is claimed and all are compared; none for many systems.

    A system may be in several. Source: Bron and Kerbosch 1973, with a pivot.
    """
    names = [system.system for system in order_systems(conclusion)]
    if len(names) > MOST_GROUPED:
        return []
    near: dict[str, set[str]] = {name: set() for name in names}
    for pair in open_pairs(conclusion.pairs):
        near[pair.first].add(pair.second)
        near[pair.second].add(pair.first)
    place = {name: k for k, name in enumerate(names)}
    cliques = [
        sorted(clique, key=place.__getitem__) for clique in _cliques(set(), set(names), set(), near) if len(clique) > 1
    ]
    return sorted(cliques, key=lambda clique: [place[name] for name in clique])


def _cliques(inside: Set[str], may: Set[str], done: Set[str], near: Mapping[str, Set[str]]) -> Iterator[Set[str]]:
    if not may and not done:
        yield inside
        return
    pivot = max(may | done, key=lambda name: len(near[name] & may))
    for name in sorted(may - near[pivot]):
        yield from _cliques(inside | {name}, may & near[name], done & near[name], near)
        may, done = may - {name}, done | {name}


def describe_margin_verdicts(conclusion: Conclusion) -> str:
    """State which pairs are equivalent, or not inferior, by the margin that was asked for; "" where none was."""
    answered = [orient(pair) for pair in conclusion.pairs if pair.within is not None]
    if not answered:
        return ""
    by = {word: [pair for pair in answered if pair.within == word] for word in WITHIN}
    clauses = [f"{WITHIN[word]}: {_list_pairs(of)}" for word, of in by.items() if of]
    left = sum(pair.within == "open" for pair in answered)
    margin = conclusion.about.get("margin")
    unit = numbers.unit_of_differences(conclusion)
    head = "Up to the margin" if margin is None else f"Up to {numbers.amount(f'{margin:g}', unit)}"
    return f"{head}: {'; '.join([*clauses, *([f'{left:,} open'] if left else [])])}."


def _list_pairs(pairs: Sequence[Pair]) -> str:
    return numbers.list_names([f"{pair.first} - {pair.second}" for pair in pairs], MOST_CHANGES)


def describe_without_raters(conclusion: Conclusion, digits: int) -> Iterator[str]:
    """State what changes where raters are left out."""
    for names, other in conclusion.without.items():
        yield f"Without {names}: {_describe_changes(conclusion, other, digits)}."


def _describe_changes(conclusion: Conclusion, other: Conclusion, digits: int) -> str:
    if other.family is not None and other.family.name == "best":
        return describe_best(other, other.family, digits).removesuffix(".")
    before, after = (_map_claims(compared.pairs) for compared in (conclusion, other))
    turned = [pair for pair in before if pair in after and before[pair] != after[pair]]
    lost, new = ([pair for pair in some if pair not in others] for some, others in ((before, after), (after, before)))
    words = (("turned round", turned), ("no longer claimed", lost), ("newly claimed", new))
    clauses = [f"{word} {numbers.list_names(pairs, MOST_CHANGES)}" for word, pairs in words if pairs]
    moved = _find_largest_shift(conclusion, other)
    clauses += [f"{moved[0]} moves most, by {number(moved[1], digits, sign=True)}"] if moved else []
    return "; ".join(clauses if any(pairs for _, pairs in words) else ["the same claims", *clauses])


def _map_claims(pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the better system of each claimed pair; the pair's key does not depend on the order of its systems."""
    claims: dict[str, str] = {}
    for pair in pairs:
        if pair.verdict:
            claims[" - ".join(sorted((pair.first, pair.second)))] = pair.first if pair.verdict > 0 else pair.second
    return claims


def _find_largest_shift(conclusion: Conclusion, other: Conclusion) -> tuple[str, float] | None:
    new = {system.system: system.estimate for system in other.systems}
    moves = [
        (system.system, new[system.system] - system.estimate) for system in conclusion.systems if system.system in new
    ]
    known = [move for move in moves if math.isfinite(move[1])]
    return max(known, key=lambda move: abs(move[1]), default=None)


# What was read, and by which plan.


def count_answers(conclusion: Conclusion) -> str:
    """State how many answers were read, about what, by whom, on which scale, and which rows count."""
    read = ReadCounts(**conclusion.read)
    names = ("systems", "documents", "items", "raters")
    about = [pluralise(n, name[:-1]) for name in names if (n := getattr(read, name)) is not None]
    about += [pluralise(read.gaps, "gap")] if read.gaps else []
    answers = pluralise(read.used, ANSWERS.get(conclusion.question, "answer"))
    parts = [f"{answers} of {', '.join(about)}" if about else answers]
    if conclusion.question != COMPARE:
        scale = f"{read.scale[0]:g} to {read.scale[1]:g}, " if read.scale and len(read.scale) > 1 else ""
        parts.append(f"{scale}{conclusion.better} is better")
    if conclusion.metrics:
        parts.append(
            f"{'metrics' if len(conclusion.metrics) > 1 else 'metric'} "
            f"{', '.join(metric.name for metric in conclusion.metrics)}"
        )
    if read.where:
        rows = (f"{clip(name, 40)}={clip(' or '.join(values), 80)}" for name, values in read.where.items())
        parts.append(f"rows with {', '.join(rows)}")
    if read.left_out is not None:
        parts.append(f"left out: {read.left_out.ratings:,} {clip(read.left_out.why, 200)}")
    return "; ".join(parts)


def read_texts(read: Mapping[str, Any], name: str) -> list[str]:
    """Return the texts of a list in what was read; what is no list of texts, as in an edited file, is left out.

    >>> read_texts({"unused": ["comment", 3]}, "unused"), read_texts({}, "remarks")
    (['comment'], [])
    """
    listed_there = read.get(name)
    return [text for text in listed_there if isinstance(text, str) and text] if isinstance(listed_there, list) else []


def describe_plan(conclusion: Conclusion) -> str:
    """State which plan was followed, where the table left it, and at which look; "" without a plan."""
    if (plan := conclusion.plan) is None:
        return ""
    left = f"deviations: {'; '.join(plan.deviations)}" if plan.deviations else "no deviations"
    look = "first look" if plan.look <= 1 else f"look {plan.look}"
    return f"Plan {plan.digest[:DIGEST]}, {plan.planned:,} answers planned; {left}; {look}."


def compare_with_plan(figure: PlannedFigure) -> tuple[str, str, str]:
    """Return as texts the name of a plan's figure, its planned value, and the one found or why that is not known."""
    share = figure.unit == "share"
    measured = _figure(figure.found, figure.found_mcse, share=share)
    shown = measured if math.isfinite(figure.found) else f"not known ({clip(figure.missing, 120)})"
    unit = (
        "" if share or figure.unit == figure.measure or not math.isfinite(figure.found) else f" {clip(figure.unit, 20)}"
    )
    name = FIGURES.get(figure.measure, clip(figure.measure, 40).replace("_", " "))
    return name, _figure(figure.planned, figure.planned_mcse, share=share), f"{shown}{unit}"


def _figure(value: float, mcse: float, *, share: bool) -> str:
    """Write a share with its Monte-Carlo standard error, another figure with three digits."""
    if share and math.isfinite(mcse):
        return format_with_error(value, mcse, 3 if mcse < SMALL_ERROR else 2)
    if value >= MANY:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return text.removeprefix("0") or text


def ends_of_raters(conclusion: Conclusion) -> str:
    """Name the raters who score the same outputs highest and lowest; "" where fewer than two are known."""
    digits = numbers.decimals(conclusion)
    # Of whom an output or two is known, nothing is: such a rater is not named as the most lenient.
    known = sorted(
        (rater for rater in conclusion.raters if math.isfinite(rater.high - rater.low)),
        key=lambda rater: rater.leniency,
    )
    if len(known) < 2:
        return ""
    ends = [
        f"{rater.rater} {number(rater.leniency, digits, sign=True)} ({numbers.span(rater.low, rater.high, digits)})"
        for rater in (known[0], known[-1])
    ]
    return f"{pluralise(len(known), 'rater')}, against the others on the same outputs: {' to '.join(ends)}."


# What simulations say.


def state_chance(n_claims: int) -> str:
    """State how likely signs come again by chance alone, each for itself where there are several claims."""
    return f"by chance {number(SIGN_BY_CHANCE, 1)}{' each' if n_claims > 1 else ''}"


def ways(again: Repetition) -> list[tuple[Interval, Interval, str]]:
    """Return for each known sort of repetition: chance that all signs come again, share claimed again, and its name."""
    listed = [(getattr(again.same_sign, name), getattr(again.claimed_again, name), who) for name, who in NEW_IN.items()]
    return [way for way in listed if math.isfinite(way[0].value)]


def name_uncorrected_tests(question: str) -> str:
    """Name the tests that a negative control holds against the analysis."""
    return "sign tests of comparisons" if question == COMPARE else "t tests over segments"


def describe_check_at_large(control: Control | None) -> str:
    """State the check for raters at large; "" where it is about them, or where that is not known."""
    if control is None or control.at_large is None:
        return ""
    return (
        "Nothing is promised of raters at large: where systems are equal for them, a study by other raters still makes "
        f"some claim in {numbers.interval(control.at_large)} (90 % interval)."
    )


def describe_missing_simulations(conclusion: Conclusion) -> Iterator[str]:
    """State which simulations a conclusion lacks, and why; nothing that is not claimed can be repeated."""
    claimed = any(pair.verdict for pair in conclusion.pairs)
    repeated, checked = conclusion.repetition_missing if claimed else "", conclusion.control_missing
    if repeated not in ("", checked, NOT_ASKED):
        yield f"No repetition is simulated: {repeated}."
    if checked:
        both = " and no repetition" if repeated == checked else ""
        yield f"No study of equal systems{both} is simulated, so that the promise is not checked: {checked}."


# What limits it.


def warnings(conclusion: Conclusion) -> list[str]:
    """Return the warnings of a conclusion, but for the one that its promise is withdrawn, which stands elsewhere."""
    return [
        warning
        for warning in conclusion.warnings
        if not (conclusion.withdrawn and warning == warn_of_withdrawal(conclusion.promise.broken))
    ]


def describe_unmet_groups(conclusion: Conclusion) -> Iterator[str]:
    """State which groups of people so few raters may have missed, where claims are to hold for people at large."""
    if conclusion.limits is None:
        return
    who, least, missed = conclusion.limits.raters, conclusion.limits.unmet_share, conclusion.limits.one_in_five_unmet
    yield (
        f"Limits: a group of up to {numbers.share(least)} of people may not have been met by "
        f"{pluralise(who, 'rater')}, and no test knows what it prefers; a group of 20 % is missed by "
        f"{numbers.share(missed)} of such studies"
    )


# What is known of metrics.


def describe_metric(metric: Metric) -> Iterator[str]:
    """State why a metric is used or not, what its differences miss, whom it favours, and what mixing it in is worth."""
    if metric.reason:
        yield f"{metric.name}: {metric.reason}."
    yield from filter(None, (_errors(metric), _favour(metric), _worth(metric)))


def _errors(metric: Metric) -> str:
    """Write what a metric's own differences miss of the humans', pair by pair, the largest first."""
    if not metric.bias_pairs:
        return ""
    digits = numbers.choose_decimals([(error.high - error.low) / 2 for error in metric.bias_pairs])
    errors = sorted(metric.bias_pairs, key=lambda error: -abs(error.value))
    errors_shown = [
        f"{error.first} - {error.second} {numbers.format_with_interval(error.value, error.low, error.high, digits)}"
        for error in errors[:MOST_ERRORS]
    ]
    errors_shown += [f"{pluralise(len(errors) - MOST_ERRORS, 'pair')} more"] if len(errors) > MOST_ERRORS else []
    scale = (
        "" if metric.bias_factor is None else f", its scores times {number(metric.bias_factor, 2)} to spread as humans'"
    )
    text = f"Errors of its own differences, all pairs at once{scale}: {'; '.join(errors_shown)}."
    of_systems = f" Of systems about the mean of all, all systems at once: {_list_largest(metric.bias)}."
    return text + (of_systems if len(metric.bias) > 2 else "")


def _favour(metric: Metric) -> str:
    """Write which systems a metric scores above others of equal human scores, the farthest first."""
    if metric.favour_slope is None or not metric.favour:
        return ""
    value, low, high = (number(bound, 2) for bound in metric.favour_slope.bounds())
    turned = " turned round" if metric.favour_slope.value < 0 else ""
    return (
        f"At equal human scores, in its points{turned}, off the line of its means on human means (slope {value}, "
        f"{low} to {high}), each system against the median of the others, all at once: {_list_largest(metric.favour)}."
    )


def _list_largest(rows: Sequence[MetricQuality]) -> str:
    """Write the largest values, those whose interval leaves out 0 before others."""
    digits = numbers.choose_decimals([(row.high - row.low) / 2 for row in rows])
    ordered = sorted(rows, key=lambda row: (row.low <= 0 <= row.high, -abs(row.value)))
    shown = [
        f"{row.system} {numbers.format_with_interval(row.value, row.low, row.high, digits)}"
        for row in ordered[:MOST_ERRORS]
    ]
    shown += [f"{pluralise(len(rows) - MOST_ERRORS, 'system')} more"] if len(rows) > MOST_ERRORS else []
    return "; ".join(shown)


def _worth(metric: Metric) -> str:
    """Write what a metric is worth in labels, and whether labels were dealt as that takes them."""
    sentences = []
    if metric.worth_labels is not None:
        value, low, high = (f"{bound:z,.0f}" for bound in metric.worth_labels.bounds())
        since = ", since humans rated all that it scored" if metric.labels_at_random is None else ""
        text = f"Mixed in it is worth {value} ({low} to {high}) more human labels, by the variance of differences"
        sentences.append(f"{text}{since}.")
    if metric.labels_at_random is not None:
        otherwise = "" if metric.labels_at_random else ", and the table shows otherwise"
        sentences.append(f"Labels are taken to be dealt at random within systems{otherwise}.")
    return " ".join(sentences)
