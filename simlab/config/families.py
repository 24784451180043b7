"""Tell the kinds of studies apart: each has its own file of defaults.

`conf/study.yaml` declares a study in which raters rate documents, `conf/preferences.yaml` one in which outputs of two
systems are compared, `conf/judgements.yaml` one in which single outputs are judged and a metric joins in. An option
says by what its part returns which of them it belongs to; an option of several leaves it to the others.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_type_hints

import yaml

from simlab import parts
from simlab.config.groups import Options, folder
from simlab.config.overrides import Setting
from simlab.messages import shown
from simlab.types import InputError

RATINGS, PREFERENCES, JUDGEMENTS = "study", "preferences", "judgements"
KINDS = (RATINGS, PREFERENCES, JUDGEMENTS)

_RETURNED = {
    "Contest": (PREFERENCES, JUDGEMENTS),
    "PreferenceWorld": (PREFERENCES,),
    "Verdicts": (PREFERENCES,),
    "JudgementWorld": (JUDGEMENTS,),
    "Outputs": (RATINGS,),
}
_PLAIN = {
    ("decision", "significance"): (RATINGS, JUDGEMENTS),
    ("design", "protocol"): (PREFERENCES,),
    ("design", "default"): (RATINGS,),
    ("design", "judgements"): (JUDGEMENTS,),
    ("budget", "annotations"): (PREFERENCES,),
    ("budget", "default"): (RATINGS,),
    ("budget", "judgements"): (JUDGEMENTS,),
}
_GROUPS = {
    "design.grouping": RATINGS,
    "analysis.normalization": RATINGS,
    "analysis.test": RATINGS,
    "analysis.reference": PREFERENCES,
    "analysis.estimator": JUDGEMENTS,
}


def family(settings: Iterable[Setting], options: Options, plugins: Sequence[str]) -> str:
    """Return the kind of study (the name of its file of defaults) that the chosen options belong to.

    Where they leave it open, it is the kind that has one of them among its defaults, else the first that is possible.
    Raises InputError where no kind has them all.
    """
    possible, said = set(KINDS), ""
    home = []
    for setting in settings:
        if setting.key not in options or setting.key == "measure":
            continue
        for option in setting.values:
            of = set(_families_of(setting.key, str(option), options, plugins))
            choice = f"{setting.key}={shown(option)}"
            if not possible & of:
                raise InputError(f"{said} belongs to {_named(possible)}, {choice} to {_named(of)}; choose one")
            said = choice if len(possible & of) < len(possible) or not said else said
            possible &= of
            home += [kind for kind in KINDS if _defaults(kind).get(setting.key) == option]
    return next((kind for kind in (*home, *KINDS) if kind in possible), RATINGS)


def _named(kinds: set[str]) -> str:
    """Name kinds of studies as users know them."""
    names = {RATINGS: "ratings", PREFERENCES: "preferences", JUDGEMENTS: "judgements"}
    return "studies of " + " or ".join(names[kind] for kind in KINDS if kind in kinds)


def _families_of(group: str, option: str, options: Options, plugins: Sequence[str]) -> tuple[str, ...]:
    if group in _GROUPS:
        return (_GROUPS[group],)
    file = options[group].get(option)
    target = _target(file) if file else None
    if target is None:
        return _PLAIN.get((group, option), KINDS)
    returned = getattr(get_type_hints(parts.resolve(target, plugins)).get("return"), "__name__", "")
    # A whole world comes from a table, which can be rated anew or compared; a metric of one is of ratings.
    return (RATINGS,) if (group, returned) == ("metric", "World") else _RETURNED.get(returned, KINDS)


@functools.cache
def _defaults(kind: str) -> dict[str, str]:
    """Return the option of each group that a kind of study has unless another is chosen."""
    content = yaml.safe_load((folder("conf") / f"{kind}.yaml").read_text(encoding="utf-8"))
    listed = [entry for entry in content["defaults"] if isinstance(entry, dict)]
    return {key.replace("/", "."): value for entry in listed for key, value in entry.items() if isinstance(value, str)}


def _target(file: Path) -> str | None:
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content.get("_target_") if isinstance(content, dict) else None
