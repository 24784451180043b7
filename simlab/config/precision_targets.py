"""Read the precision at which a run ends, and the most time that it takes: `--precision`, `--at-most`, `until:`.

`parse_until` takes the typed texts and `read` the key of a file; both return an `Until`. A precision is a Monte-Carlo
standard error of a measure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simlab.config.overrides import element
from simlab.messages import show, suggest
from simlab.types import InputError

DIFFERENCE = "difference"
"""Word behind a measure for the error of differences between cells."""
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|m|h)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,12}", re.ASCII)
_NEEDED = {
    "_new_documents": ("document_draws",),
    "_new_raters": ("pools",),
    "_new_study": ("pools", "document_draws"),
}
"""What a repetition draws anew has to be there twice: keys by the end of a measure's name."""


@dataclass(frozen=True, slots=True)
class PrecisionTarget:
    """Largest Monte-Carlo standard error of a measure that is wanted in every cell, in the measure's own unit.

    With `difference` it is that of the paired differences between cells, as `simlab compare` takes them.
    """

    measure: str
    mcse: float
    difference: bool = False

    def __str__(self) -> str:
        """Name what is measured, as it is typed."""
        return f"{self.measure}:{DIFFERENCE}" if self.difference else self.measure


@dataclass(frozen=True, slots=True)
class Until:
    """Targets of a run, and the seconds, or campaigns in all, after which it ends without them.

    `studies` of each world are carried out where a user fixed them; else the run chooses how many.
    """

    targets: tuple[PrecisionTarget, ...]
    seconds: float | None = None
    campaigns: int | None = None
    studies: int | None = None

    @property
    def measures(self) -> tuple[str, ...]:
        """Name the measures of the targets, each once."""
        return tuple(dict.fromkeys(target.measure for target in self.targets))


def parse_until(precision: str | None, at_most: str | None, declared: Until | None) -> Until | None:
    """Return the typed precision, else the `declared` one of a file; None where neither is given.

    Raises InputError for a text that is no target, and for `at_most` where there is no precision.
    """
    if precision is not None:
        declared = Until(typed_targets(precision), *((declared.seconds, declared.campaigns) if declared else ()))
    if at_most is None:
        return declared
    if declared is None:
        raise InputError(f"--at-most {at_most} ends a run that has a target; add --precision M=X, such as srp=.01")
    return replace(declared, **_bound("--at-most", at_most))


def typed_targets(text: str) -> tuple[PrecisionTarget, ...]:
    """Read `M=X[,M:difference=X]`; raise InputError for what is no target.

    >>> [(str(target), target.mcse) for target in typed_targets("srp=.01,srp:difference=.02")]
    [('srp', 0.01), ('srp:difference', 0.02)]
    """
    parts = [part.partition("=") for part in text.split(",")]
    for name, equals, _ in parts:
        if not (name.strip() and equals):
            raise InputError(f"--precision {show(text)} is no target; write M=X[,M:difference=X], such as srp=.01")
    return _targets("--precision", [(name.strip(), value) for name, _, value in parts])


def read(key: str, value: Any) -> Until:
    """Read the key `until` of a file: `precision: {M: X}`, and `at_most` where the time or campaigns are limited.

    Numbers come as a file has them, as text.
    """
    known = ("precision", "at_most")
    if not isinstance(value, dict) or not isinstance(value.get("precision"), dict) or not value["precision"]:
        raise InputError(f"{key} must hold lines such as `precision: {{srp: 0.01}}` and `at_most: 10m`")
    for name in value:
        if name not in known:
            raise InputError(f"{key}.{show(name)} is no key; {suggest(name, known)}")
    until = Until(_targets(f"{key}.precision", list(value["precision"].items())))
    if "at_most" not in value:
        return until
    return replace(until, **_bound(f"{key}.at_most:", value["at_most"]))


def write_until(until: Until) -> dict[str, Any]:
    """Write targets and their end as plain data, for the declaration of a folder: an end in seconds or campaigns."""
    ends = {"seconds": until.seconds, "campaigns": until.campaigns}
    precision = {str(target): target.mcse for target in until.targets}
    return {"precision": precision} | {name: end for name, end in ends.items() if end is not None}


