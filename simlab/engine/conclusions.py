"""Collect the outcomes (arrays, with type and dimensions) that the campaigns of a sweep can have, and their sizes.

Each study has a *kind* (of ratings, of comparisons, ...), which declares its outcomes. `gather_conclusions` returns
those of all cells of a sweep. The kinds that are built in are known to every simlab. What a plug-in's kind declares is
written into the sweep's own declaration, so that its folder can be read without the plug-in: nothing that a file names
is imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.studies.kind import Kind
from simlab.studies.kinds import BUILT_IN, find_built_in, identify_kind, outcomes
from simlab.studies.money import has_account
from simlab.studies.outcomes import omit_account
from simlab.types import Outcome

FOREIGN = "foreign"

Config = Mapping[str, Any]


class Conclusions(NamedTuple):
    """Outcomes that campaigns can have, by name; `sizes` and `along` (labels) are those of each dimension, by name."""

    outcomes: Mapping[str, Outcome]
    sizes: Mapping[str, int]
    along: Mapping[str, tuple[str, ...]]


def gather_conclusions(declared: Mapping[str, Any], configs: Sequence[Config]) -> Conclusions:
    """Return the outcomes that campaigns of a declared sweep, whose cells have these configs, can have."""
    foreign = declared.get(FOREIGN)
    known = _conclusions([(kind, config) for config in configs if (kind := find_built_in(config))])
    if foreign is None:
        return known
    own = {name: _outcome(about) for name, about in foreign["outcomes"].items()}
    along = {dim: tuple(names) for dim, names in foreign["along"].items()}
    return Conclusions({**known.outcomes, **own}, _merge_sizes(known.sizes, foreign["sizes"]), {**known.along, **along})


def join_declarations(stored: Mapping[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
    """Join the outcomes that two declarations have from plug-ins: a folder that grows keeps those of its cells."""
    declarations = [declared[FOREIGN] for declared in (stored, requested) if FOREIGN in declared]
    if len(declarations) < 2:
        return {FOREIGN: declarations[0]} if declarations else {}
    first, second = declarations
    together = {part: {**first[part], **second[part]} for part in ("outcomes", "along")}
    return {FOREIGN: together | {"sizes": _merge_sizes(first["sizes"], second["sizes"])}}


def describe_plugin_kinds(configs: Sequence[Config]) -> dict[str, Any]:
    """Return as plain data the outcomes that kinds of plug-ins declare; empty where all kinds are built in."""
    if not any(config.get("plugins") for config in configs):
        return {}
    of_cells = [(identify_kind(config), config) for config in configs]
    if all(kind in BUILT_IN for kind, _ in of_cells):
        return {}
    about = _conclusions(of_cells)
    own = {name: _serialise_outcome(outcome) for kind, _ in of_cells for name, outcome in kind.outcomes.items()}
    return {
        FOREIGN: {"outcomes": own, "sizes": dict(about.sizes), "along": {k: list(v) for k, v in about.along.items()}}
    }


def campaign_bytes(config: Config, n_systems: int) -> int:
    """Estimate the size of the outcomes of one campaign, uncompressed."""
    kind = identify_kind(config)
    sizes = {"replicate": 1, "of_world": 0, "system": n_systems, "pair": n_systems * (n_systems - 1) // 2}
    sizes |= kind.sizes(config)
    kept_outcomes = [kind.outcomes[name] for name in omit_account(kind.outcomes, accounted=has_account(config))]
    return 8 + sum(np.dtype(o.dtype).itemsize * math.prod(sizes[dim] for dim in o.dims) for o in kept_outcomes)


def _merge_sizes(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    return {dim: max(first.get(dim, 0), second.get(dim, 0)) for dim in {**first, **second}}


def _conclusions(of_cells: Sequence[tuple[Kind, Config]]) -> Conclusions:
    sizes: dict[str, int] = {}
    along: dict[str, tuple[str, ...]] = {}
    every = dict(outcomes())
    for kind, config in of_cells:
        every |= kind.outcomes
        along |= kind.names
        for dim, size in kind.sizes(config).items():
            sizes[dim] = max(size, sizes.get(dim, 0))
    return Conclusions(every, sizes, along)


def _serialise_outcome(outcome: Outcome) -> dict[str, Any]:
    fill = None if outcome.fill != outcome.fill else outcome.fill  # JSON has no NaN
    return {"dims": list(outcome.dims), "dtype": outcome.dtype, "fill": fill, "label": outcome.label}


def _outcome(about: Mapping[str, Any]) -> Outcome:
    fill = float("nan") if about["fill"] is None else about["fill"]
    return Outcome(tuple(about["dims"]), about["dtype"], fill, about["label"])
