"""Show systems, pairs, raters and metrics of a conclusion as charts, each with the table behind it.

Functions take the `Conclusion` of `simlab conclude` and return a `Chart` or a `ReportTable`: data without markup.
"""

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
"""Pairs and raters that are drawn at most; the tables have all."""
MOST_LINKS = 80
"""Claims that are drawn as arrows; of more, only the one on the nearest worse system is drawn for each system."""
MOST_LETTERS, MOST_WAYS = 26, 2
"""Letters of a system's name, and methods of estimation that a table has columns for."""
UNEVEN = 1.25
"""Answers are counted system by system where the most are more than so many times the least."""
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
    """Return the confidence of intervals as percent, such as "95 %".

    The promised level is that of any wrong claim; intervals of single systems miss the truth with that probability.
    """
    return numbers.share(1 - conclusion.promise.level)


def axis(conclusion: Conclusion) -> str:
    """Return the label of an axis of estimates: what is estimated, with its unit."""
    return ", ".join(part for part in numbers.measure(conclusion) if part)


def keep_finite(value: float | None) -> float | None:
    """Return a number; None for what is not finite."""
    return None if value is None or not math.isfinite(value) else float(value)


def value_with_interval(value: float, low: float, high: float, n: int | None = None) -> Value:
    """Return a number with its interval as a `Value`, with the reason where it is not known."""
    reason = "" if math.isfinite(value) else UNKNOWN
    return Value(keep_finite(value), low=keep_finite(low), high=keep_finite(high), n=n, reason=reason)


def ordered_systems(conclusion: Conclusion) -> Chart:
    """Return a chart of systems with their intervals, best first; its arrows (`links`) go from better to worse."""
    systems = [system for system in words.order_systems(conclusion) if math.isfinite(system.estimate)]
    cut = numbers.shorten_names([system.system for system in systems], MOST_LETTERS)
    names = {
        system.system: f"{cut[system.system]} ({numbers.rank(system.rank_low, system.rank_high)})" for system in systems
    }
    marks = [
        ChartPoint(
            system.estimate, names[system.system], system.low, system.high, n=system.n, note=_rank(system), line=""
        )
        for system in systems
    ]
    metric = choose_shown_metric(conclusion.metrics)
    if metric is not None:
        methods = [(name, METHODS[name]) for name in list_estimation_methods(metric)]
        of = {(estimate.method, estimate.system): estimate for estimate in metric.estimates}
        marks = [
            ChartPoint(estimate.value, names[system], estimate.low, estimate.high, line=label)
            for name, label in methods
            for system in names
            if (estimate := of.get((name, system))) is not None and math.isfinite(estimate.value)
        ]
    alt_text = f"{pluralise(len(systems), 'system')} with their {confidence(conclusion)} intervals, best first"
    better = "lower" if conclusion.lower_is_better else "higher"
    return _bound_intervals(
        Chart(
            "intervals",
            "How good is each system?",
            f"{axis(conclusion)} ({better} is better)",
            "system (its rank)",
            tuple(marks),
            alt_text,
            "" if metric is None else f"estimated with {metric.name}",
            table=table_of_systems(conclusion, metric),
            interval=f"{confidence(conclusion)} interval",
            links=tuple(
                (names[first], names[second])
                for first, second in links(conclusion)
                if first in names and second in names
            ),
        )
    )


def _rank(system: System) -> str:
    return f"rank {numbers.rank(system.rank_low, system.rank_high)}"


def links(conclusion: Conclusion) -> list[tuple[str, str]]:
    """Return the claims that follow from no others, the better system first; of very many the nearest only.

    Systems of a cycle count as one when it is asked what follows; claims within a cycle are all kept.
    """
    below = words.find_beaten(conclusion.pairs)
    names = [system.system for system in words.order_systems(conclusion)]
    reach = {name: _follow_claims(name, below) for name in names}
    together = {name: {other for other in reach[name] if name in reach[other]} for name in names}
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
    beaten, left = set[str](), [start]
    while left:
        more = below.get(left.pop(), set()) - beaten
        beaten |= more
        left += more
    return beaten


def _lies_between(
    mid: str, better: str, worse: str, reach: Mapping[str, Set[str]], together: Mapping[str, Set[str]]
) -> bool:
    """True if a claim follows by a system that is in no cycle with either."""
    apart = mid not in together[better] | {better} and mid not in together[worse] | {worse}
    return apart and mid in reach[better] and worse in reach[mid]


