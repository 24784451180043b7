"""List a plan's assumptions on people, scores and prices, each with its plausible range.

`list_assumptions` returns an `Assumption` for each spread, speed and price of a composed study. The other functions
compute from such a config the number of documents that money pays, the standard deviation of systems (`system_sd`), the
work of raters (`loads`), and the number of raters that claims about raters at large need (`find_needed_raters`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from simlab.answers.plan import SIZE, Loads, Target
from simlab.concluding.goals import POINTS, YES
from simlab.engine import replays
from simlab.planning.terms import Assumption, Bench, Design, MeasuredDesign, PlanRequest
from simlab.studies.checks import describe_scope
from simlab.studies.money import has_clock
from simlab.studies.worlds import draw_world
from simlab.types import RATE, Collected, Floats, InputError, Place, World
from simlab.world.files.fitted_scales import FittedScales
from simlab.world.files.fitted_world import AnyWorld, FittedMqmWorld, read_world
from simlab.world.files.kept_answers import KeptWorld
from simlab.world.laws.scales import ScaledRatings

WORLDS = 40
"""Worlds from which the standard deviation of the systems' truths is computed."""
MOST_DOCUMENTS = 2000
WITHOUT_MONEY = 200
"""Most documents of a world where no budget is given."""
DOCUMENTS, SEGMENTS = "systems.n_documents", "systems.n_segments"

CAMPAIGNS = 3

POOLS = (6, 8, 10, 12, 15, 20, 25, 30, 40)
"""Numbers of raters that are tried: with fewer than six no claim about others is possible at .05."""
WORLDS_PER_POOL = 200

REACH = 3.0
"""Range in which a flip is searched, as a multiple of the plausible range, on the assumption's scale."""
FACTOR = 2.0
ENDS = (0.05, 0.5, 0.95)
"""Quantiles of posterior draws of a spread: the ends of its plausible range, and the value between them."""
CAMPAIGN, ASSUMED, PILOT = "its campaign", "half to twice as much", "pilot"
NAMES: Mapping[str, str] = {
    "rater_system_sd": "rater x system",
    "leniency_sd": "leniency",
    "residual_sd": "own noise",
    "system_document_sd": "system x document",
}
WORDS: Mapping[str, tuple[str, str, str, str]] = {
    "points": (
        "raters favour single systems by {:.2g} points",
        "raters differ in leniency by {:.2g} points",
        "a rating's own noise is {:.2g} points",
        "systems differ on single documents by {:.2g} points",
    ),
    "of a rating's noise": (
        "raters favour single systems by {:.2g} of a rating's noise",
        "raters differ in leniency by {:.2g} of a rating's noise",
        "a rating's own noise is {:.2g} times as large",
        "systems differ on single documents by {:.2g} of a rating's noise",
    ),
    "log": (
        "raters favour single systems by {:.2g} (log of errors)",
        "raters differ in how many errors they mark by {:.2g} (log)",
        "of the noise {:.2g} is each rating's own",
        "systems differ on single documents by {:.2g} (log of errors)",
    ),
}
"""Sentences on each spread, by the unit in which the law has it."""
SPEED = "design.collection.seconds_per_answer"
MEASURED: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "raters=esa": {"leniency_sd": (4.5, 12.8), "rater_system_sd": (1.5, 4.1), "residual_sd": (10.1, 11.1)},
    "raters=expert_pool": {"rater_system_sd": (0.0, 0.3)},
}
"""Ranges of spreads in the campaign that a preset is from, as its YAML has them; of noise less that of outputs."""


def truth_unit(world: World) -> str:
    """Return the unit of the systems' truths: points, or the share of yes where that is all that raters say."""
    law = world.answers[RATE]
    return YES if isinstance(law, ScaledRatings) and law.scale.law == "binary" else POINTS


def most_documents(config: Mapping[str, Any], n_systems: int, segments: float) -> int:
    """Return the most documents that the money pays, one rating of each segment of each system."""
    budget = config["budget"]
    money, price = budget["total"], budget["price_per_rating"] * (1 + budget["platform_fee"])
    if money is None or price <= 0:
        return WITHOUT_MONEY
    # Documents differ in length, so some campaigns pay for a few more than the mean.
    return int(
        min(max(1.1 * money / (price * n_systems * segments), config["design"]["min_documents"]), MOST_DOCUMENTS)
    )


def sizes(config: Mapping[str, Any], documents: int) -> dict[str, Any]:
    """Return the settings, by key, by which a world has this number of documents, and designs may use all of them."""
    systems = config["systems"]
    settings: dict[str, Any] = {DOCUMENTS: documents} if "n_documents" in systems else {}
    if "n_segments" in systems and settings:
        settings[SEGMENTS] = math.ceil(documents * systems["n_segments"] / systems["n_documents"])
    return settings | {SIZE: min(documents, config["design"]["documents"])}


def system_sd(config: Mapping[str, Any]) -> float:
    """Return the standard deviation of the systems' truths: the root of its mean square over worlds.

    Worlds of a fitted law are draws of its posterior, so that the pilot's noise is left out.
    """
    truths = [draw_world(config, world).truth for world in range(WORLDS)]
    return float(np.sqrt(np.mean([np.var(truth, ddof=1) for truth in truths if truth is not None])))


