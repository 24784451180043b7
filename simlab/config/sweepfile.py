"""Read a sweep file: one YAML file per question, with axes, settings, a figure, and the claims of its finding.

Call `load` on a path, or `parse` on a text; both return a `Declared`, which `compose_sweep` composes. A value means the
same as behind `key=`; see `simlab.config.plain_yaml`. Claims are the numbers of the finding; `tests/published` reruns
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simlab.config import conditions, locating
from simlab.config.overrides import KeySetting, check_key, check_values, element, find_repeated, read
from simlab.config.plain_yaml import Plain, parse_value, parse_yaml, read_content
from simlab.config.precision_targets import Until, parse_until
from simlab.config.precision_targets import read as read_until
from simlab.messages import clip, show, suggest, word
from simlab.types import InputError

FIGURES = ("lines", "pairs", "tradeoff", "contours", "repetitions")
"""What a figure shows: a measure against an axis; the verdict about each pair; one measure against another; lines of
equal value over two axes; a measure for each sort of repetition."""
SCALES = ("linear", "log", "neg_log")
"""Scales of an axis of a figure."""
DESIGN = "design"
"""The axis whose values are the names of a file's designs."""
ONE_AT_A_TIME = "--one-at-a-time"
"""Option of the command line that keeps the cells that vary one axis at a time."""
QUICK = "quick"
"""The preset of every sweep: a first look."""
_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)
_KEYS = ("at", "measure", "value", "within")


@dataclass(frozen=True, slots=True)
class Declared:
    """Declaration of a sweep: the content of its file, or that of a command without a file.

    `command` are the words after `simlab` that ask for it; `one_cell` says that no key may have several values,
    `precise` that a user, not the file, asked for a precision,
    `located` for a crossing; `preset` is the one of its presets that was asked for.
    `named[axis][name]` are the keys that a name on an axis sets: the designs, and the named options of a key. `linked`
    are keys of axes that move together, `only` keeps cells. With `grows` what is typed of an axis is added to it, and
    `adapted` says which sizes were fitted to a table.
    """

    name: str
    aim: str = ""
    settings: tuple[KeySetting, ...] = ()
    quick: tuple[KeySetting, ...] = ()
    presets: Mapping[str, tuple[KeySetting, ...]] = field(default_factory=dict)
    measures: tuple[str, ...] = ()
    figure: Mapping[str, Any] = field(default_factory=dict)
    precision: Mapping[str, Any] = field(default_factory=dict)
    finding: str = ""
    claims: tuple[Claim, ...] = ()
    calculation: str = ""
    command: tuple[str, ...] = ()
    one_cell: bool = False
    preset: str = ""
    until: Until | None = None
    locate: locating.Locate | None = None
    precise: bool = False
    located: bool = False
    named: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict)
    linked: tuple[tuple[str, ...], ...] = ()
    only: conditions.Condition | None = None
    grows: bool = False
    adapted: str = ""


RUN = Declared("run", command=("run",), one_cell=True)
"""Declaration of `simlab run`: one study, all by default but for what is typed."""


MULTIRUN = Declared("run", command=("run", "--multirun"))
"""Declaration of `simlab run -m`: the grid of all keys that are typed with several values."""


def replace_until(declared: Declared, precision: str | None, at_most: str | None) -> Declared:
    """Return the declaration with a typed precision and end, if any, in place of those of its file.

    Raises InputError for a text that is none.
    """
    until = parse_until(precision, at_most, declared.until)
    if until is not None and declared.calculation:
        raise InputError(f"{declared.name} is calculated, without error; leave --precision out")
    return replace(declared, until=until, precise=declared.precise or precision is not None)


def replace_locate(declared: Declared, target: str | None, along: str | None) -> Declared:
    """Return the declaration with a typed crossing, if any, in place of that of its file.

    Raises InputError for a text that is none.
    """
    located = locating.choose_target(target, along, declared.locate)
    if located is not None and declared.calculation:
        raise InputError(f"{declared.name} is calculated, all of its grid at once; leave --locate out")
    return replace(declared, locate=located, located=declared.located or target is not None)


def keep_one_at_a_time(declared: Declared) -> Declared:
    """Keep the cells that vary one axis at a time; raise InputError where cells are chosen otherwise."""
    if declared.calculation:
        raise InputError(f"{declared.name} is calculated, all of its grid at once; leave {ONE_AT_A_TIME} out")
    if declared.locate is not None:
        raise InputError(f"--locate and {ONE_AT_A_TIME} choose cells, each in its way; leave one out")
    command = (*declared.command, ONE_AT_A_TIME)
    return replace(declared, only=conditions.narrow(declared.only), command=command)


