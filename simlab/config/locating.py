"""Read the crossing that an adaptive sweep looks for, and its axis: `--locate`, `--along`, `locate:`.

A crossing is where a measure reaches a value along an axis of numbers, or where two of its curves cross. `read_target`
takes a typed text and `read` the key of a file; both return a `Locate`, whose names `resolve` turns into those of axes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from simlab.config.overrides import element
from simlab.config.precision_targets import Until
from simlab.messages import show, suggest, word
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.sweep import Axis

LEAST_WORLDS = 5
"""Fewest worlds from whose error the place of a crossing is judged."""
LEAST_VALUES = 3
"""Fewest cells on a curve."""
N_BETWEEN = 20
"""Most values that stand for a range, LOW..HIGH."""
MOST_FACTOR = 4.0
"""A range whose ends differ by more than this factor has its values by factors, not by steps."""
_NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})", re.ASCII)
_WHOLE = re.compile(r"-?\d+", re.ASCII)
_KEYS = ("target", "along")


@dataclass(frozen=True, slots=True)
class Locate:
    """Target of a location: where a measure is `value`, or else where the curves of axis `by` cross each other.

    `along` names the axis of numbers; None: the only one that there is.
    """

    measure: str
    value: float | None = None
    by: str | None = None
    along: str | None = None

    @property
    def target(self) -> str:
        """Write the target as it is typed."""
        return f"{self.measure}:{self.by}" if self.value is None else f"{self.measure}={word(self.value)}"


def read_target(where: str, text: str) -> Locate:
    """Read `power=.8`, or `power:grouping` for curves that cross each other; raise InputError for anything else.

    >>> read_target("--locate", "power=.8").value, read_target("--locate", "power:grouping").by
    (0.8, 'grouping')
    """
    name, equals, value = text.partition("=")
    measure, colon, by = name.partition(":")
    number = element("target", value.strip()) if equals and value.strip() else None
    numeric = isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number)
    if not measure.strip() or numeric == bool(colon) or (colon and (equals or not by.strip())):
        raise InputError(
            f"{where} {show(text)} is no crossing; write MEASURE=VALUE, such as power=.8, or MEASURE:AXIS, such as "
            "power:grouping, for curves that cross each other"
        )
    if colon or number is None:
        return Locate(measure.strip(), by=by.strip())
    return Locate(measure.strip(), value=float(number))


def choose_target(target: str | None, along: str | None, declared: Locate | None) -> Locate | None:
    """Return the typed target, else the `declared` one of a file; None where nothing is located.

    Raises InputError for a text that is no target, and for `along` where there is no target.
    """
    located = declared if target is None else read_target("--locate", target)
    if along is None:
        return located
    if located is None:
        raise InputError(f"--along {show(along)} is the axis of what is located; add --locate M=X, such as power=.8")
    return replace(located, along=along)


def read(key: str, value: Any) -> Locate:
    """Read the key `locate` of a file: `target: power=.8`, and `along` where several axes have numbers."""
    if not isinstance(value, dict) or not isinstance(value.get("target"), str):
        raise InputError(f"{key} must hold lines such as `target: power=.8` and `along: documents`")
    for name in value:
        if name not in _KEYS:
            raise InputError(f"{key}.{show(name)} is no key; {suggest(name, _KEYS)}")
    along = value.get("along")
    return replace(read_target(f"{key}.target:", value["target"]), along=None if along is None else str(along))


def write(located: Locate) -> dict[str, str]:
    """Return a location as the key `locate` of a sweep file."""
    return {"target": located.target, **({"along": located.along} if located.along else {})}


def write_words(located: Locate) -> list[str]:
    """Return the location as words of the command line.

    >>> write_words(Locate("power", 0.8, along="documents"))
    ['--locate', 'power=0.8', '--along', 'documents']
    """
    return ["--locate", located.target, *(("--along", located.along) if located.along else ())]


def spread_range(text: str) -> str:
    """Write the values that stand for a range, KEY=LOW..HIGH, as KEY=A,B,...; other settings stay as they are.

    They are evenly placed, by factors where the ends differ by more than a factor of 4, whole where both ends are.
    Raises InputError for a range whose end is not above its beginning.

    >>> spread_range("design.documents=10..13")
    'design.documents=10,11,12,13'
    """
    key, _, value = text.partition("=")
    match = _RANGE.fullmatch(value.strip())
    if match is None:
        return text
    low, high = float(match[1]), float(match[2])
    if not low < high:
        raise InputError(f"{text}: a range ends above its beginning; write {key}=LOW..HIGH")
    by_factors = low > 0 and high / low > MOST_FACTOR
    steps = [k / (N_BETWEEN - 1) for k in range(1, N_BETWEEN - 1)]
    values = [low * (high / low) ** k if by_factors else low + (high - low) * k for k in steps]
    whole = all(_WHOLE.fullmatch(end) for end in match.groups())
    inner = [f"{round(number)}" if whole else f"{number:.3g}" for number in values]
    return f"{key}={','.join(dict.fromkeys([match[1], *inner, match[2]]))}"


def resolve(
    located: Locate | None, axes: Sequence[Axis], config: Mapping[str, Any], until: Until | None
) -> Locate | None:
    """Return the crossing with its axes by their names in the store; `config` is that of a cell, `until` its precision.

    Raises InputError where there is no such axis, none or several of numbers, or where no error could be told.
    """
    if located is None:
        return None
    if until is not None:
        raise InputError("--locate and --precision choose worlds, each in its way; leave one out")
    if config["worlds"] < LEAST_WORLDS:
        raise InputError(
            f"worlds={config['worlds']}: an interval of a crossing needs {LEAST_WORLDS} worlds; leave --locate out, "
            f"or set worlds={LEAST_WORLDS} or more"
        )
    by = None if located.by is None else _find(located.by, axes, "--locate")
    numeric = [axis for axis in axes if axis is not by and all(map(_is_number, axis.values))]
    if located.along is not None:
        along = _find(located.along, axes, "--along")
        if along not in numeric:
            raise InputError(
                f"--along {along.name}: its values are no numbers that curves run along; name another axis"
            )
    elif len(numeric) == 1:
        along = numeric[0]
    else:
        names = ", ".join(axis.name for axis in numeric)
        raise InputError(
            f"--locate {located.target}: several axes have numbers, {names}; name one with --along"
            if numeric
            else f"--locate {located.target}: no axis has numbers; sweep one, such as design.documents=10..200"
        )
    if len(along.values) < LEAST_VALUES:
        raise InputError(
            f"{along.key} has {len(along.values)} values, and a curve needs {LEAST_VALUES}; give more, or a range, "
            f"{along.key}=LOW..HIGH"
        )
    if by is not None and len(by.values) < 2:
        raise InputError(f"--locate {located.target}: {by.name} has one value, and no curves that cross; give two")
    return replace(located, along=along.name, by=by.name if by is not None else None)


def _find(name: str, axes: Sequence[Axis], where: str) -> Axis:
    for axis in axes:
        if name in (axis.name, axis.key):
            return axis
    raise InputError(f"{where} {show(name)} is no axis of this sweep; {suggest(name, [a.name for a in axes])}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