def draws(config: Mapping[str, Any]) -> int:
    """Count the posterior draws of a fitted world; 0 of others."""
    systems = config["systems"]
    if not str(systems.get("_target_", "")).startswith("simlab.world.fitted."):
        return 0
    return len(read_world(systems["path"], None).effects)


def check_people(n_systems: int, n_raters: int) -> None:
    """Raise InputError for numbers of systems and raters that no study has."""
    if n_systems < 2:
        raise InputError(f"--systems {n_systems}: a study compares at least two systems")
    if n_raters < 1:
        raise InputError(f"--raters {n_raters}: a study has at least one rater")


def loads(config: Mapping[str, Any]) -> Loads | None:
    """Return the work of raters (outputs, ratings, ratings each) in campaigns of a study; None if all failed."""
    dealt = [campaign for study in range(CAMPAIGNS) if (campaign := _deal_campaign(config, study)) is not None]
    if not dealt:
        return None
    each = [np.unique(campaign.seen.rater, return_counts=True)[1] for campaign in dealt]
    # Campaigns may reach different numbers of people; who plans must find as many as the largest asks for.
    raters = max(len(counts) for counts in each)
    ratings = float(np.mean([counts.sum() for counts in each]))
    return Loads(
        covers=_covers(config),
        outputs=float(np.mean([_outputs(campaign) for campaign in dealt])),
        ratings=ratings,
        raters=int(raters),
        per_rater=ratings / raters,
        most=float(max(counts.max() for counts in each)),
        per_rater_documents=float(
            np.mean([_documents(campaign) / len(counts) for campaign, counts in zip(dealt, each, strict=True)])
        ),
    )


def _deal_campaign(config: Mapping[str, Any], study: int) -> Collected | None:
    try:
        return replays.collect_campaign(config, Place(study, 0, 0, 0))
    except InputError:
        return None


def _covers(config: Mapping[str, Any]) -> str:
    """Return the line on what one rating covers, without the numbers."""
    lines = describe_scope(config)
    return lines[0].partition(":")[0] if lines else ""


def _outputs(collected: Collected) -> int:
    """Count the outputs, one system's of a segment, that were rated."""
    return len(np.unique(np.stack([collected.seen.unit, collected.seen.item]), axis=1).T)


def _documents(collected: Collected) -> int:
    """Count the pairs of a rater and a document."""
    return len(np.unique(np.stack([collected.seen.rater, collected.frame.document[collected.seen.item]]), axis=1).T)


class PoolNeeded(NamedTuple):
    """Fewest raters, of `POOLS`, with whom a design reaches the targets for raters at large.

    `raters` is None where not even the most do; `design` has those raters (else the most), `measures` are its own.
    """

    raters: int | None
    design: Design
    measures: MeasuredDesign


def find_needed_raters(
    bench: Bench, wanted: PlanRequest, with_raters: Callable[[int], Design], worlds: int = WORLDS_PER_POOL
) -> PoolNeeded:
    """Find by bisection the fewest raters with whom a design reaches all targets; power rises with raters.

    `with_raters` returns the design with a number of raters, drawn from the law; `worlds` are simulated of each.
    """
    low, high = 0, len(POOLS)
    pool: PoolNeeded | None = None
    while low < high:
        middle = (low + high) // 2
        design = with_raters(POOLS[middle])
        looked = bench.look({design: worlds})[design]
        if reaches(looked, wanted.targets):
            pool, high = PoolNeeded(POOLS[middle], design, looked), middle
        else:
            low = middle + 1
    if pool is not None:
        return pool
    most = with_raters(POOLS[-1])
    return PoolNeeded(None, most, bench.look({most: worlds})[most])


def reaches(looked: MeasuredDesign, targets: Sequence[Target]) -> bool:
    """True if measures reach their targets; one that is undefined does not."""
    return all(target.measure in looked and looked[target.measure].value >= target.least for target in targets)


class _Named(NamedTuple):
    """A spread or a price that may be otherwise: its name, and a sentence on it with its value."""

    name: str
    words: str
    unit: str


class _Range(NamedTuple):
    """A value between the ends of its plausible range, and their source."""

    value: float
    low: float
    high: float
    source: str = PILOT


WORK: Mapping[str, _Named] = {
    "design.collection.seconds_per_answer": _Named("speed", "a rating takes {:.0f} s", "s"),
    "design.collection.drop_out": _Named("drop-out", "in an hour of work {:.2g} of the people leave for good", "share"),
    "budget.price_per_rating": _Named("price", "a rating costs {:.2g}", "money"),
}


