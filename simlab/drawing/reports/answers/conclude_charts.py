"""Show systems, pairs, raters and metrics of a conclusion as charts, each with the table behind it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Metric, Pair, System
from simlab.drawing.reports.answers import conclude_numbers as numbers
from simlab.drawing.reports.answers import conclude_words as words
from simlab.drawing.reports.terms import Cell, Chart, ChartPoint, ReportTable, Value
from simlab.drawing.text.tables import number
from simlab.messages import pluralise

MOST_PAIRS, MOST_RATERS = 30, 30
"""So many pairs and raters are drawn; the tables have all."""
MOST_LINKS = 80
"""Of more claims each system keeps the one to the nearest that it is better than: all others hide the systems."""
MOST_LETTERS, MOST_WAYS = 26, 2
UNEVEN = 1.25
"""Answers are counted system by system where the most are so many times the least."""
UNKNOWN = "not known from these data"
METHODS = {
    "human": "humans alone",
    "ppi": "PPI++",
    "partial": "posterior, alike",
    "own": "posterior, own",
    "joint": "posterior, joint",
}
QUALITIES = {"youden": "J", "correlation": "correlation"}
VERDICTS = {"trust": "trust", "correct": "correct", "leave_out": "leave out"}


def confidence(conclusion: Conclusion) -> str:
    """Write how sure intervals are.

    The level is of any wrong claim; intervals of single systems miss the truth with the same probability.
    """
    return numbers.share(1 - conclusion.promise.level)


def axis(conclusion: Conclusion) -> str:
    """Name what is estimated, with its unit."""
    return ", ".join(part for part in numbers.measure(conclusion) if part)


def keep_finite(value: float | None) -> float | None:
    """Return a number; None for what is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def value_with_interval(value: float, low: float, high: float, n: int | None = None) -> Value:
    """Hold a number with its interval, and why it is not known where it is not."""
    reason = "" if math.isfinite(value) else UNKNOWN
    return Value(keep_finite(value), low=keep_finite(low), high=keep_finite(high), n=n, reason=reason)


def ordered_systems(conclusion: Conclusion) -> Chart:
    """Show systems with their intervals, best first, and who is claimed to be better than whom."""
    systems = [one for one in words.order_systems(conclusion) if math.isfinite(one.estimate)]
    cut = numbers.shorten_names([one.system for one in systems], MOST_LETTERS)
    names = {one.system: f"{cut[one.system]} ({numbers.rank(one.rank_low, one.rank_high)})" for one in systems}
    marks = [
        ChartPoint(one.estimate, names[one.system], one.low, one.high, n=one.n, note=_rank(one), line="")
        for one in systems
    ]
    metric = choose_shown_metric(conclusion.metrics)
    if metric is not None:
        methods = [(name, METHODS[name]) for name in list_estimation_methods(metric)]
        of = {(one.method, one.system): one for one in metric.estimates}
        marks = [
            ChartPoint(one.value, names[system], one.low, one.high, line=said)
            for name, said in methods
            for system in names
            if (one := of.get((name, system))) is not None and math.isfinite(one.value)
        ]
    said = f"{pluralise(len(systems), 'system')} with their {confidence(conclusion)} intervals, best first"
    better = "lower" if conclusion.lower_is_better else "higher"
    return _bound_intervals(
        Chart(
            "intervals",
            "How good is each system?",
            f"{axis(conclusion)} ({better} is better)",
            "system (its rank)",
            tuple(marks),
            said,
            "" if metric is None else f"estimated with {metric.name}",
            table=table_of_systems(conclusion, metric),
            interval=f"{confidence(conclusion)} interval",
            links=tuple((names[one], names[two]) for one, two in links(conclusion) if one in names and two in names),
        )
    )


def _rank(system: System) -> str:
    return f"rank {numbers.rank(system.rank_low, system.rank_high)}"


