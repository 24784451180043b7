"""Format a sweep as the text of a sweep file, YAML: the settings of its own file, and those that were typed.

`write` returns that of a sweep over studies, `write_calculation` that of a calculation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import yaml

from simlab.config import locating
from simlab.config.groups import find_options
from simlab.config.overrides import KeySetting
from simlab.config.precision_targets import DIFFERENCE, Until
from simlab.config.sweep import Config
from simlab.config.sweepfile import DESIGN, Declared
from simlab.messages import show

SIZES = ("worlds", "pools", "document_draws", "studies")
"""Keys of the numbers of worlds, pools, document draws and studies."""
_NAME = re.compile(r"[A-Za-z_][\w.]*", re.ASCII)


def write(declared: Declared, settings: Mapping[str, KeySetting], left_out: Collection[str], config: Config) -> str:
    """Return the text of a sweep file from a sweep as declared and the settings that were gathered for it.

    `left_out` are keys of kinds of studies that were not asked for; the text omits them. `config` is that of a cell: it
    holds the sizes that are used.
    """
    given = [setting for setting in settings.values() if setting.key not in left_out and setting.key != "measure"]
    swept = [setting for setting in given if setting.swept]
    fixed = {s.key: s.values[0] for s in given if not s.swept and s.key not in SIZES}
    sizes = {key: config[key] for key in SIZES if key in settings or config[key] != 1}
    linked = [list(setting.keys) for setting in swept if _is_linked(setting)]
    parts: dict[str, Any] = {
        "aim": declared.aim,
        "designs": dict(zip(s.values, s.sets, strict=True)) if (s := _design(swept)) else {},
        "options": {
            s.key: {name: values[s.key] for name, values in zip(s.values, s.sets, strict=True)}
            for s in swept
            if s.sets and s.key != DESIGN and not _is_linked(s)
        },
        "axes": {part.key: list(part.values) for s in swept if not s.sets or _is_linked(s) for part in s.spread()},
        "linked": linked,
        "only": declared.only.text if declared.only else "",
        "set": {**fixed, **sizes},
        "measures": settings["measure"].values[0] if "measure" in settings else list(declared.measures),
        "figure": dict(declared.figure),
        "precision": dict(declared.precision),
        "until": _write_until(declared.until) if declared.until else {},
        "locate": locating.write(declared.locate) if declared.locate else {},
    }
    return "\n".join(line for key, value in parts.items() if value for line in _lines(key, value)) + "\n"


def write_calculation(declared: Mapping[str, Any]) -> str:
    """Return the sweep file of a calculation as its store declares it; '' where no option of simlab makes it.

    `declared` has the keys `calculation` (its section, with `_target_`), `axes`, `aim`, `measures` and `figure`.
    """
    section: Mapping[str, Any] = declared["calculation"]
    options = {name: yaml.safe_load(file.read_bytes()) for name, file in find_options()["calculation"].items()}
    name = next((name for name, option in options.items() if option["_target_"] == section["_target_"]), None)
    if name is None:
        return ""
    axes = {axis["key"]: axis["values"] for axis in declared["axes"]}
    defaults = options[name]
    parts = {
        "aim": declared["aim"].rstrip(),
        "calculation": name,
        "axes": axes,
        "set": {key: value for key, value in section.items() if key not in axes and value != defaults[key]},
        "measures": declared["measures"],
        "figure": declared["figure"],
    }
    return "\n".join(line for key, value in parts.items() if value for line in _lines(key, value)) + "\n"


def _design(swept: Collection[KeySetting]) -> KeySetting | None:
    return next((setting for setting in swept if setting.sets and setting.key == DESIGN), None)


def _is_linked(setting: KeySetting) -> bool:
    """True if an axis is linked: its values are those of a key, not names that stand for what they set."""
    return len(setting.sets) > 0 and all(
        values.get(setting.key) == value for values, value in zip(setting.sets, setting.values, strict=True)
    )


def _write_until(until: Until) -> dict[str, Any]:
    end = {"at_most": f"{until.seconds:g}s"} if until.seconds else {"at_most": until.campaigns}
    targets = {
        f"{target.measure}:{DIFFERENCE}" if target.difference else target.measure: target.mcse
        for target in until.targets
    }
    return {"precision": targets, **{name: value for name, value in end.items() if value is not None}}


def _lines(key: str, value: Any) -> Iterator[str]:
    """Write a part of a file: texts of several lines and mappings in lines of their own, all else in one."""
    if isinstance(value, str) and "\n" in value:
        yield f"{key}: |-"
        yield from (f"  {line}".rstrip() for line in value.splitlines())
    elif isinstance(value, Mapping) and key not in ("figure", "precision"):
        yield f"{key}:"
        yield from (f"  {_value(inner)}: {_value(content)}" for inner, content in value.items())
    else:
        yield f"{key}: {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{_value(key)}: {_value(content)}' for key, content in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, str):
        return value if _NAME.fullmatch(value) and show(value, len(value)) == value else json.dumps(value)
    return json.dumps(value)
