"""Read the file of preferences that were fitted: plain YAML, every value checked before any of it is used."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256 as digest_of
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen, MinLen

# pydantic takes typing's own only from Python 3.12.
from typing_extensions import NotRequired, TypedDict  # noqa: UP035

from simlab import files
from simlab.messages import legible
from simlab.types import Davidson, Floats, InputError
from simlab.world.files.chosen import chosen_file
from simlab.world.files.plain_document import document, refuse_other_format, with_keys
from simlab.world.laws.davidson import Spreads

MAX_BYTES = 50_000_000
REMEDY = "give what `simlab fit TABLE --out FILE.yaml` wrote of a table of preferences"

_MOST_DRAWS, _MOST_SYSTEMS, _MOST_RATERS = 2000, 200, 5000
Sd = Annotated[float, Ge(0), Le(50)]
LogSd = Annotated[float, Ge(0), Le(5)]
Factors = Annotated[list[Annotated[float, Gt(0), Le(1e6)]], MaxLen(_MOST_RATERS)]
Logits = Annotated[list[Annotated[float, Ge(-100), Le(100)]], MaxLen(_MOST_SYSTEMS)]
Names = Annotated[list[Annotated[str, MinLen(1), MaxLen(300)]], MaxLen(_MOST_RATERS)]
Number = int | float


class Parameters(TypedDict):
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


class Failed(TypedDict):
    """Keys of a check that failed: the real value, and the interval of simulated ones."""

    name: str
    real: Number | None
    low: Number | None
    high: Number | None


class Checks(TypedDict):
    """Keys of what the law was held against: how many checks passed, and which failed."""

    passed: Annotated[int, Ge(0)]
    failed: list[Failed]


class Content(TypedDict):
    """Keys of the file."""

    format: str
    simlab: NotRequired[str]
    about: dict[str, Any]
    checks: NotRequired[Checks]
    not_identified: list[str]
    components: dict[str, dict[str, Any]]
    systems: Annotated[list[Annotated[str, MinLen(1), MaxLen(300)]], MinLen(2), MaxLen(_MOST_SYSTEMS)]
    raters: Names
    whole_items: bool
    draws: Parameters


@dataclass(frozen=True, slots=True)
class FittedPreferences:
    """Hold fitted preferences: who, and draws of the parameters.

    `laws[draw]` is how outputs come about, `at_large[draw]` how much raters differ, `pools[draw]` what the pilot's
    raters are: `sharpness[rater]`, `ties[rater]`, `taste[rater, system]`. `failed` are the checks that failed, None
    where nothing was checked.
    """

    system_names: tuple[str, ...]
    rater_names: tuple[str, ...]
    whole_items: bool
    laws: tuple[Davidson, ...]
    at_large: tuple[Spreads, ...]
    pools: tuple[tuple[Floats, Floats, Floats], ...]
    failed: tuple[str, ...] | None


def read_fitted_preferences(path: str | None, sha256: str | None) -> FittedPreferences:
    """Read fitted preferences.

    Raises InputError, naming the file and what is wrong in it, for anything else than such a file, and where its
    digest is not `sha256` (None: any).
    """
    chosen = chosen_file(path, sha256, empty=REMEDY, remedy=REMEDY)
    if chosen is None:
        raise InputError(f"systems.path names no file; {REMEDY}")
    return _read(*chosen, sha256)


@lru_cache(maxsize=4)
def _read(path: Path, state: files.State, digest: str | None) -> FittedPreferences:
    """Read a file once per process and state: blocks of a study ask for the same worlds again and again."""
    content = files.content(path, legible(path), most=MAX_BYTES, remedy=REMEDY)
    files.refuse_change(digest_of(content).hexdigest(), digest, legible(path))
    return _checked(content, legible(path))


def _checked(content: bytes, where: str) -> FittedPreferences:
    held = document(files.text(content, where), where, REMEDY)
    refuse_other_format(held, "preferences", where, f"{where}: holds no fitted preferences; {REMEDY}")
    return _fitted(with_keys(Content, held, where), where)


def _fitted(content: Content, where: str) -> FittedPreferences:
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


def _refuse_other_sizes(draws: Parameters, n_systems: int, n_raters: int, where: str) -> None:
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


def _law(draws: Parameters, k: int) -> Davidson:
    strength = _row(draws["strength"][k])
    return Davidson(strength, draws["output_sd"][k], draws["item_sd"][k], draws["ties"][k])


def _pool(draws: Parameters, k: int, n_systems: int) -> tuple[Floats, Floats, Floats]:
    taste = _row(draws["taste"][k]).reshape(-1, n_systems)
    return _row(draws["sharpness"][k]), _row(draws["rater_ties"][k]), taste


def _row(values: Any) -> Floats:
    row = np.array(values, float)
    row.flags.writeable = False
    return row
