"""Make the list of designs that a plan compares, from levers of the world, typed levers, or a file of designs.

A *lever* is a key in which designs differ, with its values. `choose_designs` returns all combinations of their values,
or the designs of a file, each composed and checked.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from simlab.analysis.raters.model_comparisons import FEW_RATERS
from simlab.answers.plan import SIZE
from simlab.config import Config, list_options
from simlab.config.overrides import parse
from simlab.config.sections import checked_value
from simlab.engine.preparing import check_shape
from simlab.messages import clip, flatten, show, suggest
from simlab.planning.assumptions import sizes as sizes_of
from simlab.planning.request import read_designs
from simlab.planning.terms import Design, Ground, Lever, family, size_of
from simlab.studies.checks import check
from simlab.studies.worlds import draw_world
from simlab.types import RATE, InputError, World
from simlab.world.laws.error_counts import ErrorCounts

GROUPING, EACH, NORMALIZATION = "design.grouping", "design.ratings_per_item", "analysis.normalization"
POOL, OWN_POOL = "raters.pool_size", "systems.n_raters"
NO_LEVERS = {
    "decision.level": "a looser level finds more and is wrong more often: it is no lever; fix it, decision.level=X",
    "seed": "all designs meet the same worlds",
    "worlds": "a plan takes as many worlds as it needs",
    "studies": "a plan takes as many studies as it needs",
    "pools": "campaigns of a plan have one pool of raters",
    "document_draws": "campaigns of a plan have one draw of documents",
    "measure": "what is measured is no choice; say what is wanted with --target",
}
RATIO = 1.1
SEATS = 3
"""Raters of a bucket, who rate the same documents, and buckets of a rater, where all raters are drawn anew."""
FEWEST_DOCUMENTS, MOST_SIZES, MOST_DESIGNS = 10, 40, 5000
_RANGE = re.compile(r"(\d{1,6})\.\.(\d{1,6})", re.ASCII)
_NEXT = re.compile(r",(?=\s*[A-Za-z_]\w*(?:(?:\.\w+)+\s*(?:=|,|$)|\s*=))", re.ASCII)
"""Before what is a key: it has a dot, or a value. A name alone is another value (`design.grouping=A,B`)."""

Compose = Callable[[Design], Config]


def choose_designs(ground: Ground, compose: Compose, over: str | None, candidates: Path | None) -> list[Design]:
    """Return the designs to choose between, each of them checked.

    `over` are levers as typed (`KEY=A,B` or `KEY=A..B`), `candidates` is a file of designs; `compose` makes the config
    of a design.
    Raises InputError for an unknown lever, and for designs that contradict themselves.
    """
    if over is not None and candidates is not None:
        raise InputError("--over and --candidates both say which designs there are; give one of them")
    if candidates is not None:
        where, config = f"--candidates {clip(candidates)}", compose(())
        named = [
            tuple((_find_key(key, config, where), value) for key, value in design)
            for design in read_designs(candidates)
        ]
        try:
            designs = [tuple((key, _convert_value(key, value, config)) for key, value in design) for design in named]
        except InputError as error:
            raise InputError(f"{where}: {error}") from error
        return _check_designs(designs, compose, where)
    config = compose(())
    levers = usual_levers(config, ground) if over is None else read_levers(over, config, ground)
    if math.prod(len(lever.values) for lever in levers) > MOST_DESIGNS:
        raise InputError(f"--over: these levers make more than {MOST_DESIGNS:,} designs; give fewer values")
    grid = itertools.product(*([(lever.key, value) for value in lever.values] for lever in levers))
    return _check_designs([tuple(design) for design in grid], compose, "--over" if over else "")


def make_room(ground: Ground, config: Config, over: str | None, candidates: Path | None) -> Ground:
    """Return the ground with worlds that have as many documents as the largest of the designs.

    `config` is composed of the ground's words. The ground is unchanged where no sizes of designs are given. Raises
    InputError as `choose_designs` does.
    """
    if candidates is not None:
        sizes = [int(size) for design in read_designs(candidates) if isinstance(size := dict(design).get(SIZE), int)]
    else:
        sizes = [int(n) for lever in read_levers(over or SIZE, config, ground) if lever.is_size for n in lever.values]
    if not sizes or (max(sizes) <= _largest_size(config) and not over):
        return ground
    wanted = sizes_of(config, max(sizes))
    kept = [word for word in ground.words if word.partition("=")[0] not in wanted]
    return replace(ground, words=(*kept, *(f"{key}={value}" for key, value in wanted.items())))


def find_levers(designs: Sequence[Design]) -> tuple[Lever, ...]:
    """Return the levers in which designs differ, with all of their values; those of the size in ascending order."""
    values: dict[str, dict[Any, None]] = {}
    for design in designs:
        for key, value in design:
            values.setdefault(key, {})[value] = None
    by_key = {key: sorted(options) if key == SIZE else list(options) for key, options in values.items()}
    return tuple(Lever(key, tuple(options)) for key, options in by_key.items())


def usual_levers(config: Config, ground: Ground) -> list[Lever]:
    """List the levers of a world: grouping of raters, ratings of each item, normalisation, number of documents."""
    levers = [Lever(GROUPING, tuple(_values(GROUPING, config, ground)))]
    levers += [Lever(EACH, each)] if len(each := tuple(_values(EACH, config, ground))) > 1 else []
    levers += [Lever(NORMALIZATION, tuple(_values(NORMALIZATION, config, ground)))]
    return [*levers, Lever(SIZE, tuple(_values(SIZE, config, ground)))]


def read_levers(text: str, config: Config, ground: Ground) -> list[Lever]:
    """Read `KEY[=A,B|A..B],...`; raise InputError for what is no lever."""
    levers: dict[str, Lever] = {}
    for part in _NEXT.split(text):
        key, _, values = part.strip().partition("=")
        key = _lever(key.strip(), config)
        if key in levers:
            raise InputError(f"--over: {key} is named twice; name it once")
        options = _read(key, values, config) if values else _values(key, config, ground)
        levers[key] = Lever(key, tuple(dict.fromkeys(options)))
    return list(levers.values())


def refuse_unknown(text: str, config: Config) -> None:
    """Raise InputError for a lever that no world has, or with values that it cannot have."""
    for part in _NEXT.split(text):
        key, _, values = part.strip().partition("=")
        key = _lever(key.strip(), config)
        if values:
            _read(key, values, config)


def _lever(key: str, config: Config) -> str:
    """Return the key of a lever; raise InputError where there is none."""
    return _find_key(key, config, "--over")


def _find_key(key: str, config: Config, where: str) -> str:
    if key in NO_LEVERS:
        raise InputError(f"{where}{' ' if where == '--over' else ': '}{key}: {NO_LEVERS[key]}")
    if key == POOL and POOL not in dict(flatten(config)):
        key = OWN_POOL
    known = [*(name for name, _ in flatten(config)), *list_options()]
    if key not in known:
        raise InputError(f"{where}: {show(key)} is no key of this study; {suggest(key, known, limit=300)}")
    return key


def _read(key: str, values: str, config: Config) -> list[Any]:
    if match := _RANGE.fullmatch(values.strip()):
        low, high = (int(end) for end in match.groups())
        if not 0 < low <= high:
            raise InputError(f"--over {key}={values}: a range goes from the smaller to the larger number, above 0")
        return geometric_sizes(low, high)
    setting = parse(f"{key}={values}")
    if key in list_options():
        return list(setting.values)
    return sorted(checked_value(config, key, value, ()) for value in setting.values) if key == SIZE else [
        checked_value(config, key, value, ()) for value in setting.values
    ]  # fmt: skip


def _convert_value(key: str, value: Any, config: Config) -> Any:
    """Return a value of a key in the key's own type; raise InputError where it is none. Parts are checked as wholes."""
    return value if key in list_options() else checked_value(config, key, value, ())


