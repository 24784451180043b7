"""Check the file of a world that `simlab fit` fitted to ratings on a scale, and read it; read the speeds of any fit.

`validate_scales` takes the parsed YAML and returns `FittedScales`; `where` is the file's name, which errors begin with.
The pilot is the table that was fitted; a bucket is a set of its documents that the same raters rated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab.types import Floats, InputError, Speeds
from simlab.world.files.plain_document import validate_keys
from simlab.world.laws.scales import Scale, ScaleEffects

Number = Annotated[float, Ge(-1e9), Le(1e9)]
Spread = Annotated[float, Ge(0), Le(1e9)]
Positive = Annotated[float, Gt(0), Le(1e9)]
Text = Annotated[str, MinLen(1), MaxLen(300)]
Names = Annotated[list[Text], MinLen(1), MaxLen(5000)]
Column = Annotated[list[Number], MinLen(1), MaxLen(2000)]
Spreads = Annotated[list[Spread], MinLen(1), MaxLen(2000)]
Row = Annotated[list[Number], MaxLen(5000)]
Rows = Annotated[list[Row], MinLen(1), MaxLen(2000)]
Factors = Annotated[list[Annotated[list[Positive], MaxLen(5000)]], MinLen(1), MaxLen(2000)]
Tables = Annotated[list[Annotated[list[Row], MaxLen(5000)]], MinLen(1), MaxLen(2000)]
Tail = Annotated[float, Gt(2), Le(1e9)] | None
Tails = Annotated[list[Tail], MaxLen(2000)]
Cuts = Annotated[list[Annotated[list[Number], MaxLen(1000)]], MaxLen(2000)]
Seconds = Annotated[float, Gt(0), Le(1e9)]
LogSpread = Annotated[float, Ge(0), Le(10)]
Count = Annotated[int, Ge(1)]
SpreadColumn = Annotated[list[LogSpread], MinLen(1), MaxLen(2000)]


class ScaleParameters(TypedDict):
    """Keys below `draws`: a list with one entry per draw; rows have one entry per system, rater or cut."""

    mean: Column
    system: Rows
    leniency: Rows
    sharpness: Factors
    taste: Tables
    document_sd: Spreads
    segment_sd: Spreads
    system_document_sd: Spreads
    output_sd: Spreads
    rater_document_sd: Spreads
    residual_sd: Spreads
    system_sd: Spreads
    leniency_sd: Spreads
    sharpness_sd: Spreads
    rater_system_sd: Spreads
    tail: NotRequired[Tails]
    thresholds: NotRequired[Cuts]


class ScaleLimits(TypedDict):
    """Keys of the scale: null where there is no floor, no ceiling, or any number can be given."""

    low: Number | None
    high: Number | None
    step: Spread | None
    values: Annotated[list[Number], MaxLen(1001)]


class StoredTrait(TypedDict):
    """Keys of a trait of the pilot, `real`, that lies outside the interval of fitted worlds, `low` to `high`."""

    name: Text
    real: float
    low: float
    high: float


class StoredChecks(TypedDict):
    """Keys of the checks of the world against its pilot: how many passed, and which failed."""

    passed: Annotated[int, Ge(0)]
    failed: Annotated[list[StoredTrait], MaxLen(1000)]


class StoredComponent(TypedDict):
    """Keys of a spread for readers; a spread that the pilot's data do not determine is marked as assumed."""

    low: NotRequired[float]
    estimate: float
    high: NotRequired[float]
    assumed: NotRequired[bool]


