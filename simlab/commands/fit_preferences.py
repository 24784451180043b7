"""Fit the law of preferences to a table of comparisons, and say what it found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.answers.fit import PREFERENCE, Component, Fit
from simlab.answers.records import read_record
from simlab.answers.tables import ReadTable
from simlab.commands.fitting_answers import FitResult
from simlab.fitting.report import answer_checks, disagreement
from simlab.messages import legible
from simlab.tables import preferences
from simlab.tables.held import Told
from simlab.tables.understood import beside

if TYPE_CHECKING:
    from simlab.fitting.report import Say


def found_in(table: Path, told: Told, seed: int, say: Say) -> FitResult:
    """Fit the law to comparisons, and check it; raise InputError where nothing can be learned from them."""
    from simlab.fitting.preferences.checks import checks, components, content
    from simlab.fitting.preferences.fitting import fitted as fitted_to
    from simlab.fitting.preferences.pilot import pilot_of

    compared = preferences.read(table, told)
    preferences.refuse_two_sorts(compared, legible(table))
    pilot = pilot_of(units := preferences.by_documents(compared))
    say("fitting preference")
    fitted = fitted_to(pilot, seed)
    say("checking preference against the pilot")
    held = checks(fitted, seed)
    return FitResult(
        Fit(
            read=read_record(ReadTable, preferences.record(compared), "read"),
            law=PREFERENCE,
            checks=answer_checks(held.every, held.failed),
            components=tuple(_components(components(fitted))),
            not_identified=tuple(fitted.not_identified),
            diagnosis=dict(fitted.diagnosis),
            unmixed=disagreement(fitted.diagnosis),
        ),
        option="systems=fitted_preferences systems.path={path}",
        world=content(fitted, held, table),
        notes=(*units.notes, *beside(preferences.record(compared))),
    )


def _components(said: Mapping[str, Mapping[str, Any]]) -> Iterator[Component]:
    """List components as of ratings; what is not known has no value, and what stands in for it is said."""
    nan = float("nan")
    for name, one in said.items():
        # Where nothing is a tie, the share of ties is 0 in every draw, since no tie was thought possible.
        if one.get("assumed") or not one["high"] > 0:
            yield Component(name=name, sd=nan, low=nan, high=nan, assumed=one["estimate"])
        else:
            yield Component(name=name, sd=one["estimate"], low=one["low"], high=one["high"])