def geometric_sizes(low: int, high: int) -> list[int]:
    """Return whole numbers whose ratios are alike, both ends included.

    >>> geometric_sizes(20, 30)
    [20, 22, 24, 26, 28, 30]
    """
    steps = min(max(math.ceil(math.log(high / low) / math.log(RATIO)), 1), MOST_SIZES - 1)
    # Small sizes round to the same number, and count once.
    return list(dict.fromkeys(round(low * (high / low) ** (k / steps)) for k in range(steps + 1)))


def _values(key: str, config: Config, ground: Ground) -> list[Any]:
    """Return the values of a lever for which none were typed."""
    if key == SIZE:
        most = _largest_size(config)
        return geometric_sizes(min(FEWEST_DOCUMENTS, most), most)
    if key == EACH:
        return [1, 2] if _seats(config) > 1 else [1]
    if key == GROUPING:
        return ["pseudo_side_by_side", "ungrouped"] if _seats(config) > 1 else ["pseudo_side_by_side"]
    if key == NORMALIZATION:
        return list_normalizations(draw_world(config, 0))
    if key in (POOL, OWN_POOL):
        return [n for n in (ground.raters, *(FEW_RATERS, 8, 10, 15)) if n >= ground.raters]
    if key in (options := list_options()):
        return list(options[key])
    raise InputError(f"--over {key}: say between which values: {key}=A,B")


def list_normalizations(world: World) -> list[str]:
    """List the normalisations that make sense: factors for raters where errors are counted, else z-scores, or none."""
    return ["none", "mean", "error"] if isinstance(world.answers[RATE], ErrorCounts) else ["none", "zscore"]


def _largest_size(config: Config) -> int:
    systems: Mapping[str, Any] = config["systems"]
    return int(systems.get("n_documents", config["design"]["documents"]))


def _seats(config: Config) -> int:
    """Count the raters of the bucket (documents that the same few people rate) that has the fewest."""
    return int((draw_world(config, 0).frame.rater >= 0).any(axis=0).sum(1).min())


def draw_other_raters(design: Design, ground: Ground, raters: int) -> Design:
    """Return the design with `raters` raters, drawn from raters at large, and with targets for raters at large."""
    fitted = "systems=fitted" in ground.words
    own = {
        (OWN_POOL if fitted else POOL): raters,
        "design.estimand": "all_raters",
        **(
            {"systems.rater_pool": "new", "systems.raters_per_bucket": SEATS}
            if fitted
            else {"raters.raters_per_bucket": SEATS}
        ),
        **({} if fitted else {"raters.buckets_per_rater": SEATS}),
    }
    return (*((key, value) for key, value in design if key not in own), *own.items())


def _ends(designs: Sequence[Design]) -> set[Design]:
    """Return the smallest and the largest design of each family: what holds for both holds between them."""
    families: dict[Design, list[Design]] = {}
    for design in designs:
        families.setdefault(family(design), []).append(design)
    return {end(members, key=lambda one: size_of(one) or 0) for members in families.values() for end in (min, max)}


def _check_designs(designs: Sequence[Design], compose: Compose, where: str) -> list[Design]:
    """Compose every design; raise InputError for the first that contradicts itself, naming it."""
    ends = _ends(designs)
    for design in dict.fromkeys(designs):
        try:
            config = compose(design)
            if design in ends:
                check_shape(config, "", check)
        except InputError as error:
            settings = ", ".join(f"{key}={show(value)}" for key, value in design)
            raise InputError(f"{where}{': ' if where else ''}the design {settings}: {error}") from error
    return list(dict.fromkeys(designs))
