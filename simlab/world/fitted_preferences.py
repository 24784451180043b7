"""Draw worlds from a file that `simlab fit` wrote of a table of preferences: its systems and raters, on new items.

`fitted_preferences`, an option of `systems`, takes the path and the option's keys, and returns a `World` of
comparisons; `read_fitted_preferences` returns the content of the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256 as digest_of
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab import files
from simlab.messages import clip, suggest
from simlab.types import COMPARE, ComparedWorld, Contest, Davidson, Floats, InputError, RaterPool, World
from simlab.types.bounds import Count
from simlab.world.davidson import drawn_raters, pooled_world
from simlab.world.files.plain_document import chosen_file, document, refuse_other_format, validate_keys
from simlab.world.laws.comparisons import ComparisonLaw, contest_frame
from simlab.world.laws.davidson import Spreads, probabilities

MAX_BYTES = 50_000_000
"""Most bytes of the file of fitted preferences.
"""
REMEDY = "give what `simlab fit TABLE --out FILE.yaml` wrote of a table of preferences"
_MOST_DRAWS, _MOST_SYSTEMS, _MOST_RATERS = 2000, 200, 5000
Sd = Annotated[float, Ge(0), Le(50)]
LogSd = Annotated[float, Ge(0), Le(5)]
Factors = Annotated[list[Annotated[float, Gt(0), Le(1e6)]], MaxLen(_MOST_RATERS)]
Logits = Annotated[list[Annotated[float, Ge(-100), Le(100)]], MaxLen(_MOST_SYSTEMS)]
Names = Annotated[list[Annotated[str, MinLen(1), MaxLen(300)]], MaxLen(_MOST_RATERS)]
Number = int | float


def fitted_preferences(
    rng: np.random.Generator,
    *,
    path: str | None,
    sha256: str | None,
    names: list[str] | None,
    n_items: Annotated[int, Ge(1), Le(10**9)],
    rater_pool: Literal["pilot", "new"],
    n_raters: Count | None,
    test_set: Literal["fresh", "fixed"],
) -> ComparedWorld:
    """Draw a world of a pilot's systems and raters with items that the pilot did not see.

    The file is what `simlab fit` wrote of a table of preferences. A world takes one draw of the parameters from it at
    random, so that worlds differ by what the pilot left open. What is true is what raters at large would say. With
    `rater_pool=new`, and in further pools, `n_raters` raters (None: as many as in the pilot) are drawn from those that
    the pilot's raters stand for; a pilot that names none has raters who are alike.

    Raises InputError for a file that holds no fitted preferences or whose digest is not `sha256` (None: any), and for
    names that are not in it.
    """
    fitted = read_fitted_preferences(path, sha256)
    at, draw = _find_named(fitted, names), int(rng.integers(len(fitted.laws)))
    law = replace(fitted.laws[draw], strength=fitted.laws[draw].strength[at])
    spreads, size = fitted.at_large[draw], n_raters or len(fitted.rater_names)
    contest = Contest(
        tuple(fitted.system_names[k] for k in at),
        n_items,
        probabilities(law, spreads),
        fixed=test_set == "fixed",
        davidson=law,
    )
    if not fitted.rater_names:
        world = World(contest_frame(contest), {COMPARE: ComparisonLaw(contest, None)})
        return replace(world, again=lambda anew: world)

    def draw_others(rng: np.random.Generator) -> RaterPool:
        return RaterPool(**drawn_raters(rng, spreads, size, len(at)), whole_items=fitted.whole_items)

    sharpness, ties, taste = fitted.pools[draw]
    pilots = RaterPool(sharpness, ties, taste[:, at], fitted.whole_items)
    return pooled_world(contest, draw_others(rng) if rater_pool == "new" else pilots, draw_others)


def _find_named(world: FittedPreferences, names: Sequence[str] | None) -> list[int]:
    """Find the named systems, in the order of the names."""
    if names is None:
        return list(range(len(world.system_names)))
    for name in names:
        if name not in world.system_names:
            hint = suggest(name, world.system_names, "it has", 300)
            raise InputError(f"systems.names: the fitted preferences have no system {clip(name, 60)}; {hint}")
    if len(set(names)) != len(names) or len(names) < 2:
        raise InputError(f"systems.names={list(names)}: name at least two systems, each once")
    return [world.system_names.index(name) for name in names]


class PreferenceParameters(TypedDict):
    """Keys below `draws`: a list with one entry per draw; rows have one entry per system or rater."""

    strength: Annotated[list[Logits], MinLen(1), MaxLen(_MOST_DRAWS)]
    ties: list[Annotated[float, Ge(0), Le(1e6)]]
    system_sd: list[Sd]
    output_sd: list[Sd]
    item_sd: list[LogSd]
    sharpness_sd: list[LogSd]
    tie_sd: list[LogSd]
    taste_sd: list[Sd]
    sharpness: list[Factors]
    rater_ties: list[Factors]
    taste: list[Annotated[list[Logits], MaxLen(_MOST_RATERS)]]


class StoredFailedCheck(TypedDict):
    """Keys of a check that failed: the real value, and the interval of simulated ones."""

    name: str
    real: Number | None
    low: Number | None
    high: Number | None


class StoredPreferenceChecks(TypedDict):
    """Keys of the checks of the law against the table: how many passed, and which failed."""

    passed: Annotated[int, Ge(0)]
    failed: list[StoredFailedCheck]


class PreferenceWorldFile(TypedDict):
    """Keys of the whole file."""

    format: str
    simlab: NotRequired[str]
    about: dict[str, Any]
    checks: NotRequired[StoredPreferenceChecks]
    not_identified: list[str]
    components: dict[str, dict[str, Any]]
    systems: Annotated[list[Annotated[str, MinLen(1), MaxLen(300)]], MinLen(2), MaxLen(_MOST_SYSTEMS)]
    raters: Names
    whole_items: bool
    draws: PreferenceParameters


@dataclass(frozen=True, slots=True)
class FittedPreferences:
    """Fitted preferences: people, and draws of the parameters.

    Of each draw `laws` has the law of outputs, `at_large` the spreads of raters, `pools` the pilot's raters:
    `sharpness[rater]`, `ties[rater]`, `taste[rater, system]`. `failed` are the checks that failed (None: not checked).
    """

    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    whole_items: bool
    laws: tuple[Davidson, ...]
    at_large: tuple[Spreads, ...]
    pools: tuple[tuple[Floats, Floats, Floats], ...]
    failed: tuple[str, ...] | None


def read_fitted_preferences(path: str | None, sha256: str | None) -> FittedPreferences:
    """Read a file of fitted preferences.

    Raises InputError, naming the file and what is wrong in it, for anything else than such a file, and where its
    digest is not `sha256` (None: any).
    """
    chosen = chosen_file(path, sha256, empty=REMEDY, remedy=REMEDY)
    if chosen is None:
        raise InputError(f"systems.path names no file; {REMEDY}")
    return _read(*chosen, sha256)


@lru_cache(maxsize=4)
def _read(path: Path, state: files.FileState, digest: str | None) -> FittedPreferences:
    """Read a file once per process and state: blocks of a study ask for the same worlds again and again."""
    content = files.content(path, clip(path), most=MAX_BYTES, remedy=REMEDY)
    files.refuse_change(digest_of(content).hexdigest(), digest, clip(path))
    return _check_content(content, clip(path))


def _check_content(content: bytes, where: str) -> FittedPreferences:
    parsed = document(files.text(content, where), where, REMEDY)
    refuse_other_format(parsed, "preferences", where, f"{where}: holds no fitted preferences; {REMEDY}")
    return _parse_fitted(validate_keys(PreferenceWorldFile, parsed, where), where)


def _parse_fitted(content: PreferenceWorldFile, where: str) -> FittedPreferences:
    systems, raters, draws = content["systems"], content["raters"], content["draws"]
    _refuse_other_sizes(draws, len(systems), len(raters), where)
    if len(set(systems)) != len(systems) or len(set(raters)) != len(raters):
        raise InputError(f"{where}: a system or a rater is named twice")
    checks = content.get("checks")
    return FittedPreferences(
        tuple(systems),
        tuple(raters),
        content["whole_items"],
        tuple(_law(draws, k) for k in range(len(draws["strength"]))),
        tuple(Spreads(*each) for each in zip(draws["sharpness_sd"], draws["tie_sd"], draws["taste_sd"], strict=True)),
        tuple(_pool(draws, k, len(systems)) for k in range(len(draws["strength"]))),
        None if checks is None else tuple(check["name"] for check in checks["failed"]),
    )


def _refuse_other_sizes(draws: PreferenceParameters, n_systems: int, n_raters: int, where: str) -> None:
    """Refuse lists of other lengths than there are draws, systems and raters."""
    n = len(draws["strength"])
    wanted = {"strength": n_systems, "sharpness": n_raters, "rater_ties": n_raters, "taste": n_raters}
    for name, column in draws.items():
        rows: Any = column
        if len(rows) != n or (name in wanted and any(len(row) != wanted[name] for row in rows)):
            each = f" of {wanted[name]} numbers" if name in wanted else ""
            raise InputError(f"{where}: draws.{name} must have {n} entries{each}, as the other draws")
    if any(len(row) != n_systems for rows in draws["taste"] for row in rows):
        raise InputError(f"{where}: draws.taste must have rows of {n_systems} numbers, one for each system")


def _law(draws: PreferenceParameters, k: int) -> Davidson:
    strength = _row(draws["strength"][k])
    return Davidson(strength, draws["output_sd"][k], draws["item_sd"][k], draws["ties"][k])


def _pool(draws: PreferenceParameters, k: int, n_systems: int) -> tuple[Floats, Floats, Floats]:
    taste = _row(draws["taste"][k]).reshape(-1, n_systems)
    return _row(draws["sharpness"][k]), _row(draws["rater_ties"][k]), taste


def _row(values: Any) -> Floats:
    row = np.array(values, float)
    row.flags.writeable = False
    return row
