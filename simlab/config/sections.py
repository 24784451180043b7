"""Say which keys a study has and what they may be; refuse what is wrong in one line.

The keys of a part are derived from its signature. The others are written down here, once.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

from simlab import parts
from simlab.messages import in_quotes, or_nearest, shown
from simlab.types import InputError

Count = Annotated[int, Ge(1), Le(10**9)]
"""A number of worlds, studies, documents, ...; outcomes are indexed with 32 bits."""

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


class Study(TypedDict):
    """Keys of the study as a whole."""

    seed: Annotated[int, Ge(0)]
    worlds: Count
    studies: Count
    plugins: list[str]


class Design(TypedDict):
    """Keys of what is asked, beside the grouping."""

    documents: Count
    ratings_per_item: Count
    load_entropy: Annotated[float, Ge(0), Le(1)] | None
    load_tolerance: Annotated[float, Gt(0), Le(1)]
    load_tries: Count
    studies_per_document_set: Count
    min_documents: Count


class Budget(TypedDict):
    """Keys of what ratings cost."""

    price_per_rating: Annotated[float, Ge(0)]


class Protocol(TypedDict):
    """Keys of what is asked where outputs are compared pair by pair."""

    shared_order: bool
    pair_order: Literal["random", "fixed"]


class Annotations(TypedDict):
    """Keys of what preferences cost, and how many are collected."""

    annotations_per_pair: Count
    annotations: Count | None
    batch_size: Count
    price_per_rating: Annotated[float, Ge(0)]


class Judgements(TypedDict):
    """Keys of what is asked where single outputs are judged."""

    shared_inputs: bool
    replacement: bool
    calibration: Literal["own", "shared"]


class Judging(TypedDict):
    """Keys of how many outputs are judged, and what it costs."""

    human_ratings: Annotated[int, Ge(0), Le(10**7)]
    metric_ratings: Annotated[int, Ge(0), Le(10**7)] | None
    calibration_ratings: Annotated[int, Ge(0), Le(10**7)]
    cost: Annotated[float, Gt(0)] | None
    price_per_rating: Annotated[float, Ge(0)]
    price_per_metric_rating: Annotated[float, Ge(0)]


class Decision(TypedDict):
    """Keys of when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]


class Engine(TypedDict):
    """Keys of how the work is carried out; they change no number."""

    block: Count
    retries: Annotated[int, Ge(0)]
    jobs: Count | None
    outcomes: bool


class Bare(TypedDict):
    """No keys: the section only holds parts, or says that there is nothing to say."""


SECTIONS: Mapping[str, tuple[type, ...]] = {
    "": (Study,),
    "raters": (Bare,),
    "metric": (Bare,),
    "design": (Design, Protocol, Judgements),
    "budget": (Budget, Annotations, Judging),
    "analysis": (Bare,),
    "decision": (Decision,),
    "measure": (Bare,),
    "engine": (Engine,),
}
"""The kinds of a section without a part; the one that has most of its keys counts."""


def keys_of(section: Mapping[str, Any], where: str, plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Return the keys that a section may have, with their annotations."""
    if "_target_" in section:
        return parts.parameters(section["_target_"], plugins)
    if where not in SECTIONS:
        raise InputError(f"{where} names no part: its YAML file lacks the line `_target_: ...`")
    hints = [get_type_hints(kind, include_extras=True) for kind in SECTIONS[where]]
    return max(hints, key=lambda keys: len(keys.keys() & section.keys()))


def check(config: Mapping[str, Any], where: str = "", plugins: Sequence[str] = ()) -> dict[str, Any]:
    """Check a section and all below it; return it with numbers in the types that the rules name (1 -> 1.0)."""
    below = {key: value for key, value in config.items() if isinstance(value, Mapping)}
    own = {key: value for key, value in config.items() if key not in below}
    checked = {key: check(value, f"{where}.{key}".lstrip("."), plugins) for key, value in below.items()}
    return _check_own(own, where, tuple(plugins)) | checked


def checked_value(config: Mapping[str, Any], key: str, value: Any, plugins: Sequence[str] = ()) -> Any:
    """Check a value for a key of a config; return it in the type that its rule names.

    Raises KeyError where the config has no such key.
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
    model = parts.model(target, plugins) if target else _model_of_section(where, tuple(section))
    own = {key: value for key, value in section.items() if key != "_target_"}
    try:
        # Through JSON, where a list is good for a tuple and yet nothing else is converted.
        checked: dict[str, Any] = model.dump_python(model.validate_json(json.dumps(own)), mode="json")
    except ValidationError as error:
        rules = keys_of(section, where, plugins)
        raise InputError(_line(error.errors(include_url=False)[0], own, where, rules)) from error
    return ({"_target_": target} if target else {}) | checked


@functools.cache
def _model_of_section(where: str, keys: tuple[str, ...]) -> Any:
    return parts.model_of(keys_of(dict.fromkeys(keys), where))


def _line(error: Mapping[str, Any], own: Mapping[str, Any], where: str, rules: Mapping[str, Any]) -> str:
    """Turn a complaint into one line: where, value, rule."""
    name = str(error["loc"][0])
    key = f"{where}.{name}".lstrip(".")
    if error["type"] == "missing":
        return f"{key} has no value: the YAML file of {where or 'the study'} must give one"
    if error["type"] == "extra_forbidden":
        return f"{key} is no key: {or_nearest(name, rules)}"
    text = f"{key}={shown(own[name])} must be {rule(rules[name])}"
    if error["type"] == "string_type" and isinstance(own[name], bool | int | float):
        text += f"; as a text it is written {in_quotes(key, shown(own[name]))}"
    return text


def rule(annotation: Any) -> str:
    """Say in words what a value may be.

    >>> rule(Annotated[float, Ge(0), Lt(1)] | None), rule(Literal["fresh", "potential"])
    ('a number >= 0 and < 1 or null', 'fresh or potential')
    """
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        bounds = " and ".join(
            f"{sign} {getattr(mark, name)}"
            for mark in inside[1:]
            for name, sign in _BOUNDS.items()
            if hasattr(mark, name)
        )
        return f"{rule(inside[0])} {bounds}".strip()
    if origin is Literal:
        return " or ".join(shown(value) for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(rule(part) for part in inside)
    if origin in (list, tuple):
        return f"a list, each entry {rule(inside[0])}"
    return _WORDS.get(annotation, str(annotation))