class ScaleWorldFile(TypedDict):
    """Keys of the whole file."""

    format: str
    simlab: NotRequired[str]
    law: Literal["gaussian", "ordinal", "binary"]
    about: dict[str, Any]
    method: NotRequired[str]
    diagnosis: NotRequired[dict[str, Any]]
    checks: NotRequired[StoredChecks]
    not_identified: list[str]
    components: dict[str, StoredComponent]
    systems: Names
    raters: Names
    document_sizes: Annotated[list[Annotated[int, Ge(1), Le(100_000)]], MinLen(1), MaxLen(100_000)]
    seats: Annotated[list[Annotated[list[Annotated[int, Ge(0)]], MinLen(1)]], MinLen(1), MaxLen(100_000)]
    lower_is_better: bool
    speeds: NotRequired[dict[str, dict[str, float]]]
    timing: NotRequired[Timing]
    scale: ScaleLimits
    draws: ScaleParameters


@dataclass(frozen=True, slots=True)
class FittedScales:
    """A world fitted on a scale: people, seats, lengths of documents, and draws of the parameters.

    `document_sizes` counts the segments of each document of the pilot, `seats[bucket]` are places of its raters in
    `rater_names`, `effects[draw]` draws from the posterior, `timing` draws of speeds (none: the pilot had no times).
    """

    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    document_sizes: tuple[int, ...]
    seats: tuple[tuple[int, ...], ...]
    lower_is_better: bool
    effects: tuple[ScaleEffects, ...]
    timing: tuple[Speeds, ...] = ()


def validate_scales(document: Mapping[str, Any], where: str) -> FittedScales:
    """Return the world that a parsed file holds; raise InputError, naming the key and the value, where it cannot be."""
    content = validate_keys(ScaleWorldFile, document, where)
    check_people(content["systems"], content["raters"], content["seats"], where)
    _check_sizes(content, where)
    return FittedScales(
        tuple(content["systems"]),
        tuple(content["raters"]),
        tuple(content["document_sizes"]),
        tuple(tuple(sorted(set(seats))) for seats in content["seats"]),
        content["lower_is_better"],
        tuple(_effects(content, k, where) for k in range(len(content["draws"]["mean"]))),
        read_speeds(content.get("timing"), where),
    )


def check_people(systems: list[str], raters: list[str], seats: list[list[int]], where: str) -> None:
    """Raise InputError for seats of nobody, and names given twice."""
    if any(seat >= len(raters) for together in seats for seat in together):
        raise InputError(f"{where}: seats name a rater beyond the {len(raters)} raters")
    if len(set(systems)) != len(systems) or len(set(raters)) != len(raters):
        raise InputError(f"{where}: a system or a rater is named twice")


def _check_sizes(content: ScaleWorldFile, where: str) -> None:
    """Raise InputError where draws have not all the same systems, raters and number."""
    draws: Mapping[str, Any] = {name: drawn for name, drawn in content["draws"].items() if drawn}
    n, n_systems, n_raters = len(draws["mean"]), len(content["systems"]), len(content["raters"])
    rows = {"system": n_systems, "leniency": n_raters, "sharpness": n_raters, "taste": n_systems}
    rows["thresholds"] = _n_cuts(content)
    for name, drawn in draws.items():
        if len(drawn) != n or (name in rows and any(len(row) != rows[name] for row in drawn)):
            each = f" of {rows[name]}" if name in rows else ""
            raise InputError(f"{where}: draws.{name} must have {n} entries{each}, as the other draws")
    if any(len(row) != n_raters for table in draws["taste"] for row in table):
        raise InputError(f"{where}: draws.taste must have a number for each of the {n_raters} raters in every row")
    if content["law"] == "ordinal" and "thresholds" not in draws:
        raise InputError(f"{where}: draws.thresholds is missing; the law ordinal has some")


def _n_cuts(content: ScaleWorldFile) -> int:
    if content["law"] == "ordinal":
        return max(len(content["scale"]["values"]) - 1, 1)
    return 1 if content["law"] == "binary" else 0


def _effects(content: ScaleWorldFile, k: int, where: str) -> ScaleEffects:
    draws: Mapping[str, Any] = content["draws"]
    effects: dict[str, Any] = {name: float(column[k]) for name, column in draws.items() if name.endswith("_sd")}
    effects |= {name: _seal(draws[name][k]) for name in ("system", "leniency", "sharpness", "taste")}
    return ScaleEffects(mean=float(draws["mean"][k]), scale=_scale(content, k, where), **effects)


