"""Complete the config of a study by the defaults of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from simlab.config.groups import Options, find_options, folder, section_of
from simlab.types import QUESTION, InputError

NAMED = ("systems", "raters", "metric")
"""Sections that a study names itself: raters and metrics come with their systems."""


def with_defaults(
    config: Mapping[str, Any], plugins: Sequence[str] = (), question: str | None = None
) -> dict[str, Any]:
    """Return a config in which each key that it leaves out has the value that its kind of study has by default.

    A section of another part than the default one has its own keys, and is left as it is. `question` names the kind
    where the config does not; what is no study at all is left to be refused elsewhere. Raises InputError for a study
    that does not name its systems, raters or metric.
    """
    from simlab.studies.kinds import kind_of

    if question is None:
        try:
            question = kind_of({**config, "plugins": list(plugins)}).question
        except (LookupError, AttributeError, TypeError):
            return dict(config)
    filled, options = deepcopy(dict(config)), find_options(plugins)
    for where, default in _sections(options, question) if question in options[QUESTION] else ():
        *above, name = where.split(".")
        parent: Any = filled
        for section in above:
            parent = parent.get(section) if isinstance(parent, dict) else None
        if not isinstance(parent, dict):
            continue
        if where in NAMED and where not in filled:
            raise InputError(f"lacks {where}, which a study file names; `simlab show --config` prints a whole one")
        own: Any = filled
        if name:
            own = parent.get(name) if where in NAMED else parent.setdefault(name, deepcopy(dict(default)))
        if isinstance(own, dict) and own.get("_target_") == default.get("_target_") and where != "measure":
            own |= {key: deepcopy(default[key]) for key in default.keys() - own.keys()}
    return filled


def _sections(options: Options, question: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Give each section of a kind's default study, and before them the keys of the study as a whole ("")."""
    whole = {**section_of(folder("conf") / "study.yaml"), **section_of(options[QUESTION][question])}
    yield "", {key: value for key, value in whole.items() if key not in ("defaults", "plugins", QUESTION)}
    for entry in whole["defaults"]:
        for group, option in entry.items() if isinstance(entry, Mapping) else ():
            where = str(group).replace("/", ".")
            files = options[where]
            single = isinstance(option, str)
            yield where, section_of(files[option]) if single else {name: section_of(files[name]) for name in option}