def links(conclusion: Conclusion) -> list[tuple[str, str]]:
    """Return the claims that follow from no others, the better system first; of very many the nearest only.

    Systems of a cycle count as one when it is asked what follows; claims within a cycle are all kept.
    """
    below = words.find_beaten(conclusion.pairs)
    names = [one.system for one in words.order_systems(conclusion)]
    reach = {name: _follow_claims(name, below) for name in names}
    together = {name: {one for one in reach[name] if name in reach[one]} for name in names}
    kept = [
        (better, worse)
        for better in names
        for worse in names
        if worse in below.get(better, ())
        and (worse in together[better] or not any(_lies_between(mid, better, worse, reach, together) for mid in names))
    ]
    if len(kept) <= MOST_LINKS:
        return kept
    return list({better: (better, worse) for better, worse in reversed(kept)}.values())[::-1]


def _follow_claims(start: str, below: Mapping[str, Set[str]]) -> set[str]:
    """Return whom a system is better than by a chain of claims."""
    found, left = set[str](), [start]
    while left:
        more = below.get(left.pop(), set()) - found
        found |= more
        left += more
    return found


def _lies_between(
    mid: str, better: str, worse: str, reach: Mapping[str, Set[str]], together: Mapping[str, Set[str]]
) -> bool:
    """True if a claim follows by a system that is in no cycle with either."""
    apart = mid not in together[better] | {better} and mid not in together[worse] | {worse}
    return apart and mid in reach[better] and worse in reach[mid]


def table_of_systems(conclusion: Conclusion, metric: Metric | None = None) -> ReportTable:
    """List systems, best first: their ranks, estimates, and whom they are claimed to be better than."""
    systems, below = words.order_systems(conclusion), words.find_beaten(conclusion.pairs)
    names, counts = [one.system for one in systems], [one.n for one in systems]
    uneven = max(counts) > UNEVEN * min(counts)
    methods = [] if metric is None else list_estimation_methods(metric)[:MOST_WAYS]
    of = {} if metric is None else {(one.method, one.system): one for one in metric.estimates}
    digits = numbers.decimals(conclusion)
    rows = []
    for one in systems:
        cells: list[Cell] = [numbers.rank(one.rank_low, one.rank_high), one.system, *([one.n] if uneven else [])]
        beside = [of.get((name, one.system)) for name in methods]
        cells += [
            None if held is None else replace(value_with_interval(held.value, held.low, held.high), digits=digits)
            for held in beside
        ]
        cells += (
            [] if methods else [replace(value_with_interval(one.estimate, one.low, one.high, n=one.n), digits=digits)]
        )
        rows.append((*cells, words.name_beaten(below.get(one.system, set()), one.system, names)))
    level = confidence(conclusion)
    estimates = [METHODS[name] for name in methods] or [f"{axis(conclusion)} ({level} interval)"]
    of_what = f" ({axis(conclusion)}, {level} intervals)" if methods else ""
    return ReportTable(
        f"Systems, best first{of_what}",
        ("rank", "system", *(["n"] if uneven else []), *estimates, "better than"),
        tuple(rows),
    )


def list_estimation_methods(metric: Metric) -> list[str]:
    """Name the ways in which means were estimated, those first that are shown where there is little room."""
    return [name for name in METHODS if any(one.method == name for one in metric.estimates)]


