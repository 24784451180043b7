"""Decide which scores of a table are better, and on which scale they are.

For layouts that imply a direction call `settle`, for plain tables `settle_plain`: both return a `Direction`. `check`
refuses scores off the scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from simlab.messages import clip
from simlab.tables.rating_table import ColumnOverrides
from simlab.types import Floats, InputError, Ints

Better: TypeAlias = Literal["higher", "lower"]
Source: TypeAlias = Literal["told", "table", "assumed"]

USUAL_SCALES = (
    (0.0, 1.0),
    (1.0, 3.0),
    (1.0, 4.0),
    (1.0, 5.0),
    (0.0, 5.0),
    (1.0, 6.0),
    (1.0, 7.0),
    (1.0, 10.0),
    (0.0, 10.0),
)
PERCENT = (0.0, 100.0)


class Direction(NamedTuple):
    """Direction of scores, and its source: `told` by the user, implied by the `table`, or `assumed`."""

    better: Better
    source: Source


def scale(text: str | None) -> tuple[float, float] | None:
    """Read the option `--scale A..B` as two numbers; raise InputError for any other text.

    >>> scale("0..100"), scale("-1..1"), scale(None)
    ((0.0, 100.0), (-1.0, 1.0), None)
    """
    from simlab.files import read_decimal

    if text is None:
        return None
    low, _, high = text.partition("..")
    least, most = read_decimal(low.strip()), read_decimal(high.strip())
    if least is None or most is None or least >= most:
        raise InputError(f"--scale {clip(text, 40)}: write the least and the largest score, such as 0..100")
    return least, most


def settle(overrides: ColumnOverrides, implied: Better, why: str, where: str) -> Direction:
    """Return the direction that a table implies; raise InputError where `--better` contradicts it.

    `why` says in the message what implies it, `where` names the file.
    """
    if overrides.better not in (None, implied):
        raise InputError(f"{where}: --better {overrides.better} contradicts the table: {why}; leave it out")
    return Direction(implied, "table" if overrides.better is None else "told")


def counts_errors(score: Floats, errors: Ints, *, as_before: bool) -> bool:
    """True if scores are sums of the errors counted beside them: a rating without errors has score 0.

    `errors[k]` is -1 where there is no count. `as_before`: True wherever errors are counted.
    """
    has_errors = bool((errors >= 0).any())
    return has_errors and (as_before or not score[errors == 0].any())


def settle_plain(
    overrides: ColumnOverrides, score: Floats, where: str, *, counted: bool, before: bool, as_before: bool
) -> Direction:
    """Return the direction of a plain table: the user's; lower is better for sums of errors; else higher is.

    `counted`: scores are sums of errors (`counts_errors`). `before`: the table has the columns that simlab has always
    read as sums of errors; then they are taken for these, unless they seem to be on a usual scale and do not pile up
    near 0 (`as_before`: always). Raises InputError where `--better` contradicts counts of errors.
    """
    if counted and not as_before:
        # Sums of errors that are all below 0 are penalties with a minus: higher is then better.
        negated = score.max() <= 0 and score.any()
        return settle(
            overrides, "higher" if negated else "lower", "its scores add up the errors counted beside them", where
        )
    if overrides.better is not None:
        return Direction(overrides.better, "told")
    if counted:
        return Direction("lower", "table")
    sums = as_before or (score.min() >= 0 and (guess_scale(score) is None or _is_near_zero(score)))
    return Direction("lower" if before and sums else "higher", "assumed")


def _is_near_zero(score: Floats) -> bool:
    """True if most scores are near 0, far from the largest; 0 and 1 are answers, no sums."""
    return bool(score.max() > 1 and 4 * np.median(score) <= score.max())


def guess_scale(score: Floats) -> tuple[float, float] | None:
    """Return the least and largest score of the usual scale that scores seem to be on; None where that is unclear.

    Whole numbers that reach both ends of a short scale are taken to be on it, others from 0 to 100 on that one.

    >>> guess_scale(np.array([1.0, 3.0, 5.0])), guess_scale(np.array([55.0, 71.5])), guess_scale(np.array([0.31, 0.77]))
    ((1.0, 5.0), (0.0, 100.0), None)
    """
    low, high = float(score.min()), float(score.max())
    if (low, high) in USUAL_SCALES and not np.any(score % 1):
        return low, high
    return PERCENT if low >= PERCENT[0] and USUAL_SCALES[-1][1] < high <= PERCENT[1] else None


def check(score: Floats, overrides: ColumnOverrides, better: Better, line: Callable[[int], str]) -> None:
    """Raise InputError for the first score off the user's scale, or, without one, below 0 where lower is better.

    The message begins with `line(k)`, the place of score k.
    """
    if overrides.scale is not None:
        low, high = overrides.scale
        _refuse(
            score,
            (score < low) | (score > high),
            f"is off the scale from {low:g} to {high:g}; mend it, or say another --scale",
            line,
        )
    elif better == "lower":
        rule = "is below 0, where scores add up errors and lower is better; negate what was negated, or say "
        _refuse(score, score < 0, f"{rule}--better higher, or --scale A..B", line)


def _refuse(score: Floats, wrong: Sequence[bool] | np.ndarray, rule: str, line: Callable[[int], str]) -> None:
    if np.any(wrong):
        k = int(np.argmax(wrong))
        raise InputError(f"{line(k)}: score {score[k]:g} {rule}")