def _scale(content: ScaleWorldFile, k: int, where: str) -> Scale:
    law, limits, draws = content["law"], content["scale"], content["draws"]
    tail = (draws.get("tail") or [None] * (k + 1))[k]
    low, high = limits["low"], limits["high"]
    floor, ceiling = -np.inf if low is None else low, np.inf if high is None else high
    if floor >= ceiling:
        raise InputError(f"{where}: scale.low={floor:g} is not below scale.high={ceiling:g}")
    thresholds, values = _cuts(content, k)
    if (np.diff(thresholds) <= 0).any() or (np.diff(values) <= 0).any():
        raise InputError(f"{where}: scale.values and each row of draws.thresholds must rise from number to number")
    bounds = (floor, ceiling, limits["step"] or 0.0) if law == "gaussian" else (-np.inf, np.inf, 0.0)
    return Scale(law, *bounds, np.inf if tail is None else tail, thresholds, values)


def _cuts(content: ScaleWorldFile, k: int) -> tuple[Floats, Floats]:
    """Return where the latent scale is cut, and what the categories are worth."""
    if content["law"] == "gaussian":
        return _seal([]), _seal([])
    if content["law"] == "binary":
        return _seal([0.0]), _seal([0.0, 1.0])
    return _seal(content["draws"]["thresholds"][k]), _seal(content["scale"]["values"])


def _seal(values: Any) -> Floats:
    array = np.array(values, float)
    array.flags.writeable = False
    return array


class StoredInterval(TypedDict):
    """Keys of an estimate and its 90 % interval; where one cluster tells nothing of the error there is none."""

    low: NotRequired[float]
    estimate: float
    high: NotRequired[float]


class AtCut(TypedDict):
    """Keys of the hours of a table at one cut."""

    cut: Seconds
    hours: Annotated[float, Ge(0)]


class StoredSpeedDraws(TypedDict):
    """Keys of draws of the speeds of people at large from their posterior; each world takes one."""

    log_mean: Annotated[list[Annotated[float, Ge(-20), Le(25)]], MinLen(1), MaxLen(2000)]
    rater_sd: SpreadColumn
    login_sd: SpreadColumn


class Timing(TypedDict):
    """Keys of how fast people at large work, under which rule."""

    rule: Literal["ends", "durations"]
    cut: Seconds
    hours: Annotated[list[AtCut], MaxLen(100)]
    people: Count
    logins: Count
    answers: Count
    answers_per_screen: Annotated[float, Gt(0)]
    seconds_per_answer: StoredInterval
    median_seconds: StoredInterval
    rater_sd: StoredInterval
    login_sd: StoredInterval
    screen_sd: StoredInterval
    log_mean: float
    log_mean_se: Annotated[float, Ge(0)]
    draws: StoredSpeedDraws


def read_speeds(timing: Timing | None, where: str) -> tuple[Speeds, ...]:
    """Return the draws of speeds that a file holds; none where it holds none.

    Raises InputError, beginning with `where`, for draws of different lengths.
    """
    if timing is None:
        return ()
    draws, screen_sd, cut = timing["draws"], timing["screen_sd"]["estimate"], timing["cut"]
    if len({len(draws["log_mean"]), len(draws["rater_sd"]), len(draws["login_sd"])}) > 1:
        raise InputError(f"{where}: timing.draws must have as many of log_mean, rater_sd and login_sd")
    each = zip(draws["log_mean"], draws["rater_sd"], draws["login_sd"], strict=True)
    # People at large take the mean of a lognormal, which no draw of a sensible file makes longer than a year.
    return tuple(
        Speeds(min(math.exp(mean + (rater**2 + login**2) / 2), 3e7), rater, login, screen_sd, cut)
        for mean, rater, login in each
    )
