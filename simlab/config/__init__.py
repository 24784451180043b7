"""Declare studies: options of groups, values of keys, axes of sweeps; checked before anything runs.

A group (systems, raters, metric, ...) has options, YAML files conf/GROUP/OPTION.yaml; the config of a study is one
option of each. `compose` returns the config of one study, `compose_sweep` the `Sweep` of a grid of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlab.config.calculation import Calculation, compose_calculation
    from simlab.config.catalogue import bound_options, describe_sweep, list_options, list_sweeps, load_sweep
    from simlab.config.composing import RESERVED, compose, compose_sweep
    from simlab.config.failed_checks import accept_sweep
    from simlab.config.sweep import Axis, Cell, Config, Sweep, canonical_text

__all__ = [
    "RESERVED",
    "Axis",
    "Calculation",
    "Cell",
    "Config",
    "Sweep",
    "accept_sweep",
    "bound_options",
    "canonical_text",
    "compose",
    "compose_calculation",
    "compose_sweep",
    "describe_sweep",
    "list_options",
    "list_sweeps",
    "load_sweep",
]

_HOME = {
    **dict.fromkeys(("Calculation", "compose_calculation"), "calculation"),
    **dict.fromkeys(("bound_options", "describe_sweep", "list_options", "list_sweeps", "load_sweep"), "catalogue"),
    **dict.fromkeys(("RESERVED", "compose", "compose_sweep"), "composing"),
    "accept_sweep": "failed_checks",
    **dict.fromkeys(("Axis", "Cell", "Config", "Sweep", "canonical_text"), "sweep"),
}


def __getattr__(name: str) -> Any:
    """Import a name from its module on first use, so that a command that only lists options loads no more."""
    if name not in _HOME:
        raise AttributeError(f"module 'simlab.config' has no attribute {name!r}")
    return getattr(import_module(f"simlab.config.{_HOME[name]}"), name)
