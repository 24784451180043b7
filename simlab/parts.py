"""Find the function behind a `_target_`, and what its keys may be.

`resolve` returns the function of a dotted path, `bind` gives it the keys of its config section, and `model` validates
such a section. A part is a function `(rng, data, *, keywords)`: the keywords are its keys in the config and their
annotations the rules. The registry is closed: a config can name only functions that are defined in a module of a part
package, or of a package that the user named as a plug-in, so that no config can run anything else.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from types import ModuleType
from typing import Any, get_type_hints

from simlab.types import InputError

PACKAGES = ("simlab.world", "simlab.design", "simlab.analysis", "simlab.measures")

_PUBLIC_PATH = re.compile(r"[A-Za-z]\w*(\.[A-Za-z]\w*)+", re.ASCII)


def resolve(target: str, plugins: Sequence[str] = ()) -> Callable[..., Any]:
    """Return the part that a `_target_` names.

    Raises InputError unless it is a public function defined in the module that is named, and that module belongs to a
    part package; nothing outside these packages is imported.
    """
    module_name, _, name = target.rpartition(".") if isinstance(target, str) else ("", "", "")
    packages = (*PACKAGES, *plugins)
    if not _PUBLIC_PATH.fullmatch(target if module_name else "") or not _is_within(module_name, packages):
        raise InputError(f"_target_={target!r} names no part: a part is a public function in {', '.join(packages)}")
    part = vars(_module(module_name, target)).get(name)
    if not inspect.isfunction(part) or (part.__module__, part.__qualname__) != (module_name, name):
        raise InputError(f"_target_={target!r} names no part: {module_name} defines no function {name}")
    return part


def bind(section: Mapping[str, Any], plugins: Sequence[str] = ()) -> functools.partial[Any]:
    """Give the part of a config section its keys as keyword arguments."""
    keys = {key: value for key, value in section.items() if key != "_target_"}
    return functools.partial(resolve(section["_target_"], plugins), **keys)


def name_of(section: Mapping[str, Any]) -> str:
    """Return the short name of the part of a section, as users know it; empty where it holds none.

    >>> name_of({"_target_": "simlab.design.grouping.ungrouped"})
    'ungrouped'
    """
    return str(section.get("_target_", "")).rpartition(".")[2]


def name_target(part: Callable[..., Any]) -> str:
    """Return the `_target_` of a part; comparing it with that of a section tells the part without an import."""
    return f"{part.__module__}.{part.__qualname__}"


def is_own(section: Mapping[str, Any]) -> bool:
    """True if the part of a section is simlab's, not a plug-in's; nothing is imported to tell."""
    return _is_within(str(section.get("_target_", "")), PACKAGES)


def is_chosen(section: Mapping[str, Any], part: Callable[..., Any], plugins: Sequence[str] = ()) -> bool:
    """True if a section has chosen this part."""
    return "_target_" in section and resolve(section["_target_"], plugins) is part


def parameters(target: str, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Return the annotation of each key of a part: its keyword-only parameters."""
    part = resolve(target, plugins)
    keywords = [p for p in inspect.signature(part).parameters.values() if p.kind is p.KEYWORD_ONLY]
    try:
        hints = get_type_hints(part, include_extras=True)
    except NameError as error:
        raise InputError(f"{target}: an annotation cannot be read ({error}); import its names at run time") from error
    for parameter in keywords:
        if parameter.name not in hints:
            raise InputError(f"{target}: the keyword {parameter.name} has no annotation to say what it may be")
    return {parameter.name: hints[parameter.name] for parameter in keywords}


@functools.lru_cache(maxsize=256)
def read_data_type(part: Callable[..., Any]) -> Any:
    """Return the annotation of a part's second parameter, its data; None where it has none.

    >>> def mine(rng, total: float, *, keys: int): ...
    >>> read_data_type(mine)
    <class 'float'>
    """
    data = [
        name
        for name, parameter in inspect.signature(part).parameters.items()
        if parameter.kind is not parameter.KEYWORD_ONLY
    ][1:2]
    try:
        return get_type_hints(part).get(*data) if data else None
    except NameError:
        # What cannot be read names nothing of simlab's own; keys that cannot be read are refused elsewhere.
        return None


def model(target: str, plugins: Sequence[str] = ()) -> Any:
    """Derive the pydantic model (a TypeAdapter) of a part's section, without `_target_`, from its signature."""
    return _model_of_part(target, tuple(plugins))


def build_model(annotations: Mapping[str, Any]) -> Any:
    """Build the pydantic model (a TypeAdapter) of a mapping: strict types, finite numbers, exactly these keys."""
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict

    # A typed dict rather than a BaseModel: a key may have any name (`copy`, `json`), and the section stays a dict.
    build: Any = TypedDict
    keys = build("Keys", dict(annotations))
    keys.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    return TypeAdapter(keys)


@functools.lru_cache(maxsize=256)
def _model_of_part(target: str, plugins: tuple[str, ...]) -> Any:
    return build_model(parameters(target, plugins))


def _is_within(module_name: str, packages: Sequence[str]) -> bool:
    return any(module_name == package or module_name.startswith(package + ".") for package in packages)


def _module(name: str, target: str) -> ModuleType:
    if (loaded := sys.modules.get(name)) is not None:
        return loaded
    try:
        # What a module prints on the way is not the answer that stdout holds.
        with redirect_stdout(sys.stderr):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A module that exists but misses something it needs is another story than a name that does not exist.
        reason = f"there is no module {name}" if (error.name or "") in name else f"{name} needs {error.name}"
        raise InputError(f"_target_={target!r} names no part: {reason}") from error
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"_target_={target!r} cannot be used: importing {name} failed with {reason}") from error