def table_of_systems(conclusion: Conclusion, metric: Metric | None = None) -> ReportTable:
    """Return a table of systems, best first: their ranks, estimates, and whom they are claimed to be better than.

    With a `metric`, estimates are those that use it.
    """
    systems, below = words.order_systems(conclusion), words.find_beaten(conclusion.pairs)
    names, counts = [system.system for system in systems], [system.n for system in systems]
    uneven = max(counts) > UNEVEN * min(counts)
    methods = [] if metric is None else list_estimation_methods(metric)[:MOST_WAYS]
    of = {} if metric is None else {(estimate.method, estimate.system): estimate for estimate in metric.estimates}
    digits = numbers.decimals(conclusion)
    rows = []
    for system in systems:
        cells: list[Cell] = [
            numbers.rank(system.rank_low, system.rank_high),
            system.system,
            *([system.n] if uneven else []),
        ]
        beside = [of.get((name, system.system)) for name in methods]
        cells += [
            None
            if estimate is None
            else replace(value_with_interval(estimate.value, estimate.low, estimate.high), digits=digits)
            for estimate in beside
        ]
        cells += (
            []
            if methods
            else [replace(value_with_interval(system.estimate, system.low, system.high, n=system.n), digits=digits)]
        )
        rows.append((*cells, words.name_beaten(below.get(system.system, set()), system.system, names)))
    level = confidence(conclusion)
    estimates = [METHODS[name] for name in methods] or [f"{axis(conclusion)} ({level} interval)"]
    of_what = f" ({axis(conclusion)}, {level} intervals)" if methods else ""
    return ReportTable(
        f"Systems, best first{of_what}",
        ("rank", "system", *(["n"] if uneven else []), *estimates, "better than"),
        tuple(rows),
    )


def list_estimation_methods(metric: Metric) -> list[str]:
    """Return the keys of `METHODS` of a metric's estimates, those first that are shown where there is little room."""
    return [name for name in METHODS if any(estimate.method == name for estimate in metric.estimates)]


def choose_shown_metric(metrics: Sequence[Metric]) -> Metric | None:
    """Return the metric whose estimates are shown: the first that is of use, else the first; None without any."""
    with_estimates = [metric for metric in metrics if metric.estimates]
    useful = [metric for metric in with_estimates if metric.verdict != "leave_out"]
    return next(iter([*useful, *with_estimates]), None)


