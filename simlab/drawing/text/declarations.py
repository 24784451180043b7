"""Write the pages of `simlab show`: the sweeps and settings that there are, and what a sweep or a calculation declares.

`described` is the same declaration as data, from `simlab.config.describe_sweep`: aim, axes with their values, presets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from simlab.config.groups import Options, find_options
from simlab.drawing.text.tables import list_under_title
from simlab.messages import describe_replication, flatten, word
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.calculation import Calculation
    from simlab.config.sweep import Sweep


def inventory(aims: Mapping[str, str], options: Mapping[str, Sequence[str]]) -> str:
    """Return a list of sweeps with their aims, and of groups of settings with their options, each by name."""
    parts = [
        list_under_title("Sweeps: simlab sweep NAME", list(aims.items())),
        list_under_title("Settings: GROUP=OPTION", [[group, ", ".join(names)] for group, names in options.items()]),
        "`simlab show NAME` tells more about any of these names.",
    ]
    return "\n\n".join(parts)


def sweep(declared: Sweep, described: Mapping[str, Any]) -> str:
    """Return the aim, axes, size, precision and shared settings of a sweep as text."""
    size = f"{declared.n_cells} cells, each {describe_replication(declared.sizes)}"
    precision = ", ".join(f"{what}: {wanted}" for what, wanted in declared.precision.items())
    return _list_declaration(declared, described, size, [["precision", precision]] if precision else [], declared.base)


def calculation(declared: Calculation, described: Mapping[str, Any]) -> str:
    """Return the aim, axes and shared settings of a calculation as text."""
    fixed = {key: value for key, value in declared.section.items() if key not in described["axes"]}
    return _list_declaration(declared, described, "a calculation, without simulation", [], fixed)


def _list_declaration(
    declared: Sweep | Calculation,
    described: Mapping[str, Any],
    size: str,
    more: Sequence[Sequence[str]],
    shared: Mapping[str, Any],
) -> str:
    axes = [f"{key} = {_value(values)}" for key, values in described["axes"].items()]
    rows = [
        ["aim", described["aim"]],
        *(["" if k else "axes", axis] for k, axis in enumerate(axes)),
        *(
            [f"{axis} {name}", _preset({key: [value] for key, value in sets.items()})]
            for axis, names in described.get("named", {}).items()
            for name, sets in names.items()
        ),
        ["size", size],
        *([f"--preset {name}", _preset(preset)] for name, preset in described["presets"].items()),
        ["measures", ", ".join(declared.measures)],
        ["figure", ", ".join(f"{role}: {_role(what)}" for role, what in declared.figure.items())],
        *more,
        ["finding", declared.finding or "not run yet"],
    ]
    return f"{list_under_title(declared.name, rows)}\n\n{list_under_title('Settings of all cells', _settings(shared))}"


def _preset(preset: Mapping[str, Sequence[Any]]) -> str:
    """Write the settings of a preset; one value stands for itself.

    >>> _preset({"worlds": [25], "design.documents": [10, 20]})
    'worlds = 25, design.documents = 10, 20'
    """
    return ", ".join(f"{key} = {_value(values[0] if len(values) == 1 else values)}" for key, values in preset.items())


def _settings(base: Mapping[str, Any]) -> list[list[str]]:
    """List what all cells share; an option by the name that one types, without the measures, which the sweep names."""
    options = find_options()
    values = flatten({group: section for group, section in base.items() if group != "measure"})
    named = ((key.removesuffix("._target_"), key.endswith("_target_"), value) for key, value in values if value != [])
    return [[key, _option(key, value, base, options) if part else _value(value)] for key, part, value in named]


def _option(group: str, target: str, base: Mapping[str, Any], options: Options) -> str:
    """Name the option of a group that a section is; its part where no option has that."""
    from simlab.config.studyfile import find_option

    section: Any = base
    for name in group.split(".") if group in options else ():
        section = section[name]
    own = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
    try:
        return find_option(own, group, options[group])
    except (InputError, KeyError):
        return target.rpartition(".")[2]


def _role(what: Any) -> str:
    return " ".join(f"{name}={text}" for name, text in what.items()) if isinstance(what, Mapping) else str(what)


def _value(value: Any) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(_value(entry) for entry in value)
    return word(value)
