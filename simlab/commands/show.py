"""Answer what a sweep declares, or what a setting does and may be."""

from __future__ import annotations

from simlab.config import compose_calculation, compose_sweep, describe, load_sweep
from simlab.drawing.text import declarations


def answer(name: str) -> str:
    """Show what a sweep declares and what its cells share, or what a setting does and which keys it has."""
    described = describe(name)
    if described.get("calculation"):
        return declarations.calculation(compose_calculation(load_sweep(name)), described)
    if "axes" in described:
        return declarations.sweep(compose_sweep(name), described)
    return declarations.options(described)