def pairs(conclusion: Conclusion) -> Chart:
    """Show the differences of pairs, all or those that are the hardest to tell apart."""
    place = {system.system: k for k, system in enumerate(words.order_systems(conclusion))}
    each = [words.orient(pair) for pair in conclusion.pairs]
    each.sort(key=lambda pair: (not pair.verdict, place[pair.first], place[pair.second]))
    shown = _select_shown_pairs([pair for pair in each if words.is_compared(pair)])
    cut = numbers.shorten_names(list(place), MOST_LETTERS // 2)
    marks = tuple(
        ChartPoint(
            pair.difference,
            f"{cut[pair.first]} - {cut[pair.second]}",
            pair.low,
            pair.high,
            "claimed" if pair.verdict else "open (not: equal)",
            note=f"adjusted p = {pair.adjusted:.4g}",
        )
        for pair in shown
    )
    claimed = sum(pair.verdict != 0 for pair in shown)
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
    claimed = sorted((pair for pair in each if pair.verdict), key=_edge)
    kept = left[: max(MOST_PAIRS // 2, MOST_PAIRS - len(claimed))]
    kept += claimed[: MOST_PAIRS - len(kept)]
    names = {(pair.first, pair.second) for pair in kept}
    return [pair for pair in each if (pair.first, pair.second) in names]


def _edge(pair: Pair) -> float:
    """Return how far the interval of a claimed pair stays from 0, over its width."""
    width = pair.high - pair.low
    distance = min(abs(pair.low), abs(pair.high)) / width if width > 0 else math.inf
    return distance if math.isfinite(distance) else math.inf


def table_of_pairs(conclusion: Conclusion, each: Sequence[Pair], caption: str, *, brief: bool = False) -> ReportTable:
    """List pairs: their differences, what is claimed of them, and what would settle those that are open.

    `each` are the pairs, the better system first. `brief`, for open pairs only, leaves out p-values and claims.
    """
    unit, digits = numbers.unit_of_differences(conclusion), numbers.decimals(conclusion)
    settled = any(pair.more for pair in each)
    cut = numbers.shorten_names([system.system for system in conclusion.systems], MOST_LETTERS)
    rows = tuple(
        (
            f"{cut[pair.first]} - {cut[pair.second]}",
            replace(value_with_interval(pair.difference, pair.low, pair.high), digits=digits),
            *([] if brief else [Value(keep_finite(pair.p_value), reason=UNKNOWN)]),
            Value(keep_finite(pair.adjusted), reason=UNKNOWN),
            *([] if brief else [_claim(pair)]),
            *((numbers.format_more(pair.more) if pair.more else "",) if settled else ()),
        )
        for pair in each
    )
    columns = ("pair", "difference", *(() if brief else ("p",)), "adjusted p", *(() if brief else ("claim",)))
    more = ("settled with 80 % by",) if settled else ()
    ranges = "; numbers that settle (one larger study) are for half of such pairs" if settled else ""
    differences = f"; differences: {unit}" if unit else ""
    return ReportTable(f"{caption}{differences}{ranges}", (*columns, *more), rows)


def _claim(pair: Pair) -> str:
    if pair.unpromised:
        return "open; claimed better without a promise"
    return "better" if pair.verdict else "open" if words.is_compared(pair) else "never compared"


def raters(conclusion: Conclusion) -> Chart | None:
    """Show how far above the others raters score the same outputs; None where nothing is known of any."""
    by_leniency = sorted(
        (rater for rater in conclusion.raters if math.isfinite(rater.leniency)), key=lambda rater: -rater.leniency
    )
    if not by_leniency:
        return None
    half = MOST_RATERS // 2
    few = len(by_leniency) > MOST_RATERS
    shown = [*by_leniency[:half], *by_leniency[-half:]] if few else by_leniency
    marks = tuple(ChartPoint(rater.leniency, rater.rater, rater.low, rater.high, n=rater.n) for rater in shown)
    rows = tuple(
        (rater.rater, rater.n, value_with_interval(rater.leniency, rater.low, rater.high)) for rater in by_leniency
    )
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
    names = [system.system for system in words.order_systems(conclusion)]
    marks = tuple(
        ChartPoint(entry.value, entry.system, entry.low, entry.high, metric.name)
        for metric in conclusion.metrics
        for entry in sorted(
            metric.quality, key=lambda entry: names.index(entry.system) if entry.system in names else len(names)
        )
        if math.isfinite(entry.value)
    )
    quality = "/".join(
        dict.fromkeys(QUALITIES.get(metric.quality_of, metric.quality_of) for metric in conclusion.metrics)
    )
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
    by_name = {favour.system: favour for favour in metric.favour if math.isfinite(favour.value)}
    each = [by_name[system.system] for system in words.order_systems(conclusion) if system.system in by_name]
    if not each:
        return None
    rows = tuple((favour.system, value_with_interval(favour.value, favour.low, favour.high)) for favour in each)
    return _bound_intervals(
        Chart(
            "intervals",
            f"Whom does {metric.name} favour?",
            f"points of {metric.name} off its line on human means",
            "system",
            tuple(ChartPoint(favour.value, favour.system, favour.low, favour.high) for favour in each),
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
    """Return a table of metrics: the verdict, the `quality` with its range, and the labels that would settle it."""
    columns = ("metric", "verdict", f"{quality} of systems", "they differ by", "width", "settled by")
    rows = tuple(
        (
            metric.name,
            VERDICTS[metric.verdict],
            _range(metric),
            value_with_interval(*metric.spread.bounds()),
            Value(keep_finite(metric.width), reason=UNKNOWN, digits=2),
            "-" if metric.labels is None else numbers.format_more(metric.labels.replace_fields(answers="")),
        )
        for metric in conclusion.metrics
    )
    return ReportTable("Metrics; width: of a corrected interval, over that of humans alone", columns, rows)


def _range(metric: Metric) -> str:
    """Write the lowest and the highest of the systems' values, with whose they are."""
    each = sorted((value for value in metric.quality if math.isfinite(value.value)), key=lambda value: value.value)
    if not each:
        return "not known"
    if len(each) == 1:
        return numbers.format_with_interval(each[0].value, each[0].low, each[0].high, digits=2)
    return " to ".join(f"{number(value.value, 2)} ({value.system})" for value in (each[0], each[-1]))


def _bound_intervals(chart: Chart) -> Chart:
    """Let intervals without an end leave the chart, and drop bounds that are not known."""
    ends = [bound for mark in chart.marks for bound in (mark.x, mark.low, mark.high) if isinstance(bound, float)]
    inside = [bound for bound in ends if math.isfinite(bound)] + ([] if chart.target is None else [chart.target])
    least, most = (min(inside), max(inside)) if inside else (0.0, 1.0)
    room = max(most - least, 1e-9)
    far = {math.inf: most + room, -math.inf: least - room}
    marks = tuple(
        replace(mark, low=keep_finite(far.get(mark.low, mark.low)), high=keep_finite(far.get(mark.high, mark.high)))  # type: ignore[arg-type]
        for mark in chart.marks
    )
    endless = any(math.isinf(bound) for bound in ends)
    return replace(chart, marks=marks, bounds=(least, most) if endless else chart.bounds)
