"""Check the config of a study: which keys a section has, what they may be, how many cells a grid has.

`check` takes a config and returns it in the types of its rules. A part is the function that a section names as
`_target_`: the section's keys are its keywords. Keys of sections without a part are written down here, once. A number
of systems, raters or metric may be a law instead, such as uniform(0.1,0.5), from which each world draws its own.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le, Predicate

from simlab import parts
from simlab.messages import clip, quote_override, show, suggest
from simlab.studies import drawn_keys
from simlab.studies.drawn_keys import POSTERIOR, AnyLaw, PosteriorDraws, is_call, read_law, takes_number
from simlab.types import InputError
from simlab.types.bounds import Count

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "true or false",
    list: "a list",
    tuple: "a list",
    NoneType: "null",
}
_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "multiple_of": "a multiple of", "min_length": "of length >="}
UNITS = {"MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
"""Bytes of a unit of memory."""
_LAWS_OF_PARTS = {"mqm_raters": "mqm"}
"""Laws of parts that are not named by them."""
RANGE = "range"
"""In place of a number: each world draws it from the range that the presets name."""
LEAST = 512 * 10**6
"""Bytes of memory that a worker needs at least: for the libraries that it loads, and to compute with."""
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(MB|GB|MiB|GiB)", re.ASCII)
MOST_CELLS = 200_000
"""Most cells of a grid. A cell takes a millisecond to check and some kilobytes: this many take minutes and a gigabyte.
"""
MOST_SETTINGS = 2_000_000
"""Settings of a calculation, which cost microseconds and no config of their own."""


class Study(TypedDict):
    """Keys of the study as a whole."""

    seed: Annotated[int, Ge(0)]
    worlds: Count
    pools: Count
    document_draws: Count
    studies: Count
    plugins: list[str]


class Engine(TypedDict):
    """Keys of how the work is carried out; they change no number."""

    block: Count
    retries: Annotated[int, Ge(0), Le(1000)]
    jobs: Count | None
    outcomes: bool
    block_seconds: Annotated[float, Ge(1), Le(10_000_000)] | None
    worker_memory: Size | None
    backend: Literal["loky", "dask"]
    scheduler: str | None
    scheduler_seconds: Annotated[float, Ge(1), Le(10_000_000)]


class Bare(TypedDict):
    """No keys of its own: the section only holds parts, or is empty."""


SECTIONS: Mapping[str, tuple[type, ...]] = {
    "": (Study,),
    "raters": (Bare,),
    "design.collection": (Bare,),
    "metric": (Bare,),
    "analysis": (Bare,),
    "measure": (Bare,),
    "engine": (Engine,),
}
"""Sections without a part that every kind of study has; kinds add their own."""


def list_sections(where: str, plugins: Sequence[str] = ()) -> tuple[type, ...]:
    """List the TypedDicts of the keys that a section without a part may have: of every kind, then of single kinds."""
    from simlab.studies.kinds import kinds

    own = [kind.sections[where] for kind in kinds(plugins) if where in kind.sections]
    return (*SECTIONS.get(where, ()), *dict.fromkeys(own))


def section_keys(section: Mapping[str, Any], where: str, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keys that a section may have, with their annotations; raise InputError where it should name a part."""
    if "_target_" in section:
        return parts.parameters(section["_target_"], plugins)
    sections = list_sections(where, plugins)
    if not sections:
        raise InputError(f"{where} names no part: its YAML file lacks the line `_target_: ...`")
    # Of the kinds of studies that have such a section it is of the one that has most of its keys.
    hints = [get_type_hints(form, include_extras=True) for form in sections]
    return max(hints, key=lambda keys: len(keys.keys() & section.keys()))


