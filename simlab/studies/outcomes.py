"""Declare the outcomes that all kinds of studies share, and find impossible values in outcomes and answers.

Call `find_impossible` with declared outcomes and their arrays, which returns (row, reason) for each campaign with an
impossible value: NaN, too large, or out of range. Else a campaign full of NaN would look like one that found nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from simlab.types import IMPOSSIBLE, OK, UNRUN, Array, Bools, Collected, ImpossibleValue, Outcome
from simlab.types.collection import ALL_CAME, NOBODY

NAN = float("nan")
STATUS = "0 ok, 1 design failed, 2 block failed, 3 not run, 4 a value that cannot be"
DIRECTION = "+1: the first system is better, -1: the second, 0: equal"
COMMON: Mapping[str, Outcome] = {
    "status": Outcome(("replicate",), "int8", UNRUN, STATUS, low=0, high=IMPOSSIBLE),
    "document_set": Outcome(("replicate",), "int32", -1, "index of the draw of documents", low=0),
    "ratings_used": Outcome(("replicate",), "int32", 0, "ratings asked for, of all systems together", low=0),
    "cost": Outcome(("replicate",), "float64", NAN, "price of the ratings, of all systems together", low=0),
    "estimate": Outcome(("replicate", "system"), "float64", NAN, "estimated quality"),
    "direction": Outcome(("replicate", "pair"), "int8", 0, DIRECTION, low=-1, high=1),
    "significant": Outcome(("replicate", "pair"), "bool", False, "whether the difference is significant"),
    "true_value": Outcome(("of_world", "system"), "float64", NAN, "true quality"),
    "true_direction": Outcome(("of_world", "pair"), "int8", 0, "true direction", low=-1, high=1),
}
P_VALUE = {"p_value": Outcome(("replicate", "pair"), "float64", NAN, "two-sided p-value", low=0, high=1)}
ADJUSTED = {
    "adjusted_p_value": Outcome(
        ("replicate", "pair"), "float64", NAN, "p-value adjusted for the number of pairs", low=0, high=1
    )
}
"""Outcome where `decision.multiplicity` is not none; significance then follows this p-value."""
LOAD = {
    "load_entropy_reached": Outcome(
        ("replicate",), "float64", NAN, "normalised entropy of the raters' load", low=0, high=1, gap=True
    )
}
"""Of ratings always; of other answers where people are known, on a clock."""
ENDED_BY = "0 all that was planned came, 1 a decision rule, 2 the money, 3 the deadline, 4 nobody is left to work"
ACCOUNT: Mapping[str, Outcome] = {
    "ended_by": Outcome(("replicate",), "int8", -1, ENDED_BY, low=ALL_CAME, high=NOBODY),
    "ratings_planned": Outcome(
        ("replicate",), "int32", 0, "ratings that the design asks for, of all systems together", low=0
    ),
    "ratings_lost": Outcome(
        ("replicate",), "int32", 0, "ratings lost with raters who were excluded, and not made up for", low=0
    ),
    "ratings_open": Outcome(("replicate",), "int32", 0, "ratings that were planned and never came", low=0),
    "work_hours": Outcome(("replicate",), "float64", NAN, "hours of work, of all people together", low=0, gap=True),
    "campaign_days": Outcome(
        ("replicate",), "float64", NAN, "days on the calendar until the campaign ended", low=0, gap=True
    ),
}
"""Of studies that are accounted: on a clock, or with money that can run out."""
RATED = {
    "documents_rated": Outcome(
        ("replicate",), "int32", 0, "documents of which each segment was rated for every system", low=0
    )
}
"""Of accounted studies of ratings."""
POOL, DRAW = "pool", "draw"
IDENTITY = ("world", POOL, DRAW, "study")
"""Arrays that every block has beside outcomes: the indices of each campaign's world, pool, draw and study."""
LARGEST = 1e15
"""Numbers beyond this are no scores: sums of them in double precision lose the tenths that tell systems apart."""
ROUNDING = 1e-9
"""Amount by which a share may leave its range through rounding."""
NO_NUMBER = "a part of this study returns what is no number"


def blank(outcomes: Mapping[str, Outcome], names: tuple[str, ...], sizes: Mapping[str, int]) -> dict[str, Array]:
    """Return empty outcomes, by name, for one campaign that failed; `sizes[dim]` counts the entries of a dimension."""
    return {
        name: np.full([sizes[dim] for dim in outcomes[name].dims[1:]], outcomes[name].fill, outcomes[name].dtype)
        for name in names
    }


def omit_account(names: Iterable[str], *, accounted: bool, load: bool = True) -> tuple[str, ...]:
    """Return names of outcomes without the account if not `accounted`, and without the raters' load if not `load`."""
    left_out = {**({} if accounted else {**ACCOUNT, **RATED}), **({} if load else LOAD)}
    return tuple(name for name in names if name not in left_out)


