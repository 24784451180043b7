"""Answer what one design measures, or with `multirun` a grid of designs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.commands import launch
from simlab.commands.typed import Launched
from simlab.config import accepted, compose_sweep
from simlab.config.sweepfile import MULTIRUN, RUN

if TYPE_CHECKING:
    from simlab.config.sweepfile import Declared
    from simlab.drawing.text.tables import Form


def answer(
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
    """Run what is missing of the cells that are declared, and return their measures; of a shard what it came to."""
    part = launch.part_of(shard, declared)
    sweep = accepted(compose_sweep(declared, overrides, quick=quick, plugins=plugins), force=force)
    name = None if declared.command in (RUN.command, MULTIRUN.command) else declared.name
    folder = launch.folder_of(name, overrides, out, quick=quick, plugins=plugins, precise=declared.precise, shard=part)
    return launch.simulate(sweep, folder, jobs, dry=dry, form=form, keep=keep, allow_version=allow_version, shard=part)
