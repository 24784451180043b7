"""Say whom a plan expects: how many systems and raters, and their names where they come from a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from simlab.messages import legible, several
from simlab.studies.footprint import extent_of
from simlab.studies.worlds import draw_world
from simlab.types import InputError


class Expected(NamedTuple):
    """Hold how many systems and raters a plan has (None: it does not say), and their names where it knows them."""

    n_systems: int | None
    n_raters: int | None
    system_names: tuple[str, ...] = ()
    rater_names: tuple[str, ...] = ()


def expected(config: Mapping[str, Any]) -> Expected:
    """Read from a plan whom it expects; raise InputError where a file that it names is not there."""
    if config["systems"].get("path") is not None:
        frame = draw_world(config, 0).frame
        return Expected(frame.n_systems, frame.n_raters or None, frame.system_names, frame.rater_names)
    size = extent_of(config)
    n_systems, n_raters = int(size.systems.n), int(size.pool.n)
    return Expected(n_systems if n_systems > 1 else None, n_raters if n_raters > 1 else None)


def systems_apart(names: Sequence[str], plan: Expected, where: str) -> list[str]:
    """Say which systems a table has beside those of its plan, or lacks.

    Raises InputError where the two have none in common: then it is the plan of another study.
    """
    if not plan.system_names:
        if plan.n_systems is not None and plan.n_systems != len(names):
            return [f"{several(len(names), 'system')}, planned are {plan.n_systems}"]
        return []
    further = [name for name in names if name not in plan.system_names]
    if len(further) == len(names):
        raise InputError(
            f"{where}: this is the plan of another study: it has {legible(', '.join(plan.system_names), 60)} and the "
            f"table {legible(', '.join(names), 60)}; name the plan of this table"
        )
    lacking = [name for name in plan.system_names if name not in names]
    said = [f"systems that are not in the plan: {legible(', '.join(further), 80)}"] if further else []
    return said + ([f"no answers about {legible(', '.join(lacking), 80)}"] if lacking else [])
