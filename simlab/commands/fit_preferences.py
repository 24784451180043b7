"""Fit the law of preferences to a table of comparisons, and say what it found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.commands.fitting_answers import Found
from simlab.drawing.text import fitted_preferences as text
from simlab.drawing.text import tables
from simlab.messages import legible
from simlab.tables import preferences
from simlab.tables.held import Told
from simlab.tables.understood import beside
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.fitting.preferences.checks import PreferenceChecks
    from simlab.fitting.preferences.fitting import PreferenceFit
    from simlab.fitting.report import Say


def found_in(table: Path, told: Told, seed: int, say: Say) -> Found:
    """Fit the law to comparisons, and check it; raise InputError where nothing can be learned from them."""
    from simlab.fitting.preferences import document
    from simlab.fitting.preferences.checks import checks
    from simlab.fitting.preferences.fitting import fitted as fitted_to
    from simlab.fitting.preferences.pilot import pilot_of

    compared = preferences.read(table, told)
    preferences.refuse_two_sorts(compared, legible(table))
    pilot = pilot_of(units := preferences.by_documents(compared))
    say("fitting preference")
    fitted = fitted_to(pilot, seed)
    say("checking preference against the pilot")
    held = checks(fitted, seed)
    components = _components(document.components(fitted))
    line = preferences.understood(compared)
    return Found(
        law="preference",
        option="systems=fitted_preferences systems.path={path}",
        record={"read": preferences.record(compared), **_record(fitted, held, components)},
        components=components,
        checks=[{**one._asdict(), "inside": one.passed} for one in held.every],
        not_identified=tuple(fitted.not_identified),
        diagnosis=dict(fitted.diagnosis),
        world=document.content(fitted, held, table),
        notes=(*units.notes, *beside(preferences.record(compared))),
        page=lambda out, following: text.page(line, components, held, fitted.not_identified, out, following),
        draw=_no_figure,
    )


def _components(said: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """List components as of ratings; what is not known has no value, and what stands in for it is said."""
    rows = []
    for name, one in said.items():
        # Where nothing is a tie, the share of ties is 0 in every draw, since no tie was thought possible.
        known = not one.get("assumed") and one["high"] > 0
        numbers = {"sd": one["estimate"], "low": one["low"], "high": one["high"]} if known else {}
        assumed = None if known else one["estimate"]
        rows.append({"name": name, "sd": None, "low": None, "high": None, **numbers, "assumed": assumed})
    return rows


def _record(fitted: PreferenceFit, held: PreferenceChecks, components: list[dict[str, Any]]) -> dict[str, Any]:
    every = tables.plain([{**one._asdict(), "inside": one.passed} for one in held.every])
    return {
        "law": "preference",
        "compared": [],
        "checks": {**held.content(), "all": every},
        "components": components,
        "not_identified": list(fitted.not_identified),
    }


def _no_figure(out: Path) -> None:
    raise InputError("--report: preferences have no figure; leave it out")
