"""Answer what there is to run, and what can be set."""

from __future__ import annotations

from simlab.config import list_options, list_sweeps
from simlab.drawing.text import declarations


def answer() -> str:
    """List the sweeps with their aims, and every group of settings with its options."""
    return declarations.inventory(list_sweeps(), list_options())