def choose_shown_metric(metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric whose estimates are shown: the first that is of use, else the first; None without any."""
    with_estimates = [one for one in metrics if one.estimates]
    useful = [one for one in with_estimates if one.verdict != "leave_out"]
    return next(iter([*useful, *with_estimates]), None)


def pairs(conclusion: Conclusion) -> Chart:
    """Show the differences of pairs, all or those that are the hardest to tell apart."""
    place = {one.system: k for k, one in enumerate(words.order_systems(conclusion))}
    each = [words.orient(one) for one in conclusion.pairs]
    each.sort(key=lambda one: (not one.verdict, place[one.first], place[one.second]))
    shown = _select_shown_pairs([one for one in each if words.is_compared(one)])
    cut = numbers.shorten_names(list(place), MOST_LETTERS // 2)
    marks = tuple(
        ChartPoint(
            one.difference,
            f"{cut[one.first]} - {cut[one.second]}",
            one.low,
            one.high,
            "claimed" if one.verdict else "open (not: equal)",
            note=f"adjusted p = {one.adjusted:.4g}",
        )
        for one in shown
    )
    claimed = sum(one.verdict != 0 for one in shown)
    unit = numbers.unit_of_differences(conclusion)
    few = f" ({len(shown)} of {len(each):,}, the hardest to tell apart)" if len(shown) < len(each) else ""
    return _bound_intervals(
        Chart(
            "intervals",
            f"How far are systems apart?{few}",
            str(conclusion.about.get("difference") or (f"difference, {unit}" if unit else "difference")),
            "pair",
            marks,
            f"Differences of {pluralise(len(shown), 'pair')} with intervals; {claimed} are claimed, the others open.",
            "claim",
            target=0.0,
            table=table_of_pairs(conclusion, each, "The better system first; open is not equal"),
            interval=f"{confidence(conclusion)} interval",
        )
    )


def _select_shown_pairs(each: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are drawn: all, or those that are nearest to the line between claimed and open."""
    if len(each) <= MOST_PAIRS:
        return list(each)
    left = words.open_pairs(each)
    claimed = sorted((one for one in each if one.verdict), key=_edge)
    kept = left[: max(MOST_PAIRS // 2, MOST_PAIRS - len(claimed))]
    kept += claimed[: MOST_PAIRS - len(kept)]
    names = {(one.first, one.second) for one in kept}
    return [one for one in each if (one.first, one.second) in names]


def _edge(pair: Pair) -> float:
    """Return how far the interval of a claimed pair stays from 0, over its width."""
    width = pair.high - pair.low
    distance = min(abs(pair.low), abs(pair.high)) / width if width > 0 else math.inf
    return distance if math.isfinite(distance) else math.inf


def table_of_pairs(conclusion: Conclusion, each: Sequence[Pair], caption: str, *, brief: bool = False) -> ReportTable:
    """List pairs: their differences, what is claimed of them, and what would settle those that are open.

    `brief`: all are open, and how far they are from a claim is said by what settles them, where that is known.
    """
    unit, digits = numbers.unit_of_differences(conclusion), numbers.decimals(conclusion)
    settled = any(one.more for one in each)
    cut = numbers.shorten_names([one.system for one in conclusion.systems], MOST_LETTERS)
    rows = tuple(
        (
            f"{cut[one.first]} - {cut[one.second]}",
            replace(value_with_interval(one.difference, one.low, one.high), digits=digits),
            *([] if brief else [Value(keep_finite(one.p_value), reason=UNKNOWN)]),
            Value(keep_finite(one.adjusted), reason=UNKNOWN),
            *([] if brief else [_claim(one)]),
            *((numbers.format_more(one.more) if one.more else "",) if settled else ()),
        )
        for one in each
    )
    columns = ("pair", "difference", *(() if brief else ("p",)), "adjusted p", *(() if brief else ("claim",)))
    more = ("settled with 80 % by",) if settled else ()
    ranges = "; numbers that settle are for half of such pairs" if settled else ""
    differences = f"; differences: {unit}" if unit else ""
    return ReportTable(f"{caption}{differences}{ranges}", (*columns, *more), rows)


def _claim(pair: Pair) -> str:
    if pair.unpromised:
        return "open; claimed better without a promise"
    return "better" if pair.verdict else "open" if words.is_compared(pair) else "never compared"


def raters(conclusion: Conclusion) -> Chart | None:
    """Show how far above the others raters score the same outputs; None where nothing is known of any."""
    by_leniency = sorted(
        (one for one in conclusion.raters if math.isfinite(one.leniency)), key=lambda one: -one.leniency
    )
    if not by_leniency:
        return None
    half = MOST_RATERS // 2
    few = len(by_leniency) > MOST_RATERS
    shown = [*by_leniency[:half], *by_leniency[-half:]] if few else by_leniency
    marks = tuple(ChartPoint(one.leniency, one.rater, one.low, one.high, n=one.n) for one in shown)
    rows = tuple((one.rater, one.n, value_with_interval(one.leniency, one.low, one.high)) for one in by_leniency)
    name = f"leniency, {conclusion.unit}" if conclusion.unit else "leniency"
    cut = f" ({len(shown)} of {len(conclusion.raters):,})" if few else ""
    return _bound_intervals(
        Chart(
            "intervals",
            f"How lenient is each rater?{cut}",
            name,
            "rater",
            marks,
            f"Leniency of {pluralise(len(shown), 'rater')} with intervals, the most lenient first",
            target=0.0,
            table=ReportTable(
                "Each rater's scores less those of the others on the same outputs", ("rater", "answers", name), rows
            ),
            interval=f"{confidence(conclusion)} interval",
        )
    )


def metrics(conclusion: Conclusion) -> Chart | None:
    """Show how good each metric is for each system; None without any whose quality is known."""
    names = [one.system for one in words.order_systems(conclusion)]
    marks = tuple(
        ChartPoint(one.value, one.system, one.low, one.high, metric.name)
        for metric in conclusion.metrics
        for one in sorted(
            metric.quality, key=lambda one: names.index(one.system) if one.system in names else len(names)
        )
        if math.isfinite(one.value)
    )
    quality = "/".join(dict.fromkeys(QUALITIES.get(one.quality_of, one.quality_of) for one in conclusion.metrics))
    if not marks:
        return None
    alt = f"{quality} of {pluralise(len(conclusion.metrics), 'metric')} for each system, best systems first"
    return _bound_intervals(
        Chart(
            "intervals",
            "How good are metrics?",
            quality,
            "system",
            marks,
            alt,
            "metric",
            target=0.0,
            table=table_of_metrics(conclusion, quality),
        )
    )


def plot_favour(conclusion: Conclusion, metric: Metric) -> Chart | None:
    """Show how far each system lies above the line of a metric's means on human means; None where it is not known."""
    by_name = {one.system: one for one in metric.favour if math.isfinite(one.value)}
    each = [by_name[one.system] for one in words.order_systems(conclusion) if one.system in by_name]
    if not each:
        return None
    rows = tuple((one.system, value_with_interval(one.value, one.low, one.high)) for one in each)
    return _bound_intervals(
        Chart(
            "intervals",
            f"Whom does {metric.name} favour?",
            f"points of {metric.name} off its line on human means",
            "system",
            tuple(ChartPoint(one.value, one.system, one.low, one.high) for one in each),
            f"How far {metric.name} rates each system above others of the same human score, best systems first",
            target=0.0,
            table=ReportTable(
                "How far above its line on human means each system lies, against the median of the others",
                ("system", "points"),
                rows,
            ),
            interval=f"{confidence(conclusion)} interval, all systems at once",
        )
    )


def table_of_metrics(conclusion: Conclusion, quality: str) -> ReportTable:
    """List metrics: the verdict, how good they are, and which further human labels would settle the verdict."""
    columns = ("metric", "verdict", f"{quality} of systems", "they differ by", "width", "settled by")
    rows = tuple(
        (
            one.name,
            VERDICTS[one.verdict],
            _range(one),
            value_with_interval(*one.spread.bounds()),
            Value(keep_finite(one.width), reason=UNKNOWN, digits=2),
            "-" if one.labels is None else numbers.format_more(one.labels.replace_fields(answers="")),
        )
        for one in conclusion.metrics
    )
    return ReportTable("Metrics; width: of a corrected interval, over that of humans alone", columns, rows)


def _range(metric: Metric) -> str:
    """Write the lowest and the highest of the systems' values, with whose they are."""
    each = sorted((one for one in metric.quality if math.isfinite(one.value)), key=lambda one: one.value)
    if not each:
        return "not known"
    if len(each) == 1:
        return numbers.format_with_interval(each[0].value, each[0].low, each[0].high, digits=2)
    return " to ".join(f"{number(one.value, 2)} ({one.system})" for one in (each[0], each[-1]))


def _bound_intervals(chart: Chart) -> Chart:
    """Let intervals without an end leave the chart, and drop bounds that are not known."""
    ends = [one for mark in chart.marks for one in (mark.x, mark.low, mark.high) if isinstance(one, float)]
    inside = [one for one in ends if math.isfinite(one)] + ([] if chart.target is None else [chart.target])
    least, most = (min(inside), max(inside)) if inside else (0.0, 1.0)
    room = max(most - least, 1e-9)
    far = {math.inf: most + room, -math.inf: least - room}
    marks = tuple(
        replace(mark, low=keep_finite(far.get(mark.low, mark.low)), high=keep_finite(far.get(mark.high, mark.high)))  # type: ignore[arg-type]
        for mark in chart.marks
    )
    endless = any(math.isinf(one) for one in ends)
    return replace(chart, marks=marks, bounds=(least, most) if endless else chart.bounds)
