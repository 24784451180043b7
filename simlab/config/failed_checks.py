"""Refuse fitted worlds that failed checks against their pilot, or add a reservation (a warning) to their sweep.

Call `accept_sweep` on a composed sweep; it returns the sweep, or raises InputError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from simlab import files
from simlab.config.sweep import Sweep
from simlab.messages import clip
from simlab.parts import name_target
from simlab.types import InputError
from simlab.world.files.fitted_world import FailedTrait, failed_checks
from simlab.world.recorded import recorded


def accept_sweep(sweep: Sweep, *, force: bool) -> Sweep:
    """Return a sweep, with a warning in `reservation` where a world of it failed its checks.

    Raises InputError for a world that failed, unless `force`.
    """
    for path in _paths(sweep):
        if not files.expand_path(path).is_file():
            continue  # what else it may be is refused, with its reason, where it is read
        failed = failed_checks(path)
        if failed and not force:
            raise InputError(
                f"systems.path={clip(path)}: this world failed {_count_checks(failed)} against its pilot "
                f"({_describe_checks(failed)}), so its predictions err; fit another law (`simlab fit TABLE --law "
                "LAW`), or add --force to run it with this reservation"
            )
        if failed:
            reason = (
                f"the world {clip(path)} failed {_count_checks(failed)} against its pilot ({_describe_checks(failed)})"
            )
            return replace(sweep, reservation=f"{reason}: its predictions err")
    return sweep


def _paths(sweep: Sweep) -> Iterator[str]:
    """Go through the files that systems are read from, tables of ratings left out."""
    swept = [axis.values for axis in sweep.axes if axis.key == "systems.path"]
    named = dict.fromkeys(
        path
        for config in sweep.composed.values()
        if config["systems"].get("_target_") != name_target(recorded)
        for path in (swept[0] if swept else (config["systems"].get("path"),))
    )
    yield from (path for path in named if isinstance(path, str) and path.strip())


def _count_checks(failed: tuple[FailedTrait, ...]) -> str:
    return "a check" if len(failed) == 1 else f"{len(failed)} checks"


def _describe_checks(failed: tuple[FailedTrait, ...]) -> str:
    first = failed[0]
    more = f"; and {len(failed) - 1} more" if len(failed) > 1 else ""
    return f"{clip(first.name, 80)}: {first.real:.3g}, simulated {first.low:.3g} to {first.high:.3g}{more}"
