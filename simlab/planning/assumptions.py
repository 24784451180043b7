"""List what a plan takes for true of people, scores and prices, and how far each of these might be otherwise.

Plausible ranges of a fitted world are those of its pilot (5 to 95 % of the posterior). What presets assume has those of
the campaign that they are from where that tells, else half to twice as much, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simlab.planning.terms import Assumption

REACH = 3.0
"""A flip is looked for up to so many times the plausible range's length from the value, on the assumption's scale."""
FACTOR = 2.0
LEAST_SHARE = 0.05
"""A spread is not told from 0 below this share of its value, where distances are those of logarithms."""


class _Named(NamedTuple):
    """Hold a spread or a price that may be otherwise: how it is called, and what is said of it with its value."""

    name: str
    words: str
    unit: str


SPREADS: Mapping[str, _Named] = {
    "rater_system_sd": _Named("rater x system", "raters favour single systems by {:.2g} points", ""),
    "leniency_sd": _Named("leniency", "raters differ in leniency by {:.2g} points", ""),
    "residual_sd": _Named("own noise", "a rating's own noise is {:.2g} points", ""),
    "system_document_sd": _Named("system x document", "systems differ on single documents by {:.2g} points", ""),
}
WORK: Mapping[str, _Named] = {
    "design.collection.seconds_per_answer": _Named("speed", "a rating takes {:.0f} s", "s"),
    "design.collection.drop_out": _Named("drop-out", "in an hour of work {:.2g} of the people leave for good", "share"),
    "budget.price_per_rating": _Named("price", "a rating costs {:.2g}", "money"),
}
ESA = {"leniency_sd": (4.5, 12.8), "rater_system_sd": (1.5, 4.1), "residual_sd": (9.6, 10.7)}
"""90 % intervals of the campaign behind the preset, in points (conf/raters/esa.yaml); of noise less that of outputs."""


def of(config: Mapping[str, Any], unit: str) -> Iterator[Assumption]:
    """List the assumptions of a composed study: spreads of its world, then work and price."""
    systems = config["systems"]
    fitted = str(systems.get("_target_", "")).startswith("simlab.world.fitted.")
    yield from (_of_pilot(systems, unit) if fitted else _of_preset(config, unit))
    for key, named in WORK.items():
        value = _value(config, key)
        if isinstance(value, int | float) and value > 0:
            yield _by_factor(named, key, float(value), named.unit, "half to twice as much")


def _of_pilot(systems: Mapping[str, Any], unit: str) -> Iterator[Assumption]:
    if systems["path"] is None:
        return
    components = yaml.safe_load(Path(systems["path"]).read_text(encoding="utf-8")).get("components", {})
    for name, named in SPREADS.items():
        known = components.get(name, {})
        if "low" in known and "estimate" in known and known["high"] > known["low"]:
            low, value, high = (float(known[end]) for end in ("low", "estimate", "high"))
            yield _linear(named, f"systems.assumed_{name}", value, low, high, unit, "pilot")


def _of_preset(config: Mapping[str, Any], unit: str) -> Iterator[Assumption]:
    esa = config["raters"].get("leniency_sd") == 7.2
    for name, named in SPREADS.items():
        section = next((part for part in ("raters", "systems") if config[part].get(name)), None)
        if section is None:
            continue
        key, value = f"{section}.{name}", float(config[section][name])
        if esa and name in ESA:
            yield _linear(named, key, value, *ESA[name], unit, "the campaign behind the preset")
        else:
            yield _by_factor(named, key, value, unit, "half to twice as much")


def _linear(named: _Named, key: str, value: float, low: float, high: float, unit: str, source: str) -> Assumption:
    reach = REACH * (high - low)
    least, most = max(0.0, value - reach), value + reach
    return Assumption(named.name, key, value, low, high, least, most, False, named.words, unit, source)


def _by_factor(named: _Named, key: str, value: float, unit: str, source: str) -> Assumption:
    low, high = value / FACTOR, value * FACTOR
    least, most = value / FACTOR**REACH, value * FACTOR**REACH
    return Assumption(named.name, key, value, low, high, least, most, True, named.words, unit, source)


def _value(config: Mapping[str, Any], key: str) -> Any:
    held: Any = config
    for part in key.split("."):
        held = held.get(part) if isinstance(held, Mapping) else None
    return held
