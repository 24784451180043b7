"""Read and check the file of a world that `simlab fit` fitted to a pilot's ratings, and the checks that it failed.

Call `read_world` for a world of any law, `read_draws` for the draws of one parameter, `failed_checks` for the checks.
The pilot is the table that was fitted. Every value is checked before any is used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import sha256 as digest_of
from importlib.resources import as_file
from importlib.resources import files as packaged
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab import files
from simlab.messages import clip
from simlab.types import Floats, InputError, Speeds
from simlab.world.files import fitted_scales, kept_answers
from simlab.world.files.fitted_scales import FittedScales, StoredChecks, Timing, check_people, read_speeds
from simlab.world.files.kept_answers import KeptWorld
from simlab.world.files.plain_document import chosen_file, document, refuse_other_format, validate_keys
from simlab.world.laws.fitted import Effects

BUILT_IN = "fitted_sxs_mqm_generalMT2023_ende.yaml"
MAX_BYTES = 20_000_000
"""Most bytes of the file of a fitted world.
"""
REMEDY = "give what `simlab fit TABLE --out FILE.yaml` wrote"
Spread = Annotated[float, Ge(0), Le(10)]
Positive = Annotated[float, Gt(0), Le(1e9)]
Draws = Annotated[list[Spread], MinLen(1), MaxLen(2000)]
Rows = Annotated[list[Annotated[list[Positive], MaxLen(5000)]], MinLen(1), MaxLen(2000)]
AnyRows = Annotated[list[Annotated[list[Annotated[float, Ge(0), Le(1e9)]], MaxLen(5000)]], MinLen(1), MaxLen(2000)]
Names = Annotated[list[Annotated[str, MinLen(1), MaxLen(300)]], MinLen(1), MaxLen(5000)]
SINGLE = (
    *("document_sd", "segment_sd", "system_document_sd", "rater_system_sd", "rater_document_sd", "rater_output_sd"),
    *("dispersion", "noise_share", "major_share", "minor_sharpness"),
    *("kind_document_sd", "kind_segment_sd", "rater_segment_sd", "segment_skew", "minor_noise", "segment_share"),
)
"""Parameters of a law that are single numbers."""
_MAKER = re.compile(r"^simlab: *(\S+)", re.MULTILINE)
_FORMAT = re.compile(r"simlab fitted (world|preferences|metric) [0-9]+")
# A key at the left edge and what is indented below it; whoever writes YAML another way has it read whole.
_BLOCK = re.compile(r"^checks:.*?(?=^[^\s#-]|\Z)", re.MULTILINE | re.DOTALL)


class MqmParameters(TypedDict):
    """Keys below `draws`: a list with one entry per draw; rows have one entry per system or rater."""

    system_mean: Rows
    leniency: Rows
    severity: Rows
    sharpness: AnyRows
    punctuation: AnyRows
    document_sd: Draws
    segment_sd: Draws
    system_document_sd: Draws
    rater_system_sd: Draws
    rater_document_sd: Draws
    rater_output_sd: Draws
    dispersion: Annotated[list[Annotated[float, Ge(0), Le(100)]], MinLen(1)]
    noise_share: Annotated[list[Annotated[float, Ge(0), Le(1)]], MinLen(1)]
    major_share: Annotated[list[Annotated[float, Gt(0), Le(0.99)]], MinLen(1)]
    minor_sharpness: Draws
    kind_document_sd: Draws
    kind_segment_sd: Draws
    rater_segment_sd: Draws
    segment_skew: Draws
    minor_noise: Annotated[list[Annotated[float, Ge(0), Le(1)]], MinLen(1)]
    segment_share: Annotated[list[Annotated[float, Ge(0), Le(1)]], MinLen(1)]
    mean_score: Annotated[list[Positive], MinLen(1)]
    system_sd: Draws
    leniency_sd: Draws
    severity_sd: Draws


class Speed(TypedDict):
    """Keys of how fast a rater of the pilot is: seconds per segment are lognormal."""

    median_seconds: Positive
    log_sd: Spread
    segments: Annotated[int, Ge(1)]


class MqmWorldFile(TypedDict):
    """Keys of the whole file."""

    format: str
    simlab: NotRequired[str]
    law: Literal["mqm"]
    about: dict[str, Any]
    method: str
    diagnosis: NotRequired[dict[str, Any]]
    checks: NotRequired[StoredChecks]
    not_identified: list[str]
    estimates: dict[str, dict[str, float]]
    systems: Names
    raters: Names
    minor_weight: Positive
    major_weight: Positive
    document_sizes: Annotated[list[Annotated[int, Ge(1), Le(100_000)]], MinLen(1), MaxLen(100_000)]
    seats: Annotated[list[Annotated[list[Annotated[int, Ge(0)]], MinLen(1)]], MinLen(1), MaxLen(100_000)]
    speeds: NotRequired[dict[str, Speed]]
    timing: NotRequired[Timing]
    draws: MqmParameters


@dataclass(frozen=True, slots=True)
class FittedMqmWorld:
    """A world fitted to MQM ratings: people, seats, lengths of documents, draws of the parameters and of speeds.

    `document_sizes` counts the segments of each document of the pilot, `seats[bucket]` are places of its raters in
    `rater_names`; `effects`, `leniency_sd` and `severity_sd` have one entry per draw from the posterior. `speeds` are
    the pilot's raters by name, `timing` draws of the speeds of people at large.
    """

    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    document_sizes: tuple[int, ...]
    seats: tuple[tuple[int, ...], ...]
    effects: tuple[Effects, ...]
    leniency_sd: tuple[float, ...]
    severity_sd: tuple[float, ...]
    speeds: Mapping[str, Speed]
    timing: tuple[Speeds, ...] = ()


AnyWorld: TypeAlias = FittedMqmWorld | FittedScales | KeptWorld
"""A fitted world of any law."""


def read_fitted(path: str | None, sha256: str | None) -> FittedMqmWorld:
    """Read a fitted world whose errors are counted; None is the one built into simlab.

    Raises InputError, naming the file and what is wrong in it, for anything else than such a file, and where its
    digest is not `sha256` (None: any).
    """
    world = read_world(path, sha256)
    if not isinstance(world, FittedMqmWorld):
        raise InputError(f"{clip(path or '')}: is a world of another law, and one whose errors are counted is needed")
    return world


def read_world(path: str | None, sha256: str | None) -> AnyWorld:
    """Read a fitted world of any law; None is the one built into simlab.

    Raises InputError, naming the file and what is wrong in it, for anything else than such a file, and where its
    digest is not `sha256` (None: any).
    """
    if path is None:
        files.refuse_change(digest_of_built_in_fit(), sha256, "the built-in fit")
        return _load_built_in()
    empty = "give what `simlab fit` wrote, or null for the built-in fit"
    chosen = chosen_file(path, None, empty=empty, remedy=REMEDY)
    return _load_built_in() if chosen is None else _read(*chosen, sha256)


class ParameterDraws(NamedTuple):
    """Draws of one parameter in a fitted file, its law and the digest of the file."""

    law: str
    digest: str
    values: tuple[float, ...]


def read_draws(path: str, name: str, where: str) -> ParameterDraws:
    """Read the draws of a parameter that is one number, such as `leniency_sd`.

    Raises InputError, beginning with `where`, for a file without such a parameter, and as `read_world` does.
    """
    world = read_world(path, None)
    if isinstance(world, KeptWorld):
        raise InputError(f"{where}: the file keeps answers of {clip(world.model)}, and no spread of a built-in law")
    names: tuple[str, ...] = SINGLE
    if isinstance(world, FittedMqmWorld):
        law = "mqm"
        columns = {"leniency_sd": world.leniency_sd, "severity_sd": world.severity_sd}
    else:
        law, columns = world.effects[0].scale.law, {}
        names = tuple(
            field.name for field in fields(world.effects[0]) if field.name == "mean" or field.name.endswith("_sd")
        )
    columns |= {column: tuple(getattr(effects, column) for effects in world.effects) for column in names}
    if name not in columns:
        raise InputError(f"{where}: the file has no draws of {name}; it has those of {', '.join(sorted(columns))}")
    file = files.expand_path(path).absolute()
    content = files.content(file, clip(file), most=MAX_BYTES, remedy=REMEDY)
    return ParameterDraws(law, digest_of(content).hexdigest(), columns[name])


@lru_cache(maxsize=1)
def digest_of_built_in_fit() -> str:
    """Return the digest of the fit that is built in: another simlab may have another one."""
    return digest_of(_content()).hexdigest()


@lru_cache(maxsize=1)
def _load_built_in() -> AnyWorld:
    return _check_content(_content(), "the built-in fit")


def _content() -> bytes:
    with as_file(packaged("simlab.world").joinpath("data", BUILT_IN)) as path:
        return path.read_bytes()


@lru_cache(maxsize=4)
def _read(path: Path, state: files.FileState, digest: str | None) -> AnyWorld:
    """Read a file once per process and state: blocks of a study ask for the same worlds again and again."""
    content = files.content(path, clip(path), most=MAX_BYTES, remedy=REMEDY)
    files.refuse_change(digest_of(content).hexdigest(), digest, clip(path))
    return _check_content(content, clip(path))


def _check_content(content: bytes, where: str) -> AnyWorld:
    parsed = document(files.text(content, where), where, REMEDY)
    refuse_other_format(parsed, "world", where, f"{where}: is no fitted world; {REMEDY}")
    if parsed.get("law") == "mqm":
        return _parse_fitted(validate_keys(MqmWorldFile, parsed, where), where)
    if parsed.get("law") == "own":
        return kept_answers.validate_kept_world(parsed, where)
    return fitted_scales.validate_scales(parsed, where)


def _parse_fitted(content: MqmWorldFile, where: str) -> FittedMqmWorld:
    systems, raters, draws = content["systems"], content["raters"], content["draws"]
    n = len(draws["document_sd"])
    for name, column in draws.items():
        wanted = {"system_mean": len(systems), "leniency": len(raters), "severity": len(raters)}
        wanted |= {"punctuation": len(raters), "sharpness": len(raters)}
        rows: Any = column
        if len(rows) != n or (name in wanted and any(len(row) != wanted[name] for row in rows)):
            each = f" of {wanted[name]} numbers" if name in wanted else ""
            raise InputError(f"{where}: draws.{name} must have {n} entries{each}, as the other draws")
    check_people(systems, raters, content["seats"], where)
    weights = content["minor_weight"], content["major_weight"]
    return FittedMqmWorld(
        tuple(systems),
        tuple(raters),
        tuple(content["document_sizes"]),
        tuple(tuple(sorted(set(seats))) for seats in content["seats"]),
        tuple(_effects(draws, k, weights) for k in range(n)),
        tuple(draws["leniency_sd"]),
        tuple(draws["severity_sd"]),
        content.get("speeds", {}),
        read_speeds(content.get("timing"), where),
    )


def _effects(draws: MqmParameters, k: int, weights: tuple[float, float]) -> Effects:
    column: Mapping[str, list[float]] = {name: draws[name] for name in SINGLE}  # type: ignore[literal-required]
    return Effects(
        system_mean=_row(draws["system_mean"], k),
        leniency=_row(draws["leniency"], k),
        severity=_row(draws["severity"], k),
        sharpness=_row(draws["sharpness"], k),
        punctuation=_row(draws["punctuation"], k),
        **cast(Any, {name: values[k] for name, values in column.items()}),
        minor_weight=weights[0],
        major_weight=weights[1],
    )


def _row(rows: list[list[float]], k: int) -> Floats:
    row = np.array(rows[k], float)
    row.flags.writeable = False
    return row


class FailedTrait(NamedTuple):
    """A trait of the pilot, `real`, that lies outside the interval of worlds drawn from the fit, `low` to `high`."""

    name: str
    real: float
    low: float
    high: float


def failed_checks(path: str) -> tuple[FailedTrait, ...]:
    """Return the checks that a fitted file says it failed; none where it was never checked, or is no file of a fit.

    Raises InputError for a file that cannot be read, and for checks that are not written as `simlab fit` writes them.
    """
    file = files.expand_path(path)
    return _failed_checks(file.absolute(), files.check_regular(file, clip(file), remedy=REMEDY))


@lru_cache(maxsize=8)
def _failed_checks(path: Path, state: files.FileState) -> tuple[FailedTrait, ...]:
    where = clip(path)
    text = files.text(files.content(path, where, most=MAX_BYTES, remedy=REMEDY), where)
    if (format_match := _FORMAT.search(text)) is None:
        return ()
    by = _MAKER.search(text)
    refuse_other_format({"format": format_match[0], "simlab": by and by[1]}, format_match[1], where, where)
    if "checks" not in text:
        return ()
    block = _BLOCK.search(text)
    content = document(text if block is None else block[0], where, REMEDY)
    checks = content.get("checks") if isinstance(content, dict) else None
    if checks is None:
        return ()
    try:
        return tuple(_failed_check(entry) for entry in checks["failed"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: checks.failed: each needs name, real, low, high; {REMEDY}") from error


def _failed_check(entry: Any) -> FailedTrait:
    return FailedTrait(str(entry["name"]), *(float(entry[key]) for key in ("real", "low", "high")))
