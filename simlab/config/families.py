"""Tell studies of ratings from studies of preferences: each kind has its own file of defaults.

`conf/study.yaml` declares a study in which outputs are rated one by one, `conf/preferences.yaml` one in which outputs
of two systems are compared. An option says by what its part returns which of the two it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_type_hints

import yaml

from simlab import parts
from simlab.config.advice import shown
from simlab.config.groups import Options
from simlab.config.overrides import Setting
from simlab.types import InputError

RATINGS, PREFERENCES = "study", "preferences"

_RETURNED = {"Contest": PREFERENCES, "PreferenceWorld": PREFERENCES, "Verdicts": PREFERENCES, "Outputs": RATINGS}
_PLAIN = {("decision", "significance"): RATINGS, ("design", "protocol"): PREFERENCES, ("design", "default"): RATINGS}


def family(settings: Iterable[Setting], options: Options, plugins: Sequence[str]) -> str:
    """Return the kind of study (the name of its file of defaults) that the chosen options belong to.

    Raises InputError where they belong to both.
    """
    found: dict[str, str] = {}
    for setting in settings:
        if setting.key not in options or setting.key == "measure":
            continue
        for option in setting.values:
            if kind := _family_of(setting.key, str(option), options, plugins):
                found.setdefault(kind, f"{setting.key}={shown(option)}")
    if len(found) > 1:
        ratings, preferences = found[RATINGS], found[PREFERENCES]
        raise InputError(
            f"{ratings} belongs to studies of ratings, {preferences} to studies of preferences; choose one"
        )
    return next(iter(found), RATINGS)


def _family_of(group: str, option: str, options: Options, plugins: Sequence[str]) -> str | None:
    if group.startswith(("design.grouping", "analysis.normalization", "analysis.test")):
        return RATINGS
    file = options[group].get(option)
    target = _target(file) if file else None
    if target is None:
        return _PLAIN.get((group, option))
    returned = get_type_hints(parts.resolve(target, plugins)).get("return")
    return _RETURNED.get(getattr(returned, "__name__", ""))


def _target(file: Path) -> str | None:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content.get("_target_") if isinstance(content, dict) else None
