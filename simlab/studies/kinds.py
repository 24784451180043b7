"""Register the kinds of studies: those that are built in, one line each, and those of plug-ins."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from simlab.messages import or_nearest, shown
from simlab.studies import judgements, preferences, ratings
from simlab.studies.kind import Kind
from simlab.types import InputError, Outcome

BUILT_IN = (ratings.KIND, preferences.KIND, judgements.KIND)


def kinds(plugins: Sequence[str] = ()) -> tuple[Kind, ...]:
    """List the kinds of studies; a plug-in offers its own as `KINDS` in its module `kinds`."""
    return _kinds(tuple(plugins))


@cache
def _kinds(plugins: tuple[str, ...]) -> tuple[Kind, ...]:
    listed = [*BUILT_IN, *(kind for plugin in plugins for kind in _kinds_of(plugin))]
    for k, kind in enumerate(listed):
        if kind.question in [other.question for other in listed[:k]]:
            raise InputError(f"plug-in kind {kind.name}: question={kind.question} is taken; give it another name")
    _outcomes(listed)
    return tuple(listed)


def kind_asking(question: str, plugins: Sequence[str] = ()) -> Kind:
    """Return the kind of study that asks a question; raise InputError where none does."""
    by_question = {kind.question: kind for kind in kinds(plugins)}
    # What a file says may be a list.
    if not isinstance(question, str) or question not in by_question:
        said = shown(question)
        raise InputError(f"question={said} is asked by no kind of study; {or_nearest(said, by_question)}")
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


def _kinds_of(plugin: str) -> tuple[Any, ...]:
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
