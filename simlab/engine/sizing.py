"""Say how large the first round of a run to a precision is, and how many studies of a world make sense."""

from __future__ import annotations

from dataclasses import replace

from simlab.config.sweep import Sweep
from simlab.config.until import Until
from simlab.engine.allocation import FIRST_STUDIES
from simlab.measures.precision import LEAST_CLUSTERS
from simlab.types import InputError


def first_round(sweep: Sweep) -> Sweep:
    """Return a sweep of the worlds and studies (of a recorded table: the studies) that come first."""
    sets = sets_of(sweep)
    if is_one_world(sweep):
        return sized(sweep, 1, LEAST_CLUSTERS * max(sets))
    return sized(sweep, LEAST_CLUSTERS, first_studies(sweep, sets))


def is_one_world(sweep: Sweep) -> bool:
    """Tell a sweep over recorded tables, which are there once."""
    recorded = (str(config.get("systems", {}).get("_target_", "")) for config in sweep.composed.values())
    return sweep.worlds == 1 and any(target.startswith("simlab.world.recorded.") for target in recorded)


def refuse_too_few(first: Sweep, until: Until) -> None:
    """Raise InputError where an end to patience leaves no world of each cell."""
    needed = first.n_cells * first.worlds * first.of_world
    if until.campaigns is not None and until.campaigns < needed:
        raise InputError(
            f"--at-most {until.campaigns}: the first world of {first.n_cells} cells takes {needed} campaigns; raise it"
        )


def sized(sweep: Sweep, worlds: int, studies: int) -> Sweep:
    """Ask for so many worlds, and studies of each."""
    return replace(sweep, worlds=worlds, studies=studies)


def sets_of(sweep: Sweep) -> frozenset[int]:
    """List how many studies share a set of documents in some cell."""
    return frozenset(int(cell.config.get("design", {}).get("studies_per_document_set") or 1) for cell in sweep.cells())


def whole_sets(studies: int, sets: frozenset[int]) -> bool:
    """Tell whether so many studies are whole sets, or part of one."""
    return all(studies <= n or studies % n == 0 for n in sets)


def first_studies(sweep: Sweep, sets: frozenset[int]) -> int:
    """Return the studies of a world in the first round; where fewer are declared, or some are typed, as many."""
    if sweep.until is not None and sweep.until.studies is not None:
        return sweep.until.studies
    if sweep.studies <= FIRST_STUDIES:
        return sweep.studies
    fitting = (n for n in range(FIRST_STUDIES, sweep.studies + 1, 2) if whole_sets(n, sets))
    return next(fitting, sweep.studies)
