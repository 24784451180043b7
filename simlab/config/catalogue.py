"""List what there is: sweeps, groups, options, their keys and what these may be."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from simlab import parts
from simlab.config.groups import QUESTION, Options, find_options, folder
from simlab.config.sections import keys_of, rule
from simlab.config.sweepfile import Declared, is_path, load
from simlab.messages import or_nearest, shown
from simlab.types import InputError


def load_sweep(name: str) -> Declared:
    """Read a sweep by its name or from a file."""
    if is_path(name):
        return load(Path(name))
    files = _sweep_files()
    if name not in files:
        raise InputError(f"there is no sweep {shown(name)}; {or_nearest(name, files)} (`simlab list` names all)")
    return load(files[name])


def list_sweeps() -> dict[str, str]:
    """Return the first line of the aim of each sweep."""
    return {name: load(file).aim.partition("\n")[0] for name, file in _sweep_files().items()}


def list_options(plugins: Sequence[str] = ()) -> dict[str, tuple[str, ...]]:
    """Return the options of each group."""
    return {group: tuple(files) for group, files in find_options(plugins).items()}


def bound_options(group: str) -> dict[str, dict[str, Any]]:
    """Return the section of each option of a group."""
    return {name: dict(_section(file)) for name, file in find_options()[group].items()}


def describe(name: str, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Describe a sweep (by name or file), a group, or an option (`ungrouped` or `design.grouping=ungrouped`)."""
    if is_path(name) or name in _sweep_files():
        return describe_sweep(load_sweep(name))
    options = find_options(plugins)
    asked = [(group, option) for group in options for option in options[group]]
    found = [(g, o) for g, o in asked if name in (g, g.rpartition(".")[2], o, f"{g}={o}")]
    if not found:
        known = [*_sweep_files(), *options, *(option for _, option in asked)]
        raise InputError(f"there is nothing called {shown(name)}; {or_nearest(name, dict.fromkeys(known))}")
    return {f"{group}={option}": describe_option(group, options[group][option], plugins) for group, option in found}


def describe_sweep(declared: Declared) -> dict[str, Any]:
    """Return what a sweep file says, as plain data."""
    return {
        "name": declared.name,
        "aim": declared.aim,
        "axes": {setting.key: list(setting.values) for setting in declared.settings if setting.swept},
        "set": {setting.key: setting.values[0] for setting in declared.settings if not setting.swept},
        "measures": list(declared.measures),
        "figure": dict(declared.figure),
        "precision": dict(declared.precision),
        "quick": {setting.key: list(setting.values) for setting in declared.quick},
        "finding": declared.finding,
        "calculation": declared.calculation,
    }


def describe_option(group: str, file: Path, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Return what an option does and its keys, each with its value and its rule."""
    section = _section(file)
    where = f"{group}.{file.stem}" if group == "measure" else group
    rules = keys_of(section, where, plugins)
    does = inspect.getdoc(parts.resolve(section["_target_"], plugins)) if "_target_" in section else ""
    keys = {key: {"value": section.get(key), "rule": rule(annotation)} for key, annotation in rules.items()}
    return {"does": (does or "").partition("\n")[0], "keys": keys}


def keys_of_options(options: Options) -> dict[str, list[str]]:
    """Return the options that have a key, for each key that some option has."""
    owners: dict[str, list[str]] = {}
    for group, files in options.items():
        for option, file in files.items() if group != QUESTION else ():
            where = f"{group}.{option}" if group == "measure" else group
            for key in _section(file):
                if key != "_target_":
                    owners.setdefault(f"{where}.{key}", []).append(f"{group}={option}")
    return owners


def _sweep_files() -> dict[str, Path]:
    return {file.stem: file for file in sorted(folder("sweeps").glob("*.yaml"))}


def _section(file: Path) -> Mapping[str, Any]:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content if isinstance(content, Mapping) else {}
