"""Write a fit as the file of a fitted world: YAML that people can read and `systems=fitted` takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab import files
from simlab.fitting.mqm.fast import Fit
from simlab.fitting.mqm.pilot import Pilot
from simlab.types import Array
from simlab.world.files.fitted_world import FORMAT, SINGLE

POPULATION = ("mean_score", "system_sd", "leniency_sd", "severity_sd")
PER_UNIT = ("system_mean", "leniency", "severity", "sharpness", "punctuation")
INTERVAL = (0.025, 0.5, 0.975)


def content(
    fit: Fit, *, table: Path | None, not_identified: Sequence[str], speeds: Mapping[str, Any]
) -> dict[str, Any]:
    """Put together what the file says; numbers keep five digits."""
    pilot = fit.pilot
    return {
        "format": FORMAT,
        "about": _about(pilot, table),
        "method": fit.method,
        **({"diagnosis": dict(fit.diagnosis)} if fit.diagnosis else {}),
        "not_identified": list(not_identified),
        "estimates": estimates(fit),
        "systems": list(pilot.system_names),
        "raters": list(pilot.rater_names),
        "minor_weight": _short(pilot.minor_weight),
        "major_weight": _short(pilot.major_weight),
        "document_sizes": np.bincount(pilot.document).tolist(),
        "seats": [list(seats) for seats in sorted(set(pilot.seats))],
        **({"speeds": dict(speeds)} if speeds else {}),
        "draws": draws(fit),
    }


def draws(fit: Fit) -> dict[str, Any]:
    """Return every parameter of every draw, by name."""
    columns: dict[str, Any] = {name: [_row(getattr(one, name)) for one in fit.effects] for name in PER_UNIT}
    columns |= {name: [_short(getattr(one, name)) for one in fit.effects] for name in SINGLE}
    return columns | {name: [_short(getattr(one, name)) for one in fit.population] for name in POPULATION}


def estimates(fit: Fit) -> dict[str, dict[str, float]]:
    """Summarise the draws of single numbers: median and 95 % interval."""
    named = {name: np.array([getattr(one, name) for one in fit.effects]) for name in SINGLE}
    named |= {name: np.array([getattr(one, name) for one in fit.population]) for name in POPULATION}
    return {
        name: dict(zip(("low", "estimate", "high"), map(_short, np.quantile(column, INTERVAL)), strict=True))
        for name, column in named.items()
    }


def write(path: Path, held: Mapping[str, Any]) -> None:
    """Write the file, in one step, so that nobody reads half of it."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    head = "# A fitted world, made by `simlab fit`; use it with systems=fitted systems.path=THIS_FILE.\n"
    text = yaml.dump(dict(held), Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    part = path.with_name(path.name + ".part")
    part.write_text(head + text, encoding="utf-8")
    part.replace(path)


def _about(pilot: Pilot, table: Path | None) -> dict[str, Any]:
    source: dict[str, Any] = {"table": "built-in" if table is None else table.name}
    if table is not None:
        source["sha256"] = files.digest(table)
    return source | {
        "ratings": len(pilot.score),
        "systems": pilot.n_systems,
        "documents": pilot.n_documents,
        "segments": len(pilot.document),
        "raters": pilot.n_raters,
        "errors_counted": pilot.counted,
    }


def _row(values: Array) -> list[float]:
    return [_short(value) for value in values]


def _short(value: float) -> float:
    return float(f"{value:.5g}")
