"""Read a sweep: one YAML file per question.

YAML and the command line disagree about what `1e-3`, `010`, `yes` or `~` are. Here a value in a file means what it
means behind `key=`: a plain scalar is read by the override grammar, a quoted one is text. Anchors, tags and repeated
keys are refused, so that a file says what it seems to say.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from simlab import files
from simlab.config.overrides import Setting, check_key, check_values, element, plain, read
from simlab.messages import legible, or_nearest, shown
from simlab.types import InputError

MAX_BYTES = 1_000_000
KINDS = ("lines", "pairs", "tradeoff", "contours")
"""What a figure shows: a measure against an axis; the verdict about each pair; one measure against another; lines of
equal value over two axes."""
SCALES = ("linear", "log", "neg_log")
_SUFFIXES = (".yaml", ".yml")


class Plain(str):
    """Mark a scalar that stands in a file without quotes."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold what a sweep file says."""

    name: str
    aim: str = ""
    settings: tuple[Setting, ...] = ()
    quick: tuple[Setting, ...] = ()
    measures: tuple[str, ...] = ()
    figure: Mapping[str, str] = field(default_factory=dict)
    precision: Mapping[str, Any] = field(default_factory=dict)
    finding: str = ""
    calculation: str = ""


def is_path(name: str) -> bool:
    """Tell a file from the name of a built-in sweep."""
    return Path(name).suffix in _SUFFIXES or "/" in name


def load(path: Path) -> Declared:
    """Read and check a sweep file; complaints begin with its path."""
    where = legible(path, 200)
    text = files.text(files.content(path, where, most=MAX_BYTES, remedy="name a YAML file"), where)
    try:
        return _declared(path.stem, _parse(text))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def _parse(text: str) -> Any:
    try:
        return _content(_Loader(text).get_single_node())
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"is not valid YAML{line} ({' '.join(str(error.problem).split())})") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError("is not valid YAML") from error


class _Loader(yaml.SafeLoader):
    """Compose nodes, but nothing that stands for something else."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise InputError(f"line {event.start_mark.line + 1}: anchors and aliases are not used; write the value")
        if event.tag:
            raise InputError(f"line {event.start_mark.line + 1}: tags such as {shown(event.tag)} are not used")
        return super().compose_node(parent, index)


def _content(node: Any) -> Any:
    """Turn nodes into mappings, lists and texts, with every key once."""
    if isinstance(node, yaml.ScalarNode):
        if "${" in node.value:
            raise InputError(f"line {node.start_mark.line + 1}: ${{...}} is not filled in; write the value itself")
        return Plain(node.value) if node.style is None else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_content(entry) for entry in node.value]
    content: dict[str, Any] = {}
    for name, value in node.value if node else ():
        key = name.value if isinstance(name, yaml.ScalarNode) else "[...]"
        if key in content:
            raise InputError(f"line {name.start_mark.line + 1}: the key {shown(key)} appears twice")
        content[key] = _content(value)
    return content


def _declared(name: str, content: Any) -> Declared:
    if not isinstance(content, dict) or not content:
        raise InputError(f"holds no sweep; it needs the keys {', '.join(_READ)}")
    for key in content:
        if key not in _READ:
            raise InputError(f"{shown(key)} is no key of a sweep; {or_nearest(key, _READ)}")
    given = {key: _READ[key](key, value) for key, value in content.items()}
    axes, fixed = given.pop("axes", ()), given.pop("set", ())
    for setting in fixed:
        if setting.key in {axis.key for axis in axes}:
            raise InputError(f"{setting.key} is an axis and is set, too; name it once")
    return Declared(name, settings=(*axes, *fixed), **given)


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


def _axes(key: str, value: Any) -> tuple[Setting, ...]:
    return tuple(_axis(check_key(name), content) for name, content in _mapping(key, value).items())


def _fixed(key: str, value: Any) -> tuple[Setting, ...]:
    return tuple(_set(check_key(name), content) for name, content in _mapping(key, value).items())


def _set(key: str, value: Any) -> Setting:
    return Setting(key, (_value(key, value),))


def _quick(key: str, value: Any) -> tuple[Setting, ...]:
    """Read what is smaller in a quick look: several values are an axis, one value is just that."""
    return tuple(
        read(check_key(name), content) if isinstance(content, Plain) else _axis(check_key(name), content)
        for name, content in _mapping(key, value).items()
    )


def _axis(key: str, values: Any) -> Setting:
    """Read a list of values, or a text as the command line has it: `a,b` or `range(...)`."""
    if isinstance(values, str):
        listed = read(key, values).values
    elif isinstance(values, list):
        listed = tuple(_value(key, value) for value in values)
    else:
        raise InputError(f"{key} must be a list of values, or text such as range(10,50,10)")
    return Setting(key, check_values(key, listed), swept=True)


def _value(key: str, value: Any) -> Any:
    """Read a value as it would be read behind `key=`; quoted text stays as it is."""
    if isinstance(value, list):
        return [_value(key, entry) for entry in value]
    return element(key, value) if isinstance(value, Plain) else plain(key, value)


def _roles(key: str, value: Any) -> dict[str, Any]:
    figure = ("kind", "x", "line", "measure", "against", "scale", "x_scale", "mark")
    roles = figure if key == "figure" else ("measure", "mcse")
    for role, content in _mapping(key, value).items():
        if role not in roles:
            raise InputError(f"{key}.{shown(role)} is no key of a sweep; {or_nearest(role, roles)}")
        if not isinstance(content, str):
            raise InputError(f"{key}.{role} must be one value")
    if key == "figure":
        roles_of = {role: str(content) for role, content in value.items() if role != "mark"}
        marked = {"mark": _mark(value["mark"])} if "mark" in value else {}
        return _consistent(roles_of) | marked
    return {role: _mcse(content) if role == "mcse" else str(content) for role, content in value.items()}


def _consistent(figure: dict[str, str]) -> dict[str, str]:
    """Check that the roles of a figure belong to its kind."""
    kind = figure.get("kind", "lines")
    for role, known in (("kind", KINDS), ("scale", SCALES), ("x_scale", SCALES[:2])):
        if role in figure and figure[role] not in known:
            raise InputError(f"figure.{role}={shown(figure[role])} is unknown; {or_nearest(figure[role], known)}")
    if "against" in figure and kind not in ("tradeoff", "contours"):
        raise InputError(
            f"figure.against is for kind: tradeoff or contours, and this figure is of kind {kind}; leave one out"
        )
    if kind == "contours" and not {"x", "line"} <= figure.keys():
        raise InputError("figure: kind contours needs two axes, `x: NAME` across and `line: NAME` upwards")
    if kind == "tradeoff" and not {"measure", "against"} <= figure.keys():
        raise InputError("figure: kind tradeoff needs two measures, `measure: NAME` upwards and `against: NAME` across")
    if kind == "pairs" and "scale" in figure:
        raise InputError("figure.scale is for lines and tradeoff; a figure of pairs shows no measure: leave it out")
    return figure


def _mark(text: str) -> float:
    value = element("figure.mark", text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"figure.mark={shown(value)} must be a number, where a line is drawn across")
    return float(value)


def _mcse(text: str) -> float:
    value = element("precision.mcse", text)
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise InputError(f"precision.mcse={shown(value)} must be a number greater than 0")
    return float(value)


_READ: Mapping[str, Callable[[str, Any], Any]] = {
    "aim": _prose,
    "calculation": _prose,
    "axes": _axes,
    "set": _fixed,
    "measures": _names,
    "figure": _roles,
    "precision": _roles,
    "quick": _quick,
    "finding": _prose,
}
