"""Write a fit as the file of a fitted world: YAML that people can read and `systems=fitted` takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlab import schemas
from simlab.answers.fit import Component
from simlab.files import write_whole
from simlab.fitting.laws import Fitted, Law
from simlab.tables.held import Ratings


def content(
    law: Law,
    fitted: Fitted,
    *,
    about: Mapping[str, Any],
    checks: Mapping[str, Any],
    components: Sequence[Component],
    speeds: Mapping[str, Any],
    timing: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Put together what the file says."""
    ratings, own = fitted.ratings, dict(law.content(fitted))
    spreads = {f"{one.name}_sd": _spread(one) for one in components}
    # Counts of errors have estimates of their own, and fewer are always better.
    more = {"components": spreads, "lower_is_better": ratings.lower_is_better}
    return {
        **schemas.head_of_fitted("world"),
        "about": {**about, **counted(ratings)},
        "checks": dict(checks),
        "law": law.name,
        "not_identified": list(fitted.not_identified),
        **({} if "estimates" in own else more),
        "systems": list(ratings.system_names),
        "raters": list(ratings.rater_names),
        "document_sizes": np.bincount(ratings.document, minlength=ratings.n_documents).tolist(),
        "seats": seats(ratings),
        **({"speeds": dict(speeds)} if speeds else {}),
        **({"timing": dict(timing)} if timing else {}),
        **own,
    }


def counted(ratings: Ratings) -> dict[str, int]:
    """Count what a table holds."""
    return {
        "ratings": len(ratings.score),
        "systems": ratings.n_systems,
        "documents": ratings.n_documents,
        "segments": len(ratings.document),
        "raters": ratings.n_raters,
    }


def seats(ratings: Ratings) -> list[list[int]]:
    """List the different sets of raters who rated a document together."""
    together = np.unique(np.stack([ratings.document[ratings.item], ratings.rater]), axis=1)
    starts = np.flatnonzero(np.diff(together[0])) + 1
    return [list(one) for one in sorted({tuple(raters.tolist()) for raters in np.split(together[1], starts)})]


def text(held: Mapping[str, Any]) -> str:
    """Write the file as text."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    head = "# A fitted world, made by `simlab fit`; use it with systems=fitted systems.path=THIS_FILE.\n"
    return head + yaml.dump(
        dict(held), Dumper=dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120
    )


def named_as(earlier: str, held: Mapping[str, Any]) -> Mapping[str, Any]:
    """Name the table of a world as an earlier file of it does; one of another digest keeps its own name."""
    import yaml

    try:
        about = dict(yaml.load(earlier, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["about"])  # noqa: S506
    except (yaml.YAMLError, LookupError, TypeError, ValueError):
        return held
    same = about.get("sha256") == held["about"].get("sha256")
    return {**held, "about": {**held["about"], "table": about.get("table")}} if same else held


def write(path: Path, held: Mapping[str, Any]) -> None:
    """Write the file, in one step, so that nobody reads half of it."""
    write_whole({path: text(held)})


def _spread(one: Component) -> dict[str, Any]:
    """Say a component in points; of one that the pilot says nothing about what the priors put in its place."""
    if math.isnan(one.sd):
        return {"estimate": _short(one.assumed), "assumed": True}
    return {"low": _short(one.low), "estimate": _short(one.sd), "high": _short(one.high)}


def _short(value: float) -> float:
    return float(f"{value:.5g}")