def list_assumptions(config: Mapping[str, Any], unit: str) -> Iterator[Assumption]:
    """List the assumptions of a composed study: spreads of its world (their truths in `unit`), then work and price."""
    systems = config["systems"]
    fitted = str(systems.get("_target_", "")).startswith("simlab.world.fitted.")
    world = read_world(systems["path"], None) if fitted else None
    yield from _list_preset_spreads(config) if world is None else _list_pilot_spreads(systems, world)
    for key, named in WORK.items():
        value = _value(config, key)
        if key == SPEED and value is None and world is not None and world.timing and has_clock(config):
            seconds = [person.seconds_per_answer for person in world.timing]
            yield _assumption_by_factor(named, key, _range_of_draws(seconds))
        elif isinstance(value, int | float) and value > 0:
            yield _assumption_by_factor(named, key, _assumed_range(float(value)))


def _list_pilot_spreads(systems: Mapping[str, Any], world: AnyWorld) -> Iterator[Assumption]:
    """List the spreads of a world fitted to a pilot, but for those that its draws do not vary."""
    for name, column in _columns(world).items():
        key, span = f"systems.assumed_{name}", _range_of_draws(column)
        named = _make_name(name, _unit(world))
        if systems.get(f"assumed_{name}") is not None:
            yield _assumption_by_factor(named, key, _assumed_range(float(systems[f"assumed_{name}"])))
        # Draws that all agree were not told by the pilot.
        elif span.high > span.low:
            yield _linear_assumption(
                # Worlds of MQM have a share of noise in this place, which ends at 1.
                named,
                key,
                span,
                1.0 if name == "residual_sd" and isinstance(world, FittedMqmWorld) else np.inf,
            )


def _columns(world: AnyWorld) -> dict[str, Floats]:
    """Return the draws of each spread, by the name of its key; of a law of one's own none is known by such a name."""
    if isinstance(world, KeptWorld):
        return {}
    if isinstance(world, FittedScales):
        return {name: np.array([getattr(effects, name) for effects in world.effects]) for name in NAMES}
    of_effects = {"rater_system_sd": "rater_system_sd", "residual_sd": "noise_share"}
    of_effects["system_document_sd"] = "system_document_sd"
    by_name = {name: np.array([getattr(effects, own) for effects in world.effects]) for name, own in of_effects.items()}
    return {name: by_name.get(name, np.array(world.leniency_sd)) for name in NAMES}


def _unit(world: AnyWorld) -> str:
    if isinstance(world, FittedScales):
        return "points" if world.effects[0].scale.law == "gaussian" else "of a rating's noise"
    return "log"


def _list_preset_spreads(config: Mapping[str, Any]) -> Iterator[Assumption]:
    ranges = _measured_ranges(config["raters"])
    for name in NAMES:
        own = "noise_share" if name == "residual_sd" and "noise_share" in config["raters"] else name
        section = next((part for part in ("raters", "systems") if config[part].get(own)), None)
        if section is None:
            continue
        key, value, named = f"{section}.{own}", float(config[section][own]), _make_name(name, _preset_unit(config))
        low, high = ranges.get(name, (np.inf, -np.inf))
        if low <= value <= high:
            yield _linear_assumption(named, key, _Range(value, low, high, CAMPAIGN))
        else:
            yield _assumption_by_factor(named, key, _assumed_range(value), 1.0 if own == "noise_share" else np.inf)


def _measured_ranges(raters: Mapping[str, Any]) -> Mapping[str, tuple[float, float]]:
    """Return the ranges of a preset's own campaign; nothing where its spreads are not those of the preset."""
    from simlab.config import bound_options

    for option, ranges in MEASURED.items():
        section = bound_options("raters")[option.partition("=")[2]]
        if raters.get("_target_") == section["_target_"] and all(raters[name] == section[name] for name in ranges):
            return ranges
    return {}


def _preset_unit(config: Mapping[str, Any]) -> str:
    law = config["raters"].get("law")
    return "log" if law is None else "points" if law == "gaussian" else "of a rating's noise"


def _make_name(name: str, unit: str) -> _Named:
    return _Named(NAMES[name], WORDS[unit][list(NAMES).index(name)], unit)


def _range_of_draws(column: Sequence[float] | Floats) -> _Range:
    low, value, high = (float(end) for end in np.quantile(np.asarray(column, float), ENDS))
    return _Range(value, low, high)


def _assumed_range(value: float) -> _Range:
    return _Range(value, value / FACTOR, value * FACTOR, ASSUMED)


def _linear_assumption(named: _Named, key: str, of: _Range, most: float = np.inf) -> Assumption:
    """Let a spread go down to 0, and up as far again as the plausible range reaches, three times."""
    least = max(0.0, of.value - REACH * (of.value - of.low))
    farthest = min(most, of.value + REACH * (of.high - of.value))
    span = (least, farthest, False)
    return Assumption(named.name, key, of.value, of.low, of.high, *span, named.words, named.unit, of.source)


def _assumption_by_factor(named: _Named, key: str, of: _Range, end: float = np.inf) -> Assumption:
    """Let a quantity be three times as many times smaller, or larger, as is plausible; a share ends at 1."""
    # REACH times as far on the scale of logarithms is a power of the ratio.
    least, most = of.value * (of.low / of.value) ** REACH, of.value * (of.high / of.value) ** REACH
    span = (min(of.high, end), least, min(most, end), True)
    return Assumption(named.name, key, of.value, of.low, *span, named.words, named.unit, of.source)


def _value(config: Mapping[str, Any], key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
