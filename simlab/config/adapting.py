"""Adapt the sizes of a sweep (documents, ratings per item) to the recorded table that its studies are drawn from.

Call `adapt_sizes`; it returns settings with sizes that the table has. Sizes in a sweep file are meant for drawn worlds
and are lowered; sizes that a user typed are kept, and refused elsewhere where the table lacks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from simlab.config.overrides import KeySetting
from simlab.config.recorded_worlds import OPTION
from simlab.config.settings import Settings
from simlab.config.sweep import Config, put
from simlab.messages import word
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.studies.kind import Kind

SIZES = ("design.documents", "design.ratings_per_item")
"""Keys that a table limits; no table is read where a sweep sets neither."""


def adapt_sizes(settings: Settings, composed: Iterable[Config], kind: Kind) -> tuple[Settings, str]:
    """Return settings with sizes that the table has, also put into the configs `composed`, and a line on the changes.

    Values above the largest that the table allows are replaced by it, once. Nothing is adapted, and the line is empty,
    where tables differ from cell to cell or cannot be read.
    """
    systems = settings.get("systems")
    if systems is None or set(systems.values) != {OPTION} or "systems.path" in _list_swept(settings):
        return settings, ""
    if all(settings[key].typed for key in SIZES if key in settings):
        return settings, ""
    configs = list(composed)
    adapted, lines = dict(settings), []
    for key, most in _find_limits(configs, kind).items():
        setting = settings.get(key)
        if setting is None or setting.typed or setting.sets or all(value <= most for value in _numbers(setting)):
            continue
        adapted[key] = replace(setting, values=_fit(setting.values, most))
        if not setting.swept:
            for config in configs:
                put(config, key, most)
        lines.append(f"{key}={_join_words(adapted[key].values)} in place of {_join_words(setting.values)}")
    return adapted, f"sizes are those that the table has: {'; '.join(lines)}" if lines else ""


def _list_swept(settings: Settings) -> list[str]:
    return [key for setting in settings.values() if setting.swept for key in setting.keys]


def _find_limits(configs: Sequence[Config], kind: Kind) -> dict[str, int]:
    """Return the greatest value that every cell can have of each size; none of a table that is refused later."""
    from simlab.studies.worlds import draw_world

    least: dict[str, int] = {}
    try:
        for config in configs:
            for key, most in kind.limits(config, draw_world(config, 0)).items():
                least[key] = min(most, least.get(key, most))
    except InputError:
        return {}
    return {key: most for key, most in least.items() if most > 0}


def _numbers(setting: KeySetting) -> list[Any]:
    return [value for value in setting.values if isinstance(value, int | float)]


def _fit(values: Sequence[Any], most: int) -> tuple[Any, ...]:
    """Drop values beyond the most; it takes their place, once.

    >>> _fit((10, 20, 40, 80), 38), _fit((10, 38, 60), 38)
    ((10, 20, 38), (10, 38))
    """
    kept = [min(value, most) if isinstance(value, int | float) else value for value in values]
    return tuple(dict.fromkeys(kept))


def _join_words(values: Sequence[Any]) -> str:
    return ",".join(map(word, values))