def of_campaigns(outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Name the outcomes that have one row per campaign, so not the true values of its world."""
    return tuple(name for name, outcome in outcomes.items() if outcome.dims[0] == "replicate")


def refuse_impossible(collected: Collected) -> None:
    """Raise ImpossibleValue where an answer that came, or a metric's score, is NaN or beyond `LARGEST`."""
    for what, array in (("a rating", collected.seen.value), ("a score of the metric", collected.metric)):
        if isinstance(array, np.ndarray) and not is_in_bounds(array):
            raise ImpossibleValue(f"{what} is {find_worst(array):g}; {explain_impossible(find_worst(array))}")


def is_in_bounds(array: Array) -> bool:
    """True if all numbers are finite, and within `LARGEST` in size."""
    # The least and the greatest of numbers with a NaN among them are NaN, and no comparison with that holds.
    return array.dtype.kind != "f" or not array.size or bool(array.min() >= -LARGEST and array.max() <= LARGEST)


def find_worst(array: Array) -> float:
    """Return the worst number of an array that has impossible ones: NaN, else the largest in size."""
    numbers = array[~np.isfinite(array)] if not np.isfinite(array).all() else array.ravel()
    return float(numbers[np.argmax(np.where(np.isnan(numbers), np.inf, np.abs(numbers)))])


def explain_impossible(value: float) -> str:
    """Explain why a number cannot be."""
    return NO_NUMBER if not np.isfinite(value) else f"numbers beyond {LARGEST:g} cannot be told apart"


def are_codes(array: Array, low: int, high: int) -> bool:
    """True if all entries are whole numbers from `low` to `high`."""
    if not array.size or not (array.min() >= low and array.max() <= high):
        return not array.size
    return array.dtype.kind != "f" or bool((array == np.round(array)).all())


def probabilities(p_value: Array, part: str) -> Array:
    """Return the p-values of a test as they are; raise ImpossibleValue, naming the part, where one is none."""
    outside = ~((p_value >= -ROUNDING) & (p_value <= 1 + ROUNDING))
    if outside.any():
        raise ImpossibleValue(f"{part} gives the p-value {p_value[outside][0]:g}, which does not lie between 0 and 1")
    return p_value


def find_impossible(declared: Mapping[str, Outcome], arrays: Mapping[str, Array]) -> Iterator[tuple[int, str]]:
    """List (row, reason) for each campaign that was carried out and has an impossible value of an outcome.

    Raises ImpossibleValue where a true value of a world is impossible.
    """
    reasons: dict[int, str] = {}
    carried_out = arrays["status"] == OK
    for name, array in arrays.items():
        outcome = declared.get(name)
        if outcome is None or name == "status" or _are_possible(outcome, array):
            continue
        of_world = outcome.dims[0] == "of_world"
        wrong = _mark_wrong(outcome, array) & (True if of_world else _expand_rows(carried_out, array))
        for where in np.argwhere(wrong):
            reason = _reason(name, outcome, array, tuple(where.tolist()))
            if of_world:
                raise ImpossibleValue(reason)
            reasons.setdefault(int(where[0]), reason)
    yield from sorted(reasons.items())


def _are_possible(outcome: Outcome, array: Array) -> bool:
    """Check quickly, for nearly all arrays, that all of their values can be."""
    low, high = _bounds(outcome)
    # With a NaN among them the comparison is false, and values are looked at one by one.
    return array.dtype.kind == "b" or not array.size or bool(array.min() >= low and array.max() <= high)


def _mark_wrong(outcome: Outcome, array: Array) -> Bools:
    low, high = _bounds(outcome)
    right = (array >= low) & (array <= high)
    if outcome.gap:
        # Only NaN differs from itself.
        right |= np.isnan(array) if outcome.fill != outcome.fill else array == outcome.fill
    return ~right


def _bounds(outcome: Outcome) -> tuple[float, float]:
    slack = ROUNDING if outcome.dtype.startswith("float") else 0
    low = -LARGEST if outcome.low is None else outcome.low - slack
    return low, LARGEST if outcome.high is None else outcome.high + slack


def _expand_rows(rows: Bools, array: Array) -> Bools:
    return rows.reshape(-1, *(1,) * (array.ndim - 1))


def _reason(name: str, outcome: Outcome, array: Array, where: tuple[int, ...]) -> str:
    value = array[where]
    words = [f"{dim} {k + 1}" for dim, k in zip(outcome.dims[1:], where[1:], strict=True)]
    place = f" for {', '.join(words)}" if words else ""
    return f"{name} is {value:g}{place}; {_rule(outcome, float(value))}"


def _rule(outcome: Outcome, value: float) -> str:
    if not np.isfinite(value) or (outcome.low is None and outcome.high is None):
        return explain_impossible(value)
    if outcome.high is None:
        return f"it cannot be below {outcome.low:g}"
    return f"it lies between {outcome.low:g} and {outcome.high:g}"
