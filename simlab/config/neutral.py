"""Tell which keys change nothing: those that came later and have the value that stands for how things were before."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from simlab.config.groups import folder, plugin_folder
from simlab.config.sections import SECTIONS, keys_of
from simlab.types import InputError

FILE = "neutral.yaml"


def without_neutral(config: Mapping[str, Any], plugins: Sequence[str] | None = None) -> dict[str, Any]:
    """Return a config without the keys that have their neutral value; the config itself stays as it is.

    `plugins` may have keys of their own (None: those that the config names).
    """
    return _without(config, neutral(tuple(config.get("plugins", ()) if plugins is None else plugins)))


def with_neutral(config: Mapping[str, Any], plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Return a config that was written down before some keys there were with these, each neutral."""
    filled = deepcopy(dict(config))
    for key, value in neutral(tuple(plugins)).items():
        *sections, name = key.split(".")
        section = functools.reduce(_inside, sections, filled)
        if not isinstance(section, dict) or name in section:
            continue
        # What is a section itself stands for a group of options.
        own = _is_group_of(config, key, plugins) if isinstance(value, Mapping) else None
        if own or (own is None and name in _keys(section, ".".join(sections), plugins)):
            section[name] = deepcopy(value)
    return filled


def _is_group_of(config: Mapping[str, Any], group: str, plugins: Sequence[str]) -> bool:
    """Tell whether the kind of a study has a group of options; what is no study is refused elsewhere."""
    from simlab.studies.questions import kind_of

    try:
        return group in SECTIONS or group in kind_of({**config, "plugins": list(plugins)}).groups
    except (InputError, LookupError, AttributeError, TypeError):
        return False


def _inside(section: Any, name: str) -> Any:
    return section.get(name) if isinstance(section, dict) else None


def _keys(section: Mapping[str, Any], where: str, plugins: Sequence[str]) -> Collection[str]:
    """Return the keys that a section may have; what is no part of an option at hand is refused elsewhere."""
    try:
        return keys_of({name: value for name, value in section.items() if not isinstance(value, dict)}, where, plugins)
    except InputError:
        return ()


@cache
def neutral(plugins: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """Return the neutral value of every key that has one: `{"design.documents": 40}`."""
    values: dict[str, Any] = {}
    for file in _files(plugins):
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not isinstance(content, Mapping):
            raise InputError(f"{file} must hold lines such as `design.documents: 40`, a key with its neutral value")
        values |= content
    return values


def _files(plugins: Sequence[str]) -> Iterator[Path]:
    for source in (folder("conf"), *map(plugin_folder, plugins)):
        if (source / FILE).is_file():
            yield source / FILE


def _without(config: Mapping[str, Any], values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in config.items():
        key = f"{where}{name}"
        if key in values and values[key] == value:
            continue
        kept[name] = _without(value, values, f"{key}.") if isinstance(value, Mapping) else value
    return kept
