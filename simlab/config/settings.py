"""Gather what is asked of a study: what the sweep file sets, what is typed, and who wins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from simlab.config import recorded
from simlab.config.groups import Options, check_option, group_of
from simlab.config.overrides import Setting, first_repeated, parse
from simlab.config.questions import kinds_among
from simlab.config.sweep import NO_NUMBER
from simlab.config.sweepfile import Declared
from simlab.messages import in_quotes, shown
from simlab.types import InputError

Settings = dict[str, Setting]
"""What is said about each key; axes in their order."""

QUICK = (Setting("worlds", (2,)), Setting("studies", (20,)))
"""A first look at a sweep that does not say what its own would be."""


def gather(
    declared: Declared, overrides: Sequence[str], quick: bool, options: Options, plugins: Sequence[str] = ()
) -> Settings:
    """Merge a sweep file with what was typed; raise InputError for what can be told to be wrong without composing."""
    typed = _typed(overrides)
    preset = (declared.quick or QUICK) if quick else ()
    settings: Settings = {}
    for setting in (*declared.settings, *preset):
        _place(settings, setting)
    asked = [*{**settings, **{setting.key: setting for setting in typed}}.values()]
    for setting in asked:
        _check(setting, options)
    kinds = kinds_among(asked, options, plugins)
    placed = [recorded.with_raters(settings, typed, kind) for kind in kinds]
    # Where kinds have other raters, each cell is given its own as it is composed.
    for setting in placed[0] if all(other == placed[0] for other in placed) else typed:
        _drop_keys_of_other_option(settings, setting, options)
        _place(settings, setting)
    for setting in settings.values():
        _check(setting, options)
    return settings


def is_axis_of_options(setting: Setting, options: Options) -> bool:
    """Tell an axis whose values name options from one whose values are patched in."""
    return setting.swept and setting.key in options


def _typed(overrides: Sequence[str]) -> list[Setting]:
    """Read what was typed, each key once."""
    settings = [_all_of_them(s) if s.key == "measure" else s for s in map(parse, overrides)]
    if twice := first_repeated(setting.key for setting in settings):
        raise InputError(f"{twice} is given twice; give it once")
    for setting, text in zip(settings, overrides, strict=True):
        if setting.swept and setting.key.endswith("path"):
            _check_paths(setting, text.partition("=")[2])
    return settings


def _check_paths(setting: Setting, text: str) -> None:
    """Refuse a path that fell apart at its commas."""
    missing = [str(value) for value in setting.values if not Path(str(value)).exists()]
    if missing:
        raise InputError(
            f"{setting.key}={shown(text)} names several files, and there is no file {shown(missing[0])}; "
            f"if it is one path, write {in_quotes(setting.key, text)}"
        )


def _place(settings: Settings, setting: Setting) -> None:
    """Let a setting replace an earlier one; an axis stays an axis, in its place, even with one value."""
    if setting.key == "measure":
        setting = _all_of_them(setting)
    if setting.key in settings and settings[setting.key].swept:
        settings[setting.key] = replace(setting, swept=True)
    else:
        settings.pop(setting.key, None)
        settings[setting.key] = setting


def _all_of_them(measures: Setting) -> Setting:
    """Take `measure=a,b` for `measure=[a,b]`: every measure is taken of the same outcomes, so this is no axis."""
    names = [name for value in measures.values for name in (value if isinstance(value, list) else [value])]
    if not names:
        raise InputError("measure=[] leaves nothing to measure; name at least one")
    return replace(measures, values=(names,), swept=False)


def _drop_keys_of_other_option(settings: Settings, chosen: Setting, options: Options) -> None:
    """Forget what a file sets within the option it chose where another option is typed."""
    # Whoever picks from the file's own options means them as the file has them.
    if chosen.key in settings and all(value in settings[chosen.key].values for value in chosen.values):
        return
    inside = [key for key in settings if key != chosen.key == group_of(key, options)]
    for key in inside:
        if not settings[key].swept:
            del settings[key]


def _check(setting: Setting, options: Options) -> None:
    head = setting.key.partition(".")[0]
    if head == "plugins":
        raise InputError("plugins is set by naming packages: --plugins PACKAGE")
    if setting.swept and head in ("seed", *NO_NUMBER):
        raise InputError(f"{setting.key} cannot be an axis: {_why_no_axis(head)}; give it one value")
    if setting.key in options:
        names = setting.values[0] if setting.key == "measure" else setting.values
        for name in names:
            check_option(setting.key, name, options)


def _why_no_axis(head: str) -> str:
    if head == "seed":
        return "all cells share their random numbers, so that designs meet the same worlds"
    if head in ("worlds", "pools", "document_draws", "studies"):
        return "all cells have the same worlds, pools, draws of documents and studies"
    return "it changes no outcome of a study"


def several(settings: Iterable[Setting]) -> Setting | None:
    """Find a setting with more than one value."""
    return next((setting for setting in settings if len(setting.values) > 1), None)
