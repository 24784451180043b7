"""Find the performance measures that a sweep asks for, and all that there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simlab.parts import bind
from simlab.summaries import Measures


def measures_of(config: Mapping[str, Any]) -> Measures:
    """Bind the measures of a config to their settings."""
    return {name: bind(section, config.get("plugins", ())) for name, section in config["measure"].items()}


def all_measures() -> Measures:
    """Bind every measure that there is."""
    from simlab.config import bound_options

    return measures_of({"measure": bound_options("measure")})
