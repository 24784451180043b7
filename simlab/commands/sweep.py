"""Answer what a grid of designs measures, by simulation or, where that is enough, by calculation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands import launch
from simlab.commands.notes import note
from simlab.commands.typed import Launched
from simlab.config import accepted, compose_calculation, compose_sweep

if TYPE_CHECKING:
    from simlab.config.sweepfile import Declared
    from simlab.drawing.text.tables import Form


def answer(
    name: str,
    declared: Declared,
    overrides: Sequence[str],
    *,
    out: Path | None,
    jobs: int | None,
    quick: bool,
    dry: bool,
    plugins: Sequence[str],
    form: Form = "table",
    keep: launch.Keep | None = None,
    allow_version: bool = False,
    force: bool = False,
    shard: str | None = None,
) -> Launched:
    """Run what is missing of a sweep, and return its finding; of a shard what it came to."""
    part = launch.part_of(shard, declared)
    if declared.calculation:
        return _calculate(name, declared, overrides, out, quick=quick, dry=dry, form=form, keep=keep)
    sweep = accepted(compose_sweep(declared, overrides, quick=quick, plugins=plugins), force=force)
    changed = [*overrides, *([f"--preset={declared.preset}"] if declared.preset else [])]
    folder = launch.folder_of(name, changed, out, quick=quick, plugins=plugins, precise=declared.precise, shard=part)
    return launch.simulate(sweep, folder, jobs, dry=dry, form=form, keep=keep, allow_version=allow_version, shard=part)


def _calculate(
    name: str,
    declared: Declared,
    overrides: Sequence[str],
    out: Path | None,
    *,
    quick: bool,
    dry: bool,
    form: Form,
    keep: launch.Keep | None,
) -> Launched:
    calculation = compose_calculation(declared, overrides, quick=quick)
    folder = launch.folder_of(name, overrides, out, quick=quick, plugins=[])
    if dry:
        from simlab.drawing.text.forecast import calculated

        return Launched(calculated(math.prod(len(axis.values) for axis in calculation.axes), folder))
    for line in launch.carry_out(calculation, folder, None):
        note(line)
    return launch.finding(folder, form, keep)
