"""Write beside an exported table its study, where in the study's store it comes from, and what an analyst is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab import schemas
from simlab.concluding.campaigns import Told, refuse, taken
from simlab.config.plain_yaml import CAMPAIGN
from simlab.config.sweep import canonical
from simlab.types import InputError, Place

if TYPE_CHECKING:
    from simlab.config.studyfile import FrozenFamily

ENDING = ".study.yaml"


class Campaign(NamedTuple):
    """Hold what a sidecar says beside the study: the address of the campaign and what an analyst of it is told."""

    address: Mapping[str, Any]
    told: Told


def beside(table: Path) -> Path:
    """Return the file that stands beside a table."""
    return table.with_name(table.name + ENDING)


def digest(config: Mapping[str, Any]) -> str:
    """Name a config by what determines its numbers, as cells of a store are named."""
    return sha256(canonical(config).encode()).hexdigest()


def address(config: Mapping[str, Any], cell: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """Say where a campaign comes from: its config, the cell's values on the axes, its place and its random numbers."""
    return {
        "digest": digest(config),
        "cell": dict(cell),
        **place._asdict(),
        "seed": config["seed"],
        "path": list(place.of_study),
    }


def text(
    config: Mapping[str, Any],
    address: Mapping[str, Any],
    told: Mapping[str, Any],
    table: str,
    family: FrozenFamily | None = None,
) -> str:
    """Write a study file with a line of JSON behind it, which is YAML, too."""
    from simlab.config.studyfile import write

    campaign = {"schema": schemas.PLAN, "table": table, "address": address, "told": told}
    return f"{write(config, family)}\n{CAMPAIGN}{json.dumps(campaign, ensure_ascii=False, allow_nan=False)}\n"


def campaign_of(line: str, config: Mapping[str, Any], where: str) -> Campaign:
    """Read what a sidecar says beside its study.

    Raises InputError, beginning with `where`, for what is no campaign, and for one of another study.
    """
    try:
        held = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: its line `campaign:` is no JSON; export the campaign again") from error
    if not isinstance(held, dict) or not isinstance(held.get("address"), dict):
        raise InputError(f"{where}: its line `campaign:` has no address; export the campaign again")
    schemas.refuse_other(where, "a campaign", held.get("schema", held.get("version")), schemas.PLAN)
    if held["address"].get("digest") != digest(config):
        refuse(f"{where}:", "has a study that is not the one of its campaign (campaign.address.digest)")
    told = taken(held.get("told"), f"{where}: campaign")
    if told.streams.seed != config["seed"]:
        refuse(f"{where}:", f"has seed={config['seed']} and a campaign with the seed {told.streams.seed}")
    return Campaign(held["address"], told)
