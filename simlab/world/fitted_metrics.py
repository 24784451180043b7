"""Give a world a metric that was fitted to data: each world draws the metric's parameters from their posterior.

Each option of `metric` takes a world and the path of a file, and returns the world with the metric. `simlab fit-metric
TABLE` writes the file: counts of Beta and Dirichlet posteriors, and a correlation with its standard error.
mu is the mixture matrix of a metric that compares outputs (see `MetricLaw`); rho and eta are the true positive and the
true negative rate of one that calls single outputs adequate or not (see `OutputMetric`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256 as digest_of
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from simlab import files, schemas
from simlab.messages import clip, suggest
from simlab.types import (
    ComparedWorld,
    Floats,
    InputError,
    JudgedWorld,
    KnownCorrelation,
    KnownRates,
    MetricLaw,
    OutputMetric,
)
from simlab.types.bounds import Count
from simlab.world.files.plain_document import document, refuse_other_format
from simlab.world.metrics import dirichlet_columns
from simlab.world.output_metrics import draw_shares

REMEDY = "give what `simlab fit-metric TABLE` wrote"
MAX_BYTES = 1 << 20
"""Most bytes of a file: 60 systems take some hundred kilobytes, and reading a megabyte of YAML takes seconds."""

Parameters: TypeAlias = Literal["drawn", "estimated"]
Spread: TypeAlias = Literal["own", "shared"]
Section: TypeAlias = Mapping[str, Any]

# More counts than any evaluation has would only hide a slip of the pen.
_MOST = 1e9
# Fisher's z is infinite at 1.
_LARGEST_CORRELATION = 0.999
_MU = ("counts", "prior", "mirrored", "concentration", "observed", "design_effect", "margin", "human_margin")
_RHO_ETA = ("TP", "P", "TN", "N", "concentration", "observed", "threshold", "lower_is_better", "tuned")
_CORRELATION = ("value", "z_error", "system_sd", "outputs", "gamma", "gamma_error", "disattenuated", "components")
_SECTIONS = ("mu", "rho_eta", "correlation")


class _File(NamedTuple):
    """Content of a file, and how messages name it."""

    where: str
    content: Section


def fitted_mu(
    rng: np.random.Generator,
    world: ComparedWorld,
    *,
    path: str | None,
    sha256: str | None,
    parameters: Parameters,
    pairs: Spread,
    n_outputs: Count,
) -> ComparedWorld:
    """Add a metric whose mixture matrix was estimated; each world draws its own from the posterior.

    Columns are Dirichlet(counts + prior); of a `mirrored` matrix, where the order of the systems means nothing, the
    column `<` is the column `>` upside down and the column `=` its own mirror image. With `parameters=estimated` all
    worlds take the posterior mean. With `pairs=own` each pair of systems draws columns Dirichlet(concentration *
    column) around the world's, if the data told how far pairs differ.

    Raises InputError for a file that cannot be read, has changed since the study was composed, or has no mu.
    """
    file = _read(path, sha256)
    section = _section(file, "mu")
    _check_keys(section, f"{file.where}: mu", _MU)
    where = f"{file.where}: mu"
    weight = _matrix(section, where, "counts") + _matrix(section, where, "prior")
    if (weight.sum(0) <= 0).any():
        raise InputError(f"{where}: a column of counts and prior is all 0; a prior must be positive somewhere")
    if not isinstance(section.get("mirrored"), bool):
        raise InputError(f"{where}.mirrored={_format_value(section.get('mirrored'))} must be true or false")
    drawn = _columns(rng, weight, mirrored=section["mirrored"], parameters=parameters)
    n = world.frame.n_systems
    every = np.repeat(drawn[None], n * (n - 1) // 2, axis=0)
    concentration = _optional_number(section, where, "concentration")
    if pairs == "own" and concentration is not None:
        every = dirichlet_columns(rng, concentration * every)
    return replace(world, metric=MetricLaw(n_outputs, mu=every))


def fitted_rho_eta(
    rng: np.random.Generator,
    world: JudgedWorld,
    *,
    path: str | None,
    sha256: str | None,
    parameters: Parameters,
    systems: Spread,
) -> JudgedWorld:
    """Add a metric that says adequate or not, with rho and eta of its own in each world.

    rho ~ Beta(TP + 1, P - TP + 1), eta ~ Beta(TN + 1, N - TN + 1); with `parameters=estimated` all worlds take the
    means of these. An analyst who takes rho and eta for known knows the means, so that what the data left open errs in
    every world (`analysis.estimator.quality=known`). With `systems=own` each system's are drawn around its world's with
    the concentration in the file, if it has one. Source: von Däniken et al. 2022, section 3.

    Raises InputError for a file that cannot be read, has changed since the study was composed, or has no rho_eta.
    """
    file = _read(path, sha256)
    section, where = _section(file, "rho_eta"), f"{file.where}: rho_eta"
    _check_keys(section, where, _RHO_ETA)
    counts = {name: _number(section, where, name, 0, _MOST) for name in ("TP", "P", "TN", "N")}
    for part, whole in (("TP", "P"), ("TN", "N")):
        if counts[part] > counts[whole]:
            raise InputError(
                f"{where}: {part}={counts[part]:g} exceeds {whole}={counts[whole]:g}, which it is a part of; "
                "mend the numbers, or write the file with `simlab fit-metric`"
            )
    shapes = [(counts[a] + 1, counts[b] - counts[a] + 1) for a, b in (("TP", "P"), ("TN", "N"))]
    nominal = KnownRates(*(a / (a + b) for a, b in shapes))
    true = [float(rng.beta(*shape)) for shape in shapes] if parameters == "drawn" else list(nominal)
    concentration = _optional_number(section, where, "concentration")
    n = world.frame.n_systems
    own = [draw_shares(rng, share, concentration if systems == "own" else None, n) for share in true]
    return replace(world, metric=OutputMetric(nominal, rho=own[0], eta=own[1]))


def fitted_correlation(
    rng: np.random.Generator,
    world: JudgedWorld,
    *,
    path: str | None,
    sha256: str | None,
    parameters: Parameters,
    systems: Spread,
) -> JudgedWorld:
    """Add a metric that scores outputs, with a correlation of its own in each world.

    Fisher's z of the correlation is drawn normally with the standard error that the file has on that scale; with
    `parameters=estimated` all worlds take the estimate. With `systems=own` each system's is drawn around its world's
    with the standard deviation between systems in the file. See `correlated` for what is correlated with what.

    Raises InputError for a file that cannot be read, has changed since the study was composed, or has no correlation.
    """
    file = _read(path, sha256)
    section, where = _section(file, "correlation"), f"{file.where}: correlation"
    _check_keys(section, where, _CORRELATION)
    value = _number(section, where, "value", -1, 1)
    error, between = (_number(section, where, name, 0, 10) for name in ("z_error", "system_sd"))
    value = float(np.clip(value, -_LARGEST_CORRELATION, _LARGEST_CORRELATION))
    drawn = math.tanh(math.atanh(value) + error * rng.standard_normal()) if parameters == "drawn" else value
    spread = (between if systems == "own" else 0.0) * rng.standard_normal(world.frame.n_systems)
    return replace(world, metric=OutputMetric(KnownCorrelation(value), correlation=np.clip(drawn + spread, -1, 1)))


def posterior_mean(weight: Floats, *, mirrored: bool) -> Floats:
    """Return the mean of a mixture matrix whose columns are Dirichlet(weight); see `fitted_mu` for `mirrored`."""
    # A mean draws nothing, so it does not matter which generator is handed on.
    return _columns(np.random.default_rng(0), weight, mirrored=mirrored, parameters="estimated")


def _columns(rng: np.random.Generator, weight: Floats, *, mirrored: bool, parameters: Parameters) -> Floats:
    drawn = dirichlet_columns(rng, weight) if parameters == "drawn" else weight / weight.sum(0)
    if not mirrored:
        return drawn
    tie = drawn[1, 1]
    same = np.array([(1 - tie) / 2, tie, (1 - tie) / 2])
    return np.stack([drawn[:, 0], same, drawn[::-1, 0]], axis=1)


def _read(path: str | None, digest: str | None) -> _File:
    if path is None or not path.strip():
        raise InputError("metric.path names no file; give what `simlab fit-metric TABLE` wrote: metric.path=FILE.yaml")
    file, where = files.expand_path(path), f"metric.path={clip(path)}"
    return _read_at(file.absolute(), files.check_regular(file, where, remedy=REMEDY), digest, where)


@lru_cache(maxsize=8)
def _read_at(file: Path, state: files.FileState, digest: str | None, where: str) -> _File:
    """Read a file once per process and state: blocks of a study ask for the same metric again and again."""
    raw = files.content(file, where, most=MAX_BYTES, remedy=REMEDY)
    files.refuse_change(digest_of(raw).hexdigest(), digest, where)
    return _File(where, _parse(files.text(raw, where), where))


def _parse(text: str, where: str) -> Section:
    content = document(text, where, REMEDY)
    lacks = f"{where} lacks the line `format: simlab fitted metric {schemas.FITTED}`; {REMEDY}"
    refuse_other_format(content, "metric", where, lacks)
    return dict(content)


def _section(file: _File, name: str) -> Section:
    section = file.content.get(name)
    if section is None:
        there = [known for known in _SECTIONS if file.content.get(known) is not None]
        parts = " or ".join(f"metric=fitted_{known}" for known in there)
        instead = f"choose {parts}" if parts else "it has no fitted section at all"
        raise InputError(f"{file.where} has no section {name}, which the data did not tell; {instead}")
    if not isinstance(section, Mapping):
        raise InputError(f"{file.where}: {name} must hold keys, not {_format_value(section)}")
    return section


def _check_keys(section: Section, where: str, keys: tuple[str, ...]) -> None:
    for key in section:
        if key not in keys:
            raise InputError(f"{where}: {_format_value(key)} is no key; {suggest(_format_value(key), keys, 'it has')}")


def _number(section: Section, where: str, name: str, low: float, high: float) -> float:
    if name not in section:
        raise InputError(f"{where}: {name} is missing; it must be a number from {low:g} to {high:g}")
    value = section[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{where}.{name}={_format_value(value)} must be a number from {low:g} to {high:g}")
    return float(value)


def _optional_number(section: Section, where: str, name: str) -> float | None:
    if section.get(name) is None:
        return None
    value = _number(section, where, name, 0, _MOST)
    if value == 0:
        raise InputError(f"{where}.{name}=0 must be above 0, or null where nothing differs")
    return value


def _matrix(section: Section, where: str, name: str) -> Floats:
    rows = section.get(name)
    right = isinstance(rows, list) and len(rows) == 3 and all(isinstance(row, list) and len(row) == 3 for row in rows)
    if not right or rows is None:
        raise InputError(f"{where}.{name} must have three rows of three numbers, outcomes in the order >, =, <")
    cells = {f"{name}[{i + 1}][{j + 1}]": cell for i, row in enumerate(rows) for j, cell in enumerate(row)}
    return np.array([_number(cells, where, cell, 0, _MOST) for cell in cells]).reshape(3, 3)


def _format_value(value: Any) -> str:
    """Write a value of a file in a message; lists that repeat themselves, or numbers of a million digits, in words."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _MOST:
        return "a number that large"
    if isinstance(value, str | int | float) or value is None:
        return clip("null" if value is None else str(value).lower() if isinstance(value, bool) else str(value), 40)
    return f"a {type(value).__name__}"