def check(config: Mapping[str, Any], where: str = "", plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Check a section and all below it; return it with numbers in the types that the rules name (1 -> 1.0).

    Raises InputError for a key that is missing or unknown, and for a value that its rule does not allow.
    """
    below = {key: value for key, value in config.items() if isinstance(value, Mapping)}
    own = {key: value for key, value in config.items() if key not in below}
    checked = {key: check(value, f"{where}.{key}".lstrip("."), plugins) for key, value in below.items()}
    return _check_own(own, where, tuple(plugins)) | checked


def checked_value(config: Mapping[str, Any], key: str, value: Any, plugins: Sequence[str] = ()) -> Any:
    """Check a value for a key (with dots) of a config; return it in the type that its rule names.

    Raises KeyError where the config has no such key, InputError for a value that its rule does not allow.
    """
    where, _, name = key.rpartition(".")
    for part in where.split(".") if where else ():
        config = config[part]
        if not isinstance(config, Mapping):
            raise KeyError(key)
    own = {key: entry for key, entry in config.items() if not isinstance(entry, Mapping)}
    if name not in own:
        raise KeyError(key)
    return _check_own(own | {name: value}, where, tuple(plugins))[name]


def _check_own(section: Mapping[str, Any], where: str, plugins: tuple[str, ...]) -> dict[str, Any]:
    from pydantic import ValidationError

    target = section.get("_target_")
    model = parts.model(target, plugins) if target else _model_of_section(where, tuple(section), plugins)
    own = {key: value for key, value in section.items() if key != "_target_"}
    laws = _laws(own, section, where, plugins)
    checked: dict[str, Any] = {}
    # A law is checked at both of its ends; what lies between them is allowed where both are.
    for end in range(2 if laws else 1):
        reached = {name: law.ends[end] for name, law in laws.items()}
        try:
            # Through JSON, where a list is good for a tuple and yet nothing else is converted.
            checked = model.dump_python(model.validate_json(json.dumps(own | reached)), mode="json")
        except ValidationError as error:
            rules, first = section_keys(section, where, plugins), error.errors(include_url=False)[0]
            if (name := str(first["loc"][0])) in laws:
                raise InputError(_describe_excess(f"{where}.{name}", laws[name], reached[name], rules[name])) from error
            raise InputError(_line(first, own, where, rules)) from error
    return ({"_target_": target} if target else {}) | checked | {name: str(law) for name, law in laws.items()}


def _laws(
    own: Mapping[str, Any], section: Mapping[str, Any], where: str, plugins: tuple[str, ...]
) -> dict[str, AnyLaw]:
    """Read the laws from which worlds draw a key; raise InputError for what is written as one and is none."""
    calls = [name for name, value in own.items() if is_call(value) or value == RANGE]
    rules = section_keys(section, where, plugins) if calls else {}
    laws = {}
    for name in calls:
        key = f"{where}.{name}".lstrip(".")
        if where in drawn_keys.SECTIONS and takes_number(rules.get(name)):
            text = _law_of_range(key, where, section) if own[name] == RANGE else own[name]
            file = drawn_keys.name_file(text)
            laws[name] = read_law(key, text) if file is None else _read_draws(key, file, section)
    return laws


def _read_draws(key: str, file: str, section: Mapping[str, Any]) -> PosteriorDraws:
    """Return a fitted file's draws of a key; raise InputError for a file without it, and of a law in other units."""
    from simlab.world.files.fitted_world import read_draws

    typed, name, part = f"{key}={POSTERIOR}({file})", key.rpartition(".")[2], section.get("_target_", "")
    if not file:
        raise InputError(f"{typed} names no file; write {drawn_keys.FORMS[POSTERIOR]}, with what `simlab fit` wrote")
    draws = read_draws(file, name, typed)
    law = section.get("law") or _LAWS_OF_PARTS.get(part.rpartition(".")[2], part.rpartition(".")[2])
    if draws.law != law:
        raise InputError(
            f"{typed}: the file is a fit of the law {draws.law}, whose numbers are in other units than this key's, of "
            f"the law {law}; choose systems and raters of the law {draws.law}, or fit the table with --law {law}"
        )
    return PosteriorDraws(draws.digest[:12], draws.values)


def _law_of_range(key: str, where: str, section: Mapping[str, Any]) -> str:
    """Write the law that is uniform over the range of a preset's key; raise InputError for a key without one."""
    # What explains keys reads their rules here.
    from simlab.config.explaining import find_ranges

    ranges, name = find_ranges(where, section.get("_target_", "")), key.rpartition(".")[2]
    if name not in ranges:
        known = (
            f", or take one of {', '.join(f'{where}.{known_name}' for known_name in sorted(ranges))}" if ranges else ""
        )
        raise InputError(f"{key}={RANGE}: its preset names no range of it; write {drawn_keys.HOW}{known}")
    low, high = ranges[name]
    return f"uniform({low},{high})"


def _describe_excess(key: str, law: AnyLaw, reached: float, annotation: Any) -> str:
    """Describe how a law exceeds the range of its key, and suggest one that stays within."""
    more = "narrow it"
    if isinstance(law, PosteriorDraws):
        more = "give a number, or uniform(A,B)"
    elif law.name == "normal" and reached < law.first and law.first > 0:
        more = f"lognormal({law.first:g},{law.second / law.first:.3g}) stays above 0, uniform(A,B) between its ends"
    elif law.name != "uniform":
        more = "uniform(A,B) stays between its ends"
    return f"{key}={law.label} reaches {reached:.3g}, and must be {rule(annotation)}; {more}"


@functools.cache
def _model_of_section(where: str, keys: tuple[str, ...], plugins: tuple[str, ...]) -> Any:
    return parts.build_model(section_keys(dict.fromkeys(keys), where, plugins))


def _line(error: Mapping[str, Any], own: Mapping[str, Any], where: str, rules: Mapping[str, Any]) -> str:
    """Turn a complaint into one line: where, value, rule."""
    name = str(error["loc"][0])
    key = f"{where}.{name}".lstrip(".")
    if error["type"] == "missing":
        return f"{key} has no value: the YAML file of {where or 'the study'} must give one"
    if error["type"] == "extra_forbidden":
        return f"{key} is no key: {suggest(name, rules)}"
    text = f"{key}={show(own[name])} must be {rule(rules[name])}"
    if error["type"] == "string_type" and isinstance(own[name], bool | int | float):
        text += f"; as a text it is written {quote_override(key, show(own[name]))}"
    if is_call(own[name]) and own[name].startswith(tuple(drawn_keys.FORMS)):
        text += "; worlds draw numbers of systems, raters and metric that are no counts"
    return text


def rule(annotation: Any) -> str:
    """Return in words the values that an annotation allows.

    >>> from annotated_types import Lt
    >>> rule(Annotated[float, Ge(0), Lt(1)] | None), rule(Literal["fresh", "potential"])
    ('a number >= 0 and < 1 or null', 'fresh or potential')
    """
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated and isinstance(inside[-1], Said):
        return inside[-1].words
    if origin is Annotated:
        bounds = " and ".join(
            f"{sign} {getattr(mark, name)}"
            for mark in inside[1:]
            for name, sign in _BOUNDS.items()
            if hasattr(mark, name)
        )
        return f"{rule(inside[0])} {bounds}".strip()
    if origin is Literal:
        return " or ".join(show(value) for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(rule(part) for part in inside)
    if origin in (list, tuple):
        return f"a list, each entry {rule(inside[0])}"
    return _WORDS.get(annotation, str(annotation))


@dataclass(frozen=True, slots=True)
class Said(Predicate):
    """Predicate of a value with a description in words of the values that pass."""

    words: str = ""


def parse_bytes(size: str) -> int:
    """Return the bytes of a size, 0 where it is none.

    >>> parse_bytes("1.5GB"), parse_bytes("512MiB"), parse_bytes("4 gigs")
    (1500000000, 536870912, 0)
    """
    match = _SIZE.fullmatch(size)
    return round(float(match[1]) * UNITS[match[2]]) if match else 0


def _is_enough(size: str) -> bool:
    return parse_bytes(size) >= LEAST


Size = Annotated[str, Said(_is_enough, f"a size such as 4GB or 900MiB, at least {LEAST // 10**6}MB")]
"""Annotation of a key that is a size of memory."""


def refuse_many(lengths: Mapping[str, int], most: int, what: str = "cells") -> None:
    """Raise InputError, naming the axes with their lengths, where a grid has too many points.

    >>> refuse_many({"design.documents": 3, "raters.noise_share": 4}, MOST_CELLS)
    """
    count = math.prod(lengths.values())
    if count <= most:
        return
    axes = " x ".join(f"{key} ({n:,})" for key, n in lengths.items())
    longest = max(lengths, key=lambda key: lengths[key])
    raise InputError(
        f"{clip(axes, 400)} are {count:,} {what}, more than {most:,}; give {longest} fewer values, or go through "
        "the axes one after the other"
    )
