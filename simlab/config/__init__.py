"""Declare studies: options of groups, values of keys, axes of sweeps; checked before anything runs."""

from simlab.config.calculation import Calculation, compose_calculation
from simlab.config.catalogue import bound_options, describe_sweep, list_options, list_sweeps, load_sweep
from simlab.config.composing import RESERVED, compose, compose_sweep
from simlab.config.reserved import accepted
from simlab.config.sweep import Axis, Cell, Config, Sweep, canonical

__all__ = [
    "RESERVED",
    "Axis",
    "Calculation",
    "Cell",
    "Config",
    "Sweep",
    "accepted",
    "bound_options",
    "canonical",
    "compose",
    "compose_calculation",
    "compose_sweep",
    "describe_sweep",
    "list_options",
    "list_sweeps",
    "load_sweep",
]
