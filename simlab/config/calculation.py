"""Compose a calculation: a sweep whose cells need no simulation, so that thousands of them are one call.

Call `compose_calculation` on a sweep file as read; it returns a `Calculation`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from simlab.config import groups
from simlab.config.overrides import KeySetting, check_values, find_repeated, parse
from simlab.config.sections import MOST_SETTINGS, checked_value, refuse_many
from simlab.config.sweep import Axis
from simlab.config.sweepfile import Declared
from simlab.messages import show, suggest
from simlab.types import InputError


@dataclass(frozen=True, slots=True)
class Calculation:
    """Grid of settings: `section` is the config of its part, with `_target_`, less the keys that are axes.

    `aim` and `finding` are the file's sentences, `figure` its roles, `command` the command line that asks for it.
    """

    name: str
    aim: str
    section: Mapping[str, Any]
    axes: tuple[Axis, ...]
    measures: tuple[str, ...]
    figure: Mapping[str, Any]
    finding: str
    command: str


def compose_calculation(declared: Declared, overrides: Sequence[str] = (), *, quick: bool = False) -> Calculation:
    """Compose a calculation from a sweep file that declares one, and from `overrides`, KEY=VALUE as typed.

    `quick` takes the sizes of a first look. Raises InputError for everything that a user can mend.
    """
    options = groups.find_options()["calculation"]
    groups.check_option("calculation", declared.calculation, {"calculation": options})
    section: dict[str, Any] = yaml.safe_load(options[declared.calculation].read_text(encoding="utf-8"))
    typed = [parse(text) for text in overrides]
    if twice := find_repeated(setting.key for setting in typed):
        raise InputError(f"{twice} is given twice; give it once")
    settings: dict[str, KeySetting] = {}
    measures = declared.measures
    for setting in (*declared.settings, *(declared.quick if quick else ()), *typed):
        if setting.key == "measure":
            measures = _names(setting)
            continue
        swept = setting.swept or (setting.key in settings and settings[setting.key].swept)
        settings[setting.key] = KeySetting(setting.key, _convert_values(section, setting), swept)
    refuse_many({s.key: len(s.values) for s in settings.values() if s.swept}, MOST_SETTINGS, "settings")
    axes = tuple(Axis(s.key, s.key, check_values(s.key, s.values)) for s in settings.values() if s.swept)
    fixed = {setting.key: setting.values[0] for setting in settings.values() if not setting.swept}
    _check_figure(replace(declared, measures=measures), [axis.name for axis in axes])
    words = ["simlab", "sweep", declared.name, *overrides, *(["--quick"] if quick else [])]
    return Calculation(
        declared.name,
        declared.aim,
        section | fixed,
        axes,
        measures,
        declared.figure,
        declared.finding,
        shlex.join(words),
    )


def _names(setting: KeySetting) -> tuple[str, ...]:
    """Return the measures that were typed; the part says which there are."""
    names = setting.values[0]
    if setting.swept or not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise InputError("measure must be a list of names, such as measure=[measurable_difference,joint_difference]")
    return tuple(dict.fromkeys(names))


def _convert_values(section: Mapping[str, Any], setting: KeySetting) -> tuple[Any, ...]:
    try:
        return tuple(checked_value({"calculation": section}, f"calculation.{setting.key}", v) for v in setting.values)
    except KeyError:
        keys = [key for key in section if key != "_target_"]
        wrong = f"{show(setting.key)} is no key of this calculation; {suggest(setting.key, keys)}"
        raise InputError(wrong) from None
    except InputError as error:
        raise InputError(str(error).removeprefix("calculation.")) from error


def _check_figure(declared: Declared, names: Sequence[str]) -> None:
    if not declared.measures or not names:
        raise InputError(f"{declared.name}: a calculation names its measures and at least one axis")
    for role, known in (("x", names), ("line", names), ("measure", declared.measures), ("against", declared.measures)):
        if role in declared.figure and declared.figure[role] not in known:
            wrong = declared.figure[role]
            raise InputError(f"figure.{role}={show(wrong)} is not in {declared.name}; {suggest(wrong, known)}")
