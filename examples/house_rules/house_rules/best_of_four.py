"""A kind of study of one's own: raters are shown outputs of four systems and pick the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.stats import binomtest

from house_rules.pickers import PICK, panels
from simlab.formulas import differences, passes, sign
from simlab.rng import stream
from simlab.studies.kind import Count, Kind, Shape
from simlab.studies.outcomes import COMMON, P_VALUE, of_campaigns
from simlab.studies.outcomes import blank as filled
from simlab.types import (
    Array,
    Campaign,
    Collected,
    Contest,
    DesignFailure,
    Floats,
    Ints,
    Outcome,
    Outcomes,
    Place,
    Seen,
    Streams,
    World,
)

OUTCOMES: Mapping[str, Outcome] = {
    **COMMON,
    **P_VALUE,
    "shown": Outcome(("replicate", "system"), "int32", 0, "panels with the system", low=0),
}


class Design(TypedDict):
    """Keys of what is asked."""

    items: Count


class Budget(TypedDict):
    """Keys of what it costs."""

    price_per_pick: Annotated[float, Ge(0)]


class Decision(TypedDict):
    """Keys of when a difference counts as found."""

    level: Annotated[float, Gt(0), Lt(1)]


class Prepared(NamedTuple):
    """Hold what a cell asks."""

    seed: int
    items: int
    price: float
    level: float


def check(config: Mapping[str, Any], world: World) -> Shape:
    """Return the shape of the world; any number of items can be asked about."""
    n = config["design"]["items"]
    return Shape(world.frame.n_systems, n, n, 1, world.frame.system_names)


def prepare(config: Mapping[str, Any]) -> Prepared:
    """Read the keys."""
    price = config["budget"]["price_per_pick"]
    return Prepared(config["seed"], config["design"]["items"], price, config["decision"]["level"])


def lay(prepared: Prepared, world: World, place: Place) -> Ints:
    """List the panels that can be shown."""
    return panels(world.frame.n_systems)


def draw(prepared: Prepared, world: World, shown: Ints, place: Place) -> Floats:
    """Draw how good every output is perceived to be."""
    perceived: Floats = world.answers[PICK].draw(stream(prepared.seed, *place.of_study, "outputs"), prepared.items)
    return perceived


def collect(
    prepared: Prepared, world: World, shown: Ints, noise: Iterator[Floats], places: Sequence[Place]
) -> list[Campaign | DesignFailure]:
    """Show a random panel for each item, and note who is picked."""
    return [
        Campaign(_collected(prepared, world, shown, one, place), None) for one, place in zip(noise, places, strict=True)
    ]


def _collected(prepared: Prepared, world: World, shown: Ints, noise: Floats, place: Place) -> Collected:
    item = np.arange(prepared.items)
    panel = stream(prepared.seed, *place.of_study, "panels").integers(len(shown), size=prepared.items)
    picked = world.answers[PICK].answer(noise, panel, item, np.zeros_like(item))
    none = np.full(len(item), -1)
    return Collected(
        frame=world.frame,
        documents=None,
        asked=None,
        seen=Seen(panel, item, none, picked.value, none),
        metric=None,
        known={},
        paid={"ratings": len(item), "cost": len(item) * prepared.price},
        streams=Streams(prepared.seed, place.of_study),
    )


def conclude(prepared: Prepared, campaigns: Sequence[Collected]) -> dict[str, Array]:
    """Estimate how often each system is picked when shown; test each two by the panels that picked one of both."""
    outcomes = [_concluded(prepared, collected) for collected in campaigns]
    return {name: np.stack([outcome[name] for outcome in outcomes]) for name in outcomes[0]}


def _concluded(prepared: Prepared, collected: Collected) -> dict[str, Array]:
    n, shown = collected.frame.n_systems, panels(collected.frame.n_systems)[collected.seen.unit]
    count = np.bincount(shown.ravel(), minlength=n)
    first, second = np.triu_indices(n, 1)
    wins = np.array([_wins(shown, collected.seen.value, i, j) for i, j in zip(first, second, strict=True)])
    p_value = np.array([binomtest(a, a + b).pvalue if a + b else 1.0 for a, b in wins.tolist()])
    direction = sign(wins[:, 0] - wins[:, 1])
    return {
        "ratings_used": np.array(collected.paid["ratings"], np.int32),
        "cost": np.array(collected.paid["cost"], float),
        "shown": count.astype(np.int32),
        "estimate": np.bincount(collected.seen.value, minlength=n) / np.maximum(count, 1),
        "direction": direction,
        "significant": passes(p_value, prepared.level) & (direction != 0),
        "p_value": p_value,
    }


def _wins(shown: Ints, picked: Array, i: int, j: int) -> tuple[int, int]:
    both = (shown == i).any(1) & (shown == j).any(1)
    return int((picked[both] == i).sum()), int((picked[both] == j).sum())


def appraise(
    prepared: Prepared, world: World, shown: Ints, campaigns: Sequence[Campaign], outcomes: Outcomes
) -> dict[str, Array]:
    """Add nothing: all that is true of a campaign is true of its world."""
    return {}


def truth(prepared: Prepared, world: World, shown: Ints) -> dict[str, Array]:
    """Say how good systems are."""
    if world.truth is None:
        return {}
    return {"true_value": world.truth[None], "true_direction": sign(differences(world.truth))[None]}


def blank(prepared: Prepared, world: World, shown: Ints) -> dict[str, Array]:
    """Fill in the outcomes of a campaign that was given, or gave, what cannot be: a panel can always be shown."""
    n = world.frame.n_systems
    return filled(OUTCOMES, of_campaigns(OUTCOMES), {"system": n, "pair": n * (n - 1) // 2})


KIND = Kind(
    name="picks",
    question=PICK,
    groups=frozenset(),
    sections={"design": Design, "budget": Budget, "decision": Decision},
    parts={"systems": (Contest,), "raters": (Annotated[World, PICK],), "metric": (), "decision": ()},
    brings={},
    outcomes=OUTCOMES,
    check=check,
    prepare=prepare,
    lay=lay,
    draw=draw,
    collect=collect,
    conclude=conclude,
    appraise=appraise,
    truth=truth,
    blank=blank,
    document_set=lambda prepared, world, study: study,
    same_layout=lambda prepared: "",
)
