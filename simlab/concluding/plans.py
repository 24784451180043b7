"""Read the plan by which a table of answers was collected, and record how the table kept to it.

`read_plan` takes a study file, a sidecar (the file beside an exported table, with the study and facts of its campaign)
or the folder of a study, and returns a `LoadedPlan`. `describe_compliance` returns the `PlanCompliance` of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlab.answers.conclude import PlanCompliance, PlannedFigure
from simlab.concluding.assigning.planned_study import ASSIGNED, KEY, plan_of, read_scale, refuse_other_family
from simlab.concluding.assigning.unblinding import SheetKey
from simlab.concluding.campaigns import CampaignInfo, CampaignSidecar, digest, parse_sidecar
from simlab.concluding.goals import Goals, read_goals
from simlab.concluding.looks import Looked
from simlab.messages import clip
from simlab.studies.kinds import identify_kind
from simlab.types import InputError

if TYPE_CHECKING:
    from simlab.config.studyfile import FrozenFamily

FOLDER_FILE = "study.yaml"
"""Name of the study file in a folder."""


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A plan: the composed `config`, its `digest`, and the `campaign` in the sidecar of an exported table.

    `campaign` is None for a study file alone, written before anything was collected. `file` is the study file: `path`
    itself, or a file in the folder `path`. `sheets` is the key of the raters' sheets if the study was assigned to
    raters (else None); `edited`: study.yaml was changed after that. `family` holds the comparisons whose claims are
    promised together (None: as the decision says). `goals` are the targets and sizes in the folder's plan.json (None:
    it has none, or that of another study).
    """

    path: Path
    question: str
    config: Mapping[str, Any]
    digest: str
    campaign: CampaignInfo | None
    file: Path
    sheets: SheetKey | None = None
    family: FrozenFamily | None = None
    edited: bool = False
    goals: Goals | None = None

    @property
    def changes(self) -> list[str]:
        """Return sentences on changes to the study since it was assigned; empty where there are none."""
        return [f"{FOLDER_FILE} was edited after the study was assigned, and does not count"] if self.edited else []


def read_plan(path: Path, plugins: Sequence[str] = ()) -> LoadedPlan:
    """Read a study file, the sidecar of an exported campaign, or from a folder its assigned study, else study.yaml.

    A study is composed as `simlab run FILE` does it. A sidecar is checked against the digest in it, and the files that
    it names need not exist. Raises InputError for a file that is no plan.
    """
    from simlab.config.plain_yaml import split_campaign_line
    from simlab.config.studyfile import read_config, read_family

    planned = plan_of(path) if path.is_dir() else None
    file = _locate_plan(path)
    content, line = split_campaign_line(file)
    where = f"--plan {clip(path)}"
    try:
        config = _compose_plan(file, plugins) if line is None else read_config(content, plugins)
        family = read_family(content)
        refuse_other_family(path, family)
        named = digest(config if line is not None else _restore_paths(config, content, file))
    except InputError as error:
        raise InputError(f"{where}: {str(error).removeprefix(f'{clip(file, 200)}: ')}") from error
    campaign = None if line is None else parse_sidecar(line, config, where)
    info = None if campaign is None else campaign.info
    sheets = _sheets(campaign, file, where)
    edited = sheets is not None and _is_edited(file.with_name(FOLDER_FILE), named, plugins)
    # Another plan than that of the study says nothing of it.
    own = planned is not None and planned.digest == named
    goals = read_goals(planned.answer, where) if planned is not None and own else None
    return LoadedPlan(path, identify_kind(config).question, config, named, info, file, sheets, family, edited, goals)


def _is_edited(file: Path, assigned: str, plugins: Sequence[str]) -> bool:
    """True where the study of a folder is no longer the one with that digest, or none at all."""
    from simlab.config.plain_yaml import split_campaign_line
    from simlab.config.studyfile import read_config

    if not file.exists():
        return False
    try:
        return digest(read_config(split_campaign_line(file)[0], plugins)) != assigned
    except InputError:
        return True


def _restore_paths(config: Mapping[str, Any], content: Any, file: Path) -> Mapping[str, Any]:
    """Return a config with the files of its folder as the study names them: a plan is the same wherever it lies."""
    from simlab.config.studyfile import locate_files

    return {**config, **{name: {**config[name], "path": path} for name, path in locate_files(content, file).items()}}


def _locate_plan(path: Path) -> Path:
    """Return the file of a plan: of a folder the study that was assigned in it, else the one that was planned."""
    if not path.is_dir():
        return path
    return path / ASSIGNED if (path / ASSIGNED).exists() else path / FOLDER_FILE


def _sheets(campaign: CampaignSidecar | None, file: Path, where: str) -> SheetKey | None:
    assigned = None if campaign is None else campaign.address.get("assigned")
    if not isinstance(assigned, Mapping):
        return None
    if not isinstance(assigned.get("key_sha256"), str):
        raise InputError(f"{where}: does not say the digest of its key; assign the study again")
    return SheetKey(file.parent / KEY, read_scale(assigned.get("scale"), where), assigned["key_sha256"])


def _compose_plan(file: Path, plugins: Sequence[str]) -> Mapping[str, Any]:
    from simlab.config import compose_sweep
    from simlab.config.studyfile import load_study

    return next(compose_sweep(load_study(file, (), plugins), (), plugins=plugins).cells()).config


def describe_compliance(
    plan: LoadedPlan, planned: int, deviations: Sequence[str], looked: Looked, targets: Sequence[PlannedFigure]
) -> PlanCompliance:
    """Return the record of a plan and a table: the plan's name, deviations, targets, and the number of looks.

    `planned` counts the planned answers, `deviations` are sentences, `targets` compare planned figures with found ones.
    """
    earlier = [f"look {k + 1} at {n:,} answers" for k, n in enumerate(looked.earlier)]
    departures = [*plan.changes, *deviations, *([f"earlier looks: {', '.join(earlier)}"] if earlier else [])]
    return PlanCompliance(
        name=plan.path.name,
        digest=plan.digest,
        planned=planned,
        deviations=departures,
        look=len(looked.earlier) + 1,
        targets=targets,
    )
