"""Read the plan that a table was collected by: a study file, and what an analyst is told beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simlab.concluding.campaigns import Told
from simlab.concluding.sidecar import campaign_of, digest
from simlab.messages import legible
from simlab.studies.questions import kind_of
from simlab.types import InputError

FOLDER_FILE = "study.yaml"
"""The study in a folder that a study was assigned in."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold a plan: the composed `config`, its `digest`, and `told`, what an exported campaign says beside its table.

    `told` is None for a plan alone, made before anything was collected. `changed` are keys of the analysis that are
    not those of the plan any more.
    """

    path: Path
    question: str
    config: Mapping[str, Any]
    digest: str
    told: Told | None
    changed: tuple[str, ...] = ()


def read_plan(path: Path, overrides: Sequence[str] = (), plugins: Sequence[str] = ()) -> Plan:
    """Read a study file, the sidecar of an exported campaign, or a folder that holds a study.

    `overrides` change keys of the analysis, which is then not the planned one. Raises InputError for what is no plan.
    """
    from simlab.config.plain_yaml import apart
    from simlab.config.studyfile import taken

    file = path / FOLDER_FILE if path.is_dir() else path
    content, line = apart(file)
    where = f"--plan {legible(path)}"
    if line is None:
        config = composed(file, overrides, plugins)
        return Plan(path, kind_of(config).question, config, digest(config), None, tuple(overrides))
    try:
        config = taken(content, plugins)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    campaign, own = campaign_of(line, config, where), digest(config)
    if overrides:
        config = composed(file, overrides, plugins)
    return Plan(path, kind_of(config).question, config, own, campaign.told, tuple(overrides))


def composed(file: Path, overrides: Sequence[str], plugins: Sequence[str]) -> Mapping[str, Any]:
    """Compose the study of a file, as `simlab run FILE` does."""
    from simlab.config import compose_sweep
    from simlab.config.studyfile import load_study

    sweep = compose_sweep(load_study(file, overrides, plugins), overrides, plugins=plugins)
    return next(sweep.cells()).config
