"""List the sweeps, groups and options that simlab ships or plug-ins add, with their keys.

`list_sweeps` and `list_options` return names, `load_sweep` reads a sweep, `match_options` finds options by a name.
`plugins` are names of packages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from simlab.config.groups import LOADER, Options, find_options, folder, read_section
from simlab.config.sweepfile import Declared, is_path, load
from simlab.messages import show, suggest
from simlab.types import QUESTION, InputError


def is_sweep(name: str) -> bool:
    """True if a sweep has this name; files are named by their paths."""
    return is_path(name) or name in _sweep_files()


def load_sweep(name: str) -> Declared:
    """Read a sweep by its name or from a file; raise InputError where there is none or it is malformed."""
    if is_path(name):
        return load(Path(name))
    files = _sweep_files()
    if name not in files:
        raise InputError(f"there is no sweep {show(name)}; {suggest(name, files)} (`simlab show` names all)")
    return replace(_read_shipped(files[name]), command=("sweep", name))


def list_sweeps() -> dict[str, str]:
    """Return the first line of the aim of each sweep that comes with simlab, by its name."""
    # The rest of a sweep takes a hundred times as long to read.
    sweeps = {name: yaml.load(file.read_bytes(), LOADER) for name, file in _sweep_files().items()}  # noqa: S506
    return {name: str(sweep["aim"]).strip().partition("\n")[0] for name, sweep in sweeps.items()}


def list_options(plugins: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the names of options by group; raise InputError for a plug-in that is none."""
    return {group: tuple(files) for group, files in find_options(plugins).items()}


def bound_options(group: str) -> dict[str, dict[str, Any]]:
    """Return the keys and values of each option of a group, by the option's name."""
    return {name: dict(read_section(file)) for name, file in find_options()[group].items()}


def match_options(name: str, plugins: Sequence[str] = ()) -> list[tuple[str, Path]]:
    """Return group and file of the options that a name stands for: a group, an option, or `group=option`."""
    options = find_options(plugins)
    return [
        (group, file)
        for group, files in options.items()
        for option, file in files.items()
        if name in (group, group.rpartition(".")[2], option, f"{group}={option}", f"{group}.{option}")
    ]


def describe_sweep(declared: Declared) -> dict[str, Any]:
    """Return a declared sweep as plain data; `named` has the keys that each name on an axis sets, if any."""
    named = {axis: {name: dict(sets) for name, sets in names.items()} for axis, names in declared.named.items()}
    return {
        **({"named": named} if named else {}),
        "name": declared.name,
        "aim": declared.aim,
        "axes": {setting.key: list(setting.values) for setting in declared.settings if setting.swept},
        "set": {setting.key: setting.values[0] for setting in declared.settings if not setting.swept},
        "measures": list(declared.measures),
        "figure": dict(declared.figure),
        "precision": dict(declared.precision),
        "quick": {setting.key: list(setting.values) for setting in declared.quick},
        "presets": {
            name: {setting.key: list(setting.values) for setting in preset} for name, preset in declared.presets.items()
        },
        "finding": declared.finding,
        "claims": [asdict(claim) for claim in declared.claims],
        "calculation": declared.calculation,
    }


def keys_of_options(options: Options) -> dict[str, list[str]]:
    """Return, for each full key (raters.noise), the options that have it, as GROUP=OPTION."""
    owners: dict[str, list[str]] = {}
    for group, files in options.items():
        for option, file in files.items() if group != QUESTION else ():
            where = f"{group}.{option}" if group == "measure" else group
            for key in read_section(file):
                if key != "_target_":
                    owners.setdefault(f"{where}.{key}", []).append(f"{group}={option}")
    return owners


@cache
def _read_shipped(file: Path) -> Declared:
    """Read a sweep that comes with simlab, once: nobody edits it while simlab runs."""
    return load(file)


def _sweep_files() -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder("sweeps").glob("*.yaml"))}