def apply_preset(declared: Declared, preset: str | None) -> Declared:
    """Put the settings of a preset behind those of its file; raise InputError for a name that it does not have."""
    if preset is None:
        return declared
    if preset not in declared.presets:
        known = [QUICK, *declared.presets]
        raise InputError(f"--preset {show(preset)} is none of {declared.name}; {suggest(preset, known)}")
    own = declared.presets[preset]
    keys = {setting.key for setting in own}
    settings = (*(setting for setting in declared.settings if setting.key not in keys), *own)
    return replace(declared, settings=settings, preset=preset, command=(*declared.command, "--preset", preset))


def is_path(name: str) -> bool:
    """True if a sweep is named by its file, not by the name of a built-in one."""
    return Path(name).suffix in _SUFFIXES or "/" in name


def load(path: Path) -> Declared:
    """Read and check a sweep file; raise InputError, beginning with its path, for any mistake in it."""
    content = read_content(path)
    try:
        return replace(_parse_content(path.stem, content), command=("sweep", str(path)))
    except InputError as error:
        raise InputError(f"{clip(path, 200)}: {error}") from error


def parse(name: str, text: str) -> Declared:
    """Read a sweep, called `name`, from the text of a file; raise InputError for any mistake in it."""
    return _parse_content(name, parse_yaml(text))


def _parse_content(name: str, content: Any) -> Declared:
    if not isinstance(content, dict) or not content:
        raise InputError(f"holds no sweep; it needs the keys {', '.join(_READ)}")
    if "simlab" in content:
        raise InputError("is a study file, not a sweep; `simlab run FILE` carries it out, `simlab run -m` varies it")
    for key in content:
        if key not in _READ:
            raise InputError(f"{show(key)} is no key of a sweep; {suggest(key, _READ)}")
    linked = _parse_links("linked", content["linked"]) if "linked" in content else ()
    moved = {key for keys in linked for key in keys[1:]}
    axes = _axes("axes", content["axes"], moved) if "axes" in content else ()
    read_here = ("axes", "linked", "set", "designs", "options")
    given = {key: _READ[key](key, value) for key, value in content.items() if key not in read_here}
    named = {DESIGN: _designs("designs", content["designs"])} if "designs" in content else {}
    named |= _options("options", content["options"]) if "options" in content else {}
    if "calculation" in content and (named or linked or "only" in content):
        raise InputError("calculation goes through its whole grid; leave designs, options, linked and only out")
    axes = (*(_axis_of_names(key, names) for key, names in named.items() if key not in _keys(axes)), *axes)
    fixed = _parse_settings("set", content["set"]) if "set" in content else ()
    for key in _keys(fixed):
        if key in _keys(axes):
            raise InputError(f"{key} is an axis and is set, too; name it once")
    _check_linked(linked, [key for key in _keys(axes) if key not in named])
    check_cells(given.get("claims", ()), _keys(axes), given.get("measures", ()))
    _check_reference(given.get("figure", {}), axes)
    return Declared(name, settings=(*axes, *fixed), named=named, linked=linked, **given)


def _keys(settings: Sequence[KeySetting]) -> list[str]:
    return [setting.key for setting in settings]


def _axis_of_names(key: str, names: Mapping[str, Mapping[str, Any]]) -> KeySetting:
    return KeySetting(key, tuple(names), swept=True)


def _designs(key: str, value: Any) -> dict[str, dict[str, Any]]:
    """Read designs by name: what each sets, key by key."""
    designs = _parse_names(key, value, "documents: 30")
    return {
        name: {
            check_key(inner): parse_value(inner, content)
            for inner, content in _mapping(f"{key}.{name}", values).items()
        }
        for name, values in designs.items()
    }