def read_targets(declared: Mapping[str, Any]) -> tuple[PrecisionTarget, ...]:
    """Read the targets of a store's last run from its declaration; none where it had none, or a malformed one."""
    until = declared.get("until")
    precision = until.get("precision") if isinstance(until, dict) else None
    if not isinstance(precision, dict):
        return ()
    numbers = {name: mcse for name, mcse in precision.items() if isinstance(mcse, int | float)}
    return tuple(_target(name, float(mcse)) for name, mcse in numbers.items())


def refuse_untold(until: Until, sizes: Mapping[str, int], n_cells: int) -> None:
    """Raise InputError for a target that no number of worlds reaches.

    `sizes` has the numbers of `pools` and `document_draws`; a difference between cells needs `n_cells` of 2 or more.
    """
    for target in until.targets:
        if target.difference and n_cells < 2:
            raise InputError(f"{target} is an error of differences between cells, and this is one cell; vary a key")
        for end, keys in _NEEDED.items():
            lacking = [key for key in keys if target.measure.endswith(end) and sizes[key] < 2]
            if lacking:
                more = " and ".join(f"{key}=2" for key in lacking)
                raise InputError(f"{target.measure} compares what is drawn anew, and that is there once; add {more}")


def _targets(where: str, given: Sequence[tuple[str, Any]]) -> tuple[PrecisionTarget, ...]:
    targets = tuple(_read(where, name, value) for name, value in given)
    for name in (names := [str(target) for target in targets]):
        if names.count(name) > 1:
            raise InputError(f"{where} names {show(name)} twice; name it once")
    return targets


def _read(where: str, name: str, value: Any) -> PrecisionTarget:
    measure, colon, word = name.partition(":")
    if not measure or (colon and word != DIFFERENCE):
        raise InputError(f"{where} {show(name)}: of a measure there is the error, M, and M:{DIFFERENCE}")
    wanted = element(name, value) if isinstance(value, str) else None
    if isinstance(wanted, bool) or not isinstance(wanted, int | float) or not 0 < wanted < float("inf"):
        shown = show(wanted if isinstance(value, str) else value)
        raise InputError(f"{where} {name}={shown} must be a number greater than 0, the error that is wanted")
    return _target(name, float(wanted))


def _target(name: str, mcse: float) -> PrecisionTarget:
    measure, colon, _ = name.partition(":")
    return PrecisionTarget(measure, mcse, bool(colon))


def _bound(where: str, text: Any) -> dict[str, Any]:
    typed = str(text).strip() if isinstance(text, str) else ""
    if (time := _TIME.fullmatch(typed)) and (seconds := float(time[1]) * _SECONDS[time[2]]) > 0:
        return {"seconds": seconds, "campaigns": None}
    if _NUMBER.fullmatch(typed) and int(typed) > 0:
        return {"seconds": None, "campaigns": int(typed)}
    raise InputError(f"{where} {show(text)} must be a time, such as 90s, 10m or 2h, or a number of campaigns, above 0")


def parse_seconds(where: str, text: str) -> float:
    """Read a time; raise InputError for what is none.

    >>> parse_seconds("--at-most", "3m")
    180.0
    """
    if (time := _TIME.fullmatch(text.strip())) and (seconds := float(time[1]) * _SECONDS[time[2]]) > 0:
        return seconds
    raise InputError(f"{where} {show(text)} must be a time, such as 90s or 3m, above 0")


def words(until: Until) -> list[str]:
    """Write targets and their end as the command line has them.

    >>> words(Until(typed_targets("srp=.01"), seconds=90))
    ['--precision', 'srp=0.01', '--at-most', '90s']
    """
    ends = [f"{until.seconds:g}s"] if until.seconds else [str(until.campaigns)] if until.campaigns else []
    targets = ",".join(f"{target}={target.mcse!r}" for target in until.targets)
    return ["--precision", targets, *(word for end in ends for word in ("--at-most", end))]
