"""List the kinds of studies, built in and of plug-ins, and identify the kind that a config declares.

Call `identify_kind` with a config, which returns its `Kind`. A kind asks one `question`: rate, compare, judge, or a
plug-in's own. A config without that key is identified by its sections: each fits the kinds that take the return type of
the part that it names (`_target_`), else those that have its keys.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, get_type_hints

from simlab import parts
from simlab.messages import show, suggest
from simlab.studies import judgements, preferences, ratings
from simlab.studies.kind import Kind
from simlab.types import QUESTION, InputError, Outcome, World

BUILT_IN = (ratings.KIND, preferences.KIND, judgements.KIND)
_OPEN = ("measure", "engine")
"""Groups that say nothing about the kind of study."""
_VALUES = frozenset((str, int, float, bool, type(None), list))


def kinds(plugins: Sequence[str] = ()) -> tuple[Kind, ...]:
    """List the kinds of studies; a plug-in (a user's package) offers its own as `KINDS` in its module `kinds`."""
    return _kinds(tuple(plugins))


@cache
def _kinds(plugins: tuple[str, ...]) -> tuple[Kind, ...]:
    listed = [*BUILT_IN, *(kind for plugin in plugins for kind in _read_kinds(plugin))]
    for k, kind in enumerate(listed):
        if kind.question in [other.question for other in listed[:k]]:
            raise InputError(f"plug-in kind {kind.name}: question={kind.question} is taken; give it another name")
    _outcomes(listed)
    return tuple(listed)


def find_kind(question: str, plugins: Sequence[str] = ()) -> Kind:
    """Return the kind of study that asks a question; raise InputError where none does."""
    by_question = {kind.question: kind for kind in kinds(plugins)}
    # What a file says may be a list.
    if not isinstance(question, str) or question not in by_question:
        text = show(question)
        raise InputError(f"question={text} is asked by no kind of study; {suggest(text, by_question)}")
    return by_question[question]


def outcomes(plugins: Sequence[str] = ()) -> Mapping[str, Outcome]:
    """Declare all outcomes of all kinds."""
    return _outcomes(kinds(plugins))


def _outcomes(listed: Sequence[Kind]) -> dict[str, Outcome]:
    declared: dict[str, Outcome] = {}
    for kind in listed:
        for name, outcome in kind.outcomes.items():
            if name.startswith("true_") != (outcome.dims[0] == "of_world"):
                raise InputError(
                    f"the kind {kind.name}: the outcome {name} has a row per {outcome.dims[0].removeprefix('of_')}; "
                    "names of what is true of a world, and of nothing else, begin with true_"
                )
            if declared.setdefault(name, outcome) != outcome:
                raise InputError(
                    f"the kind {kind.name} declares the outcome {name} otherwise than another; give it another name"
                )
    return declared


def _read_kinds(plugin: str) -> tuple[Any, ...]:
    """Read the kinds of a plug-in; one without a module `kinds` has none."""
    name = f"{plugin}.kinds"
    try:
        if importlib.util.find_spec(name) is None:
            return ()
        listed = importlib.import_module(name).KINDS
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(
            f"plug-in {plugin}: its kinds of studies cannot be used, {name} failed with {reason}"
        ) from error
    if not isinstance(listed, list | tuple) or not all(isinstance(kind, Kind) for kind in listed):
        raise InputError(f"plug-in {plugin}: KINDS in {name} must list kinds of studies")
    return tuple(listed)


def identify_kind(config: Mapping[str, Any]) -> Kind:
    """Return the kind of study that a config declares; raise InputError where its question is unknown."""
    plugins = tuple(config.get("plugins", ()))
    if QUESTION in config:
        return find_kind(config[QUESTION], plugins)
    return _infer_kind(tuple(_signature(config)), plugins)


def infer_kind(config: Mapping[str, Any]) -> Kind:
    """Return the kind of study that the options of a config imply, whatever its own `question` is."""
    return _infer_kind(tuple(_signature(config)), tuple(config.get("plugins", ())))


def find_built_in(config: Mapping[str, Any]) -> Kind | None:
    """Return the built-in kind of study that a config read from a file declares, None where it is a plug-in's.

    Nothing that the config names is imported: its sections that are no parts tell the kinds apart.
    """
    every = kinds()
    if QUESTION in config:
        return next((kind for kind in every if kind.question == config[QUESTION]), None)
    plain = tuple(section for section in _signature(config) if section[1] is None)
    return next(iter(_list_possible(plain, ())), None)


def list_kinds_of_section(group: str, section: Mapping[str, Any], plugins: Sequence[str] = ()) -> tuple[Kind, ...]:
    """List the kinds of studies to which a `section` of the config, of a group such as `design`, can belong."""
    keys = tuple(key for key, value in section.items() if not isinstance(value, Mapping) and key != "_target_")
    return _list_kinds_of_section(group, section.get("_target_"), keys, tuple(plugins))


@cache
def _infer_kind(signature: tuple[tuple[str, str | None, tuple[str, ...]], ...], plugins: tuple[str, ...]) -> Kind:
    return (_list_possible(signature, plugins) or list(kinds(plugins)))[0]


def _list_possible(
    signature: tuple[tuple[str, str | None, tuple[str, ...]], ...], plugins: tuple[str, ...]
) -> list[Kind]:
    """List the kinds that all sections of a config can belong to."""
    every = kinds(plugins)
    return [kind for kind in every if all(kind in _list_kinds_of_section(*section, plugins) for section in signature)]


def _signature(config: Mapping[str, Any]) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """List the sections of a config: the name of each, the part it names (None: none), and else its keys."""
    for name, section in config.items():
        if type(section) in _VALUES or name in _OPEN or not isinstance(section, Mapping):
            continue
        # Most sections hold values only, and to ask each whether it is a mapping takes ten times as long.
        plain = _VALUES.issuperset(map(type, section.values()))
        below = {} if plain else {key: value for key, value in section.items() if isinstance(value, Mapping)}
        yield _describe_section(name, section, below)
        for inner, of in below.items():
            yield _describe_section(f"{name}.{inner}", of, {})


def _describe_section(
    name: str, section: Mapping[str, Any], below: Mapping[str, Any]
) -> tuple[str, str | None, tuple[str, ...]]:
    """Write down a section: the part that it names, else its keys."""
    target = section.get("_target_")
    keys = () if target is not None else tuple(key for key in section if key not in below and key != "_target_")
    return name, target, keys


@cache
def _list_kinds_of_section(
    group: str, target: str | None, keys: tuple[str, ...], plugins: tuple[str, ...]
) -> tuple[Kind, ...]:
    every = kinds(plugins)
    if group in _OPEN:
        return every
    if own := tuple(kind for kind in every if group in kind.groups):
        return own
    if target is not None:
        return _list_takers(group, target, plugins)
    if not keys or not any(group in kind.sections for kind in every):
        return every
    return tuple(kind for kind in every if group in kind.sections and set(keys) <= _keys(kind.sections[group]))


def _list_takers(group: str, target: str, plugins: tuple[str, ...]) -> tuple[Kind, ...]:
    """List the kinds whose `parts` take the type that a part returns; a type that none names fits all."""
    returned = get_type_hints(parts.resolve(target, plugins), include_extras=True).get("return")
    every = kinds(plugins)
    if returned is World or not any(returned in kind.parts.get(group, ()) for kind in every):
        return every
    return tuple(kind for kind in every if group not in kind.parts or returned in kind.parts[group])


def _keys(section: type) -> set[str]:
    return set(get_type_hints(section))
