"""Answer what one design measures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from simlab.commands import launch
from simlab.config import compose_sweep


def answer(
    overrides: Sequence[str], *, out: Path | None, jobs: int | None, quick: bool, dry: bool, plugins: Sequence[str]
) -> launch.Launched:
    """Run what is missing of one cell, and return its measures."""
    sweep = compose_sweep(None, overrides, quick=quick, plugins=plugins)
    folder = launch.folder_of(None, overrides, out, quick=quick, plugins=plugins)
    return launch.simulate(sweep, folder, jobs, dry=dry)
