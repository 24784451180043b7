"""Return the numbers of a conclusion as text: with as many decimals as their intervals bear, and with their units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from simlab.answers.conclude import Conclusion
from simlab.answers.standings import Interval, More
from simlab.drawing.text import tables
from simlab.drawing.text.tables import number

MOST_DECIMALS = 4


def decimals(conclusion: Conclusion) -> int:
    """Return how many decimals give the middle half-width of a conclusion's intervals two digits."""
    of_systems = [(system.high - system.low) / 2 for system in conclusion.systems]
    return choose_decimals([*of_systems, *((pair.high - pair.low) / 2 for pair in conclusion.pairs)])


def choose_decimals(halves: Iterable[float]) -> int:
    """Choose the decimals that give the middle half-width two digits; two where none is known.

    >>> choose_decimals([2.1]), choose_decimals([0.06]), choose_decimals([30.0]), choose_decimals([float("nan")])
    (1, 3, 0, 2)
    """
    known = [half for half in halves if math.isfinite(half) and half > 0]
    return min(max(1 - math.floor(math.log10(median(known))), 0), MOST_DECIMALS) if known else 2


def measure(conclusion: Conclusion) -> tuple[str, str]:
    """Return the name of what is estimated of each system, and its unit ("" for a share, whose name says it)."""
    if "share" in conclusion.unit:
        return conclusion.unit, ""
    return str(conclusion.about.get("estimate", "mean")), conclusion.unit


def unit_of_differences(conclusion: Conclusion) -> str:
    """Return the unit of differences of pairs."""
    return str(conclusion.about.get("difference", conclusion.unit))


def amount(value: str, unit: str) -> str:
    """Write a number with its unit.

    >>> amount("2.4", "points"), amount(".21", "share adequate")
    ('2.4 points', '.21 (share adequate)')
    """
    return f"{value} ({unit})" if " " in unit else f"{value} {unit}".rstrip()


def span(low: float, high: float, digits: int) -> str:
    """Return the bounds of an interval as text, with `digits` decimals, or as many as tell them apart.

    >>> span(-1.2, 3, 1), span(float("nan"), 3, 1), span(float("-inf"), float("inf"), 1), span(98.9, 99.1, 0)
    ('-1.2 to 3.0', 'not known', 'not known', '98.9 to 99.1')
    """
    if math.isnan(low) or math.isnan(high) or low == -high == -math.inf:
        return "not known"
    while end(low, digits) == end(high, digits) and low < high and digits < MOST_DECIMALS:
        digits += 1
    return f"{end(low, digits)} to {end(high, digits)}"


def end(value: float, digits: int) -> str:
    """Write a bound, which may lie beyond every number."""
    if math.isinf(value):
        return "+inf" if value > 0 else "-inf"
    return number(value, digits)


def format_with_interval(value: float, low: float, high: float, digits: int) -> str:
    """Write a number with its interval.

    >>> format_with_interval(0.9, -1.2, 3, 1), format_with_interval(float("nan"), 0, 1, 2)
    ('.9 (-1.2 to 3.0)', 'not known')
    """
    return number(value, digits) + f" ({span(low, high, digits)})" if math.isfinite(value) else "not known"


def interval(interval: Interval, digits: int = 2) -> str:
    """Write the value of an `Interval` with its ends."""
    return format_with_interval(interval.value, interval.low, interval.high, digits)


def rank(low: int, high: int) -> str:
    """Write the ranks that a system may have.

    >>> rank(1, 1), rank(2, 3)
    ('1', '2 to 3')
    """
    return f"{low}" if low == high else f"{low} to {high}"


def format_two_digits(value: float) -> str:
    """Write a number that is only foreseen with two digits.

    >>> format_two_digits(213.4), format_two_digits(7.2), format_two_digits(1815)
    ('210', '7.2', '1,800')
    """
    if value < 10:
        return number(value, 1).removesuffix(".0")
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return f"{round(value / step) * step:,.0f}"


def name_unit(more: More) -> str:
    """Return the name of the units that are counted; further raters rate as much as those that there are."""
    return "raters as busy as these" if more.unit == "raters" else more.unit