def _options(key: str, value: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Read named values of keys: matrices and lists, which no axis holds, by the names that it does hold."""
    if not _mapping(key, value):
        raise InputError(f"{key} must hold lines such as `metric.mu: {{sharp: [[...]], blunt: [[...]]}}`")
    return {
        (full := check_key(inner)): {
            name: {full: parse_value(full, content)}
            for name, content in _parse_names(f"{key}.{inner}", named, "[...]").items()
        }
        for inner, named in value.items()
    }


def _parse_names(key: str, value: Any, example: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not value:
        raise InputError(f"{key} must hold names and what each stands for, such as `ours: {{{example}}}`")
    for name in value:
        if not _NAME.fullmatch(name):
            raise InputError(f"{key}.{show(name)} is no name; a name is letters, digits and _")
    return value


def _parse_links(key: str, value: Any) -> tuple[tuple[str, ...], ...]:
    """Read which axes move together, as lists of keys."""
    example = "[[design.documents, design.ratings_per_item]]"
    if (
        not isinstance(value, list)
        or not all(isinstance(group, list) and len(group) > 1 for group in value)
        or not value
    ):
        raise InputError(f"{key} must be lists of two or more axes that move together, such as {example}")
    if not all(isinstance(name, str) for group in value for name in group):
        raise InputError(f"{key} holds names of axes, such as {example}")
    linked = tuple(tuple(map(check_key, group)) for group in value)
    if twice := find_repeated(name for group in linked for name in group):
        raise InputError(f"{key} names {twice} twice; an axis moves with one list of others")
    return linked


def _check_linked(linked: Sequence[Sequence[str]], axes: Sequence[str]) -> None:
    for name in (name for group in linked for name in group):
        if name not in axes:
            raise InputError(f"linked names {show(name)}, which is no axis of this file; {suggest(name, axes)}")


def _prose(key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{key} must be a text")
    return value.strip()


def _names(key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(entry, str) for entry in value):
        raise InputError(f"{key} must be a list of names, such as [srp, kendall]")
    return tuple(map(str, value))


def _mapping(key: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{key} must hold lines such as `key: value`")
    return value


def _axes(key: str, value: Any, moved: Collection[str] = ()) -> tuple[KeySetting, ...]:
    """Read axes; those that are `moved` along with another may have a value twice."""
    mapping = _mapping(key, value)
    return tuple(_axis(check_key(name), content, again=name in moved) for name, content in mapping.items())


def _parse_settings(key: str, value: Any) -> tuple[KeySetting, ...]:
    return tuple(_set(check_key(name), content) for name, content in _mapping(key, value).items())


def _set(key: str, value: Any) -> KeySetting:
    return KeySetting(key, (parse_value(key, value),))


def _parse_quick(key: str, value: Any) -> tuple[KeySetting, ...]:
    """Read what is smaller in a quick look: several values are an axis, one value is just that."""
    return tuple(
        read(check_key(name), content) if isinstance(content, Plain) else _axis(check_key(name), content)
        for name, content in _mapping(key, value).items()
    )


def _presets(key: str, value: Any) -> dict[str, tuple[KeySetting, ...]]:
    """Read other sizes of a sweep by name, each as its quick look is read."""
    for name, content in _mapping(key, value).items():
        if not _NAME.fullmatch(name) or name == QUICK:
            raise InputError(f"{key}.{show(name)} names no preset; a name is letters, digits and _, and not {QUICK}")
        if not isinstance(content, dict) or not content:
            raise InputError(f"{key}.{name} must hold lines such as `worlds: 25`")
    return {name: _parse_quick(f"{key}.{name}", content) for name, content in value.items()}


def _axis(key: str, values: Any, *, again: bool = False) -> KeySetting:
    """Read a list of values, or a text as the command line has it: `a,b` or `range(...)`.

    With `again` the list may hold a value twice.
    """
    if isinstance(values, str):
        listed = read(key, values).values
    elif isinstance(values, list):
        listed = tuple(parse_value(key, value) for value in values)
    else:
        raise InputError(f"{key} must be a list of values, or text such as range(10,50,10)")
    check_values(key, tuple(dict.fromkeys(listed)) if again and all(map(_is_scalar, listed)) else listed)
    return KeySetting(key, listed, swept=True)


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, list)


def _roles(key: str, value: Any) -> dict[str, Any]:
    figure = ("kind", "x", "line", "measure", "against", "scale", "x_scale", "mark", "reference")
    roles = figure if key == "figure" else ("measure", "mcse")
    for role, content in _mapping(key, value).items():
        if role not in roles:
            raise InputError(f"{key}.{show(role)} is no key of a sweep; {suggest(role, roles)}")
        if not isinstance(content, str) and role != "reference":
            raise InputError(f"{key}.{role} must be one value")
    if key == "figure":
        read_as = {"mark": _mark, "reference": _reference}
        roles_of = {role: str(content) for role, content in value.items() if role not in read_as}
        return _check_figure(roles_of, value) | {role: read_as[role](value[role]) for role in value if role in read_as}
    return {role: _mcse(content) if role == "mcse" else str(content) for role, content in value.items()}


def _check_figure(figure: dict[str, str], given: Collection[str]) -> dict[str, Any]:
    """Check that the roles of a figure, all of those that are given, belong to its kind."""
    shows = figure.get("kind", "lines")
    if "reference" in given and shows != "lines":
        raise InputError(f"figure.reference is for kind: lines, and this figure is of kind {shows}; leave one out")
    for role, known in (("kind", FIGURES), ("scale", SCALES), ("x_scale", SCALES[:2])):
        if role in figure and figure[role] not in known:
            raise InputError(f"figure.{role}={show(figure[role])} is unknown; {suggest(figure[role], known)}")
    if "against" in figure and shows not in ("tradeoff", "contours"):
        raise InputError(
            f"figure.against is for kind: tradeoff or contours, and this figure is of kind {shows}; leave one out"
        )
    if shows == "contours" and not {"x", "line"} <= figure.keys():
        raise InputError("figure: kind contours needs two axes, `x: NAME` across and `line: NAME` upwards")
    if shows == "tradeoff" and not {"measure", "against"} <= figure.keys():
        raise InputError("figure: kind tradeoff needs two measures, `measure: NAME` upwards and `against: NAME` across")
    if shows == "pairs" and "scale" in figure:
        raise InputError("figure.scale is for lines and tradeoff; a figure of pairs shows no measure: leave it out")
    return figure


def _mark(text: str) -> float:
    value = element("figure.mark", text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"figure.mark={show(value)} must be a number, where a line is drawn across")
    return float(value)


def _reference(content: Any) -> dict[str, str]:
    """Read the design that every panel shows as a line to compare with: values of axes, as they are written."""
    if not isinstance(content, dict) or not content or not all(isinstance(text, str) for text in content.values()):
        raise InputError(
            "figure.reference must hold lines such as `grouping: pseudo_side_by_side`, a value for an axis"
        )
    return {str(name): str(text) for name, text in content.items()}


def _check_reference(figure: Mapping[str, Any], axes: Sequence[KeySetting]) -> None:
    """Raise InputError for a reference that is not one line of the grid."""
    reference = figure.get("reference", {})
    axis_by_name = {name: axis for axis in axes for name in (axis.key.rpartition(".")[2], axis.key.replace(".", "_"))}
    for name, text in reference.items():
        if name not in axis_by_name or name == figure.get("x"):
            raise InputError(f"figure.reference.{show(name)} is no axis beside x; {suggest(name, axis_by_name)}")
        values = [word(value) for value in axis_by_name[name].values]
        if text not in values:
            raise InputError(f"figure.reference.{name}={show(text)} is not on its axis; {suggest(text, values)}")
    if reference and figure.get("line") not in reference:
        raise InputError("figure.reference is one line; name the value of figure.line that it has, too")


def _mcse(text: str) -> float:
    value = element("precision.mcse", text)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise InputError(f"precision.mcse={show(value)} must be a number greater than 0")
    return float(value)


def claims(key: str, value: Any) -> tuple[Claim, ...]:
    """Read a list of claims; raise InputError for a malformed one."""
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{key} must be a list of claims, such as [{{at: {{...}}, measure: srp, value: 0.7, within: 0.05}}]"
        )
    return tuple(_claim(f"{key}[{k}]", content) for k, content in enumerate(value))


_READ: Mapping[str, Callable[[str, Any], Any]] = {
    "aim": _prose,
    "calculation": _prose,
    "designs": _designs,
    "options": _options,
    "axes": _axes,
    "linked": _parse_links,
    "only": conditions.read,
    "set": _parse_settings,
    "measures": _names,
    "figure": _roles,
    "precision": _roles,
    "until": read_until,
    "locate": locating.read,
    "quick": _parse_quick,
    "presets": _presets,
    "finding": _prose,
    "claims": claims,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One number of a finding: `measure` has `value`, up to `within`, in the cell that `at` names.

    `at` gives each axis one value, and may change further keys.
    """

    at: dict[str, Any]
    measure: str
    value: float
    within: float


def check_cells(listed: Collection[Claim], axes: Collection[str], measures: Collection[str] = ()) -> None:
    """Raise InputError for a claim that does not give each axis a value, or whose measure the sweep does not have."""
    for k, claim in enumerate(listed):
        if left := [axis for axis in axes if axis not in claim.at]:
            raise InputError(f"claims[{k}].at lacks {left[0]}, an axis of this sweep; a claim is about one cell")
        if measures and claim.measure not in measures:
            raise InputError(
                f"claims[{k}].measure={show(claim.measure)} is not measured by this sweep; "
                f"{suggest(claim.measure, measures)}"
            )


def _claim(where: str, content: Any) -> Claim:
    if not isinstance(content, dict):
        raise InputError(f"{where} must hold {', '.join(_KEYS)}")
    for key in content:
        if key not in _KEYS:
            raise InputError(f"{where}.{show(key)} is no key of a claim; {suggest(key, _KEYS)}")
    for key in _KEYS:
        if key not in content:
            raise InputError(f"{where}.{key} is missing; a claim has {', '.join(_KEYS)}")
    if not isinstance(content["at"], dict):
        raise InputError(f"{where}.at must hold lines such as `design.documents: 20`")
    if not isinstance(content["measure"], str):
        raise InputError(f"{where}.measure must be the name of a measure")
    at = {check_key(key): parse_value(f"{where}.at.{key}", value) for key, value in content["at"].items()}
    within = _number(f"{where}.within", content["within"])
    if within <= 0:
        raise InputError(f"{where}.within={within} must be greater than 0; how far may the number lie off?")
    return Claim(at, str(content["measure"]), _number(f"{where}.value", content["value"]), within)


def _number(where: str, text: Any) -> float:
    value = parse_value(where, text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}={show(value)} must be a number")
    return float(value)
