"""Find the study that is to be carried out, in the folder of its plan or in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simlab import schemas
from simlab.concluding.sidecar import digest
from simlab.messages import legible, shown
from simlab.parts import name_of
from simlab.studies.kinds import kind_of
from simlab.studies.ratings.preparing import assignment_of, further_of
from simlab.types import RATE, InputError

if TYPE_CHECKING:
    from simlab.config.studyfile import FrozenFamily

STUDY, PLAN, ASSIGNED, KEY = "study.yaml", "plan.json", "assigned.study.yaml", "key.csv"
CONCLUSION = "conclusion.json"
"""What a conclusion is called in the folder of its plan."""
READ = ("systems", "metric")
"""Sections of a study that read a file."""


class Study(NamedTuple):
    """Hold a study and the folder that it is assigned in; `config` reads the files of the folder, `frozen` names them.

    `digest` is that of the study as it was frozen, `family` the family of comparisons that was frozen beside it.
    """

    folder: Path
    config: Mapping[str, Any]
    frozen: Mapping[str, Any]
    digest: str
    family: FrozenFamily | None = None


def study_of(path: Path, plugins: Sequence[str] = ()) -> Study:
    """Read the study of a plan's folder, or a study file; raise InputError for what is none, or cannot be assigned."""
    from simlab.config.plain_yaml import apart
    from simlab.config.studyfile import family_in, taken

    where = legible(path)
    file = path / STUDY if path.is_dir() else path
    if not file.exists():
        raise InputError(f"{where}: holds no plan ({STUDY}); `simlab plan ... --out {where}` makes one")
    content, line = apart(file)
    if line is not None:
        raise InputError(f"{where}: is an exported campaign, whose ratings came; name a plan")
    try:
        config = taken(content, plugins)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    _check_assignable(config, where)
    own = digest(config)
    if path.is_dir() and (plan := plan_of(path)) is not None and plan.get("digest", own) != own:
        raise InputError(f"{where}: {STUDY} is not the study of {PLAN}; put it back, or plan in a folder of its own")
    family = family_in(content)
    refuse_other_family(path, family)
    return Study(file.parent, _at_hand(config, file.parent), config, own, family)


def refuse_other_family(path: Path, family: FrozenFamily | None) -> None:
    """Raise InputError where the study of a plan's folder fixes another family than was planned."""
    plan = plan_of(path) if path.is_dir() else None
    asked = {} if plan is None else plan.get("asked", {})
    planned = asked.get("family") if isinstance(asked, Mapping) else None
    if plan is not None and (planned, asked.get("against")) != ((None, None) if family is None else family):
        raise InputError(
            f"{legible(path)}: the family of its study is not the one of {PLAN} ({shown(planned)}); put it back, or "
            "plan in a folder of its own"
        )


def plan_of(folder: Path) -> Mapping[str, Any] | None:
    """Read the plan of a folder; None where it has none. Raises InputError for one of another schema."""
    import json

    from simlab import files

    file, where = folder / PLAN, legible(folder)
    if not file.is_file():
        return None
    try:
        held = json.loads(files.text(files.content(file, where, most=1 << 28, remedy="plan again"), where))
    except ValueError as error:
        raise InputError(f"{where}: {PLAN} is no plan; plan again") from error
    if not isinstance(held, dict):
        raise InputError(f"{where}: {PLAN} is no plan; plan again")
    refuse_other_plan(held, where)
    return held


def refuse_other_plan(held: Mapping[str, Any], where: str) -> None:
    """Raise InputError for a plan of another schema; those before 0.2.0 have theirs in place of the version."""
    by = held.get("simlab")
    found = held.get("schema", None if isinstance(by, str) else by)
    schemas.refuse_other(where, "a plan", found, schemas.PLAN, by if isinstance(by, str) else None)


def _check_assignable(config: Mapping[str, Any], where: str) -> None:
    question, design = kind_of(config).question, config["design"]
    if question != RATE:
        raise InputError(f"{where}: is a study that asks to {question}; sheets are made for those that rate outputs")
    if config.get("metric", {}).get("_target_"):
        raise InputError(
            f"{where}: the plan corrects ratings by a metric, of which no sheet tells; plan with metric=none"
        )
    if (rule := assignment_of(design)) is not None:
        raise InputError(
            f"{where}: design.assignment={name_of(rule)} decides who takes what while people work, and a sheet is "
            "written before; plan with design.assignment=as_dealt"
        )
    if (margin := further_of(design).boost_margin) is not None:
        raise InputError(
            f"{where}: design.boost_margin={shown(margin)} asks one more rater once two disagree, and a sheet is "
            "written before; plan with design.boost_margin=null"
        )
    if name_of(config["analysis"]["normalization"]) == "error":
        raise InputError(
            f"{where}: analysis.normalization=error counts errors, and a sheet asks for ratings; plan with another one"
        )


def _at_hand(config: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """Name files that a study reads, and that lie beside it, by where they are."""
    own = {
        section: {**config[section], "path": str(folder / path)}
        for section in READ
        if isinstance(path := config.get(section, {}).get("path"), str) and (folder / path).is_file()
    }
    return {**config, **own}