def format_more(more: More) -> str:
    """Write how many more settle something, and what they cost in answers.

    >>> format_more(More.build("documents", 400, 210, 900, 10_000, 2, "ratings of these two"))
    '210 to 900 more documents (420 to 1,800 ratings of these two)'
    >>> format_more(More.build("comparisons", 400, 210, float("inf"), 5000))
    '210 to beyond 5,000 more comparisons'
    """
    if not math.isfinite(more.low):
        return f"beyond {format_two_digits(more.limit)} more {name_unit(more)}"
    # Counts of whole things: a first one that is already too few is never written as part of one.
    if more.answers.startswith(more.unit):
        more = more.replace_fields(unit=more.answers, answers="")
    low = max(more.low, 1.0)
    high = (
        format_two_digits(max(math.ceil(more.high), 1.0))
        if math.isfinite(more.high)
        else f"beyond {format_two_digits(more.limit)}"
    )
    least = format_two_digits(math.ceil(low))
    unit = more.unit.removesuffix("s") if least == high == "1" else name_unit(more)
    amounts = f"{least} more {unit}" if least == high else f"{least} to {high} more {unit}"
    if not more.answers or not math.isfinite(more.high):
        return amounts
    costs = [format_two_digits(math.ceil(each * more.per_unit)) for each in (low, more.high)]
    return f"{amounts} ({' to '.join(dict.fromkeys(costs))} {more.answers})"


def list_names(names: Sequence[str], most: int) -> str:
    """Return at most `most` names as a list in words, and how many more there are.

    >>> list_names(["a", "b", "c"], 2), list_names(["a"], 2)
    ('a, b and 1 more', 'a')
    """
    listed = ", ".join(names[:most])
    return f"{listed} and {len(names) - most:,} more" if len(names) > most else listed


def shorten_names(names: Sequence[str], most: int) -> dict[str, str]:
    """Return for each name the one to write, cut to `most` letters so that all stay different: at the end, else within.

    >>> shorten_names(["a-very-long-name", "short"], 10)
    {'a-very-long-name': 'a-very-lo…', 'short': 'short'}
    >>> list(shorten_names(["some-model-1-chat", "some-model-2-chat"], 9).values())
    ['…1…', '…2…']
    """
    first = _count_shared_letters(names)
    last = _count_shared_letters([name[first:][::-1] for name in names])
    half = (most - 1) // 2
    ways: list[Callable[[str], str]] = [
        lambda name: f"{name[: most - 1]}…",
        lambda name: f"{name[:half]}…{name[-half:]}",
        lambda name: f"{'…' * (first > 0)}{name[first : len(name) - last]}{'…' * (last > 0)}",
    ]
    for way in ways:
        cut = {name: name if len(name) <= most else way(name) for name in names}
        if len(set(cut.values())) == len(cut) and max(map(len, cut.values()), default=0) <= most:
            return cut
    return {name: name for name in names}


def _count_shared_letters(names: Sequence[str]) -> int:
    """Count the letters with which all names begin."""
    alike = [len(set(letters)) == 1 for letters in zip(*names, strict=False)]
    return (*alike, False).index(False)


def share(value: float) -> str:
    """Write a share as percent, with one decimal below ten.

    >>> share(0.044), share(0.61), share(0.05)
    ('4.4 %', '61 %', '5 %')
    """
    text = f"{100 * value:.1f}" if value < 0.0995 else f"{100 * value:.0f}"
    return f"{text.removesuffix('.0')} %"


def percent(value: float, mcse: float) -> str:
    """Write a share as percent with its Monte-Carlo standard error.

    >>> percent(0.044, 0.0065), percent(0.61, 0.015), percent(0.992, 0.003), percent(0.61, float("nan"))
    ('4.4 ± .7 %', '61 ± 2 %', '99.2 ± .3 %', '61 ± ? %')
    """
    if not math.isfinite(value):
        return "not known"
    digits = 1 if value < 0.0995 or mcse < 0.005 else 0
    return f"{tables.format_with_error(100 * value, 100 * mcse, digits)} %"
