"""Write composed configs as YAML: a study file of one cell, or the settings that the cells of a sweep share.

`study_file` is `simlab show --config`, `job` the `--cfg` of run and sweep; `separate_sweep` and `run_of` split the
words of a command line into a sweep, or study, and settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from simlab.messages import show
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.sweep import Sweep
    from simlab.config.sweepfile import Declared


def study_file(words: Sequence[str], plugins: Sequence[str] = ()) -> str:
    """Write the study file of the cell that NAME or FILE, if given first, and KEY=VALUE describe.

    Raises InputError where an axis is left open, and for whatever does not compose.
    """
    from simlab.config import compose_sweep
    from simlab.config.studyfile import write

    declared, overrides = separate_sweep(words, plugins)
    sweep = compose_sweep(declared, overrides, plugins=plugins)
    if several := [axis for axis in sweep.axes if len(axis.values) > 1]:
        keys = " and ".join(axis.key for axis in several)
        fixed = " ".join(f"{axis.key}={show(axis.values[0])}" for axis in several)
        raise InputError(f"{sweep.name} varies {keys}, and a study file holds one study; add for example {fixed}")
    return write(next(sweep.cells()).config)


def job(declared: Declared, overrides: Sequence[str], *, quick: bool, plugins: Sequence[str]) -> str:
    """Return the config that would be run: the study file of one cell, or what several share, axes in comments."""
    from simlab.config import compose_sweep
    from simlab.config.studyfile import write, write_yaml

    sweep = compose_sweep(declared, overrides, quick=quick, plugins=plugins)
    if sweep.n_cells == 1:
        return write(next(sweep.cells()).config)
    return "\n".join([*_axes(sweep), write_yaml(sweep.base)])


def _axes(sweep: Sweep) -> list[str]:
    return [f"# {axis.key}: {', '.join(show(value) for value in axis.values)}" for axis in sweep.axes]


def separate_sweep(words: Sequence[str], plugins: Sequence[str] = ()) -> tuple[Declared, list[str]]:
    """Separate a sweep or a file, if the words begin with one, from the settings behind it.

    Raises InputError for a name that no sweep has and for a file that is neither a sweep nor a study.
    """
    from simlab.config import load_sweep
    from simlab.config.plain_yaml import read_content
    from simlab.config.studyfile import load_study
    from simlab.config.sweepfile import RUN, is_path

    if not words or not is_first(words):
        return RUN, list(words)
    name, *overrides = words
    if is_path(name) and "simlab" in (read_content(Path(name)) or ()):
        return load_study(Path(name), overrides, plugins), overrides
    return load_sweep(name), overrides


def run_of(words: Sequence[str], *, multirun: bool, plugins: Sequence[str] = ()) -> tuple[Declared, list[str]]:
    """Separate a study file, if the words begin with one, from the settings; with `multirun` these may vary.

    Raises InputError for a word that is neither, and for a file that is no study.
    """
    from dataclasses import replace

    from simlab.config.catalogue import is_sweep
    from simlab.config.studyfile import load_study
    from simlab.config.sweepfile import MULTIRUN, RUN, is_path

    if not words or not is_first(words):
        return MULTIRUN if multirun else RUN, list(words)
    name, *overrides = words
    if not is_path(name) and is_sweep(name):
        raise InputError(f"{name} is a sweep; `simlab sweep {name}` carries it out")
    if not is_path(name):
        raise InputError(f"{show(name)} is neither a setting, KEY=VALUE, nor a study file; `simlab show` names sweeps")
    declared = load_study(Path(name), overrides, plugins)
    if multirun:
        declared = replace(declared, one_cell=False, command=("run", "--multirun", name))
    return declared, overrides


def is_first(words: Sequence[str]) -> bool:
    """True if words begin with a name or a file, not with a setting."""
    return ("=" not in words[0] and words[0][:1] not in ("+", "~")) or Path(words[0]).is_file()
