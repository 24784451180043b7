"""Write down what a fit to comparisons found, as `systems=fitted_preferences` reads it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from simlab import files, schemas
from simlab.fitting.preferences.checks import PreferenceChecks
from simlab.fitting.preferences.fitting import SPREADS, PreferenceFit
from simlab.fitting.preferences.pilot import Pilot
from simlab.types import Floats

INTERVAL = (0.05, 0.95)


def components(fit: PreferenceFit) -> dict[str, dict[str, Any]]:
    """Return 90 % intervals of what makes comparisons differ; what the pilot says nothing about is marked as assumed.

    `equal_outputs_tie` is the share of draws between equal outputs, `ties / (ties + 2)`; the others are spreads.
    """
    said = {name: _interval(fit.spreads[name]) for name in SPREADS}
    for name in fit.unknown:
        said[name]["assumed"] = True
    return {"equal_outputs_tie": _interval(fit.ties / (fit.ties + 2)), **said}


def _interval(values: Floats) -> dict[str, Any]:
    low, middle, high = np.quantile(values, (INTERVAL[0], 0.5, INTERVAL[1]))
    return {"low": _short(low), "estimate": _short(middle), "high": _short(high)}


def _short(value: float) -> float:
    return float(f"{value:.5g}")


def content(fit: PreferenceFit, checks: PreferenceChecks | None = None, table: Path | None = None) -> dict[str, Any]:
    """Return the content of the file; without `checks` it does not say whether the law fits."""
    pilot = fit.pilot
    held: dict[str, Any] = {**schemas.head_of_fitted("preferences"), "about": about(pilot, table)}
    if checks is not None:
        held["checks"] = checks.content()
    return held | {
        "not_identified": list(fit.not_identified),
        "components": components(fit),
        "systems": list(pilot.system_names),
        "raters": list(pilot.rater_names),
        "whole_items": whole_items(pilot),
        "draws": _draws(fit),
    }


def about(pilot: Pilot, table: Path | None) -> dict[str, Any]:
    """Say which table was fitted to, and how large it is."""
    where = {} if table is None else {"table": table.name, "sha256": files.digest(table)}
    return where | {
        "comparisons": len(pilot.outcome),
        "systems": pilot.n_systems,
        "items": pilot.n_items if pilot.item_known else None,
        "raters": pilot.n_raters or None,
    }


def whole_items(pilot: Pilot) -> bool:
    """Say whether one rater made all comparisons of an item, where items have several."""
    raters_of_items = len(np.unique(np.stack([pilot.item, pilot.rater]), axis=1).T)
    return pilot.n_raters > 0 and raters_of_items == pilot.n_items < len(pilot.item)


def _draws(fit: PreferenceFit) -> Mapping[str, Any]:
    raters = {"sharpness": fit.sharpness, "rater_ties": fit.rater_ties, "taste": fit.taste}
    every = {"strength": fit.strength, "ties": fit.ties, **fit.spreads, **raters}
    return {name: _rounded(values) for name, values in every.items()}


def _rounded(values: Floats) -> Any:
    """Keep five digits: more say nothing, and make the file long."""
    digits = 4 - np.floor(np.log10(np.maximum(np.abs(values), 1e-6)))
    scale = 10.0**digits
    return (np.round(values * scale) / scale).tolist()
