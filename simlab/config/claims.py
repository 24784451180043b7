"""Read the claims of a sweep file: the numbers that its finding states, each with the cell that gives it.

A finding in words rots in silence; a claim is rerun (`tests/published`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from simlab.config.overrides import check_key
from simlab.config.plain_yaml import value_of
from simlab.messages import or_nearest, shown
from simlab.types import InputError

_KEYS = ("at", "measure", "value", "within")


@dataclass(frozen=True, slots=True)
class Claim:
    """Hold one number of a finding: `measure` has `value`, up to `within`, in the cell that `at` names.

    `at` gives each axis one value, and may change further keys.
    """

    at: dict[str, Any]
    measure: str
    value: float
    within: float


def claims(key: str, value: Any) -> tuple[Claim, ...]:
    """Read a list of claims; raise InputError for what is none."""
    if not isinstance(value, list) or not value:
        raise InputError(
            f"{key} must be a list of claims, such as [{{at: {{...}}, measure: srp, value: 0.7, within: 0.05}}]"
        )
    return tuple(_claim(f"{key}[{k}]", content) for k, content in enumerate(value))


def check_cells(listed: Collection[Claim], axes: Collection[str], measures: Collection[str] = ()) -> None:
    """Raise InputError for a claim that does not say which cell it is about, or is not about a measure of the sweep."""
    for k, claim in enumerate(listed):
        if left := [axis for axis in axes if axis not in claim.at]:
            raise InputError(f"claims[{k}].at lacks {left[0]}, an axis of this sweep; a claim is about one cell")
        if measures and claim.measure not in measures:
            raise InputError(
                f"claims[{k}].measure={shown(claim.measure)} is not measured by this sweep; "
                f"{or_nearest(claim.measure, measures)}"
            )


def _claim(where: str, content: Any) -> Claim:
    if not isinstance(content, dict):
        raise InputError(f"{where} must hold {', '.join(_KEYS)}")
    for key in content:
        if key not in _KEYS:
            raise InputError(f"{where}.{shown(key)} is no key of a claim; {or_nearest(key, _KEYS)}")
    for key in _KEYS:
        if key not in content:
            raise InputError(f"{where}.{key} is missing; a claim has {', '.join(_KEYS)}")
    if not isinstance(content["at"], dict):
        raise InputError(f"{where}.at must hold lines such as `design.documents: 20`")
    if not isinstance(content["measure"], str):
        raise InputError(f"{where}.measure must be the name of a measure")
    at = {check_key(key): value_of(f"{where}.at.{key}", value) for key, value in content["at"].items()}
    within = _number(f"{where}.within", content["within"])
    if within <= 0:
        raise InputError(f"{where}.within={within} must be greater than 0; how far may the number lie off?")
    return Claim(at, str(content["measure"]), _number(f"{where}.value", content["value"]), within)


def _number(where: str, text: Any) -> float:
    value = value_of(where, text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}={shown(value)} must be a number")
    return float(value)
